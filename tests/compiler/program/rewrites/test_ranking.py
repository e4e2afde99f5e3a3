"""argmin and argmax in 32 bits: which programs have them, and that results are those of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering
from graph_numpy import run
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import warpfold as wf
from warpfold.compiler.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, DType
from warpfold.compiler.program.fold import fold, index
from warpfold.compiler.program.functions import bitcast
from warpfold.compiler.program.graph import Program
from warpfold.compiler.program.library import extremes, monoids, reductions
from warpfold.compiler.program.rewrites.narrowing import narrowed
from warpfold.compiler.program.tracing import trace
from warpfold.compiler.program.values import cast

MOST = {BOOL: 1 << 24, I8: 1 << 24, U8: 1 << 24, I16: 1 << 16, U16: 1 << 16, BF16: 1 << 16}
"""Elements of a result that leave room for their numbers, by their type."""
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-40, -1e-40]


def program(function: Any, t: DType) -> Program:
    """A program for so few elements that their numbers fit in 32-bit words."""
    return trace(function, (t,), {}, wide=False).program


def of_doubles(x: Any) -> Any:
    return reductions.argmax(cast(x, I16) * 2)


def least_word(x: Any) -> Any:
    """Words like those of ``argmin``, but with a lower half that is not an element's number."""
    return fold(extremes.RANKED, cast(cast(x, I32), I64) << 32 | cast(cast(x, I32), I64))


def turned_bits(x: Any) -> Any:
    """A word as ``argmin`` makes it of a bf16, but with other low bits."""
    return fold(
        extremes.RANKED, cast(bitcast(0.0 - cast(x, F32), I32) ^ 5, I64) << 32 | cast(bitcast(index(), U32), I64)
    )


def turned_integer(x: Any) -> Any:
    """The bits of an integer, other ones than of its rank."""
    return fold(extremes.RANKED, cast(cast(x, I32) ^ 5, I64) << 32 | cast(bitcast(index(), U32), I64))


def lost_number_of_integers(x: Any) -> Any:
    number = cast(bitcast(cast(index(), I8), U8), U32)
    return fold(extremes.RANKED, cast(cast(x, I32), I64) << 32 | cast(number, I64))


@pytest.mark.parametrize(("function", "t"), [(turned_bits, BF16), (turned_integer, I8), (lost_number_of_integers, I8)])
def test_a_users_own_words_keep_their_bits(function: Any, t: DType) -> None:
    wide = program(function, t)
    x = np.random.default_rng(0).integers(-100, 100, 300).astype(t.numpy)
    x[290] = -128
    for mine, theirs in zip(run(narrowed(wide)[0], x), run(wide, x), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("function", [reductions.argmin, reductions.argmax])
@pytest.mark.parametrize("t", MOST)
def test_narrow_elements_and_their_numbers_are_32_bits(function: Any, t: DType) -> None:
    wide = program(function, t)
    made, most = narrowed(wide)
    assert (made.monoid.state, most) == ((I32,), MOST[t])
    assert [o.dtype for o in made.outputs] == [I64]
    assert narrowed(made) == (made, None)


@pytest.mark.parametrize(
    ("function", "t"), [(reductions.argmax, F16), (reductions.argmax, F32), (reductions.argmin, I32),
                        (reductions.argmin, F64), (least_word, I8)],
)  # fmt: skip
def test_words_that_exceed_32_bits_stay_wide(function: Any, t: DType) -> None:
    wide = program(function, t)
    assert narrowed(wide) == (wide, None)


def test_computed_values_are_ranked_by_their_own_type() -> None:
    assert narrowed(program(of_doubles, I8))[1] == MOST[I16]


@covering(("function", [reductions.argmin, reductions.argmax, of_doubles, extremes.extreme]), ("t", MOST))
@given(data=st.data())
def test_the_results_are_those_of_64_bits(function: Any, t: DType, data: st.DataObject) -> None:
    if function is of_doubles and t == BF16:
        return
    if function is extremes.extreme:
        function = lambda x: extremes.extreme(x, monoids.ARGMAX)  # noqa: E731
    some = st.sampled_from(SPECIAL) if t == BF16 else None
    x = data.draw(arrays(np.float32 if t == BF16 else t.numpy, st.integers(1, 40), elements=some)).astype(t.numpy)
    wide = program(function, t)
    made, most = narrowed(wide)
    assert most
    for mine, theirs in zip(run(made, x), run(wide, x), strict=True):
        np.testing.assert_array_equal(np.float64(mine), np.float64(theirs))


@pytest.mark.parametrize("t", [U16, BF16])
@pytest.mark.parametrize("length", [1 << 16, (1 << 16) + 1])
def test_the_last_element_within_the_limit_is_found(t: DType, length: int) -> None:
    """With more elements the words are wide again."""
    x = np.ones(length, t.numpy)
    x[-1] = 2
    assert wf.argmax(x, device="emulator") == length - 1
    x[-1] = 0
    assert wf.argmin(x, device="emulator") == length - 1
    assert wf.argmax(x, device="emulator") == 0


def test_the_first_of_elements_equal_to_the_padding_is_found() -> None:
    x = np.full((3, 5), -128, np.int8)
    np.testing.assert_array_equal(wf.argmax(x, axis=1, device="emulator"), [0, 0, 0])
    np.testing.assert_array_equal(wf.argmin(~x, axis=1, device="emulator"), [0, 0, 0])
