"""Runs one reduction on a GPU under one plan after another, and compares results and times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...compiler.driver.artifact import Artifact
from ...compiler.ir.source_lines import with_lines
from ...compiler.planner.layouts.factored import launched
from ...compiler.planner.task import Choice
from ...compiler.planner.tree import unordered
from .. import cache, tuned_plans
from ..backends.kernel_calls import calls, scratch
from ..calls.operands import Operands
from ..programs.plans import PreparedProgram
from ..programs.run import addresses_of, bound
from .measure import Timing, timed


class Trials:
    """Runs choices for the one step of a reduction.

    Args:
        prepared: the reduction.
        arrays: its operands, with memory for the results.
    """

    def __init__(self, prepared: PreparedProgram, arrays: Operands) -> None:
        self.prepared, self.arrays = prepared, arrays
        (self.step,) = prepared.steps
        self.task = self.step.prepared.task
        self.backend: Any = arrays.backend
        self._pointers: list[int] = []
        self._answer: list[Any] = []
        self._made: dict[str, Callable[[], None]] = {}

    @contextmanager
    def open(self, own: Choice) -> Iterator[None]:
        """Binds the arrays, and runs the planner's ``own`` choice, whose results all others must match."""
        with bound(self.arrays) as pointers:
            self._pointers = addresses_of(self.step.step, self.prepared, pointers, 0)
            self.work(own)()
            self._answer = self._read()
            yield

    def work(self, choice: Choice) -> Callable[[], None]:
        """A function that queues the kernels of a choice; they are compiled once, and not kept in the cache.

        Raises:
            CompileError, BackendError: as in any call.
        """
        words = tuned_plans.words(choice.plan)
        if words not in self._made:
            backend, stream, geometry = self.backend, self.arrays.stream, launched(self.task, choice.plan)
            compiled = self._compiled(choice)
            layout = scratch(compiled, geometry, choice.run)
            space = backend.workspace(layout.nbytes, layout.counters, stream)
            todo = calls(compiled, geometry, choice.run, self._pointers, space, layout)
            self._made[words] = lambda: backend.launch(compiled, todo, stream)
        return self._made[words]

    def _compiled(self, choice: Choice) -> Artifact:
        from ...compiler.driver.compile import compile_program
        from ...passes import steps

        what = self.task.program, choice.facts, choice.plan
        target = self.task.target
        made = compile_program(*what, target, steps(target, choice.plan), cache.key(*what, target))
        return replace(made, ptx=with_lines(made.ptx, *what))  # the backend keeps it for later calls

    def time(self, choice: Choice, runs: int) -> Timing:
        """The device time of a choice."""
        return timed(self.backend, [self.work(choice)], stream=self.arrays.stream, runs=runs)

    def agrees(self, other: Choice) -> bool:
        """Whether ``other`` gives the planner's own result; with determinism none, approximately."""
        for view, own in zip(self._outputs(), self._answer, strict=True):  # exposes a plan that writes nothing
            self.backend.put(view, _inverted(own), self.arrays.stream)
        self.work(other)()
        pairs = list(zip(self._answer, self._read(), strict=True))
        if all(own.tobytes() == got.tobytes() for own, got in pairs):
            return True
        loose = self.task.determinism == "none" and not unordered(self.task.program)
        return loose and all(near(own, got, self.task.geometry.count) for own, got in pairs)

    def _outputs(self) -> list[Any]:
        """Views of the parts of the results at their device addresses."""
        parts = [p for v in self.arrays.outputs for p in v.parts()]
        views = [parts[o.number] for o in self.step.step.outputs]
        places = self._pointers[len(self._pointers) - len(views) :]
        return [replace(v, address=a, device=self.backend.device) for v, a in zip(views, places, strict=True)]

    def _read(self) -> list[Any]:
        return [self.backend.get(v, self.arrays.stream) for v in self._outputs()]


def _inverted(a: Any) -> Any:
    """An array that differs from ``a`` in every byte."""
    return (~np.frombuffer(a.tobytes(), np.uint8)).view(a.dtype).reshape(a.shape)


def near(a: Any, b: Any, n: int) -> bool:
    """Whether floats differ by no more than another order of ``n`` summands explains; integers must be equal."""
    if a.dtype.kind in "iub":
        return bool((a == b).all())
    unit = 2.0 ** -({2: 8, 4: 24, 8: 53}.get(a.dtype.itemsize, 8))
    x, y = a.astype(np.float64), b.astype(np.float64)
    most = float(np.nanmax(np.abs(x), initial=0))
    return bool(np.allclose(x, y, rtol=0, atol=16 * unit * n**0.5 * most, equal_nan=True))
