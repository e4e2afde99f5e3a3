"""Anchored monoids of users, run in the emulator in any plan, against NumPy in f64.

What a state's anchor alone adds to its sums (such as a count to squares) must be added once; what is linear in the sums
may be made relative part by part. Both kinds are here, with anchors that are one of two states' values, and with
anchors of several values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf


@wf.monoid(identity=(0, 0), lift=lambda x: (1, x), finish=lambda _n, m: m)
def weighted_mean(a: Any, b: Any) -> Any:
    """Linear; its anchor, a count, is the same for all elements of an access."""
    (na, ma), (nb, mb) = a, b
    n = na + nb
    by = wf.where(n == 0, 1.0, n)
    return n, ma * (na / by) + mb * (nb / by)


@wf.monoid(identity=(0, 0, 0, 0), lift=lambda x: (1, x, 0, 0), finish=lambda _n, _m, s, t: (s, t))
def moments(a: Any, b: Any) -> Any:
    """Not linear: counts add squares and cubes of their own, and cubes depend on squares."""
    (na, ma, sa, ta), (nb, mb, sb, tb) = a, b
    n = na + nb
    m = wf.fma(mb - ma, wf.where(n == 0, 0.0, nb / n), ma)
    da, db = ma - m, mb - m
    squares = (sa + na * da * da) + (sb + nb * db * db)
    return n, m, squares, (ta + 3.0 * sa * da + na * da * da * da) + (tb + 3.0 * sb * db + nb * db * db * db)


@wf.monoid(identity=(-math.inf, 0, 0), lift=lambda x, v: (x, 1, v), finish=lambda _m, s, o: o / s)
def attention(a: Any, b: Any) -> Any:
    """Online softmax of scores, with the values that it weights."""
    (ma, sa, oa), (mb, sb, ob) = a, b
    m = wf.maximum(ma, mb)
    ea, eb = (wf.where(x == m, 1.0, wf.exp(x - m)) for x in (ma, mb))
    return m, sa * ea + sb * eb, oa * ea + ob * eb


@wf.monoid(identity=(-(2**31), 0), lift=lambda x: (x, 1))
def most_and_how_often(a: Any, b: Any) -> Any:
    """Integers, with an anchor that is one of two."""
    (ma, ca), (mb, cb) = a, b
    m = wf.maximum(ma, mb)
    return m, ca * wf.cast(ma == m, "i32") + cb * wf.cast(mb == m, "i32")


SHAPES = [((5, 1), 0), ((7, 3), 0), ((7, 3), 1), ((4, 33), 1), ((9, 65), 1), ((2, 1000), 1), ((1, 70_000), 1),
          ((1003, 17), 0), ((300, 256), 0), ((3, 4, 33), 1), ((3, 40, 5), (0, 2)), ((4096, 2), 0)]  # fmt: skip
PLANS = ["", "vector=1", "vector=2,unroll=1", "vector=4,unroll=4,lanes=2", "fast=kept", "lanes=32,warps=4", "unroll=2"]


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) + 1).astype(dtype)


def check(x: Any, axis: Any, **options: Any) -> None:
    """Checks all monoids of floats on one array."""
    wide, rtol = x.astype(np.float64), 3e-5 if x.dtype == np.float32 else 1e-12
    far = wide - wide.mean(axis, keepdims=True)
    size = wide.size / max(1, wide.mean(axis).size)
    found = wf.reduce(x, weighted_mean, axis=axis, **options)
    np.testing.assert_allclose(found, wide.mean(axis), rtol, rtol)
    squares, cubes = wf.reduce(x, moments, axis=axis, **options)
    np.testing.assert_allclose(squares, (far**2).sum(axis), rtol, rtol * size)
    np.testing.assert_allclose(cubes, (far**3).sum(axis), 10 * rtol, 10 * rtol * size)
    weights = np.exp(wide - wide.max(axis, keepdims=True))
    values = numbers(x.shape, x.dtype, 1)
    found = wf.reduce(x, values, attention, axis=axis, **options)
    np.testing.assert_allclose(found, (weights * values).sum(axis) / weights.sum(axis), 10 * rtol, 10 * rtol)


@covering(("dtype", [np.float32, np.float64]), (("shape", "axis"), SHAPES))
def test_in_any_layout(shape: tuple[int, ...], axis: Any, dtype: Any) -> None:
    check(numbers(shape, dtype), axis)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("shape", [(3, 1000), (3, 1024)])
def test_in_any_plan(shape: tuple[int, ...], plan: str) -> None:
    check(numbers(shape, np.float32), 1, plan=plan, device="emulator")


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_integers(shape: tuple[int, ...], axis: Any) -> None:
    x = np.random.default_rng(2).integers(-3, 3, shape).astype(np.int32)
    most, count = wf.reduce(x, most_and_how_often, axis=axis)
    np.testing.assert_array_equal(most, x.max(axis))
    np.testing.assert_array_equal(count, (x == x.max(axis, keepdims=True)).sum(axis))


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=3), st.data())
def test_any_small_shape(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    check(numbers(tuple(shape), np.float64, sum(shape)), axis)


SPECIAL = (0.0, -math.inf, math.inf, math.nan, -5.0, 300.0)


@covering(("dtype", [np.float16, np.float32, np.float64]), ("n", [1, 2, 3, 5, 40, 1000]))
def test_log_sum_exp_of_infinities_and_nan(n: int, dtype: Any) -> None:
    """Each row has one value, except for one other element at either end or in the middle."""
    rows = [np.full(n, a) for a in SPECIAL for _ in SPECIAL for _ in range(3)]
    for row, (at, b) in zip(rows, [(p, b) for _ in SPECIAL for b in SPECIAL for p in (0, n // 2, n - 1)], strict=True):
        row[at] = b
    x = np.array(rows).astype(dtype)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        most = wide.max(1)
        sums = most + np.log(np.exp(wide - most[:, None]).sum(1))
    expected = np.where(np.isinf(most), most, sums)
    rtol = {2: 2e-3, 4: 1e-6, 8: 1e-14}[x.itemsize]
    np.testing.assert_allclose(wf.logsumexp(x, axis=1).astype(np.float64), expected, rtol)
    np.testing.assert_allclose(wf.logsumexp(x.T.copy(), axis=0).astype(np.float64), expected, rtol)
