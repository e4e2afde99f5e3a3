"""Plans of arrays that lie across each other: the block of a thread, by type and shape, and where there is none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Choice
from warpfold.compiler.program.graph import Program

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import operand, task_of


@wf.program
def added(x: Any, y: Any) -> Any:
    return x + y


@wf.program
def both(x: Any, y: Any) -> Any:
    return x + y, y.mT + x.mT


def choice_of(x: Any, y: Any, **how: Any) -> Choice:
    """The choice for the sum of two arrays."""
    (found,) = added._planned((x, y), how, "sm_90a").prepared.steps
    return found.prepared.choice


def across(*shape: int, t: str = "f4") -> tuple[Any, Any]:
    """An array of a shape, and one whose last two axes lie in turn."""
    *outer, rows, columns = shape
    return np.zeros(shape, t), np.zeros((*outer, columns, rows), t).mT


def copied(x: Any) -> Choice:
    """The choice for a copy of rows to an array whose axes lie in turn."""
    out = np.zeros(x.shape[::-1], x.dtype).T
    return choose(task_of(Program("copied", (F32,), ((operand(0) + 1).expr,)), [x, out], (0,)))


@pytest.mark.parametrize(
    ("t", "vector", "held", "warps"), [("f8", 2, 2, 2), ("f4", 4, 4, 2), ("f2", 8, 8, 2), ("i1", 4, 16, 1)]
)
def test_both_sides_of_a_block_are_wide(t: str, vector: int, held: int, warps: int) -> None:
    plan = choice_of(*across(1600, 1600, t=t)).plan
    assert (plan.fast, plan.walk, plan.vector, plan.held) == ("kept", "blocked", vector, held)
    assert (plan.lanes, plan.warps) == (8, warps)
    assert plan.warps_kept * plan.lanes_kept * plan.vector * np.dtype(t).itemsize == 256


def test_each_array_is_accessed_along_its_own_axis() -> None:
    x, y = across(3, 40, 80)
    facts = choice_of(x, y).facts
    assert (facts.access, facts.stores) == (("transposed", "aligned"), ("transposed",))


@pytest.mark.parametrize(("n", "held", "access"), [(3, 3, "whole"), (6, 6, "whole"), (8, 4, "transposed")])
def test_short_rows_are_read_as_a_whole(n: int, held: int, access: str) -> None:
    found = copied(np.zeros((64, n), "f4"))
    assert (found.plan.held, found.facts.access, found.facts.stores) == (held, (access,), ("aligned",))


def test_short_rows_with_gaps_are_no_run_of_memory() -> None:
    assert copied(np.zeros((64, 8), "f4")[:, :6]).facts.access == ("transposed",)
    assert copied(np.zeros((64, 4), "f4")[:, :3]).plan.walk == "interleaved"


@pytest.mark.parametrize(("n", "walk"), [(2, "blocked"), (4, "interleaved"), (28, "interleaved"), (32, "blocked")])
def test_short_rows_are_written_in_whole_sectors(n: int, walk: str) -> None:
    assert choice_of(*across(64, n)).plan.walk == walk


@pytest.mark.parametrize(
    ("shape", "t", "vector", "slots", "rows"),
    [
        ((4097, 4097), "f4", 4, 128, 64),
        ((97, 97), "f4", 4, 128, 8),
        ((4097, 4097), "f8", 2, 128, 32),
        ((4097, 4097), "f2", 8, 256, 64),
        ((500, 97, 297), "f2", 8, 256, 64),
        ((500, 297, 97), "f2", 8, 128, 64),
        ((4097, 4097), "i1", 16, 256, 64),
    ],
)
def test_rows_and_columns_that_begin_anywhere_are_exchanged_by_ctas(
    shape: tuple[int, ...], t: str, vector: int, slots: int, rows: int
) -> None:
    found = choice_of(*across(*shape, t=t))
    assert (found.plan.walk, found.plan.resident, found.plan.vector) == ("blocked", "shared", vector)
    assert set(found.facts.access) == {"exchanged", *found.facts.stores}
    assert (found.plan.slots, found.plan.positions * found.plan.held) == (slots, rows)
    assert found.plan.positions % (2 * vector) == 0, "rows of a thread begin equally far after a boundary"
    assert found.facts.by_row == (len(shape) > 2)


@pytest.mark.parametrize(("n", "access", "ctas"), [(256, "aligned", 1), (257, "shifted", 2), (255, "shifted", 2)])
def test_columns_begin_early_where_rows_begin_between_sectors(n: int, access: str, ctas: int) -> None:
    x, y = np.zeros((n, 66), "f2").T, np.zeros((66, n), "f2")
    found = choice_of(y, x)
    assert (found.facts.access, found.facts.stores) == ((access, "exchanged"), (access,))
    assert found.run.tiles == ctas


@pytest.mark.parametrize(
    ("shape", "walk"), [((97, 63), "interleaved"), ((63, 97), "interleaved"), ((96, 64), "blocked")]
)
def test_short_rows_and_columns_are_not_exchanged(shape: tuple[int, ...], walk: str) -> None:
    found = choice_of(*across(*shape)).plan
    assert (found.walk, found.resident) == (walk, "registers")


def test_results_that_lie_across_are_not_exchanged() -> None:
    x, y = across(97, 97)
    (found,) = both._planned((x, y), {}, "sm_90a").prepared.steps
    assert found.prepared.choice.plan.resident == "registers"


def test_what_a_portable_plan_may_not_know() -> None:
    assert choice_of(*across(96, 96), determinism="portable").plan.walk == "interleaved"


@pytest.mark.parametrize("plan", ["walk=interleaved", "held=3", "vector=1", "fast=reduced"])
def test_other_plans_can_be_asked_for(plan: str) -> None:
    assert choice_of(*across(96, 96), plan=plan).plan.walk == "interleaved"


def test_blocks_are_refused_where_no_array_lies_across() -> None:
    x = np.zeros((96, 96), "f4")
    with pytest.raises(wf.WarpfoldError, match=r"WF425: .*: walk=blocked is for other programs"):
        choice_of(x, x, plan="walk=blocked")
