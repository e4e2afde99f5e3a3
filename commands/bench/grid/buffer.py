"""The buffer of the grid: every cell reduces a view of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ....compiler.dtypes import DType
from ....compiler.plan.plan import Plan
from ....runtime.arrays.conversion import view
from ....runtime.backends.backend import Backend
from ....runtime.backends.kernel_calls import calls, scratch
from ....runtime.calls.operands import Operands
from ....runtime.execute import bound, prepared
from ....runtime.prepare import Request, artifact
from ....runtime.view import View
from .cells import Cell


@dataclass(frozen=True)
class Work:
    """A prepared cell, which can be reduced repeatedly.

    Attributes:
        plan: the plan that the planner chose.
        launch: queues the kernels.
        result: returns the result, in the library of the buffer.
    """

    plan: Plan
    launch: Callable[[], object]
    result: Callable[[], Any]


class Bed:
    """One buffer and the backend that reduces views of it.

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

    @contextmanager
    def work(self, cell: Cell) -> Iterator[Work]:
        """Plans, compiles and runs the cell."""
        arrays = Operands(self.buffer, (self.view(cell),), self.backend, self.stream)
        ready = prepared(Request(cell.op, cell.axes), arrays)
        compiled, run = artifact(ready), ready.choice.run
        with bound(arrays) as pointers:
            layout = scratch(compiled, ready.geometry, run)
            space = self.backend.workspace(layout.nbytes, layout.counters, self.stream)
            todo = calls(compiled, ready.geometry, run, pointers, space, layout)
            launch = partial(self.backend.launch, compiled, todo, self.stream)
            yield Work(ready.choice.plan, launch, arrays.results[0])


def reach(cells: Sequence[Cell]) -> int:
    """Bytes of a buffer that contains all cells."""
    return max((c.span[1] * c.dtype.itemsize for c in cells), default=0)


def kinds(cells: Sequence[Cell]) -> list[DType]:
    """The element types of the cells, in order."""
    return list(dict.fromkeys(c.dtype for c in cells))
