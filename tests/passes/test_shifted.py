"""Rows and columns that begin anywhere: every element once, and no access outside the array.

An array here ends where its memory ends, so the emulator refuses (WF710) a load beyond it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import accesses, placed
from covering import some

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler

LENGTHS = range(2, 71)
"""A row of one element is no row to the planner, and read as such."""
ROWS = 3
PLANS = [f"lanes={lanes},unroll={unroll}" for lanes in (1, 4, 32) for unroll in (1, 2, 4)]
TYPES = [np.int8, np.float16, np.float32, np.float64]


@pytest.mark.parametrize(("what", "t"), some([*(("sum", t) for t in TYPES), ("max", np.int8), ("max", np.float32)], 3))
def test_every_row_is_read_and_nothing_outside_the_array(what: str, t: type[Any], artifacts: list[Artifact]) -> None:
    """Every offset, length and plan; of seven offsets each has a seventh of the lengths.

    Rows of odd lengths have other alignments than the first. Memory before the first row and after the last is outside.
    """
    item = np.dtype(t).itemsize
    source = np.random.default_rng(5)
    for at, offset in enumerate(range(0, WIDEST, item)):
        for length in LENGTHS[at % 7 :: 7] if item < 8 else LENGTHS[at % 3 :: 3]:
            plan = f"fast=reduced,vector={WIDEST // item},warps=1,warps_kept=1,{PLANS[(at + length) % len(PLANS)]}"
            values = source.integers(-3, 4, (ROWS, length)).astype(t)
            found = wf.reduce(placed(values, offset), what, axis=1, plan=plan, device="emulator")
            np.testing.assert_array_equal(found, getattr(values, what)(axis=1), f"{offset} {length} {plan}")
    assert accesses(artifacts) == {"aligned", "shifted"}


@pytest.mark.parametrize("t", TYPES)
def test_an_array_of_one_row_that_several_ctas_share(t: type[Any], artifacts: list[Artifact]) -> None:
    """Each CTA's part begins and ends between boundaries; only the first and the last reach the array's ends."""
    item = np.dtype(t).itemsize
    for offset in range(0, WIDEST, item):
        for finish in ("finish=last_block", "cluster=2"):
            values = np.random.default_rng(offset).integers(-3, 4, 40 * WIDEST // item + 3).astype(t)
            plan = f"vector={WIDEST // item},lanes=4,warps=1,warps_kept=1,unroll=2,coarsening=2,{finish}"
            found = wf.reduce(placed(values, offset), "max", plan=plan, device="emulator")
            assert found == values.max()
    assert "shifted" in accesses(artifacts)


@pytest.mark.parametrize("t", [t for t in TYPES if np.dtype(t).itemsize < 8])
def test_columns_that_begin_anywhere(t: type[Any], artifacts: list[Artifact]) -> None:
    """Every offset and number of columns, with few rows and several; the end of a row cuts its last vector."""
    item = np.dtype(t).itemsize
    vector = min(8, WIDEST // item)
    source = np.random.default_rng(6)
    for at, offset in enumerate(range(0, WIDEST, item)):
        for columns in range(WIDEST // item + at % 3, WIDEST // item + 2 * vector + 1, 3):
            values = source.integers(-3, 4, (1 + (at + columns) % 7 * 5, columns)).astype(t)
            lanes, unroll = (1, 4, 32)[columns % 3], (1, 2, 4)[at % 3]
            plan = f"fast=kept,vector={vector},lanes={lanes},warps=1,warps_kept=1,unroll={unroll}"
            found = wf.reduce(placed(values, offset), "max", axis=0, plan=plan, device="emulator")
            np.testing.assert_array_equal(found, values.max(axis=0), f"{offset} {values.shape} {plan}")
    assert "unaligned" in accesses(artifacts)


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_few_rows_that_begin_anywhere_are_read_and_written_in_whole_accesses(rows: int, profiler: Profiler) -> None:
    """Only the threads at the array's ends read or write single elements.

    A vector of 8 bytes lies in one or two accesses of 16, of which a warp asks for both: 8 sectors hold its 256 bytes,
    9 where they begin inside one.
    """
    columns, vector = 10_007, 8
    x = placed(np.random.default_rng(rows).integers(0, 2, (rows, columns)).astype(bool), 0)
    plan = f"fast=kept,vector={vector},lanes=1,warps=1,warps_kept=8,unroll=1,finish=cta,walk=interleaved"
    found = wf.reduce(x, "any", axis=0, plan=plan, device="emulator")
    np.testing.assert_array_equal(found, x.any(axis=0))
    warps, seen = -(-columns // (32 * vector)), total(profiler.profiles)
    loads, stores = seen.traffic("global load"), seen.traffic("global store")
    assert 2 * rows * warps < loads.requests <= 2 * rows * warps + 2 * 2 * vector
    assert loads.sectors <= 2 * (rows * (columns / 32 + warps)) + 2 * 2 * vector
    assert stores.requests <= warps + vector
