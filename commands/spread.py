"""``warpfold spread``: how far a result depends on the schedule and on the order of its combines.

Everything runs on the emulator, which can produce any schedule. The requested plan runs under many seeds; then each
order of combines one step away from it runs once. A step gives one field of the plan another value, or takes a rung of
the ladder; fields named by ``--plan`` keep their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import prod
from typing import get_args

import numpy as np

from ..compiler.errors import PlanError, error
from ..compiler.plan.fields import Fast, Finish, Meeting
from ..compiler.plan.ladder import RUNGS, expand
from ..compiler.plan.launch import Launch
from ..compiler.plan.plan import Plan
from ..compiler.program.analysis.atomic import exact
from ..compiler.program.tracing import leaf_names
from ..compiler.space.geometry import normalize_axes
from ..runtime.backends.emulator_backend import EmulatorBackend
from ..runtime.calls.operands import Operands
from ..runtime.prepare import Prepared
from ..runtime.programs.plans import PreparedProgram
from . import levels, terminal
from .checking import reference
from .checking.evaluate import Evaluator, parts, rows
from .checking.ulps import Apart, apart
from .programs.run import launched
from .programs.spread import spread as spread_program
from .requests.choose import AnyRequest
from .requests.program_request import ProgramRequest
from .requests.request import Array, Request

POWERS = ("1", "2", "4", "8", "16", "32")
FIELDS: dict[str, Sequence[str]] = {
    "fast": get_args(Fast), "walk": ("interleaved", "blocked"), "vector": POWERS[:5], "unroll": POWERS[:4],
    "lanes": POWERS, "warps": POWERS, "cluster": POWERS[:4], "cta": get_args(Meeting), "coarsening": ("0", *POWERS[:5]),
    "finish": get_args(Finish),
}  # fmt: skip
"""The fields that determine the order of combines, with the values to try."""
LONGEST = 1 << 15
"""Greatest number of sequential accesses of a thread: more take the emulator many seconds."""


@dataclass
class Spread:
    """The findings.

    Attributes:
        ready: the prepared reduction with the requested plan.
        promised: whether the plan promises results that do not depend on the schedule.
        shape: shape of each result.
        plans: the orders tried, in the form of ``--plan``; ``long`` counts those that would take too long.
        schedules, orders: the differences for each result, and for each part of a complex one.
    """

    ready: Prepared
    promised: bool
    shape: tuple[int, ...]
    labels: list[str]
    schedules: list[Apart]
    orders: list[Apart]
    plans: list[str] = field(default_factory=list)
    long: int = 0

    @property
    def kept(self) -> bool:
        """Whether the plan keeps its promise."""
        return not self.promised or all(a.answers == 1 for a in self.schedules)


class Trials:
    """Runs one reduction on an emulator of its own."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.axes = normalize_axes(request.axis, request.arrays[0].ndim)
        self.backend = EmulatorBackend()
        self.whole = self._prepared(request.plan)[0]
        self.ready = self.whole.steps[0].prepared

    def _prepared(self, options: str) -> tuple[PreparedProgram, Operands]:
        """The reduction prepared with plan ``options``, and memory for new results."""
        arrays = self.request.operands(self.request.arrays, "emulator")
        arrays.backend = self.backend
        with self.request.users_code():
            return self.request.prepared(arrays, options), arrays

    def run(self, options: str, seed: int | None) -> list[Array]:
        """The parts of the results under one plan and one schedule."""
        whole, arrays = self._prepared(options)
        self.backend.seed = seed
        return [p for r in launched(arrays, whole) for p in parts(r)]

    @cached_property
    def exact(self) -> list[Array]:
        """NumPy's results in float64; results that nothing rounds, in their own type."""
        xs, what = self.request.arrays, self.request.what
        inputs = [p for x in xs for p in parts(x)]
        if len(inputs) == len(xs) and not self.request.params and isinstance(what, str) and what in reference.BUILT_IN:
            return [np.asarray(reference.BUILT_IN[what](rows(xs[0], self.axes)))]
        return Evaluator(self.ready.program, inputs, self.axes).outputs()

    def orders(self) -> Iterator[tuple[str, Prepared]]:
        """The plans with distinct orders of combines; the requested one is first."""
        asked = self.request.plan
        pinned = expand(asked)
        steps = [f"{key}={value}" for key, values in FIELDS.items() if key not in pinned for value in values]
        steps += [rung.name for rung in RUNGS if not asked]
        seen = set()
        for options in (asked, *(",".join(filter(None, (asked, step))) for step in steps)):
            try:
                ready = self._prepared(options)[0].steps[0].prepared
            except PlanError:
                continue
            order = _order(ready.choice.plan, ready.choice.run)
            if order not in seen:
                seen.add(order)
                yield options, ready


def _order(plan: Plan, run: Launch) -> tuple[object, ...]:
    """A key for the order of combines: plans with equal keys have the same tree."""
    lasts = plan.finish if plan.finish == "atomic" and plan.parts(run.split) > 1 else run.split
    tree = plan.walk, plan.vector_reduced, plan.unroll, plan.lanes, plan.warps, plan.cluster, plan.cta, plan.fast
    return *tree, lasts, run.chunk, run.rows


def spread(request: AnyRequest, *, seeds: int, json: bool) -> bool:
    """Measures and shows the spread; returns whether the plan keeps its promise.

    Raises:
        WarpfoldError: the request is wrong; WF816 for an empty array.
    """
    if isinstance(request, ProgramRequest):
        return spread_program(request, seeds=seeds, json=json)
    found = measure(request, seeds)
    if json:
        terminal.show(terminal.as_json(_facts(request, found)))
    else:
        _show(request, found)
    return found.kept


def measure(request: Request, seeds: int) -> Spread:
    """Runs the reduction under all schedules and orders."""
    if not request.arrays[0].size:
        raise error("WF816", shape="x".join(map(str, request.arrays[0].shape)))
    trials = Trials(request)
    with terminal.progress("compiling, and evaluating in float64"):
        true_results = trials.exact
    by_schedule: list[list[Array]] = []
    for seed in range(seeds):
        with terminal.progress(f"schedule {seed + 1} of {seeds}"):
            by_schedule.append(trials.run(request.plan, seed))
    by_order: list[list[Array]] = []
    plans: list[str] = []
    long = 0
    for options, ready in trials.orders():
        if plans and _accesses(ready) > LONGEST:  # the requested plan always runs
            long += 1
            continue
        with terminal.progress(f"order {len(plans) + 1}: {options or 'the plan asked for'}"):
            by_order.append(trials.run(options, None))
        plans.append(options)
    plan, program = trials.ready.choice.plan, trials.ready.program
    promised = plan.finish != "atomic" or exact(program.monoid)
    schedules, orders = (
        [apart(results, true) for results, true in zip(zip(*runs, strict=True), true_results, strict=True)]
        for runs in (by_schedule, by_order)
    )
    return Spread(trials.ready, promised, by_schedule[0][0].shape, _labels(trials), schedules, orders, plans, long)


def _accesses(ready: Prepared) -> int:
    """The sequential accesses of a thread."""
    plan, run = ready.choice.plan, ready.choice.run
    own = -(-run.chunk * run.length // (run.rows * plan.positions * plan.vector_reduced))
    return own * (plan.positions if plan.cta == "serial" and plan.exchange == "global" else 1)


def _labels(trials: Trials) -> list[str]:
    """The name of each part of a result."""
    found, labels = trials.whole.program, []
    for name, (_, t) in zip(leaf_names(found.structure), found.results, strict=False):
        tails = (".real", ".imag") if t.kind == "complex" else ("",)
        labels += [f"{name}{tail}".lstrip(".") or "result" for tail in tails]
    return labels


def _show(request: Request, found: Spread) -> None:
    title = f"{request.title()} ({request.kind()[2]})"
    terminal.facts([("spread", title), ("plan", levels.plan_words(found.ready.choice.plan))])
    terminal.show()
    several = prod(found.shape) > 1
    columns = "result", "from", "runs", "answers", "spread", *(("at",) if several else ())
    lines = []
    for label, *sources in zip(found.labels, found.schedules, found.orders, strict=True):
        for source, a in zip(("schedule", "order of combines"), sources, strict=True):
            error_ = f"{a.error:.3g}" + (f" ({a.error_ulps:.3g} ulps)" if a.error_ulps is not None else "")
            values = f"{a.least:.9g}", f"{a.greatest:.9g}"
            place = (_index(a.where, found.shape),) if several else ()
            lines.append((label, source, a.runs, a.answers, _apart(a), *place, *values, error_))
    terminal.table((*columns, "least", "greatest", "worst error"), lines)
    terminal.show()
    terminal.facts([("schedule", _verdict(found)), ("orders", _orders(found))])


def _index(where: int, shape: tuple[int, ...]) -> str:
    """The index of the element whose results differ most; least and greatest belong to it."""
    return str(tuple(int(i) for i in np.unravel_index(where, shape)))


def _apart(a: Apart) -> str:
    if a.error_ulps is not None:
        return f"{a.ulps:.6g} ulps"
    return f"{a.differ} of {a.size} differ" if a.differ else "0"


def _verdict(found: Spread) -> str:
    """The observed dependence on the schedule beside the promise of the plan."""
    same = all(a.answers == 1 for a in found.schedules)
    runs = found.schedules[0].runs
    if found.promised:
        if same:
            return f"0 ulps over {runs} seed(s): the schedule cannot change it"
        return (
            f"FAILED: the schedule changes it over {runs} seed(s), although the plan fixes the order: there is a race"
        )
    if same:
        return f"the same bits over {runs} seed(s), although atomics come in any order"
    return f"it depends on the order of the atomics: finish={found.ready.choice.plan.finish} promises no bits"


def _orders(found: Spread) -> str:
    n, answers = len(found.plans), max(a.answers for a in found.orders)
    left = f"; {found.long} more would take too long here" if found.long else ""
    if answers == 1:
        return f"{n} order(s) of combines, one answer: 0 ulps{left}"
    far = max(found.orders, key=lambda a: a.error).farthest
    plan = f"; the farthest from exact with {found.plans[far] or 'the plan asked for'}"
    return f"{n} orders of combines, {answers} distinct answers{plan}{left}"


def _facts(request: Request, found: Spread) -> dict[str, object]:
    """All output as plain values."""
    shape, types, source = request.kind()
    results = [
        {"name": label, "schedule": asdict(s), "orders": asdict(o)}
        for label, s, o in zip(found.labels, found.schedules, found.orders, strict=True)
    ]
    return {
        "op": request.op, "name": request.name, "shape": list(shape), "dtypes": [t.name for t in types],
        "source": source, "axis": None if request.axis is None else list(request.axis),
        "determinism": request.determinism,
        "plan": found.ready.choice.plan.to_dict(), "promised": found.promised, "kept": found.kept,
        "results": results, "plans": found.plans, "too_long": found.long,
    }  # fmt: skip
