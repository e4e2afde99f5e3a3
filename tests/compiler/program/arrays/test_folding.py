"""Reductions of symbolic arrays over axes: the built-in ones, a user's monoids and functions, masks and numbers."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, results, traced
from numpys import COMPLETE, answer

import warpfold as wf
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import BF16, BOOL, F8E4M3FN, F32, I32, I64
from warpfold.compiler.errors import ArgumentError, TraceError, WarpfoldWarning
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.arrays.over_axes import MANY
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.fold import HUGE
from warpfold.compiler.program.graph import walk

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 1, 4, 2))
Y = RNG.standard_normal((3, 1, 4, 2))
AXES = [None, (), 0, -1, (1,), (0, 2), (3, 0), (0, 1, 2, 3)]
TWO = ("vecdot", "allclose", "array_equal")


def expected(name: str, axis: Any, *arrays: Any) -> list[Any]:
    """NumPy's answer for each result, in the shape of the kept axes, by result."""
    rank = arrays[0].ndim
    axes = range(rank) if axis is None else [a % rank for a in (axis if isinstance(axis, tuple) else (axis,))]
    kept = [a for a in range(rank) if a not in axes]
    shape = [arrays[0].shape[a] for a in kept]
    rows = [np.transpose(a, [*kept, *sorted(axes)]).reshape(*shape, -1) for a in arrays]
    found = [answer(name)(*(r[i] for r in rows)) for i in product(*map(range, shape))]
    if not isinstance(found[0], dict):
        return [np.array(found).reshape(shape)]
    return [np.array([f[key] for f in found]).reshape(shape) for key in found[0]]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", sorted(set(COMPLETE) - {"dot"}))
def test_every_built_in_over_any_axes(name: str, axis: Any) -> None:
    arrays = (X, Y) if name in TWO else (X,)
    found = results(lambda *xs: getattr(wf, name)(*xs, axis=axis), *arrays)
    for f, e in zip(found, expected(name, axis, *arrays), strict=True):
        assert f.shape == e.shape
        np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-12)


def test_keepdims_keeps_reduced_axes() -> None:
    expect_equal(lambda x: wf.max(x, axis=(0, 2), keepdims=True), lambda x: x.max((0, 2), keepdims=True), X)
    expect_equal(lambda x: x.sum(keepdims=True), lambda x: x.sum(keepdims=True), X)


def test_dot_is_of_rank_1() -> None:
    expect_equal(lambda x, y: wf.dot(x, y), np.dot, X[0, 0, :, 0], Y[0, 0, :, 0])


def test_dot_of_other_ranks_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"WF150.*\(3, 2\) and \(3, 2\)"):
        traced(lambda x, y: wf.dot(x, y), X[:, 0, 0], Y[:, 0, 0])


def test_reductions_that_compare_shapes_serve_other_sizes() -> None:
    x, y = X[0, 0, :, 0], Y[0, 0, :, 0]
    assert traced(lambda x, y: wf.dot(x, y), x, y).sizes == ()
    assert traced(lambda x, y: wf.array_equal(x, y), x, y).sizes == ()


def test_arrays_of_other_shapes_are_not_equal() -> None:
    x = X[:, 0, :, 0]
    program = expect_equal(lambda x, y: x * wf.array_equal(x, y), lambda x, _: x * 0, x, x[:, :1])
    assert (0, 1, 4) in program.sizes


def test_arrays_of_a_reduction_broadcast() -> None:
    expect_equal(lambda x, w: wf.vecdot(x, w, axis=1), lambda x, w: (x * w).sum(1), X[:, 0, :, 0], X[0, 0, :, 1])


def test_parameters_of_a_reduction() -> None:
    expect_equal(lambda x: wf.var(x, axis=0, correction=1), lambda x: x.var(0, ddof=1), X)
    expect_equal(lambda x: wf.norm(x, axis=2, ord=1), lambda x: abs(x).sum(2), X)
    assert traced(lambda x: wf.sum(x, dtype="float32"), X).outputs[0].dtype == F32
    with pytest.raises(ArgumentError, match="WF127: sum takes no parameter 'ddof'"):
        traced(lambda x: wf.sum(x, ddof=1), X)
    with pytest.raises(ArgumentError, match="WF127: sum takes no parameter 'out'"):
        traced(lambda x: wf.sum(x, out=x), X)


def test_elements_outside_a_mask_take_no_part() -> None:
    expect_equal(lambda x: wf.sum(x, axis=2, where=x > 0), lambda x: np.where(x > 0, x, 0).sum(2), X)
    expect_equal(
        lambda x, m: wf.mean(x, axis=0, where=m), lambda x, m: x.mean(0, where=m), X[:, 0, :, 0], X[:, 0, :, 1] > -1
    )
    with pytest.raises(ArgumentError, match="WF133: "):
        traced(lambda x: wf.max(x, axis=0, where=x > 0), X)
    expect_equal(lambda x: wf.max(x, axis=0, where=x > 0, initial=0), lambda x: x.max(0, where=x > 0, initial=0), X)


def test_nan_is_left_out_or_reported() -> None:
    x = np.where(X > 1, np.nan, X)
    expect_equal(lambda x: wf.sum(x, axis=2, nan="ignore"), lambda x: np.nansum(x, 2), x)
    program = traced(lambda x: wf.sum(x, axis=2, nan="raise"), x)
    assert program.checks == ("WF135",)
    found = evaluate(program, [x])
    np.testing.assert_array_equal(found[1], np.isnan(x).any(2)[:, 0])


def test_a_result_that_may_not_exist_is_a_check() -> None:
    program = traced(lambda x: wf.nanargmax(x, axis=2), X)
    assert program.checks == ("WF134",)
    assert program.outputs[1].dtype == BOOL


# --- monoids ---
@wf.monoid(identity=(0.0, 0.0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """The composition of x -> k x + d, the left one first."""
    (k, d), (m, e) = a, b
    return k * m, d * m + e


def numpys_affine(k: Any, d: Any) -> tuple[Any, Any]:
    scale, shift = 1.0, 0.0
    for m, e in zip(np.ravel(k), np.ravel(d), strict=True):
        scale, shift = scale * m, shift * m + e
    return np.float64(scale), np.float64(shift)


def test_a_monoid_that_does_not_commute_takes_elements_in_the_order_of_the_axes() -> None:
    x, y = X[:, 0, :, 0], Y[:, 0, :, 0]
    expect_equal(lambda x, y: wf.fold(affine, x, y), numpys_affine, x, y)
    program = expect_equal(lambda x, y: wf.fold(affine, x.T, y.T), lambda x, y: numpys_affine(x.T, y.T), x, y)
    assert program.folds[0].value.order == (1, 0)


def test_a_fold_takes_an_initial_state() -> None:
    expect_equal(
        lambda x: wf.fold(wf.SUM, x, initial=2.5, axis=0, keepdims=True), lambda x: x.sum(0, keepdims=True) + 2.5, X
    )


def test_reduce_takes_what_it_takes_outside_of_programs() -> None:
    def spread(x: Any, *, scale: float = 1.0) -> Any:
        return {"spread": (wf.fold(wf.MAX, x) - wf.fold(wf.MIN, x)) * scale, "last": wf.fold(wf.MAX, wf.index())}

    expect_equal(
        lambda x: wf.reduce(x, spread, axis=2, scale=2.0),
        lambda x: (2 * (x.max(2) - x.min(2)), np.full((3, 1, 2), 3)),
        X,
    )
    expect_equal(lambda x: wf.reduce(x, (wf.SUM, "argmax"), axis=0), lambda x: (x.sum(0), x.argmax(0)), X)


def test_a_users_function_may_reduce_its_arrays_further() -> None:
    def relative(x: Any) -> Any:
        return wf.fold(wf.SUM, x / wf.fold(wf.MAX, x))

    expect_equal(lambda x: wf.reduce(x, relative, axis=2), lambda x: (x / x.max(2, keepdims=True)).sum(2), abs(X))


def test_a_lift_and_a_finish() -> None:
    @wf.monoid(identity=(0, 0), lift=lambda x: (1, x), finish=lambda n, s: s / n)
    def average(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    expect_equal(lambda x: wf.reduce(x, average, axis=0), lambda x: x.mean(0), X)


# --- structure ---
def folds_of(function: Any, *arrays: ArrayArg) -> ArrayProgram:
    return trace_arrays(function, arrays, {})


def test_axes_of_size_1_need_no_fold() -> None:
    assert not folds_of(lambda x: wf.sum(x, axis=0), ArrayArg(F32, (1, 5))).folds


def test_types_are_those_of_the_library() -> None:
    types = {name: folds_of(lambda x, n=name: getattr(wf, n)(x), ArrayArg(BF16, (4, 5))).outputs[0].dtype
             for name in ("sum", "mean", "max", "argmax", "any", "count_nonzero")}  # fmt: skip
    assert types == {"sum": BF16, "mean": BF16, "max": BF16, "argmax": I64, "any": BOOL, "count_nonzero": I64}
    assert folds_of(wf.sum, ArrayArg(F8E4M3FN, (4,))).outputs[0].dtype == F32
    states = {e.dtype for e in folds_of(lambda x: wf.max(x), ArrayArg(BF16, (4, 5))).folds}
    assert states == {F32}


def test_numbers_of_elements_have_64_bits_where_they_need_them() -> None:
    def kinds(n: int) -> set[Any]:
        program = folds_of(lambda x: wf.argmax(x, axis=1), ArrayArg(F32, (2, n)))
        return {e.dtype for e in walk(program.roots) if e.op == "iota"} | set(program.most)

    assert kinds(MANY - 1) == {I32, (2, MANY - 1)}
    assert kinds(MANY) == {I64}


def test_a_fold_that_no_result_uses_bounds_nothing() -> None:
    assert folds_of(lambda x: (wf.argmax(x), x)[1], ArrayArg(F32, (2, 5))).most == ()
    assert folds_of(lambda x: (wf.argmax(x), wf.sum(x, axis=0))[1], ArrayArg(F32, (2, 5))).most == ()


def test_a_mean_of_narrow_integers_serves_as_many_as_64_bits_hold() -> None:
    assert folds_of(wf.mean, ArrayArg(wf.dtype("int8"), (5,))).most == ((1, HUGE - 1),)


def test_reductions_of_another_tracing_are_refused() -> None:
    kept = []
    traced(lambda x: kept.append(x) or x, X)
    with pytest.raises(TraceError, match="WF253"):
        traced(lambda x: wf.sum(kept[0] * x), X)


def test_a_fold_of_narrow_elements_is_no_arithmetic_in_their_type() -> None:
    x = np.ones((3, 4), np.int8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced(lambda x: wf.fold(wf.SUM, wf.fold(wf.MAX, x, axis=0), axis=0), x)
    with pytest.warns(WarpfoldWarning, match="WF231"):
        traced(lambda x: wf.fold(wf.SUM, x - wf.fold(wf.MAX, x, axis=0), axis=0), x)
