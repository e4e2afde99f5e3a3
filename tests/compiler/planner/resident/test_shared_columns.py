"""Columns in shared memory: how wide a tile is, how many CTAs share a column, and when these meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf


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


@pytest.mark.parametrize("rows", [150, 515, 1030, 2500])
def test_halves_that_wait_in_shared_memory_have_the_softmax_of_floats(rows: int) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 64)).astype(np.float16)
    e = np.exp(x.astype(np.float64) - x.max(0))
    found = wf.softmax(x, axis=0, device="emulator")
    assert "resident=shared" in wf.softmax.explain(x, axis=0)
    np.testing.assert_allclose(found.astype(np.float64), e / e.sum(0), rtol=2e-3, atol=1e-7)
