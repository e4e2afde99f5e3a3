"""The postorder of values that are made of others."""

from __future__ import annotations

from warpfold.compiler.postorder import postorder

OPERANDS = {"a": [], "b": ["a", "a"], "c": ["b", "a"], "d": ["c", "b"], "e": ["a"]}


def test_operands_come_before_users_and_each_value_once() -> None:
    assert list(postorder(["d", "e", "c"], OPERANDS.__getitem__)) == ["a", "b", "c", "d", "e"]


def test_operands_keep_their_order() -> None:
    operands = {"sum": ["left", "right"], "left": [], "right": []}
    assert list(postorder(["sum"], operands.__getitem__)) == ["left", "right", "sum"]


def test_known_values_are_not_visited_even_if_they_become_known_on_the_way() -> None:
    assert list(postorder(["d", "e"], OPERANDS.__getitem__, {"b"})) == ["a", "c", "d", "e"]
    known = set[str]()
    for v in postorder(["c", "d"], OPERANDS.__getitem__, known):
        assert v != "d"
        known |= {v, "d"}


def test_many_levels_of_values_used_twice() -> None:
    """2^5000 paths, and deeper than Python's stack."""
    assert list(postorder([5000], lambda n: [n - 1, n - 1] if n else [])) == list(range(5001))
