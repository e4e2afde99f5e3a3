"""Columns in registers: the lanes and warps that share one."""

from __future__ import annotations

from typing import Any

import pytest

import warpfold as wf


def test_columns_whose_rows_begin_between_boundaries_wait_in_registers() -> None:
    (plan,) = wf.softmax.compile(((3, 1000, 196), "bf16"), axis=1).plans
    assert (plan.resident, plan.vector, plan.lanes, plan.cluster, plan.warps) == ("registers", 4, 4, 1, 16)


def test_tiles_of_rows_that_are_no_whole_lines_are_wide() -> None:
    (plan,) = wf.softmax.compile(((3, 1000, 196), "f32"), axis=1).plans
    assert (32 // plan.lanes * plan.vector * 4, plan.warps) == (128, 16)


def test_a_tile_is_no_wider_than_the_columns() -> None:
    (plan,) = wf.softmax.compile(((1000, 16), "bf16"), axis=0).plans
    assert 32 // plan.lanes == 2


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
