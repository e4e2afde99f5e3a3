"""How many CTAs share a result: as many as are resident, in full waves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler.dtypes import BIT
from warpfold.compiler.plan.launch import launch
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.plan.rounds import second_plan
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner.limits import CTA_THREADS
from warpfold.compiler.planner.split import (
    CTAS_PER_SM,
    CTAS_PER_SM_OF_NARROW,
    CTAS_PER_SM_OF_RUNS,
    EVEN_WAVES,
    FEWEST_CTAS,
    LONGEST_WALK,
    LONGEST_WALK_WITH_BITS,
    MOST_PARTS,
    RESIDENT_OF_COLUMNS,
    WAVES_WITH_BITS,
    WORKSPACE,
    _even,
    ctas,
)
from warpfold.compiler.target import WARP
from warpfold.runtime.api import plan_for

SMS = 132
COLUMNS = Plan("kept", vector=4, unroll=4, lanes=4, warps=8, finish="last_block")


def load(parts: int, tiles: int, steps: int, resident: int) -> int:
    """Steps that the waves of CTAs take one after another."""
    return -(-tiles * parts // resident) * -(-steps // parts)


@settings(max_examples=400)
@given(st.integers(1, 3000), st.integers(0, 3000), st.integers(1, 300), st.integers(1, 20_000), st.integers(1, 1000))
def test_ctas_keep_their_bound_and_fill_their_waves(
    parts: int, room: int, tiles: int, steps: int, resident: int
) -> None:
    """At most ``most``, none without work, and a load equal to that of the best number or close to it."""
    parts = min(parts, steps)
    most = parts + room
    found = _even(parts, most, tiles, steps, resident)
    assert 1 <= found <= min(most, steps)
    chunk = -(-steps // found)
    assert (found - 1) * chunk < steps
    assert load(found, tiles, steps, resident) <= EVEN_WAVES * load(parts, tiles, steps, resident)


@pytest.mark.parametrize(("tiles", "resident"), [(1, 528), (5, 528), (162, 528), (100, 264)])
def test_no_wave_is_nearly_empty(tiles: int, resident: int) -> None:
    """One CTA more than are resident would double the time."""
    steps = 100_000
    for parts in (resident // tiles, resident // tiles + 1):
        found = _even(parts, 10 * parts, tiles, steps, resident)
        waves = tiles * found / resident
        assert waves <= 1 or waves % 1 > 0.8 or waves % 1 == 0


def test_parts_have_at_least_half_the_requested_length() -> None:
    """More CTAs of one wave are better, but their states must be combined."""
    assert _even(7, 100, 1, 700, 528) == 14
    assert _even(3, 3, 1, 100, 528) == 3
    assert _even(528, 528, 1, 528, 528) == 528


@settings(max_examples=300)
@given(
    st.sampled_from(["interleaved", "staggered"]), st.sampled_from([2, 4, 8]), st.sampled_from([1, 2, 4]),
    st.integers(1, 40_000), st.sampled_from([1, 1, 7, 300]), st.integers(0, 1 << 22), st.sampled_from([4, 8, 12, 24]),
    st.sampled_from([1, 16, SMS]),
)  # fmt: skip
def test_a_launch_has_the_ctas_that_were_counted(
    walk: Any, vector: int, unroll: int, row: int, rows: int, n_reduced: int, state: int, sms: int
) -> None:
    """All of them have work, their states fit the workspace, and the grid has exactly them."""
    plan = Plan("kept", walk, vector, unroll, 1, 8, finish="last_block")
    found = ctas(plan, rows * row, n_reduced, sms, state, 4, row)
    run = launch(plan, rows * row, n_reduced, found, row)
    assert run.split == found
    assert found == 1 or (found - 1) * run.chunk < n_reduced
    pitch = -(-row // second_plan(plan).vector_kept) * second_plan(plan).vector_kept
    assert found == 1 or found * rows * pitch * state <= WORKSPACE
    assert found <= MOST_PARTS
    assert run.tiles < 2 * sms or found == 1


def test_rows_are_shared_by_the_requested_number_of_ctas() -> None:
    plan = Plan("reduced", vector=4, unroll=4, warps=8, finish="last_block")
    long = 1 << 22
    assert ctas(plan, 1, long, SMS, 4, 4) == min(SMS * CTAS_PER_SM, long // plan.tile)
    assert ctas(plan, 5, long, SMS, 4, 4) == SMS * CTAS_PER_SM // 5


@pytest.mark.parametrize(("walk", "unroll", "nbytes", "each", "longest"), RESIDENT_OF_COLUMNS)
def test_wide_states_leave_room_for_fewer_ctas(walk: Any, unroll: int, nbytes: int, each: int, longest: int) -> None:
    """Rows that the resident CTAs read in a few steps get exactly these CTAs, up to even waves."""
    warps = (1, 8) if walk == "period" else (8, 1)
    plan = Plan("kept", walk, 4, unroll, 1, *warps, finish="last_block")
    columns, state = 64, max(4, nbytes // 4)
    found = ctas(plan, columns, unroll << 14, SMS, state, 4, columns)
    assert found <= SMS * each * CTA_THREADS // plan.threads
    if nbytes and walk != "staggered":
        assert ctas(plan, columns, unroll << 14, SMS, state - 1, 4, columns) != found
    assert longest >= LONGEST_WALK


def test_more_results_share_the_machine_where_they_are_read_by_single_elements() -> None:
    """Rows of f32 without vectors: with one CTA a row too little is in flight."""
    plan, wide = Plan("reduced", unroll=8, warps=8), Plan("reduced", vector=4, unroll=4, warps=8)
    assert ctas(plan, 2 * SMS, 1 << 20, SMS, 4, 4) > 1
    assert ctas(plan, CTAS_PER_SM_OF_NARROW * SMS, 1 << 20, SMS, 4, 4) == 1
    assert ctas(wide, 2 * SMS, 1 << 20, SMS, 4, 4) == ctas(plan, 2 * SMS, 1 << 20, SMS, 8, 8) == 1


def test_threads_of_long_runs_have_few_ctas() -> None:
    """More accesses in flight take more registers, and all CTAs must be resident."""
    for unroll, each in ((4, CTAS_PER_SM), (2, CTAS_PER_SM_OF_RUNS)):
        plan = Plan("reduced", "runs", 16, unroll, WARP, 8)
        assert ctas(plan, 1, 1 << 14, SMS, 4, 1) == each * SMS


def test_the_fewest_ctas_do_not_share_a_result() -> None:
    for parts in (FEWEST_CTAS, FEWEST_CTAS + 1):
        found = ctas(COLUMNS, 1, parts * COLUMNS.tile, SMS, 4, 4)
        assert found == (1 if parts == FEWEST_CTAS else parts)


def test_results_that_fill_the_machine_are_not_shared() -> None:
    slots = COLUMNS.slots
    assert ctas(COLUMNS, 2 * SMS * slots, 1 << 14, SMS, 4, 4) == 1
    assert ctas(COLUMNS, (2 * SMS - 1) * slots, 1 << 14, SMS, 4, 4) > 1


def shared(warps: int, n_kept: int, n_reduced: int, state: int, item: int = 4) -> int:
    """CTAs for a row, of aligned rows read by whole accesses."""
    plan = Plan("reduced", vector=16 // item, unroll=4, lanes=WARP, warps=warps, finish="last_block")
    return ctas(plan, n_kept, n_reduced, SMS, state, item)


@pytest.mark.parametrize("rows", [1, 5, 37, 100, 129])
@pytest.mark.parametrize("millions", [1, 2, 7, 30, 66])
def test_ctas_of_light_states_fill_waves(rows: int, millions: int) -> None:
    """CTAs of 16 warps are resident up to the threads of an SM: no more than these, or a nearly full last wave."""
    found = rows * shared(16, rows, millions * 10**6 // rows, 4)
    resident = SMS * 2048 // 512
    waves = found / resident
    assert (
        waves <= 1 or waves - int(waves) == 0 or waves - int(waves) > 1 - rows / resident or found == rows * MOST_PARTS
    )


@pytest.mark.parametrize("rows", [1, 60, 81, 151, 190, 217])
@pytest.mark.parametrize("n", [50_000, 200_000, 800_000, 3_000_000])
def test_ctas_of_heavy_states_are_as_many_as_are_resident_or_far_more(rows: int, n: int) -> None:
    """The assembler decides how many are resident: so CTAS_PER_SM, or twice what LONGEST_WALK asks for."""
    heavy, light = (rows * shared(8, rows, n, state) for state in (8, 4))
    resident = CTAS_PER_SM * SMS
    if light <= resident:
        assert heavy == light
    elif light <= 2 * resident:
        assert resident - rows < heavy <= resident
    else:
        assert heavy in (2 * light, rows * MOST_PARTS)


def test_rows_with_bits_have_many_ctas_or_one_wave() -> None:
    wide = Plan("reduced", vector=8, unroll=4, lanes=WARP, warps=16, finish="last_block")
    many = WAVES_WITH_BITS * SMS * CTAS_PER_SM * CTA_THREADS // wide.threads
    long = LONGEST_WALK_WITH_BITS * wide.threads * wide.vector
    assert ctas(wide, 1, 2 * many * long, SMS, 4, 2, bits=True) >= 2 * many
    assert ctas(wide, 1, 2 * many * long, SMS, 4, 2) < many
    for n in (many * long // 2, long):
        assert ctas(wide, 1, n, SMS, 4, 2, bits=True) == ctas(wide, 1, n, SMS, 4, 2)


@pytest.mark.parametrize(("what", "t", "many"), [("sum", "bf16", 16), ("var", "bf16", 1), ("logsumexp", "i8", 1)])
def test_states_that_take_long_to_join_have_as_few_ctas_with_bits(what: str, t: str, many: int) -> None:
    bools = plan_for(what, (1 << 27,), t, where=True).task
    bits = replace(bools, program=replace(bools.program, inputs=(bools.program.inputs[0], BIT)))
    without, found = planner.choose(bools), planner.choose(bits)
    assert without.plan == found.plan
    assert found.plan.threads > CTA_THREADS
    assert found.run.split == many * without.run.split
