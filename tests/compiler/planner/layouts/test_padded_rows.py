"""Padded rows: which middle axes are read so, by what accesses, and which requests are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tasks import simple

from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.arithmetic import INTEGERS
from warpfold.compiler.plan.layout import layout_of
from warpfold.compiler.planner.choose import Choice, choose
from warpfold.compiler.planner.layouts.padded_rows import ADDED, FEW_ELEMENTS, OTHERS, TRUTHS, WARPS_OF_FEW, Padding
from warpfold.compiler.planner.table import Table
from warpfold.compiler.planner.task import Task
from warpfold.compiler.program.rewrites.narrowing import narrowed
from warpfold.compiler.space.geometry import collapse
from warpfold.compiler.target import WARP

RESULTS = 1 << 23
"""Results of a task: threads with sixteen each fill the machine."""


def task(what: str, t: str, rows: int, columns: int) -> Task:
    found = simple(what, (RESULTS // columns, rows, columns), (1,), t)
    return replace(found, program=narrowed(found.program)[0])


def chosen(what: str, t: str, rows: int, columns: int) -> Choice:
    return choose(task(what, t, rows, columns))


def next_odd(columns: int) -> int:
    return columns | 1


CLASSES = [
    ("any", "bool", TRUTHS), ("all", "i8", TRUTHS), ("sum", "i8", ADDED), ("max", "i8", OTHERS[1]),
    ("sum", "bf16", OTHERS[2]), ("max", "f16", OTHERS[2]), ("sum", "f32", OTHERS[4]),
]  # fmt: skip


@pytest.mark.parametrize(("what", "t", "table"), CLASSES)
def test_rows_of_each_class_get_its_accesses(what: str, t: str, table: Table[Padding]) -> None:
    least = 2
    for most, padding in table.rows:
        for elements in (least, int(most)):
            if padding.multiple == 1:
                assert chosen(what, t, elements, 2001).plan.walk != "padded"
                continue
            columns = next_odd(max(padding.columns, 40))
            plan = chosen(what, t, elements, columns).plan
            assert (plan.walk, plan.vector, plan.unroll) == ("padded", padding.vector, padding.unroll)
            warps = WARPS_OF_FEW if elements <= FEW_ELEMENTS else 8
            assert (plan.positions, plan.finish, plan.threads) == (1, "cta", warps * WARP)
            assert chosen(what, t, elements, padding.columns - 1 - padding.columns % 2).plan.walk != "padded"
            whole = -(-columns // padding.multiple) * padding.multiple
            assert chosen(what, t, elements, whole).plan.walk != "padded"
        least = int(most) + 1
    assert chosen(what, t, least, 2001).plan.walk != "padded"


def test_threads_are_counted_through_padded_rows() -> None:
    choice = chosen("any", "bool", 4, 1001)
    places = layout_of(choice.plan).rows.places(1001, INTEGERS)
    assert places == 1024  # up to 15 places before the row, and the rest of the last access
    assert choice.run.tiles == -(-(RESULTS // 1001) * 1024 // choice.plan.slots)
    assert (choice.facts.access, choice.facts.by_row, choice.facts.store_vector) == (("unaligned",), True, True)
    words = "\n".join(choice.reasons)
    assert "a thread has up to 16 results of one of the rows of 1001, from a boundary of theirs on" in words
    assert ("walk=interleaved", "rows of results begin anywhere, and would be written one by one") in choice.rejected


def test_expensive_combines_and_other_layouts_are_not_padded() -> None:
    for what, t in (("var", "bf16"), ("argmax", "bf16"), ("logsumexp", "bf16"), ("sum", "f64"), ("sum", "i16")):
        assert chosen(what, t, 8, 2001).plan.walk != "padded", what
    few = simple("any", (100, 4, 1001), (1,), "bool")
    assert choose(few).plan.walk != "padded"
    portable = replace(task("any", "bool", 4, 1001), determinism="portable")
    assert choose(portable).plan.walk != "padded"
    assert choose(simple("any", (4, RESULTS + 1), (0,), "bool")).plan.walk == "interleaved"


def test_results_that_are_not_side_by_side_are_not_stored_together() -> None:
    shape = (RESULTS // 1001, 4, 1001)
    spread = collapse(shape, (1,), ((4004, 1001, 1),), [(2002, 2)])
    assert choose(replace(task("any", "bool", 4, 1001), geometry=spread)).plan.walk != "padded"
    short = collapse(shape, (1,), ((1040, 16, 1),), [(1001, 1)])
    assert choose(replace(task("any", "bool", 4, 1001), geometry=short)).plan.walk != "padded"


def test_padded_rows_on_request_have_all_they_need() -> None:
    small = simple("sum", (3, 5, 37), (1,), "f16")
    choice = choose(small, "walk=padded")
    assert (choice.plan.vector, choice.plan.warps_kept, choice.plan.finish) == (8, 8, "cta")
    assert choose(small, "walk=padded,vector=4,unroll=2,warps_kept=1").plan.slots == 128
    with pytest.raises(PlanError, match=r"(?s)WF416: walk=padded does not fit .*several kept dims, one result"):
        choose(simple("sum", (5, 40), (0,), "f16"), "walk=padded")
    with pytest.raises(PlanError, match=r"(?s)WF415: .*help: .*finish=cta"):
        choose(small, "walk=padded,finish=last_block")
    with pytest.raises(PlanError, match="WF421"):
        choose(small, "walk=padded,vector=16")
