"""Memory: widths, vectors, spaces, generic addresses, atomics, and every access that must be refused."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_harness import run
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler.errors import EmulatorError
from warpfold.runtime import emulator

T = np.arange(32)


@pytest.mark.parametrize(
    ("count", "bits"), [(1, 8), (2, 8), (4, 8), (1, 16), (4, 16), (2, 32), (4, 32), (8, 32), (4, 64)]
)
def test_vectors_of_every_width(count: int, bits: int) -> None:
    letter = {8: "h", 16: "h", 32: "r", 64: "d"}[bits]
    names = ", ".join(f"{letter}{k}" for k in range(2, 2 + count))
    names = names if count == 1 else f"{{{names}}}"
    vector = "" if count == 1 else f".v{count}"
    data = np.frombuffer(np.random.Philox(3).random_raw(32 * 4).tobytes(), np.uint8)[: 32 * count * bits // 8]
    body = f"""
    ld.param.b64 d10, [k_in0]; mad.wide.u32 d11, r0, {count * bits // 8}, d10;
    mad.wide.u32 d12, r0, {count * bits // 8}, d0;
    ld.global.nc.L1::no_allocate.L2::128B{vector}.b{bits} {names}, [d11]; st.global.cs{vector}.b{bits} [d12], {names};
    """
    assert (run(body, inputs=[data], dtype=np.uint8, size=data.size) == data).all()


def test_narrow_loads_extend_by_their_type() -> None:
    data = np.array([0x80, 0x7F, 0xFF, 0x01], np.uint8)
    body = """
    ld.param.b64 d2, [k_in0]; and.b32 r1, r0, 3; cvt.u64.u32 d3, r1; add.s64 d2, d2, d3;
    ld.global.s8 r2, [d2]; ld.global.u8 r3, [d2]; ld.global.b8 h1, [d2]; cvt.s32.s8 r4, h1;
    sub.s32 r2, r2, r4; shl.b32 r3, r3, 8; or.b32 r2, r2, r3; st.global.u32 [d1], r2;
    """
    assert (run(body, inputs=[data]) == data[T % 4].astype(np.uint32) << 8).all()


def test_128_bit_registers() -> None:
    body = """
    mul.wide.u32 d2, r0, 77; not.b64 d3, d2; mov.b128 q1, {d2, d3}; mad.wide.u32 d4, r0, 16, d0;
    st.global.b128 [d4], q1;
    ld.global.b128 q2, [d4]; mov.b128 {d5, d6}, q2; add.u64 d5, d5, 1; mov.b128 q3, {d6, d5};
    atom.global.exch.b128 q2, [d4], q3;
    """
    out = run(body, dtype=np.uint64, size=64).reshape(32, 2)
    assert (out[:, 1] == T * 77 + 1).all()
    assert (out[:, 0] == ~(T * 77).astype(np.uint64)).all()


SPACES = """
.shared .align 8 .b8 shm[256]; .global .align 4 .u32 table[4] = {1, 2, 3, 0xffffffff};
.const .align 4 .f32 numbers[3] = {0f3F800000, 2.5, -4}; .global .align 8 .u64 state;
"""


def test_generic_addresses_reach_every_space() -> None:
    body = """
    .local .align 4 .b8 mine[16];
    mov.u64 d2, shm; cvta.shared.u64 d2, d2; mad.wide.u32 d2, r0, 8, d2; mov.u64 d3, mine; cvta.local.u64 d3, d3;
    st.u32 [d2], r0; add.u32 r1, r0, 1000; st.u32 [d3+4], r1; and.b32 r2, r0, 3; setp.eq.u32 p1, r2, 0;
    setp.eq.u32 p2, r2, 1; mov.u64 d4, table; cvta.global.u64 d4, d4; @p1 mov.u64 d4, d2; add.u64 d5, d3, 4;
    @p2 mov.u64 d4, d5; ld.u32 r3, [d4];
    isspacep.shared p3, d4; isspacep.local p4, d4; isspacep.global p5, d4; selp.u32 r4, 1, 0, p3; selp.u32 r5, 2, 0, p4;
    selp.u32 r6, 4, 0, p5; add.u32 r4, r4, r5; add.u32 r4, r4, r6; mad.lo.u32 r3, r3, 10, r4; st.global.u32 [d1], r3;
    """
    expected = np.choose(T & 3, [T * 10 + 1, (T + 1000) * 10 + 2, 14, 14])
    assert (run(body, before=SPACES) == expected).all()


def test_module_variables_keep_their_values_between_launches() -> None:
    from emulator_harness import module

    body = """
    ld.const.f32 r1, [numbers+4]; mov.b32 r2, 0f40200000; setp.eq.f32 p1, r1, r2; selp.u32 r3, 1, 0, p1;
    mov.u64 d2, table; cvt.u64.u32 d3, r0; shl.b64 d3, d3, 2; add.u64 d2, d2, d3; ld.global.u32 r4, [d2];
    add.u32 r3, r3, r4;
    mov.u64 d4, state; atom.global.add.u64 d5, [d4], 1; cvt.u32.u64 r5, d5; mad.lo.u32 r3, r5, 100, r3;
    st.global.u32 [d1], r3;
    """
    built, memory, out = module(body, before=SPACES), emulator.Memory(), np.zeros(3, np.uint32)
    for turn in range(2):
        emulator.launch(built, "k", (1, 1, 1), (3, 1, 1), [memory.bind(out.view(np.uint8))], memory)
        assert (out == np.array([2, 3, 4]) + 100 * (3 * turn + np.arange(3))).all()


def test_dynamic_shared_memory_follows_the_static() -> None:
    body = """
    mov.u32 r1, dyn; mov.u32 r2, fixed; sub.u32 r3, r1, r2; mad.lo.u32 r1, r0, 4, r1; st.shared.u32 [r1], r0;
    mov.u32 r4, %dynamic_smem_size; ld.shared.volatile.u32 r5, [r1]; mad.lo.u32 r3, r3, 1000, r4; add.u32 r3, r3, r5;
    st.global.u32 [d1], r3;
    """
    before = ".extern .shared .align 16 .b8 dyn[]; .shared .align 4 .b8 fixed[20];"
    assert (run(body, before=before, shared_bytes=128) == 32 * 1000 + 128 + T).all()


def test_parameters_by_value_and_through_a_pointer() -> None:
    body = """
    ld.param.u8 r1, [k_b+5]; ld.param.f32 r2, [k_f]; cvt.rzi.s32.f32 r2, r2; mov.b64 d2, k_b; cvta.param.u64 d2, d2;
    cvt.u64.u32 d3, r0; add.u64 d2, d2, d3; ld.u8 r3, [d2]; mad.lo.s32 r1, r2, 1000, r1; mad.lo.s32 r1, r3, 100000, r1;
    ld.param.v2.u16 {h1, h2}, [k_b+4]; cvt.u32.u16 r4, h2; mad.lo.u32 r1, r4, 0, r1; st.global.u32 [d1], r1;
    """
    from emulator_harness import module

    built = module(body, params=".param .b64 k_out, .param .align 4 .b8 k_b[8], .param .f32 k_f, .param .u16 k_h")
    memory, out = emulator.Memory(), np.zeros(8, np.uint32)
    emulator.launch(
        built, "k", (1, 1, 1), (8, 1, 1), [memory.bind(out.view(np.uint8)), bytes(range(8)), 42.9, -1], memory
    )
    assert (out == np.arange(8) * 100000 + 42005).all()


ATOMS = {
    "add": lambda old, v: old + v & 0xFFFFFFFF,
    "min": min,
    "max": max,
    "and": lambda old, v: old & v,
    "or": lambda old, v: old | v,
    "xor": lambda old, v: old ^ v,
    "exch": lambda _, v: v,
    "inc": lambda old, v: 0 if old >= v else old + 1,
    "dec": lambda old, v: v if old == 0 or old > v else old - 1,
}


@pytest.mark.parametrize("name", ATOMS)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics_under_contention_go_in_thread_order(name: str, space: str) -> None:
    @settings(max_examples=12, deadline=None, derandomize=True)
    @given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.booleans())
    def check(words: int, seed: int, small: bool) -> None:
        raw = np.random.Philox(seed).random_raw(2 * 64)
        values = (raw[:64] % np.uint64(6 if small else 2**32)).astype(np.uint32)
        where = (raw[64:] % np.uint64(words)).astype(np.uint32)
        type_ = "b32" if name in ("and", "or", "xor", "exch") else "u32"
        place = "mov.u64 d4, cells;" if space == "shared" else "add.u64 d4, d0, 256;"
        clear = (
            "mad.wide.u32 d7, r0, 4, d4; mov.u32 r5, 3; st.shared.u32 [d7], r5; bar.sync 0;"
            if space == "shared"
            else ""
        )
        body = f"""
        {place} ld.param.b64 d2, [k_in0]; mad.wide.u32 d2, r0, 4, d2; ld.global.u32 r1, [d2]; {clear}
        ld.param.b64 d3, [k_in1]; mad.wide.u32 d3, r0, 4, d3; ld.global.u32 r2, [d3]; mad.wide.u32 d5, r2, 4, d4;
        atom.{space}.{name}.{type_} r3, [d5], r1; st.global.u32 [d1], r3; bar.sync 0;
        mad.wide.u32 d6, r0, 4, d4; ld.{space}.u32 r4, [d6]; st.global.u32 [d1+256], r4;
        """
        cells = [3 if space == "shared" else 0] * 64
        found = []
        for at, value in zip(where, values, strict=True):
            found.append(cells[at])
            cells[at] = ATOMS[name](cells[at], int(value))
        got = run(body, threads=64, size=128, inputs=[values, where], before=".shared .align 8 .b8 cells[256];")
        assert (got[:64] == found).all()
        assert (got[64:] == cells).all()

    check()


def test_compare_and_swap_builds_a_lock_free_sum() -> None:
    body = """
    add.u32 r1, r0, 1;
    L: ld.global.u32 r2, [d0]; add.u32 r3, r2, r1; atom.global.cas.b32 r4, [d0], r2, r3;
    setp.ne.u32 p1, r4, r2; @p1 bra L;
    """
    assert run(body, size=1)[0] == 32 * 33 // 2


def test_float_atomics_add_in_thread_order_with_rounding() -> None:
    values = np.random.Philox(1).random_raw(32).astype(np.uint32) >> np.uint32(8)
    floats = (values.astype(np.float32) / np.float32(7)).astype(np.float32)
    body = "ld.param.b64 d2, [k_in0]; mad.wide.u32 d2, r0, 4, d2; ld.global.f32 r1, [d2]; red.global.add.f32 [d0], r1;"
    total = np.float32(0)
    for x in floats:
        total = np.float32(total + x)
    assert run(body, size=1, dtype=np.float32, inputs=[floats])[0] == total


def test_predicated_and_duplicate_stores() -> None:
    body = "setp.lt.u32 p1, r0, 20; @p1 st.global.u32 [d0], r0; @!p1 ld.global.u32 r1, [0]; "
    with pytest.raises(EmulatorError, match="WF713: null pointer: 4 bytes read at address 0x0"):
        run(body)
    assert run(body.split("@!")[0], size=1)[0] == 19  # the last thread that stores wins


def test_bind_keeps_the_alignment_and_shares_the_bytes() -> None:
    memory, raw = emulator.Memory(), np.zeros(100, np.uint8)
    for skip in (0, 1, 7):
        part = raw[skip : skip + 50]
        address = memory.bind(part)
        assert address % 256 == part.ctypes.data % 256
        memory.view(address, 50)[3] = skip + 1
        assert raw[skip + 3] == skip + 1
    fresh = memory.allocate(5, align=512)
    assert fresh % 512 == 0
    assert (memory.view(fresh, 5) == 0xCD).all()
    memory.free(fresh)
    for wrong in (lambda: memory.free(fresh), lambda: memory.view(fresh, 1), lambda: memory.bind(np.zeros(3))):
        with pytest.raises(EmulatorError, match="WF718"):
            wrong()


def test_addresses_are_reused_when_they_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpfold.runtime.emulator.machine import memory as module

    monkeypatch.setattr(module, "GLOBAL_LAST", module.GLOBAL_FIRST + (1 << 30))
    memory = emulator.Memory()
    kept = [memory.allocate(1000) for _ in range(4)]
    memory.free(kept[0])
    assert memory.allocate(1000) == kept[0]
    with pytest.raises(EmulatorError, match="WF718: emulator memory: expected room for 1000 bytes"):
        memory.allocate(1000)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "ld.global.u32 r1, [d1+4];",
            r"WF710.*4 bytes read at 0x\w+, 0 bytes past the end of the allocation 'out' of 128",
        ),
        ("ld.global.v4.u32 {r1,r2,r3,r4}, [d0+-16];", r"WF710.*16 bytes before the allocation 'out'"),
        ("st.global.u8 [d1+1], r0; st.global.u16 [d1+1], r0;", r"WF711: misaligned: 2 bytes written.*multiple of 2"),
        ("ld.param.b64 d2, [k_in0]; st.global.u32 [d2+4], r0;", r"WF712.*4 bytes into the allocation 'in0' of 8"),
        ("ld.param.b64 d2, [k_in0]; red.global.add.u32 [d2], r0;", r"WF712.*updated"),
        ("mov.u64 d2, 0; st.global.u32 [d2+8], r0;", r"WF713: null pointer: 4 bytes written at address 0x8"),
        (
            "mov.u32 r1, s; mad.lo.u32 r1, r0, 4, r1; ld.shared.u32 r2, [r1];",
            r"WF710.*shared address 0x30.*'s' of 48.*\(12, 0",
        ),
        ("ld.shared.u32 r2, [s+2];", r"WF711: misaligned: 4 bytes read at shared address 0x2"),
        (".local .align 4 .b8 loc[8]; ld.local.u32 r1, [loc+8];", r"WF710.*local address 0x8.*'loc'"),
        ("mov.u64 d2, k_out; ld.param.u64 d3, [d2+64];", r"WF710.*param address 0x40"),
        ("mov.u64 d2, k_out; st.u32 [d2], r0;", r"WF712: write to read-only memory: written at parameter"),
        ("mov.u64 d2, c; st.u32 [d2], r0;", r"WF712.*'c' of 4"),
    ],
)
def test_refused_accesses_say_what_and_where(body: str, message: str) -> None:
    inputs = [np.zeros(2, np.uint32)]
    inputs[0].flags.writeable = False
    with pytest.raises(EmulatorError, match=message) as caught:
        run(body, inputs=inputs, before=".shared .align 16 .b8 s[48]; .const .u32 c = 5;")
    assert "kernel 'k', PTX line 9: '" in str(caught.value)
    assert "CTA (0, 0, 0), thread (" in str(caught.value)


def test_one_bad_lane_among_good_ones_is_found() -> None:
    body = "setp.eq.u32 p1, r0, 17; mov.u64 d2, d1; @p1 mov.u64 d2, 0x7fff00000000; st.global.u32 [d2], r0;"
    with pytest.raises(EmulatorError, match=r"WF710.*0x7fff00000000.*thread \(17, 0, 0\)"):
        run(body)


def test_lanes_may_address_several_allocations_at_once() -> None:
    one, two = np.arange(32, dtype=np.uint32), np.arange(100, 132, dtype=np.uint32)
    body = """
    ld.param.b64 d2, [k_in0]; ld.param.b64 d3, [k_in1]; and.b32 r1, r0, 1; setp.eq.u32 p1, r1, 0;
    selp.b64 d2, d2, d3, p1;
    mad.wide.u32 d2, r0, 4, d2; ld.global.u32 r2, [d2]; st.global.u32 [d2], r0; st.global.u32 [d1], r2;
    """
    assert (run(body, inputs=[one, two]) == np.where(T % 2 == 0, T, T + 100)).all()
    assert (two[1::2] == T[1::2]).all()
