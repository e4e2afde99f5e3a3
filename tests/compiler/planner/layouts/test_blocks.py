"""Whole rows: which rows are read so, how many results a thread has, and which requests are refused."""

from __future__ import annotations

from dataclasses import replace
from math import lcm

import pytest
from tasks import simple

from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.choose import Choice, choose
from warpfold.compiler.planner.layouts.blocks import HEAVY, LINE_FILLING_BYTES, MOST_BYTES, OTHERS, TRUTHS, Worth
from warpfold.compiler.planner.task import Task
from warpfold.compiler.program.rewrites.narrowing import narrowed

MANY = 1 << 22
"""Elements of a large array."""


def task(what: str, t: str, elements: int, columns: int = 1) -> Task:
    shape = (MANY // elements, elements, columns) if columns > 1 else (MANY // elements + 1, elements)
    found = simple(what, shape, (1,), t)
    return replace(found, program=narrowed(found.program)[0])


def chosen(what: str, t: str, elements: int, columns: int = 1) -> Choice:
    return choose(task(what, t, elements, columns))


CLASSES = [
    ("any", "bool", TRUTHS), ("all", "i8", TRUTHS), ("max", "i8", OTHERS[1]), ("sum", "bf16", OTHERS[2]),
    ("sum", "f32", OTHERS[4]), ("sum", "f64", OTHERS[8]), ("var", "bf16", HEAVY[2]), ("var", "f32", HEAVY[4]),
    ("logsumexp", "f64", HEAVY[8]),
]  # fmt: skip


@pytest.mark.parametrize(("what", "t", "rows"), CLASSES)
def test_rows_of_each_class_are_read_whole_up_to_its_bounds(what: str, t: str, rows: Worth) -> None:
    served = []
    for elements in range(2, 40):
        found = task(what, t, elements)
        plan = choose(found).plan
        nbytes = plan.vector * elements * found.itemsize
        if plan.walk == "whole":
            served.append(elements)
            assert nbytes % 16 == 0
            assert nbytes <= MOST_BYTES
            assert nbytes <= rows.nbytes or elements <= rows.elements
            assert nbytes <= LINE_FILLING_BYTES or plan.vector == 2 or plan.vector * elements * found.itemsize // 2 % 16
            assert (plan.positions, plan.finish, plan.unroll) == (1, "cta", 1)
    assert served[0] == 2
    item = task(what, t, 2).itemsize
    assert {n for n in range(2, rows.elements + 1) if lcm(16, n * item) <= MOST_BYTES} <= set(served)


def test_blocks_are_read_whole_where_their_columns_are_a_power_of_two() -> None:
    for what, t in (("any", "bool"), ("max", "i8"), ("sum", "i8"), ("sum", "bf16"), ("sum", "f32")):
        assert chosen(what, t, 16, 2).plan.walk == "whole", (what, t)
        assert chosen(what, t, 16, 3).plan.walk != "whole", (what, t)
    choice = chosen("any", "bool", 4, 4)
    assert (choice.plan.vector, choice.facts.block, choice.facts.store_vector) == (8, (4, 4), True)
    assert "a thread reads all 4 elements of 8 results at once: they lie side by side" in choice.reasons


def test_sums_of_bytes_are_not_read_whole() -> None:
    assert chosen("sum", "i8", 3).plan.walk != "whole"
    assert chosen("sum", "i8", 8, 2).plan.walk != "whole"


def test_results_whose_states_fill_the_registers_are_not_read_whole() -> None:
    """Bytes, of which sixteen results fill accesses."""
    for elements in (2, 3, 5, 9):
        assert chosen("var", "i8", elements).plan.walk != "whole", elements
    for elements in (4, 6, 8, 10):
        plan = chosen("var", "i8", elements).plan
        assert (plan.walk, plan.vector <= 8) == ("whole", True), elements


def test_what_is_read_otherwise() -> None:
    few = simple("any", (1000, 3), (1,), "bool")
    assert choose(few).plan.walk != "whole"
    found = task("any", "bool", 3)
    assert choose(replace(found, determinism="portable")).plan.walk != "whole"
    assert choose(replace(found, addresses=(8, 0))).plan.walk != "whole"
    (kept,), (reduced,) = found.geometry.kept, found.geometry.reduced
    gaps = replace(found.geometry, kept=(kept._replace(strides=(4, 1)),), reduced=(reduced,))
    assert choose(replace(found, geometry=gaps)).plan.walk != "whole"
    assert chosen("argmax", "bf16", 3).plan.walk != "whole"


def test_whole_rows_on_request() -> None:
    small = simple("sum", (100, 6), (1,), "f32")
    assert choose(small, "walk=whole").plan.vector == 2
    assert choose(small, "walk=whole,vector=4,warps_kept=1").plan.slots == 128
    for options, code in (
        ("walk=whole,vector=1", "WF415"), ("walk=whole,finish=last_block", "WF415"), ("walk=whole,unroll=2", "WF415"),
        ("walk=whole,vector=8", "WF421"),
    ):  # fmt: skip
        with pytest.raises(PlanError, match=code):
            choose(small, options)
    with pytest.raises(PlanError, match=r"(?s)WF416: walk=whole does not fit .*a number of results without repetition"):
        choose(simple("sum", (100, 7), (0,), "f32"), "walk=whole")
    with pytest.raises(PlanError, match="WF416"):
        choose(simple("sum", (100, 5), (1,), "f32"), "walk=whole,vector=2")  # 40 bytes
