"""Whether a result is right: NumPy's answer in float64, and how far a result may lie from it.

Results that no rounding can touch (integers, truth values, selections such as min and argmax) must be equal. The others
may differ by what the plan's rounding explains: each value of the folded state by

    u * (4 + 2 * depth) * peak

where ``u`` is the unit roundoff of the accumulator (f32: 2^-24, f64: 2^-53), ``depth`` the combines that one element
passes through under the plan, and ``peak`` the greatest magnitude of a partial result. What the code after the fold
makes of such a difference is found by evaluating it on the shifted state; one rounding of the result is added. Where a
combine multiplies the values of its two sides, the root of the number of elements takes the place of ``depth``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.dtypes import DType
from ..compiler.graph import Expr, MonoidGraph, walk
from ..compiler.numeric import Array
from ..compiler.ownership import Launch
from ..compiler.plan import ROWS_A_ROUND, Plan
from .evaluate import Evaluator, State, rounds, rows

AMPLIFIED = 32
"""How far the errors of factors are amplified by those that follow: seen 9 for products of random 2x2 matrices."""
_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_TINY = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}
_HUGE = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38, "f64": 1.79e308}


def unit(t: DType) -> float:
    """The unit roundoff of a float type: the greatest relative error of one rounding."""
    return 2.0 ** -_BITS[t.name]


def tiny(t: DType) -> float:
    """The least normal value of a float type."""
    return _TINY[t.name]


@dataclass(frozen=True)
class Check:
    """How one result compares with its reference.

    Attributes:
        passed: whether every element is within what is allowed.
        exact: whether equality was asked for.
        error: the greatest difference.
        relative: the same, relative to the greatest magnitude of the reference.
        allowed: the allowance where the difference is the greatest.
        worst: flat index of the element that fails by most, or None.
        reference: the reference values.
    """

    passed: bool
    exact: bool
    error: float
    relative: float
    allowed: float
    worst: int | None
    reference: Array


def _logsumexp(x: Array) -> Array:
    m = x.max(axis=1, initial=-np.inf)
    safe = np.where(np.isfinite(m), m, 0)
    total: Array = safe + np.log(np.exp(x - safe[:, None]).sum(axis=1))
    return np.where(np.isfinite(m), total, m)


def _f64(x: Array) -> Array:
    return x.astype(np.float64)


def _comparable(x: Array) -> Array:
    """bf16 as f32, so that NumPy orders it as it orders its own types; the conversion is exact."""
    return x.astype(np.float32) if x.dtype.kind not in "fiub" else x


BUILT_IN: dict[str, Callable[[Array], Any]] = {
    "sum": lambda x: (x if x.dtype.kind in "iub" else _f64(x)).sum(axis=1),
    "prod": lambda x: (x if x.dtype.kind in "iub" else _f64(x)).prod(axis=1),
    "min": lambda x: _comparable(x).min(axis=1),
    "max": lambda x: _comparable(x).max(axis=1),
    "argmin": lambda x: _comparable(x).argmin(axis=1),
    "argmax": lambda x: _comparable(x).argmax(axis=1),
    "any": lambda x: np.any(x.astype(bool), axis=1),
    "all": lambda x: np.all(x.astype(bool), axis=1),
    "mean": lambda x: _f64(x).sum(axis=1) / x.shape[1] if x.shape[1] else np.full(x.shape[0], np.nan),
    "var": lambda x: _f64(x).var(axis=1) if x.shape[1] else np.full(x.shape[0], np.nan),
    "norm": lambda x: np.sqrt((_f64(x) ** 2).sum(axis=1)),
    "logsumexp": lambda x: _logsumexp(_f64(x)),
}
"""NumPy's own answers, independent of everything that warpfold traces; x is [results][reduced elements]."""


def depth(plan: Plan, run: Launch, times: int = 1, left: int = 1) -> int:
    """The most combines that one element passes through: a thread's chain, then the trees above it.

    Of elements that a result has several ``times`` each round doubles a state, or joins it with what there is, after
    which it is not doubled any more. If so many states are ``left`` of a result, all threads of a CTA read them.
    """
    if times > 1:
        return depth(plan, run, left=left) + (times - 1).bit_length()
    if plan.walk == "period":
        return _depth_of_periods(plan, run)
    across = plan.positions * plan.vector_reduced
    chain = -(-run.chunk // (across * plan.unroll)) if plan.walk != "runs" else _chain_of_runs(plan, run)
    in_order = plan.positions if plan.cta == "serial" else 0
    above = (plan.unroll * across * plan.cluster).bit_length() + in_order
    parts = plan.parts(run.split) * left
    if parts == 1:
        return chain + above
    last = plan.second if plan.finish == "last_block" else replace(plan, unroll=plan.second_unroll)
    deep, positions = last.unroll, plan.threads if plan.fast == "both" else last.positions
    in_order = positions if plan.cta == "serial" else 0
    return chain + above + -(-parts // (positions * deep)) + positions.bit_length() + in_order + deep


def _chain_of_runs(plan: Plan, run: Launch) -> int:
    """Of a thread that walks by runs: those of its warp, and in one of them the accesses at both ends beside groups."""
    return -(-run.chunk // plan.warps) + -(-run.length // (plan.step * plan.unroll)) + 2 * plan.unroll + 1


def _depth_of_periods(plan: Plan, run: Launch) -> int:
    """The same for a walk by periods: a few accesses beside the groups, and the rounds in which rows meet."""
    rounds = -(-(run.rows - 1).bit_length() // (ROWS_A_ROUND.bit_length() - 1))
    met = rounds * (ROWS_A_ROUND - 1)
    chain = run.chunk // (run.rows * plan.unroll) + 2 * plan.unroll + 2
    return chain + met + (run.split // run.rows + 3 + met if run.split > 1 else 0)


def check(
    name: object, evaluator: Evaluator, xs: Sequence[Array], axes: Sequence[int], got: Sequence[Array], levels: int
) -> list[Check]:
    """Compares results with NumPy's.

    Args:
        name: the name of a built-in reduction, for its own reference; anything else for the evaluator's.
        evaluator: the same program on the same arrays.
        xs: the inputs.
        axes: the reduced axes.
        got: the results to check.
        levels: ``depth`` of the plan that made them.
    """
    outputs = evaluator.outputs()
    with np.errstate(all="ignore"):
        if isinstance(name, str) and name in BUILT_IN:
            outputs = [BUILT_IN[name](rows(xs[0], axes))]
        allowances = _allowances(evaluator, levels)
        n = len(got)  # what the program checks of its own comes after its results
        found = zip(got, outputs[:n], allowances[:n], evaluator.program.outputs[:n], strict=True)
        return [_compare(*pair) for pair in found]


def worst(checks: Sequence[Check]) -> Check:
    """The check of a result from those of its parts: one that failed, or the one with the greatest error."""
    return max(checks, key=lambda c: (not c.passed, c.error))


def _allowances(evaluator: Evaluator, levels: int) -> list[Array | None]:
    """How far each result may lie from its reference; None where it must be equal."""
    base = evaluator.outputs()
    total = [np.where(lost, np.inf, 0.0) for lost in _overflows(evaluator)]
    for e in evaluator.program.reduces:
        for pair in _shifted(evaluator.states, e, _roundings(e.value, evaluator.n_reduced, levels)):
            up, down = (evaluator.outputs(shifted) for shifted in pair)
            for i, value in enumerate(base):
                total[i] = total[i] + np.maximum(_distance(up[i], value), _distance(down[i], value))
    pairs = zip(evaluator.program.outputs, base, total, strict=True)
    return [_allowance(expr, _magnitude(value), off) for expr, value, off in pairs]


def _overflows(evaluator: Evaluator) -> list[Array]:
    """Where each result rests on partial results that their accumulator cannot hold: nothing can be asked of it."""
    lost = {e.digest: _lost(e.value, evaluator.states[e.digest].peaks) for e in evaluator.program.reduces}
    found = []
    for output in evaluator.program.outputs:
        used = [lost[e.args[0].digest][e.value] for e in walk((output,)) if e.op == "result"]  # type: ignore[call-overload]
        found.append(np.logical_or.reduce([np.zeros(evaluator.n_kept, bool), *used]))
    return found


def _lost(graph: object, peaks: Sequence[Array]) -> list[Array]:
    """Where each value of a state overflows, or is made of others that do; what is only selected never does."""
    assert isinstance(graph, MonoidGraph)
    count = len(graph.state)
    sources = [{e.value % count for e in walk((c,)) if e.op == "param"} for c in graph.combine]  # type: ignore[operator]
    found = [
        peak > _HUGE[t.name] if t.is_float and rounds(walk((c,))) else np.zeros(peak.shape, bool)
        for t, c, peak in zip(graph.state, graph.combine, peaks, strict=True)
    ]
    for _ in range(count):  # as many steps as lead from one value to any other
        found = [
            np.logical_or.reduce([own, *(found[i] for i in used)]) for own, used in zip(found, sources, strict=True)
        ]
    return found


def _magnitude(value: Array) -> Array:
    """How great a result is; 0 for infinities and NaN, which are equal or not."""
    size = np.abs(_f64(value))
    return np.where(np.isfinite(size), size, 0.0)


def _distance(a: Array, b: Array) -> Array:
    """How far apart values lie; nothing where either is NaN."""
    off = np.abs(_f64(a) - _f64(b))
    return np.where(np.isnan(off), 0, off)


def _allowance(expr: Expr, size: Array, off: Array) -> Array | None:
    """What one result may be off: ``off`` from the fold, and the roundings of the code after it."""
    after = [n for n in walk((expr,)) if n.space != "element"]
    if not expr.dtype.is_float:
        return off if off.any() else None
    if not rounds(after) and not off.any():
        return None
    return off + (unit(expr.dtype) + 8 * _coarsest(after)) * size + _TINY[expr.dtype.name]


def _coarsest(nodes: Sequence[Expr]) -> float:
    """The unit roundoff of the least precise float that the code after the fold computes in."""
    return max((unit(n.dtype) for n in nodes if n.op in ("result", "reduce") and n.dtype.is_float), default=0.0)


def _rounds(graph: object) -> bool:
    return isinstance(graph, MonoidGraph) and rounds(walk(graph.combine))


def _roundings(graph: object, n: int, levels: int) -> float:
    """How many units of roundoff a folded value may be off, relative to its peak.

    Where a combine adds, errors grow with the levels of the tree. Where it multiplies the values of both sides, each of
    n factors leaves its relative error in the product; they add up as random ones do, and matrices amplify them.
    """
    assert isinstance(graph, MonoidGraph)
    return 4 + 2 * levels + (AMPLIFIED * n**0.5 if _multiplies(graph) else 0)


def _multiplies(graph: MonoidGraph) -> bool:
    """Whether a combine multiplies what it has of the left state alone with what it has of the right alone."""
    sides: dict[str, set[bool]] = {}
    for e in walk(graph.combine):
        own = {e.value >= len(graph.state)} if e.op == "param" else set()  # type: ignore[operator]
        sides[e.digest] = own.union(*(sides[a.digest] for a in e.args))
        factors = [sides[a.digest] for a in e.args]
        if e.op == "mul" and e.dtype.is_float and {False} in factors and {True} in factors:
            return True
    return False


def _shifted(states: dict[str, State], e: Expr, roundings: float) -> Iterator[list[dict[str, State]]]:
    """The folded states with one float value moved by its rounding error, up and down, for each such value."""
    graph, state = e.value, states[e.digest]
    assert isinstance(graph, MonoidGraph)
    if not _rounds(graph):
        return
    for i, t in enumerate(graph.state):
        if t.is_float and rounds(walk((graph.combine[i],))):
            step = unit(t) * roundings * state.peaks[i] + _TINY[t.name]
            moved = ([v + s if j == i else v for j, v in enumerate(state.values)] for s in (step, -step))
            yield [{**states, e.digest: State(values, state.peaks)} for values in moved]


def _compare(got: Any, reference: Array, allowance: Array | None, expr: Expr) -> Check:
    """Compares elements: equal, both NaN, or no farther apart than allowed."""
    exact = allowance is None
    flat, target = np.asarray(got).reshape(-1), reference.reshape(-1).astype(expr.dtype.numpy)
    if not flat.size:
        return Check(True, exact, 0.0, 0.0, 0.0, None, target)
    a, b = _f64(flat), _f64(target)
    same = (flat == target) | (np.isnan(a) & np.isnan(b))
    off = np.abs(a - (b if exact else _f64(reference.reshape(-1))))
    off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
    limit = np.zeros(flat.shape) if allowance is None else allowance
    wrong = ~same & ~(off <= limit)
    place = int(np.argmax(np.where(wrong, off, -1.0) if wrong.any() else off))
    greatest = float(_magnitude(b).max()) or 1.0
    error = float(off[place])
    worst = place if wrong.any() else None
    return Check(worst is None, exact, error, error / greatest, float(limit[place]), worst, target)
