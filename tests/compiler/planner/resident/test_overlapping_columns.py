"""Columns that begin between sectors: CTAs overlap."""

from __future__ import annotations

import pytest

import warpfold as wf


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "resident", "width", "cluster", "warps", "overlap"),
    [
        (64, 262145, "f32", "registers", 128, 1, 8, 8),
        (400, 41943, "f32", "registers", 128, 1, 8, 8),
        (900, 18641, "f32", "registers", 128, 2, 8, 8),
        (1000, 16780, "f32", "registers", 128, 1, 16, 8),
        (1000, 16784, "f32", "registers", 128, 1, 16, 0),  # whole sectors
        (900, 1001, "f32", "registers", 128, 1, 16, 0),  # in the L2 cache
        (40, 419431, "f32", "registers", 128, 1, 8, 0),  # short
        (100, 335540, "bf16", "shared", 512, 1, 4, 16),
        (250, 134210, "bf16", "shared", 256, 1, 4, 16),
        (300, 111110, "bf16", "registers", 128, 1, 8, 16),  # pairs
        (700, 47932, "bf16", "shared", 256, 4, 8, 16),
        (1500, 22370, "bf16", "registers", 128, 4, 8, 16),
        (4096, 8193, "f32", "registers", 128, 8, 8, 8),  # more than the grid holds
        (4096, 1537, "f32", "registers", 128, 8, 8, 8),  # two waves of clusters
        (1000, 33555, "bf16", "registers", 64, 1, 16, 0),  # single halves
    ],
)
def test_columns_that_begin_between_sectors_overlap(
    rows: int, columns: int, dtype: str, resident: str, width: int, cluster: int, warps: int, overlap: int
) -> None:
    (plan,) = wf.softmax.compile(((rows, columns), dtype), axis=0).plans
    found = (plan.resident, plan.slots * (4 if dtype == "f32" else 2), plan.cluster, plan.warps, plan.overlap)
    assert found == (resident, width, cluster, warps, overlap)


@pytest.mark.parametrize(
    ("rows", "columns", "vector", "cluster", "overlap"),
    [
        (200, 167772, 4, 1, 16),
        (500, 67108, 4, 4, 0),
        (700, 47932, 4, 4, 0),
        (2000, 16780, 4, 8, 0),
        (1000, 33554, 2, 8, 0),
    ],
)
def test_columns_with_weights_do_not_overlap_in_clusters(
    rows: int, columns: int, vector: int, cluster: int, overlap: int
) -> None:
    weighted = wf.program(lambda x, w: (x - wf.mean(x, axis=0, keepdims=True)) * w[:, None])
    (plan,) = weighted.compile(((rows, columns), "bf16"), ((rows,), "bf16")).plans
    assert (plan.resident, plan.vector, plan.cluster, plan.overlap) == ("shared", vector, cluster, overlap)
