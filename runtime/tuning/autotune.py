"""``wf.autotune``: searches for a plan that a GPU runs faster than the planner's own.

The search is a hill climb: from the best plan so far to plans that differ in a few fields by one step, until none is
better. Only plans that give the planner's own bits take part (``compiler/planner/tree.py``), and the result of each is
compared with the planner's before it is timed. The winner is kept (``tuned_plans.py``), and later calls use it.

The neighbours of a plan in the autotuner's search: plans a few steps away with the planner's own bits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations, product
from typing import Any, get_args

from ...compiler.errors import WarpfoldError, error
from ...compiler.plan.fields import Determinism, Finish
from ...compiler.plan.launch import grain
from ...compiler.plan.plan import Plan
from ...compiler.planner import choose as planner
from ...compiler.planner.powers_of_two import ceil2
from ...compiler.planner.task import Choice, Task
from ...compiler.program.cuts.cut import only_step
from ...compiler.program.frames import outermost
from ...compiler.program.spelling import irreducible
from ...compiler.program.tracing import Nan
from .. import tuned_plans
from ..arrays.torch_compile import opaque
from ..calls.operands import Operands
from ..programs.plans import PreparedProgram, forget
from ..programs.reductions import prepared
from .measure import Timing
from .trials import Trials

CHANGES = 3
"""Greatest number of fields that differ: half the warps need twice the vector to keep the tree."""
STEPPED = ("vector", "unroll", "lanes", "warps", "warps_kept", "cluster")
"""Fields to double and to halve."""


def neighbours(task: Task, own: Choice, best: Choice) -> Iterator[Choice]:
    """Choices a few steps from ``best`` that may replace the planner's ``own``, the nearest first."""
    steps = {name: list(values) for name, values in _steps(best, task.geometry.columns).items()}
    for count in range(1, CHANGES + 1):
        for names in combinations(steps, count):
            for values in product(*(steps[name] for name in names)):
                other = _choice(task, replace(best.plan, **dict(zip(names, values, strict=True))))
                if other is not None and tuned_plans.allowed(task, own, other):
                    yield other


def _steps(best: Choice, columns: int) -> dict[str, list[Any]]:
    """For each field of the plan, the values one step away."""
    plan, found = best.plan, dict[str, list[Any]]()
    for name in STEPPED:
        value = getattr(plan, name)
        found[name] = [v for v in (2 * value, value // 2) if v]
    found["finish"] = [f for f in get_args(Finish) if f != plan.finish]
    each = plan.coarsening or ceil2(max(1, best.run.chunk // grain(plan, columns)))
    found["coarsening"] = [v for v in (0, each // 2, each, 2 * each) if v != plan.coarsening]
    return found


def _choice(task: Task, plan: Plan) -> Choice | None:
    """The choice of exactly this plan; None if the planner rejects it."""
    if plan.finish == "cta":
        plan = replace(plan, coarsening=0)
    try:
        found = planner.choose(task, tuned_plans.words(plan))
    except WarpfoldError:
        return None
    return found if found.plan == plan else None


MARGIN = 0.02
"""Least relative gain of a winner: the difference between sessions; more if its runs vary more."""
ROUGH, RUNS = 5, 25
"""Timed runs to reject a plan, and to accept one."""


@dataclass(frozen=True)
class Tried:
    """One plan.

    Attributes:
        plan: the fields, as ``plan=`` takes them.
        verdict: ``own`` (the planner's), ``faster``, ``slower``, ``other bits``, or ``refused``.
        timing: the device time in microseconds; None if the plan was not timed.
        why: the reason of a refusal.
    """

    plan: str
    verdict: str
    timing: Timing | None = None
    why: str = ""


@dataclass(frozen=True)
class Tuned:
    """The result of ``autotune``.

    Attributes:
        name, device: the reduction and the device.
        tried: every plan that ran, the planner's own first.
        own, best: the planner's own plan and the fastest one; equal if none was faster.
        path: the file of the find; None without a find.
    """

    name: str
    device: str
    tried: tuple[Tried, ...]
    own: Tried
    best: Tried
    path: str | None = None

    @property
    def faster(self) -> float:
        """The speedup of the best plan over the planner's own."""
        times = [t.timing.median for t in (self.own, self.best) if t.timing]
        return times[0] / times[1] if len(times) == 2 and times[1] else 1.0


@opaque
@outermost
def autotune(
    *xs: Any,
    what: Any = None,
    axis: int | Sequence[int] | None = None,
    where: Any = None,
    nan: Nan = "propagate",
    determinism: Determinism = "run",
    seconds: float = 30.0,
    **params: Any,
) -> Tuned:
    """Searches for a faster plan for ``wf.reduce`` of these arrays on their GPU, and keeps it.

    Later calls with the same program, sizes, strides, types, alignment and ``determinism`` use it: in this process, and
    in processes that start later with the same cache directory. Results stay the same, bit for bit, unless
    ``determinism="none"`` allows other bits. ``warpfold tune --forget`` deletes all finds.

    Args:
        xs: as in ``reduce``; preferably arrays on the GPU.
        what: as in ``reduce``.
        axis: the axes to reduce.
        where: a bool array of the elements that take part.
        nan: as in ``reduce``.
        determinism: as in ``reduce``; ``none`` admits plans with other bits.
        seconds: time after which no further plan is tried.
        params: keyword parameters of the tensor program.

    Raises:
        BackendError: WF834 without a GPU.
        ArgumentError: WF835 for a wrong ``seconds``, WF836 for empty arrays.
        FileError: WF505 when the find cannot be written.
    """
    if what is None:
        if len(xs) < 2:
            raise irreducible(None, "nothing")
        *xs, what = xs  # type: ignore[assignment]
    search = Search.of(xs, what, axis, where, nan, determinism, params)
    return search.run(seconds)


class Search:
    """The search among the plans of one reduction.

    Args:
        prepared: the reduction, which is one step.
        arrays: its operands, with memory for the results.
    """

    def __init__(self, prepared: PreparedProgram, arrays: Operands) -> None:
        self.trials, self.arrays = Trials(prepared, arrays), arrays
        self.task = task = self.trials.task
        self.own = planner.choose(task)
        self.tried: list[Tried] = []
        self.best: tuple[Choice, Tried] | None = None
        self.path: str | None = None

    @classmethod
    def of(
        cls, xs: Sequence[Any], what: Any, axis: Any, where: Any, nan: Nan, determinism: Determinism, params: Any
    ) -> Search:
        """The search for a call of ``reduce``; raises the errors of ``autotune``."""
        from ..options import check_options

        check_options(nan=nan, determinism=determinism)
        require_gpu()
        arrays, found = prepared(xs, what, axis, params, where=where, nan=nan, determinism=determinism, device="cuda")
        only_step(found.program)
        if any(0 in v.shape for v in arrays.inputs):
            raise error("WF836", shape=arrays.inputs[0].shape)
        return cls(found, arrays)

    def run(self, seconds: float) -> Tuned:
        """Searches for ``seconds``, and keeps the best plan, also when interrupted."""
        if not seconds > 0:
            raise error("WF835", seconds=seconds)
        until = time.perf_counter() + seconds
        try:
            with self.trials.open(self.own):
                timing = self.trials.time(self.own, RUNS)
                self.best = self.own, self._note(Tried(tuned_plans.words(self.own.plan), "own", timing))
                self._climb(until)
                self._duel()
        finally:
            self.path = self._keep()
        return self.found()

    def found(self) -> Tuned:
        """The findings so far, once the planner's own plan was timed."""
        best = self.best[1] if self.best else self.tried[0]
        return Tuned(
            self.task.program.name, self.trials.backend.device_name, tuple(self.tried), self.tried[0], best, self.path
        )

    def _climb(self, until: float) -> None:
        """Moves to the first better neighbour until there is none."""
        seen = {tuned_plans.words(self.own.plan)}
        better = True
        while better:
            assert self.best is not None
            better = False
            for other in neighbours(self.task, self.own, self.best[0]):
                if time.perf_counter() > until:
                    return
                words = tuned_plans.words(other.plan)
                if words not in seen:
                    seen.add(words)
                    if self._try(other):
                        better = True
                        break

    def _try(self, other: Choice) -> bool:
        """Whether ``other`` is better than the best so far; if so, it becomes the best."""
        assert self.best is not None
        plan, best = tuned_plans.words(other.plan), self.best[1].timing
        assert best is not None
        try:
            if not self.trials.agrees(other):
                self._note(Tried(plan, "other bits"))
                return False
            timing = self.trials.time(other, ROUGH)
            if timing.median < best.median:
                timing = self.trials.time(other, RUNS)
        except WarpfoldError as e:
            self._note(Tried(plan, "refused", why=e.message))
            return False
        wins = beats(timing, best)
        tried = self._note(Tried(plan, "faster" if wins else "slower", timing))
        if wins:
            self.best = other, tried
        return wins

    def _duel(self) -> None:
        """Times the best and the planner's own plan again: the best of many may have been lucky."""
        assert self.best is not None
        choice, best = self.best
        if choice is self.own:
            return
        times = [self.trials.time(c, 2 * RUNS) for c in (self.own, choice)]
        own, again = (replace(t, timing=timing) for t, timing in zip((self.tried[0], best), times, strict=True))
        if not beats(*times[::-1]):
            again = replace(again, verdict="slower")
        self.tried = [own, *(again if t is best else t for t in self.tried[1:])]
        self.best = (choice, again) if again.verdict == "faster" else (self.own, own)

    def _keep(self) -> str | None:
        """Writes the find, if there is one."""
        if self.best is None or self.best[0] is self.own:
            return None
        choice, best = self.best
        key = tuned_plans.key(self.task, self.trials.backend.device_name)
        path = tuned_plans.keep(tuned_plans.Find(key, tuned_plans.words(choice.plan), self._provenance(best)))
        forget()
        return str(path)

    def _provenance(self, best: Tried) -> dict[str, Any]:
        from ... import __version__

        found = self.found()
        assert found.own.timing is not None
        assert best.timing is not None
        return {
            "reduction": found.name,
            "shape": list(self.arrays.inputs[0].shape),
            "dtypes": [t.name for t in self.arrays.types],
            "determinism": self.task.determinism,
            "device": found.device,
            "own_plan": found.own.plan,
            "own_us": round(found.own.timing.median, 3),
            "us": round(best.timing.median, 3),
            "faster": round(found.faster, 4),
            "tried": len(found.tried),
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "warpfold": __version__,
        }

    def _note(self, tried: Tried) -> Tried:
        self.tried.append(tried)
        return tried


def beats(timing: Timing, other: Timing) -> bool:
    """Whether ``timing`` beats ``other`` by more than runs and sessions vary."""
    return timing.median * (1 + max(MARGIN, timing.spread, other.spread)) < other.median


def require_gpu() -> None:
    """Raises WF834 if there is no GPU to time plans on."""
    from ..backends.cuda_backend import find

    if not find():
        raise error("WF834")


def forget_all() -> int:
    """Removes all finds and forgets plans chosen by them; returns the number of finds."""
    count = tuned_plans.forget()
    forget()
    return count
