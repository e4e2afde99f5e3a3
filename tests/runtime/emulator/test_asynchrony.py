"""Invalid uses of mbarriers, asynchronous copies and matrix instructions, and unsupported forms of them."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_harness import run

from warpfold.compiler.errors import EmulatorError

BEFORE = ".shared .align 16 .b8 s[1024];"
INIT = "mov.u32 r1, s; setp.eq.u32 p1, r0, 0; @p1 mbarrier.init.shared.b64 [r1], {count}; bar.sync 0;"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mbarrier.arrive.shared.b64 d2, [r1];", "expected an mbarrier that mbarrier.init made"),
        ("mbarrier.init.shared.b64 [r1], 0;", "expected a count of 1 to 1048575, got 0"),
        ("mbarrier.init.shared.b64 [r1], 2; mbarrier.arrive.shared.b64 d2, [r1], 3;",
         "expected 1 to 2 more arrivals in this phase, got 3"),
        ("mbarrier.init.shared.b64 [r1], 2; mbarrier.arrive.noComplete.shared.b64 d2, [r1], 2;",
         "expected .noComplete to leave arrivals to come, got all 2"),
        ("mbarrier.init.shared.b64 [r1], 2; mbarrier.expect_tx.shared.b64 [r1], 2097152;",
         "expected at most 1048575 bytes under way, got 2097152"),
        ("mbarrier.init.shared.b64 [r1], 2; mbarrier.inval.shared.b64 [r1]; "
         "mbarrier.test_wait.parity.shared.b64 p2, [r1], 0;",
         "expected an mbarrier that mbarrier.init made"),
        ("cp.async.ca.shared.global [r1], [d0], 4, 5;", "expected at most 4 bytes of the source to be copied, got 5"),
        ("cp.async.bulk.global.shared::cta.bulk_group [d0], [r1], 20;",
         "expected a multiple of 16 bytes to copy, got 20"),
    ],
)  # fmt: skip
def test_uses_that_the_isa_leaves_undefined(body: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=f"WF722: undefined: {message}.*thread"):
        run(f"mov.u32 r1, s; {body}", before=BEFORE, threads=1, size=8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mbarrier.pause.shared.b64 [r1];", r"expected one of \.init, \.inval, \.arrive"),
        ("mbarrier.init.global.b64 [d0], 1;", r"expected \.shared memory"),
        ("mbarrier.arrive.shared::cluster.b64 d2, [r1];", "expected _ as the state"),
        ("cp.async.cg.shared.global [r1], [d0], 8;", "expected 16 bytes with .cg"),
        ("cp.async.ca.global.shared [d0], [r1], 4;", r"expected \.shared or \.shared::cta, then \.global"),
        ("cp.async.wait_group r1;", "expected an integer literal as the number of groups"),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d0], [r1], 16;", "WF721.*copies that reduce"),
        ("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [r1], [d0, {r2}], [r1];",
         "WF721.*tensor maps"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r2}, [r1];", "expected 2 registers, got 1"),
        ("ldmatrix.sync.aligned.m8n8.x1.global.b16 {r2}, [d0];", r"expected \.shared memory"),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r2, r3}, [r1];", "WF721.*matrices of bytes"),
        ("mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {r2, r3}, {r4, r5, r6, r7}, {r8, r9}, {r2, r3};",
         r"expected C and D of type \.f32"),
        ("mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32 {r2, r3}, {r4, r5, r6, r7}, {r8, r9}, {r2, r3};",
         r"expected one of \.m16n8k8, \.m16n8k16"),
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {r2, r3}, {r4}, {r8, r9}, {r2, r3};",
         r"expected B of type \.f16"),
        ("red.global.add.v8.f32 [d0], {r1, r2};", "expected a vector of f32"),
        ("wgmma.fence.sync.aligned;", "WF721.*products of warpgroups"),
    ],
)  # fmt: skip
def test_unsupported_forms(text: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        run(text, before=BEFORE)


def test_a_wait_that_never_ends_is_explained() -> None:
    body = (
        INIT.format(count=33)
        + """
    mbarrier.arrive.shared.b64 d2, [r1];
    WAIT: mbarrier.try_wait.shared.b64 p2, [r1], d2; @!p2 bra WAIT;
    """
    )
    with pytest.raises(EmulatorError, match=r"WF730: deadlock: 32 threads .* 'mbarrier\.try_wait"):
        run(body, before=BEFORE)


def test_waiting_for_bytes_without_a_copy_never_ends() -> None:
    body = (
        INIT.format(count=1)
        + """
    @p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 128;
    WAIT: mbarrier.try_wait.parity.shared.b64 p2, [r1], 0; @!p2 bra WAIT;
    """
    )
    with pytest.raises(EmulatorError, match=r"WF730: deadlock: .* 'mbarrier\.try_wait"):
        run(body, before=BEFORE)


def test_bytes_arrive_only_after_the_wait() -> None:
    """Without the wait the threads see what they had stored before."""
    body = "mov.u32 r1, s; mad.lo.u32 r1, r0, 4, r1; st.shared.u32 [r1], 7; ld.param.b64 d2, [k_in0]; "
    body += "mad.wide.u32 d2, r0, 4, d2; cp.async.ca.shared.global [r1], [d2], 4; {wait} ld.shared.u32 r2, [r1]; "
    body += "st.global.u32 [d1], r2;"
    source = np.arange(32, dtype=np.uint32) + 100
    for wait, expected in (
        ("", 7),
        ("cp.async.commit_group;", 7),
        ("cp.async.wait_group 0;", 7),
        ("cp.async.wait_all;", source),
    ):
        assert (run(body.replace("{wait}", wait), before=BEFORE, inputs=[source]) == expected).all()


def test_a_copy_beyond_its_array_is_found() -> None:
    body = "mov.u32 r1, s; mad.lo.u32 r1, r0, 16, r1; cp.async.cg.shared.global [r1], [d1], 16; cp.async.wait_all;"
    with pytest.raises(EmulatorError, match=r"WF71[01].*'cp\.async\.cg"):
        run(body, before=BEFORE, size=32)
    body = "mov.u32 r1, s; cp.async.ca.shared.global [r1+1024], [d0], 4; cp.async.wait_all;"
    with pytest.raises(EmulatorError, match=r"WF710.*4 bytes written at shared address.*'cp\.async\.ca"):
        run(body, before=BEFORE)


def test_products_that_the_isa_leaves_open_are_rounded_once() -> None:
    """2^24 + 1 + 1 in f32: one by one it stays 2^24; the sum kept wide gives 2^24 + 2. A NaN comes out canonical."""
    body = """
    mov.b32 r1, 0x3c003c00; mov.b32 r5, 0; and.b32 r6, r0, 3; setp.ne.u32 p1, r6, 0; @p1 mov.b32 r1, 0;
    mov.b32 r2, 0f4B800000;
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {r7, r8, r9, r10}, {r1, r5}, {r1}, {r2, r2, r2, {c}};
    st.global.b32 [d1], {d};
    """
    assert (run(body.replace("{c}", "r2").replace("{d}", "r7")) == 0x4B800001).all()
    assert (run(body.replace("{c}", "0fFFC00001").replace("{d}", "r10")) == 0x7FFFFFFF).all()


def test_every_warp_moves_its_own_matrices() -> None:
    """Row t holds the words 4t to 4t + 3, so register k of lane l of warp w is 128 w + 32 k + l."""
    body = """
    mov.u32 r1, s; mad.lo.u32 r1, r0, 16, r1; shl.b32 r2, r0, 2; add.u32 r3, r2, 1; add.u32 r4, r2, 2;
    add.u32 r5, r2, 3; st.shared.v4.b32 [r1], {r2, r3, r4, r5}; bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r6, r7, r8, r9}, [r1];
    mad.wide.u32 d1, r0, 16, d0; st.global.v4.b32 [d1], {r6, r7, r8, r9};
    """
    got = run(body, before=BEFORE, threads=64, size=256).reshape(2, 32, 4)
    warp, lane, register = np.ogrid[:2, :32, :4]
    assert (got == 128 * warp + 32 * register + lane).all()


def test_half_a_warp_copies_and_waits_by_itself() -> None:
    body = "mov.u32 r1, s; mad.lo.u32 r1, r0, 4, r1; st.shared.u32 [r1], 7; ld.param.b64 d2, [k_in0]; "
    body += "mad.wide.u32 d2, r0, 4, d2; cp.async.ca.shared.global [r1], [d2], 4; cp.async.commit_group; "
    body += "setp.lt.u32 p1, r0, 16; @p1 cp.async.wait_group 0; ld.shared.u32 r2, [r1]; st.global.u32 [d1], r2;"
    source = np.arange(32, dtype=np.uint32) + 100
    assert (run(body, before=BEFORE, inputs=[source]) == np.where(np.arange(32) < 16, source, 7)).all()


STORES = """
mov.u32 r1, s; mov.u32 r9, %cluster_ctarank; setp.eq.u32 p1, r0, 0;
@p1 mbarrier.init.shared.b64 [r1], 1;
fence.mbarrier_init.release.cluster;
@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 768;
barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
xor.b32 r3, r9, 1; mapa.shared::cluster.u32 r4, r1, r3;
mad.lo.s32 r5, r0, 16, r4; mad.lo.s32 r6, r9, 100, r0; mul.wide.u32 d4, r6, 65536;
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [r5+16], {r6, 7}, [r4];
st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [r5+24], d4, [r4];
@p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [r4+528],
  {0f3F800000, 0f40000000, 0f40400000, 0f40800000}, [r4];
setp.lt.u32 p2, r0, 30; setp.ne.u32 p3, r0, 0; and.pred p2, p2, p3;
@p2 st.async.shared::cluster.mbarrier::complete_tx::bytes.s64 [r5+512], -1, [r4];
W: mbarrier.try_wait.parity.shared.b64 p4, [r1], 0;
@!p4 bra W;
mad.lo.s32 r7, r0, 16, r1; ld.shared.v4.u32 {r10, r11, r12, r13}, [r7+16]; ld.shared.f32 r14, [r1+540];
add.u32 r10, r10, r11; add.u32 r10, r10, r12; add.u32 r10, r10, r13; cvt.rzi.u32.f32 r14, r14; add.u32 r10, r10, r14;
mul.lo.u32 r8, r9, 128; cvt.u64.u32 d6, r8; add.u64 d1, d1, d6; st.global.u32 [d1], r10;
"""


def test_asynchronous_stores_come_to_the_mbarrier_of_another_cta() -> None:
    """32 times 16 bytes, 16, and 29 times 8: 760 bytes."""
    body = STORES.replace("768", "760")
    how = {
        "before": BEFORE,
        "after": ".explicitcluster .reqnctapercluster 2",
        "ctas": 2,
        "size": 64,
        "cluster": (2, 1, 1),
    }
    own = np.arange(32) + 100 * np.array([[1], [0]])
    np.testing.assert_array_equal(run(body, **how).reshape(2, 32), own + 7 + (own << 16) + 4)
    with pytest.raises(EmulatorError, match=r"WF730: deadlock: 64 threads .* 'mbarrier\.try_wait"):
        run(STORES, **how)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("st.async.shared::cluster.b32 [r1], r2, [r1];", r"expected one of .*mbarrier::complete_tx::bytes"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [r1], h2, [r1];", "WF70[0-9]"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [r1], {d2, d3, d4, d5}, [r1];",
         "expected at most 16 bytes per thread"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [r1], {r2, r3, r4}, [r1];",
         "expected 2 elements, got 3"),
        ("st.async.mmio.release.sys.global.u32 [d0], r2;", "WF721.*asynchronous stores to global memory"),
    ],
)  # fmt: skip
def test_forms_of_asynchronous_stores(text: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        run(f"mov.u32 r1, s; {text}", before=BEFORE, threads=1, size=8)
