"""The buffer of the grid: every cell is computed from a view of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from ....compiler.dtypes import DType
from ....runtime import tuned_plans
from ....runtime.arrays.conversion import view
from ....runtime.backends.backend import Backend
from ....runtime.backends.kernel_calls import calls, scratch
from ....runtime.calls.operands import Operands
from ....runtime.prepare import artifact
from ....runtime.programs.reductions import program_of
from ....runtime.programs.run import addresses_of, allocate, bound, prepare
from ....runtime.view import View
from ..programs import ours
from ..programs.inputs import further
from ..programs.trial import copy
from .cells import Cell, ProgramCell


@dataclass(frozen=True)
class Work:
    """A prepared cell, which can be computed repeatedly.

    Attributes:
        plan: the plan that the planner chose, as ``--plan`` takes it; empty for a program.
        launch: queues the kernels.
        result: returns the result, in the library of the buffer.
        copy: for a program, queues a copy that moves as many bytes.
    """

    plan: str
    launch: Callable[[], object]
    result: Callable[[], Any]
    copy: Callable[[], object] | None = None


class Bed:
    """One buffer and the backend that computes from views of it.

    Args:
        buffer: a one-dimensional array of bytes; results are arrays of its library.
        backend: a backend that accesses the buffer in place.
        stream: the stream for all work.
    """

    def __init__(self, buffer: Any, backend: Backend, stream: int) -> None:
        self.buffer, self.backend, self.stream = buffer, backend, stream
        self.bytes = view(buffer)

    def holds(self, cell: Cell) -> bool:
        """Whether the cell's view lies within the buffer."""
        low, high = cell.span
        return low >= 0 and high * cell.dtype.itemsize <= self.bytes.shape[0]

    def view(self, cell: Cell) -> View:
        """The cell's view."""
        address = self.bytes.address + cell.offset * cell.dtype.itemsize
        return View(address, cell.shape, cell.strides, cell.dtype, self.bytes.device, True, self.buffer)

    def work(self, cell: Cell) -> AbstractContextManager[Work]:
        """Prepares the cell: compiles it, and allocates what it needs inside a ``with``."""
        return nullcontext(self._program(cell)) if isinstance(cell, ProgramCell) else self._reduction(cell)

    def _program(self, cell: ProgramCell) -> Work:
        """A program of a view, which is a tensor of the buffer's library, called as a user calls it."""
        import torch

        typed = self.buffer.view(getattr(torch, cell.dtype.numpy_name))
        x = torch.as_strided(typed, cell.shape, cell.strides, cell.offset)
        device = self.buffer.device
        call = partial(ours.function(cell.case), x, *further(torch, cell.case, device))
        return Work("", call, call, copy(torch, cell.nbytes, device))

    @contextmanager
    def _reduction(self, cell: Cell) -> Iterator[Work]:
        arrays = Operands(self.buffer, (self.view(cell),), self.backend, self.stream)
        program = program_of(cell.op, cell.axes, {}, arrays.inputs)
        allocate(arrays, program)
        whole = prepare(arrays, program, "", "run")
        (own,) = whole.steps
        ready = own.prepared
        compiled, run = artifact(ready), ready.choice.run
        with bound(arrays) as addresses:
            pointers = addresses_of(own.step, whole, addresses, 0)
            layout = scratch(compiled, ready.geometry, run)
            space = self.backend.workspace(layout.nbytes, layout.counters, self.stream)
            todo = calls(compiled, ready.geometry, run, pointers, space, layout)
            launch = partial(self.backend.launch, compiled, todo, self.stream)
            yield Work(tuned_plans.words(ready.choice.plan), launch, arrays.results[0])


def reach(cells: Sequence[Cell]) -> int:
    """Bytes of a buffer that contains all cells."""
    return max((c.span[1] * c.dtype.itemsize for c in cells), default=0)


def kinds(cells: Sequence[Cell]) -> list[DType]:
    """The element types of the cells, in order."""
    return list(dict.fromkeys(c.dtype for c in cells))
