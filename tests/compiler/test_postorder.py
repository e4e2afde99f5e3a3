"""The order in which values that are made of others are looked at."""

from __future__ import annotations

from warpfold.compiler.postorder import postorder

OPERANDS = {"a": [], "b": ["a", "a"], "c": ["b", "a"], "d": ["c", "b"], "e": ["a"]}


def test_operands_come_before_users_and_each_value_once() -> None:
    assert list(postorder(["d", "e", "c"], OPERANDS.__getitem__)) == ["a", "b", "c", "d", "e"]


def test_operands_come_in_their_order() -> None:
    operands = {"sum": ["left", "right"], "left": [], "right": []}
    assert list(postorder(["sum"], operands.__getitem__)) == ["left", "right", "sum"]


def test_what_is_known_is_not_looked_into_even_if_it_becomes_so_on_the_way() -> None:
    assert list(postorder(["d", "e"], OPERANDS.__getitem__, {"b"})) == ["a", "c", "d", "e"]
    known = set[str]()
    for v in postorder(["c", "d"], OPERANDS.__getitem__, known):
        assert v != "d"
        known |= {v, "d"}


def test_values_that_are_used_twice_at_each_of_many_levels() -> None:
    """2^5000 paths, and deeper than Python's stack."""
    assert list(postorder([5000], lambda n: [n - 1, n - 1] if n else [])) == list(range(5001))
