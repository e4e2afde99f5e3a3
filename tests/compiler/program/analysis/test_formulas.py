"""The operands of a combine's values."""

from __future__ import annotations

from typing import Any

import pytest

from warpfold.compiler.program.analysis.formulas import Node, independent, needed, needs

COMBINE = (("add", 0, 3), ("add", 1, 4), ("add", ("mul", 0, 4), 5))
"""Of three values a side, 0 to 2, then 3 to 5."""


def read(v: Any) -> Node:
    """Nodes are tuples: an operation and its operands; parameters are numbers."""
    return Node("param", (), v) if isinstance(v, int) else Node(v[0], v[1:])


def test_a_value_depends_on_values_of_both_states() -> None:
    assert needs(COMBINE, read) == [{0}, {1}, {0, 1, 2}]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [({0, 1, 2}, {0, 1, 2}), ({0}, {0}), ({0, 2}, {0}), ({1, 2}, {1}), ({2}, set()), (set(), set())],
)
def test_a_value_is_independent_if_all_its_operands_are(asked: set[int], expected: set[int]) -> None:
    assert independent(COMBINE, asked, read) == expected


def test_operands_of_a_known_node_are_not_needed() -> None:
    anchor = ("max", 0, 2)
    exponential = ("exp", ("sub", 0, anchor))
    assert needed([anchor], set(), read) == {anchor}
    assert needed([1, exponential], {anchor}, read) == {exponential, exponential[1]}


def test_a_long_formula_takes_no_long_time() -> None:
    chain: list[Any] = [("add", 0, 1)]
    for _ in range(5000):
        chain.append(("neg", len(chain) + 1))
    assert needs([len(chain) + 1], lambda v: Node("param", (), v) if v < 2 else read(chain[v - 2])) == [{0}]
