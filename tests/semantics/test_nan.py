"""docs/semantics.md: NaN."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import types_page
from meanings import INF, NAN, f32, f64, greatest, mask, on_emulator, reduce, refused, total

import warpfold as wf


@pytest.mark.parametrize(
    "name", ["sum", "prod", "min", "max", "minmax", "ptp", "mean", "var", "std", "norm", "logsumexp", "dot"]
)
def test_nan_propagates(name: str) -> None:
    for x in (f32(NAN, 1, 2), f32(1, INF, NAN), f32(0, NAN, -INF)):
        assert np.isnan(on_emulator(name)(*[x] * types_page.arrays_of(name))).all()
    for order in (1, 2, 3, INF, -INF):
        assert np.isnan(on_emulator("norm")(f32(1, NAN), ord=order))


def test_the_first_nan_wins() -> None:
    for name in ("argmin", "argmax"):
        assert on_emulator(name)(f32(1, INF, NAN, -INF, NAN)) == 2


def test_nan_is_not_zero() -> None:
    assert on_emulator("any")(f32(0, NAN))
    assert on_emulator("all")(f32(1, NAN))
    assert on_emulator("count_nonzero")(f32(0, NAN)) == 1
    assert on_emulator("norm")(f32(0, NAN), ord=0) == 1


def test_nan_equals_nothing() -> None:
    for name in ("array_equal", "allclose"):
        assert not on_emulator(name)(f32(NAN), f32(NAN))
        assert on_emulator(name)(f32(NAN), f32(NAN), equal_nan=True)
        assert not on_emulator(name)(f32(NAN), f32(1), equal_nan=True)


def test_nan_ignored() -> None:
    x = f64(NAN, 3, 1, NAN, 2)
    for name in ("sum", "prod", "min", "max", "mean", "argmin", "argmax"):
        expected = getattr(np, f"nan{name}")(x)
        assert on_emulator(f"nan{name}")(x) == expected
        assert on_emulator(name)(x, nan="ignore") == expected
    assert on_emulator("var")(x, nan="ignore") == pytest.approx(np.nanvar(x))
    assert on_emulator("norm")(x, nan="ignore") == pytest.approx(math.sqrt(14))
    assert reduce(x, what=wf.LOGSUMEXP, nan="ignore") == pytest.approx(np.logaddexp.reduce(x[[1, 2, 4]]))


def test_nan_of_any_array_or_part() -> None:
    assert on_emulator("dot")(f32(1, NAN, 3, 4), f32(1, 1, NAN, 1), nan="ignore") == 5
    assert on_emulator("nansum")(np.array([1 + 1j, complex(NAN, 1), complex(1, NAN)])) == 1 + 1j


def test_nothing_but_nan() -> None:
    x = f32(NAN, NAN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert on_emulator("nansum")(x) == 0
        assert on_emulator("nanprod")(x) == 1
        assert all(np.isnan(on_emulator(n)(x)) for n in ("nanmin", "nanmax", "nanmean"))


def test_no_index_of_nothing_but_nan() -> None:
    for name in ("nanargmin", "nanargmax"):
        with pytest.raises(ValueError, match="WF134"):
            on_emulator(name)(np.array([[1, 2], [NAN, NAN]]), 1)
        with pytest.raises(ValueError, match="All-NaN"):
            getattr(np, name)(np.array([[1, 2], [NAN, NAN]]), 1)


def test_nan_raises() -> None:
    refused("WF135", "sum", f32(1, NAN), nan="raise")
    assert total(f32(1, 2), nan="raise") == 3
    assert total(f32(1, NAN), nan="raise", where=mask(1, 0)) == 1


def test_integers_have_no_nan() -> None:
    for policy in ("ignore", "raise"):
        assert greatest(np.array([1, 2]), nan=policy) == 2
        assert total(mask(1, 1), nan=policy) == 2
