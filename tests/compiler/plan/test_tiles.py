"""Tiles: the unit of a copy, how many units fit, and that a CTA copies what its results need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layouts import Layout, strides_of
from ownership import check_tiles
from tasks import simple, task_of, tasks, traced
from tiling import check_tile, results_of, told

from warpfold.compiler.dtypes import F32, F64, I8, DType
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan import tiles
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.plan.tiles import DENSE, EDGE, SECTOR, Unit
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Task
from warpfold.compiler.space.geometry import Geometry, collapse
from warpfold.compiler.target import DEFAULT

KIBIBYTE = Plan(lanes=1, tile_bytes=1024)


def geometry(shape: tuple[int, ...], axes: tuple[int, ...], *inputs: tuple[int, ...]) -> Geometry:
    """The geometry of inputs with these strides; contiguous inputs by default."""
    kept = [n for a, n in enumerate(shape) if a not in axes]
    plain = [strides_of(dims, range(len(dims)), [1] * len(dims)) for dims in (shape, kept)]
    return collapse(shape, axes, inputs or (plain[0],), (plain[1],))


@pytest.mark.parametrize(
    ("shape", "axes", "strides", "unit", "results"),
    [
        ((9, 5), (1,), (5, 1), Unit(5, 5, 5), 1),
        ((9, 5), (1,), (8, 1), Unit(8, 5, 5), 1),  # sliced rows: what lies between them belongs to no unit
        ((9, 5), (1,), (20, 2), Unit(20, 9, 5), 1),  # every other element
        ((9, 5, 3), (1,), (15, 3, 1), Unit(15, 15, 15), 3),  # a middle axis: the rows of three results
        ((9, 5, 3), (1,), (30, 6, 1), Unit(30, 27, 15), 3),
        ((9, 4, 5, 3), (1, 3), (60, 15, 3, 1), Unit(60, 60, 60), 5),
        ((9, 5), (1,), (1, 0), Unit(1, 1, 1), 1),  # one element, reduced five times
        ((9, 5), (1,), (-5, 1), Unit(5, 5, 5), 1),  # rows in falling order are walked from the last one
        ((9, 5), (1,), (1, 9), None, 1),  # columns: a unit would span all of them
        ((9, 5), (1,), (3, 1), None, 1),  # rows that overlap
        ((9, 5), (1,), (0, 1), None, 1),  # all units are one
        ((5,), (0,), (1,), Unit(5, 5, 5), 1),  # one unit, of the whole array
        ((9, 0), (1,), (0, 1), Unit(1, 0, 1), 1),  # an empty one
        ((9,), (), (1,), Unit(1, 1, 1), 1),  # nothing is reduced: an element a result
    ],
)
def test_the_unit_of_a_layout(
    shape: tuple[int, ...], axes: tuple[int, ...], strides: tuple[int, ...], unit: Unit | None, results: int
) -> None:
    g = geometry(shape, axes, strides)
    assert (tiles.unit(g, 0), tiles.results(g)) == (unit, results)


def test_units_of_all_inputs_follow_the_dims_of_the_first() -> None:
    """Dims are in the order of the first input; another input may be transposed or walked backwards."""
    g = geometry((9, 5), (1,), (5, 1), (1, 9), (-5, 1), (5, -1), (0, 1))
    assert [tiles.unit(g, i) for i in range(5)] == [Unit(5, 5, 5), None, None, None, None]


def _groups(
    shape: tuple[int, ...], axes: tuple[int, ...], strides: tuple[int, ...], item: int, *, written: bool
) -> Any:
    """The groups of rows of an array, which is read, or ``written`` beside a dense one."""
    plain = strides_of(shape, range(len(shape)), [1] * len(shape))
    g = geometry(shape, axes, plain if written else strides, strides)
    return tiles.groups(g, {0: item, 1: item}, (1,) if written else ())


@pytest.mark.parametrize(
    ("shape", "axes", "strides", "rows", "unit"),
    [
        ((9, 5), (1,), (5, 1), 1, Unit(5, 5, 5)),
        ((9, 4, 5), (2,), (20, 5, 1), 1, Unit(5, 5, 5)),
        ((9, 5, 3), (1,), (15, 3, 1), 3, Unit(15, 15, 15)),
        ((9, 4, 5, 3), (1, 3), (60, 15, 3, 1), 5, Unit(60, 60, 60)),
        ((9, 4, 5, 3), (2,), (60, 15, 3, 1), 3, Unit(15, 15, 15)),
        ((9, 5), (1,), (6, 1), 1, Unit(6, 5, 5)),  # a short gap
        ((9, 5, 3), (1,), (16, 3, 1), 3, Unit(16, 15, 15)),
        ((9, 5, 3), (1,), (20, 4, 1), 3, Unit(20, 19, 15)),
        ((9, 500), (1,), (600, 1), 1, Unit(600, 500, 500)),  # a longer one of longer rows
    ],
)
def test_groups_of_rows(
    shape: tuple[int, ...], axes: tuple[int, ...], strides: tuple[int, ...], rows: int, unit: Unit
) -> None:
    found = _groups(shape, axes, strides, 4, written=False)
    assert (found.rows, found.units[1]) == (rows, unit)
    dense = unit.count == unit.stride
    assert (_groups(shape, axes, strides, 4, written=True) is not None) == dense


def test_rows_that_are_in_no_group() -> None:
    for shape, axes, strides in (
        ((5, 9), (0,), (9, 1)),  # one group
        ((9, 500), (1,), (800, 1)),  # gaps of many sectors
        ((9, 5), (1,), (3, 1)),  # rows that overlap
        ((9, 3), (1,), (30, 10)),  # elements that are far apart
    ):
        assert _groups(shape, axes, strides, 4, written=False) is None


def test_the_number_of_units_that_fit_a_tile() -> None:
    """The aligned accesses at both ends of a copy take at most EDGE bytes beyond the elements."""
    for n in range(1, 300):
        g = geometry((1000, n), (1,))
        fit = (1024 - EDGE) // (4 * n)
        assert tiles.units(KIBIBYTE, g, (F32,)) == (fit // SECTOR * SECTOR if fit >= 8 * SECTOR else fit)


def test_the_results_of_a_tile_fill_whole_sectors() -> None:
    """Results of few elements are written side by side; CTAs should not share a sector."""
    found = [tiles.units(replace(KIBIBYTE, tile_bytes=16384), geometry((10**5, n, 3), (1,)), (I8,)) for n in (1, 2, 9)]
    assert all(units % SECTOR == 0 for units in found)
    assert [units * 3 * n > 16384 - EDGE - 3 * n * SECTOR for units, n in zip(found, (1, 2, 9), strict=True)] == [
        True
    ] * 3


@pytest.mark.parametrize(("gap", "served"), [(0, True), (1, True), (3, True), (4, False), (9, False)])
def test_units_with_wide_gaps_are_not_copied(gap: int, served: bool) -> None:
    """Nine elements and a gap; a copy would read the gap as well."""
    assert (9 / (9 + gap) >= DENSE) == served
    assert (tiles.units(KIBIBYTE, geometry((9, 9), (1,), (9 + gap, 1)), (F32,)) > 0) == served
    assert (tiles.units(KIBIBYTE, geometry((9, 9, 4), (1,), (4 * (9 + gap), 4, 1)), (F32,)) > 0) == served


def test_inputs_share_a_tile_by_the_size_of_their_elements() -> None:
    items = [4, 1, 4]
    assert [tiles.share(KIBIBYTE, items, [True, True, False], i) for i in (0, 1)] == [816, 192]
    assert tiles.share(KIBIBYTE, items, [False, False, True], 2) == 1024
    g = geometry((1000, 10), (1,), (10, 1), (10, 1), (0, 1))
    assert tiles.units(KIBIBYTE, g, (F32, I8, F32)) == min((816 - EDGE) // 40, (192 - EDGE) // 10)


def test_an_input_of_another_layout_that_cannot_be_copied_forbids_a_tile() -> None:
    """All results share weights; in a transposed array each result has elements of its own."""
    assert tiles.units(KIBIBYTE, geometry((9, 5), (1,), (5, 1), (0, 1)), (F32, F32)) > 0
    assert tiles.units(KIBIBYTE, geometry((9, 5), (1,), (5, 1), (1, 9)), (F32, F32)) == 0
    assert tiles.units(KIBIBYTE, geometry((9, 5), (1,), (0, 1), (0, 1)), (F32, F32)) == 0  # nothing to copy at all


@pytest.mark.parametrize(("n", "t", "fits"), [(248, F32, 1), (249, F32, 0), (124, F64, 1), (125, F64, 0), (992, I8, 1)])
def test_a_unit_that_just_fits(n: int, t: DType, fits: int) -> None:
    assert tiles.units(KIBIBYTE, geometry((7, n), (1,)), (t,)) == fits
    assert tiles.units(KIBIBYTE, geometry((n,), (0,)), (t,)) == fits


@pytest.mark.parametrize(("shape", "each", "ctas"), [((9, 5), 4, 3), ((8, 5), 4, 2), ((1, 5), 4, 1), ((9, 5, 3), 9, 1)])
def test_the_number_of_units_of_a_cta(shape: tuple[int, ...], each: int, ctas: int) -> None:
    assert tiles.ctas(geometry(shape, (1,)), each) == ctas


# --- what a kernel is told ---
def asked(task: Task, options: str) -> Any:
    """The choice with a tile; a layout that has none does not count as an example."""
    try:
        return choose(task, options)
    except PlanError as e:
        assume(e.code != "WF418")
        raise


@settings(max_examples=160)
@given(tasks(), st.sampled_from([256, 1024, 4096, 16384]), st.sampled_from([1, 4, 32]), st.sampled_from([1, 8]))
def test_a_copy_holds_the_elements_of_its_results(task: Task, room: int, lanes: int, warps: int) -> None:
    """In any layout each result has one CTA, which copies all its elements and reads nothing outside the array."""
    assume(task.geometry.n_kept * task.geometry.n_reduced)
    choice = asked(task, f"tile_bytes={room},lanes={lanes},warps_kept={warps}")
    results = results_of(task, choice)
    assert results is not None
    check_tile(task, choice)
    check_tiles(choice.plan, choice.run.tiles, results, task.geometry.n_kept)


def test_the_arguments_for_rows_that_do_not_fill_the_last_tile() -> None:
    """100 rows of 10 elements, 24 rows a CTA: tiles are 240 elements apart and hold 240, of 1000 in all."""
    task = simple("sum", (100, 10), (1,))
    choice = choose(task, "tile_bytes=1024")
    assert (choice.run.tiles, choice.run.units) == (5, 24)
    roles = ("tile_results", "tile_pitch", "tile_length", "tile_extent")
    assert [told(task, choice, role) for role in roles] == [24, 240, 240, 1000]


def test_gaps_after_the_last_row_are_outside_the_array() -> None:
    layout = Layout((100, 10), (1,), ((12, 1),), ((1,),))
    task = task_of(traced("sum", F32), layout, (1, 0), DEFAULT, DEFAULT.sms)
    choice = choose(task, "tile_bytes=1024")
    each = choice.run.units
    roles = ("tile_pitch", "tile_length", "tile_extent")
    assert [told(task, choice, role) for role in roles] == [12 * each, 12 * each - 2, 99 * 12 + 10]


@pytest.mark.parametrize("shape", [(7, 0), (0, 7), (0, 0), (7, 0, 3), (1, 0)])
def test_nothing_is_copied_of_an_empty_array(shape: tuple[int, ...]) -> None:
    task = simple("sum", shape, (1,))
    choice = choose(task, "tile_bytes=1024")
    if not task.geometry.n_reduced:
        roles = ("tile_pitch", "tile_length", "tile_extent")
        assert [told(task, choice, role) for role in roles] == [0, 0, 0]
