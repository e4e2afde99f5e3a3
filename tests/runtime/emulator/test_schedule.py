"""Schedules: correct kernels give the same bits under every seed, racy ones differ, and endless ones are explained."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from covering import some
from emulator_harness import DATA, run

import warpfold as wf
from warpfold.compiler.errors import EmulatorError
from warpfold.compiler.target import DEFAULT
from warpfold.runtime import emulator
from warpfold.runtime.backends.emulator_backend import EmulatorBackend
from warpfold.runtime.backends.emulator_backend import emulator as backend
from warpfold.runtime.emulator.machine.memory import StoreBuffer
from warpfold.runtime.emulator.machine.schedule import Seeded

SEEDS = range(6)
SHARED = ".shared .align 4 .b8 buf[1024];"


@pytest.fixture
def seeded() -> Iterator[EmulatorBackend]:
    yield backend()
    backend().seed = None


REDUCTIONS: list[tuple[str, tuple[int, ...], str, int | None, str]] = [
    ("sum", (3000,), "f4", None, ""),
    ("sum", (9000,), "f4", None, "vector=1,unroll=1"),
    ("sum", (4, 600), "f4", 1, ""),
    ("sum", (300, 40), "f4", 0, ""),
    ("argmax", (5, 300), "f4", 1, ""),
    ("var", (2000,), "f8", None, ""),
    ("sum", (5000,), "i4", None, "finish=atomic"),
    ("max", (5000,), "i4", None, "finish=atomic,coarsening=2"),
    ("sum", (5000,), "f4", None, "finish=two_kernels"),
    ("any", (70, 33), "i4", 1, ""),
    ("mean", (3000,), "f2", None, "simple"),
    ("sum", (3000,), "f4", None, "fix-divergence"),
    ("sum", (3000,), "f4", None, "two-pass-simple"),
    ("sum", (3000,), "f4", None, "two-pass-warp-sync"),
    ("sum", (3000,), "f4", None, "single-pass-merged,coarsening=1"),
    ("logsumexp", (3000,), "f4", None, "shuffle,coarsening=1"),
]


@pytest.mark.parametrize(("name", "shape", "dtype", "axis", "plan"), some(REDUCTIONS, 6))
def test_the_schedule_cannot_change_a_reduction(
    name: str, shape: tuple[int, ...], dtype: str, axis: int | None, plan: str, seeded: EmulatorBackend
) -> None:
    x = (np.random.default_rng(len(plan)).standard_normal(shape) * 100).astype(dtype)

    def bits() -> bytes:
        return np.asarray(getattr(wf, name)(x, axis=axis, device="emulator", plan=plan)).tobytes()

    expected = bits()
    for seeded.seed in SEEDS:
        assert bits() == expected


def sum_f32(ptx: str, x: np.ndarray, ctas: int, seed: int | None) -> bytes:
    memory = emulator.Memory()
    partials, counter, out = np.zeros(ctas, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32)
    args = [memory.bind(a.view(np.uint8)) for a in (x, partials, counter, out)]
    emulator.launch(emulator.parse(ptx), "sum_f32", (ctas, 1, 1), (256, 1, 1), [*args, x.size], memory, seed=seed)
    return out.tobytes()


@pytest.mark.parametrize("name", ["sum_sm75", "sum_sm90"])
def test_a_last_block_needs_its_fence(name: str) -> None:
    # nvcc's own kernel: partial, fence, ticket. Without the fence the last CTA may miss partials of the others
    x = np.random.default_rng(3).standard_normal(5000).astype(np.float32)
    text = (DATA / f"{name}.ptx").read_text()
    expected = sum_f32(text, x, 9, None)
    assert {sum_f32(text, x, 9, seed) for seed in range(20)} == {expected}
    loose = re.sub(r"\n\s*(membar|fence)\.[^\n]*", "", text)
    assert loose != text
    assert len({sum_f32(loose, x, 9, seed) for seed in range(20)}) > 1
    assert sum_f32(loose, x, 9, None) == expected  # in lockstep nothing is late


# each thread takes a step of a tree: with its barriers it is right, without one of them it is not
TREE = """
mov.u32 r9, buf; mad.lo.u32 r1, r0, 4, r9; add.u32 r2, r0, 1; st.shared.u32 [r1], r2; mov.u32 r3, 64;
L: {sync} setp.ge.u32 p1, r0, r3; @p1 bra S; shl.b32 r4, r3, 2; add.u32 r4, r1, r4; ld.shared.u32 r5, [r4];
ld.shared.u32 r6, [r1]; add.u32 r5, r5, r6; st.shared.u32 [r1], r5;
S: shr.u32 r3, r3, 1; setp.ne.u32 p2, r3, 0; @p2 bra L; setp.eq.u32 p3, r0, 0; @p3 st.global.u32 [d0], r5;
"""
TAIL = """
mov.u32 r9, buf; mad.lo.u32 r1, r0, 4, r9; add.u32 r2, r0, 1; st.shared.u32 [r1], r2; mov.u32 r3, 16; bar.sync 0;
L: ld.shared.u32 r5, [r1]; shl.b32 r4, r3, 2; add.u32 r4, r1, r4; ld.shared.u32 r6, [r4]; add.u32 r5, r5, r6;
{sync} st.shared.u32 [r1], r5; {sync} shr.u32 r3, r3, 1; setp.ne.u32 p2, r3, 0; @p2 bra L;
setp.eq.u32 p3, r0, 0; @p3 st.global.u32 [d0], r5;
"""
COUNTER = "ld.global.u32 r1, [d0]; add.u32 r1, r1, 1; st.global.u32 [d0], r1;"
HANDED = """
mov.u32 r9, buf; setp.ge.u32 p1, r0, 32; @p1 bra READ; mad.lo.u32 r1, r0, 4, r9; st.shared.u32 [r1+4], r0;
{sync} setp.ne.u32 p2, r0, 0; @p2 ret; mov.u32 r2, 1; st.volatile.shared.u32 [r9], r2; ret;
READ: ld.volatile.shared.u32 r2, [r9]; setp.ne.u32 p2, r2, 1; @p2 bra READ; sub.u32 r3, r0, 32;
mad.lo.u32 r1, r3, 4, r9; ld.shared.u32 r4, [r1+4]; st.global.u32 [d1], r4;
"""
MESSAGE = """
mov.u32 r1, %ctaid.x; setp.ne.u32 p1, r1, 0; @p1 bra READ; mov.u32 r2, 42; st.global.u32 [d0], r2; {sync}
mov.u32 r2, 1; st.volatile.global.u32 [d0+256], r2; ret;
READ: ld.volatile.global.u32 r2, [d0+256]; setp.ne.u32 p1, r2, 1; @p1 bra READ; ld.global.u32 r3, [d0];
st.global.u32 [d0+4], r3;
"""
NONE: dict[str, Any] = {}
RACES: list[tuple[str, str, str, dict[str, Any]]] = [
    (TREE, "bar.sync 0;", "", {"threads": 128, "size": 1, "before": SHARED}),
    (TAIL, "bar.warp.sync -1;", "", {"size": 1, "before": SHARED}),
    (HANDED, "bar.warp.sync -1;", "", {"threads": 64, "before": SHARED}),
    (MESSAGE, "membar.gl;", "", {"threads": 1, "ctas": 2, "size": 65}),
    (MESSAGE, "fence.acq_rel.gpu;", "membar.cta;", {"threads": 1, "ctas": 2, "size": 65}),
    ("{sync}", "red.global.add.u32 [d0], 1;", COUNTER, {"threads": 40, "ctas": 3, "size": 1}),
]


@pytest.mark.parametrize(("body", "right", "wrong", "options"), RACES)
def test_races_change_results(body: str, right: str, wrong: str, options: dict[str, Any]) -> None:
    def answers(sync: str) -> set[bytes]:
        return {run(body.format(sync=sync), **options, seed=seed).tobytes() for seed in range(20)}

    assert len(answers(right)) == 1
    assert len(answers(wrong)) > 1


def test_a_seed_determines_a_run() -> None:
    first, second = ([int(run(COUNTER, threads=64, ctas=4, size=1, seed=s)[0]) for s in SEEDS] for _ in range(2))
    assert first == second == FROZEN


FROZEN = [3, 1, 1, 5, 1, 3]
"""The results of these seeds, which must be the same on every machine."""


def test_atomics_of_one_step_take_place_in_any_order() -> None:
    body = "atom.global.add.u32 r1, [d0], 1; st.global.u32 [d1+4], r1;"
    tickets = {tuple(run(body, threads=8, size=9, seed=s)[1:].tolist()) for s in range(8)}
    assert len(tickets) > 4
    assert all(sorted(t) == list(range(8)) for t in tickets)


@pytest.mark.parametrize("seed", [None, *SEEDS])
def test_a_spin_lock_ends(seed: int | None) -> None:
    body = """
    L: atom.global.cas.b32 r1, [d0], 0, 1; setp.ne.u32 p1, r1, 0; @p1 bra L; membar.gl;
    ld.volatile.global.u32 r2, [d0+4]; add.u32 r2, r2, 1; st.volatile.global.u32 [d0+4], r2; membar.gl;
    atom.global.exch.b32 r3, [d0], 0;
    """
    assert run(body, threads=20, ctas=3, size=2, seed=seed).tolist() == [0, 60]


@pytest.mark.parametrize("seed", [None, *SEEDS])
def test_producers_and_consumers_take_turns(seed: int | None) -> None:
    # warp 0 fills, warp 1 takes, five times over; two named barriers say full and empty
    body = """
    mov.u32 r9, buf; mov.u32 r1, 0; and.b32 r2, r0, 31; mad.lo.u32 r2, r2, 4, r9; setp.ge.u32 p1, r0, 32; @p1 bra TAKE;
    FILL: mad.lo.u32 r3, r1, 100, r0; bar.sync 2, 64; st.shared.u32 [r2], r3; bar.arrive 1, 64; add.u32 r1, r1, 1;
    setp.lt.u32 p2, r1, 5; @p2 bra FILL; ret;
    TAKE: mov.u32 r5, 0; NEXT: bar.arrive 2, 64; bar.sync 1, 64; ld.shared.u32 r4, [r2]; add.u32 r5, r5, r4;
    add.u32 r1, r1, 1; setp.lt.u32 p2, r1, 5; @p2 bra NEXT; st.global.u32 [d1], r5;
    """
    got = run(body, threads=64, before=SHARED, seed=seed)
    assert (got[32:] == 1000 + 5 * np.arange(32)).all()


GRID = """
mov.u32 r2, %nctaid.x; setp.ne.u32 p1, r0, 0; @p1 bra S; membar.gl; atom.global.add.u32 r3, [d0], 1;
W: ld.acquire.gpu.global.u32 r4, [d0]; setp.lt.u32 p2, r4, r2; @p2 bra W;
S: bar.sync 0; ld.global.u32 r5, [d0]; mov.u32 r1, %ctaid.x; mad.wide.u32 d3, r1, 4, d0; st.global.u32 [d3+4], r5;
"""


@pytest.mark.parametrize("seed", [None, *SEEDS])
def test_a_barrier_over_the_grid_ends(seed: int | None) -> None:
    assert (run(GRID, threads=64, ctas=7, size=8, seed=seed) == 7).all()


def test_as_many_ctas_run_at_a_time_as_the_machine_holds() -> None:
    assert (run(GRID, threads=1024, ctas=264, size=265) == 264).all()
    with pytest.raises(EmulatorError, match=r"WF731: .*1 of 265 CTAs have not begun: 264 run at a time"):
        run(GRID, threads=1024, ctas=265, size=266)


def test_shared_memory_bounds_the_ctas_that_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("warpfold.runtime.emulator.machine.launch")
    monkeypatch.setattr(module, "DEFAULT", DEFAULT._replace(sms=1))
    assert (run(GRID, threads=32, ctas=2, size=3, shared_bytes=100_000) == 2).all()
    with pytest.raises(EmulatorError, match=r"WF731: .*which is 0x2; .*1 of 3 CTAs have not begun: 2 run at a time"):
        run(GRID, threads=32, ctas=3, size=4, shared_bytes=100_000)


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_clusters_stay_whole(seed: int | None) -> None:
    body = """
    mov.u32 r9, buf; mov.u32 r1, %cluster_ctarank; mov.u32 r2, %ctaid.x; st.shared.u32 [r9], r2;
    barrier.cluster.arrive.release; barrier.cluster.wait.acquire; xor.b32 r3, r1, 1;
    mapa.shared::cluster.u32 r4, r9, r3; ld.shared::cluster.u32 r5, [r4];
    barrier.cluster.arrive; barrier.cluster.wait; mad.wide.u32 d2, r2, 4, d0;
    st.global.u32 [d2], r5;
    """
    got = run(body, threads=32, ctas=6, size=6, before=SHARED, cluster=(2, 1, 1), seed=seed)
    assert got.tolist() == [1, 0, 3, 2, 5, 4]


FLAG = "W: ld.volatile.global.u32 r1, [d0+8]; setp.ne.u32 p2, r1, 7; @p2 bra W;"


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        (FLAG, NONE,
         r"WF730: deadlock: 32 threads in a loop that ends in PTX line 9 wait forever, .* they read, 'out'\[2\] of "
         r"4 bytes, which is 0x0; there is no other thread; .*PTX line 9: 'ld\.volatile\.global\.u32 r1, \[d0\+8\];'"),
        ("setp.ge.u32 p1, r0, 8; @p1 exit; " + FLAG, NONE,
         r"WF730: .* 8 threads .*; of the other threads 24 have ended; "),
        ("setp.ge.u32 p1, r0, 40; @p1 exit; setp.ge.u32 p1, r0, 16; @p1 bra B; " + FLAG + "B: bar.sync 0;",
         {"threads": 64}, r"WF730: .* 16 threads .*; of the other threads 24 have ended and 24 wait at barriers"),
        ("mov.u32 r9, buf; mov.u32 r2, 5; st.shared.u32 [r9+12], r2; W: ld.volatile.shared.u32 r1, [r9+12];"
         "setp.ne.u32 p2, r1, 7; @p2 bra W;",
         {"before": SHARED}, r"WF730: .*shared 'buf'\[3\] of 4 bytes, which is 0x5;"),
        ("W: atom.global.cas.b32 r1, [d0], 1, 2; setp.ne.u32 p1, r1, 1; @p1 bra W;", {"ctas": 2},
         r"WF730: .* 64 threads .*'out'\[0\]"),
        ("W: ld.volatile.global.u32 r1, [d0]; setp.ne.u32 p1, r1, 1; vote.sync.any.pred p2, p1, -1; @p2 bra W;", NONE,
         r"WF730: .* 32 threads"),
        ("mov.u32 r9, buf; setp.eq.u32 p1, r0, 0; @p1 mbarrier.init.shared.b64 [r9+8], 2; bar.sync 0;"
         "@p1 mbarrier.arrive.shared.b64 d2, [r9+8];"
         "W: mbarrier.try_wait.parity.shared.b64 p2, [r9+8], 0; @!p2 bra W;",
         {"before": SHARED.replace("4", "8", 1)}, r"WF730: .* 32 threads .* they read, shared 'buf'\[1\] of 8 bytes"),
        ("W: bra W;", {"ctas": 3}, r"WF732: no end: 96 threads .* no other thread sees what they do; .*'bra W;'"),
        ("setp.ge.u32 p1, r0, 60; @p1 bra B; bar.sync 0; B: bar.sync 1;", {"threads": 64},
         r"WF714: deadlock: 60 of 64"),
        ("setp.ge.u32 p1, r0, 8; @p1 bra B; bar.warp.sync -1; B: bar.sync 1;", NONE, r"WF715: lanes 8, 9, 10,"),
    ],
)  # fmt: skip
def test_endless_kernels_are_explained(body: str, options: dict[str, Any], message: str, seed: int | None) -> None:
    with pytest.raises(EmulatorError, match=message):
        run(body, **options, seed=seed)


@pytest.mark.parametrize("seed", [None, 0])
def test_a_long_wait_is_not_a_deadlock(seed: int | None) -> None:
    # the writer counts to 3000 in a register before it writes; the others read all the while
    body = f"""
    setp.ne.u32 p1, r0, 0; @p1 bra W; mov.u32 r2, 0; C: add.u32 r2, r2, 1; setp.lt.u32 p3, r2, 3000; @p3 bra C;
    mov.u32 r3, 7; st.volatile.global.u32 [d0+8], r3; {FLAG} st.global.u32 [d1+16], r1;
    """
    assert (run(body, threads=33, size=40, seed=seed)[4:37] == 7).all()


def test_a_late_store_arrives_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Latest(StoreBuffer):
        def __init__(self, random: np.random.Generator) -> None:
            super().__init__(random)
            self.odds = 0.0

    monkeypatch.setattr(importlib.import_module("warpfold.runtime.emulator.machine.launch"), "StoreBuffer", Latest)
    weak = MESSAGE.format(sync="membar.gl;").replace("st.volatile", "st")
    assert run(weak, threads=1, ctas=2, size=65, seed=0)[1] == 42


def test_ctas_come_in_any_order() -> None:
    launch: Any = SimpleNamespace(cluster_size=2, stats=SimpleNamespace(ctas=12))
    orders = set()
    for seed in SEEDS:
        schedule = Seeded(seed)
        batches = [schedule.order(launch, first, count).reshape(-1, 2) for first, count in ((0, 8), (8, 4))]
        clusters = np.concatenate(batches)
        assert (clusters % 2 == [0, 1]).all()
        assert (clusters[:, 0] // 2 == clusters[:, 1] // 2).all()
        orders.add(tuple((clusters[:, 0] // 2).tolist()))
    assert len(orders) > 3
    assert all(sorted(order) == list(range(6)) for order in orders)


@pytest.mark.parametrize("seed", [None, 0])
def test_clocks_and_counters_in_local_memory_advance(seed: int | None) -> None:
    # no register is live round these loops but what stays the same
    body = """
    mov.u32 r1, %clock; add.u32 r1, r1, 4000; C: mov.u32 r2, %clock; setp.lt.u32 p1, r2, r1; @p1 bra C;
    mov.u32 r2, 0; st.local.u32 [depot], r2;
    L: ld.local.u32 r2, [depot]; add.u32 r2, r2, 1; st.local.u32 [depot], r2; setp.lt.u32 p1, r2, 2000; @p1 bra L;
    ld.local.u32 r3, [depot]; st.global.u32 [d1], r3;
    """
    assert (run(".local .align 4 .b8 depot[4];" + body, seed=seed) == 2000).all()


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_a_seed_is_an_integer(seed: Any) -> None:
    with pytest.raises(EmulatorError, match=r"WF733: .* is no seed"):
        run("ret;", seed=seed)


def test_a_seed_draws_the_order_of_vector_atomics() -> None:
    # 2^24 + 1 is 2^24 in f32: the sum depends on when the large number comes
    body = """
    setp.eq.u32 p1, r0, 3; selp.b32 r1, 0f4B800000, 0f3F800000, p1;
    red.global.add.v2.f32 [d0], {r1, r1};
    """
    sums = [run(body, dtype=np.float32, size=2, threads=32, seed=seed) for seed in (None, *range(6))]
    assert sums[0].tolist() == [2.0**24 + 4] * 2  # three ones before, which round to four, and none of those behind
    assert len({float(s[0]) for s in sums}) > 2
