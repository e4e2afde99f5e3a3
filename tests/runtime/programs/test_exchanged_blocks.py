"""Blocks that CTAs exchange in shared memory, beside NumPy: accesses that begin anywhere, ends of rows, places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf


@wf.program
def added(x: Any, y: Any) -> Any:
    return x + y


def array(*shape: int, t: str = "f2", start: int = 0) -> np.ndarray:
    """Small whole numbers, ``start`` elements after a boundary."""
    n = int(np.prod(shape))
    raw = np.zeros(n + 256, t)
    first = -raw.ctypes.data // raw.itemsize % (64 // raw.itemsize) + start
    raw[first : first + n] = np.arange(n) * 7 % 101 - 50
    return raw[first : first + n].reshape(shape)


def resident(x: Any, y: Any) -> str:
    (step,) = added._planned((x, y), {}, "sm_90a").prepared.steps
    return str(step.prepared.choice.plan.resident)


@pytest.mark.parametrize(
    ("shape", "start"), [((67, 131), 0), ((67, 131), 3), ((131, 67), 1), ((65, 128), 5), ((99, 136), 7)]
)
def test_halves_that_begin_anywhere(shape: tuple[int, int], start: int) -> None:
    x, y = array(*shape[::-1]).T, array(*shape, start=start)
    assert resident(y, x) == "shared"
    expected = x + y
    np.testing.assert_array_equal(added(y, x), expected)
    np.testing.assert_array_equal(added(x, y, out=np.empty(shape, "f2")), expected)
    assert added(x, y, out=y) is y
    np.testing.assert_array_equal(y, expected)


def test_what_lies_beside_a_result_stays() -> None:
    x, room = array(131, 67).T, array(69, 131, start=1)
    kept = room.copy()
    added(x, room[1:-1], out=room[1:-1])
    np.testing.assert_array_equal(room[[0, -1]], kept[[0, -1]])
    np.testing.assert_array_equal(room[1:-1], kept[1:-1] + x)
