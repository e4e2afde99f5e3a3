"""Columns that begin between sectors: CTAs overlap."""

from __future__ import annotations

import pytest

import warpfold as wf


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
    (plan,) = wf.softmax.compile(((rows, columns), dtype), axis=0).plans
    found = (plan.resident, plan.slots * (4 if dtype == "f32" else 2), plan.cluster, plan.warps, plan.overlap)
    assert found == (resident, width, cluster, warps, overlap)


def test_columns_with_weights_do_not_overlap_in_clusters() -> None:
    weighted = wf.program(lambda x, w: (x - wf.mean(x, axis=0, keepdims=True)) * w[:, None])
    (plan,) = weighted.compile(((700, 47932), "bf16"), ((700,), "bf16")).plans
    assert (plan.resident, plan.cluster, plan.overlap) == ("registers", 1, 0)
