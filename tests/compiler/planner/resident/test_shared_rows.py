"""CTAs of rows that wait in shared memory: their sizes follow from the occupancy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F16, F32, DType
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Choice
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import layer_norm, softmax, task_of


def _choice(columns: int, arch: str, *, weights: bool, rows: int = 1000, t: DType = F32) -> Choice:
    item = t.itemsize
    x = np.lib.stride_tricks.as_strided(np.zeros(4, t.numpy), (rows, columns), (columns * item, item))
    w = np.lib.stride_tricks.as_strided(x, (1, columns), (0, item))
    program, arrays = (layer_norm(), [x, w, w, x]) if weights else (softmax(t), [x, x])
    return choose(task_of(program, arrays, (0,), TARGETS[arch]))


@pytest.mark.parametrize(
    ("arch", "columns", "weights", "cluster", "threads", "words"),
    [
        ("sm_90a", 10_000, False, 1, 256, "5 CTA(s) of 256 threads, limited by shared memory"),  # 40 KiB
        ("sm_90a", 13_312, False, 1, 256, "4 CTA(s) of 256 threads, limited by shared memory"),  # 52 KiB
        ("sm_90a", 16_384, False, 2, 256, "6 CTA(s) of 256 threads, limited by shared memory"),
        ("sm_90a", 20_000, False, 2, 256, "5 CTA(s) of 256 threads, limited by shared memory"),  # an SM holds two of 1
        ("sm_90a", 65_536, False, 8, 256, "6 CTA(s) of 256 threads, limited by shared memory"),
        ("sm_90a", 65_537, False, 4, 256, "3 CTA(s) of 256 threads, limited by shared memory"),
        ("sm_90a", 10_000, True, 1, 256, "5 CTA(s) of 256 threads, limited by shared memory"),
        ("sm_90a", 16_384, True, 2, 256, "6 CTA(s) of 256 threads, limited by shared memory"),
        ("sm_90a", 65_536, True, 8, 256, "6 CTA(s) of 256 threads, limited by shared memory"),
        ("sm_80", 16_384, True, 1, 512, "2 CTA(s) of 512 threads, limited by shared memory"),
        ("sm_80", 32_768, False, 1, 1024, "1 CTA(s) of 1024 threads, limited by shared memory"),
        ("sm_86", 16_384, False, 1, 1024, "1 CTA(s) of 1024 threads, limited by shared memory"),
    ],
)
def test_the_most_ctas_of_an_sm_then_the_most_threads(
    arch: str, columns: int, weights: bool, cluster: int, threads: int, words: str
) -> None:
    found = _choice(columns, arch, weights=weights)
    assert (found.plan.resident, found.plan.cluster, found.plan.threads) == ("shared", cluster, threads)
    assert f"an SM holds {words}" in found.reasons


@pytest.mark.parametrize("columns", [100_000, 50_257, 131_072])
def test_the_ctas_of_a_cluster_have_equal_parts_of_a_row(columns: int) -> None:
    """But for what makes a part begin with a line. So the last accesses of a thread alone may be outside of one."""
    found = _choice(columns, "sm_90a", weights=True)
    lead = 3 if columns % 4 else 0
    lines = -(-(columns + lead) // 4)
    assert found.run.chunk == 32 * -(-lines // (8 * found.plan.cluster))
    assert found.run.chunk <= found.plan.held * found.plan.threads * 4


@pytest.mark.parametrize(
    ("t", "columns", "rows", "cluster"),
    [
        (F32, 50_257, 300, 2),
        (F32, 50_257, 100, 4),  # two CTAs of each SM would not have rows
        (F32, 20_000, 300, 2),  # one CTA a row
        (F16, 100_000, 300, 4),
    ],
)
def test_an_sm_may_hold_two_ctas_of_clusters_of_two(t: DType, columns: int, rows: int, cluster: int) -> None:
    assert _choice(columns, "sm_90a", weights=False, rows=rows, t=t).plan.cluster == cluster


def test_a_cta_has_a_row_whose_weights_are_the_same_along_runs_of_it() -> None:
    """Of which an SM holds two, each with the warps of a CTA of a cluster."""
    for images, cluster in ((16, 1), (4, 2)):
        x, w = ((images, 320, 64, 64), "bf16"), ((320,), "bf16")
        assert f"warps=8,warps_kept=1,tile_bytes=0,cluster={cluster}," in str(wf.group_norm.explain(x, 32, w, w))


@pytest.mark.parametrize(
    ("rows", "columns", "weights", "cluster"),
    [
        (4, 20_000, False, 8),  # 132 SMs
        (4, 20_000, True, 8),
        (33, 20_000, False, 4),
        (34, 20_000, False, 4),  # two SMs a row: each of two CTAs has 40 KB
        (66, 10_000, False, 1),
        (67, 20_000, False, 2),
        (1000, 20_000, False, 2),
    ],
)
def test_as_many_ctas_share_one_of_few_rows_as_it_has_sms(rows: int, columns: int, weights: bool, cluster: int) -> None:
    assert _choice(columns, "sm_90a", weights=weights, rows=rows).plan.cluster == cluster
    assert _choice(columns, "sm_80", weights=weights, rows=rows).plan.cluster == 1


@pytest.mark.parametrize(
    ("rows", "kibibytes", "weights", "arch", "cluster"),
    [
        (1000, 416, False, "sm_90a", 8),  # an SM holds four CTAs
        (1000, 512, False, "sm_90a", 16),
        (1000, 512, False, "sm_120", 8),
        (1000, 900, False, "sm_90a", 16),
        (1000, 512, True, "sm_120", 8),
        (1000, 512, True, "sm_90a", 16),
        (1000, 1024, True, "sm_90a", 1),  # in the L2 cache
        (1000, 700, True, "sm_90a", 16),
        (1000, 1000, True, "sm_90a", 16),  # of which chunks would be cut
        (32, 1024, False, "sm_90a", 16),
        (31, 1024, False, "sm_90a", 1),
        (1000, 1600, False, "sm_90a", 16),
        (1000, 1601, False, "sm_90a", 1),
    ],
)
def test_large_clusters_share_what_smaller_ones_hold_badly(
    rows: int, kibibytes: int, weights: bool, arch: str, cluster: int
) -> None:
    assert _choice(kibibytes * 256, arch, weights=weights, rows=rows).plan.cluster == cluster


@pytest.mark.parametrize("weights", [False, True])
def test_large_clusters_hold_rows_that_begin_anywhere(*, weights: bool) -> None:
    types = (F32,) if weights else (F32, F16)
    found = [_choice(1024 * 1024 // t.itemsize - 1, "sm_90a", weights=weights, t=t).plan for t in types]
    assert {p.cluster for p in found} == {16}


def test_weights_of_words_that_begin_anywhere_have_smaller_clusters() -> None:
    """Where these hold a row."""
    assert [_choice(n, "sm_90a", weights=True).plan.cluster for n in (100_001, 180_001, 200_001)] == [8, 8, 16]


def test_single_elements_of_weights_have_more_warps_in_large_parts() -> None:
    for columns, weights, warps in ((131_071, True, 16), (131_071, False, 8), (100_001, True, 8), (131_072, True, 8)):
        plan = _choice(columns, "sm_90a", weights=weights).plan
        assert (plan.resident, plan.cluster > 4, plan.warps) == ("shared", True, warps)


@pytest.mark.parametrize(
    ("program", "columns", "t", "cluster"),
    [
        (wf.softmax, 120_000, "f32", 16), (wf.standardize, 120_000, "f32", 8),
        (wf.softmax, 125_000, "bf16", 8), (wf.standardize, 125_000, "bf16", 4),
        (wf.softmax, 230_000, "bf16", 8), (wf.softmax, 262_144, "bf16", 16), (wf.softmax, 29_000, "bf16", 1),
    ],
)  # fmt: skip
def test_light_states_of_few_masked_accesses_meet_in_more_ctas(
    program: Any, columns: int, t: str, cluster: int
) -> None:
    steps = program._planned((((139, columns), t),), {"axis": 1}, "sm_90a").prepared.steps
    assert [s.prepared.choice.plan.cluster for s in steps] == [cluster]


@pytest.mark.parametrize(
    ("columns", "rows", "warps"), [(2049, 4000, 4), (8191, 4000, 8), (1001, 4000, 0), (5001, 400, 0)]
)
def test_rows_of_words_that_begin_anywhere_and_of_which_nothing_is_written(columns: int, rows: int, warps: int) -> None:
    """They wait in shared memory where there are many of them."""
    shapes = ((rows, columns), "f32"), ((rows,), "i64")
    how = {"reduction": "none"}
    (plan,) = (s.prepared.choice.plan for s in wf.cross_entropy._planned(shapes, how, "sm_90a").prepared.steps)
    assert (plan.resident, plan.warps * (plan.resident == "shared")) == ("shared" if warps else "registers", warps)


@pytest.mark.parametrize(
    ("columns", "rows", "resident"), [(16_385, 2000, "shared"), (16_385, 500, "registers"), (16_384, 2000, "registers")]
)
def test_long_rows_of_halves_that_begin_anywhere(columns: int, rows: int, resident: str) -> None:
    plan = _choice(columns, "sm_90a", weights=False, rows=rows, t=F16).plan
    assert (plan.resident, plan.warps) == (resident, 8)
