"""The places of extremes among bytes are NumPy's, however many lie in a step, and whichever way numbers count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.planner import NUMBERS

ROWS = [(40_000,), (5, 4096), (7, 3333), (60, 1000)]


def filled(kind: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Random bytes; few different ones, so that many are the greatest; or all the same."""
    rng = np.random.default_rng(5)
    if dtype == "bool":
        return rng.random(shape) < {"many": 0.5, "few": 0.0001, "lowest": 0}[kind]
    info = np.iinfo(dtype)
    if kind == "lowest":
        return np.full(shape, info.min, dtype)
    x = rng.integers(info.min, info.max, shape, endpoint=True)
    return (x if kind == "many" else x // 40).astype(dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize("kind", ["many", "few", "lowest"])
@pytest.mark.parametrize("shape", ROWS)
def test_the_first_of_the_extremes(dtype: str, kind: str, shape: tuple[int, ...]) -> None:
    """Of rows, of rows that begin anywhere, and of those whose numbers count down in memory."""
    x = filled(kind, dtype, shape)
    for view in (x, x[..., 3:-2], x[..., ::-1]):
        for mine, numpys in ((wf.argmax, np.argmax), (wf.argmin, np.argmin)):
            np.testing.assert_array_equal(mine(view, axis=-1), numpys(view, axis=-1))


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["bool", "int8", "uint8"]), st.integers(64, 2000), st.integers(0, 17), st.integers(0, 2**32),
    st.sampled_from(["vector=16,unroll=1", "vector=8,unroll=4", "vector=16,unroll=16", "vector=4,unroll=4"]),
)  # fmt: skip
def test_of_any_few_bytes(dtype: str, n: int, begin: int, seed: int, plan: str) -> None:
    """One byte differs from the others, or two that are equal, and either may be wanted."""
    rng = np.random.default_rng(seed)
    x = np.zeros((2, n + begin), dtype)
    for row in x:
        row[rng.integers(0, n + begin, 2)] = 1 if dtype != "int8" else rng.choice([-1, 1])
    view = x[:, begin:]
    for mine, numpys in ((wf.argmax, np.argmax), (wf.argmin, np.argmin)):
        np.testing.assert_array_equal(mine(view, axis=1, plan=plan + ",fast=reduced"), numpys(view, axis=1))


@pytest.mark.parametrize(("n", "wide"), [(NUMBERS, False), (NUMBERS + 1, True)])
def test_numbers_beyond_24_bits_take_wide_words(n: int, wide: bool) -> None:
    """Both find two places at once."""
    kernel = wf.compile("argmax", (n,), "i8")
    assert kernel.artifact.main.facts.places == (not wide)
    assert kernel.artifact.state[0].itemsize == (8 if wide else 4)
    assert "max.s16x2" in kernel.ptx


def test_words_of_others_are_left_alone() -> None:
    """Where a number reaches into what orders the bytes, the first of the least is another."""

    def near(x: Any) -> Any:
        return wf.fold(wf.MIN, (wf.cast(x, "i32") << 2) | wf.index())

    x = filled("few", "int8", (2, 5000))
    found = wf.reduce(x, what=near, axis=1)
    np.testing.assert_array_equal(found, ((x.astype(np.int32) << 2) | np.arange(5000)).min(axis=1))


def first_zero(x: Any) -> Any:
    """A user's own words, which are wide."""
    return wf.fold(wf.MIN, (wf.cast(x != 0, "i64") << 32) | wf.cast(wf.index("i32"), "i64"))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int16", "float32"])
def test_truths_of_wider_elements_are_no_bytes(dtype: str) -> None:
    """Those of bytes are, whoever wrote the words."""
    kernel = wf.compile(first_zero, (3, 5000), dtype, axis=1, plan="fast=reduced,vector=4,unroll=4")
    assert ("16x2" in kernel.ptx) == (dtype == "int8")
    x = np.ones((3, 5000), dtype)
    x[[0, 1, 2, 2], [4999, 17, 3, 4]] = 0
    np.testing.assert_array_equal(kernel(x), [4999, 17, 3])
