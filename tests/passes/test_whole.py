"""Whole rows: a thread reads all elements of several results at once, and nothing beyond the array."""

from __future__ import annotations

import numpy as np
import pytest
from arrays import numbers, placed

import warpfold as wf
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler


@pytest.mark.parametrize("rows", [1 << 10, (1 << 10) + 5])
def test_accesses_to_rows_and_results_are_whole(rows: int, profiler: Profiler) -> None:
    """Rows of three bytes: three accesses for sixteen rows, and one to write their results."""
    x, plan = placed(numbers((rows, 3), np.int8) > 2, 0), "walk=whole,vector=16,warps_kept=1"
    np.testing.assert_array_equal(wf.any(x, axis=1, plan=plan, device="emulator"), x.any(axis=1))
    found, left, warps = total(profiler.profiles), rows % 16, rows // 16 // 32
    assert found.traffic("global store").requests == warps + left  # each result of the last thread by itself
    of_last = 3 + 16 if left else 0
    assert found.traffic("global load").requests == 3 * warps + of_last


def test_two_inputs_a_mask_and_code_after_the_reduction() -> None:
    x, y = (placed(numbers((500, 3), np.float32, seed), 0) for seed in (1, 2))
    plan = "walk=whole,vector=4"
    np.testing.assert_allclose(wf.mean(x, axis=1, plan=plan, device="emulator"), x.mean(axis=1), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(wf.vecdot(x, y, axis=1, plan=plan, device="emulator"), (x * y).sum(axis=1))
    found = wf.reduce(x, ("min", "max"), axis=1, plan=plan, device="emulator")
    np.testing.assert_array_equal(found, (x.min(axis=1), x.max(axis=1)))
