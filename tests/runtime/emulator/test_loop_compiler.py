"""A loop run as one function gives the same memory, steps, instructions and tool events as block by block."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from emulator_harness import run

from warpfold.compiler.errors import EmulatorError
from warpfold.runtime import emulator
from warpfold.runtime.emulator.machine import loops

BODIES = {
    "carried": "mov.u32 r1, 0; mov.f32 r2, 0f3F800000; L: mad.lo.u32 r3, r1, 7, r0; cvt.rn.f32.u32 r4, r3;"
    "fma.rn.f32 r2, r2, 0f3F000000, r4; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 90; @p1 bra L; st.global.f32 [d1], r2;",
    "swapped": "mov.u32 r1, 0; add.u32 r2, r0, 1; mov.u32 r4, 0; L: mov.u32 r3, r1; mad.lo.u32 r1, r2, 5, r4;"
    "mov.u32 r2, r3; add.u32 r4, r4, 1; setp.ne.u32 p1, r4, 77; @p1 bra L; st.global.u32 [d1], r1;",
    "set late": "mov.u32 r1, 1; mov.u32 r2, 0; mov.u32 r3, 0; L: mad.lo.u32 r2, r2, 3, r1; mov.u32 r1, 7;"
    "add.u32 r3, r3, 1; setp.lt.u32 p1, r3, 50; @p1 bra L; st.global.u32 [d1], r2;",
    "guarded": "mov.u32 r1, 0; mov.u32 r2, 0; L: and.b32 r3, r1, 3; setp.eq.u32 p2, r3, 1; @p2 add.u32 r2, r2, r1;"
    "@!p2 xor.b32 r2, r2, r0; add.u32 r1, r1, 1; setp.ge.u32 p1, r1, 80; @!p1 bra L; st.global.u32 [d1], r2;",
    "left one by one": "mov.u32 r1, 0; mov.u32 r2, 0; mul.lo.u32 r3, r0, 5; L: setp.ge.u32 p1, r1, r3; @p1 bra E;"
    "mad.lo.u32 r2, r2, 5, r1; add.u32 r1, r1, 1; bra.uni L; E: st.global.u32 [d1], r2;",
    "two ways": "mov.u32 r1, 0; mov.u32 r2, 0; L: shr.u32 r3, r1, 4; and.b32 r3, r3, 1; setp.eq.u32 p1, r3, 0;"
    "@p1 bra A; mad.lo.u32 r2, r2, 3, r0; bra.uni B; A: add.u32 r2, r2, r1; B: add.u32 r1, r1, 1;"
    "setp.lt.u32 p2, r1, 100; @p2 bra L; st.global.u32 [d1], r2;",
    "nested": "mov.u32 r1, 0; mov.u32 r2, 0; L: mov.u32 r3, 0; M: mad.lo.u32 r2, r2, 3, r3; add.u32 r3, r3, 1;"
    "setp.lt.u32 p1, r3, r1; @p1 bra M; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 20; @p1 bra L; st.global.u32 [d1], r2;",
    "memory": "mov.u32 r1, 0; mov.u32 r3, buf; shl.b32 r4, r0, 2; add.u32 r3, r3, r4; st.shared.u32 [r3], r0;"
    "L: ld.shared.u32 r2, [r3]; mad.lo.u32 r2, r2, 3, 1; st.shared.u32 [r3], r2; mov.u32 r5, %clock;"
    "atom.global.add.u32 r6, [d1], r5; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 70; @p1 bra L;",
    "a spin": "setp.ne.u32 p1, r0, 0; @p1 bra W; mov.u32 r1, 0; L: add.u32 r1, r1, 1; setp.lt.u32 p2, r1, 150;"
    "@p2 bra L; st.volatile.global.u32 [d0], r1; bra.uni E; W: ld.volatile.global.u32 r1, [d0]; setp.eq.u32 p3, r1, 0;"
    "@p3 bra W; E: add.u32 r1, r1, r0; st.global.u32 [d1], r1;",
    "never written": "mov.u32 r1, 0; L: add.u32 r2, r2, r0; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 60; @p1 bra L;"
    "st.global.u32 [d1], r2;",
}


class Recorder(emulator.Tool):
    """Records the events, each with its step."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.stats: Any = None

    def launch(self, launch: Any) -> None:
        self.stats = launch.stats

    def step(self, machine: Any, block: Any, lanes: Any) -> None:
        self.told.append(("step", machine.ticks(), block.number, lanes.numbers.tolist()))

    def branch(self, machine: Any, block: Any, lanes: Any, mask: Any) -> None:
        flags = None if mask is None else np.broadcast_to(mask, (lanes.n,)).tolist()
        self.told.append(("branch", machine.ticks(), block.number, flags))

    def touch(self, touch: Any) -> None:
        self.told.append(("touch", touch.machine.ticks(), touch.access.verb, touch.addresses.tolist()))


def watched(monkeypatch: pytest.MonkeyPatch, hot: int, body: str) -> tuple[Any, ...]:
    """Output, events, steps and instructions of ``body`` when blocks are compiled as loops at visit number ``hot``."""
    monkeypatch.setattr(loops, "_HOT", hot)
    importlib.import_module("warpfold.runtime.emulator.machine.launch").parse.cache_clear()
    tool = Recorder()
    before = ".shared .align 4 .b8 buf[256];"
    got = run(body, threads=40, before=before, tool=tool)
    assert (run(body, threads=40, before=before) == got).all()
    return got.tolist(), tool.told, tool.stats


@pytest.mark.parametrize("name", BODIES)
def test_a_loop_gives_the_results_of_its_blocks(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    blocks = watched(monkeypatch, 1 << 30, BODIES[name])
    for hot in (1, 2, 5):
        assert watched(monkeypatch, hot, BODIES[name]) == blocks


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("mov.u32 r1, 0; L: add.u32 r1, r1, 1; setp.ne.u32 p1, r1, 0; @p1 bra L;", "WF716"),
        ("L: add.u64 d1, d1, 4; st.global.u32 [d1], r0; bra.uni L;", "WF710"),
    ],
)
def test_an_error_in_a_loop_has_the_same_message(monkeypatch: pytest.MonkeyPatch, body: str, code: str) -> None:
    def message(hot: int) -> str:
        monkeypatch.setattr(loops, "_HOT", hot)
        importlib.import_module("warpfold.runtime.emulator.machine.launch").parse.cache_clear()
        with pytest.raises(EmulatorError, match=code) as caught:
            run(body, max_steps=100)
        return str(caught.value)

    assert message(1) == message(1 << 30)


def test_only_a_block_that_runs_often_is_compiled_as_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    rings = []
    search = loops._ring
    monkeypatch.setattr(loops, "_ring", lambda program, first: rings.append(search(program, first)) or rings[-1])
    body = "mov.u32 r1, 0; L: add.u32 r1, r1, 1; setp.lt.u32 p1, r1, {}; @p1 bra L; st.global.u32 [d1], r1;"
    run(body.format(30))
    assert rings == []
    run(body.format(35))
    assert [[block.number for block in ring] for ring in rings] == [[1]]


def test_a_long_loop_stays_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_HOT", 1)
    body = "mov.u32 r1, 0; L: add.u32 r1, r1, 1;{}" + "setp.lt.u32 p1, r1, 50; @p1 bra L; st.global.u32 [d1], r1;"
    for count in (3, 40):
        made: list[Any] = []
        monkeypatch.setattr(loops, "_written", lambda _program, ring, made=made: made.append(ring))
        monkeypatch.setattr(loops, "Loop", lambda _ring, _run: None)
        parts = "".join(f"bra.uni P{k}; P{k}: xor.b32 r2, r2, {k};" for k in range(count))
        assert (run(body.format(parts)) == 50).all()
        assert bool(made) == (count < loops._LONGEST)
