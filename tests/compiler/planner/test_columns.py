"""Columns: how many a thread reads at once, and how many accesses it has in flight."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tasks import MANY, simple

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.planner.alignment import HALF, WIDEST
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.column_lanes import ALONE_ELEMENTS, BUSY
from warpfold.compiler.planner.columns import (
    ADDED_IN_FLIGHT,
    ADDED_IN_FLIGHT_OF_MANY,
    ADDED_MANY_ROWS,
    ADDED_RESULTS,
    FEW_ROWS_AT_MOST,
    LARGE_RESULTS,
    ONE_IN_FLIGHT_ITEM,
    ONE_IN_FLIGHT_ROWS,
    RESULT_BYTES_OF_THREAD,
    SEVERAL_REGISTERS,
    TRUTH_ROWS,
    TWO_IN_FLIGHT_TRUTH_ROWS,
    UNALIGNED_BYTE_ROWS,
)
from warpfold.compiler.planner.limits import STATE_REGISTERS
from warpfold.compiler.planner.powers_of_two import ceil2, floor2
from warpfold.compiler.planner.task import Choice
from warpfold.compiler.program.rewrites.narrowing import narrowed
from warpfold.compiler.space.geometry import collapse
from warpfold.compiler.target import WARP


def columns(what: str, t: str, rows: int, n: int = 1 << 22) -> Choice:
    """The choice for these rows of columns, which fill the machine."""
    task = simple(what, (rows, n), (0,), t)
    return choose(replace(task, program=narrowed(task.program)[0]))


@pytest.mark.parametrize(
    ("what", "t", "most", "vector"),
    [("sum", "i8", 16, 4), ("sum", "i16", 8, 4), ("sum", "i32", 4, 2), ("mean", "u8", 16, 4)],
)
def test_a_few_rows_are_read_by_as_many_columns_as_a_thread_writes_at_once(
    what: str, t: str, most: int, vector: int
) -> None:
    """Results of eight bytes are written by two lanes together."""
    for rows in (1, 2, 3, most):
        choice = columns(what, t, rows)
        most_results = vector if rows > 1 else ADDED_RESULTS
        assert (choice.plan.fast, choice.plan.vector, choice.facts.store_vector) == ("kept", most_results, True)
        unroll = max(1, ceil2(rows) // 2) if rows > 3 else ceil2(rows) if dtype(t).itemsize < ONE_IN_FLIGHT_ITEM else 1
        assert choice.plan.unroll == (min(unroll, ADDED_IN_FLIGHT) if dtype(t).itemsize == 1 else unroll)
    assert columns(what, t, most + 1).plan.vector >= vector
    assert columns(what, t, 2, 1 << 12).plan.vector > vector


@pytest.mark.parametrize(("rows", "vector", "unroll"), [(64, 4, 4), (100_000, 16, 2)])
def test_columns_of_bytes_are_read_by_16_at_a_time_or_as_many_as_a_thread_writes(
    rows: int, vector: int, unroll: int
) -> None:
    choice = columns("sum", "i8", rows, 1 << (20 if rows < 256 else 10))
    assert (choice.plan.vector, choice.plan.unroll, choice.facts.access) == (vector, unroll, ("aligned",))
    assert choice.facts.store_vector == (choice.plan.positions == 1)
    assert vector == 16 or vector * choice.plan.positions * dtype("i64").itemsize == RESULT_BYTES_OF_THREAD


@pytest.mark.parametrize(("t", "beside", "vector"), [("i8", 4, 16), ("bool", 8, 16), ("f32", 4, 4)])
def test_results_that_are_apart_do_not_make_accesses_narrower(t: str, beside: int, vector: int) -> None:
    """100 x 20000 x 64 reduced along the 100: results of 20000 x 64 are side by side, of 64 x 20000 apart."""
    what, strides = "any" if t == "bool" else "sum", ((1280000, 64, 1),)
    for results, width in (((64, 1), beside), ((1, 20000), vector)):
        task = simple(what, (100, 20000, 64), (0,), t)
        geometry = collapse((100, 20000, 64), (0,), strides, [results])
        plan = choose(replace(task, geometry=geometry, program=narrowed(task.program)[0])).plan
        assert (plan.fast, plan.vector) == ("kept", width)


@pytest.mark.parametrize(
    ("t", "width", "access"),
    [("i8", 257, "unaligned"), ("f16", 257, "unaligned"), ("f32", 257, "unaligned"), ("f64", 257, "strided"),
     ("f32", 256, "aligned"), ("f64", 256, "aligned"), ("f32", 3, "strided")],
)  # fmt: skip
def test_columns_that_begin_anywhere_are_read_in_vectors_where_that_is_faster(t: str, width: int, access: str) -> None:
    """A warp's single elements of 8 bytes fill sectors; with 3 f32 columns the next row is in the same 16 bytes."""
    assert choose(simple("max", (MANY, width), (0,), t)).facts.access == (access,)


COLUMNS = 1 << 22
"""Columns that fill it with a thread each."""


def alone(what: str, t: str, rows: int, n: int = COLUMNS) -> Choice:
    """The choice for these rows of columns, each of which one thread reduces."""
    choice = choose(simple(what, (rows, n), (0,), t))
    assert (choice.plan.fast, choice.plan.positions) == ("kept", 1)
    return choice


@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
@pytest.mark.parametrize("what", ["max", "sum", "mean", "argmax"])
def test_the_bytes_that_a_thread_of_aligned_columns_writes_are_bounded(what: str, t: str) -> None:
    """As many columns as an access has, or as it writes efficiently: half an access of bytes."""
    item = dtype(t).itemsize
    for rows in (FEW_ROWS_AT_MOST, FEW_ROWS_AT_MOST + 1, ALONE_ELEMENTS):
        task = simple(what, (rows, COLUMNS), (0,), t)
        if rows * item <= LARGE_RESULTS * task.result_bytes:
            continue  # another class
        choice = alone(what, t, rows)
        most = HALF if item == 1 else WIDEST // item
        if task.state_registers >= SEVERAL_REGISTERS:
            most = min(most, STATE_REGISTERS // 4 // task.state_registers)
        assert choice.facts.access == (("aligned",) if choice.plan.vector > 1 else ("strided",))
        assert choice.plan.vector == floor2(min(most, RESULT_BYTES_OF_THREAD // task.result_bytes))


@pytest.mark.parametrize(
    ("what", "t", "vector", "unrolls"),
    [
        ("max", "f16", 8, (1, 2, 4)),
        ("max", "f32", 4, (2, 2, 4)),
        ("any", "bool", 16, (2, 2, 2)),
    ],
)
def test_columns_that_begin_anywhere_are_read_by_whole_accesses(
    what: str, t: str, vector: int, unrolls: tuple[int, ...]
) -> None:
    """Each needs two accesses, so fewer are in flight."""
    fewest = ONE_IN_FLIGHT_ROWS.get(dtype(t).itemsize, 3) or LARGE_RESULTS
    for rows, unroll in zip((fewest, FEW_ROWS_AT_MOST, FEW_ROWS_AT_MOST + 1), unrolls, strict=False):
        choice = alone(what, t, rows, 2 * COLUMNS + 1)
        found = (choice.plan.vector, choice.plan.unroll, choice.facts.access)
        assert found == (vector, unroll, ("unaligned",)), rows
    for rows, unroll in ((TWO_IN_FLIGHT_TRUTH_ROWS, 2), (TWO_IN_FLIGHT_TRUTH_ROWS + 1, 1)):
        assert alone("any", "bool", rows, 2 * COLUMNS + 1).plan.unroll == unroll
    assert alone("max", "i8", UNALIGNED_BYTE_ROWS, 2 * COLUMNS + 1).plan.vector == HALF


@pytest.mark.parametrize(
    ("rows", "vector", "unroll"),
    [
        (2, ADDED_RESULTS, ADDED_IN_FLIGHT), (FEW_ROWS_AT_MOST, ADDED_RESULTS, ADDED_IN_FLIGHT),
        (FEW_ROWS_AT_MOST + 1, ADDED_RESULTS, ADDED_IN_FLIGHT_OF_MANY),
        (ADDED_MANY_ROWS - 1, ADDED_RESULTS, ADDED_IN_FLIGHT_OF_MANY), (ADDED_MANY_ROWS, HALF, ADDED_IN_FLIGHT),
    ],
)  # fmt: skip
def test_sums_of_bytes_are_read_by_as_many_as_a_thread_writes_efficiently(rows: int, vector: int, unroll: int) -> None:
    """Wherever they begin: a word, or two aligned bytes; a thread of many rows writes little."""
    choice = alone("sum", "i8", rows, 2 * COLUMNS + 1)
    assert (choice.plan.vector, choice.plan.unroll, choice.facts.access) == (vector, unroll, ("unaligned",))
    pairs = alone("sum", "i8", rows, 2 * COLUMNS + 2)
    assert (pairs.plan.vector, pairs.facts.access[0]) == (
        (HALF, "unaligned") if rows >= ADDED_MANY_ROWS else (2, "aligned")
    )


def test_a_thread_of_few_aligned_rows_of_truth_values_writes_whole_accesses() -> None:
    """One row at a time; with more rows, or several rows of a middle axis, half as many bytes."""
    for rows in range(2, FEW_ROWS_AT_MOST + 2):
        plan = alone("any", "bool", rows).plan
        assert ((plan.vector, plan.unroll) == (16, 1)) == (rows <= FEW_ROWS_AT_MOST)
    for rows in (2, TRUTH_ROWS, TRUTH_ROWS + 1):
        assert rows_of("bool", 160, rows, "any").plan.vector == (16 if rows <= TRUTH_ROWS else HALF)


def rows_of(t: str, columns: int, n_reduced: int, what: str = "max") -> Choice:
    """The choice for a middle axis whose kept indices outside are so many that one thread reduces each."""
    return choose(simple(what, (-(-COLUMNS // columns) * 8, n_reduced, columns), (1,), t))


@pytest.mark.parametrize(
    ("t", "columns", "n_reduced", "vector", "warps"),
    [("f16", 5001, 100, 8, 8), ("f16", 577, 100, 8, 4), ("i8", 401, 40, 8, 2), ("f32", 5001, 3, 4, 8)],
)  # fmt: skip
def test_rows_of_a_middle_axis_are_read_in_vectors_that_end_with_the_row(
    t: str, columns: int, n_reduced: int, vector: int, warps: int
) -> None:
    """A CTA has results of one row, and as many warps as that gives something to read."""
    choice = rows_of(t, columns, n_reduced, "any" if t == "bool" else "max")
    plan, run = choice.plan, choice.run
    assert (choice.facts.access, choice.facts.by_row, choice.facts.flat) == (("unaligned",), True, False)
    assert (plan.vector, plan.positions, plan.warps_kept) == (vector, 1, warps)
    tiles = -(-columns // plan.slots)
    assert run.tiles == -(-COLUMNS // columns) * 8 * tiles
    used = -(-columns // (vector * WARP))
    assert used >= BUSY * tiles * warps


def test_rows_that_would_leave_many_lanes_idle_are_not_cut() -> None:
    """33 accesses of 16 bytes take two warps, of which one would use a lane; narrower ones fill them, or none do."""
    lanes = {columns: rows_of("f16", columns, 100).plan.vector for columns in (255, 257, 383, 385, 119)}
    assert lanes == {255: 8, 257: 1, 383: 8, 385: 8, 119: 4}
    for columns, vector in lanes.items():
        accesses = -(-columns // vector)
        assert vector == 1 or accesses >= BUSY * -(-accesses // WARP) * WARP
        assert rows_of("f16", columns, 100).facts.by_row == (vector > 1)


def test_rows_of_elements_that_fill_sectors_and_small_arrays_are_not_cut() -> None:
    assert rows_of("f64", 5001, 40).plan.vector == 1
    assert rows_of("f32", 5001, 120).plan.vector == 1
    assert rows_of("i8", 5001, FEW_ROWS_AT_MOST, "sum").plan.vector == 1
    small = simple("max", (10, 40, 5001), (1,), "f16")
    assert (choose(small).plan.vector, choose(small).facts.by_row) == (1, False)
    portable = replace(simple("max", (10_000, 40, 5001), (1,), "f16"), determinism="portable")
    assert (choose(portable).plan.vector, choose(portable).facts.by_row) == (1, False)


def test_whole_vectors_go_on_in_the_next_row() -> None:
    """Rows of 576 columns, with one more in between: nothing is cut."""
    task = simple("max", (10_000, 40, 576), (1,), "f16")
    geometry = collapse((10_000, 40, 576), (1,), ((577 * 40, 577, 1),), [(576, 1)])
    choice = choose(replace(task, geometry=geometry))
    assert (choice.facts.access, choice.facts.by_row, choice.facts.flat) == (("unaligned",), False, True)


@pytest.mark.parametrize(
    ("t", "unrolls"), [("f32", (1, 1, 1, 2, 2, 2, 4, 4, 4)), ("f64", (1, 1, 1, 2, 2, 2, 4, 4, 4)),
                       ("bf16", (1, 2, 4, 2, 2, 2, 4, 4, 4))],
)  # fmt: skip
def test_half_of_few_rows_are_in_flight(t: str, unrolls: tuple[int, ...]) -> None:
    """Fewer where the rest would be more than half a step, and up to three rows of narrow elements at once."""
    assert tuple(alone("max", t, rows).plan.unroll for rows in range(1, 10)) == unrolls


def test_states_of_wide_ctas_are_fewer() -> None:
    """As many CTAs as are resident, in place of twice as many."""
    assert choose(simple("sum", (1 << 20, 64), (0,), "f32")).run.split == 256
