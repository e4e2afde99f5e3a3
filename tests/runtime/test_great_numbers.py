"""Moments of numbers near the end of the range: an overflow of an intermediate is not an infinity in the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf

F32_GREATEST = float(np.finfo(np.float32).max)
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 1e19, -3e37, 1e38, 2e38, -2.5e38, 3e38, -3e38, F32_GREATEST, -F32_GREATEST])
ODD = st.sampled_from([np.inf, -np.inf, np.nan])
PLANS = ["", "vector=1", "unroll=2,lanes=32,warps=4", "lanes=1,warps=1,vector=1", "cta=serial,warps=2"]


def _like(got: Any, wanted: Any) -> bool:
    """Whether ``got`` is ``wanted`` rounded to f32, apart from a few roundings."""
    with np.errstate(over="ignore"):
        target = np.float32(wanted)
    if not np.isfinite(target) or not np.isfinite(got):  # at the very end a rounding decides
        near = np.isfinite(wanted) and abs(float(wanted)) > 0.999 * F32_GREATEST
        return bool(near or np.array_equal(got, target, equal_nan=True))
    return bool(np.isclose(got, target, rtol=1e-4, atol=1e-30))


def _moments(x: np.ndarray[Any, Any], correction: float) -> tuple[Any, Any]:
    wide = x.astype(np.longdouble)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        squares = ((wide - wide.mean()) ** 2).sum() if x.size else np.nan
        if squares > F32_GREATEST:  # NumPy adds squares up in the element's type, too
            squares = np.longdouble(np.inf)
        divisor = x.size - correction
        return wide.mean() if x.size else np.nan, squares / divisor if divisor > 0 else np.nan


@settings(max_examples=24, deadline=None)
@given(
    st.lists(NUMBERS, max_size=40), st.lists(ODD, max_size=1), st.integers(0, 40), st.sampled_from(PLANS),
    st.sampled_from([0.0, 1.0, -1.5, 2.0]),
)  # fmt: skip
def test_moments_are_those_of_wide_arithmetic(
    numbers: list[float], odd: list[float], place: int, plan: str, correction: float
) -> None:
    x = np.array(numbers[:place] + odd + numbers[place:], np.float32)
    mean, var = _moments(x, correction)
    got = wf.mean_var(x, correction=correction, plan=plan, device="emulator")
    assert _like(got.var, var)
    assert _like(wf.var(x, correction=correction, plan=plan, device="emulator"), var)
    if not odd:
        assert _like(got.mean, mean) or abs(float(got.mean) - float(mean)) <= 1e-6 * np.abs(x).max()
    with np.errstate(invalid="ignore"):
        assert _like(wf.std(x, correction=correction, plan=plan, device="emulator"), np.sqrt(var))


@pytest.mark.parametrize("where", [0, 1, 17, 4999])
@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_an_infinity_among_overflowing_numbers_is_seen(odd: float, where: int) -> None:
    x = np.resize(np.array([3e38, -3e38], np.float32), 5000)
    assert wf.var(x, device="emulator") == np.inf
    x[where] = odd
    assert np.isnan(wf.var(x, device="emulator"))
    assert np.isnan(wf.describe(x, device="emulator").std)


def test_masks_and_segments_of_great_numbers() -> None:
    x = np.array([3e38, -3e38, np.inf, 2e38, 2e38, np.nan], np.float32)
    assert wf.var(x, where=np.isfinite(x), device="emulator") == np.inf
    got = wf.segment_reduce(x, [0, 0, 2, 3, 5, 6], "var", device="emulator", correction=-1)
    np.testing.assert_array_equal(got, np.array([np.nan, np.inf, np.nan, 0, np.nan], np.float32))


def test_the_monoid_itself_keeps_its_mean() -> None:
    got = wf.reduce(np.array([3e38, -3e38, 3e38, 3e38], np.float32), wf.WELFORD, device="emulator")
    assert got.mean == pytest.approx(1.5e38)
    assert got.squares == np.inf
