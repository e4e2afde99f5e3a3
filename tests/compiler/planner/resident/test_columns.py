"""Columns that are read again: how wide the tile of a CTA is, and where it waits."""

from __future__ import annotations

from typing import Any

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


def test_columns_in_a_tile_are_read_once_for_a_maximum_and_exponentials() -> None:
    (step,) = wf.softmax._planned([((684, 1000, 49), "bf16")], {"axis": 1}, "sm_90a").prepared.steps
    assert (step.prepared.choice.plan.waits_in_tile, len(step.prepared.program.reduces)) == (True, 1)
