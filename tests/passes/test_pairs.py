"""Results that two lanes write together: each is written once, whole sectors at a time, and nothing beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_row import numbers
from test_shifted import placed

import warpfold as wf
from warpfold.compiler.plan.tiles import SECTOR
from warpfold.runtime.api import plan_for
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator.profiler import Profiler, total

PLAN = "fast=kept,lanes=1,warps=1,finish=cta"


def right(what: str, x: Any) -> Any:
    return x.sum(0, dtype=np.int64) if what == "sum" else getattr(np, what)(x, axis=0)


@settings(deadline=None)
@given(
    st.sampled_from([("sum", np.int8, 4), ("sum", np.int8, 16), ("sum", np.int16, 8), ("sum", np.int32, 4),
                     ("count_nonzero", np.bool_, 8), ("argmax", np.float32, 4), ("argmin", np.int8, 16)]),
    st.integers(1, 9), st.integers(1, 40), st.integers(1, 4), st.integers(0, 3),
)  # fmt: skip
def test_the_last_lane_may_have_no_neighbour(
    case: tuple[str, Any, int], rows: int, accesses: int, warps: int, offset: int
) -> None:
    """Results may begin at any boundary of 16 bytes."""
    what, t, vector = case
    x = numbers((rows, accesses * vector), t, offset)
    memory = placed(np.full(x.shape[1] + 40, 77, np.int64), 0)
    before, out = memory.copy(), memory[16 + 2 * offset :][: x.shape[1]]
    plan = f"{PLAN},vector={vector},warps_kept={1 << warps.bit_length() - 1}"
    wf.reduce(x, what, axis=0, plan=plan, out=out, device="emulator")
    np.testing.assert_array_equal(out, right(what, x))
    out[:] = 77
    np.testing.assert_array_equal(memory, before)


@pytest.mark.parametrize(
    ("what", "t", "vector"), [("sum", np.int8, 4), ("sum", np.int8, 16), ("argmax", np.float32, 4)]
)
def test_each_store_of_a_warp_fills_the_sectors_that_it_touches(
    what: str, t: Any, vector: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, tool = numbers((5, 1 << 12), t), Profiler()
    monkeypatch.setattr(emulator(), "tool", tool)
    out = placed(np.empty(x.shape[1] + 2, np.int64), 0)
    out = out[out.ctypes.data % SECTOR // 8 :][: x.shape[1]]
    wf.reduce(x, what, axis=0, plan=f"{PLAN},vector={vector}", out=out, device="emulator")
    np.testing.assert_array_equal(out, right(what, x))
    stores = total(tool.profiles).traffic("global store")
    assert (stores.used, stores.sectors) == (1, out.nbytes / SECTOR)


@pytest.mark.parametrize("copies", [1, 3])
def test_repeated_elements_and_copies_of_results_are_written_so_too(copies: int) -> None:
    x = np.broadcast_to(numbers((40,), np.int8), (5, copies, 40))
    found = wf.sum(x, axis=0, plan=f"{PLAN},vector=4", device="emulator")
    np.testing.assert_array_equal(found, right("sum", x))


def test_results_that_a_store_holds_are_written_by_each_lane() -> None:
    """No lane waits for another then."""
    assert "shfl" not in wf.compile("sum", (4, 1 << 22), "f32", axis=0).ptx
    assert "shfl" in wf.compile("sum", (4, 1 << 22), "int8", axis=0).ptx
    assert plan_for("sum", (4, 1 << 22), "i8", axis=0).choice.plan.vector == 4
