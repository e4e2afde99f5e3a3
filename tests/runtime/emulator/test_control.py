"""Control flow and barriers: threads that diverge, reconverge, wait, exit or never arrive."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from emulator_harness import run
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler.errors import EmulatorError
from warpfold.compiler.target import DEFAULT

T = np.arange(256)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 9), min_size=70, max_size=70),
    st.lists(st.integers(0, 9), min_size=70, max_size=70),
    st.integers(0, 8),
)
def test_nested_loops_with_breaks_and_continues(outer: list[int], inner: list[int], stop: int) -> None:
    body = f"""
    ld.param.b64 d2, [k_in0]; mad.wide.u32 d2, r0, 4, d2; ld.global.u32 r1, [d2];
    ld.param.b64 d3, [k_in1]; mad.wide.u32 d3, r0, 4, d3; ld.global.u32 r2, [d3];
    mov.u32 r5, 0; mov.u32 r3, 0;
    OUTER: setp.ge.u32 p1, r3, r1; @p1 bra END; mov.u32 r4, 0;
    INNER: setp.ge.u32 p2, r4, r2; @p2 bra NEXT;
      mad.lo.u32 r5, r5, 3, r4; add.u32 r4, r4, 1;
      setp.eq.u32 p3, r4, {stop}; @p3 bra NEXT;
      and.b32 r6, r5, 7; setp.eq.u32 p4, r6, 5; @p4 bra NEXT; bra.uni INNER;
    NEXT: add.u32 r3, r3, 1; setp.gt.u32 p5, r5, 100000; @!p5 bra OUTER;
    END: st.global.u32 [d1], r5;
    """
    got = run(body, threads=70, inputs=[np.array(outer, np.uint32), np.array(inner, np.uint32)])
    for k in range(70):
        total = i = 0
        while i < outer[k]:
            j = 0
            while j < inner[k]:
                total = total * 3 + j & 0xFFFFFFFF
                j += 1
                if j == stop or total & 7 == 5:
                    break
            i += 1
            if total > 100000:
                break
        assert got[k] == total


def test_branch_tables() -> None:
    body = """
    and.b32 r1, r0, 3; brx.idx r1, TABLE;
    TABLE: .branchtargets A, B, C, A;
    A: mov.u32 r2, 10; bra.uni END;
    B: mov.u32 r2, 20; bra.uni END;
    C: add.u32 r2, r0, 30;
    END: st.global.u32 [d1], r2;
    """
    assert (run(body) == np.choose(T[:32] & 3, [10, 20, T[:32] + 30, 10])).all()


def test_an_index_outside_a_branch_table() -> None:
    with pytest.raises(
        EmulatorError, match=r"WF719: branch index 3 is not below 3.*'brx\.idx r0, TABLE;'.*\(3, 0, 0\)"
    ):
        run("brx.idx r0, TABLE; TABLE: .branchtargets A, A, A; A: ret;")


FUNCTIONS = """
.func (.param .b32 out) twice(.param .b32 x, .param .b64 y)
{ .reg .b32 a; .reg .b64 b; .reg .pred p; ld.param.b32 a, [x]; ld.param.b64 b, [y]; setp.gt.u32 p, a, 5; @p bra BIG;
  add.u32 a, a, a; st.param.b32 [out], a; ret;
  BIG: cvt.u32.u64 a, b; st.param.b32 [out], a; ret; }
.func (.reg .b32 r) square(.reg .b32 x) { .local .align 4 .b8 spare[8]; st.local.u32 [spare+4], x; .reg .b32 t;
  ld.local.u32 t, [spare+4]; mul.lo.u32 r, t, t; ret; }
"""


def test_calls_with_stack_and_register_parameters() -> None:
    body = """
    cvt.u64.u32 d2, r0; mul.lo.u64 d2, d2, 100;
    { .param .b32 p0_; .param .b64 p1_; .param .b32 ret_; st.param.b32 [p0_], r0; st.param.b64 [p1_], d2;
      call.uni (ret_), twice, (p0_, p1_); ld.param.b32 r1, [ret_]; }
    call (r2), square, (r0); setp.gt.u32 p1, r0, 20; @p1 call (r2), square, (r2);
    add.u32 r1, r1, r2; st.global.u32 [d1], r1;
    """
    t = T[:32]
    expected = np.where(t > 5, t * 100, 2 * t) + np.where(t > 20, t**4, t**2)
    assert (run(body, before=FUNCTIONS) == expected.astype(np.uint32)).all()


def test_predicated_instructions_keep_the_old_value() -> None:
    body = """
    mov.u32 r1, 7; setp.lt.u32 p1, r0, 8; @p1 add.u32 r1, r0, 100; @!p1 mul.lo.u32 r2, r0, 2; add.u32 r1, r1, r2;
    mov.u16 h1, 5; @p1 mov.u16 h1, 6; cvt.u32.u16 r3, h1; add.u32 r1, r1, r3; st.global.u32 [d1], r1;
    """
    t = T[:32]
    assert (run(body) == np.where(t < 8, t + 106, 7 + 2 * t + 5)).all()


@pytest.mark.parametrize("threads", [1, 31, 33, 96, 200])
def test_blocks_of_any_size_exchange_through_shared_memory(threads: int) -> None:
    body = """
    shl.b32 r1, r0, 2; mov.u32 r2, buf; add.u32 r2, r2, r1; st.shared.u32 [r2], r0; bar.sync 0;
    mov.u32 r3, %ntid.x; sub.u32 r3, r3, r0; sub.u32 r3, r3, 1; shl.b32 r3, r3, 2; mov.u32 r4, buf; add.u32 r4, r4, r3;
    ld.shared.u32 r5, [r4]; st.global.u32 [d1], r5;
    """
    got = run(body, threads=threads, before=".shared .align 4 .b8 buf[1024];")
    assert (got == threads - 1 - np.arange(threads)).all()


def test_barriers_in_a_loop_and_threads_that_leave_early() -> None:
    # at turn i every thread adds its right neighbour's value; thread 0 of warp 1 has left before the first barrier
    body = """
    setp.eq.u32 p1, r0, 32; @p1 exit; mov.u32 r1, 0; mov.u32 r9, buf; mad.lo.u32 r2, r0, 4, r9; mov.u32 r3, r0;
    L: st.shared.u32 [r2], r3; bar.sync 0; ld.shared.u32 r4, [r2+4]; bar.sync 0; add.u32 r3, r3, r4; add.u32 r1, r1, 1;
    setp.lt.u32 p2, r1, 3; @p2 bra L; st.global.u32 [d1], r3;
    """
    state = np.append(np.arange(64), 0)
    state[32] = state[64] = 0xCDCDCDCD  # never written: poison
    for _ in range(3):
        fresh = state[:64] + state[1:]
        fresh[32] = state[32]
        state = np.append(fresh, state[64]) & 0xFFFFFFFF
    got = run(body, threads=64, before=".shared .align 4 .b8 buf[260];")
    expected = state[:64].copy()
    expected[32] = 0
    assert (got == expected).all()


def test_barrier_reductions() -> None:
    body = """
    and.b32 r1, r0, 3; setp.eq.u32 p1, r1, 1; bar.red.popc.u32 r2, 0, p1; bar.red.or.pred p2, 0, p1;
    barrier.cta.red.and.aligned.pred p3, 0, !p1; setp.ge.u32 p4, r0, 0; bar.red.and.pred p5, 1, 96, p4;
    selp.u32 r3, 1000, 0, p2; selp.u32 r4, 2000, 0, p3; selp.u32 r5, 4000, 0, p5; add.u32 r2, r2, r3;
    add.u32 r2, r2, r4;
    add.u32 r2, r2, r5; st.global.u32 [d1], r2;
    """
    assert (run(body, threads=96) == 24 + 1000 + 4000).all()


def test_producers_arrive_and_consumers_wait() -> None:
    # warp 0 produces and does not wait; warp 1 waits for both with a count
    body = """
    mov.u32 r9, buf; setp.ge.u32 p1, r0, 32; @p1 bra CONSUME; mad.lo.u32 r1, r0, 4, r9; mul.lo.u32 r2, r0, 3;
    st.shared.u32 [r1], r2; bar.arrive 1, 64; bra END;
    CONSUME: barrier.sync 1, 64; sub.u32 r3, r0, 32; mad.lo.u32 r1, r3, 4, r9; ld.shared.u32 r4, [r1];
    st.global.u32 [d1], r4; END:
    """
    got = run(body, threads=64, before=".shared .align 4 .b8 buf[128];")
    assert (got[32:] == 3 * T[:32]).all()


def test_a_deadlock_is_explained() -> None:
    body = "setp.ge.u32 p1, r0, 60; @p1 bra B; bar.sync 0; B: bar.sync 1; st.global.u32 [d1], r0;"
    with pytest.raises(EmulatorError, match=r"WF714: deadlock: 60 of 64 threads are at barrier 0 .* not there: 60, 61"):
        run(body, threads=64)


def test_an_endless_loop_ends_in_an_error() -> None:
    with pytest.raises(EmulatorError, match=r"WF716: .* 1000 steps; 32 thread\(s\) run at kernel 'k'.*'add\.u32"):
        run("L: add.u32 r1, r1, 1; setp.ge.u32 p1, r1, 0; @p1 bra L;", max_steps=1000)


def test_threads_that_spin_for_a_lock_let_its_holder_run() -> None:
    # the critical section lies behind the loop: lanes of one warp, and CTAs, must all pass
    body = """
    L: atom.global.cas.b32 r1, [d0], 0, 1; setp.ne.u32 p1, r1, 0; @p1 bra L;
    ld.volatile.global.u32 r2, [d0+4]; add.u32 r2, r2, 1; st.volatile.global.u32 [d0+4], r2; membar.gl;
    atom.global.exch.b32 r3, [d0], 0;
    """
    assert run(body, threads=40, ctas=3, size=2).tolist() == [0, 120]


def test_a_barrier_over_the_grid() -> None:
    # every CTA counts itself in, then waits for all; the last to come must not be starved by those that spin
    body = """
    mov.u32 r1, %ctaid.x; mov.u32 r2, %nctaid.x; setp.ne.u32 p1, r0, 0; @p1 bra S; atom.global.add.u32 r3, [d0], 1;
    W: ld.acquire.gpu.global.u32 r4, [d0]; setp.lt.u32 p2, r4, r2; @p2 bra W;
    S: bar.sync 0; ld.global.u32 r5, [d0]; mad.lo.u32 r6, r1, 64, r0; mad.wide.u32 d3, r6, 4, d0;
    st.global.u32 [d3+4], r5;
    """
    assert (run(body, threads=64, ctas=5, size=321)[1:] == 5).all()


def test_trap_says_where() -> None:
    with pytest.raises(EmulatorError, match=r"WF717: trap; .*'@p1 trap;', CTA \(1, 0, 0\), thread \(5, 0, 0\)"):
        run("mov.u32 r1, %ctaid.x; mad.lo.u32 r1, r1, 32, r0; setp.eq.u32 p1, r1, 37; @p1 trap;", ctas=2)


def test_coordinates_in_three_dimensions() -> None:
    from emulator_harness import module

    from warpfold.runtime import emulator

    names = ["%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%ntid.y", "%nctaid.z"]
    text = "".join(
        f"mov.u32 r3, {name}; st.global.u32 [d2+{4 * k}], r3;" for k, name in enumerate([*names, "%laneid", "%warpid"])
    )
    body = f"""
    mov.u32 r1, %tid.y; mov.u32 r2, %tid.z; mad.lo.u32 r1, r2, 3, r1; mad.lo.u32 r1, r1, 5, r0;
    mov.u32 r2, %ctaid.z; mov.u32 r3, %ctaid.y; mad.lo.u32 r2, r2, 2, r3; mov.u32 r3, %ctaid.x;
    mad.lo.u32 r2, r2, 4, r3;
    mad.lo.u32 r1, r2, 30, r1; mad.wide.u32 d2, r1, 40, d0; {text}
    """
    memory = emulator.Memory()
    out = np.zeros((2 * 2 * 4 * 30, 10), np.uint32)
    stats = emulator.launch(
        module(body), "k", (4, 2, 2), (5, 3, 2), [memory.bind(out.reshape(-1).view(np.uint8))], memory
    )
    assert (stats.threads, stats.ctas) == (480, 16)
    linear = np.arange(480)
    thread, cta = linear % 30, linear // 30
    columns = [
        thread % 5,
        thread // 5 % 3,
        thread // 15,
        cta % 4,
        cta // 4 % 2,
        cta // 8,
        3,
        2,
        thread % 32,
        thread // 32,
    ]
    assert all((out[:, k] == column).all() for k, column in enumerate(columns))


def test_many_batches_of_ctas(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(
        "warpfold.runtime.emulator.machine.launch"
    )  # the package's own name is the function
    monkeypatch.setattr(module, "DEFAULT", DEFAULT._replace(sms=2, threads_per_sm=128))
    body = "mov.u32 r1, %ctaid.x; atom.global.add.u32 r2, [d0], 1; atom.global.max.u32 r2, [d0+4], r1;"
    assert (run(body, threads=64, ctas=33, size=2) == [33 * 64, 32]).all()


CLUSTER = """
mov.u32 r9, buf; mov.u32 r1, %cluster_ctarank; mov.u32 r2, %ctaid.x; mul.lo.u32 r3, r2, 7; setp.eq.u32 p1, r0, 0;
@p1 st.shared.u32 [r9], r3; barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
add.u32 r4, r1, 1; mov.u32 r5, %cluster_nctarank; rem.u32 r4, r4, r5; mapa.shared::cluster.u32 r6, r9, r4;
ld.shared::cluster.u32 r7, [r6]; getctarank.shared::cluster.u32 r8, r6; mad.lo.u32 r7, r8, 1000, r7;
barrier.cluster.arrive; barrier.cluster.wait; mad.wide.u32 d2, r2, 4, d0; @p1 st.global.u32 [d2], r7;
"""


def test_clusters_read_each_others_shared_memory() -> None:
    got = run(CLUSTER, threads=64, ctas=6, size=6, before=".shared .align 4 .b8 buf[4];", cluster=(3, 1, 1))
    assert (got == [1007, 2014, 0, 1028, 2035, 21]).all()


def test_a_cluster_rank_that_does_not_exist() -> None:
    body = "mov.u32 r1, buf; mapa.shared::cluster.u32 r2, r1, 5; ld.shared::cluster.u32 r3, [r2];"
    with pytest.raises(EmulatorError, match="WF710: out of bounds: shared memory of CTA rank 5 in a cluster of 2"):
        run(body, ctas=2, before=".shared .align 4 .b8 buf[4];", cluster=(2, 1, 1))


def test_a_cluster_barrier_that_never_completes() -> None:
    body = "barrier.cluster.arrive; barrier.cluster.wait; setp.gt.u32 p1, r0, 3; @p1 bra B; barrier.cluster.arrive; "
    body += "barrier.cluster.wait; bar.sync 0; B: bar.sync 0; "
    with pytest.raises(EmulatorError, match="WF714: deadlock"):
        run(body, ctas=2, cluster=(2, 1, 1))


@pytest.mark.parametrize("threads", [64, 50, 33])
@pytest.mark.parametrize("seed", [None, 1])
def test_a_barrier_with_a_count_counts_whole_warps(threads: int, seed: int | None) -> None:
    """Lanes that have exited count, and lanes that a CTA lacks to fill its last warp."""
    text = "setp.lt.u32 p1, r0, 3; @p1 ret; setp.eq.u32 p1, r0, 40; @p1 ret; bar.sync 1, 64; st.global.u32 [d1], r0;"
    out = run(text, threads=threads, seed=seed)
    assert out.tolist() == [k if k >= 3 and k != 40 else 0 for k in range(threads)]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("bar.sync 16;", "a barrier from 0 to 15, got 16"),
        ("bar.arrive 4294967295, 64;", "a barrier from 0 to 15, got 4294967295"),
        ("barrier.sync r0;", "a barrier from 0 to 15, got 16; .*thread .16, 0, 0."),
        ("bar.sync 1, 33;", "a number of threads that is a multiple of 32, got 33"),
        ("bar.arrive 1, 1;", "a number of threads that is a multiple of 32, got 1"),
        ("bar.red.popc.u32 r2, 1, 63, p1;", "a number of threads that is a multiple of 32, got 63"),
        ("barrier.sync 1, r0;", "a number of threads that is a multiple of 32, got 1; .*thread .1, 0, 0."),
    ],
)
def test_invalid_barriers_and_counts(body: str, problem: str) -> None:
    with pytest.raises(EmulatorError, match=f"WF722: undefined: expected {problem}"):
        run(body, threads=64)
