"""Sorted lists: the network that merges two, for every length, on integers of Python."""

from __future__ import annotations

import itertools
import random

import pytest

from warpfold.compiler.dtypes import I64
from warpfold.compiler.program.library.sorted_lists import SORTED, SORTED_PAIRS, _merged


@pytest.mark.parametrize("k", range(1, 17))
def test_the_network_sorts_ones_and_zeros(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the zero-one principle it then merges any two sorted lists."""
    monkeypatch.setattr("warpfold.compiler.program.library.sorted_lists.minimum", min)
    for m, n in itertools.product(range(k + 1), repeat=2):
        a, b = ([(int(i >= zeros),) for i in range(k)] for zeros in (m, n))
        assert _merged(a, b) == sorted(a + b)[:k]


def test_lists_of_distinct_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpfold.compiler.program.library.sorted_lists.minimum", min)
    numbers = random.Random(5).sample(range(1000), 26)
    a, b = (sorted((x,) for x in own) for own in (numbers[:13], numbers[13:]))
    assert _merged(a, b) == sorted(a + b)[:13]


@pytest.mark.parametrize("k", [1, 3])
def test_the_identity_is_a_list_behind_all_others(k: int) -> None:
    for m, n in ((SORTED, k), (SORTED_PAIRS, 2 * k)):
        assert m.typed(*[I64] * n).identity == (I64.highest,) * n
