"""Columns that are read again: how wide the tile of a CTA is, where it waits, and how many CTAs share a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.plan.plan import Plan


def plan_of(shape: tuple[int, int], dtype: str, **how: Any) -> Plan:
    (plan,) = wf.softmax.compile((shape, dtype), axis=0, **how).plans
    return plan


@pytest.mark.parametrize(
    ("rows", "dtype", "resident", "vector", "width", "cluster", "warps"),
    [
        (64, "f32", "registers", 4, 256, 1, 4),
        (512, "f32", "registers", 4, 128, 1, 8),
        (1000, "f32", "registers", 4, 64, 1, 8),
        (2000, "f32", "registers", 4, 64, 1, 16),
        (4096, "f32", "shared", 4, 64, 4, 8),
        (64, "bf16", "registers", 8, 256, 1, 4),
        (130, "bf16", "shared", 8, 128, 1, 8),
        (1000, "bf16", "shared", 8, 64, 1, 8),
        (1025, "bf16", "shared", 4, 64, 2, 8),
        (3584, "float16", "shared", 4, 64, 4, 8),
        (4096, "float16", "shared", 4, 128, 16, 8),  # whole lines
        (6144, "bf16", "shared", 4, 128, 16, 8),
    ],
)
def test_columns(rows: int, dtype: str, resident: str, vector: int, width: int, cluster: int, warps: int) -> None:
    plan = plan_of((rows, 4096), dtype)
    item = 4 if dtype == "f32" else 2
    found = (plan.resident, plan.vector, 32 // plan.lanes * plan.vector * item, plan.cluster, plan.warps)
    assert (plan.fast, *found) == ("kept", resident, vector, width, cluster, warps)


@pytest.mark.parametrize(
    ("program", "rows", "dtype", "resident", "phases"),
    [
        (wf.softmax, 4096, "f32", "shared", 1),
        (wf.log_softmax, 4096, "f32", "shared", 1),
        (wf.softmax, 2000, "f32", "registers", 2),  # one CTA
        (wf.softmax, 4096, "bf16", "shared", 2),
        (wf.rms_norm, 4097, "f32", "registers", 1),  # one sum
        (wf.rms_norm, 4096, "f32", "shared", 1),  # of whole lines
        (wf.standardize, 4096, "f32", "shared", 1),  # three values of states, of which one is a constant
        (wf.standardize, 4000, "f32", "shared", 2),  # threads fold 62 or 63 elements
        (wf.standardize, 2000, "f32", "registers", 2),
        (wf.standardize, 8192, "bf16", "shared", 1),
        (wf.standardize, 8191, "bf16", "grid", 1),
    ],
)
def test_columns_of_words_that_fold_much_wait_in_shared_memory_and_exponentials_meet_once(
    program: Any, rows: int, dtype: str, resident: str, phases: int
) -> None:
    (step,) = program._planned([((rows, 4096), dtype)], {"axis": 0}, "sm_90a").prepared.steps
    assert (step.prepared.choice.plan.resident, len(step.prepared.program.reduces)) == (resident, phases)


def test_columns_in_a_tile_are_read_once_for_a_maximum_and_exponentials() -> None:
    (step,) = wf.softmax._planned([((684, 1000, 49), "bf16")], {"axis": 1}, "sm_90a").prepared.steps
    assert (step.prepared.choice.plan.waits_in_tile, len(step.prepared.program.reduces)) == (True, 1)


@pytest.mark.parametrize(("columns", "lanes"), [(4096, 4), (4080, 8)])
def test_words_without_exponentials_are_in_strips_of_whole_lines(columns: int, lanes: int) -> None:
    (plan,) = wf.standardize.compile(((4096, columns), "f32"), axis=0).plans
    assert (plan.lanes, plan.cluster) == (lanes, 32 // lanes)


@pytest.mark.parametrize(
    ("rows", "resident"),
    [
        (5000, "shared"),  # 19.5 chunks
        (5120, "shared"),  # in whole lines
        (8000, "l2"),  # tiles of which an SM holds three
    ],
)
def test_halves_in_chunks_that_divide_no_column_wait_in_clusters(rows: int, resident: str) -> None:
    (step,) = wf.softmax._planned([((rows, 8192), "bf16")], {"axis": 0}, "sm_90a").prepared.steps
    assert step.prepared.choice.plan.resident == resident


@pytest.mark.parametrize(
    ("rows", "columns", "program", "cluster", "warps"),
    [
        (8192, 2048, wf.standardize, 16, 8),
        (7168, 8192, wf.standardize, 8, 8),  # an SM holds four narrower tiles
        (7168, 8192, wf.rms_norm, 16, 8),
        (8192, 8192, wf.layer_norm, 8, 16),  # weights
        (8192, 2048, wf.layer_norm, 8, 8),  # few CTAs
        (4096, 4096, wf.layer_norm, 16, 8),
        (4096, 1024, wf.standardize, 4, 8),
        (4000, 4096, wf.standardize, 4, 8),  # threads fold 15 or 16 elements
        (2304, 8192, wf.standardize, 4, 8),
    ],
)
def test_halves_in_strips_of_whole_lines(rows: int, columns: int, program: Any, cluster: int, warps: int) -> None:
    weights = [((rows,), "bf16")] * 2 if program is wf.layer_norm else []
    (step,) = program._planned([((rows, columns), "bf16"), *weights], {"axis": 0}, "sm_90a").prepared.steps
    plan = step.prepared.choice.plan
    assert (plan.resident, plan.cluster, plan.warps, plan.lanes_kept * plan.vector * 2) == (
        "shared", cluster, warps, 128 if cluster == 16 else 64,
    )  # fmt: skip


def test_columns_that_no_cluster_holds_wait_elsewhere() -> None:
    assert "resident=shared" not in wf.softmax.explain(((20_000, 4096), "bf16"), axis=0)


def test_columns_whose_rows_begin_between_boundaries_wait_in_registers() -> None:
    (plan,) = wf.softmax.compile(((3, 1000, 196), "bf16"), axis=1).plans
    assert (plan.resident, plan.vector, plan.lanes, plan.cluster, plan.warps) == ("registers", 4, 4, 1, 16)


def test_tiles_of_rows_that_are_no_whole_lines_are_wide() -> None:
    (plan,) = wf.softmax.compile(((3, 1000, 196), "f32"), axis=1).plans
    assert (32 // plan.lanes * plan.vector * 4, plan.warps) == (128, 16)


def test_a_tile_is_no_wider_than_the_columns() -> None:
    assert 32 // plan_of((1000, 16), "bf16").lanes == 2


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "resident", "width", "cluster", "warps", "overlap"),
    [
        (64, 262145, "f32", "registers", 128, 1, 8, 8),
        (400, 41943, "f32", "registers", 128, 1, 16, 8),
        (900, 18641, "f32", "registers", 128, 2, 8, 8),
        (1000, 16780, "f32", "registers", 128, 1, 16, 8),
        (1000, 16784, "f32", "registers", 128, 1, 16, 0),  # whole sectors
        (900, 1001, "f32", "registers", 128, 1, 16, 0),  # in the L2 cache
        (40, 419431, "f32", "registers", 128, 1, 8, 0),  # short
        (100, 335540, "bf16", "shared", 512, 1, 4, 16),
        (300, 111110, "bf16", "shared", 128, 1, 8, 16),
        (700, 47932, "bf16", "shared", 256, 4, 8, 16),
        (1500, 22370, "bf16", "shared", 256, 8, 4, 16),
        (1000, 33555, "bf16", "registers", 64, 1, 16, 0),  # single halves
    ],
)
def test_columns_that_begin_between_sectors_overlap(
    rows: int, columns: int, dtype: str, resident: str, width: int, cluster: int, warps: int, overlap: int
) -> None:
    plan = plan_of((rows, columns), dtype)
    found = (plan.resident, plan.slots * (4 if dtype == "f32" else 2), plan.cluster, plan.warps, plan.overlap)
    assert found == (resident, width, cluster, warps, overlap)


def test_columns_with_weights_do_not_overlap_in_clusters() -> None:
    weighted = wf.program(lambda x, w: (x - wf.mean(x, axis=0, keepdims=True)) * w[:, None])
    (plan,) = weighted.compile(((700, 47932), "bf16"), ((700,), "bf16")).plans
    assert (plan.resident, plan.cluster, plan.overlap) == ("registers", 1, 0)


@pytest.mark.parametrize("rows", [150, 515, 1030, 2500])
def test_halves_that_wait_in_shared_memory_have_the_softmax_of_floats(rows: int) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 64)).astype(np.float16)
    e = np.exp(x.astype(np.float64) - x.max(0))
    found = wf.softmax(x, axis=0, device="emulator")
    assert "resident=shared" in wf.softmax.explain(x, axis=0)
    np.testing.assert_allclose(found.astype(np.float64), e / e.sum(0), rtol=2e-3, atol=1e-7)


@pytest.mark.parametrize(
    ("f", "shape", "dtype", "lanes", "held"),
    [
        (wf.standardize, (1 << 16, 16, 8), "bf16", 2, 8),  # a lane alone would read half sectors
        (wf.standardize, (1 << 16, 16, 16), "bf16", 2, 8),
        (wf.standardize, (1 << 16, 4, 64), "bf16", 1, 4),
        (wf.standardize, (1 << 16, 16, 8), "f32", 4, 4),
        (wf.softmax, (1 << 16, 16, 8), "bf16", 4, 4),
        (wf.softmax, (1 << 16, 16, 8), "f32", 8, 2),
        (wf.softmax, (1 << 12, 100, 8), "bf16", 16, 7),
        (wf.standardize, (1 << 8, 16, 8), "bf16", 32, 1),  # a small array
    ],
)
def test_few_lanes_share_a_short_column(f: Any, shape: tuple[int, ...], dtype: str, lanes: int, held: int) -> None:
    (plan,) = f.compile((shape, dtype), axis=1).plans
    assert (plan.fast, plan.resident, plan.lanes, plan.held) == ("kept", "registers", lanes, held)
