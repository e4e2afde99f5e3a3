"""``warpfold spread`` of a program: whether bits depend on schedule, plan, or the place of rows among others.

Everything runs on the emulator. Rows are the indices of a dim that no fold goes over: they are put in another order,
fewer of them are computed, and arrays are moved off their alignment. A row must have the same bits then if the plan is
portable and a CTA owns the row; another plan may give other bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from ...compiler.errors import PlanError, error
from ...compiler.plan.ladder import expand
from ...compiler.plan.plan import Plan
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.tracing import leaf_names
from ...runtime.backends.emulator_backend import EmulatorBackend
from ...runtime.calls.operands import Operands
from ...runtime.programs import run as runtime
from ...runtime.programs.plans import PreparedProgram
from .. import levels, terminal
from ..checking.array_values import evaluate
from ..checking.program_bounds import free_dim
from ..checking.ulps import Apart, apart
from ..requests.inputs import Array, empty
from ..requests.program_request import ProgramRequest
from . import run

POWERS = ("1", "2", "4", "8", "16", "32")
FIELDS = {
    "vector": POWERS[:4], "lanes": POWERS, "warps": POWERS[:5], "cluster": POWERS[:4],
    "resident": ("registers", "shared", "grid", "l2", "memory"),
}  # fmt: skip
"""The fields of a plan on which the order of combines depends, and where rows wait, with the values to try."""
GAP = 3
"""Elements between rows that are moved off their alignment."""


@dataclass
class Spread:
    """The findings.

    Attributes:
        plans: the plan of each step, as asked for.
        labels: the names of the results.
        schedules, orders: the differences for each result over schedules, and over plans.
        tried: the plans tried, as ``--plan`` takes them.
        rows: for each way to place rows and each result the differences from the rows as they were.
        promised: whether rows must have the same bits wherever they are.
    """

    plans: list[str]
    labels: list[str]
    schedules: list[Apart]
    orders: list[Apart]
    tried: list[str]
    rows: dict[str, list[Apart]] = field(default_factory=dict)
    promised: bool = False

    @property
    def kept(self) -> bool:
        """Whether bits depend on nothing that they must not depend on."""
        placed = [a for found in self.rows.values() for a in found] if self.promised else []
        return all(a.answers == 1 for a in (*self.schedules, *placed))


class Trials:
    """Runs one program on an emulator of its own.

    Attributes:
        plans: the plan of each step.
        owns_rows: whether a CTA or a cluster owns each row: the tree of a plain reduction depends on their number.
    """

    def __init__(self, request: ProgramRequest) -> None:
        self.request = request
        self.backend = EmulatorBackend()
        prepared = self._prepared(request.arrays, request.plan)[1]
        self.plans = [s.prepared.choice.plan for s in prepared.steps]
        self.owns_rows = all(s.step.program.reads_again for s in prepared.steps)

    def _plans(self, options: str) -> list[Plan]:
        """The plan of each step under ``options``."""
        _, prepared = self._prepared(self.request.arrays, options)
        return [s.prepared.choice.plan for s in prepared.steps]

    def _prepared(self, arrays: Sequence[Array], options: str) -> tuple[Operands, PreparedProgram]:
        operands = runtime.operands_of(arrays, "emulator")
        operands.backend = self.backend
        program = self.request.traced([ArrayArg(v.dtype, v.shape) for v in operands.inputs])
        runtime.allocate(operands, program)
        return operands, runtime.prepare(operands, program, options, self.request.determinism)

    def run(self, arrays: Sequence[Array], options: str, seed: int | None = None) -> list[Array]:
        """The results for some arrays under one plan and one schedule."""
        operands, prepared = self._prepared(arrays, options)
        self.backend.seed = seed
        return run.launched(operands, prepared)

    def orders(self) -> Iterator[str]:
        """The options whose plans differ from each other; those asked for are first."""
        asked = self.request.plan
        steps = [f"{k}={v}" for k, values in FIELDS.items() if k not in expand(asked) for v in values]
        seen: list[list[Plan]] = []
        for options in (asked, *(",".join(filter(None, (asked, step))) for step in steps)):
            try:
                plans = self._plans(options)
            except PlanError:
                continue
            if plans not in seen:
                seen.append(plans)
                yield options


def spread(request: ProgramRequest, *, seeds: int, json: bool) -> bool:
    """Measures and shows the spread; returns whether the plan keeps its promises.

    Raises:
        WarpfoldError: the request is wrong; WF816 for an empty array.
    """
    found = measure(request, seeds)
    if json:
        terminal.show(terminal.as_json(_facts(request, found)))
    else:
        _show(request, found)
    return found.kept


def measure(request: ProgramRequest, seeds: int) -> Spread:
    """Runs the program under all schedules and plans, and with rows in other places."""
    for a in request.kinds:
        if 0 in a.shape:
            raise error("WF816", shape="x".join(map(str, a.shape)))
    trials, arrays = Trials(request), request.arrays
    with terminal.progress("compiling, and evaluating in float64"):
        exact = evaluate(request.program, arrays)
    by_schedule: list[list[Array]] = []
    for seed in range(seeds):
        with terminal.progress(f"schedule {seed + 1} of {seeds}"):
            by_schedule.append(trials.run(arrays, request.plan, seed))
    by_plan: list[list[Array]] = []
    tried: list[str] = []
    for options in trials.orders():
        with terminal.progress(f"plan {len(tried) + 1}: {options or 'the plan asked for'}"):
            by_plan.append(trials.run(arrays, options))
        tried.append(options)
    schedules, orders = (
        [apart(results, true) for results, true in zip(zip(*runs, strict=True), exact, strict=False)]
        for runs in (by_schedule, by_plan)
    )
    labels = [name or "result" for name in leaf_names(request.program.structure)]
    plans = [levels.plan_words(p) for p in trials.plans]
    promised = request.determinism == "portable" and trials.owns_rows
    found = Spread(plans, labels, schedules, orders, tried, promised=promised)
    for words, change in _places(request).items():
        with terminal.progress(words):
            found.rows[words] = _placed(trials, change, by_plan[0], exact)
    return found


# --- rows in other places ----------------------------------------------------------------------------------------
Change = tuple[Callable[[Array, int | None], Array], Callable[[Array, int], Array]]
"""What is done to an array along an axis, or to an array without rows; and which rows results then have."""


def _places(request: ProgramRequest) -> dict[str, Change]:
    """Ways to place rows, in words; none where the program has no rows."""
    dim = free_dim(request.program)
    if dim is None:
        return {}
    n = request.sizes[dim]
    order = np.random.default_rng(request.seed).permutation(n)
    some = np.arange(n // 3, n // 3 + max(1, n // 2))

    def taken(rows: Array) -> Change:
        return lambda x, axis: x if axis is None else np.take(x, rows, axis), lambda r, axis: np.take(r, rows, axis)

    return {
        "rows in another order": taken(order),
        f"{len(some)} row(s) of {n}": taken(some),
        "one row": taken(some[:1]),
        "arrays off their alignment": (lambda x, _: _moved(x), lambda r, _: r),
    }


def _moved(x: Array) -> Array:
    """A copy that begins one element after an aligned address, with a gap behind each row."""
    if not x.ndim:
        return x
    *outer, last = x.shape
    whole = empty((1 + int(np.prod(outer)) * (last + GAP),), x.dtype)
    held = whole[1:].reshape(*outer, last + GAP)[..., :last]
    held[...] = x
    return held


def _placed(trials: Trials, change: Change, base: Sequence[Array], exact: Sequence[Array]) -> list[Apart]:
    """The results of rows in other places beside those of the same rows before."""
    request, (given, kept) = trials.request, change
    program = request.program
    dim = free_dim(program)
    assert dim is not None
    axes = dict(program.dims[dim])
    got = trials.run([given(x, axes.get(i)) for i, x in enumerate(request.arrays)], request.plan)
    places = [o.axes.index(dim) for o in request.results]
    return [
        apart([np.ascontiguousarray(kept(b, axis)), np.ascontiguousarray(g)], kept(e, axis))
        for b, g, e, axis in zip(base, got, exact, places, strict=False)
    ]


# --- output ------------------------------------------------------------------------------------------------------
def _show(request: ProgramRequest, found: Spread) -> None:
    plans = [(f"plan {i}" if len(found.plans) > 1 else "plan", p) for i, p in enumerate(found.plans, 1)]
    terminal.facts([("spread", f"{request.title()} ({request.source})"), *plans])
    terminal.show()
    lines = []
    for i, label in enumerate(found.labels):
        lines.append((label, "schedule", *_cells(found.schedules[i])))
        lines.append((label, "plan", *_cells(found.orders[i])))
        lines += [(label, words, *_cells(own[i])) for words, own in found.rows.items()]
    terminal.table(("result", "from", "runs", "answers", "differ", "spread", "worst error"), lines)
    terminal.show()
    terminal.facts([("schedule", _verdict(found)), ("plans", _plans(found)), ("rows", _rows(found))])


def _cells(a: Apart) -> tuple[object, ...]:
    ulps = "" if a.error_ulps is None else f" ({a.error_ulps:.3g} ulps)"
    far = f"{a.ulps:.6g} ulps" if a.error_ulps is not None else "-"
    return a.runs, a.answers, f"{a.differ:,} of {a.size:,}", far, f"{a.error:.3g}{ulps}"


def _verdict(found: Spread) -> str:
    runs = found.schedules[0].runs
    if all(a.answers == 1 for a in found.schedules):
        return f"0 ulps over {runs} seed(s): the schedule cannot change it"
    return f"FAILED: the schedule changes it over {runs} seed(s): there is a race"


def _plans(found: Spread) -> str:
    answers = max(a.answers for a in found.orders)
    if answers == 1:
        return f"{len(found.tried)} plan(s), one answer: 0 ulps"
    far = max(found.orders, key=lambda a: a.error).farthest
    return (
        f"{len(found.tried)} plans, {answers} distinct answers; the farthest from exact with "
        f"{found.tried[far] or 'the plan asked for'}"
    )


def _rows(found: Spread) -> str:
    """What the bits of a row depended on, beside the promise."""
    if not found.rows:
        return "none: a fold goes over every dim that all results have"
    other = [words for words, own in found.rows.items() if any(a.answers > 1 for a in own)]
    if not other:
        return "the same bits wherever a row is, and however many there are"
    words = f"other bits with {', '.join(other)}"
    if found.promised:
        return f"FAILED: {words}, although the plan is portable"
    return f"{words}; --determinism portable promises the same"


def _facts(request: ProgramRequest, found: Spread) -> dict[str, object]:
    """All output as plain values."""
    results = [
        {
            "name": label, "schedule": asdict(found.schedules[i]), "plans": asdict(found.orders[i]),
            "rows": {words: asdict(own[i]) for words, own in found.rows.items()},
        }
        for i, label in enumerate(found.labels)
    ]  # fmt: skip
    return {
        "op": request.op, "name": request.name, "title": request.title(), "source": request.source,
        "determinism": request.determinism, "plans": found.plans, "promised": found.promised, "kept": found.kept,
        "results": results, "tried": found.tried,
    }  # fmt: skip
