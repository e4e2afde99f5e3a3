"""Runs one reduction under the plans of ``compiler/plan/ladder.py``: checked, and timed or profiled."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..compiler.errors import PlanError
from ..compiler.plan.ladder import Rung
from ..compiler.plan.plan import Plan
from ..runtime.backends.kernel_calls import calls, scratch
from ..runtime.prepare import Prepared, artifact
from ..runtime.programs.plans import PreparedProgram
from ..runtime.programs.run import addresses_of, bound
from .checking import reference
from .checking.evaluate import Evaluator, parts
from .requests import inputs
from .requests.request import Request

if TYPE_CHECKING:
    from ..runtime.emulator.counters import Profile

T = TypeVar("T")
LAUNCHES, SECONDS = 21, 1.0
"""Limits for the timed launches of a rung: their number, and the time after which no further one begins."""


@dataclass(frozen=True)
class Counts:
    """The profile of all launches of a rung, in the terms of Nsight Compute.

    Attributes:
        branch_efficiency: branches that all threads of a warp take alike, in percent.
        sectors_per_request: 32-byte sectors per warp-wide load from global memory.
        bytes_used: bytes of those sectors that some thread reads, in percent.
        bank_conflicts: wavefronts of shared memory beyond the least possible.
        barriers: barriers of CTAs and warps, counted once for each warp.
        instructions_per_element: PTX instructions of all threads per element.
        sectors: 32-byte sectors of global memory that are read and written.
        sectors_per_store: 32-byte sectors per warp-wide store to global memory.
        shuffles, votes: exchanges between lanes, and ballots and other votes, counted once for each warp.
        ballots: the votes that give a word of the warp's truth values.
    """

    branch_efficiency: float
    sectors_per_request: float
    bytes_used: float
    bank_conflicts: int
    barriers: int
    instructions_per_element: float
    sectors: int = 0
    sectors_per_store: float = 0.0
    shuffles: int = 0
    votes: int = 0
    ballots: int = 0


@dataclass(frozen=True)
class Step:
    """The run of one rung.

    Attributes:
        rung: its name and idea.
        plan: the plan that the planner made of it; None if ``refused``.
        refused: why the reduction cannot run so; else empty.
        checks: how each result compares with NumPy's.
        microseconds: the median launch, by the device's clock; None on the emulator.
        counts: what the profiler saw on the emulator; None on a GPU.
    """

    rung: Rung
    plan: Plan | None = None
    refused: str = ""
    checks: tuple[reference.Check, ...] = ()
    microseconds: float | None = None
    counts: Counts | None = None

    @property
    def passed(self) -> bool:
        """Whether no result is wrong."""
        return all(c.passed for c in self.checks)


class Ground:
    """The reduction of all elements of some arrays on one machine.

    Args:
        request: what to reduce.
        device: auto, cuda or emulator.
    """

    def __init__(self, request: Request, device: str) -> None:
        self.request = request
        self.arrays = request.operands([inputs.aligned(x) for x in request.arrays], device)
        if self.arrays.backend.name == "emulator":
            from ..runtime.backends.emulator_backend import EmulatorBackend

            self.arrays.backend = EmulatorBackend()
        self.backend: Any = self.arrays.backend
        self.axes = tuple(range(len(self.arrays.inputs[0].shape)))
        self._evaluator: Evaluator | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that every rung must read."""
        return sum(x.nbytes for x in self.request.arrays)

    def climb(self, rung: Rung) -> Step:
        """Plans, compiles and runs ``rung``: timed on a GPU, profiled on the emulator."""
        try:
            whole = self._prepared(rung)
        except PlanError as e:
            return Step(rung, refused=e.message)
        ready = whole.steps[0].prepared
        step = Step(rung, ready.choice.plan)
        if self.backend.name == "emulator":
            results, counts = self._launch(whole, self._count)
            return replace(step, counts=counts, checks=self._checks(ready, results))
        results, median = self._launch(whole, self._time)
        return replace(step, microseconds=median, checks=self._checks(ready, results))

    def _prepared(self, rung: Rung) -> PreparedProgram:
        """The plan of ``rung``; determinism is none, which admits atomics and changes no other plan."""
        with self.request.users_code():
            return self.request.prepared(self.arrays, rung.name, determinism="none")

    def _launch(self, whole: PreparedProgram, watch: Callable[[Callable[[], None]], T]) -> tuple[list[Any], T]:
        """The results, and the value of ``watch``, which is called with the launches as a function."""
        (own,) = whole.steps
        ready = own.prepared
        arrays, run, compiled = self.arrays, ready.choice.run, artifact(ready)
        with bound(arrays) as addresses:
            pointers = addresses_of(own.step, whole, addresses, 0)
            layout = scratch(compiled, ready.geometry, run)
            space = self.backend.workspace(layout.nbytes, layout.counters, arrays.stream)
            todo = calls(compiled, ready.geometry, run, pointers, space, layout)
            seen = watch(lambda: self.backend.launch(compiled, todo, arrays.stream))
        results = [finish() for finish in arrays.results]
        return [np.asarray(r) for r in results[: len(results) - len(whole.program.checks)]], seen

    def _time(self, work: Callable[[], None]) -> float:
        """The median time of a launch in microseconds; the L2 cache is flushed before each."""
        stream = self.arrays.stream
        work()  # loads the code
        self.backend.synchronize(stream)
        until = time.perf_counter() + SECONDS
        found: list[float] = []
        while not found or (len(found) < LAUNCHES and time.perf_counter() < until):
            self.backend.flush(stream)
            found.append(self.backend.elapsed(work, stream))
        return statistics.median(found)

    def _count(self, work: Callable[[], None]) -> Counts:
        """The profile of one launch of every kernel."""
        from ..runtime.emulator.profiler import Profiler

        self.backend.tool = tool = Profiler()
        try:
            work()
        finally:
            self.backend.tool = None
        return counts_of(tool.profiles, prod(self.arrays.inputs[0].shape))

    def _checks(self, ready: Prepared, results: Sequence[Any]) -> tuple[reference.Check, ...]:
        """Compares the results with NumPy's, which are computed once for all rungs."""
        xs = self.request.arrays
        inputs = [p for x in xs for p in parts(x)]
        if self._evaluator is None:
            self._evaluator = Evaluator(ready.program, inputs, self.axes, random=not self.request.files)
        name = self.request.what if len(inputs) == len(xs) else None
        depth = reference.depth(ready.choice.plan, ready.choice.run)
        got = [p for r in results for p in parts(r)]
        return tuple(reference.check(name, self._evaluator, xs, self.axes, got, depth))


def counts_of(profiles: Sequence[Profile], elements: int) -> Counts:
    """The counts of all launches of a rung."""
    from ..runtime.emulator.counters import total

    seen = total(profiles)
    loads = seen.traffic("global load")
    return Counts(
        branch_efficiency=100 * seen.branch_efficiency,
        sectors_per_request=loads.sectors_per_request,
        bytes_used=100 * loads.used,
        bank_conflicts=seen.bank_conflicts,
        barriers=seen.warp_instructions["barrier"],
        instructions_per_element=seen.thread_instructions.total() / elements,
        sectors=sum(found.sectors for what, found in seen.memory.items() if what.startswith("global")),
        sectors_per_store=seen.traffic("global store").sectors_per_request,
        shuffles=seen.warp_instructions["shuffle"],
        votes=seen.warp_instructions["vote"],
        ballots=seen.ballots,
    )
