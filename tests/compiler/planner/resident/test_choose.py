"""Plans of programs that read their rows again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F16, F32, DType
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.resident import l2
from warpfold.compiler.planner.resident.residency import owning
from warpfold.compiler.planner.task import Notes
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import layer_norm, operand, scaled, softmax, task_of, total

from warpfold.compiler.program.graph import KEPT, Program


def _plan(rows: int, columns: int, kept: int = 0, arch: str = "sm_90a", pitch: int = 0) -> object:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (rows, columns), ((pitch or columns) * 4, 4))
    return choose(task_of(softmax(), [x, x], (kept,), TARGETS[arch])).plan


@pytest.mark.parametrize(
    ("columns", "lanes", "warps", "held"),
    [
        (16, 4, 1, 1),
        (24, 4, 1, 2),
        (64, 8, 1, 2),
        (96, 8, 1, 3),
        (128, 16, 1, 2),
        (512, 32, 1, 4),
        (1024, 32, 2, 4),
        (4096, 32, 8, 4),
    ],
)
def test_a_row_gets_the_threads_that_keep_it_in_few_accesses(columns: int, lanes: int, warps: int, held: int) -> None:
    plan = _plan(1 << 16, columns)
    assert (plan.lanes, plan.warps, plan.held, plan.cluster) == (lanes, warps, held, 1)


def test_some_rows_have_a_lane_for_each_access() -> None:
    assert [_plan(1 << 16, 4 * n).lanes for n in (7, 9, 11, 23)] == [8, 4, 8, 16]
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (1 << 16, 64), (256, 4))
    added = Program("added", (F32, F32), ((operand(0) / total(operand(1))).expr,))
    assert choose(task_of(added, [x, x, x], (0,))).plan.lanes == 16  # two arrays
    portable = choose(task_of(softmax(), [x, x], (0,), determinism="portable")).plan
    assert portable.lanes == 16


def test_few_rows_get_more_threads_each() -> None:
    assert _plan(64, 1024).held < _plan(1 << 16, 1024).held


@pytest.mark.parametrize(
    ("shape", "t", "arrays", "expected"),
    [
        ((10000, 2047), "f32", 2, (1, 4)),
        ((10000, 4095), "f32", 2, (1, 8)),
        ((10000, 4096), "f32", 2, (4, 8)),  # no access is cut
        ((10000, 4095), "f32", 1, (4, 8)),
        ((10000, 4095), "f64", 2, (2, 8)),
        ((50, 4095), "f32", 2, (4, 8)),  # too few rows to fill the machine so
    ],
)
def test_rows_of_two_arrays_of_words_that_begin_anywhere_are_read_singly(
    shape: tuple[int, int], t: str, arrays: int, expected: tuple[int, int]
) -> None:
    function = wf.vjp(wf.softmax) if arrays == 2 else wf.softmax
    (step,) = function._planned(((shape, t),) * arrays, {}, "sm_90a").prepared.steps
    plan = step.prepared.choice.plan
    assert (plan.vector, plan.warps) == expected


def test_the_ctas_of_a_cluster_share_a_long_row() -> None:
    assert [_plan(1000, n).cluster for n in (8192, 16384, 32768, 65536)] == [1, 2, 4, 8]


def test_rows_in_runs_that_no_wide_access_divides() -> None:
    """Channels of gapped images of 7 x 7: in bf16 they are cut at the grid, and in f32 more CTAs share one."""

    def owned(t: DType, side: int, wanted: str = "") -> Any:
        item, n = t.itemsize, side * side
        strides = (257 * n * item, n * item, item)
        zeros = np.zeros(8, np.float16 if t == F16 else np.float32)
        x = np.lib.stride_tricks.as_strided(zeros, (1337, 256, n), strides)
        return owning(task_of(softmax(t), [x, x], (1,)), Notes(), wanted)

    assert owned(F16, 7) is None
    assert owned(F16, 7, "resident=shared").resident == "shared"
    assert owned(F16, 8).resident == "shared"
    assert (owned(F32, 7).resident, owned(F32, 7).cluster) == ("shared", 8)


def test_without_clusters_a_row_has_a_large_cta() -> None:
    plan = _plan(1000, 32768, arch="sm_80")
    assert plan.cluster == 1
    assert (plan.resident, plan.threads) == ("shared", 1024)


def test_rows_that_the_cache_does_not_hold_are_refused() -> None:
    with pytest.raises(
        PlanError, match=r"WF423: neither a CTA, a cluster nor the L2 cache can keep a row of 16777216 e"
    ):
        _plan(4, 1 << 24)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("rows", "columns", "kept"), [(64, 1 << 20, 0), (5, 1 << 22, 0), (20_000, 64, 1)])
def test_rows_that_no_cluster_holds_wait_in_the_cache(rows: int, columns: int, kept: int, arch: str) -> None:
    plan = _plan(rows, columns, kept, arch)
    assert plan.resident == "l2"
    assert plan.fast == ("kept" if kept else "reduced")
    assert plan.held * plan.threads * plan.vector * 4 == 32 << 10


def _long(shape: tuple[int, ...], t: type = np.float32) -> object:
    """An array of zeros that takes no memory."""
    strides = [np.dtype(t).itemsize * int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return np.lib.stride_tricks.as_strided(np.zeros(4, t), shape, strides)


@pytest.mark.parametrize("columns", [1 << 20, (1 << 20) - 1])
@pytest.mark.parametrize("t", [F32, F16])
def test_rows_that_begin_anywhere_wait_in_the_cache(t: DType, columns: int) -> None:
    x = _long((64, columns), t.numpy)
    assert choose(task_of(softmax(t), [x, x], (0,), TARGETS["sm_90a"])).plan.resident == "l2"


@pytest.mark.parametrize(("columns", "waits"), [(1 << 20, True), ((1 << 20) - 1, False), (1 << 21, False)])
def test_rows_wait_in_the_cache_if_it_holds_their_weights_too(columns: int, waits: bool) -> None:
    """Twelve bytes an element; weights are read by whole accesses, or rows are cut."""
    x, w = _long((64, columns)), _long((1, columns))
    task = task_of(layer_norm(), [x, w, w, x], (0,), TARGETS["sm_90a"])
    if waits:
        assert choose(task).plan.resident == "l2"
    else:
        with pytest.raises(PlanError, match=r"WF423"):
            choose(task)
    assert choose(task, "resident=l2").plan.resident == "l2"


@pytest.mark.parametrize(
    ("t", "columns", "pair"), [(F16, 1 << 20, 2), (F16, 1_000_000, 1), (F16, 5 << 18, 1), (F32, 1 << 19, 1)]
)
def test_a_cta_takes_chunks_of_two_rows_of_halves_with_weights(t: DType, columns: int, pair: int) -> None:
    """If chunks divide a row, and two rows are not too long: other rows are slower so. The threads are as many."""
    x, w = _long((65, columns), t.numpy), _long((1, columns), t.numpy)
    program = layer_norm(t)
    plan = choose(task_of(program, [x, w, w, x], (0,), TARGETS["sm_90a"])).plan
    assert (plan.resident, plan.warps_kept, plan.threads) == ("l2", pair, 256)
    bare = choose(task_of(softmax(t), [x, x], (0,), TARGETS["sm_90a"])).plan
    assert (bare.resident, bare.warps_kept) == ("l2", 1)


def test_columns_wait_in_the_cache_if_they_are_read_by_whole_accesses() -> None:
    for columns, waits in ((64, True), (63, False)):
        x = _long((20_000, columns))
        task = task_of(softmax(), [x, x], (1,), TARGETS["sm_90a"])
        if waits:
            assert choose(task).plan.resident == "l2"
        else:
            with pytest.raises(PlanError, match=r"WF423"):
                choose(task)
        asked = choose(task, "resident=l2").plan
        assert (asked.resident, asked.fast) == ("l2", "kept")


@pytest.mark.parametrize("t", [F32, F16])
@pytest.mark.parametrize(("rows", "columns"), [(1024, 8192), (4096, 8192), (16384, 8192), (8192, 128), (20_000, 2048)])
def test_columns_wait_in_the_cache_in_place_of_large_clusters(rows: int, columns: int, t: DType) -> None:
    """If their chunks fill the machine."""
    x = _long((rows, columns), t.numpy)
    task = task_of(softmax(t), [x, x], (1,), TARGETS["sm_90a"])
    waits = columns > 128 and rows > (8192 if t == F32 else 4096)
    assert (choose(task).plan.resident == "l2") == waits


def test_a_thread_has_few_columns_of_halves() -> None:
    x = _long((8192, 8192), np.float16)
    plan = choose(task_of(softmax(F16), [x, x], (1,), TARGETS["sm_90a"])).plan
    assert (plan.resident, plan.vector, plan.lanes, plan.held) == ("l2", 4, 2, 16)


def test_ctas_of_chunks_fill_the_machine() -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (64, 1 << 20), (4 << 20, 4))
    run = choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"])).run
    assert (run.tiles, run.split, run.chunk) == (64, 128, 8192)
    assert run.grid == (132 * l2.THREADS_PER_SM // 256, 1, 1)
    assert run.lag > run.split


@pytest.mark.parametrize(
    ("columns", "lag"),
    [
        ((1 << 20) - 1, (12 << 20) >> 15),  # chunks of 32 KiB
        ((1 << 19) + 1, (12 << 20) >> 15),
        (2_500_001, 306 + 132),  # half of 264 CTAs
        (1 << 20, 128 + 198),
    ],
)
def test_a_phase_follows_by_more_bytes_where_rows_begin_anywhere(columns: int, lag: int) -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (22, columns), (columns * 4, 4))
    program = Program("shifted", (F32,), ((operand(0, F32) - total(operand(0, F32))).expr,))
    assert choose(task_of(program, [x, x], (0,), TARGETS["sm_90a"])).run.lag == lag


def test_several_folds_follow_as_before() -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (64, (1 << 20) - 1), ((4 << 20) - 4, 4))
    run = choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"]), "resident=l2").run
    assert run.lag == run.split + int(l2.AHEAD * run.ctas)


def test_chunks_of_portable_bits_follow_from_the_row() -> None:
    """They depend neither on how many rows there are nor on the machine."""
    for n in (20_000, 1 << 20):
        found = set()
        for rows, pitch, arch in ((1, n, "sm_90a"), (3000, n + 1, "sm_80"), (7, 2 * n, "sm_120")):
            x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (rows, n), (4 * pitch, 4))
            choice = choose(task_of(softmax(), [x, x], (0,), TARGETS[arch], "portable"))
            assert choice.plan.resident == "l2"
            found.add((choice.run.chunk, choice.plan.positions, choice.plan.vector, choice.plan.held))
        assert len(found) == 1


@pytest.mark.parametrize(("rows", "cluster"), [(256, 1), (2048, 4), (8192, 8)])
def test_columns_are_kept_by_tiles_of_whole_sectors(rows: int, cluster: int) -> None:
    plan = _plan(rows, 256, kept=1)
    assert plan.fast == "kept"
    assert plan.lanes_kept * plan.vector * 4 >= 32
    assert plan.cluster == cluster


def test_a_program_without_a_fold_shares_a_row_among_ctas() -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (2, 1 << 20), (1 << 22, 4))
    w, k = x[:1], x[:, :1]
    choice = choose(task_of(scaled(KEPT), [x, w, k, x], (0,)))
    assert choice.run.split == (1 << 20) // (256 * 4 * 2)


@pytest.mark.parametrize(
    ("columns", "rejected"),
    [(1024, ["resident=shared", "resident=memory"]), (20000, ["resident=registers", "resident=memory"])],
)
def test_other_places_to_wait_are_rejected_with_reasons(columns: int, rejected: list[str]) -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (1000, columns), (columns * 4, 4))
    found = choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"])).rejected
    assert [what for what, _ in found] == rejected
    assert found[-1][1] == "each of 2 phase(s) would read the row again"
