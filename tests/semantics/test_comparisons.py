"""docs/semantics.md: comparisons and counts."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from meanings import F16, F64, INF, Array, f32, f64, on_emulator, reduce

import warpfold as wf


def compared(a: Array, b: Any, what: Callable[..., Any]) -> Any:
    """``what`` of two arrays, or of an array and a Python number, for each element."""
    if isinstance(b, np.ndarray):
        return reduce(a, b, what=lambda x, y: wf.fold(wf.ANY, what(x, y)), axis=())
    return reduce(a, what=lambda x: wf.fold(wf.ANY, what(x, b)), axis=())


COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("signed", [np.int8, np.int32, np.int64])
def test_integers_compare_exactly(signed: Any) -> None:
    info = np.iinfo(signed)
    u = np.array([0, 1, 127, 2**31, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    i = np.array([0, 1, -1, info.max, info.min, info.max - 1, info.min + 1], signed)
    x, y = (np.ascontiguousarray(a) for a in np.broadcast_arrays(u[:, None], i))
    for compare in COMPARISONS:
        np.testing.assert_array_equal(compared(x, y, compare), compare(x, y))
        np.testing.assert_array_equal(compared(y, x, compare), compare(y, x))
        for number in (info.min - 1, info.max + 1, -(2**70), 2**70, 0, info.max):
            np.testing.assert_array_equal(compared(i, number, compare), compare(i, number))
    assert not on_emulator("array_equal")(np.uint64([2**63]), np.int64([2**63 - 1]))
    assert on_emulator("array_equal")(np.uint64([2**63 - 1]), np.int64([2**63 - 1]))


def test_integers_meet_floats() -> None:
    i, u, s = np.int64([2**53, 2**53 + 1]), np.uint64([2**64 - 1, 2**63]), np.int16([2049, -32768])
    for x, y in (
        (i, f64(2**53, 2**53)),
        (u, f64(2**64, 2**63)),
        (i, f32(2**53, 1)),
        (s, F16([2048, -32768])),
        (s, 0.5),
    ):
        for compare in COMPARISONS:
            np.testing.assert_array_equal(compared(x, y, compare), compare(x, y))
    for number in (2**24 + 1, 70000, 0.1):
        for x in (f32(2**24, 0.1), F16([INF, 0.1])):
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(compared(x, number, operator.eq), x == number)


def test_selections_of_two_types() -> None:
    u, i = np.uint64([2**63, 3]), np.int64([-1, 5])
    for ours, numpy in ((wf.maximum, np.maximum), (wf.minimum, np.minimum)):
        got = reduce(u, i, what=lambda x, y, f=ours: wf.fold(wf.MAX, f(x, y)), axis=())
        np.testing.assert_array_equal(got, numpy(u, i))
        assert got.dtype == np.maximum(u, i).dtype == F64
    chosen = reduce(u, i, what=lambda x, y: wf.fold(wf.MAX, wf.where(x > y, x, y)), axis=())
    np.testing.assert_array_equal(chosen, np.where(u > i, u, i))


def test_allclose_is_not_symmetric() -> None:
    x, y = f64(1.0), f64(1.1)
    close = partial(on_emulator("allclose"), atol=0.0, rtol=0.095)
    assert close(x, y)
    assert not close(y, x)
    assert on_emulator("allclose")(f64(1.0), f64(1.0 + 1e-9))
    assert not on_emulator("allclose")(f64(0.0), f64(1e-7))


def test_allclose_of_infinity() -> None:
    close = on_emulator("allclose")
    assert close(f32(INF, -INF), f32(INF, -INF))
    assert not any(close(f32(a), f32(b)) for a, b in ((INF, -INF), (INF, 1), (1, INF)))


def test_arrays_of_two_shapes() -> None:
    assert not on_emulator("array_equal")(np.ones(2), np.ones(3))
    assert not on_emulator("array_equal")(np.ones(2), np.ones((1, 2)))


def test_correction() -> None:
    x = f64(1, 2, 4)
    for correction in (0.0, 1.0, 1.5):
        divided = ((x - x.mean()) ** 2).sum() / (3 - correction)
        assert on_emulator("var")(x, correction=correction) == pytest.approx(divided)
        assert on_emulator("std")(x, correction=correction) == pytest.approx(math.sqrt(divided))
    assert np.isnan(on_emulator("var")(x, correction=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.var(x, ddof=3) == INF


def test_unique_is_sorted() -> None:
    x = np.random.default_rng(0).integers(-128, 128, 100).astype(np.int8)
    np.testing.assert_array_equal(on_emulator("unique")(x), np.unique(x))
