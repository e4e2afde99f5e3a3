"""docs/semantics.md: masks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from meanings import INF, NAN, f32, f64, greatest, least, mask, on_emulator, product, refused, total

import warpfold as wf


def test_masks_broadcast() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for m in (mask(1, 0, 1), mask(1, 0)[:, None], mask(1), x > 2):
        np.testing.assert_array_equal(total(x, 1, where=m), np.sum(x, 1, where=m))


def test_masks_are_checked() -> None:
    refused("WF139", "sum", f32(1, 2), where=np.ones((2, 2), bool))
    refused("WF139", "sum", f32(1, 2), where=np.array([1, 0]))


def test_masks_of_bits() -> None:
    x, m = f64(1, 2, 3, 4).reshape(2, 2), mask(1, 0, 1, 1).reshape(2, 2)
    for bits in (wf.pack(m), wf.pack(m, flat=True)):
        np.testing.assert_array_equal(on_emulator("sum")(x, 1, where=bits), [1, 7])


def test_masked_elements_take_no_part() -> None:
    x, m = f64(4, NAN, 2, INF), mask(1, 0, 1, 0)
    for name in ("sum", "prod", "mean", "var", "std", "any", "all"):
        assert on_emulator(name)(x, where=m) == getattr(np, name)(x[m])
    assert greatest(x, where=m, initial=-INF) == 4
    assert on_emulator("norm")(x, where=m) == pytest.approx(math.sqrt(20))


def test_masks_that_leave_nothing() -> None:
    x, none = f32(1, 2), mask(0, 0)
    assert (total(x, where=none), product(x, where=none)) == (0, 1)
    assert np.isnan(on_emulator("mean")(x, where=none))
    assert np.isnan(on_emulator("var")(x, where=none))
    assert least(x, where=none, initial=7) == 7


def test_masks_need_an_initial() -> None:
    for name in ("min", "max", "argmin", "ptp", "describe"):
        refused("WF133", name, f32(1, 2), where=mask(1, 1))


def test_no_mask_without_initial() -> None:
    for name in ("argmin", "argmax", "minmax", "ptp", "describe"):
        refused("WF127", name, f32(1, 2), where=mask(1, 1), initial=0)
        refused("WF133", name, f32(1, 2), where=mask(1, 1))
