"""States that all threads of a row get, phase after phase: all have the same bits, and no phase races with another.

The combine is not symmetric in its bits: a float's sum in which the right state counts a little less.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from kernel_harness import compile_text, place

from warpfold.runtime.emulator import Memory, sanitize

PHASES = 3
POINTER = "!llvm.ptr<1>"
COMBINE = """{
        ^bb0(%a: f32, %b: f32):
          %c = arith.constant 0.999 : f32
          %p = arith.mulf %b, %c : f32
          %s = arith.addf %a, %p : f32
          "fold.yield"(%s) : (f32) -> ()
        }"""
SUM = """{
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          "fold.yield"(%s) : (f32) -> ()
        }"""


class Row(NamedTuple):
    """The threads of a row: CTAs of a cluster, warps of a CTA, lanes of a warp."""

    ctas: int
    warps: int
    lanes: int

    @property
    def count(self) -> int:
        return self.ctas * self.warps * self.lanes


ROWS = [Row(1, 1, 32), Row(1, 1, 4), Row(1, 4, 32), Row(1, 32, 32), Row(1, 2, 8), Row(1, 8, 1), Row(2, 1, 32),
        Row(8, 4, 32), Row(4, 2, 8), Row(8, 2, 1), Row(2, 16, 4)]  # fmt: skip


def phase(row: Row, k: int, combine: str, ordered: str) -> str:
    """The stages of one phase: from %v{k} to %v{k + 1}, the thread's value times the state of the row."""
    lanes = f"lanes = {row.lanes}, stride = 1, ordered = {ordered}"
    slots = 32 // row.lanes
    lines = [f"%warp{k} = arith.addf %v{k}, %none : f32"]
    if row.lanes > 1:
        lines = [f'%warp{k} = "fold.warp_reduce"(%v{k}) ({combine}) {{{lanes}}} : (f32) -> f32']
    if row.ctas > 1:
        lines += [
            f"""%all{k} = "fold.cluster_reduce"(%rank, %warp, %lane, %slot, %on, %warp{k}) ({combine})
          {{ctas = {row.ctas}, rows = {row.warps}, slots = {slots}, {lanes}, everywhere = true}}
          : (i32, i32, i32, i32, i1, f32) -> f32"""
        ]
    elif row.warps > 1:
        lines += [
            f"""%left{k} = "fold.shared_store"(%warp, %slot, %on, %warp{k}) {{rows = {row.warps}, slots = {slots}}}
          : (i32, i32, i1, f32) -> !llvm.ptr<3>
        %all{k} = "fold.interwarp_accumulate"(%lane, %slot, %left{k}) ({combine})
          {{rows = {row.warps}, slots = {slots}, {lanes}}} : (i32, i32, !llvm.ptr<3>) -> f32"""
        ]
    else:
        lines += [f"%all{k} = arith.addf %warp{k}, %none : f32"]
    lines += [f"%d{k} = arith.divf %v{k}, %all{k} : f32", f"%v{k + 1} = arith.subf %d{k}, %all{k} : f32"]
    return "\n        ".join(lines)


def kernel(name: str, row: Row, combine: str = COMBINE, ordered: str = "true") -> str:
    """A kernel in which each thread has a value, and writes the state of each phase."""
    cluster = f"nvvm.cluster_dim = array<i32: {row.ctas}, 1, 1>, " if row.ctas > 1 else ""
    phases = "\n        ".join(phase(row, k, combine, ordered) for k in range(PHASES))
    stores = "\n        ".join(
        f"""%at{k} = arith.addi %own, %phase{k} : i32
        %where{k} = llvm.getelementptr %out[%at{k}] : ({POINTER}, i32) -> {POINTER}, f32
        llvm.store %all{k}, %where{k} : f32, {POINTER}"""
        for k in range(PHASES)
    )
    numbers = "\n        ".join(f"%phase{k} = arith.constant {k} : i32" for k in range(PHASES))
    return f"""
      gpu.func @{name}(%in: {POINTER}, %out: {POINTER})
          kernel attributes {{{cluster}known_block_size = array<i32: {32 * row.warps}, 1, 1>}} {{
        %tid = gpu.thread_id x
        %bid = gpu.block_id x
        %t = arith.index_cast %tid : index to i32
        %cta = arith.index_cast %bid : index to i32
        %ctas = arith.constant {row.ctas} : i32
        %lanes = arith.constant {row.lanes} : i32
        %warp_size = arith.constant 32 : i32
        %threads = arith.constant {32 * row.warps} : i32
        %zero = arith.constant 0 : i32
        %none = arith.constant 0.0 : f32
        {numbers}
        %several = arith.constant {PHASES} : i32
        %rank = arith.remui %cta, %ctas : i32
        %warp = arith.divui %t, %warp_size : i32
        %lane_id = arith.remui %t, %warp_size : i32
        %lane = arith.remui %lane_id, %lanes : i32
        %slot = arith.divui %lane_id, %lanes : i32
        %on = arith.cmpi eq, %lane, %zero : i32
        %before = arith.muli %cta, %threads : i32
        %number = arith.addi %before, %t : i32
        %own = arith.muli %number, %several : i32
        %where = llvm.getelementptr %in[%number] : ({POINTER}, i32) -> {POINTER}, f32
        %v0 = llvm.load %where : {POINTER} -> f32
        {phases}
        {stores}
        gpu.return
      }}"""


@cache
def compiled() -> Any:
    texts = [kernel(f"k{i}", row) for i, row in enumerate(ROWS)]
    texts += [kernel(f"s{i}", row, SUM, "false") for i, row in enumerate(ROWS)]
    told = ("ordered = true, everywhere", "ordered = false, everywhere")
    texts += [kernel(f"u{i}", row).replace(*told) for i, row in enumerate(ROWS) if row.ctas > 1]
    return compile_text("gpu.module @device {\n" + "\n".join(texts) + "\n}")


def states(name: str, row: Row, seed: int | None = None) -> Any:
    """The states [rows, threads of a row, phases] that the threads of two clusters get, as bits."""
    ctas, threads = 2 * row.ctas, 32 * row.warps
    x = np.random.default_rng(row.count).standard_normal(ctas * threads).astype(np.float32) + 3
    memory = Memory()
    given, (out, found) = place(memory, x)[0], place(memory, np.zeros(x.size * PHASES, np.float32))
    faults = sanitize(compiled(), name, (ctas, 1, 1), (threads, 1, 1), [given, out], memory, seed=seed)
    assert not faults, faults[0]
    # [cluster, CTA, warp, slot, lane, phase] -> [cluster and slot, CTA and warp and lane, phase]
    of_threads = found.view(np.uint32).reshape(2, row.ctas, row.warps, 32 // row.lanes, row.lanes, PHASES)
    return of_threads.transpose(0, 3, 1, 2, 4, 5).reshape(-1, row.count, PHASES)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_all_threads_of_a_row_have_the_same_bits_in_each_phase(row: Row) -> None:
    found = states(f"k{ROWS.index(row)}", row)
    np.testing.assert_array_equal(found, found[:, :1].repeat(row.count, 1))
    assert np.isfinite(found.view(np.float32)).all()


@pytest.mark.parametrize("row", [r for r in ROWS if r.count > 1], ids=str)
def test_a_symmetric_combine_needs_no_order(row: Row) -> None:
    found = states(f"s{ROWS.index(row)}", row)
    np.testing.assert_array_equal(found, found[:, :1].repeat(row.count, 1))


@pytest.mark.parametrize("row", [r for r in ROWS if r.ctas > 1], ids=str)
def test_clusters_need_not_be_told_the_order(row: Row) -> None:
    found = states(f"u{ROWS.index(row)}", row)
    np.testing.assert_array_equal(found, found[:, :1].repeat(row.count, 1))


@pytest.mark.parametrize("row", [ROWS[3], ROWS[7], ROWS[8]], ids=str)
def test_no_schedule_changes_a_bit(row: Row) -> None:
    found = {states(f"k{ROWS.index(row)}", row, seed).tobytes() for seed in (None, 1, 2, 3)}
    assert len(found) == 1


def test_rows_have_different_states() -> None:
    """Or the tests above would see nothing."""
    assert len(np.unique(states("k1", ROWS[1])[:, 0, 0])) == 16
