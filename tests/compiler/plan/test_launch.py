"""Every element has one owner, whatever the plan and the sizes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ownership import (
    Thread,
    brute,
    check_columns,
    check_launch,
    check_padded,
    check_periods,
    check_reduced,
    check_rows_of_results,
    check_staggered,
    check_threads,
    check_tiles,
    owners,
    plans,
    reduced_range,
)

from warpfold.compiler.plan.arithmetic import INTEGERS
from warpfold.compiler.plan.checks import settled
from warpfold.compiler.plan.launch import Launch, cells_of, launch, period_rows, walks_once
from warpfold.compiler.plan.layout import layout_of
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.plan.rounds import second_plan

NEAR_BOUNDARIES = sorted({max(0, b + d) for b in (0, 8, 32, 64, 256, 1024, 2048) for d in (-1, 0, 1, 5)})
HUGE = [2**31 - 1, 2**31, 2**31 + 5, 2**33 + 1]


@settings(max_examples=160)
@given(
    plans(), st.sampled_from([1, 2, 31, 32, 33, 100]), st.sampled_from(NEAR_BOUNDARIES), st.integers(1, 40), st.data()
)
def test_every_element_has_one_owner(plan: Plan, n_kept: int, n: int, split: int, data: st.DataObject) -> None:
    run = launch(plan, n_kept, n, split)
    check_threads(plan)
    check_launch(plan, run, n_kept, n)
    lead = data.draw(st.integers(0, plan.vector_reduced - 1))
    check_reduced(plan, run, n, lead)


@settings(max_examples=80)
@given(plans(most_threads=256), st.sampled_from(NEAR_BOUNDARIES), st.integers(1, 40))
def test_a_walk_of_one_step_has_all_its_accesses_in_flight(plan: Plan, n: int, split: int) -> None:
    run = launch(plan, 1, n, split)
    places = [Thread(0, part, t) for part in range(run.split) for t in range(plan.threads)]
    most = max(len(range(*reduced_range(plan, run, p, n))) for p in places)
    states = plan.parts(run.split) if plan.finish == "last_block" else 0
    again = -(-states // second_plan(plan).positions)
    assert walks_once(plan, run, n) == (plan.unroll > 1 and most <= plan.unroll and again <= second_plan(plan).unroll)


@settings(max_examples=40)
@given(plans(most_threads=64), st.integers(1, 9), st.integers(0, 70), st.integers(1, 3), st.data())
def test_every_element_has_one_owner_counted_one_by_one(
    plan: Plan, n_kept: int, n: int, split: int, data: st.DataObject
) -> None:
    lead = data.draw(st.integers(0, plan.vector_reduced - 1))
    assert (brute(plan, launch(plan, n_kept, n, split), n_kept, n, lead) == 1).all()


@settings(max_examples=100)
@given(plans(most_threads=256), st.sampled_from(HUGE), st.integers(1, 3000), st.data())
def test_every_element_of_a_huge_axis_has_one_owner(plan: Plan, n: int, split: int, data: st.DataObject) -> None:
    run = launch(plan, 1, n, split)
    check_launch(plan, run, 1, n)
    lead = data.draw(st.integers(0, plan.vector_reduced - 1))
    edges = [0, n - 1, run.chunk - 1, run.chunk, (run.split - 1) * run.chunk, data.draw(st.integers(0, n - 1))]
    for element in edges:
        if element < n:
            assert owners(plan, run, n, element, lead) == 1


def test_an_ordered_walk_gives_each_thread_neighbouring_elements() -> None:
    """Two CTAs of one warp, four elements a lane: elements rise from thread to thread and from CTA to CTA."""
    plan = Plan(walk="blocked", unroll=4, finish="two_kernels")
    run = launch(plan, 1, 200, 2)
    assert run == Launch(1, 2, 128)
    check_reduced(plan, run, 200)


def test_a_shifted_row_begins_at_the_boundary_before_it() -> None:
    plan = Plan(vector=4, lanes=2)
    for lead in range(4):
        run = launch(plan, 1, 9)
        assert (brute(plan, run, 1, 9, lead) == 1).all()
        for thread in range(2):
            begin, _, step = reduced_range(plan, run, Thread(0, 0, thread), 9, lead)
            assert (begin + lead) % plan.vector == 0
            assert step % plan.vector == 0


@settings(max_examples=60)
@given(
    st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 8]), st.integers(1, 300),
    st.integers(1, 400), st.integers(1, 5), st.data(),
)  # fmt: skip
def test_every_element_of_narrow_rows_has_one_owner_with_fixed_columns(
    vector: int, unroll: int, warps: int, columns: int, n: int, split: int, data: st.DataObject
) -> None:
    plan = Plan("kept", "period", vector, unroll, 1, 1, warps, finish="last_block" if split > 1 else "cta")
    assume(columns <= plan.threads and period_rows(plan, columns) > 0)
    run = launch(plan, 3 * columns, n, split, columns)
    check_periods(plan, run, columns, 3 * columns, n)
    check_columns(plan, run, columns, n, data.draw(st.integers(0, vector - 1)))


@pytest.mark.parametrize(
    ("vector", "warps", "columns", "rows"),
    [(4, 8, 2, 512), (4, 8, 9, 112), (4, 8, 255, 4), (4, 8, 256, 4), (4, 32, 129, 28), (16, 8, 9, 448), (16, 1, 33, 0),
     (1, 1, 32, 1), (8, 1, 48, 5), (2, 8, 7, 72)],
)  # fmt: skip
def test_a_period_has_whole_rows_in_whole_accesses(vector: int, warps: int, columns: int, rows: int) -> None:
    """A period has what the threads read at once; a row of 48 columns is six accesses of eight."""
    assert period_rows(Plan("kept", "period", vector, lanes=1, warps_kept=warps), columns) == rows


@settings(max_examples=40)
@given(
    st.sampled_from([2, 4, 8]), st.sampled_from([1, 2]), st.sampled_from([2, 4, 8]), st.integers(2, 300),
    st.integers(0, 8), st.integers(2, 40), st.integers(1, 3), st.integers(0, 7),
)  # fmt: skip
def test_every_element_of_staggered_rows_has_one_owner(
    vector: int, unroll: int, warps: int, columns: int, gap: int, n: int, split: int, start: int
) -> None:
    """Rows a multiple of the warps apart begin at one place; the last lane of a warp owns none of their columns."""
    assume(warps * (columns + gap) % vector == 0)
    finish: Any = "last_block" if split > 1 else "cta"
    plan = Plan("kept", "staggered", vector, unroll, 1, warps, finish=finish)
    run = launch(plan, columns, n, split)
    check_threads(plan)
    check_launch(plan, run, columns, n)
    check_reduced(plan, run, n)
    check_staggered(plan, run, columns + gap, columns, n, start)


@settings(max_examples=40)
@given(plans(most_threads=256), st.integers(1, 300), st.integers(1, 5), st.booleans())
def test_every_result_has_one_owner_where_tiles_go_by_row(plan: Plan, row: int, rows: int, staggered: bool) -> None:
    """Threads own the columns that they own in a row alone, whatever the row."""
    if staggered:
        plan = settled(Plan("kept", "staggered", plan.vector, warps=plan.warps))
    run = launch(plan, rows * row, 100, row=row)
    assert run.tiles == rows * launch(plan, row, 100).tiles
    check_launch(plan, run, rows * row, 100, row=row)
    check_rows_of_results(plan, run, rows * row, row)


@settings(max_examples=60)
@given(
    st.sampled_from([2, 4, 8, 16]), st.sampled_from([1, 4, 8]), st.integers(1, 300), st.integers(1, 9), st.data()
)  # fmt: skip
def test_every_result_of_padded_rows_has_one_owner(
    vector: int, warps: int, row: int, rows: int, data: st.DataObject
) -> None:
    plan = settled(Plan("kept", "padded", vector, warps_kept=warps))
    run = launch(plan, rows * row, 5, row=row)
    leads = data.draw(st.lists(st.integers(0, vector - 1), min_size=rows, max_size=rows))
    assert (run.split, run.tiles) == (1, -(-rows * layout_of(plan).rows.places(row, INTEGERS) // plan.slots))
    check_padded(plan, run, rows, row, leads)


@pytest.mark.parametrize(("row", "cells"), [(0, 32), (30, 32), (15, 32), (10, 36), (6, 40), (1, 120)])
def test_the_partial_states_of_each_row_are_whole_vectors(row: int, cells: int) -> None:
    plan = Plan("kept", vector=8, lanes=4, warps=8, finish="last_block")
    assert second_plan(plan).vector_kept == 4
    assert cells_of(plan, 30, row) == cells


@pytest.mark.parametrize(("n", "parts"), [(0, 1), (1, 1), (1023, 1), (1024, 1), (1025, 2), (4096, 4), (4097, 3)])
def test_chunks_are_whole_tiles(n: int, parts: int) -> None:
    plan = Plan(vector=4, unroll=8, finish="last_block")
    assert plan.tile == 1024
    assert launch(plan, 1, n, 4).split == parts


def test_a_plan_that_ends_in_its_cta_is_never_split() -> None:
    assert launch(Plan(), 1, 2**20, 64) == Launch(1, 1, 2**20)


@pytest.mark.parametrize(
    ("n", "finish", "split", "found"),
    [
        (0, "cta", 1, Launch(1, 8, 32)),
        (33, "cta", 1, Launch(1, 8, 32)),
        (2**20, "cta", 64, Launch(1, 8, 2**17)),
        (2**20, "last_block", 20, Launch(1, 24, 43712)),
        (2**10, "two_kernels", 64, Launch(1, 32, 32)),
        (2**10 + 1, "two_kernels", 64, Launch(1, 40, 32)),
    ],
)
def test_ctas_come_in_whole_clusters(n: int, finish: Any, split: int, found: Launch) -> None:
    plan = Plan(cluster=8, finish=finish)
    assert launch(plan, 1, n, split) == found
    assert plan.parts(found.split) == found.split // 8


@settings(max_examples=100)
@given(
    st.sampled_from([1, 2, 8, 32]), st.sampled_from([1, 2, 8]), *[st.integers(1, n) for n in (5, 600)], st.integers(0)
)
def test_every_result_of_a_tile_has_one_owner_for_each_position(
    lanes: int, warps: int, tiles: int, results: int, less: int
) -> None:
    """A CTA's results follow those of the CTA before; there may be more or fewer of them than threads."""
    plan = Plan(lanes=lanes, warps_kept=warps, tile_bytes=1024)
    check_tiles(plan, tiles, results, tiles * results - less % results)
