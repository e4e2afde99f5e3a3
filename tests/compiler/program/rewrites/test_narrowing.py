"""States no wider than they must be: which programs have them, and that results are those of wide states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering, some
from graph_numpy import run
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from warpfold.compiler.dtypes import BOOL, F16, F32, I8, I16, I32, I64, U8, U16, U32, U64, DType, compute
from warpfold.compiler.program.fold import fold, leaving_out
from warpfold.compiler.program.functions import maximum, where
from warpfold.compiler.program.graph import Program
from warpfold.compiler.program.library import monoids, reductions
from warpfold.compiler.program.monoid import Monoid
from warpfold.compiler.program.rewrites.narrowing import narrowed
from warpfold.compiler.program.tracing import program
from warpfold.compiler.program.values import cast


def evens(x: Any) -> Any:
    """The sum of the even elements."""
    with leaving_out(cast(x, I32) % 2 != 0):
        return reductions.sum(x)


def begun(x: Any) -> Any:
    return reductions.sum(x, initial=2**40)


def as_u64(x: Any) -> Any:
    return reductions.sum(x, dtype=U64)


def signed(x: Any) -> Any:
    return fold(monoids.SUM, cast(x, I64))


def squares(x: Any) -> Any:
    return fold(monoids.SUM, cast(x, I64) * cast(x, I64))


def ones_elsewhere(x: Any) -> Any:
    return fold(monoids.SUM, where(cast(x, I32) > 3, cast(x, I64), 1))


def both(x: Any) -> Any:
    return reductions.sum(x), reductions.max(x)


SERVED = [
    (reductions.sum, I8, I32, 2**24), (reductions.sum, U8, U32, 16843009), (reductions.sum, BOOL, I32, 2**31 - 1),
    (reductions.count_nonzero, U8, I32, 2**31 - 1), (reductions.count_nonzero, F32, I32, 2**31 - 1),
    (evens, I8, I32, 2**24), (evens, U8, U32, 16843009), (begun, I8, I32, 2**24), (as_u64, U8, U32, 16843009),
    (signed, U8, I32, 8421504), (reductions.mean, U8, U32, 16843009), (reductions.sum, I16, I32, 2**16),
    (reductions.sum, U16, U32, 65537), (reductions.mean, I16, I32, 2**16), (as_u64, U16, U32, 65537),
]  # fmt: skip
"""A function, the type of its elements, the type of the sum, and how many elements it serves."""


@pytest.mark.parametrize(("function", "t", "narrow", "most"), SERVED)
def test_a_sum_of_narrow_integers_is_32_bits_wide(function: Any, t: DType, narrow: DType, most: int) -> None:
    wide = program(function, (t,))
    made, found = narrowed(wide)
    assert found == most
    assert made.monoid.state == (narrow,)
    assert [o.dtype for o in made.outputs] == [o.dtype for o in wide.outputs]
    assert made.digest != wide.digest
    assert narrowed(made) == (made, None)


@pytest.mark.parametrize(
    ("function", "t"),
    [(reductions.sum, I32), (reductions.sum, F32), (as_u64, I16), (reductions.prod, I8), (as_u64, I8),
     (reductions.any, BOOL), (squares, I8), (ones_elsewhere, U8), (both, U8)],
)  # fmt: skip
def test_sums_that_may_exceed_32_bits_stay_wide(function: Any, t: DType) -> None:
    """Sums of wide elements, of computed values, and of negative elements where the sum is unsigned."""
    wide = program(function, (t,))
    assert narrowed(wide) == (wide, None)


@pytest.mark.parametrize(("function", "t"), some([(f, t) for f, t, *_ in SERVED if t != F32], 5))
@given(data=st.data())
def test_the_results_are_those_of_64_bits(function: Any, t: DType, data: st.DataObject) -> None:
    x = data.draw(arrays(t.numpy, st.integers(1, 40)))
    wide: Program = program(function, (t,))
    for mine, theirs in zip(run(narrowed(wide)[0], x), run(wide, x), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("function", "t", "narrow", "most"), SERVED)
def test_no_sum_within_the_limit_exceeds_32_bits(function: Any, t: DType, narrow: DType, most: int) -> None:
    """A sum of one more element may."""
    counts = function is reductions.count_nonzero or t == BOOL
    extremes = (0, 1) if counts else (int(t.lowest), int(t.highest))
    assert all(narrow.lowest <= most * x <= narrow.highest for x in extremes)
    assert not all(narrow.lowest <= (most + 1) * x <= narrow.highest for x in extremes)


def odds(x: Any) -> Any:
    """The greatest of the odd elements and a number."""
    with leaving_out(cast(x, I32) % 2 == 0):
        return reductions.max(x, initial=1)


def little(x: Any) -> Any:
    """A user's own mask."""
    wide = cast(x, compute(x.dtype))
    low = int(wide.dtype.lowest)
    return maximum(fold(monoids.MAX, where(x < 100, where(x > 3, wide, low), low)), 0)


def least_of_none(x: Any) -> Any:
    """Without elements the result is a number that no byte is."""
    return fold(monoids.MAX, where(x > 3, cast(x, I32), int(I32.lowest)))


def begun_low(x: Any) -> Any:
    """Without elements the result is the initial value."""
    return fold(monoids.MAX, cast(x, I32), initial=-1000)


def counted(x: Any) -> Any:
    """A maximum of values computed from elements, possibly of none."""
    return fold(Monoid("counted", maximum, I32.lowest), cast(x, I32))


def asked_twice(x: Any) -> Any:
    """Once with an initial value, and once without."""
    greatest = counted(x)
    return maximum(greatest, 5), greatest


def doubled(x: Any) -> Any:
    return fold(monoids.MAX, cast(x, I32) * 2)


@covering(
    ("t", [I8, U8, I16, U16]),
    (
        ("function", "last"),
        [(reductions.max, "lowest"), (reductions.min, "highest"), (odds, "lowest"), (little, "lowest")],
    ),
)
@given(data=st.data())
def test_the_identity_becomes_the_last_value_of_the_narrow_type(
    function: Any, last: str, t: DType, data: st.DataObject
) -> None:
    """So elements are compared with it without widening; the state keeps its type, and results are equal."""
    wide = program(function, (t,))
    made, most = narrowed(wide)
    assert most is None
    assert made.monoid.state == wide.monoid.state
    assert made.monoid.identity == (getattr(t, last),)
    assert narrowed(made) == (made, None)
    x = data.draw(arrays(t.numpy, st.integers(1, 40)))
    for mine, theirs in zip(run(made, x), run(wide, x), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("function", "t"),
    [
        (reductions.max, I32),
        (reductions.max, F32),
        (reductions.max, F16),
        (counted, I8),
        (begun_low, I8),
        (asked_twice, I8),
        (doubled, I8),
    ],
)
def test_other_extremes_keep_their_state(function: Any, t: DType) -> None:
    """Of wide elements, of floats (their infinity is narrow), of computed values, and of possibly no elements."""
    wide = program(function, (t,))
    assert narrowed(wide) == (wide, None)
