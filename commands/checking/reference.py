"""Whether a result is right: NumPy's answer in float64, and how far a result may be from it.

Results that no rounding can touch (integers, truth values, selections such as min and argmax) must be equal. Others may
differ by what the plan's roundings explain. ``running_error.py`` finds that bound for each result, from the condition
of the operation and the number of combines that one element passes through under the plan. For random arrays the bound
assumes likely roundings, for arrays of the user the worst case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...compiler.dtypes import DType
from ...compiler.plan.launch import Launch
from ...compiler.plan.layout import layout_of
from ...compiler.plan.plan import ROWS_A_ROUND, Plan
from ...compiler.plan.rounds import second_plan, second_unroll
from ...compiler.program.graph import MonoidGraph, walk
from ...compiler.program.numeric import Array
from . import running_error
from .evaluate import Evaluator, rows
from .running_error import Error, Known


@dataclass(frozen=True)
class Check:
    """How one result compares with its reference.

    Attributes:
        passed: whether every element is within its bound.
        exact: whether elements had to be equal.
        error: the greatest difference.
        relative: the greatest difference, relative to the greatest magnitude of the reference.
        allowed: the bound of the element with the greatest difference.
        worst: the flat index of the element that fails by most; None where none fails.
        reference: the reference values.
        unknown: elements that have no bound, since partial results overflow their type.
    """

    passed: bool
    exact: bool
    error: float
    relative: float
    allowed: float
    worst: int | None
    reference: Array
    unknown: int = 0


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

    Args:
        plan: the plan.
        run: its launch.
        times: how often a result has each element. Each round of the power doubles a state, or joins it to the result
            of the power, after which it is not doubled any more.
        left: partial states of a result that the first kernel leaves of each part; all threads of a CTA read them.
    """
    if times > 1:
        return depth(plan, run, left=left) + (times - 1).bit_length()
    layout = layout_of(plan)
    if layout.chunked == "flat":
        return _depth_of_periods(plan, run)
    across = plan.positions * plan.vector_reduced
    chain = _chain_of_runs(plan, run) if layout.chunked == "piece" else -(-run.chunk // (across * plan.unroll))
    in_order = plan.positions if plan.cta == "serial" else 0
    above = (plan.unroll * across * plan.cluster).bit_length() + in_order
    parts = plan.parts(run.split) * left
    if parts == 1:
        return chain + above
    last = second_plan(plan) if plan.finish == "last_block" else replace(plan, unroll=second_unroll(plan))
    deep, positions = last.unroll, plan.threads if plan.fast == "both" else last.positions
    in_order = positions if plan.cta == "serial" else 0
    if plan.finish == "atomic":
        return chain + above + parts
    return chain + above + -(-parts // (positions * deep)) + positions.bit_length() + in_order + deep


def depth_of_scan(plan: Plan, run: Launch) -> int:
    """``depth`` of a scan: every level combines what comes before, one part after another, and lanes in steps."""
    return plan.vector_reduced + plan.lanes.bit_length() + plan.held + plan.warps + run.split + 3


def _chain_of_runs(plan: Plan, run: Launch) -> int:
    """The chain of a thread along runs: the pieces of its warp, and in one piece the groups and both ends."""
    return -(-run.chunk // plan.warps) + -(-run.length // (layout_of(plan).step * plan.unroll)) + 2 * plan.unroll + 1


def _depth_of_periods(plan: Plan, run: Launch) -> int:
    """``depth`` of a period: groups of accesses, a few single ones, and the rounds that combine the rows."""
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
    known = evaluator.known(levels)
    outputs = [k.value for k in known]
    with np.errstate(all="ignore"):
        if isinstance(name, str) and name in BUILT_IN:
            outputs = [BUILT_IN[name](rows(xs[0], axes))]
        n = len(got)  # what the program checks of its own comes after its results
        overflow = zip(*(_overflows(evaluator, of) for of in ("peaks", "reach")), strict=True)
        found = zip(got, outputs[:n], known[:n], evaluator.program.outputs[:n], list(overflow)[:n], strict=True)
        return [_compare(g, o, k.error, e.dtype, *lost) for g, o, k, e, lost in found]


def compare(got: Array, known: Known, t: DType) -> Check:
    """Compares one result, of the type ``t``, with its reference and the error that it may have."""
    if known.unsure is not None:  # bits that rounding decides may be the device's
        other = (known.value ^ got) & known.unsure
        return replace(compare(got, Known(known.value ^ other), t), unknown=int(np.count_nonzero(other)))
    nothing = np.zeros(got.size, bool)
    with np.errstate(all="ignore"):
        error = None if known.error is None else known.error.reshape(-1)
        return _compare(got, known.value, error, t, nothing, nothing)


def worst(checks: Sequence[Check]) -> Check:
    """The check of a result from those of its parts: one that failed, or the one with the greatest error."""
    return max(checks, key=lambda c: (not c.passed, c.error))


def _overflows(evaluator: Evaluator, of: str) -> list[Array]:
    """For each result, where it depends on partial results that overflow their accumulator.

    ``of`` says whose partial results: ``peaks`` for those of the tree that is evaluated here, ``reach`` for any tree's.
    """
    lost = {e.digest: _lost(e.value, getattr(evaluator.states[e.digest], of)) for e in evaluator.program.reduces}
    found = []
    for output in evaluator.program.outputs:
        used = [lost[e.args[0].digest][e.value] for e in walk((output,)) if e.op == "result"]  # type: ignore[call-overload]
        found.append(np.logical_or.reduce([np.zeros(evaluator.n_kept, bool), *used]))
    return found


def _lost(graph: object, sizes: Sequence[Array]) -> list[Array]:
    """Where each value of a state overflows, or depends on one that does; values that are only selected never do."""
    assert isinstance(graph, MonoidGraph)
    count = len(graph.state)
    sources = [{e.value % count for e in walk((c,)) if e.op == "param"} for c in graph.combine]  # type: ignore[operator]
    found = [
        running_error.overflowing(t, size) if any(map(running_error.rounds, walk((c,)))) else np.zeros(size.shape, bool)
        for t, c, size in zip(graph.state, graph.combine, sizes, strict=True)
    ]
    for _ in range(count):  # as many steps as lead from one value to any other
        found = [
            np.logical_or.reduce([own, *(found[i] for i in used)]) for own, used in zip(found, sources, strict=True)
        ]
    return found


def _compare(got: Any, reference: Array, error: Error, t: DType, lost: Array, near: Array) -> Check:
    """Compares elements: equal, both NaN, or no farther apart than the error.

    Elements that are ``lost`` have no bound, and neither have those ``near`` an overflow that did overflow.
    """
    flat, target = np.asarray(got).reshape(-1), reference.reshape(-1).astype(t.numpy)
    unknown = lost | (near & ~np.isfinite(_f64(flat))) if t.is_float else lost
    exact = error is None and not unknown.any()
    if not flat.size:
        return Check(True, exact, 0.0, 0.0, 0.0, None, target)
    a, b = _f64(flat), _f64(target)
    same = (flat == target) | (np.isnan(a) & np.isnan(b))
    off = np.abs(a - (b if error is None else _f64(reference.reshape(-1))))
    off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
    limit = np.where(unknown, np.inf, np.zeros(flat.shape) if error is None else error)
    wrong = ~same & ~(off <= limit)
    place = int(np.argmax(np.where(wrong, off, -1.0) if wrong.any() else np.where(np.isinf(limit), -1.0, off)))
    greatest = float(np.abs(b, where=np.isfinite(b), out=np.zeros(b.shape)).max()) or 1.0
    difference, count = float(off[place]), int(np.count_nonzero(np.isinf(limit) & ~same))
    worst = place if wrong.any() else None
    return Check(worst is None, exact, difference, difference / greatest, float(limit[place]), worst, target, count)
