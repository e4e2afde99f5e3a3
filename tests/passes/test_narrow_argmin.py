"""argmin and argmax of narrow elements are NumPy's: first of equals, NaN, both zeros, in every layout and order."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from covering import covering, some
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner.choose import NUMBERS
from warpfold.compiler.program.library.reductions import argmax, argmin

BYTES = ["bool", "int8", "uint8"]
TYPES = [*BYTES, "int16", "uint16", "float16", "bfloat16", "float32"]
ALL_LAYOUTS = ["bool", "uint8", "int16", "bfloat16", "float32"]
LAYOUTS = [
    ((40_000,), 0),
    ((7, 3333), 1),
    ((60, 1000), 1),
    ((130, 64), 1),
    ((9000, 7), 0),
    ((600, 1001), 0),
    ((1200, 256), 0),
    ((4, 300, 77), 1),
]
"""Rows and columns, that begin at whole accesses and between them, and a middle axis."""
CASES = [
    (dtype, *layout) for dtype in TYPES for layout in (LAYOUTS if dtype in ALL_LAYOUTS else (LAYOUTS[1], LAYOUTS[5]))
]
"""Types that differ from another in the sign only have rows and columns that begin anywhere."""


def typed(dtype: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


def filled(kind: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Random bits ("many"); few distinct values, so many are the greatest ("few"); or all equal to the lowest."""
    rng, t = np.random.default_rng(5), typed(dtype)
    if dtype == "bool":
        return rng.random(shape) < {"many": 0.5, "few": 0.0001, "lowest": 0}[kind]
    if t.kind in "iu":
        info = np.iinfo(t)
        if kind == "lowest":
            return np.full(shape, info.min, t)
        x = rng.integers(info.min, info.max, shape, endpoint=True)
        return (x if kind == "many" else x // (info.max // 3)).astype(t)
    if kind == "lowest":
        return np.full(shape, -np.inf, t)
    if kind == "few":
        return rng.choice(np.array([-1, -0.0, 0.0]), shape).astype(t)
    x = rng.integers(0, 1 << 8 * t.itemsize, shape).astype(f"u{t.itemsize}").view(t)
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(x), t.type(1), x)


def places(x: np.ndarray[Any, Any], axis: int) -> None:
    """Checks argmax and argmin against NumPy's."""
    wide = x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x
    for mine, numpys in ((wf.argmax, np.argmax), (wf.argmin, np.argmin)):
        np.testing.assert_array_equal(mine(x, axis=axis), numpys(wide, axis=axis))


@covering(("kind", ["many", "few", "lowest"]), (("dtype", "shape", "axis"), CASES))
def test_the_first_of_the_extremes(dtype: str, kind: str, shape: tuple[int, ...], axis: int) -> None:
    """Also where rows begin anywhere, and where numbers count down in memory."""
    x = filled(kind, dtype, shape)
    inner, back = x[..., 3:-2], np.flip(x, axis)
    for view in {"many": (x, inner, back), "few": (x, back), "lowest": (inner,)}[kind]:
        places(view, axis)


@pytest.mark.parametrize(("dtype", "shape", "axis"), some([case for case in CASES if "float" in case[0]], 7))
def test_the_first_nan(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    """NaN with either sign and any payload, once a result or in a tenth of the elements, beside infinities."""
    t, rng = typed(dtype), np.random.default_rng(6)
    bits = rng.integers(0, 1 << 8 * t.itemsize, shape).astype(f"u{t.itemsize}").view(t)
    with np.errstate(invalid="ignore"):
        nan = bits[np.isnan(bits)]
    for part in (1 / shape[axis], 0.1):
        x = rng.choice(np.array([np.inf, -np.inf, 0.0]), shape).astype(t)
        x = np.where(rng.random(shape) < part, rng.choice(nan, shape), x)
        for view in (x, np.flip(x, axis)):
            places(view, axis)


@settings(deadline=None, max_examples=10)
@given(
    st.sampled_from([t for t in TYPES if t != "float32"]), st.integers(64, 2000), st.integers(0, 17),
    st.integers(0, 2**32), st.integers(0, 3), st.sampled_from([1, 2, 4, 8]), st.booleans(),
)  # fmt: skip
def test_one_or_two_different_elements(
    dtype: str, n: int, begin: int, seed: int, halved: int, unroll: int, rows: bool
) -> None:  # fmt: skip
    """One element, or two equal ones, differ from the others, as the extreme or not."""
    rng, t = np.random.default_rng(seed), typed(dtype)
    x = np.zeros((2, n + begin) if rows else (n, 24 + begin), t)
    for line in x if rows else x.T:
        line[rng.integers(0, len(line), 2)] = 1 if t.kind in "bu" else rng.choice([-1, 1])
    least = 2 if rows else 4  # of columns that begin anywhere fewer are read one by one
    plan = f"fast={'reduced' if rows else 'kept'},vector={max(least, 16 // t.itemsize >> halved)},unroll={unroll}"
    view, axis = x[:, begin:], int(rows)
    wide = view.astype(np.float32)
    for mine, numpys in ((wf.argmax, np.argmax), (wf.argmin, np.argmin)):
        np.testing.assert_array_equal(mine(view, axis=axis, plan=plan), numpys(wide, axis=axis))


@pytest.mark.parametrize("dtype", ["i8", "bf16"])
@pytest.mark.parametrize("more", [0, 1])
def test_numbers_that_exceed_narrow_words_take_wide_ones(dtype: str, more: int) -> None:
    """Both kernels record narrow keys in the loop."""
    most = NUMBERS if dtype == "i8" else NUMBERS >> 8
    kernel = wf.compile("argmax", (most + more,), {"i8": "int8"}.get(dtype, dtype))
    (kernels,) = kernel.artifact.kernels
    assert kernels.main.facts.places == (not more)
    assert kernels.state[0].itemsize == (8 if more else 4)
    assert ("min.s16x2" if dtype == "i8" else f"fma.rn.{dtype}x2") in kernel.ptx


def test_32_bit_elements_are_their_own_keys() -> None:
    """The loop compares words of 64 bits at most once a step."""
    ptx = wf.compile("argmax", (1 << 22,), "f32").ptx
    first = ptx.index("max.NaN.f32")
    loop = ptx[ptx.rindex("$L", 0, first) : ptx.index("bra", first)]
    assert (loop.count("max.NaN.f32"), loop.count("setp"), loop.count("min.s64")) == (15, 18, 0)


def test_the_direction_of_numbers() -> None:
    """It is a fact if there is one direction; without it all elements become words."""
    for shape, axis, dtype, way in (
        ((5000,), 0, "int8", "up"),
        ((5000, 64), 0, "bf16", "up"),
        ((15, 4096), 0, "int8", ""),  # of so few elements each
        ((255, 4096), 0, "bf16", ""),
        ((64, 5000), 1, "f32", "up"),
        ((5000, 64), 0, "f32", ""),
        ((64, 30, 80), (0, 2), "int8", ""),
        ((64, 5000), 1, "f64", ""),
    ):
        assert wf.compile("argmax", shape, dtype, axis=axis).artifact.kernels[0].main.facts.numbers == way, (
            shape,
            dtype,
        )
    assert not wf.compile("max", (5000,), "int8").artifact.kernels[0].main.facts.numbers


def test_several_axes() -> None:
    x = filled("few", "int8", (64, 30, 80))
    found = wf.argmax(x, axis=(0, 2))
    np.testing.assert_array_equal(found, x.transpose(1, 0, 2).reshape(30, -1).argmax(axis=1))


def test_similar_words_of_users_are_unchanged() -> None:
    """A number that overlaps the bits of the byte changes which word is least."""

    def near(x: Any) -> Any:
        return wf.fold(wf.MIN, (wf.cast(x, "i32") << 2) | wf.index())

    x = filled("few", "int8", (2, 5000))
    found = wf.reduce(x, what=near, axis=1)
    np.testing.assert_array_equal(found, ((x.astype(np.int32) << 2) | np.arange(5000)).min(axis=1))


def first_zero(x: Any) -> Any:
    return argmin(x != 0)


def own_words(x: Any) -> Any:
    """Those of a user, which no walk looks into."""
    return wf.fold(wf.MIN, (wf.cast(x != 0, "i64") << 32) | wf.cast(wf.index("i32"), "i64"))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int16", "float32"])
def test_truth_values_of_wider_elements_are_not_packed_as_bytes(dtype: str) -> None:
    plan = "fast=reduced,vector=4,unroll=4"
    kernel = wf.compile(first_zero, (3, 5000), dtype, axis=1, plan=plan)
    assert ("16x2" in kernel.ptx) == (dtype == "int8")
    x = np.ones((3, 5000), dtype)
    x[[0, 1, 2, 2], [4999, 17, 3, 4]] = 0
    np.testing.assert_array_equal(kernel(x), [4999, 17, 3])
    np.testing.assert_array_equal(wf.reduce(x, own_words, axis=1, plan=plan), [4999, 17, 3])


def low_bits(x: Any) -> Any:
    """The first element with the least low byte: an order of 16-bit elements that no key has."""
    return wf.fold(wf.MIN, (wf.cast(wf.cast(x, "uint8"), "i64") << 32) | wf.cast(wf.index("i32"), "i64"))


def test_an_order_without_a_key() -> None:
    x = filled("many", "uint16", (3, 5000))
    found = wf.reduce(x, what=low_bits, axis=1)
    least = (x & 255).astype(np.int64)
    np.testing.assert_array_equal(found, (least << 32 | np.arange(5000)).min(axis=1))


def upper_half(x: Any) -> Any:
    """Words of values computed in f32, above numbers of 16 bits."""
    return wf.fold(wf.MIN, (wf.bitcast(wf.cast(x, "f32") * 3.0, "i32") & -65536) | wf.index("i32"))


def test_words_of_computed_floats() -> None:
    """They have no key; where ``argmax`` ranks them they are their own keys."""
    x = np.linspace(1, 1e6, 15_000).astype(ml_dtypes.bfloat16).reshape(3, 5000)
    found = wf.reduce(x, what=upper_half, axis=1)
    words = (x.astype(np.float32) * np.float32(3)).view(np.int32) & -65536 | np.arange(5000)
    np.testing.assert_array_equal(found, words.min(axis=1))
    y = filled("few", "float32", (3, 5000))
    found = wf.reduce(y, what=lambda v: argmax(abs(v)), axis=1)
    np.testing.assert_array_equal(found, abs(y).argmax(axis=1))


@pytest.mark.parametrize("shape", [(3, 700), (1, 5000)])
def test_numbers_beyond_32_bits(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The array pretends to have more elements than 32 bits count: indices have 64 bits, words of elements 32."""
    monkeypatch.setattr(planner, "INDEX_LIMIT", 0)
    places(filled("few", "int8", shape), -1)
