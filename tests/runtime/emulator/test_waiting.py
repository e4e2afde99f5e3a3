"""Kernels whose CTAs wait for each other have all of them resident; those of others run fewer at a time."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_harness import module, run

from warpfold.runtime.emulator.machine import launch, machine, schedule

MEET = """
setp.ne.u32 p1, r0, 0; @p1 bra HERE; atom.global.add.u32 r1, [d0], 1;
AGAIN: ld.{how}.global.u32 r2, [d0]; {then} bra AGAIN;
HERE: bar.sync 0;
"""
LATER = "mov.u32 r3, 0; setp.lt.u32 p2, r2, 300; @p2 add.u32 r3, r3, 1; setp.eq.u32 p3, r3, 1; @p3"
COUNT = """
mov.u32 r1, 0; mov.u32 r3, 0;
NEXT: ld.global.u32 r2, [d1]; add.u32 r3, r3, r2; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 9; @p1 bra NEXT;
atom.global.add.u32 r4, [d0], 0; setp.eq.u32 p2, r4, 77; @p2 bra END; st.global.u32 [d1], r3; END:
"""


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        (MEET.format(how="volatile", then="setp.lt.u32 p2, r2, 300; @p2"), True),
        (MEET.format(how="acquire.gpu", then=LATER), True),
        ("SPIN: mov.u32 r1, %clock; setp.lt.u32 p1, r1, 99; @p1 bra SPIN;", True),
        (COUNT, False),
        ("", False),
    ],
)  # fmt: skip
def test_loops_that_may_wait(body: str, waits: bool) -> None:
    assert schedule.may_wait(module(body).programs["k"]) is waits


def test_a_grid_that_meets_is_resident(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter is read round and round by 80 CTAs of 1024 threads, which are more than run together otherwise."""
    batches: list[int] = []
    made = machine.Machine.__init__

    def init(self: machine.Machine, launched: launch.Launch, first: int, count: int) -> None:
        batches.append(count)
        made(self, launched, first, count)

    monkeypatch.setattr(machine.Machine, "__init__", init)
    body = MEET.format(how="volatile", then="setp.lt.u32 p2, r2, 80; @p2")
    assert run(body, threads=1024, ctas=80, size=1)[0] == 80
    assert batches == [80]
    batches.clear()
    run(COUNT, threads=1024, ctas=80, size=1024)
    assert batches == [64, 16]


def test_choices_by_bits() -> None:
    from warpfold.runtime.emulator.instructions.op import choose

    r = np.random.default_rng(0)
    flags = r.random(5000) < 0.3
    for dtype in (np.uint8, np.int16, np.float32, np.float64, np.uint64):
        a, b = (r.integers(0, 255, 5000 * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype) for _ in range(2))
        for x, y in ((a, b), (a[:1], b), (a, b[:1]), (a[:1], b[:1])):
            assert choose(flags, x, y).tobytes() == np.where(flags, x, y).tobytes()
