"""Which rows go through a tile of shared memory, and how many threads they have there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F16, F32, I8
from warpfold.compiler.plan.plan import STATIC_TILE, Plan
from warpfold.compiler.plan.shared_memory import shared_bytes, waiting_bytes
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.resident import banks, tile_sizes, tiled
from warpfold.compiler.planner.task import Choice, Task
from warpfold.compiler.program.graph import SCALAR, Program
from warpfold.compiler.program.values import cast
from warpfold.compiler.space.geometry import Dim, Geometry

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import layer_norm, operand, scaled, softmax, task_of, total

MANY = 1 << 18


def _rows(rows: int, columns: int, dtype: Any, pitch: int = 0) -> Any:
    """Rows of any number, of one piece of memory."""
    item = np.dtype(dtype).itemsize
    return np.lib.stride_tricks.as_strided(np.zeros(16, dtype), (rows, columns), ((pitch or columns) * item, item))


def _choice(rows: int, columns: int, dtype: Any = np.float16, pitch: int = 0, **how: Any) -> Choice:
    x = _rows(rows, columns, dtype, pitch)
    return choose(task_of(softmax(F16 if dtype == np.float16 else F32), [x, x], (0,), **how))


def _waits(plan: Plan, columns: int, item: int) -> int:
    """For how many words of a bank the lanes of a warp ask at a time, where dense rows have so many columns."""
    g = Geometry((Dim(MANY, (columns,)),), (Dim(columns, (1,)),), (0,))
    return banks.waits(plan, g, 0, item)


@pytest.mark.parametrize("columns", [2, 3, 33, 77, 100, 255, 1001, 4097])
def test_many_rows_of_odd_lengths_go_through_a_tile(columns: int) -> None:
    found = _choice(MANY, columns)
    assert (found.plan.tile_bytes > 0, found.facts.access, found.facts.stores) == (True, ("tile",), ("tile",))
    assert found.plan.held <= tiled.HELD
    assert found.run.units % found.plan.slots == 0


def test_other_rows_do_not() -> None:
    assert not _choice(MANY, 64).plan.tile_bytes  # whole accesses
    assert not _choice(MANY, 33, pitch=34).plan.tile_bytes  # with gaps, which are not written
    assert not _choice(30, 33).plan.tile_bytes  # too few
    assert not _choice(MANY, 33, determinism="portable").plan.tile_bytes
    assert not _choice(MANY, 30001).plan.tile_bytes  # too long
    assert not _choice(MANY, 2001, np.float32).plan.tile_bytes  # long rows of words, with nothing beside


@pytest.mark.parametrize(
    ("n", "inner", "fast"), [(4, 3, "kept"), (21, 3, "kept"), (64, 3, "kept"), (1000, 3, "kept"), (21, 49, "kept")]
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_groups_of_rows_go_through_a_tile(n: int, inner: int, fast: str, dtype: Any) -> None:
    found = choose(_middle(n, inner, dtype))
    access = ("tile_strided",)
    assert (found.plan.tile_bytes > 0, found.plan.fast, found.facts.access, found.facts.stores) == (
        True, fast, access, access,
    )  # fmt: skip
    assert found.run.units % inner == 0
    item, g = np.dtype(dtype).itemsize, _middle(n, inner, dtype).geometry
    assert banks.waits(found.plan, g, 0, item) <= tiled.MOST_WAITS


@pytest.mark.parametrize(
    ("n", "inner", "dtype"),
    [(256, 49, np.float32), (100, 77, np.float32), (1000, 7, np.float32)],
)
def test_larger_groups_have_a_large_tile(n: int, inner: int, dtype: Any) -> None:
    """Each thread has one row, so results lie where inputs did: the tile holds a group once."""
    found = choose(_middle(n, inner, dtype))
    assert found.plan.is_large_tile
    assert STATIC_TILE // 2 < n * inner * np.dtype(dtype).itemsize < found.plan.tile_bytes
    assert inner == found.run.units <= found.plan.slots
    assert (waiting_bytes(found.plan, found.facts, ()), shared_bytes(found.plan, 8)) == (found.plan.tile_bytes, 0)


@pytest.mark.parametrize(
    ("n", "inner", "dtype", "tile", "lanes", "cluster"),
    [
        (256, 49, np.float16, 25, 4, 1),
        (512, 33, np.float16, 34, 4, 1),
        (1000, 49, np.float16, 24, 4, 4),
        (3000, 7, np.float16, 42, 32, 1),
        (1000, 49, np.float32, 48, 4, 4),
        (500, 101, np.float16, 50, 2, 2),  # four CTAs would have 125 elements of each row
    ],
)
def test_groups_wait_in_tiles_of_a_cta_or_of_a_cluster(
    n: int, inner: int, dtype: Any, tile: int, lanes: int, cluster: int
) -> None:
    found = choose(_middle(n, inner, dtype))
    assert found.plan.waits_in_tile
    assert (found.plan.tile_bytes, found.plan.lanes, found.plan.warps) == (tile << 10, lanes, 1)
    assert (found.plan.cluster, found.run.split) == (cluster, cluster)
    assert any(f"{cluster} CTAs copy parts of groups" in reason for reason in found.reasons) == (cluster > 1)
    assert (found.facts.access, found.facts.stores, found.run.units) == (("tile_strided",), ("tile_strided",), inner)
    assert waiting_bytes(found.plan, found.facts, ()) == tile << 10


def test_results_of_groups_that_wait_go_back_through_the_tile() -> None:
    """A cluster holds a group and its wider results; where these lie otherwise than the elements, registers do."""
    x, y = (_group(300, 33, dtype) for dtype in (np.float16, np.float32))
    wide = operand(0, F16)
    program = Program("widened", (F16,), ((cast(wide, F32) / total(cast(wide, F32))).expr,))
    found = choose(task_of(program, [x, y], (0, 2)))
    assert (found.plan.waits_in_tile, found.plan.cluster, found.facts.stores) == (True, 2, ("tile_strided",))
    centred = Program("centred", (I8,), (cast(cast(operand(0, I8), F32) / total(cast(operand(0, I8), F32)), I8).expr,))
    octets = choose(task_of(centred, [_group(1000, 33, np.int8)] * 2, (0, 2)))
    assert (octets.plan.threads, octets.plan.lanes, octets.plan.cluster) == (512, 8, 1)
    across = np.lib.stride_tricks.as_strided(x, x.shape, (x.strides[0], 2, 600))
    assert not choose(task_of(softmax(F16), [x, across], (0, 2))).plan.waits_in_tile


def test_groups_that_have_no_tile() -> None:
    assert not choose(_middle(21, 8, np.float16)).plan.tile_bytes  # whole accesses
    assert not choose(_middle(3000, 49, np.float32)).plan.tile_bytes  # too large
    assert not choose(_middle(64, 196, np.float16)).plan.tile_bytes  # columns have accesses of 8 bytes
    assert not choose(_middle(256, 33, np.float16)).plan.tile_bytes  # most of a large tile would be empty
    assert not choose(_middle(21, 3, np.float16, groups=30)).plan.tile_bytes  # too few
    assert not choose(_middle(21, 3, np.float16, determinism="portable")).plan.tile_bytes


def _middle(n: int, inner: int, dtype: Any, groups: int = MANY, **how: Any) -> Task:
    """A softmax along a middle axis."""
    x = _group(n, inner, dtype, groups)
    return task_of(softmax(F16 if dtype == np.float16 else F32), [x, x], (0, 2), **how)


def _group(n: int, inner: int, dtype: Any, groups: int = MANY) -> Any:
    """Groups of ``inner`` rows of ``n`` elements, of one piece of memory."""
    item = np.dtype(dtype).itemsize
    strides = (n * inner * item, inner * item, item)
    return np.lib.stride_tricks.as_strided(np.zeros(16, dtype), (groups, n, inner), strides)


def test_rows_with_small_gaps_are_copied_with_these() -> None:
    x, y = _rows(MANY, 33, np.float16, 34), _rows(MANY, 33, np.float16)
    found = choose(task_of(softmax(F16), [x, y], (0,)))
    assert (found.plan.tile_bytes > 0, found.facts.access, found.facts.stores) == (True, ("tile",), ("tile",))
    far = choose(task_of(softmax(F16), [_rows(MANY, 33, np.float16, 80), y], (0,)))
    assert not far.plan.tile_bytes


def test_a_map_of_rows_of_odd_lengths_goes_through_a_tile() -> None:
    x, w, k = _rows(MANY, 3, np.float32), np.zeros((1, 3), np.float32), np.zeros((1, 1), np.float32)
    found = choose(task_of(scaled(SCALAR), [x, w, k, x], (0,)))
    assert (found.plan.tile_bytes > 0, found.facts.access[0], found.facts.stores) == (True, "tile", ("tile",))


def test_long_rows_of_words_with_weights_go_through_a_tile() -> None:
    x, w, mean = _rows(MANY, 2001, np.float32), np.zeros((1, 2001), np.float32), _rows(MANY, 1, np.float32)
    found = choose(task_of(layer_norm(), [x, w, w, x, mean], (0,)))
    assert found.plan.tile_bytes
    assert found.facts.access == ("tile", "aligned", "aligned")  # weights at constant distances
    assert found.facts.stores == ("tile", "kept")


@pytest.mark.parametrize(("columns", "threads"), [(10_001, 256), (12_501, 256), (13_001, 512)])
def test_a_row_has_more_threads_than_a_cta_of_eight_warps_only_if_it_must(columns: int, threads: int) -> None:
    assert _choice(MANY, columns).plan.threads == threads


@pytest.mark.parametrize(("columns", "warps"), [(1283, 1), (2047, 1), (3001, 2), (7001, 4)])
def test_a_warp_has_more_elements_of_rows_that_have_a_scale(columns: int, warps: int) -> None:
    steps = wf.quantize._planned([((MANY, columns), "bf16")], {"axis": -1}, "sm_90a").prepared.steps
    assert [(s.prepared.choice.plan.warps, s.prepared.choice.plan.warps_kept) for s in steps] == [(warps, 1)]


@pytest.mark.parametrize("columns", range(2, 400, 7))
@pytest.mark.parametrize(("dtype", "item", "most"), [(np.float16, 2, tiled.MOST_WAITS), (np.float32, 4, 1)])
def test_lanes_hardly_wait_for_a_bank(columns: int, dtype: Any, item: int, most: int) -> None:
    plan = _choice(MANY, columns, dtype).plan
    assert not plan.tile_bytes or _waits(plan, columns, item) <= most


@pytest.mark.parametrize(("columns", "lanes"), [(129, 4), (257, 8), (321, 16), (641, 32)])
def test_rows_of_halves_have_few_lanes_rather_than_none_that_waits(columns: int, lanes: int) -> None:
    assert _choice(MANY, columns).plan.lanes == lanes


@pytest.mark.parametrize(
    ("n", "dtype", "tile", "fast", "lanes", "kept"),
    [
        (23, np.float32, 0, "reduced", 1, 4), (25, np.float32, 8, "kept", 1, 2), (127, np.float32, 16, "reduced", 4, 4),
        (201, np.float16, 8, "kept", 8, 2), (1001, np.float16, 8, "kept", 32, 4),
    ],
)  # fmt: skip
def test_rows_of_which_nothing_is_written(n: int, dtype: Any, tile: int, fast: str, lanes: int, kept: int) -> None:
    """A thread reads a short one where it is; of longer ones a small tile holds one for each thread."""
    x = cast(operand(0, F16 if dtype == np.float16 else F32), F32)
    deviation = Program("deviation", (F16 if dtype == np.float16 else F32,), (total(abs(x - total(x))).expr,))
    plan = choose(task_of(deviation, [_rows(MANY, n, dtype), np.zeros((MANY, 1), np.float32)], (0,))).plan
    assert (plan.tile_bytes >> 10, plan.fast, plan.lanes, plan.warps_kept) == (tile, fast, lanes, kept)


def test_a_tile_holds_enough_rows_of_two_elements() -> None:
    assert _choice(MANY, 2).plan.tile_bytes == tile_sizes.LEAST_TILE


def test_lanes_wait_where_rows_lie_a_multiple_of_all_banks_apart() -> None:
    plan = _choice(MANY, 33, np.float32).plan
    assert (plan.lanes, _waits(plan, 33, 4), _waits(plan, 32, 4)) == (1, 1, 32)


def test_elements_of_several_sizes_have_few_lanes_that_may_wait() -> None:
    x = operand(0)
    program = Program("halved", (F32,), (cast(x / total(x), F16).expr,))
    plan = choose(task_of(program, [_rows(MANY, 33, np.float32), _rows(MANY, 33, np.float16)], (0,))).plan
    assert plan.lanes == 1
    assert 1 < max(_waits(plan, 33, item) for item in (2, 4)) <= tiled.MOST_WAITS


def test_a_cta_takes_fewer_rows_where_ctas_would_not_fill_the_machine() -> None:
    few, many = _choice(1 << 16, 3), _choice(1 << 24, 3)
    assert few.run.units < many.run.units
    assert few.plan == many.plan
