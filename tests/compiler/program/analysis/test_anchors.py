"""Sums relative to an anchor, found in formulas: which combines have the form, and which only look like it."""

from __future__ import annotations

from typing import Any

import pytest

from warpfold.compiler.dtypes import F32, F64
from warpfold.compiler.program.analysis.anchors import sums_of
from warpfold.compiler.program.analysis.cost import COST, operations
from warpfold.compiler.program.analysis.formulas import Node
from warpfold.compiler.program.library.monoids import LOGSUMEXP, SUM, WELFORD


def read(v: Any) -> Node:
    """Nodes are tuples: an operation and its operands; parameters are numbers."""
    return Node("param", (), v) if isinstance(v, int) else Node(v[0], v[1:])


def combine(name: str) -> tuple[Any, ...]:
    """The formulas of a combine.

    Values of two states are numbered 0 and 1, then 2 and 3; of three, 0 to 2, then 3 to 5.
    """
    two, three = ("max", 0, 2), ("add", 0, 3)
    mean = ("add", ("mul", 1, ("div", 0, three)), ("mul", 4, ("div", 3, three)))
    return {
        "log-sum-exp": (two, ("add", ("mul", 1, ("exp", ("sub", 0, two))), ("mul", 3, ("exp", ("sub", 2, two))))),
        "the same by fma": (two, ("fma", 3, ("exp", ("sub", 2, two)), ("mul", 1, ("exp", ("sub", 0, two))))),
        "factors in any order": (two, ("add", ("mul", ("sub", 0, two), 1), ("mul", 3, ("sub", 2, two)))),
        "variance": (three, mean, ("add", _squares(0, mean), _squares(3, mean))),
        "plain sums": (("add", 0, 2), ("add", 1, 3)),
        "one value": (("add", 0, 1),),
        "a product": (("add", 0, 2), ("mul", 1, 3)),
        "composed functions": (("mul", 0, 2), ("add", ("mul", 0, 3), 1)),
        "unlike sides": (two, ("add", ("mul", 1, ("sub", 0, two)), ("mul", 3, ("add", 2, two)))),
        "a term for both": (two, ("add", ("add", ("mul", 1, two), ("mul", 3, two)), two)),
        "no factor of its own": (two, ("add", ("exp", ("sub", 0, two)), ("exp", ("sub", 2, two)))),
        "compensated": _compensated(),
    }[name]


def _squares(own: int, mean: Any) -> Any:
    """The squares of the state whose values begin with ``own``, relative to ``mean``."""
    far = ("sub", own + 1, mean)
    return ("fma", ("mul", own, far), far, own + 2)


def _compensated() -> tuple[Any, ...]:
    total = ("add", 0, 2)
    back = ("sub", total, 0)
    lost = ("add", ("sub", 0, ("sub", total, back)), ("sub", 2, back))
    return (total, ("add", ("add", 1, 3), lost))


@pytest.mark.parametrize(
    ("name", "sums"),
    [("log-sum-exp", {1: 1}), ("the same by fma", {1: 1}), ("factors in any order", {1: 1}), ("variance", {2: 2})],
)
def test_sums_and_the_number_of_their_terms(name: str, sums: dict[int, int]) -> None:
    found = sums_of(combine(name), read)
    assert {k: len(terms) for k, terms in found.items()} == sums


@pytest.mark.parametrize(
    "name",
    [
        "plain sums", "one value", "a product", "composed functions", "unlike sides", "a term for both",
        "no factor of its own", "compensated",
    ],
)  # fmt: skip
def test_combines_without_an_anchor(name: str) -> None:
    assert sums_of(combine(name), read) == {}


def test_terms_are_those_of_the_left_state() -> None:
    made = combine("log-sum-exp")
    assert sums_of(made, read)[1] == [(1, ("exp", ("sub", 0, made[0])))]


def test_an_element_of_log_sum_exp_costs_one_exponential() -> None:
    """The combine has two."""
    assert operations(LOGSUMEXP.typed(F32, F32)) == COST["exp2"] + 9
    assert operations(LOGSUMEXP.typed(F64, F64)) == COST["exp2"] + 12
    assert operations(SUM.typed(F32)) == 1
    assert operations(WELFORD.typed(F32, F32, F32)) == 17
