"""CTAs that fold columns of their neighbours as well, so that each of them writes whole sectors of memory."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering
from kernel_programs import layer_norm, placed, run, softmax, untouched_around

import warpfold as wf
from warpfold.compiler.dtypes import F16, F32, F64
from warpfold.compiler.errors import ArgumentError, PlanError
from warpfold.compiler.plan.tiles import SECTOR
from warpfold.runtime.emulator import Tool
from warpfold.runtime.emulator.sanitizer import Sanitizer
from warpfold.runtime.emulator.tool import in_turn

sys.path.insert(0, str(Path(__file__).parent.parent / "sanitizer"))
from mutate import edit

TYPES = {np.float16: F16, np.float32: F32, np.float64: F64}
WAYS = [
    "resident=registers,lanes=1,warps=2",
    "resident=shared,lanes=1,warps=2",
    "resident=registers,lanes=1,cluster=2",
    "resident=registers,lanes=1,warps=8",  # in all rows of a thread sectors lie alike
]


class Writers(Tool):
    """The CTAs that write each sector of an array, which begins at an address."""

    def __init__(self, address: int) -> None:
        self.address, self.found = address, defaultdict[int, set[int]](set)

    def touch(self, touch: Any) -> None:
        home = touch.pieces[0].home
        if home is None or home.name != "result 0" or touch.access.verb != "written":
            return
        ctas = touch.machine.order[touch.threads // touch.lanes.per_cta]
        at = np.broadcast_to(touch.addresses + touch.access.offset, touch.threads.shape) - home.address + self.address
        for cta, sector in zip(ctas.tolist(), (at // SECTOR).tolist(), strict=True):
            self.found[sector].add(cta)


def plan_of(way: str, vector: int, dtype: Any, sectors: int = 1) -> str:
    """Strips of 32 lanes of one access each, of which a sector belongs to the next CTA, too."""
    overlap = sectors * SECTOR // np.dtype(dtype).itemsize
    return f"fast=kept,walk=interleaved,vector={vector},warps_kept=1,tile_bytes=0,overlap={overlap},{way}"


@covering(
    ("way", WAYS),
    (("dtype", "vector"), [(np.float16, 2), (np.float16, 1), (np.float32, 1), (np.float64, 1)]),
    (("columns", "begin", "begin_of_results"), [(134, 0, 0), (70, 2, 4), (32, 0, 6)]),
)
def test_columns(way: str, dtype: Any, vector: int, columns: int, begin: int, begin_of_results: int) -> None:
    """Bits are those of the plan without an overlap, and no sector inside of a row has two writers."""
    x, _ = placed(41, columns, columns, begin, dtype)
    x[:] = np.random.default_rng(columns).standard_normal(x.shape)
    found = {}
    for plan in (plan_of(way, vector, dtype, sectors) for sectors in (1, 0)):
        y, memory = placed(41, columns, columns, begin_of_results, dtype)
        tool, writers = Sanitizer(), Writers(y.ctypes.data % SECTOR)
        run(softmax(TYPES[dtype]), [x], [y], (1,), tool=in_turn(tool, writers), plan=plan)
        assert not list(tool.findings), list(tool.findings)[:3]
        assert untouched_around(y, memory)
        found[plan] = y.copy(), sum(len(ctas) > 1 for ctas in writers.found.values())
    (ours, shared), (others, before) = found.values()
    np.testing.assert_array_equal(ours.view(np.uint8), others.view(np.uint8))
    assert shared <= 40  # where a row ends
    assert before > shared or columns == 32


@pytest.mark.parametrize("way", WAYS)
def test_columns_of_groups_with_weights_and_a_result_for_each_column(way: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 37, 75)).astype(np.float32)
    w, b = (np.random.default_rng(k).standard_normal((1, 37, 1)).astype(np.float32) for k in (1, 2))
    y, mean, tool = np.zeros_like(x), np.zeros((3, 1, 75), np.float32), Sanitizer()
    run(layer_norm(), [x, w, b], [y, mean], (0, 2), tool=tool, plan=plan_of(way, 1, np.float32))
    assert not list(tool.findings), list(tool.findings)[:3]
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(mean, wide.mean(1, keepdims=True), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(y, d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("vector", "overlap", "warps"), [(4, 0, 8), (2, 16, 8), (2, 16, 2)])
def test_halves_with_weights_in_clusters(vector: int, overlap: int, warps: int) -> None:
    """One branch goes around the stores of a thread where it owns its columns in all rows, or in none."""
    x = np.random.default_rng(0).standard_normal((1, 101, 4 * 37)).astype(np.float16)
    w, b = (np.random.default_rng(k).standard_normal((1, 101, 1)).astype(np.float32) for k in (1, 2))
    y, mean, tool = np.zeros_like(x), np.zeros((1, 1, 4 * 37), np.float32), Sanitizer()
    plan = f"{plan_of('resident=shared,lanes=1,cluster=2', vector, np.float16, 0)},warps={warps}"
    plan = plan.replace("overlap=0", f"overlap={overlap}")
    run(layer_norm(F16), [x, w, b], [y, mean], (0, 2), tool=tool, plan=plan)
    assert not list(tool.findings), list(tool.findings)[:3]
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(y, d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b, rtol=2e-3, atol=2e-3)


def test_a_planted_mistake_is_found() -> None:
    """Threads that write what is not theirs leave the sectors of others unwritten."""
    x = np.random.default_rng(0).standard_normal((20, 70)).astype(np.float32)
    y = np.zeros_like(x)
    change = edit(r"setp\.gt\.u32", "setp.le.u32", None)
    run(softmax(), [x], [y], (1,), plan=plan_of(WAYS[0], 1, np.float32), change=change)
    assert not np.allclose(y, np.exp(x) / np.exp(x).sum(0))


def test_in_place_columns_do_not_overlap() -> None:
    """A neighbour would read what a CTA has written: such a call has another plan, unless it asks for this one."""
    x = np.random.default_rng(0).standard_normal((41, 135)).astype(np.float32)
    plan = plan_of(WAYS[0], 1, np.float32)
    want = wf.softmax(x, axis=0, plan=plan, device="emulator")
    with pytest.raises(ArgumentError, match="WF186"):
        wf.softmax(x, axis=0, plan=plan, device="emulator", out=x)
    np.testing.assert_allclose(wf.softmax(x, axis=0, device="emulator", out=x), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("axis", "options", "served"),
    [
        (1, "overlap=8", "set 0"),
        (0, "fast=kept,resident=registers,vector=1,lanes=1,overlap=4", "0 or 8 or 16"),
        (0, "fast=kept,resident=memory,vector=1,lanes=1,overlap=8", "0"),
    ],
)
def test_an_overlap_that_no_plan_has_is_refused(axis: int, options: str, served: str) -> None:
    with pytest.raises(PlanError, match="WF425") as raised:
        wf.softmax.compile(((128, 128), "f32"), axis=axis, plan=options)
    assert served in str(raised.value)
