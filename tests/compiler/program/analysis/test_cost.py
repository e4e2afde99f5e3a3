"""The cost of a combine: one for each operation, or the number of instructions that its code stands for."""

from __future__ import annotations

from typing import Any

import pytest
from tasks import WIDE, simple

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.program.analysis.cost import COST, operations


def cost(combine: Any, values: int = 1) -> int:
    return operations(wf.monoid(identity=(0,) * values if values > 1 else 0)(combine).typed(*[F32] * values))


def test_every_operation_counts_once() -> None:
    assert cost(lambda a, b: a + b) == 1
    assert cost(lambda a, b: a * b + a) == 2
    assert cost(lambda a, b: (a[0] + b[0], wf.maximum(a[1], b[1])), 2) == 2
    assert operations(simple("powers", (4, 4), (0,)).monoid) == WIDE


def test_operations_shared_by_two_values_count_once() -> None:
    def combine(a: Any, b: Any) -> Any:
        both = a[0] + b[0]
        return both, both * a[1]

    assert cost(combine, 2) == 2


def test_a_combine_that_only_picks_a_value_counts_as_one() -> None:
    assert cost(lambda a, _: a) == 1


@pytest.mark.parametrize("name", sorted(name for name in COST if hasattr(wf, name)))
def test_operations_of_several_instructions_count_their_instructions(name: str) -> None:
    function = getattr(wf, name)
    more = (1.0,) * (name == "atan2")
    assert cost(lambda a, b: function(a + b, *more)) == 1 + COST[name]


def test_a_division_counts_as_several() -> None:
    assert cost(lambda a, b: a / b) == COST["div"] > 1
