"""Columns that a cluster shares: its CTAs own equal parts of them, whose first accesses lie there as a whole."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from access_picture import run_under

import warpfold as wf
from warpfold.runtime.emulator import Tool


@wf.program
def centered(x: wf.Array) -> wf.Array:
    return x - wf.mean(x, axis=0, keepdims=True)


class Traffic(Tool):
    """Counts bytes of global memory that instructions read and write."""

    def __init__(self) -> None:
        self.bytes = {"read": 0, "written": 0}

    def touch(self, touch: Any) -> None:
        if touch.access.space == "global":
            self.bytes[touch.access.verb] += touch.threads.size * touch.access.size


@pytest.mark.parametrize("resident", ["registers", "shared"])
@pytest.mark.parametrize(
    "options", ["lanes=8,warps=1,cluster=4", "lanes=4,warps=2,cluster=2", "lanes=1,warps=2,cluster=8"]
)
def test_columns_of_any_length_are_read_and_written_once(options: str, resident: str) -> None:
    """Sums of small integers are exact: a missing or a doubled element shows in every result of its column.

    Threads beyond the last column read it, too, so that columns of all lengths read as many bytes for each row.
    """
    read = set()
    plan = f"fast=kept,warps_kept=1,resident={resident},{options}"
    for n in (2, 9, 33, 65, 127):
        x = np.random.default_rng(n).integers(-9, 10, (n, 6)).astype(np.float32)
        traffic, y = Traffic(), np.empty_like(x)
        run_under(traffic, partial(centered, x * np.float32(n), plan=plan, device="emulator", out=y))
        np.testing.assert_array_equal(y, x * np.float32(n) - x.sum(axis=0), str(n))
        assert traffic.bytes["written"] == x.nbytes
        read.add(traffic.bytes["read"] / n)
    assert len(read) == 1


def branches(n: int) -> int:
    """The branches of the kernel for columns of ``n`` elements."""
    plan = "fast=kept,lanes=8,warps=8,warps_kept=1,cluster=2,resident=registers"
    return centered.compile(((n, 4096), "f32"), plan=plan).ptx.count("@%p")


def test_only_the_last_accesses_ask_whether_they_lie_in_the_column() -> None:
    """16 accesses of each of 64 positions: a further one of a thread adds no branch but that of its store."""
    added = branches(2 * 64 * 16 - 100) - branches(2 * 64 * 15 - 100)
    assert added == branches(2 * 64 * 16) - branches(2 * 64 * 15)


def test_the_code_of_columns_in_slots_does_not_grow_with_their_length() -> None:
    """Loops fold groups of 8 accesses, and write groups of 4; a further access has code of its own."""

    def stores(held: int) -> tuple[int, int]:
        plan = f"fast=kept,lanes=8,warps=8,warps_kept=1,cluster=2,resident=shared,held={held}"
        text = wf.softmax.compile(((2 * 64 * held, 4096), "f32"), axis=0, plan=plan).ptx
        return text.count("st.global"), text.count("ex2") + text.count("0f3920A732")

    assert stores(16) == stores(32)
    assert stores(17)[0] == stores(16)[0] + 1


@pytest.mark.parametrize(("dtype", "loops"), [("f32", True), ("bf16", False)])
def test_halves_in_a_cta_alone_are_written_by_straight_code(dtype: str, loops: bool) -> None:
    """A loop's own instructions are too many for halves, whose memory leaves few of them."""
    plan = "fast=kept,vector=4,lanes=1,warps=4,warps_kept=2,resident=shared,held=16"
    text = wf.softmax.compile(((64, 4096), dtype), axis=0, plan=plan).ptx
    assert text.count("st.global") == (4 if loops else 16)


def test_counts_that_all_threads_know_need_no_division() -> None:
    """Nor where warps meet in their CTA first, as they do where two lanes share a column."""

    def divisions(lanes: int, cluster: int, rows: int) -> int:
        plan = f"fast=kept,lanes={lanes},warps=8,warps_kept=1,cluster={cluster},resident=shared"
        return wf.standardize.compile(((rows, 4096), "f32"), axis=0, plan=plan).ptx.count("div.rn")

    # of the variances of four columns by their length
    assert divisions(8, 2, 8 * 8 * 2 * 16) == divisions(2, 4, 8 * 2 * 4 * 16) == 4


@pytest.mark.parametrize("held", [16, 19])
def test_loops_over_slots_fold_and_write_each_access_once(held: int) -> None:
    """The last access of a thread of the last CTA lies beyond the column, which the loops mask in all turns."""
    x = np.random.default_rng(held).standard_normal((2 * 8 * held - 1, 4), np.float32) * 5
    plan = f"fast=kept,lanes=8,warps=1,warps_kept=1,cluster=2,resident=shared,held={held}"
    e = np.exp(x.astype(float) - x.max(axis=0))
    np.testing.assert_allclose(wf.softmax(x, axis=0, plan=plan), e / e.sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize(("resident", "copy"), [("registers", "ld.global.nc"), ("shared", "cp.async.cg.shared.global")])
@pytest.mark.parametrize(("lanes", "columns", "whole"), [(8, 4096, False), (4, 4096, True), (1, 4097, False)])
def test_strips_narrower_than_a_line_have_the_cache_read_all_of_it(
    resident: str, copy: str, lanes: int, columns: int, whole: bool
) -> None:
    """Of a line of 128 bytes a strip of 8 lanes has 64, and the strip of a neighbour the others."""
    plan = f"fast=kept,lanes={lanes},warps=8,warps_kept=1,resident={resident}"
    kernel = centered.compile(((100, columns), "f32"), plan=plan)
    cg = copy if columns % 4 == 0 else copy.replace("cg", "ca")
    assert (f"{cg}.L2::128B" in kernel.ptx, f"{cg}.L2::128B" not in kernel.ptx) == (not whole, whole)
