"""Semigroups: which constants may pad, and the identity that is added where none does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler.dtypes import BOOL, F32, F64, I8, I32, I64, U8, DType
from warpfold.compiler.program.functions import isnan, maximum, minimum, where
from warpfold.compiler.program.graph import MonoidGraph
from warpfold.compiler.program.library import extremes, monoids
from warpfold.compiler.program.monoid import Monoid, monoid
from warpfold.compiler.program.numeric import combine
from warpfold.compiler.program.rewrites.semigroup import _representatives, adjoined, neutral

INF = float("inf")


def semigroup(function: Any, identity: Any = None) -> Monoid:
    return monoid(identity=identity, commutative=False, has_identity=False)(function)


def larger(a: Any, b: Any) -> Any:
    """The greater value and its place; NaN is greatest, and the first of equals wins."""
    (x, i), (y, j) = a, b
    left = where((x == y) | (isnan(x) & isnan(y)), i < j, (x > y) | isnan(x))
    return where(left, x, y), where(left, i, j)


NEUTRAL = [
    (monoids.MIN, (I32,)), (monoids.MAX, (F32,)), (monoids.MAX, (BOOL,)), (extremes.RANKED, (I64,)),
    (monoids.ARGMIN, (F64, I64)), (monoids.ARGMAX, (I32, I32)), (monoids.ARGMIN, (U8, I64)),
    (semigroup(maximum, 0), (U8,)),
    (semigroup(lambda a, b: where(a < b, a, b), I32.highest), (I32,)),
    (semigroup(lambda a, b: (minimum(a[0], b[0]), maximum(a[1], b[1])), (255, 0)), (U8, U8)),
    (semigroup(larger, (-INF, I32.highest)), (F32, I32)),
]  # fmt: skip
NOT_NEUTRAL = [
    (semigroup(maximum, 0), (I32,)),
    (semigroup(maximum, -1e30), (F32,)),
    (semigroup(lambda a, _: a), (I32,)),
    (semigroup(lambda _, b: b, 5), (I8,)),
    (semigroup(lambda a, b: where(a < b, a, b), INF), (F32,)),  # combine(NaN, inf) is inf
    (semigroup(larger, (-1.0, I32.highest)), (F32, I32)),
    (semigroup(lambda a, b: a * b * 3, 1), (I32,)),
    (semigroup(lambda a, b: where(a == 41, a, b), 41), (I32,)),  # a constant of the combine's own
]  # fmt: skip


@pytest.mark.parametrize(("m", "state"), NEUTRAL)
def test_a_constant_that_is_neutral_beside_every_state_is_found(m: Monoid, state: tuple[DType, ...]) -> None:
    assert neutral(m.typed(*state))


@pytest.mark.parametrize(("m", "state"), NOT_NEUTRAL)
def test_a_constant_that_changes_some_state_is_not_found(m: Monoid, state: tuple[DType, ...]) -> None:
    assert not neutral(m.typed(*state))


def test_a_combine_with_many_comparisons_is_searched_in_bounded_time() -> None:
    first = semigroup(lambda a, b: tuple(where(x < y, x, y) for x, y in zip(a, b, strict=True)), (127,) * 12)
    assert not neutral(first.typed(*(I8,) * 12))


# --- adjoined identities ---
LAST = adjoined(semigroup(lambda _, b: b, 9).typed(I32))


def joined(graph: MonoidGraph, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    sides = [[np.array([v], t.numpy) for v, t in zip(s, graph.state, strict=True)] for s in (a, b)]
    return tuple(v[0].item() for v in combine(graph, *sides))


def test_the_state_says_whether_there_is_an_element() -> None:
    assert LAST.state == (BOOL, I32)
    assert LAST.identity == (False, 9)
    assert neutral(LAST) or not LAST.has_identity
    assert joined(LAST, (True, 1), (True, 2)) == (True, 2)
    assert joined(LAST, (True, 1), (False, 2)) == (True, 1)
    assert joined(LAST, (False, 1), (True, 2)) == (True, 2)
    assert joined(LAST, (False, 1), (False, 2))[0] is False


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(-5, 5)), min_size=3, max_size=3))
def test_an_associative_combine_stays_so(states: list[tuple[bool, int]]) -> None:
    a, b, c = states
    left, right = joined(LAST, joined(LAST, a, b), c), joined(LAST, a, joined(LAST, b, c))
    assert left[0] == right[0]
    assert left == right or not left[0]


@pytest.mark.parametrize("t", [I8, U8, I64])
def test_values_that_stand_for_a_type_are_of_the_type_and_differ(t: DType) -> None:
    """Also where constants lie beside each other or beside the ends."""
    known = {t.lowest + 1, t.highest - 1, 5, 6, 8}
    found = list(_representatives(t, known, 3))
    assert set(found) >= known | {t.lowest, t.highest}
    assert all(t.lowest <= v <= t.highest for v in found)
    assert len(set(found)) == len(found)
