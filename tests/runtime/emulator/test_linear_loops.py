"""Loops whose registers grow by a constant give the results of their blocks, and loads in them take no arithmetic."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from emulator_harness import run

from warpfold.compiler.errors import EmulatorError
from warpfold.runtime.emulator.instructions.load_store import Load
from warpfold.runtime.emulator.machine import loops

X = np.random.default_rng(0).integers(0, 1 << 32, 1 << 17, dtype=np.uint32)
START = """
ld.param.b64 d2, [k_in0]; mov.u32 r1, %ctaid.x; shl.b32 r2, r1, 10; add.u32 r3, r2, r0; mov.u32 r4, 0; mov.u32 r6, 0;
mov.u64 d9, 0; mad.wide.u32 d10, r3, 8, d0;
"""
END = "cvt.u64.u32 d8, r4; add.u64 d9, d9, d8; st.global.u64 [d10], d9;"
BODIES = {
    "words": "L: cvt.s64.s32 d3, r3; shl.b64 d4, d3, 2; add.s64 d5, d2, d4; ld.global.u32 r5, [d5]; add.u32 r4, r4, r5;"
    "add.u32 r3, r3, 2048; add.u32 r6, r6, 1; setp.lt.u32 p1, r6, 40; @p1 bra L;",
    "vectors, and a second register": "shl.b32 r7, r3, 2; mov.u64 d6, d2; L: add.s32 r8, r7, 16; cvt.u64.u32 d3, r8;"
    "shl.b64 d4, d3, 2; add.u64 d5, d4, d6; ld.global.v2.u32 {r9, r10}, [d5+8]; xor.b32 r9, r9, r10;"
    "add.u32 r4, r4, r9; add.u64 d6, d6, 64; add.s32 r7, r7, 4096; add.u32 r6, r6, 1;"
    "setp.ge.u32 p1, r6, 19; @!p1 bra L;",
    "downwards": "add.u32 r3, r3, 100000; L: mul.wide.s32 d3, r3, 4; add.s64 d5, d2, d3; ld.global.u32 r5, [d5];"
    "add.u32 r4, r4, r5; mov.u64 d6, d2; ld.global.u32 r5, [d6]; add.u32 r3, r3, -2048; add.u32 r6, r6, 1;"
    "setp.lt.u32 p1, r6, 40; @p1 bra L;",
    "a number that wraps": "mov.u32 r7, 0x7fffff00; add.u32 r7, r7, r0; L: cvt.s64.s32 d3, r7; add.s64 d9, d9, d3;"
    "mov.u64 d5, d2; cvt.u64.u32 d4, r3; shl.b64 d4, d4, 2; add.u64 d5, d5, d4; ld.global.u32 r5, [d5];"
    "add.u32 r4, r4, r5; add.u32 r3, r3, 1024; add.s32 r7, r7, 64; add.u32 r6, r6, 1;"
    "setp.lt.u32 p1, r6, 60; @p1 bra L;",
    "left one by one": "L: setp.gt.u32 p1, r3, 90000; @p1 bra E; cvt.s64.s32 d3, r3; shl.b64 d4, d3, 2;"
    "add.s64 d5, d2, d4; ld.global.u32 r5, [d5]; add.u32 r4, r4, r5; add.u32 r3, r3, 2047; bra.uni L;"
    "E: add.u32 r4, r4, r3;",
}


def result(monkeypatch: pytest.MonkeyPatch, hot: int, body: str) -> np.ndarray[Any, Any]:
    """What two CTAs of 1024 threads write when blocks are compiled as loops at visit number ``hot``."""
    monkeypatch.setattr(loops, "_HOT", hot)
    importlib.import_module("warpfold.runtime.emulator.machine.launch").parse.cache_clear()
    return run(START + body + END, threads=1024, ctas=2, dtype=np.uint64, size=2048, inputs=[X])


@pytest.mark.parametrize("name", BODIES)
def test_a_linear_loop_gives_the_results_of_its_blocks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    wanted, told = result(monkeypatch, 1 << 30, BODIES[name]), []
    at = Load.at
    monkeypatch.setattr(Load, "at", lambda self, *given: told.append(given[-1]) or at(self, *given))
    for hot in (2, 5):
        told.clear()
        np.testing.assert_array_equal(result(monkeypatch, hot, BODIES[name]), wanted)
        assert len(set(told)) > 3 or name == "downwards"


def test_an_address_that_leaves_the_array_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for hot in (2, 1 << 30):
        with pytest.raises(EmulatorError, match=r"WF710: .* 0 bytes past the end .*thread \(0, 0, 0\)"):
            result(monkeypatch, hot, BODIES["words"].replace("r6, 40", "r6, 400"))
