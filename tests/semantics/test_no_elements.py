"""docs/semantics.md: no elements."""

from __future__ import annotations

import itertools
import warnings
from functools import partial

import numpy as np
import pytest
import types_page
from meanings import F32, INF, NAN, f32, greatest, mask, on_emulator, refused, total

import warpfold as wf


def test_semigroups_see_elements_alone() -> None:
    """Zero would pad, and show among negative numbers; differential/test_semigroups.py tries plans and layouts."""
    last = wf.monoid(has_identity=False, commutative=False)(lambda _, b: b)
    greatest = wf.monoid(has_identity=False, identity=0)(wf.maximum)
    x = -np.arange(1, 1001, dtype=F32).reshape(4, 250)
    assert np.array_equal(wf.reduce(x, last, axis=1, device="emulator"), x[:, -1])
    assert np.array_equal(wf.reduce(x, greatest, axis=0, device="emulator"), x[0])
    assert np.array_equal(wf.reduce(x, last, axis=1, where=x > -300, initial=7, device="emulator"), [-250, -299, 7, 7])
    assert np.array_equal(wf.segment_reduce(x[0], [0, 3, 250], last, device="emulator"), x[0, [2, 249]])


def test_nothing_is_the_identity() -> None:
    none = f32()
    for name, value in {
        "sum": 0, "count_nonzero": 0, "norm": 0, "dot": 0, "prod": 1, "any": False, "all": True, "allclose": True,
        "array_equal": True, "logsumexp": -INF,
    }.items():  # fmt: skip
        assert on_emulator(name)(*[none] * types_page.arrays_of(name)) == value


def test_nothing_has_no_mean() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(np.isnan(on_emulator(n)(f32())).all() for n in ("mean", "var", "std", "mean_var"))
        for name, correction in itertools.product(("var", "std", "mean_var"), (-2.5, -INF)):
            var = partial(on_emulator(name), correction=correction)
            assert np.isnan(var(f32())).all()
            assert np.isnan(var(f32(1, 2), where=mask(0, 0))).all()
            assert np.isnan(var(f32(NAN, NAN), nan="ignore")).all()
            segments = wf.segment_reduce(f32(1, 2), [0, 0, 2], name, device="emulator", correction=correction)
            assert np.isnan(np.reshape(segments, (-1, 2))[-1, 0])


@pytest.mark.parametrize("name", ["min", "max", "minmax", "ptp", "argmin", "argmax", "describe", "norm"])
def test_nothing_has_no_extreme(name: str) -> None:
    for how in ({"ord": INF}, {"ord": -INF}) if name == "norm" else ({},):
        refused("WF104", name, f32(), **how)


def test_no_results() -> None:
    assert greatest(np.zeros((0, 3), F32), 1).shape == (0,)
    assert greatest(np.zeros((0, 0), F32), 1).shape == (0,)
    refused("WF104", "max", np.zeros((3, 0), F32), 1)


def test_nothing_is_the_initial() -> None:
    assert greatest(f32(), initial=3) == 3
    assert total(f32(), initial=3) == 3
