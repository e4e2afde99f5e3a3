"""Rows that the grid shares: which, and how much of them waits where."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F16, F32, I8, DType
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.shared_memory import shared_bytes
from warpfold.compiler.planner.layouts import rows_abreast
from warpfold.compiler.planner.resident import grid, grid_facts, grid_periods
from warpfold.compiler.planner.resident.choose import choose
from warpfold.compiler.planner.task import Notes
from warpfold.compiler.program.graph import Program
from warpfold.compiler.program.values import cast
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import layer_norm, operand, softmax, task_of, total

H100 = TARGETS["sm_90a"]
M = 1 << 20


def _long(shape: tuple[int, int], t: Any = np.float32) -> Any:
    """An array of zeros that takes no memory."""
    item = np.dtype(t).itemsize
    return np.lib.stride_tricks.as_strided(np.zeros(4, t), shape, (item * shape[1], item))


def _choice(program: Program, shape: tuple[int, int], t: DType = F32, kept: int = 0, plan: str = "") -> Any:
    """The choice for an array, and a result, of the size of a row each: they take no memory."""
    x = _long(shape, t.numpy)
    return choose(task_of(program, [x, x], (kept,), H100), plan)


def _is_shared(program: Program, arrays: list[Any], kept: int = 0) -> bool:
    """Whether the planner has the grid share the rows. Where no plan keeps them, they are cut."""
    try:
        resident = choose(task_of(program, arrays, (kept,), H100)).plan.resident
    except PlanError as e:
        resident = str(e)
    assert resident in ("grid", "l2") or "WF423" in resident
    return resident == "grid"


def _scaled(t: DType = F32) -> Program:
    """An element needs few instructions."""
    x = operand(0, t)
    return Program("scaled", (t,), ((x * total(x)).expr,))


@pytest.mark.parametrize("t", [F32, F16])
@pytest.mark.parametrize(
    ("rows", "megabytes", "waits"),
    [
        (1, 1, False),
        (1, 2, True),
        (1, 128, True),
        (1, 130, False),
        (16, 64, True),
        (16, 66, False),
        (22, 40, True),
        (29, 50, False),
    ],
)
def test_rows_of_a_few_megabytes_are_shared_by_the_grid(rows: int, megabytes: int, waits: bool, t: DType) -> None:
    """With more in all, 16 rows wait in the L2 cache; 29 rows would leave 16 of 132 CTAs without a part."""
    x = _long((rows, megabytes * M // t.itemsize // rows // 8 * 8), t.numpy)
    assert _is_shared(softmax(t), [x, x]) == waits
    if waits:
        run = _choice(softmax(t), x.shape, t).run
        assert 0.9 * H100.sms <= run.tiles * run.split <= H100.sms


def test_large_arrays_wait_in_registers_too_if_an_element_needs_few_instructions() -> None:
    """Others have more warps; of the largest a part waits in the L2 cache, and the rest is read again."""
    for megabytes, heavy, light in (
        (32, (16, 0, 0), (16, 0, 0)),
        (40, (32, 0, 0), (16, 0, 0)),
        (64, (32, 0, 0), (16, 16, 0)),
        (96, (32, 0, 15), (16, 16, 0)),
    ):
        shape = 1, megabytes * M // 4
        plans = [_choice(program, shape).plan for program in (softmax(), _scaled())]
        assert [(p.warps, p.in_registers, p.in_cache) for p in plans] == [heavy, light]
        assert {p.resident for p in plans} == {"grid"}
    assert _choice(_scaled(F16), (1, 32 * M), F16).plan.in_registers == 8


def test_a_cta_keeps_what_its_shared_memory_has_room_for() -> None:
    choice = _choice(softmax(), (1, 16 * M), plan="resident=grid,warps=16")
    states = shared_bytes(choice.plan, 8)
    assert choice.plan.held == (H100.shared_per_cta - states) // (512 * 16)
    with pytest.raises(PlanError, match=r"WF429: resident=grid: .* sm_90a gives 232448"):
        _choice(softmax(), (1, 16 * M), plan=f"resident=grid,warps=16,held={choice.plan.held + 1}")


def test_columns_are_shared_if_they_are_read_by_whole_accesses() -> None:
    x = _long((8 * M // 5793, 5793))  # whose strips would leave too many CTAs without work
    assert choose(task_of(_scaled(), [x, x], (1,), H100)).plan.resident == "registers"
    for columns in (64, 1001):
        x = _long((8 * M // columns, columns))
        assert _is_shared(_scaled(), [x, x], 1)
        asked = choose(task_of(_scaled(), [x, x], (1,), H100), "resident=grid").plan
        assert (asked.resident, asked.fast) == ("grid", "kept")


def test_long_rows_that_begin_anywhere_are_shared() -> None:
    for rows, columns, waits in (
        (1, 16 * M - 1, True),
        (2, 8 * M - 1, True),
        (1, 11 * M - 1, False),
        (16, M - 1, False),
    ):
        x = _long((rows, columns))
        assert _is_shared(_scaled(), [x, x]) == waits
    for columns, resident in ((M - 1, "grid"), (M // 4 - 1, "shared")):  # elements that compute for longer
        assert _choice(softmax(), (16 * M // columns, columns)).plan.resident == resident
    found = _choice(_scaled(), (1, 16 * M - 1))
    assert (found.plan.in_registers, found.facts.access) == (0, ("shifted",))


def test_rows_of_one_array_that_begin_anywhere_wait_in_the_cache_as_long_as_it_holds_them() -> None:
    """If they are folded once, elements compute for longer, and a CTA has one row."""
    x, y = operand(0, F32), operand(1, F32)
    once = Program("once", (F32,), (wf.exp(x - total(x)).expr,))
    for rows, columns, resident in (
        (16, M, "l2"),
        (12, M + M // 4, "l2"),
        (4, 13 * M // 4, "grid"),
        (24, M * 5 // 8, "grid"),
    ):
        assert _choice(once, (rows, columns - 1)).plan.resident == resident
    assert _choice(softmax(), (16, M - 1)).plan.resident == "grid"
    row = _long((16, M // 2 - 1))
    assert _is_shared(Program("both", (F32, F32), (wf.exp(x + y - total(x * y)).expr,)), [row, row, row])


def test_weights_count_with_the_rows() -> None:
    for columns, waits in ((8 * M, True), (12 * M, False)):
        x, w = _long((2, columns)), _long((1, columns))
        assert _is_shared(layer_norm(), [x, w, w, x]) == waits


@pytest.mark.parametrize(
    ("rows", "columns", "kept"),
    [
        (64, M // 4, 2),
        (7, 2 * M, 2),
        (4, 4 * M, 2),
        (3, 4 * M, 1),
        (16, M // 2, 1),
    ],  # the last ones: one row lacks, few
)
def test_pairs_of_rows_share_a_cta_and_their_weights(rows: int, columns: int, kept: int) -> None:
    x, w = _long((rows, columns)), _long((1, columns))
    plan = choose(task_of(layer_norm(), [x, w, w, x], (0,), H100)).plan
    assert (plan.resident, plan.warps_kept, plan.warps * kept) == ("grid", kept, grid.WARPS)
    alone = choose(task_of(_scaled(), [x, x], (0,), H100), "resident=grid").plan
    assert alone.warps_kept == 1


@pytest.mark.parametrize(
    ("rows", "kept", "ctas"),
    [
        (22, 1, 132),
        (23, 2, 132),  # alone 115, and a row lacks: 126.5 of work
        (24, 2, 132),
        (28, 2, 126),
        (30, 1, 120),  # 8 of a CTA would be 3 % better
        (40, 4, 130),  # alone and in pairs 120
    ],
)
def test_several_rows_share_a_cta_where_more_ctas_have_work_then(rows: int, kept: int, ctas: int) -> None:
    found = _choice(softmax(), (rows, 16 * M // rows // 4 * 4))
    assert (found.plan.resident, found.plan.warps_kept, found.plan.warps * kept) == ("grid", kept, grid.MANY_WARPS)
    assert found.run.tiles * found.run.split == ctas


@pytest.mark.parametrize(("rows", "waits"), [(7, True), (17, False), (19, False), (24, True), (36, True), (38, False)])
def test_rows_that_begin_anywhere_have_nearly_all_ctas(rows: int, waits: bool) -> None:
    x = _long((rows, 16 * M // rows // 4 * 4 - 1))
    assert _is_shared(softmax(), [x, x]) == waits


def _thrice(t: DType = F32) -> Program:
    """Three folds of a row, whose states have 12 bytes."""
    x = operand(0, t)
    y = x - total(x)
    z = x - total(y)
    return Program("thrice", (t,), ((x * total(z)).expr,))


@pytest.mark.parametrize(("program", "t", "least"), [(softmax, F16, 2), (_thrice, F32, 16), (_thrice, F16, 24)])
def test_small_arrays_wait_elsewhere(program: Any, t: DType, least: int) -> None:
    """Larger states take longer to combine, and narrow elements longer to compute."""
    for megabytes in (least, least - 0.5):
        x = _long((1, int(megabytes * M) // t.itemsize), t.numpy)
        assert _is_shared(program(t), [x, x]) == (megabytes == least)


@pytest.mark.parametrize(
    ("columns", "t", "abreast"),
    [(1024, F32, 0), (1000, F32, 4), (100, F32, 8), (1024, F16, 0), (1000, F16, 8), (100, F16, 16), (1002, F16, 1)],
)
def test_rows_that_are_no_whole_lines_lie_abreast(columns: int, t: DType, abreast: int) -> None:
    """Of 1,002 columns accesses go on from one row in the next, in strips of less than a row."""
    x = _long((32 * M // columns // t.itemsize + 1, columns), t.numpy)
    found = choose(task_of(softmax(t), [x, x], (1,), H100)).plan
    assert (found.resident, found.abreast) == ("grid", abreast)


@pytest.mark.parametrize(
    ("shape", "t", "tiles"),
    [
        ((8 * M // 3, 3), F32, 132),
        ((12 * M // 3, 3), F16, 132),
        ((1000, 256, 49), F32, 129),  # channels of images of 7 x 7
        ((700, 256, 49), F32, 0),  # which are held by clusters where they are short
        ((8 * M // 1001, 1001), F32, 126),  # strips of less than a row
        ((8 * M // 1501, 1501), F32, 118),  # of 512 columns, since narrower ones leave too many CTAs without work
        ((32 * M // 8191, 8191), F16, 128),
        ((64 * M // 8191, 8191), F16, 128),  # of which less than a quarter waits on chip
        ((2048, 16383), F16, 128),  # threads that have columns alone
        ((1000, 33554), F16, 0),  # pairs that overlap in registers
        ((8000, 1001), F16, 126),  # few bytes, which no clusters hold
        ((2000, 1001), F16, 0),
        ((12595, 333), F32, 125),  # few bytes, of which clusters hold tiles of one sector
        ((3142, 1001), F32, 0),
        ((4096, 1537), F32, 0),  # two waves of clusters
        ((4096, 4097), F32, 129),  # five waves, and a short one
        ((16 * M // 8191, 8191), F32, 0),  # tiles of registers overlap
        ((170, 256, 196), F32, 0),  # whole accesses lie in the channels
        ((10, 16000, 49), F32, 0),  # a period is larger than a wide row
        ((16 * M // 12, 12), F16, 0),  # whole accesses of few bytes
        ((32 * M // 12, 12), F16, 132),
        ((8 * M // 18, 18), F32, 0),  # rows of half accesses lie abreast
        ((16 * M // 18, 18), F32, 132),
        ((16 * M // 18, 18), F16, 0),
        ((8 * M // 14, 14), F32, 132),
        ((3360, 100, 25), F32, 0),  # each CTA would read 82 KB of states, and clusters hold the channels
        ((4500, 100, 25), F32, 127),
    ],
)
def test_accesses_go_on_from_one_column_in_the_next(shape: tuple[int, ...], t: DType, tiles: int) -> None:
    item, strides = t.itemsize, [t.itemsize]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    x = np.lib.stride_tricks.as_strided(np.zeros(4, t.numpy), shape, strides)
    assert strides[-1] == item
    task = task_of(softmax(t), [x, x], (1,), H100)
    found = grid_periods.plan(task, Notes())
    assert (found is not None) == (tiles > 0)
    if found:
        wide = rows_abreast.as_read(task, found)
        assert wide is not None
        assert grid_facts.launch(wide, found).tiles == tiles
        assert wide.geometry.n_kept % (wide.geometry.period or 1) == 0


@pytest.mark.parametrize(
    ("shape", "abreast"), [((4500, 100, 5, 5), 0), ((5000, 64, 5, 5), 0), ((2400, 96, 7, 7), 1), ((9000, 30, 5, 5), 1)]
)
def test_channels_whose_states_are_many_are_held_by_clusters(shape: tuple[int, ...], abreast: int) -> None:
    steps = wf.standardize._planned([(shape, "f32")], {"axis": (0, 2, 3)}, "sm_90a").prepared.steps
    assert [s.prepared.choice.plan.abreast for s in steps] == [abreast]


@pytest.mark.parametrize(
    ("count", "result", "reason"),
    [
        (30 * M, I8, "accesses of 4 bytes take longer to compute than a second read takes"),
        (30 * M, F32, ""),
        (90 * M, F32, "18923520 of 94371840 bytes would wait on chip"),
    ],
)
def test_why_bytes_do_not_go_on_in_the_next_column(count: int, result: DType, reason: str) -> None:
    shape = (count // 3, 3)
    x, y = (
        np.lib.stride_tricks.as_strided(np.zeros(4, t.numpy), shape, (3 * t.itemsize, t.itemsize)) for t in (I8, result)
    )
    wide = cast(operand(0, I8), F32)
    centred = Program("centred", (I8,), (cast(wide - total(wide), result).expr,))
    notes = Notes()
    found = grid_periods.plan(task_of(centred, [x, y], (1,), H100), notes)
    assert (found is None, notes.rejected) == (bool(reason), [("abreast", reason)] if reason else [])
