"""Tiles that go by row: several kept dims of columns that begin anywhere, each row as if it were alone.

An array here ends where its memory ends, so the emulator refuses (WF710) a load beyond it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arrays import laid, numbers, placed, strides_of

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.plan.facts import Facts
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.programs.fitted import serves


@pytest.mark.parametrize("finish", ["cta", "last_block,coarsening=4", "two_kernels,coarsening=4"])
def test_a_mask_has_rows_of_its_own(finish: str, artifacts: list[Artifact]) -> None:
    """Its strides differ from the array's."""
    x, mask = numbers((3, 4, 33, 77), np.int16), numbers((3, 4, 33, 77), np.int8, 9) > 0
    array, _ = laid(x, strides_of(x.shape, (0, 2, 1), (0, 1, 3)), 6)
    masked, _ = laid(mask, strides_of(x.shape, (2, 0, 1), (5, 0, 1)), 7)
    plan = f"fast=kept,vector=8,lanes=4,warps=2,unroll=2,finish={finish}"
    found = wf.sum(array, axis=2, where=masked, plan=plan, device="emulator")
    np.testing.assert_array_equal(found, x.sum(axis=2, where=mask))
    assert (artifacts[0].main.facts.access, artifacts[0].main.facts.by_row) == (("unaligned", "unaligned"), True)


def test_a_kernel_whose_tiles_span_rows_refuses_cut_rows() -> None:
    own = Facts(3, 3, 32, ("unaligned",), store_vector=False)
    assert serves(replace(own, by_row=True), own)
    assert not serves(own, replace(own, by_row=True))


def test_only_the_threads_at_the_ends_of_the_array_read_single_elements(profiler: Profiler) -> None:
    """Threads at the ends of a row do not, because the elements beside it are in the array."""
    shape, vector = (7, 3, 1001), 8
    x = numbers(shape, np.int8)
    plan = f"fast=kept,vector={vector},lanes=1,warps=1,warps_kept=4,unroll=1,walk=interleaved"
    np.testing.assert_array_equal(wf.max(placed(x, 1), axis=1, plan=plan, device="emulator"), x.max(axis=1))
    warps = shape[0] * -(-shape[2] // (32 * vector))
    loads = total(profiler.profiles).traffic("global load")
    assert 2 * shape[1] * warps < loads.requests <= 2 * shape[1] * warps + 2 * 2 * vector
