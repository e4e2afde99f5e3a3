"""Which layouts get staggered warps, and where staggered warps are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import Layout, strides_of
from tasks import simple, task_of, traced

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.plan import STATIC_SHARED, Plan
from warpfold.compiler.plan.shared_memory import shared_bytes
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.layouts.staggered_columns import (
    ACCESS_BYTES,
    ARRAY_BYTES,
    ARRAY_BYTES_OF_WIDE_PAIRS,
    BUSY_LANES,
    BUSY_LANES_OF_BYTES,
    DOUBLES_FROM,
    MANY_TRUTH_BYTES,
    MANY_TRUTHS,
    MIDDLE_CTAS_PER_SM,
    SHARED_ELEMENTS,
    STATE_REGISTERS,
    STEPS,
    TRUTH_BYTES,
    TRUTH_ELEMENTS,
    TRUTHS_FROM,
    serves,
)
from warpfold.compiler.planner.layouts.staggered_columns import MOST_ELEMENTS as ELEMENTS
from warpfold.compiler.planner.limits import CTA_THREADS
from warpfold.compiler.planner.task import LARGE_ELEMENTS, Choice, Task
from warpfold.compiler.program.rewrites.narrowing import narrowed
from warpfold.compiler.space.geometry import collapse
from warpfold.compiler.target import DEFAULT, TARGETS, WARP
from warpfold.runtime.api import plan_for

TYPES = ("i8", "f16", "f32", "f64")
ROWS = 1 << 14
"""Rows of very few columns are enough for an array that is large."""


def item(t: str) -> int:
    return dtype(t).itemsize


def widest(t: str, what: str = "max") -> int:
    registers = simple(what, (ROWS, 1001), (0,), t).state_registers
    return min(max(2, ACCESS_BYTES // item(t)), ELEMENTS, STATE_REGISTERS // registers)


def middle(t: str, columns: int, *kept: tuple[int, int], rows: int = 1000, pitch: int = 0) -> Task:
    """Rows of these columns for each index of other dims; a dim is (size, elements between its indices)."""
    sizes, strides = zip(*kept, strict=True)
    results = (*sizes, columns)
    outputs = strides_of(results, range(len(results)), [1] * len(results))
    layout = Layout((*sizes, rows, columns), (len(kept),), ((*strides, pitch or columns, 1),), (outputs,))
    return task_of(traced("max", dtype(t)), layout, (0, 0), DEFAULT, DEFAULT.sms)


def pitched(rows: int, columns: int, pitch: int, t: str = "f32", start: int = 0, what: str = "sum") -> Task:
    layout = Layout((rows, columns), (0,), ((pitch, 1),), ((1,),))
    return task_of(traced(what, dtype(t)), layout, (start, 0), DEFAULT, DEFAULT.sms)


def is_staggered(task: Task) -> bool:
    choice = choose(task)
    assert (choice.facts.access == ("staggered",)) == (choice.plan.walk == "staggered")
    return choice.plan.walk == "staggered"


# --- which ---
@pytest.mark.parametrize("t", TYPES)
def test_columns_that_begin_anywhere_get_staggered_warps(t: str) -> None:
    """Odd rows, and rows of whole accesses that begin between boundaries or are not whole accesses apart."""
    choice = choose(simple("max", (ROWS, 1001), (0,), t))
    plan = choice.plan
    assert (plan.walk, plan.vector, plan.warps, plan.lanes) == ("staggered", widest(t), CTA_THREADS // WARP, 1)
    assert choice.facts.access == ("staggered",)
    assert choice.facts.cut == "unaligned"
    assert not choice.facts.store_vector
    assert is_staggered(pitched(ROWS, 1008, 1009, t))
    assert is_staggered(simple("max", (ROWS, 1008), (0,), t, start=1))
    assert not is_staggered(simple("max", (ROWS, 1008), (0,), t))
    assert not is_staggered(pitched(ROWS, 1008, 1008 + WIDEST, t))


@pytest.mark.parametrize("t", ["i8", "bool", "bf16"])
def test_warps_share_narrow_elements_that_begin_anywhere_before_they_are_long(t: str) -> None:
    what = "any" if t == "bool" else "sum"
    found = [choose(simple(what, (rows, 700_001), (0,), t)).plan for rows in (SHARED_ELEMENTS - 1, SHARED_ELEMENTS)]
    assert [(p.walk, p.warps) for p in found] == [("interleaved", 1), ("staggered", 8)]
    aligned = choose(simple(what, (SHARED_ELEMENTS, 700_032), (0,), t)).plan
    assert (aligned.walk, aligned.warps) == ("interleaved", 1)


@pytest.mark.parametrize("t", TYPES)
def test_the_columns_fill_most_lanes(t: str) -> None:
    most = (BUSY_LANES_OF_BYTES if t == "i8" else BUSY_LANES) * widest(t)
    rows = 2 * LARGE_ELEMENTS // most
    assert is_staggered(pitched(rows, most, 2 * most + 1, t, what="max"))
    assert not is_staggered(pitched(rows, most - 1, 2 * most - 1, t, what="max"))


@pytest.mark.parametrize("t", ["i8", "f16", "f32"])
def test_columns_of_each_index_of_other_kept_dims_get_staggered_warps(t: str) -> None:
    """Whatever the strides: a CTA has results of one index, and its lanes are as full as with one index alone."""
    most = (BUSY_LANES_OF_BYTES if t == "i8" else BUSY_LANES) * widest(t)
    for kept in [((64, 1_001_003),), ((8, 999), (7, 5_000_000)), ((5, 3_000_001), (9, 300_007))]:
        pitch = 8 * 999 if kept[0][1] == 999 else 999
        task = middle(t, 999, *kept, rows=1000 if len(kept) == 1 else 256, pitch=pitch)
        choice = choose(task)
        assert (choice.plan.walk, choice.facts.by_row) == ("staggered", True)
        wide = dtype(t).itemsize > 1 and choice.plan.unroll == 1  # and CTAs enough without sharing rows
        assert choice.plan.vector == (2 * widest(t) if wide else widest(t))
        assert not wide or choice.run.tiles >= MIDDLE_CTAS_PER_SM * task.machine
        assert choice.run.tiles == task.geometry.n_kept // 999 * -(-999 // choice.plan.slots)
        assert not choice.facts.flat
        assert "tiles go by row: no access goes on from one of 999 results in the next" in choice.reasons
    columns = most + 1 - most % 2
    for n in (columns, columns - 2):
        task = middle(t, n, (300, n * 2200), pitch=2 * n + 1)
        assert is_staggered(task) == (n >= most)


@pytest.mark.parametrize("t", ["i8", "f16", "f32"])
def test_few_rows_are_read_in_whole_steps(t: str) -> None:
    """The columns make a large array of few rows, and are too few for threads of their own."""
    columns = LARGE_ELEMENTS // 32 + 1
    plan = choose(simple("max", (300, columns), (0,), t)).plan
    least = STEPS * plan.tile
    assert plan.walk == "staggered"
    assert is_staggered(simple("max", (least, columns), (0,), t))
    assert not is_staggered(simple("max", (least - 1, columns), (0,), t))


@pytest.mark.parametrize(
    ("op", "t", "least"),
    [("sum", t, ARRAY_BYTES[dtype(t).itemsize]) for t in ("i8", "bf16", "f32", "f64")]
    + [("var", "bf16", ARRAY_BYTES_OF_WIDE_PAIRS)],
)
def test_small_arrays_have_no_staggered_warps(op: str, t: str, least: int) -> None:
    columns = 1025
    rows = -(-least // (columns * dtype(t).itemsize))
    assert is_staggered(simple(op, (rows, columns), (0,), t))
    assert not is_staggered(simple(op, (rows - 1, columns), (0,), t))


@pytest.mark.parametrize(
    "task",
    [
        simple("sum", (4, ROWS, 1001), (1,), "f64"),
        simple("affine", (ROWS, 1001), (0,)),
        simple("powers", (ROWS, 1001), (0,)),
        replace(simple("sum", (ROWS, 1001), (0,)), determinism="portable"),
        replace(simple("sum", (ROWS, 1001), (0,)), addresses=(2, 0)),
        simple("sum", (1001, ROWS), (1,)),
    ],
    ids=["middle of single elements", "ordered", "wide state", "portable", "between elements", "rows"],
)
def test_other_layouts_have_no_staggered_warps(task: Task) -> None:
    assert not is_staggered(task)


def test_two_inputs_have_no_staggered_warps() -> None:
    layout = Layout((ROWS, 1001), (0,), ((1001, 1), (1001, 1)), ((1,),))
    assert not is_staggered(task_of(traced("dot", dtype("f32"), dtype("f32")), layout, (0, 0, 0), DEFAULT, DEFAULT.sms))


def test_many_truth_values_are_read_by_sixteen_warps_in_the_widest_accesses() -> None:
    """Also along a middle axis; rows of any length begin at one place in an access of each warp."""
    rows = -(-MANY_TRUTH_BYTES // MANY_TRUTHS)
    few = -(-TRUTH_BYTES // (TRUTHS_FROM + 1))
    many, two = ("staggered", 16, 16, 1), ("staggered", 16, 16, 2)
    cases = [
        ((rows, MANY_TRUTHS), (0,), many), ((rows - 1, MANY_TRUTHS), (0,), ("staggered", 8, 8, 4)),
        ((TRUTH_ELEMENTS, 32_769), (0,), many), ((TRUTH_ELEMENTS - 1, 32_801), (0,), ("staggered", 8, 8, 4)),
        ((few, TRUTHS_FROM + 1), (0,), two), ((few - 1, TRUTHS_FROM + 1), (0,), ("period", 1, 8, 8)),
        ((few, TRUTHS_FROM - 1), (0,), ("period", 1, 8, 8)), ((40, 3000, 1001), (1,), many),
    ]  # fmt: skip
    for shape, axes, wanted in cases:
        plan = choose(simple("any", shape, axes, "bool")).plan
        assert (plan.walk, plan.warps, plan.vector, plan.unroll) == wanted, shape


@pytest.mark.parametrize(
    ("what", "columns", "walk"),
    [("sum", DOUBLES_FROM, "staggered"), ("sum", DOUBLES_FROM - 2, "period"), ("max", 129, "staggered"),
     ("var", 129, "period"), ("dot", 129, "period")],
)  # fmt: skip
def test_doubles_are_read_by_staggered_warps_rather_than_by_periods(what: str, columns: int, walk: str) -> None:
    """But not long combines, two inputs, or small arrays, which single elements of other columns serve."""
    for rows, found in ((100_000, walk), (30_000, "period" if what == "dot" else "interleaved")):
        types = ("f64", "f64") if what == "dot" else "f64"
        assert plan_for(what, (rows, columns), types, axis=0).choice.plan.walk == found, rows


# --- what it needs ---
@settings(max_examples=300)
@given(
    st.sampled_from(TYPES), st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([2, 4, 8, 16]), st.integers(2, 70),
    st.integers(2, 70), st.integers(0, 15),
)  # fmt: skip
def test_a_warp_begins_all_its_rows_at_one_place(
    t: str, vector: int, warps: int, columns: int, pitch: int, start: int
) -> None:
    """All its accesses are aligned: they begin no row earlier and end no row later than their own."""
    task = pitched(40, columns, pitch, t, start)
    if task.geometry.kept[-1].strides[0] != 1:  # rows nearer to each other than their elements
        return
    plan = Plan("kept", "staggered", vector, lanes=1, warps=warps)
    places = [{(start + row * pitch) % vector for row in range(warp, 40, warps)} for warp in range(warps)]
    one = all(len(found) <= 1 for found in places)
    most = WIDEST // item(t)
    assert serves(task, plan) == (one and vector <= most and min(columns, pitch) >= most)
    if serves(task, plan):
        memory = range(39 * pitch + columns)
        for row in range(1, 39):
            lead = (start + row * pitch) % vector
            begin = row * pitch - lead
            ends = [first + vector for first in range(begin, row * pitch + columns, vector)]
            assert begin >= memory.start
            assert max(ends) <= memory.stop


def test_an_address_between_elements_has_no_staggered_warps() -> None:
    plan = Plan("kept", "staggered", 4, lanes=1, warps=8)
    task = simple("sum", (64, 101), (0,))
    assert serves(task, plan)
    assert not serves(replace(task, addresses=(2, 0)), plan)


def test_a_flipped_walk_begins_where_its_least_address_is() -> None:
    """A reversed array of bytes just past a boundary is read like one that is not reversed."""
    found = collapse((64, 100), (0,), [(-100, -1)], [(1,)])
    task = replace(simple("sum", (64, 100), (0,)), geometry=found)
    assert found.offsets[0] == -6399
    assert serves(task, Plan("kept", "staggered", 4, lanes=1, warps=4))


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("what", ["sum", "max", "argmax", "mean", "var", "mean_var", "logsumexp", "minmax", "any"])
def test_warps_are_never_fewer_for_want_of_shared_memory(what: str, t: str, arch: str) -> None:
    """With fewer warps rows would begin at several places; the states of eight warps fit in both rounds."""
    choice = choose(simple(what, (ROWS, 1001), (0,), t, arch=arch))
    if choice.plan.walk == "staggered":
        assert choice.plan.warps == CTA_THREADS // WARP
        state = simple(what, (ROWS, 1001), (0,), t).state_bytes
        assert shared_bytes(replace(choice.plan, finish="last_block"), state) <= STATIC_SHARED


def test_states_of_any_size_fit() -> None:
    plan = Plan("kept", "staggered", STATE_REGISTERS, lanes=1, warps=CTA_THREADS // WARP, finish="last_block")
    assert shared_bytes(plan, 4) <= STATIC_SHARED


# --- options ---
def choice(options: str, shape: tuple[int, int] = (ROWS, 1001), t: str = "f32", **more: Any) -> Choice:
    return choose(simple("sum", shape, (0,), t, **more), options)


def test_an_option_that_does_not_fit_the_rows_gives_up_the_walk() -> None:
    """In odd rows, accesses of two elements begin at two places and need two warps; of four elements, four."""
    assert choice("warps=2").plan.walk == choice("warps=4,vector=4").plan.walk == "staggered"
    assert choice("warps=2,vector=4").plan.walk == "interleaved"
    assert choice("vector=16", t="i8").plan.walk == "interleaved"
    assert choice("finish=two_kernels").plan.walk == "interleaved"
    assert choice("fast=reduced").plan.walk == "interleaved"
    with pytest.raises(PlanError, match="WF416: walk=staggered does not fit this layout"):
        choice("warps=2,walk=staggered,vector=4")
    with pytest.raises(PlanError, match="WF421: vector=8 elements of 4 bytes are 32 bytes"):
        choice("vector=8,walk=staggered")


def test_accesses_in_flight_give_way_to_the_length_of_a_walk() -> None:
    for options in ("coarsening=2", "walk=staggered,coarsening=2"):
        plan = choice(options).plan
        assert (plan.walk, plan.coarsening, plan.unroll) == ("staggered", 2, 2)
    with pytest.raises(PlanError, match="WF413"):
        choice("coarsening=2,unroll=4")


def test_warps_reduced_by_shared_memory_must_fit_the_rows() -> None:
    """Eight of these rows are whole accesses of 16, four are not; the states of eight warps do not fit twice."""
    words = "walk=staggered,vector=16,unroll=1"
    task = simple("mean", (100, 40_002), (0,), "i8")
    with pytest.raises(PlanError, match="WF416"):
        choose(task, words)
    assert choose(task, f"{words},warps=8,finish=cta").plan.warps == CTA_THREADS // WARP


def test_a_printed_staggered_plan_gives_the_same_plan() -> None:
    own = choice("")
    words = ",".join(f"{k}={v}" for k, v in own.plan.to_dict().items() if k != "tree")
    assert choice(words).plan == own.plan
    assert choice(words).facts == own.facts


def test_the_reasons_and_the_rejected_plans_are_given() -> None:
    found = choice("")
    assert any(
        reason.startswith("each of 8 warps reads every 8th row, from the boundary before") for reason in found.reasons
    )
    assert any(what == "walk=interleaved" for what, _ in found.rejected)
    assert WIDEST == WIDEST


@pytest.mark.parametrize(("columns", "walk"), [(100, "period"), (255, "period"), (257, "staggered")])
def test_numbered_bytes_have_as_many_accesses_in_flight_as_sums(columns: int, walk: str) -> None:
    for t in ("i8", "bool"):
        plan = plan_for("argmax", (1_000_000, columns), t, axis=0).choice.plan
        assert (plan.walk, plan.vector, plan.unroll) == (walk, 8, 8)
    assert plan_for("argmax", (1_000_000, columns), "bf16", axis=0).choice.plan.vector == 4


@pytest.mark.parametrize(("rows", "unroll"), [(100, 2), (130, 4), (200, 4), (230, 2)])
def test_sums_of_bytes_of_a_middle_axis_have_more_in_flight_in_one_to_two_waves_of_ctas(rows: int, unroll: int) -> None:
    """With fewer CTAs the last begin with the others, and with more it makes no difference."""
    task = simple("sum", (rows, 1000, 1001), (1,), "i8")
    plan = choose(replace(task, program=narrowed(task.program)[0])).plan
    assert (plan.walk, plan.vector, plan.unroll) == ("staggered", 8, unroll)
