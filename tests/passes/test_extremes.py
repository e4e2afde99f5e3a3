"""Extremes of narrow elements, two in a register: NumPy's results for NaN and zeros, wherever rows begin and end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import dtype as typed

INTEGERS = ["i8", "u8", "i16", "u16"]
FLOATS = ["f16", "bf16"]
LAYOUTS = [
    ((40_000,), 0),
    ((7, 3333), 1),
    ((60, 1000), 1),
    ((300, 64), 1),
    ((9000, 7), 0),
    ((1500, 300), 0),
    ((600, 1001), 0),
    ((1200, 256), 0),
    ((4, 300, 77), 1),
]
"""Rows and columns, that begin at whole accesses and between them, and a middle axis."""
PACKED = {"i8": "s16x2", "u8": "u16x2", "i16": "s16x2", "u16": "u16x2", "f16": "NaN.f16x2", "bf16": "NaN.bf16x2"}
"""What compares two, by the type of the elements."""


def drawn(name: str, shape: tuple[int, ...], *, nan: bool = False) -> np.ndarray[Any, Any]:
    """Random bits; NaN only on request, with either sign and any payload."""
    t = typed(name).numpy
    x = np.random.default_rng(7).integers(0, 1 << 8 * t.itemsize, shape).astype(f"u{t.itemsize}").view(t)
    return x if nan or name in INTEGERS else np.where(is_nan(x), t.type(-2.5), x)


def is_nan(x: np.ndarray[Any, Any]) -> Any:
    """Which narrow floats are NaN, without a warning for signalling ones."""
    with np.errstate(invalid="ignore"):
        return np.isnan(x)


def compare(found: Any, expected: Any) -> None:
    """Equal in type and value; NaN equals NaN, and zeros are equal."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.float32(found), np.float32(expected))


@covering(
    (("name", "begin"), [("i8", 0), ("u8", 3), ("i16", 3), ("u16", 0), ("f16", 0), ("bf16", 3)]),
    (("shape", "axis"), LAYOUTS),
)
def test_random_elements(name: str, shape: tuple[int, ...], axis: int, begin: int) -> None:
    x = drawn(name, shape)[..., begin:]
    for mine, numpys in ((wf.max, np.max), (wf.min, np.min)):
        compare(mine(x, axis=axis), numpys(x, axis=axis))


@covering(("name", INTEGERS), (("shape", "axis"), LAYOUTS))
def test_elements_may_equal_the_identity(name: str, shape: tuple[int, ...], axis: int) -> None:
    """All elements, or all but one, equal the identity; a mask leaves out most elements."""
    info = np.iinfo(typed(name).numpy)
    for mine, numpys, last in ((wf.max, np.max, info.min), (wf.min, np.min, info.max)):
        x = np.full(shape, last, typed(name).numpy)
        compare(mine(x, axis=axis), numpys(x, axis=axis))
        x.flat[x.size // 3] = 1
        compare(mine(x, axis=axis), numpys(x, axis=axis))
        where = np.random.default_rng(8).random(shape) < 0.1
        y, initial = drawn(name, shape), 3
        found = mine(y, axis=axis, where=where, initial=initial)
        compare(found, numpys(y, axis=axis, where=where, initial=initial))


@covering(("name", FLOATS), (("shape", "axis"), LAYOUTS))
def test_nan_propagates_and_zeros_are_ordered(name: str, shape: tuple[int, ...], axis: int) -> None:
    """A result is NaN if one of its elements is, whatever its bits; negative zero is less than positive zero."""
    t, rng = typed(name).numpy, np.random.default_rng(6)
    nan = drawn(name, (5000,), nan=True)
    nan = nan[is_nan(nan)]
    few = rng.random(shape) < 1 / shape[axis]
    x = np.where(few, rng.choice(nan, shape), rng.choice(np.array([np.inf, -np.inf, 0], t), shape))
    for mine, numpys in ((wf.max, np.max), (wf.min, np.min)):
        with np.errstate(invalid="ignore"):
            expected = numpys(np.float32(x), axis=axis).astype(t)
        compare(mine(x, axis=axis), expected)
    zeros = np.where(few, t.type(0), t.type(-0.0))
    np.testing.assert_array_equal(np.signbit(wf.max(zeros, axis=axis)), ~few.any(axis=axis))
    assert np.signbit(wf.min(-zeros, axis=axis)).tolist() == few.any(axis=axis).tolist()


@settings(deadline=None, max_examples=16)
@given(
    st.sampled_from([*INTEGERS, *FLOATS]), st.integers(2, 600), st.integers(0, 17), st.integers(0, 2**32),
    st.integers(0, 1), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 8, 32]), st.booleans(),
)  # fmt: skip
def test_one_different_element_in_any_place(
    name: str, n: int, begin: int, seed: int, halved: int, unroll: int, lanes: int, rows: bool
) -> None:
    """An element that is read twice or skipped, or a read beside the row, would change the answer."""
    t, rng = typed(name).numpy, np.random.default_rng(seed)
    whole = np.full((3, n + 40) if rows else (n, 24 + begin), 100, t)
    view = whole[:, begin : begin + n] if rows else whole[:, begin:]
    view[...] = 5
    for line in view if rows else view.T:
        line[rng.integers(0, len(line))] = rng.choice([4, 6, 101])
    fast = "reduced" if rows else "kept"
    plan = f"fast={fast},vector={(16 >> halved) // t.itemsize},unroll={unroll},lanes={lanes}"
    axis = int(rows)
    for mine, numpys in ((wf.max, np.max), (wf.min, np.min)):
        found = mine(view, axis=axis, plan=plan) if n > 1 else mine(view, axis=axis)
        compare(found, numpys(view, axis=axis))


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_loop_compares_two_at_a_time(name: str, axis: int) -> None:
    """One instruction compares two elements, and no element is widened."""
    plan = f"fast={'reduced' if axis else 'kept'},vector=8,unroll=2"
    ptx = wf.compile("max", (4096, 4096), typed(name), axis=axis, plan=plan).ptx
    first = ptx.index(f"max.{PACKED[name]}")
    loop = ptx[ptx.rindex("$L", 0, first) : ptx.index("bra", first)]
    assert loop.count(f"max.{PACKED[name]}") == 2 * 8 // 2
    assert "cvt" not in loop.replace("cvt.s64", "").replace("cvta", "")


def initially(x: Any) -> Any:
    """Begins with a number below every byte."""
    return wf.fold(wf.MAX, wf.cast(x, "i32"), initial=-1000)


@wf.monoid(identity=-(2**31), lift=lambda x: wf.cast(x, "i32"))
def greatest(a: Any, b: Any) -> Any:
    """A user's own maximum, whose identity is below every byte."""
    return wf.maximum(a, b)


def test_states_with_an_identity_outside_the_elements_are_not_packed() -> None:
    """The identity is not an element and may be the result; ``initial`` joins after the walk."""
    x = drawn("i8", (3, 5000))
    np.testing.assert_array_equal(wf.reduce(x, greatest, axis=1), x.max(axis=1))
    assert "16x2" not in wf.compile(greatest, (3, 5000), "int8", axis=1).ptx
    assert wf.reduce(x[:, :0], greatest, axis=1).tolist() == [-(2**31)] * 3
    np.testing.assert_array_equal(wf.reduce(x, initially, axis=1), x.max(axis=1))


def shifted(x: Any) -> Any:
    """The compared values are computed, and no byte holds them."""
    return wf.fold(wf.MAX, wf.cast(x, "i32") * 3 + 1)


def test_computed_values_are_compared_as_they_are() -> None:
    x = drawn("i8", (3, 5000))
    np.testing.assert_array_equal(wf.reduce(x, shifted, axis=1), x.max(axis=1).astype(np.int32) * 3 + 1)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
def test_targets_without_packed_comparisons_have_the_same_kernel_with_single_ones(target: str) -> None:
    """LLVM chooses the instructions: two comparisons, or a selection."""
    ptx = wf.compile("max", (4096, 4096), "int8", axis=1, arch=target).ptx
    assert ("max.s16x2" in ptx) == (target == "sm_90a")
    assert ".local" not in ptx
