"""Blocks that CTAs exchange in shared memory, beside NumPy: accesses that begin anywhere, ends of rows, places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from access_picture import run_under

import warpfold as wf
from warpfold.runtime.emulator.sanitizer import Sanitizer


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


@wf.program
def weighted(x: Any, y: Any, w: Any) -> Any:
    return x * w + y


@pytest.mark.parametrize(
    ("shape", "t"), [((67, 131), "f2"), ((3, 70, 99), "f4"), ((67, 131), "i1"), ((3, 70, 99), "f8")]
)
def test_weights_along_either_axis_beside_exchanged_arrays(shape: tuple[int, ...], t: str) -> None:
    *outer, m, n = shape
    x, y = array(*outer, n, m, t=t).swapaxes(-1, -2) // 9, array(*shape, t=t, start=3) // 9
    for w in (array(n, t=t) // 25, array(m, 1, t=t) // 25, array(*outer, 1, 1, t=t) // 25):
        np.testing.assert_array_equal(weighted(x, y, w, out=np.empty(shape, t)), x * w + y)
        np.testing.assert_array_equal(weighted(x, y, w, out=y.copy()), x * w + y)


def test_results_and_inputs_that_begin_differently_after_boundaries() -> None:
    x, y = array(131, 67, t="f4", start=1).T, array(67, 131, t="f2", start=1)
    room = array(70, 135, t="f4", start=2)
    for out in (room[:67, :131], room[1:68, 3:134], np.empty((67, 131), "f4")):
        np.testing.assert_array_equal(added(x, y, out=out), x + y)
    np.testing.assert_array_equal(added(x, x[::-1].copy("F")), x + x[::-1])


@wf.program
def numbered(x: Any, y: Any) -> Any:
    xp = x.__array_namespace__()
    return x + y * (xp.arange(x.shape[-1]) + 3 * xp.arange(x.shape[-2])[:, None])


@pytest.mark.parametrize("shape", [(67, 131), (3, 70, 99)])
def test_numbers_of_elements_beside_exchanged_arrays(shape: tuple[int, ...]) -> None:
    *outer, m, n = shape
    x, y = array(*outer, n, m, t="i4").swapaxes(-1, -2), array(*shape, t="i4", start=1)
    expected = x + y * (np.arange(n) + 3 * np.arange(m)[:, None])
    np.testing.assert_array_equal(numbered(x, y, out=np.empty(shape, "i8")), expected)


relu = wf.program(lambda x: (wf.maximum(x, 0), wf.pack(x > 0, flat=True)))


@pytest.mark.parametrize("t", ["f2", "f4", "i1"])
def test_no_thread_writes_the_bits_of_another(t: str) -> None:
    """Lanes leave bytes or words in a tile, and other threads read them: the sanitizer watches."""
    tool, x = Sanitizer(), array(72, 131, t=t, start=3).T
    run_under(tool, lambda: relu(x, out=(np.empty_like(x), np.empty(-(-x.size // 32), "u4")), device="emulator"))
    assert tool.accesses
    assert not list(tool.findings)


@pytest.mark.parametrize("t", ["f2", "f4", "i1"])
@pytest.mark.parametrize(("n", "m", "start"), [(297, 104, 0), (131, 72, 3), (333, 128, 5)])
def test_bits_across_arrays_that_begin_anywhere(n: int, m: int, start: int, t: str) -> None:
    x = array(m, n, t=t, start=start).T
    words = -(-n * m // 32)
    expected = np.packbits(x > 0, bitorder="little")
    expected = np.append(expected, np.zeros(4 * words - len(expected), "u1")).view("u4")
    bits = np.full(words, 2**32 - 1, "u4")
    y, _ = relu(x, out=(np.empty_like(x), bits))
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    np.testing.assert_array_equal(bits, expected)
    assert relu.compile(x).plans[0].exchanges
    if t != "i1":
        np.testing.assert_array_equal(wf.relu_backward(x, bits), np.maximum(x, 0))
        assert wf.relu_backward.compile(x, bits).plans[0].exchanges
