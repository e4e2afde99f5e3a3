"""Programs without a fold run on arrays of any layout: weights along any axes, arrays across, odd lengths, slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf

TYPES = ("f4", "f8", "f2", "i2")


@wf.program
def several(x: Any, y: Any, w: Any) -> Any:
    return wf.where(x > 0, x, y) * w, x + y, w + w


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...], t: str) -> Any:
    """An array of random numbers, its axes in any order in memory, that begins anywhere and may have gaps."""
    order = draw(st.permutations(range(len(shape))))
    step, start = draw(st.sampled_from((1, 1, 2))), draw(st.integers(0, 3))
    whole = [shape[a] for a in order]
    whole[-1] = whole[-1] * step + start
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    made = rng.integers(-9, 9, whole).astype(t)[..., start::step]
    return made.transpose(np.argsort(order))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_layout(data: st.DataObject) -> None:
    t = data.draw(st.sampled_from(TYPES))
    shape = tuple(data.draw(st.lists(st.sampled_from((1, 2, 3, 8, 9, 33, 64)), min_size=1, max_size=3)))
    x, y = (data.draw(arrays(shape, t)) for _ in range(2))
    w = data.draw(arrays(tuple(n if data.draw(st.booleans()) else 1 for n in shape), t))
    found = several(x, y, w)
    for f, e in zip(found, (np.where(x > 0, x, y) * w, x + y, w + w), strict=True):
        np.testing.assert_array_equal(f, e)


@pytest.mark.parametrize("plan", ["held=1", "held=5", "lanes=2,warps=1", "vector=1", "warps=2,warps_kept=2"])
@pytest.mark.parametrize("columns", [5, 16, 300])
def test_any_plan(plan: str, columns: int) -> None:
    x = np.arange(70 * columns, dtype=np.float32).reshape(70, columns)
    y, w = np.arange(70 * columns, dtype=np.float32).reshape(columns, 70).T, x[3]
    found = several(x, y, w, plan=plan)
    for f, e in zip(found, (np.where(x > 0, x, y) * w, x + y, w + w), strict=True):
        np.testing.assert_array_equal(f, e)


def test_each_array_may_take_a_result() -> None:
    rng = np.random.default_rng(1)
    x, y, w = rng.random((80, 16)), rng.random((16, 80)).T, rng.random(16)
    expected = [np.where(x > 0, x, y) * w, x + y, w + w]
    found = several(x, y, w, out=(x, y, w))
    for f, e, o in zip(found, expected, (x, y, w), strict=True):
        assert f is o
        np.testing.assert_array_equal(f, e)
