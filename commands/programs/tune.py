"""``warpfold tune`` of a program: searches for a plan of each step that this machine's GPU runs faster.

The search is a hill climb over the fields of a step's plan, as in ``runtime/tuning/autotune.py``. What it finds is a
``--plan`` to ask for. Nothing is kept for later calls: another plan of rows that are read again mostly has other bits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from typing import Any

from ...compiler.errors import WarpfoldError, error
from ...compiler.plan.plan import Plan
from ...compiler.planner import choose as planner
from ...compiler.planner.task import Choice
from ...runtime.programs import run as runtime
from ...runtime.programs.plans import PreparedProgram
from ...runtime.tuning.autotune import ROUGH, RUNS, Tried, beats, require_gpu
from ...runtime.tuning.measure import Timing
from ...runtime.tuning.trials import near
from .. import levels, terminal
from ..requests.inputs import Array, aligned
from ..requests.program_request import ProgramRequest
from ..timing import StepTimer
from . import run
from .words import Words

STEPPED = ("vector", "unroll", "lanes", "warps", "warps_kept", "cluster")
"""Fields to double and to halve."""
RESIDENCIES = ("registers", "shared", "grid", "l2", "memory")
CHANGES = 2
"""Greatest number of fields that differ from the best plan so far."""
SHOWN = 12
"""Greatest number of plans that are shown of a step, beside the planner's own."""


@dataclass
class Found:
    """The search among the plans of one step.

    Attributes:
        title: the step.
        tried: every plan that ran, the planner's own first.
        best: the fastest one.
    """

    title: str
    tried: list[Tried]
    best: Tried


class Search:
    """The plans of the steps of one program, on the GPU."""

    def __init__(self, request: ProgramRequest) -> None:
        self.operands = runtime.operands_of([aligned(x) for x in request.arrays], "cuda")
        self.backend: Any = self.operands.backend
        runtime.allocate(self.operands, request.program)
        self.prepared = runtime.prepare(self.operands, request.program, request.plan, request.determinism)
        self.own = run.launched(self.operands, self.prepared)

    def step(self, number: int, until: float) -> list[Tried]:
        """Climbs from the plan of a step to better ones, the best of which the program then has."""
        choice = self.prepared.steps[number].prepared.choice
        tried = [Tried(levels.plan_words(choice.plan), "own", self._time(number, choice, RUNS)[1])]
        best, seen = tried[0], {tried[0].plan}
        better: Choice | None = choice
        while better is not None:
            choice, better = better, None
            for other in _near(self.prepared, number, choice):
                words = levels.plan_words(other.plan)
                if words in seen:
                    continue
                if time.perf_counter() > until:
                    return tried
                seen.add(words)
                tried.append(self._tried(number, other, best))
                if tried[-1].verdict.startswith("faster"):
                    best, better = tried[-1], other
                    self.prepared = _with(self.prepared, number, other)
                    break
        return tried

    def _tried(self, number: int, other: Choice, best: Tried) -> Tried:
        """A plan that was timed and compared."""
        words = levels.plan_words(other.plan)
        assert best.timing is not None
        try:
            results, timing = self._time(number, other, ROUGH)
            if timing.median < best.timing.median:
                timing = self._time(number, other, RUNS)[1]
        except WarpfoldError as e:
            return Tried(words, "refused", why=e.message)
        same = all(a.tobytes() == b.tobytes() for a, b in zip(self.own, results, strict=True))
        elements = max(1, self.prepared.steps[number].prepared.geometry.n_reduced)
        if not same and not all(near(a, b, elements) for a, b in zip(self.own, results, strict=True)):
            return Tried(words, "wrong", timing)
        verdict = "faster" if beats(timing, best.timing) else "slower"
        return Tried(words, verdict if same else f"{verdict}, other bits", timing)

    def _time(self, number: int, choice: Choice, runs: int) -> tuple[list[Array], Timing]:
        """The results of the program with this plan of a step, and the device time of the step."""
        timer = StepTimer(self.backend, runs, only=number)
        self.operands.backend = timer
        try:
            results = run.launched(self.operands, _with(self.prepared, number, choice))
        finally:
            self.operands.backend = self.backend
        return [r.copy() for r in results], timer.timings[number]


def _with(prepared: PreparedProgram, number: int, choice: Choice) -> PreparedProgram:
    """The program with another plan of one step."""
    steps = list(prepared.steps)
    own = steps[number]
    steps[number] = own._replace(prepared=replace(own.prepared, choice=choice))
    return prepared._replace(steps=tuple(steps))


def _near(prepared: PreparedProgram, number: int, best: Choice) -> Iterator[Choice]:
    """Choices a few steps from ``best``, the nearest first."""
    task = prepared.steps[number].prepared.task
    values: dict[str, list[Any]] = {}
    for name in STEPPED:
        value = getattr(best.plan, name)
        values[name] = [v for v in (2 * value, value // 2) if v]
    if task.program.reduces and best.plan.resident:
        values["resident"] = [r for r in RESIDENCIES if r != best.plan.resident]
    for count in range(1, CHANGES + 1):
        for names in combinations(values, count):
            for changed in product(*(values[name] for name in names)):
                try:
                    yield planner.choose(task, _asked(replace(best.plan, **dict(zip(names, changed, strict=True)))))
                except WarpfoldError:
                    continue


def _asked(plan: Plan) -> str:
    """A plan as ``--plan`` takes it, without what follows from the row."""
    return ",".join(f"{k}={v}" for k, v in plan.to_dict().items() if k not in ("tree", "held"))


def tune(request: ProgramRequest, *, seconds: float, json: bool) -> bool:
    """Searches and shows what was found; returns whether the search ended by itself.

    Raises:
        BackendError: WF834 without a GPU.
        ArgumentError: WF835 for a time that is not above 0, WF836 for arrays without elements.
    """
    _ = request.program  # errors of the request are raised on any machine
    require_gpu()
    if not seconds > 0:
        raise error("WF835", seconds=seconds)
    request.expect_elements()
    search = Search(request)
    words, found, whole = Words(request, search.prepared), list[Found](), True
    until = time.perf_counter() + seconds
    with terminal.progress(f"tuning {request.title()}"):
        try:
            for number in range(len(search.prepared.steps)):
                tried = search.step(number, until)
                found.append(Found(words.title(number), tried, min(_right(tried), key=_time)))
        except KeyboardInterrupt:
            if not found:
                raise
            whole = False
    device = search.backend.device_name
    if json:
        facts = {"title": request.title(), "device": device, "complete": whole, "steps": list(map(asdict, found))}
        terminal.show(terminal.as_json(facts))
    else:
        _show(request, found, device, whole=whole)
    return whole


def _right(tried: Sequence[Tried]) -> list[Tried]:
    return [t for t in tried if t.timing is not None and t.verdict != "wrong"]


def _time(tried: Tried) -> float:
    return tried.timing.median if tried.timing else float("inf")


def _show(request: ProgramRequest, found: Sequence[Found], device: str, *, whole: bool) -> None:
    terminal.show(f"{request.title()}, on {device}")
    for own in found:
        terminal.show(f"\n{own.title}\n")
        timed_plans = sorted((t for t in own.tried if t.timing), key=_time)
        shown = [t for i, t in enumerate(timed_plans) if i < SHOWN or t is own.tried[0]]
        terminal.table(("time", "quartiles", "verdict", "changes of the plan"), [_cells(own, t) for t in shown])
        terminal.show(f"\n{len(own.tried)} plan(s) tried")
        if own.best is own.tried[0]:
            terminal.show("none is faster than the planner's own")
            continue
        terminal.show(f"{_time(own.tried[0]) / _time(own.best):.2f} times faster: --plan {_changes(own, own.best)}")
    if not whole:
        terminal.show("\ninterrupted: what was found until then counts")
    terminal.show("\nnothing is kept: give the plan to a call as plan=, or to a command as --plan")


def _cells(own: Found, tried: Tried) -> tuple[str, ...]:
    timing = tried.timing
    assert timing is not None
    verdict = "planner's own" if tried.verdict == "own" else tried.verdict
    quartiles = f"{timing.low:.2f} to {timing.high:.2f} us"
    return terminal.duration(timing.median / 1e6), quartiles, verdict, _changes(own, tried)


def _changes(own: Found, tried: Tried) -> str:
    """The fields in which a plan differs from the planner's own, without what follows from the row."""
    before = own.tried[0].plan.split(",")
    return ",".join(item for item in tried.plan.split(",") if item not in before and not item.startswith("held="))
