"""Runs of programs: results without inputs, checks of results, orders of elements, warnings of broken laws."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, WarpfoldWarning

X = np.random.default_rng(3).standard_normal((4, 50)).astype(np.float32)


def test_a_result_may_be_the_same_for_all_elements() -> None:
    @wf.program
    def constants(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.zeros_like(x), wf.argmax(x[None], axis=0), xp.arange(x.shape[-1])

    zeros, first, places = constants(X)
    np.testing.assert_array_equal(zeros, np.zeros_like(X))
    np.testing.assert_array_equal(first, np.zeros(X.shape, np.int64))
    np.testing.assert_array_equal(places, np.arange(50))


@pytest.mark.parametrize("given", [False, True])
def test_a_check_that_fails_is_an_error(given: bool) -> None:
    @wf.program
    def greatest(x: Any) -> Any:
        return wf.nanargmax(x, axis=1)

    x = np.where(X > 0, X, np.nan)
    out = {"out": np.zeros(4, np.int64)} if given else {}
    np.testing.assert_array_equal(greatest(x, **out), np.nanargmax(x, axis=1))
    x[2] = np.nan
    with pytest.raises(ArgumentError, match="WF134: greatest of no elements"):
        greatest(x, **out)


def test_nan_may_be_an_error() -> None:
    @wf.program
    def total(x: Any) -> Any:
        return x - wf.sum(x, axis=1, keepdims=True, nan="raise")

    assert np.isfinite(total(X)).all()
    with pytest.raises(ArgumentError, match="WF135"):
        total(np.where(X > 2, np.nan, X))


@wf.monoid(identity=(1, 0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """The composition of x -> k x + d, the left one first."""
    (k, d), (m, e) = a, b
    return k * m, d * m + e


def test_elements_of_a_transposed_array_are_combined_in_the_order_of_its_axes() -> None:
    @wf.program
    def composed(x: Any, y: Any) -> Any:
        return *wf.fold(affine, x, y), *wf.fold(affine, x.T, y.T)

    k, d = (np.random.default_rng(s).integers(-1, 2, (3, 40)) for s in (1, 2))
    expected = []
    for scales, shifts in ((k, d), (k.T, d.T)):
        scale, shift = 1, 0
        for m, e in zip(scales.ravel(), shifts.ravel(), strict=True):
            scale, shift = scale * m, shift * m + e
        expected += [scale, shift]
    assert [int(x) for x in composed(k, d)] == expected


def test_a_monoid_that_breaks_its_laws_warns() -> None:
    @wf.monoid(identity=1)
    def difference(a: Any, b: Any) -> Any:
        return a - b

    @wf.program
    def centred(x: Any) -> Any:
        return x - wf.fold(difference, x, axis=0)

    with pytest.warns(WarpfoldWarning, match="WF221: difference breaks laws"):
        centred(X)


@pytest.mark.parametrize("t", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_8_bit_floats_as_results(t: Any) -> None:
    @wf.program
    def quantized(x: Any) -> Any:
        return wf.cast(x * 100, t)

    largest = float(ml_dtypes.finfo(t).max)
    x = np.concatenate([X.ravel(), np.array([np.inf, -np.inf, 1e-9, 0, 4.48, 4.65], np.float32)])
    found = quantized(x)
    assert found.dtype == t
    expected = np.clip(x * np.float32(100), -largest, largest).astype(t)
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))
