"""``wf.autotune``: looks among the plans of one reduction for one that a GPU runs faster than the planner's own.

It climbs: from the best plan known to plans that differ in a few fields by one step, until none of them is better. Only
plans that give the planner's own bits take part (``compiler/planner/tree.py``), and the answer of each is compared with
the planner's before it is timed. What wins is kept (``tuned_plans.py``), and later calls use it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ...compiler.errors import WarpfoldError, error
from ...compiler.plan.plan import Determinism
from ...compiler.planner import choose as planner
from ...compiler.planner.task import Choice, Task
from ...compiler.program.frames import outermost
from ...compiler.program.spelling import irreducible
from ...compiler.program.tracing import Nan
from ...compiler.space.geometry import normalize_axes
from .. import tuned_plans
from ..arrays.torch_compile import opaque
from ..calls.operands import Operands
from ..execute import prepared
from ..prepare import Request, forget
from ..resolve import params_of
from .measure import Timing
from .neighbours import neighbours
from .trials import Trials

MARGIN = 0.02
"""The part of its time by which a plan must be faster: what two sittings differ by; more where its runs do."""
ROUGH, RUNS = 5, 25
"""Timed runs by which a plan is found slow, and by which it wins."""


@dataclass(frozen=True)
class Tried:
    """One plan.

    Attributes:
        plan: its fields, as ``plan=`` takes them.
        verdict: ``own`` (the planner's), ``faster``, ``slower``, ``other bits``, or ``refused``.
        timing: its device time in microseconds; None where it was not timed.
        why: the reason of a refusal.
    """

    plan: str
    verdict: str
    timing: Timing | None = None
    why: str = ""


@dataclass(frozen=True)
class Tuned:
    """What ``autotune`` found.

    Attributes:
        name, device: the reduction, and the machine.
        tried: every plan that was run, the planner's own first.
        own, best: the planner's own and the fastest; the same where nothing was faster.
        path: the file of the find; None where there is none.
    """

    name: str
    device: str
    tried: tuple[Tried, ...]
    own: Tried
    best: Tried
    path: str | None = None

    @property
    def faster(self) -> float:
        """How many times faster the best plan is than the planner's own."""
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
    """Looks for a faster plan for ``wf.reduce`` of these arrays on their GPU, and keeps what it finds.

    Later calls of this kind (this program, these sizes, strides, types and alignment, this ``determinism``) use it, in
    this process and in others that share the cache directory; in others from their start. Answers stay the same, bit
    for bit, unless ``determinism="none"`` asks for no fixed ones. ``warpfold tune --forget`` gives all finds up.

    Args:
        xs: as in ``reduce``, like ``what`` and all that follows; best arrays of the GPU.
        what: what to reduce with.
        axis: the axes to reduce.
        where: an array of bool that says which elements take part.
        nan: what becomes of elements that are NaN.
        determinism: what the bits of a result may depend on, and so which plans take part.
        seconds: after so long no further plan is tried.
        params: passed to the tensor program.

    Raises:
        BackendError: WF834 without a GPU.
        ArgumentError: WF835 for a time that is none, WF836 where there is nothing to reduce.
        FileError: WF505 when the find cannot be written.
    """
    if what is None:
        if len(xs) < 2:
            raise irreducible(None, "nothing")
        *xs, what = xs  # type: ignore[assignment]
    search = Search.of(xs, what, axis, where, nan, determinism, params)
    return search.run(seconds)


class Search:
    """The plans of one reduction of some arrays.

    Args:
        task: what to reduce.
        arrays: of what, with memory for the results.
    """

    def __init__(self, task: Task, arrays: Operands) -> None:
        self.task, self.arrays = task, arrays
        self.trials = Trials(task, arrays)
        self.own = planner.choose(task)
        self.tried: list[Tried] = []
        self.best: tuple[Choice, Tried] | None = None
        self.path: str | None = None

    @classmethod
    def of(
        cls, xs: Sequence[Any], what: Any, axis: Any, where: Any, nan: Nan, determinism: Determinism, params: Any
    ) -> Search:
        """The search for a call of ``reduce``; the errors of ``autotune``."""
        from ..api import check_options

        check_options(nan=nan, determinism=determinism)
        require_gpu()
        arrays = Operands.of(xs, "cuda", where)
        axes = normalize_axes(axis, len(arrays.shape))
        request = Request(what, axes, params_of(what, params), "", arrays.masked, nan, determinism)
        ready = prepared(request, arrays)
        if 0 in (ready.geometry.n_kept, ready.geometry.n_reduced):
            raise error("WF836", shape=arrays.shape)
        return cls(ready.task, arrays)

    def run(self, seconds: float) -> Tuned:
        """Searches for so long, and keeps what it found, also when it is interrupted."""
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
        """What was found so far, once the planner's own plan was timed."""
        best = self.best[1] if self.best else self.tried[0]
        return Tuned(
            self.task.program.name, self.trials.backend.device_name, tuple(self.tried), self.tried[0], best, self.path
        )

    def _climb(self, until: float) -> None:
        """To the first neighbour that is better, and on from there."""
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
        """Whether ``other`` is better than the best so far, whose place it then takes."""
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
        """Once more, the best and the planner's own: of many, one may have been lucky."""
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
            "shape": list(self.arrays.shape),
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
    """Whether ``timing`` is less than ``other`` by more than runs of either differ, and than sittings do."""
    return timing.median * (1 + max(MARGIN, timing.spread, other.spread)) < other.median


def require_gpu() -> None:
    """Raises WF834 where there is no GPU to time plans on."""
    from ..backends.cuda_backend import find

    if not find():
        raise error("WF834")


def forget_all() -> int:
    """Removes all finds, and lets this process plan for itself again; says how many there were."""
    count = tuned_plans.forget()
    forget()
    return count
