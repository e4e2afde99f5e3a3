"""States of argmin and argmax from words: which folds have them, and that states are those of elements and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import BF16, F32, F64, I8, I32, I64, DType
from warpfold.compiler.program.library import reductions
from warpfold.compiler.program.library.extremes import extreme
from warpfold.compiler.program.states import Cut, Partial
from warpfold.compiler.program.tracing import trace


def shown(x: Any) -> Any:
    """Results show the elements, of which those of words may have other bits."""
    return wf.fold(wf.ARGMAX, x, wf.index())


def least(x: Any) -> Any:
    """Sums with zero have the bits that words have."""
    return extreme(x, wf.ARGMIN)


def several(x: Any) -> Any:
    return wf.fold(wf.ARGMIN, x, wf.index())[1], wf.fold(wf.SUM, x), wf.fold(wf.ARGMAX, x, wf.index())[1]


@wf.monoid(identity=(np.inf, 2**63 - 1, 0.0))
def least_and_sum(a: Any, b: Any) -> Any:
    return *wf.ARGMIN(a[:2], b[:2]), a[2] + b[2]


def beside(x: Any) -> Any:
    """A pair in a state of three values, which is declared nowhere and stays a pair."""
    return wf.fold(least_and_sum, x, wf.index(), wf.where(x > 0, x, 0))[1:]


@pytest.mark.parametrize(
    ("function", "t", "state"),
    [
        (reductions.argmax, F32, (I64,)), (reductions.argmin, BF16, (I64,)), (reductions.argmin, I8, (I64,)),
        (reductions.argmax, F64, (F64, I64)), (reductions.nanargmin, F32, (I64, I64)), (shown, F32, (F32, I64)),
        (shown, I32, (I64,)), (least, F32, (I64,)), (several, F32, (I64, F32, I64)), (beside, F32, (F32, I64, F32)),
    ],
)  # fmt: skip
def test_pairs_are_words_unless_results_show_their_floats(function: Any, t: DType, state: tuple[DType, ...]) -> None:
    part = Partial(Cut(function, (t,)))
    assert trace(part, (t,), {}, wide=False).program.monoid.state == state
    assert trace(part, (t,), {}).program.monoid.state == part.cut.monoid.state  # of 2^31 elements and more


X = np.array([[np.nan, -0.0, 0.0, 3.0, 3.0, -1.0], [np.nan, np.nan, -np.inf, -np.inf, -np.inf, -np.inf]], np.float32)


@pytest.mark.parametrize("what", ["nanargmax", "nanargmin", "argmin", several, least, beside])
def test_states_of_words_meet_others(what: Any) -> None:
    how = {"what": what, "axis": 1, "device": "emulator"}
    left, right = wf.partial(X[:, :2], **how), wf.partial(X[:, 2:], start=2, **how)  # of one row all are left out
    assert left.values[0].dtype == X.dtype
    for found, own in zip(
        np.atleast_2d(wf.finish(wf.merge(left, right))), np.atleast_2d(wf.reduce(X, **how)), strict=True
    ):
        np.testing.assert_array_equal(found, own)


def test_bytes_have_words() -> None:
    x, how = np.array([3, 200, 200, 0], np.uint8), {"device": "emulator"}
    state = wf.partial(x, shown, **how)
    assert wf.finish(wf.update(state, x)) == (200, 1)


def test_other_values_in_place_of_elements_are_elements() -> None:
    """A choice is a mask where it gives the identity, and nowhere else."""

    def first(x: Any) -> Any:
        here = x > 0
        return wf.fold(wf.ARGMIN, wf.where(here, x, 5), wf.where(here, wf.index(), 3))[1]

    for x in ([-1, -1, -1, -1], [-1, 7, -1, 9], [-1, 4, -1, 2]):
        values, places = np.where(np.array(x) > 0, x, 5), np.where(np.array(x) > 0, range(4), 3)
        expected = min(zip(values.tolist(), places.tolist(), strict=True))[1]
        for found in (wf.reduce, lambda *a, **how: wf.finish(wf.partial(*a, **how))):
            assert found(np.array(x, np.int32), first, device="emulator") == expected
