"""Results that two lanes write together: each is written once, whole sectors at a time, and nothing beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import numbers, placed

import warpfold as wf
from warpfold.compiler.plan.tiles import SECTOR
from warpfold.runtime.api import plan_for
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler

PLAN = "fast=kept,lanes=1,warps=1,finish=cta"


def right(what: str, x: Any) -> Any:
    return x.sum(0, dtype=np.int64) if what == "sum" else getattr(np, what)(x, axis=0)


@pytest.mark.parametrize(
    ("what", "t", "vector"), [("sum", np.int8, 4), ("sum", np.int8, 16), ("argmax", np.float32, 4)]
)
def test_each_store_of_a_warp_fills_the_sectors_that_it_touches(
    what: str, t: Any, vector: int, profiler: Profiler
) -> None:
    x = numbers((5, 1 << 12), t)
    out = placed(np.empty(x.shape[1] + 2, np.int64), 0)
    out = out[out.ctypes.data % SECTOR // 8 :][: x.shape[1]]
    wf.reduce(x, what, axis=0, plan=f"{PLAN},vector={vector}", out=out, device="emulator")
    np.testing.assert_array_equal(out, right(what, x))
    stores = total(profiler.profiles).traffic("global store")
    assert (stores.used, stores.sectors) == (1, out.nbytes / SECTOR)


@pytest.mark.parametrize("copies", [1, 3])
def test_repeated_elements_and_copies_of_results_are_written_in_pairs(copies: int) -> None:
    x = np.broadcast_to(numbers((40,), np.int8), (5, copies, 40))
    found = wf.sum(x, axis=0, plan=f"{PLAN},vector=4", device="emulator")
    np.testing.assert_array_equal(found, right("sum", x))


def test_results_that_fit_one_store_are_written_by_each_lane() -> None:
    """No lane then waits for another."""
    assert "shfl" not in wf.compile("sum", (4, 1 << 22), "f32", axis=0).ptx
    assert "shfl" in wf.compile("sum", (4, 1 << 22), "int8", axis=0).ptx
    assert plan_for("sum", (4, 1 << 22), "i8", axis=0).choice.plan.vector == 4
