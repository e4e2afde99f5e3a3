"""Warp-wide instructions: shuffles, votes, reductions and matches against scalar models, and waiting lanes."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_harness import run, shuffle_model
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler.errors import EmulatorError

LANES = np.arange(32)


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shfl_follows_the_pseudo_code(mode: str) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(
        st.lists(st.integers(0, 2**32 - 1), min_size=32, max_size=32),
        st.lists(st.integers(0, 63), min_size=32, max_size=32),
        st.sampled_from([0, 31, 0x1F1F, 0x181F, 0x1C00, 0x100F, 7]),
        st.booleans(),
    )
    def check(values: list[int], b: list[int], c: int, uniform: bool) -> None:
        amounts = [b[0]] * 32 if uniform else b
        load = "mad.wide.u32 d2, r0, 4, d2; ld.global.u32"
        body = f"""
        ld.param.b64 d2, [k_in0]; {load} r1, [d2]; ld.param.b64 d2, [k_in1]; {load} r2, [d2];
        shfl.sync.{mode}.b32 r3|p1, r1, {amounts[0] if uniform else "r2"}, {c}, 0xffffffff;
        selp.u32 r4, 1, 0, p1; mul.wide.u32 d3, r0, 8; add.u64 d3, d3, d0; st.global.v2.b32 [d3], {{r3, r4}};
        """
        got = run(body, inputs=[np.array(values, np.uint32), np.array(amounts, np.uint32)], size=64).reshape(32, 2)
        for lane in range(32):
            source, inside = shuffle_model(mode, lane, amounts[lane], c)
            assert got[lane, 1] == inside
            assert got[lane, 0] == values[source]

    check()


def test_shfl_of_64_bits_goes_in_two_halves() -> None:
    body = """
    mul.wide.u32 d2, r0, 0x10001000; mov.b64 {r1, r2}, d2; shfl.sync.bfly.b32 r3, r1, 1, 31, -1;
    shfl.sync.bfly.b32 r4, r2, 1, 31, -1; mov.b64 d3, {r3, r4}; mad.wide.u32 d4, r0, 8, d0; st.global.b64 [d4], d3;
    """
    assert (run(body, dtype=np.uint64) == (LANES ^ 1).astype(np.uint64) * np.uint64(0x10001000)).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from(["add", "min", "max"]))
def test_redux_over_a_mask_that_splits_the_warp(mask: int, seed: int, name: str) -> None:
    values = np.random.Philox(seed).random_raw(32).astype(np.uint32)
    body = f"""
    ld.param.b64 d2, [k_in0]; mad.wide.u32 d2, r0, 4, d2; ld.global.u32 r1, [d2];
    shr.u32 r2, {mask}, r0; and.b32 r2, r2, 1; setp.eq.u32 p1, r2, 1; @!p1 bra OTHER;
    redux.sync.{name}.s32 r3, r1, {mask}; bra.uni JOIN;
    OTHER: redux.sync.{name}.u32 r3, r1, {~mask & 0xFFFFFFFF};
    JOIN: st.global.u32 [d1], r3;
    """
    got = run(body, inputs=[values])
    inside = (mask >> LANES & 1).astype(bool)
    function = {"add": np.sum, "min": np.min, "max": np.max}[name]
    signed, unsigned = values.view(np.int32)[inside], values[~inside]
    assert (got[inside] == np.uint32(int(function(signed.astype(np.int64))) & 0xFFFFFFFF)).all()
    if unsigned.size:
        assert (got[~inside] == np.uint32(int(function(unsigned.astype(np.uint64))) & 0xFFFFFFFF)).all()


@pytest.mark.parametrize(
    ("form", "expected"),
    [("min", 0xBF800000), ("max", 0x40000000), ("min.abs", 0x3F800000), ("max.NaN", 0x7FFFFFFF)],
)
def test_redux_of_floats(form: str, expected: int) -> None:
    # lane 0 holds -1, lane 1 NaN, lane 2 a 2, the others 1.5 to 1.5
    body = f"""
    setp.eq.u32 p1, r0, 0; setp.eq.u32 p2, r0, 1; setp.eq.u32 p3, r0, 2; mov.b32 r1, 0f3FC00000;
    @p1 mov.b32 r1, 0fBF800000; @p2 mov.b32 r1, 0f7FC00000; @p3 mov.b32 r1, 0f40000000;
    redux.sync.{form}.f32 r2, r1, -1; st.global.b32 [d1], r2;
    """
    assert (run(body) == expected).all()


def test_votes_count_only_the_mask() -> None:
    body = """
    setp.lt.u32 p1, r0, 8; @!p1 bra REST;
    setp.lt.u32 p2, r0, 4; vote.sync.ballot.b32 r1, p2, 0xff; vote.sync.any.pred p3, p2, 0xff;
    vote.sync.all.pred p4, p2, 0xff; vote.sync.uni.pred p5, p2, 0xff; vote.sync.all.pred p6, !p5, 0xff;
    selp.u32 r2, 1, 0, p3; selp.u32 r3, 2, 0, p4; selp.u32 r4, 4, 0, p5; selp.u32 r5, 8, 0, p6;
    or.b32 r2, r2, r3; or.b32 r4, r4, r5; or.b32 r2, r2, r4; shl.b32 r2, r2, 8; or.b32 r1, r1, r2; bra.uni END;
    REST: activemask.b32 r1;
    END: st.global.u32 [d1], r1;
    """
    got = run(body)
    assert (got[:8] == (0x0F | 9 << 8)).all()  # any, and not uniform
    assert (got[8:] == 0xFFFFFF00).all()


def test_match_elect_and_bar_warp_sync() -> None:
    body = """
    rem.u32 r1, r0, 5; match.any.sync.b32 r2, r1, -1; match.all.sync.b32 r3|p1, r1, -1; selp.u32 r4, 1, 0, p1;
    bar.warp.sync -1; elect.sync r5|p2, -1; selp.u32 r6, 2, 0, p2; or.b32 r3, r3, r4; or.b32 r3, r3, r6;
    popc.b32 r2, r2; shl.b32 r3, r3, 8; or.b32 r2, r2, r3; st.global.u32 [d1], r2;
    """
    got = run(body)
    counts = np.array([(lane % 5 == LANES % 5).sum() for lane in LANES])
    assert (got == counts + np.where(LANES == 0, 2 << 8, 0)).all()


def test_lanes_wait_for_one_another_at_a_shuffle_inside_a_loop() -> None:
    # lane k leaves its own loop after k turns; the shuffle behind it still finds all 32 lanes there
    body = """
    mov.u32 r1, 0; mov.u32 r2, 0;
    LOOP: setp.ge.u32 p1, r1, r0; @p1 bra DONE; add.u32 r2, r2, r1; add.u32 r1, r1, 1; bra LOOP;
    DONE: shfl.sync.idx.b32 r3, r2, 31, 31, -1; st.global.u32 [d1], r3;
    """
    assert (run(body) == 31 * 30 // 2).all()


def test_a_shuffle_reads_zero_from_a_lane_that_has_exited() -> None:
    body = "setp.ge.u32 p1, r0, 16; @p1 exit; add.u32 r1, r0, 1; "
    body += "shfl.sync.bfly.b32 r2, r1, 16, 31, -1; st.global.u32 [d1], r2;"
    assert (run(body) == 0).all()


def test_missing_lanes_are_named() -> None:
    body = "setp.ge.u32 p1, r0, 3; @p1 bra W; vote.sync.ballot.b32 r1, p1, 0x1f; W: bar.sync 0; st.global.u32 [d1], r1;"
    with pytest.raises(EmulatorError, match=r"WF715: lanes 3, 4 of the membermask .* 'vote\.sync.*thread \(0, 0, 0\)"):
        run(body)


def test_a_lane_outside_its_own_mask_is_an_error() -> None:
    with pytest.raises(EmulatorError, match=r"WF720: lane 1 .* membermask 0x00000001 lacks it.*'shfl\.sync"):
        run("shfl.sync.idx.b32 r1, r0, 0, 31, 1; st.global.u32 [d1], r1;")


def test_a_mask_in_a_register_and_predicated_warp_instructions() -> None:
    body = """
    setp.lt.u32 p1, r0, 16; selp.b32 r1, 0x0000ffff, 0xffff0000, p1; mov.u32 r2, 99;
    @p1 redux.sync.add.u32 r2, r0, r1; st.global.u32 [d1], r2;
    """
    assert (run(body) == np.where(LANES < 16, 120, 99)).all()
