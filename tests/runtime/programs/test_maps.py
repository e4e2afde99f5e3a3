"""Programs without a fold run on arrays of any layout: weights along any axes, arrays across, odd lengths, slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf

TYPES = ("f4", "f8", "f2", "i2")


@wf.program
def several(x: Any, y: Any, w: Any) -> Any:
    return wf.where(x > 0, x, y) * w, x + y, w + w


@wf.program
def larger(x: Any, y: Any) -> Any:
    return wf.where(x > y, x, y)


@wf.program
def inverted(x: Any) -> Any:
    return ~x


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


@settings(max_examples=24, deadline=None)
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


@covering(
    ("plan", ["", "lanes=2", "warps=2,warps_kept=1", "vector=2,held=2"]),
    ("shape", [(2, 12, 80), (40, 8, 24), (8, 72), (36, 4), (36, 6)]),
)
def test_blocks(shape: tuple[int, ...], plan: str) -> None:
    """Each array lies across the other, and results lie as one or as the other."""
    rng = np.random.default_rng(2)
    x = rng.integers(-9, 9, shape).astype(np.float32)
    y, w = rng.integers(-9, 9, (*shape[1:], shape[0])).astype(np.float32), x[0]
    y = np.moveaxis(y, -1, 0)
    expected = np.where(x > 0, x, y) * w, x + y, w + w
    out = np.empty_like(x), np.empty_like(y), np.empty_like(w)
    for found in (several(x, y, w, plan=plan), several(x, y, w, out=out, plan=plan)):
        for f, e in zip(found, expected, strict=True):
            np.testing.assert_array_equal(f, e)


@covering(("t", ["f8", "f4", "f2", "i1", "?"]), ("shape", [(65, 67), (2, 66, 72), (65, 3, 130)]))
def test_blocks_that_begin_anywhere(shape: tuple[int, ...], t: str) -> None:
    """Each array lies across the other, and results lie as one or as the other, which they may take."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 9, shape).astype(t)
    y = np.moveaxis(rng.integers(0, 9, (shape[-1], *shape[1:-1], shape[0])).astype(t), (0, -1), (-1, 0))
    expected = np.where(x > y, x, y)
    for out in (None, np.empty_like(x), np.empty_like(y)):
        np.testing.assert_array_equal(larger(x, y, out=out), expected)
        np.testing.assert_array_equal(larger(y, x, out=out), expected)
    np.testing.assert_array_equal(larger(y, y, out=np.empty_like(x)), y)
    assert larger(x, y, out=x) is x
    np.testing.assert_array_equal(x, expected)


def test_blocks_of_short_rows() -> None:
    """Pixels of three bytes become three images, and these become pixels again."""
    pixels = np.random.default_rng(3).integers(0, 255, (2, 5, 16, 3), np.uint8)
    images = inverted(pixels.transpose(0, 3, 1, 2), out=np.empty((2, 3, 5, 16), np.uint8))
    np.testing.assert_array_equal(images, ~pixels.transpose(0, 3, 1, 2))
    again = inverted(images.transpose(0, 2, 3, 1), out=np.empty((2, 5, 16, 3), np.uint8))
    np.testing.assert_array_equal(again, pixels)


@pytest.mark.parametrize("t", ["f4", "f2", "i1"])
@pytest.mark.parametrize("columns", [16, 17, 48])
def test_rows_backwards(t: str, columns: int) -> None:
    """Rows that are read backwards, beside rows that are not, or written so."""
    x = np.arange(5 * columns).reshape(5, columns).astype(t)
    y = np.arange(5 * columns)[::-1].reshape(5, columns).astype(t)[:, ::-1]
    for f, e in zip(several(x, y, x[0]), (np.where(x > 0, x, y) * x[0], x + y, x[0] + x[0]), strict=True):
        np.testing.assert_array_equal(f, e)
    out = np.empty_like(x), np.empty_like(x)[:, ::-1], np.empty_like(x[0])[::-1]
    for f, e in zip(several(y, x, x[0], out=out), (np.where(y > 0, y, x) * x[0], x + y, x[0] + x[0]), strict=True):
        np.testing.assert_array_equal(f, e)


def test_each_array_may_take_a_result() -> None:
    rng = np.random.default_rng(1)
    x, y, w = rng.random((20, 8)), rng.random((8, 20)).T, rng.random(8)
    expected = [np.where(x > 0, x, y) * w, x + y, w + w]
    found = several(x, y, w, out=(x, y, w))
    for f, e, o in zip(found, expected, (x, y, w), strict=True):
        assert f is o
        np.testing.assert_array_equal(f, e)
