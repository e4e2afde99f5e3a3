"""Which programs need only the lowest number of equal elements, and get it without a walk over all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import I8, dtype
from warpfold.compiler.program.cuts.cut import only_step
from warpfold.compiler.program.library.reductions import argmax
from warpfold.compiler.program.rewrites.narrowing import narrowed
from warpfold.compiler.program.rewrites.ranked_states import only_breaks_ties
from warpfold.compiler.program.tracing import trace
from warpfold.runtime.programs.reductions import Kind, program_of

FIRST: dict[str, Any] = {
    "argmax": "argmax",
    "argmin": "argmin",
    "nanargmax": "nanargmax",
    "two": ("argmax", "argmin"),
    "beside others": ("sum", "argmax", "max", "argmin"),
    "describe": "describe",
    "a program": lambda x: wf.fold(wf.ARGMAX, x * x, wf.index())[1] + 1,
    "sum": "sum",
}
ALL: dict[str, Callable[[Any], Any]] = {
    "a sum of numbers": lambda _: wf.fold(wf.SUM, wf.index()),
    "the greatest number": lambda _: wf.fold(wf.MAX, wf.cast(wf.index(), "i64")),
    "the last of equals": lambda x: wf.fold(wf.ARGMAX, x, 0 - wf.index())[1],
    "a number in the value": lambda x: wf.fold(wf.ARGMAX, x + wf.cast(wf.index(), "f32"), wf.index())[1],
    "a mask of numbers": lambda x: wf.fold(wf.ARGMAX, wf.where(wf.index() > 3, x, 0.0), wf.index())[1],
    "numbers above": lambda _: wf.fold(wf.MIN, (wf.cast(wf.index(), "i64") << 32) | wf.cast(wf.index(), "i64")),
    "a word of one's own": lambda x: wf.fold(wf.MIN, wf.cast(x, "i32") << 8 | wf.index()),
    "a number with a bit turned": lambda x: wf.fold(wf.MIN, wf.cast(x, "i32") << 8 | (wf.index() ^ 1)),
}  # fmt: skip


def program(what: Any, t: str, count: int) -> Any:
    found = only_step(program_of(what, 0, {}, [Kind(dtype(t), (count,))])).program
    narrow, most = narrowed(found)
    return found if most is None or count > most else narrow


@pytest.mark.parametrize("t", ["f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
@pytest.mark.parametrize("name", FIRST)
def test_programs_that_need_only_the_lowest_numbers(name: str, t: str) -> None:
    for count in (100, 2**33):
        assert only_breaks_ties(program(FIRST[name], t, count), count)


@pytest.mark.parametrize("name", ALL)
def test_programs_that_need_all_numbers(name: str) -> None:
    for count in (100, 2**20):
        assert not only_breaks_ties(program(ALL[name], "f32", count), count)


def test_a_number_that_grows_into_what_is_above_it() -> None:
    narrow, _ = narrowed(trace(argmax, (I8,), {}, wide=False).program)
    assert only_breaks_ties(narrow, 1 << 24)
    assert not only_breaks_ties(narrow, (1 << 24) + 1)


@pytest.mark.parametrize("name", ALL)
def test_their_results_count_every_element(name: str) -> None:
    x = np.float32([1, 5, 3])
    expanded = np.broadcast_to(x[:, None], (3, 9))
    assert wf.reduce(expanded, ALL[name]) == wf.reduce(expanded.copy(), ALL[name])


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_places_in_expanded_arrays_are_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    moves = [data.draw(st.booleans()) for _ in shape]
    own = tuple(n if m else 1 for n, m in zip(shape, moves, strict=True))
    kind = data.draw(st.sampled_from(["float32", "float64", "uint8", "int16"]))
    values = data.draw(st.lists(st.integers(0, 3), min_size=int(np.prod(own)), max_size=int(np.prod(own))))
    x = np.broadcast_to(np.array(values).reshape(own).astype(kind), shape)
    if kind.startswith("float") and data.draw(st.booleans()):
        x = np.where(x == 3, np.float32("nan"), x)
    axis = data.draw(st.none() | st.integers(0, len(shape) - 1))
    for name in ("argmax", "argmin"):
        np.testing.assert_array_equal(getattr(wf, name)(x, axis), getattr(np, name)(x, axis))


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "int64"])
def test_a_long_expanded_axis_takes_no_walk(kind: str) -> None:
    x = np.array([[1, 3, 3], [2, 0, 2]]).astype(kind)
    long = 2**33
    np.testing.assert_array_equal(wf.argmax(np.broadcast_to(x[:, None], (2, long, 3)), (1, 2)), [1, 0])
    np.testing.assert_array_equal(wf.argmax(np.broadcast_to(x[:, :, None], (2, 3, long)), (1, 2)), [long, 0])
    np.testing.assert_array_equal(wf.argmin(np.broadcast_to(x[:, :, None], (2, 3, long)), (1, 2)), [0, long])
    assert wf.argmax(np.broadcast_to(x[:, None, :, None], (2, 2**16, 3, 2**16))) == 2**16
