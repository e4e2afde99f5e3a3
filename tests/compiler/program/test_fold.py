"""Masks, initial values, counts and positions of folds, for any monoid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from graph_numpy import call, results
from hypothesis import given, settings
from hypothesis import strategies as st
from tasks import AFFINE

from warpfold.compiler.dtypes import BOOL, C64, F8E5M2, F32, F64, I8, I32, I64, dtype
from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.fold import Scope, count, fold, index, leaving_out, not_a_number, scope
from warpfold.compiler.program.functions import where
from warpfold.compiler.program.graph import walk
from warpfold.compiler.program.library import monoids, reductions
from warpfold.compiler.program.monoid import monoid
from warpfold.compiler.program.symbols import Sym
from warpfold.compiler.program.tracing import program, trace

NO_VALUE = ("min", "max", "minmax", "ptp", "argmin", "argmax", "describe")
TWO = ("dot", "vecdot", "allclose", "array_equal")


@monoid(identity=(0, -1, -1), commutative=False)
def ENDS(a: Any, b: Any) -> Any:  # noqa: N802 - a monoid is a value
    """The number of elements, the first and the last."""
    (n, x, y), (m, u, v) = a, b
    return n + m, where(n == 0, u, x), where(m == 0, y, v)


def ends(x: Any) -> Any:
    return fold(ENDS, 1, x, x)


# --- masks ---
@pytest.mark.parametrize("name", sorted(set(reductions.FUNCTIONS) - set(NO_VALUE)))
@settings(max_examples=15)
@given(pairs=st.lists(st.tuples(st.integers(-9, 9), st.booleans()), max_size=12))
def test_a_masked_reduction_is_a_reduction_of_the_chosen_elements(name: str, pairs: list[tuple[int, bool]]) -> None:
    x, mask = np.array([float(p[0]) for p in pairs]), np.array([p[1] for p in pairs], bool)
    if name.startswith("nan") and name not in ("nansum", "nanprod", "nanmean"):
        return  # as min, max and where they are
    arrays = (x, x[::-1]) if name in TWO else (x,)
    function = reductions.FUNCTIONS[name]
    found = call(function, *arrays, where=mask)
    expected = call(function, *(a[mask] for a in arrays))
    for f, e in zip(np.atleast_1d(np.array(found)), np.atleast_1d(np.array(expected)), strict=True):
        assert np.allclose(f, e, rtol=1e-12, atol=1e-12, equal_nan=True)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-9, 9), st.booleans()), max_size=20))
def test_a_mask_keeps_the_order_of_a_users_monoid(pairs: list[tuple[int, bool]]) -> None:
    x, mask = np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], bool)
    chosen = x[mask]
    n, first, last = call(ends, x, where=mask)
    assert (n, first, last) == ((chosen.size, chosen[0], chosen[-1]) if chosen.size else (0, -1, -1))


@pytest.mark.parametrize("name", NO_VALUE)
def test_a_mask_may_leave_nothing_for_a_semigroup(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"WF133: {name} has no identity: where= may leave a result"):
        trace(reductions.FUNCTIONS[name], (F32, BOOL), {}, masked=True)


@pytest.mark.parametrize("mask", [[True, False, True], [False] * 3])
def test_an_initial_value_stands_for_the_identity(mask: list[bool]) -> None:
    x = np.array([5.0, 1.0, 4.0])
    assert call(reductions.min, x, where=mask, initial=9) == (4 if any(mask) else 9)
    assert call(reductions.max, x, where=mask, initial=-9) == (5 if any(mask) else -9)
    assert call(reductions.nanmin, np.array([math.nan, 1.0, 4.0]), where=mask, initial=9) == (4 if any(mask) else 9)


def test_ignoring_nan_and_a_mask_leave_out_both() -> None:
    x, mask = np.array([1.0, math.nan, 4.0, 8.0]), np.array([True, True, False, True])
    assert call(reductions.sum, x, where=mask, nan="ignore") == 9
    assert call(reductions.mean, x, where=mask, nan="ignore") == 4.5
    assert np.isnan(call(reductions.sum, x, where=mask))
    assert call(reductions.sum, x, where=~np.isnan(x)) == 13


def test_a_nan_in_any_input_or_part_leaves_the_element_out() -> None:
    x, y = np.array([1.0, math.nan, 2.0, 3.0]), np.array([1.0, 1.0, math.nan, 3.0])
    assert call(reductions.dot, x, y, nan="ignore") == 10
    assert call(reductions.sum, x + 1j * np.array([0, 0, math.nan, 1]), nan="ignore") == 4 + 1j
    assert call(reductions.dot, x, np.arange(4), nan="ignore") == 13
    assert not_a_number([Sym(symbol) for symbol in ()]) is None


def test_nan_raises_only_where_it_takes_part() -> None:
    x = np.array([1.0, math.nan], np.float32)
    found = trace(reductions.sum, (F32, BOOL), {}, masked=True, nan="raise")
    assert found.checks == ("WF135",)
    for mask, failed in (([True, True], True), ([True, False], False), ([False, False], False)):
        assert results(found, x, np.array(mask))[1] == (failed,)
    assert trace(reductions.sum, (I32,), {}, nan="raise").checks == (), "integers hold none"


def test_an_extremum_of_ignored_elements_alone() -> None:
    """Floats have NaN for it; other states are checked."""
    x = np.full(3, math.nan)
    assert np.isnan(call(reductions.max, x, nan="ignore"))
    low, high = call(reductions.minmax, x, nan="ignore")
    assert np.isnan(low)
    assert np.isnan(high)
    assert trace(reductions.argmax, (F64,), {}, nan="ignore").checks == ("WF134",)


def test_a_word_of_no_element_needs_no_count_beside_it() -> None:
    alone = trace(reductions.argmax, (F32,), {}, wide=False).program
    ignoring = trace(reductions.argmax, (F32,), {}, wide=False, nan="ignore").program
    assert ignoring.monoid.state == alone.monoid.state == (I64,)


def test_a_mask_that_a_context_ends_is_located_in_our_line_not_in_pythons() -> None:
    args = trace(reductions.FUNCTIONS["nanargmax"], (F32,), {}).program.reduces[0].args
    assert all("contextlib" not in e.where.file for e in walk(args) if e.where)


# --- initial values ---
@pytest.mark.parametrize("xs", [[], [(2, 3)], [(2, 3), (5, -1), (1, 4)]])
def test_an_initial_state_of_several_values_is_combined_on_the_left(xs: list[tuple[int, int]]) -> None:
    s, t = (np.array([x[i] for x in xs], np.int64) for i in range(2))
    expected = (7, 2)
    for x in xs:
        expected = AFFINE(expected, x)
    assert call(lambda s, t: fold(AFFINE, s, t, initial=(7, 2)), s, t) == expected


@pytest.mark.parametrize("initial", [3, (1,), (1, 2, 3), ()])
def test_an_initial_state_has_as_many_values_as_the_state(initial: Any) -> None:
    with pytest.raises(ArgumentError, match=r"WF136: initial=.* does not fit AFFINE: expected 2 value\(s\)"):
        program(lambda x: fold(AFFINE, x, x, initial=initial), (F32,))


def test_initial_values_may_be_numpys_numbers() -> None:
    x = np.array([1, 2], np.int8)
    assert call(reductions.sum, x, initial=np.int64(4)) == 7
    assert call(reductions.sum, x.astype(np.complex64), initial=np.complex64(1j)) == 3 + 1j
    assert call(reductions.max, x, initial=True) == 2


# --- counts and positions ---
def test_a_count_is_of_the_elements_that_take_part() -> None:
    x = np.array([1.0, math.nan, 3.0])
    for t in ("i64", "int8", "f32", "float16", "u64"):
        found = call(lambda x: (fold(monoids.SUM, x), count(t)), x, nan="ignore")  # noqa: B023
        assert (found[1], found[1].dtype) == (2, dtype(t).numpy)
        assert call(lambda x: (fold(monoids.SUM, x), count(t)), x)[1] == 3  # noqa: B023
        assert call(lambda x: (fold(monoids.SUM, x), count(t)), x, where=x < 2)[1] == 1  # noqa: B023
    assert call(lambda x: fold(monoids.SUM, x) + count(C64), np.array([1, 2])) == 5
    assert call(lambda x: (fold(monoids.SUM, x), count(bool)), np.array([1, 2]))[1].dtype == np.bool_


@pytest.mark.parametrize("wide", [False, True])
def test_positions_have_the_type_that_is_asked_for(wide: bool) -> None:
    with scope(Scope(wide)):
        assert index().dtype == (I64 if wide else I32)
        for t in ("int8", "u64", "f32", "bool", "bf16"):
            assert index(t).dtype == dtype(t)
    assert call(lambda x: fold(monoids.SUM, x * index("f64")), np.array([5.0, 3.0, 2.0])) == 7
    assert call(lambda x: fold(monoids.SUM, x * index()), np.array([5.0, 3.0, 2.0]), where=[True, False, True]) == 4


@pytest.mark.parametrize("function", [index, count])
def test_nothing_is_counted_in_8_bit_floats(function: Any) -> None:
    with pytest.raises(TraceError, match=r"WF206: operator cast is not defined for f8e5m2"):
        function(F8E5M2)


# --- scopes ---
def test_a_scope_ends_with_its_block() -> None:
    element = Sym(program(reductions.sum, (BOOL,)).reduces[0].args[0].args[0])
    with scope(Scope(wide=False)) as outer:
        with leaving_out(element), leaving_out(element):
            assert index().dtype == I32, "leaving elements out changes nothing else"
        with leaving_out(None):
            assert outer.mask is None
        assert count(I64).expr.op == "count"
    assert index().dtype == I64


def test_a_fold_of_numbers_alone_counts() -> None:
    assert call(lambda x: fold(monoids.SUM, 1) + fold(monoids.SUM, x) * 0, np.zeros(5, np.int64)) == 5
    assert call(lambda x: fold(monoids.SUM, 2), np.zeros(5), where=[True, False, True, False, True]) == 6  # noqa: ARG005
    assert program(lambda x: fold(monoids.SUM, x + 1, initial=1), (I8,)).outputs[0].dtype == I8
