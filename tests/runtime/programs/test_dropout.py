"""Dropout: which elements are kept, by what they are scaled, and its gradient from the seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, TraceError

X = np.random.default_rng(5).standard_normal((64, 129)).astype(np.float32)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1 - 2**-40, 1.0])
def test_kept_elements_are_scaled(p: float) -> None:
    kept = wf.random_bits(X, 3, 1) >= round(p * 2**32)
    expected = np.where(kept, X * np.float32(1 / (1 - p)), 0) if p < 1 else np.zeros_like(X)
    np.testing.assert_array_equal(wf.dropout(X, p, seed=3, offset=1), expected)
    assert abs(kept.mean() - (1 - p)) < 5 * np.sqrt(p * (1 - p) / X.size) + 1e-9


def test_the_gradient_drops_the_same_elements() -> None:
    kept = wf.dropout(np.ones_like(X), 0.25, seed=9)
    np.testing.assert_array_equal(
        wf.dropout_backward(X, seed=9, p=0.25), np.where(kept > 0, X * np.float32(1 / 0.75), 0)
    )
    transposed = wf.dropout_backward(np.asfortranarray(X), seed=9, p=0.25)
    np.testing.assert_array_equal(transposed, wf.dropout_backward(X, seed=9, p=0.25))


def test_the_gradient_from_bits() -> None:
    for p in (0.0, 0.25, 1.0):
        kept = wf.dropout(X, p, seed=9, keep="bits")
        np.testing.assert_array_equal(kept.output, wf.dropout(X, p, seed=9))
        passed = wf.random_bits(X, 9) >= round(p * 2**32)
        np.testing.assert_array_equal(wf.unpack(kept.bits, X.shape, flat=True), passed)
        np.testing.assert_array_equal(wf.dropout_backward(X, kept.bits, p=p), wf.dropout_backward(X, seed=9, p=p))


@pytest.mark.parametrize(("how", "found"), [({}, "neither"), ({"bits": X > 0, "seed": 3}, "both")])
def test_the_gradient_takes_bits_or_a_seed(how: dict[str, Any], found: str) -> None:
    with pytest.raises(TraceError, match=f"WF297: dropout_backward got {found} of bits and seed"):
        wf.dropout_backward(X, **how)


def test_dropped_elements_are_zero_whatever_they_were() -> None:
    x = np.full(1000, np.nan, np.float32)
    x[::2] = -np.inf
    found = wf.dropout(x, seed=1)
    assert (found[wf.random_bits(x, 1) < 2**31] == 0).all()
    assert not np.isfinite(found[wf.random_bits(x, 1) >= 2**31]).any()


def test_types_and_places() -> None:
    half, y = X.astype(np.float16), X.copy()
    assert wf.dropout(half, seed=1).dtype == np.float16
    assert wf.dropout(np.arange(5), seed=1).dtype == np.float64
    assert wf.dropout(y, seed=1, out=y) is y
    np.testing.assert_array_equal(y, wf.dropout(X, seed=1))


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), "a", None, True, 1j])
def test_a_probability_out_of_range(p: Any) -> None:
    for function in (wf.dropout, wf.dropout_backward):
        with pytest.raises(ArgumentError, match=r"WF138: p cannot be .*: expected a number from 0 to 1"):
            function(X, seed=1, p=p)


def test_a_seed_out_of_range() -> None:
    with pytest.raises(ArgumentError, match="WF195: seed is -1"):
        wf.dropout(X, seed=-1)
    for seed, offset, found in ((True, 0, "seed is True"), (1, False, "offset is False"), ("a", 0, "seed is a")):
        with pytest.raises(ArgumentError, match=f"WF195: {found}: expected a whole number from 0 to 2"):
            wf.dropout(X, seed=seed, offset=offset)
    with pytest.raises(TraceError, match="WF295: offset is an array of rank 0 and of float64"):
        wf.dropout(X, seed=1, offset=0.5)
