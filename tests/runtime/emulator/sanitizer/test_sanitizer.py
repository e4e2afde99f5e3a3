"""Each kind of fault in a few lines of PTX, and beside it the same lines without the fault."""

from __future__ import annotations

import pytest
from watched import kinds, text, watched

from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.emulator import Memory, Tool, launch, parse, sanitize
from warpfold.runtime.emulator.sanitizer import grouped
from warpfold.runtime.emulator.tool import Touch

NEXT = "add.u32 r3, r0, 1; rem.u32 r3, r3, 64; shl.b32 r4, r3, 2;"
"""r4: the place of the next thread, of 64."""
STORE, LOAD = "st.shared.u32 [r2], r0;", "ld.shared.u32 r5, [r4];"
LAST = """
setp.ne.u32 p1, r0, 0;
@p1 bra done;
mul.wide.u32 d3, r1, 4; add.u64 d3, d3, d1;
{store} [d3], r1;
{before}
{ticket}
{after}
setp.ne.u32 p2, r6, 3;
@p2 bra done;
ld.global.u32 r7, [d1]; ld.global.u32 r7, [d1+4]; ld.global.u32 r7, [d1+8];
done:
"""
"""The CTA that draws the last of four tickets reads what the others wrote."""


def last(store: str = "st.global.u32", before: str = "", ticket: str = "", after: str = "") -> str:
    ticket = f"{ticket or 'atom.global.inc.u32'} r6, [d0], 3;"
    return LAST.format(store=store, before=before, ticket=ticket, after=after)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (NEXT + STORE + LOAD, ["shared-race", "warp-synchrony"]),
        (NEXT + STORE + "bar.warp.sync 0xffffffff;" + LOAD, ["shared-race"]),
        (NEXT + STORE + "bar.sync 0;" + LOAD, []),
        (NEXT + STORE + "bar.sync 0;" + LOAD + STORE, ["shared-race", "warp-synchrony"]),
        (NEXT + STORE + "bar.sync 0;" + LOAD + "bar.sync 0;" + STORE, []),
        (NEXT + STORE + "bar.sync 0, 64;" + LOAD, []),
        (NEXT + STORE + "barrier.sync 3;" + LOAD, []),
        (NEXT + STORE + "membar.cta;" + LOAD, ["shared-race", "warp-synchrony"]),
        ("st.shared.u32 [s], r0;", ["shared-race", "warp-synchrony"]),
        ("setp.lt.u32 p1, r0, 32; @p1 st.shared.u32 [s], 1;", []),
        ("atom.shared.add.u32 r5, [s+4], 1;", ["uninitialised"]),
        ("st.shared.u32 [r2], 0; bar.sync 0; atom.shared.add.u32 r5, [s+4], 1;", []),
        ("st.shared.u32 [r2], 0; bar.sync 0; atom.shared.add.u32 r5, [s+4], 1; ld.shared.u32 r5, [s+4];",
         ["shared-race", "warp-synchrony"]),
        ("mov.u32 r5, 0; st.shared.u8 [s+1], r5; bar.sync 0; ld.shared.u8 r6, [s+1];", ["shared-race"]),
    ],
)  # fmt: skip
def test_shared_memory(body: str, expected: list[str]) -> None:
    assert kinds(watched(body)) == expected


def test_accesses_to_neighbouring_bytes_are_not_a_race() -> None:
    assert watched("add.u32 r3, r0, s; cvt.u16.u32 h0, r0; st.shared.u8 [r3], h0; ld.shared.u8 h1, [r3];") == []


def test_a_race_names_both_threads_the_place_and_the_missing_barrier() -> None:
    found = watched(NEXT + STORE + "\n" + LOAD)
    race = next(f for f in found if f.kind == "shared-race")
    assert (race.text, race.line) == ("ld.shared.u32 r5, [r4];", 12)
    here, there = race.threads
    assert (here.cta, there.cta, here.line, there.line) == ((0, 0, 0), (0, 0, 0), 12, 11)
    assert {here.thread, there.thread} in ({(31, 0, 0), (32, 0, 0)}, {(63, 0, 0), (0, 0, 0)})
    assert race.where in ("s[32] (shared)", "s[0] (shared)")
    assert "a barrier (bar.sync) between line 11 and line 12 is missing" in race.words
    assert race.count == 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (last(), ["global-race"]),
        (last(before="fence.acq_rel.gpu;"), ["global-race"]),
        (last(after="fence.acq_rel.gpu;"), ["global-race"]),
        (last(before="fence.acq_rel.gpu;", after="fence.acq_rel.gpu;"), []),
        (last(before="membar.gl;", after="membar.gl;"), []),
        (last(before="fence.acq_rel.cta;", after="fence.acq_rel.gpu;"), ["global-race"]),
        (last(before="fence.acq_rel.gpu;", after="fence.acq_rel.cta;"), ["global-race"]),
        (last(ticket="atom.global.acq_rel.gpu.inc.u32"), []),
        (last(ticket="atom.global.release.gpu.inc.u32"), ["global-race"]),
        (last(ticket="atom.global.acq_rel.cta.inc.u32"), ["global-race"]),
        (last(ticket="atom.global.acquire.gpu.inc.u32", before="fence.acq_rel.sys;"), []),
        (last(store="st.global.relaxed.gpu.u32"), ["global-race"]),
    ],
)  # fmt: skip
def test_the_last_cta_reads_what_the_others_wrote(body: str, expected: list[str]) -> None:
    assert kinds(watched(body, ctas=4)) == expected


def test_a_kernel_ends_before_the_next_begins() -> None:
    memory = Memory()
    y = memory.allocate(1024, name="y")
    body = text("add.u64 d3, d1, d2; st.global.u32 [d3], r0;")
    read = text("add.u64 d3, d1, d2; ld.global.u32 r5, [d3+4];")
    for kernel, expected in ((body, []), (read, ["uninitialised"])):
        found = sanitize(kernel, "k", (1, 1, 1), (64, 1, 1), [y, y], memory)
        assert kinds(found) == expected
    assert (found[0].where, found[0].threads[0].thread, found[0].count) == ("y[64] (u32)", (63, 0, 0), 1)


@pytest.mark.parametrize(
    ("body", "kind", "where"),
    [
        ("add.u64 d3, d0, d2; ld.global.u32 r5, [d3+1000];", "out-of-bounds", "x[256] (u32)"),
        ("st.shared.u32 [r2+1000], r0;", "out-of-bounds", "s[256] (shared)"),
        ("add.u64 d3, d1, d2; ld.global.u64 d4, [d3];", "misaligned", "y[0] + 4 bytes (u64)"),
        ("mov.u64 d3, 0; ld.global.u32 r5, [d3];", "out-of-bounds", "address 0x0"),
        ("add.u64 d3, d1, d2; ld.global.nc.u32 r5, [d3];", "uninitialised", "y[0] (u32)"),
        ("trap;", "trap", ""),
    ],
)
def test_addresses_and_values(body: str, kind: str, where: str) -> None:
    found = watched(body, written=False)
    assert [(f.kind, f.where) for f in found] == [(kind, where)]


def test_nc_loads_of_bytes_written_in_the_launch() -> None:
    body = "add.u64 d3, d1, d2; st.global.u32 [d3], r0; ld.global.nc.u32 r5, [d3];"
    assert kinds(watched(body)) == ["global-race"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("setp.lt.u32 p1, r0, 16; @p1 bra half; bra end; half: bar.sync 0; end: bar.sync 0;", ["barrier-divergence"]),
        ("setp.lt.u32 p1, r0, 16; @p1 bra half; bar.sync 0; bra end; half: bar.sync 0; end:", ["barrier-divergence"]),
        ("setp.lt.u32 p1, r0, 32; @p1 bra half; bar.sync 0; bra end; half: bar.sync 0; end:", []),
        ("setp.lt.u32 p1, r0, 32; @p1 bra half; bra end; half: bar.sync 1, 64; end: bar.sync 0;", ["deadlock"]),
    ],
)
def test_barriers(body: str, expected: list[str]) -> None:
    assert kinds(watched(body)) == expected


ODD = "and.b32 r5, r0, 1; setp.eq.u32 p1, r5, 0;"
"""p1: an even lane."""
FROM_33 = "setp.ge.u32 p1, r0, 33;"
BACKWARDS = "sub.u32 r6, 252, r2; ld.shared.u32 r7, [r6];"
"""Reads what the thread as far from the end wrote."""
DIVERGED, RACED = "barrier-divergence", "shared-race"


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # a return before all work
        ("setp.ge.u32 p1, r0, 50; @p1 ret; bar.sync 0;", []),
        (f"{FROM_33} @p1 bra end; st.shared.u32 [r2], r0; bar.sync 0; ld.shared.u32 r7, [r2]; end: ret;", []),
        (f"ld.global.u32 r9, [d0]; {FROM_33} @p1 bra end; st.shared.u32 [r2], r9; bar.sync 0; end: ret;", []),
        (f"{FROM_33} @p1 ret; loop: add.u32 r8, r8, 1; bar.sync 0; setp.lt.u32 p2, r8, 3; @p2 bra loop;", []),
        # whole warps, and barriers that are not aligned
        ("st.shared.u32 [r2], r0; setp.ge.u32 p1, r0, 32; @p1 ret; bar.sync 0; ld.shared.u32 r7, [r2];", []),
        (f"st.shared.u32 [r2], r0; {ODD} @p1 bra end; barrier.sync 1, 32; end: ret;", []),
        # barriers with a count, which count whole warps
        ("setp.ge.u32 p1, r0, 50; @p1 ret; bar.sync 1, 64;", []),
        ("setp.ge.u32 p1, r0, 50; @p1 ret; setp.ge.u32 p1, r0, 32; @p1 bra out; bar.sync 1, 64; ret;"
         " out: bar.arrive 1, 64;", []),
        ("setp.ge.u32 p1, r0, 16; @p1 bra end; bar.sync 1, 32; end: st.shared.u32 [r2], r0;", [DIVERGED]),
        ("setp.ge.u32 p1, r0, 16; @p1 bra end; bar.sync 1, 64; end: st.shared.u32 [r2], r0;", ["deadlock"]),
        # lanes that go around it and end, in every way that this can be written
        (f"{ODD} @p1 bra end; bar.sync 0; end: ret;", [DIVERGED]),
        (f"{ODD} @!p1 bar.sync 0;", [DIVERGED]),
        (f"{ODD} @p1 bra end; bar.sync 0; end: add.u32 r6, r0, 1; add.u32 r7, r6, 1;", [DIVERGED]),
        (f"{ODD} @p1 bra end; barrier.sync.aligned 0; end: st.shared.u32 [r2], r0;", [DIVERGED]),
        (f"st.shared.u32 [r2], r0; {ODD} @p1 bra end; bar.sync 0; end: ret;", [DIVERGED]),
        (f"st.shared.u32 [r2], r0; {ODD} @p1 ret; bar.sync 0;", [DIVERGED]),
        (f"add.u64 d3, d1, d2; st.global.u32 [d3], r0; {ODD} @p1 ret; bar.sync 0;", [DIVERGED]),
        (f"atom.global.add.u32 r9, [d1], 1; {ODD} @p1 ret; bar.red.popc.u32 r8, 0, p1;", [DIVERGED]),
        (f"{ODD} @p1 bra out; bar.sync 0; ret; out: st.shared.u32 [r2], r0;", [DIVERGED]),
        # lanes that leave between two barriers, or a loop
        (f"bar.sync 0; {FROM_33} @p1 ret; bar.sync 0;", [DIVERGED]),
        ("and.b32 r5, r0, 3; loop: bar.sync 0; add.u32 r8, r8, 1; setp.le.u32 p1, r8, r5; @p1 bra loop;", [DIVERGED]),
        # values whose writer never met the barrier
        (f"st.shared.u32 [r2], r0; {FROM_33} @p1 bra end; bar.sync 0; {BACKWARDS} end: ret;", [DIVERGED, RACED]),
        (f"st.shared.u32 [r2], r0; setp.ge.u32 p1, r0, 32; @p1 ret; bar.sync 0; {BACKWARDS}", [RACED]),
        (f"st.shared.u32 [r2], r0; bar.sync 0; setp.ge.u32 p1, r0, 32; @p1 ret; bar.sync 0; {BACKWARDS}", []),
        (f"st.shared.u32 [r2], r0; setp.ge.u32 p1, r0, 32; @p1 bra out; bar.sync 1, 64; {BACKWARDS} ret;"
         " out: bar.arrive 1, 64;", []),
        ("xor.b32 r3, r2, 128; ld.shared.u32 r7, [r3]; setp.ge.u32 p1, r0, 32; @p1 ret; bar.sync 0;"
         " st.shared.u32 [r2], r0;", [RACED, "uninitialised"]),
    ],
)  # fmt: skip
def test_threads_that_end_without_the_barrier(body: str, expected: list[str], seed: int | None) -> None:
    assert kinds(watched(body, seed=seed)) == expected


def test_a_lane_that_ends_is_named_with_its_instruction() -> None:
    body = f"st.shared.u32 [r2], r0;\n{FROM_33} @p1 bra end;\nbar.sync 0;\n{BACKWARDS} end: ret;"
    divergence, race = watched(body)
    assert (divergence.line, divergence.threads[0].thread, divergence.threads[1].thread) == (13, (32, 0, 0), (33, 0, 0))
    assert "lane 0 is here, lane 1 ended without it, after it had written to memory" in divergence.words
    assert race.words.endswith("the thread of line 11 ended and met no barrier between line 11 and line 14")


def test_threads_that_ended_release_nothing_to_another_cta() -> None:
    """A thread that ends releases nothing at the barrier that the others pass without it."""
    body = """
add.u64 d3, d1, d2; mul.wide.u32 d4, r1, 256; add.u64 d3, d3, d4;
st.global.u32 [d3], r0;
{met}
setp.ge.u32 p1, r0, 32; @p1 ret;
bar.sync 0;
setp.ne.u32 p1, r0, 0; @p1 ret;
fence.acq_rel.gpu; atom.global.inc.u32 r6, [d0], 1; fence.acq_rel.gpu;
setp.ne.u32 p2, r6, 1; @p2 ret;
ld.global.u32 r7, [d1+{at}]; ld.global.u32 r7, [d1+{other}];
"""
    for at, other, met, expected in (
        (0, 256, "", []),
        (132, 388, "", ["global-race"]),
        (132, 388, "bar.sync 0;", []),
    ):
        assert kinds(watched(body.format(at=at, other=other, met=met), ctas=2)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("shfl.sync.down.b32 r5, r0, 1, 31, 0xffffffff;", []),
        ("shfl.sync.down.b32 r5, r0, 16, 31, 0x0000ffff;", ["warp-mask"]),
        ("setp.ge.u32 p1, r0, 16; @p1 ret; shfl.sync.bfly.b32 r5, r0, 1, 31, 0xffffffff;", ["warp-mask"]),
        ("setp.ge.u32 p1, r0, 16; @p1 ret; shfl.sync.bfly.b32 r5, r0, 1, 31, 0xffff;", []),
        ("setp.ge.u32 p1, r0, 16; @p1 ret; shfl.sync.bfly.b32 r5, r0, 16, 31, 0xffff;", ["warp-mask"]),
        ("bar.warp.sync 0x7fffffff;", ["warp-mask"]),
    ],
)
def test_membermasks(body: str, expected: list[str]) -> None:
    assert kinds(watched(body, threads=32)) == expected


@pytest.mark.parametrize("order", ["", ".volatile"])
def test_lanes_need_not_run_in_step(order: str) -> None:
    turn = f"xor.b32 r3, r0, 1; shl.b32 r4, r3, 2; st{order}.shared.u32 [r2], r0; %s ld{order}.shared.u32 r5, [r4];"
    assert kinds(watched(turn % "", threads=32)) == ["warp-synchrony"]
    assert watched(turn % "bar.warp.sync 0xffffffff;", threads=32) == []


def test_barriers_of_a_part_of_a_warp() -> None:
    body = "setp.ge.u32 p1, r0, 16; @p1 bra end; xor.b32 r3, r0, {}; shl.b32 r4, r3, 2; st.shared.u32 [r2], r0;"
    body += "bar.warp.sync 0xffff; ld.shared.u32 r5, [r4]; end: ret;"
    assert watched(body.format(8), threads=32) == []


REMOTE = """
st.shared.u32 [r2], r0;
{before}
xor.b32 r3, %cluster_ctarank, 1;
mapa.shared::cluster.u32 r4, r2, r3;
ld.shared::cluster.u32 r5, [r4];
{after}
"""
MEET = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (MEET, MEET, []),
        ("bar.sync 0;", MEET, ["cluster-race"]),
        (MEET, "", ["cluster-race"]),
        ("barrier.cluster.arrive.relaxed; barrier.cluster.wait;", MEET, ["cluster-race"]),
    ],
)
def test_shared_memory_of_the_cluster(before: str, after: str, expected: list[str]) -> None:
    found = watched(REMOTE.format(before=before, after=after), threads=32, ctas=2, cluster=(2, 1, 1))
    assert kinds(found) == expected


def test_an_endless_loop() -> None:
    (found,) = watched("loop: add.u32 r5, r5, 1; bra loop;", max_steps=500)
    assert (found.kind, found.count) == ("no-end", 1)


def test_an_invalid_request_is_an_error_and_not_a_finding() -> None:
    memory = Memory()
    with pytest.raises(WarpfoldError, match="WF706"):
        sanitize(text("ret;"), "k", (1, 1, 1), (32, 1, 1), [], memory)


@pytest.mark.parametrize("seed", range(8))
def test_the_verdict_does_not_depend_on_the_schedule(seed: int) -> None:
    assert watched(NEXT + STORE + "bar.sync 0;" + LOAD, seed=seed) == []
    assert "shared-race" in kinds(watched(NEXT + STORE + LOAD, seed=seed))
    fenced = last(before="fence.acq_rel.gpu;", after="fence.acq_rel.gpu;")
    assert watched(fenced, ctas=4, seed=seed) == []
    assert kinds(watched(last(after="fence.acq_rel.gpu;"), ctas=4, seed=seed)) == ["global-race"]
    reset = fenced.replace("done:", "st.global.u32 [d0], 0;\ndone:")
    assert watched(reset, ctas=4, seed=seed) == []


WHOLE = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
ANY = WHOLE.replace(".aligned", "")


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{WHOLE} {WHOLE} {WHOLE}", []),
        (f"{FROM_33} @p1 ret; {WHOLE} st.shared.u32 [r2], r0; {WHOLE}", []),
        (f"setp.ge.u32 p1, r0, 32; st.shared.u32 [r2], r0; @p1 ret; {WHOLE} {WHOLE}", []),
        (f"{ODD} @p1 bra even; {WHOLE} bra end; even: {WHOLE} end: ret;", [DIVERGED]),
        (f"{ODD} @p1 bra even; {ANY} bra end; even: {ANY} end: ret;", []),
        (f"st.shared.u32 [r2], r0; {FROM_33} @p1 ret; {WHOLE}", [DIVERGED]),
        (f"{WHOLE} {FROM_33} @p1 ret; {WHOLE}", [DIVERGED]),
        (f"st.shared.u32 [r2], r0; {FROM_33} @p1 ret; {ANY}", []),
        (f"{ODD} @p1 bra end; {WHOLE} end: st.shared.u32 [r2], r0;", [DIVERGED]),
    ],
)
def test_the_barrier_of_the_cluster(body: str, expected: list[str], seed: int | None) -> None:
    assert kinds(watched(body, ctas=4, cluster=(2, 1, 1), seed=seed)) == expected


FILE = '.file 1 "mine.cu"\n'
UNROLLED = [f".loc 1 8 1\nld.shared.u32 r5, [r2+{4 * k}];\n" for k in range(6)]


@pytest.mark.parametrize(("turns", "others"), [(2, "does line 15"), (4, "do lines 15, 17, 19"),
                                              (6, "do lines 15, 17, 19 and 2 more")])  # fmt: skip
def test_a_loop_that_is_unrolled_gives_one_finding_for_its_line(turns: int, others: str) -> None:
    body = "".join(UNROLLED[:turns])
    (found,) = grouped(watched(body, before=FILE))
    assert found.words.endswith(f"; so {others} of the same source line")
    assert len(grouped(watched(body))) == turns


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (last(before="", after="fence.acq_rel.gpu;"), "there is an acquire, but a release is missing behind line"),
        (last(before="fence.acq_rel.gpu;"), "there is a release, but an acquire is missing before line"),
        (last(), "a release of the one"),
        (last(before="fence.acq_rel.cta;", after="fence.acq_rel.gpu;"), "the scope of the release behind line"),
        (last(before="fence.acq_rel.gpu;", after="fence.acq_rel.cta;"), "the scope of the acquire before line"),
        ("st.global.u32 [d1], r1;", "both run it once: an index of each CTA's own in line"),
    ],
)
def test_a_race_between_ctas_says_which_half_is_missing(body: str, said: str) -> None:
    found = watched(body, ctas=4, threads=1)
    assert [said in f.words for f in found] == [True] * len(found) != []
    assert not any("two runs" in f.words for f in found)


@pytest.mark.parametrize("seed", [0, 4])  # the first CTA comes last, and the second one does
def test_a_release_behind_a_barrier_is_that_of_all_threads_of_its_cta(seed: int) -> None:
    (race,) = watched("""
add.u64 d3, d1, d2; mul.wide.u32 d4, r1, 256; add.u64 d3, d3, d4; st.global.u32 [d3], r0;
bar.sync 0;
setp.ne.u32 p1, r0, 0; @p1 ret;
fence.acq_rel.gpu; atom.global.inc.u32 r6, [d0], 1;
setp.ne.u32 p2, r6, 1; @p2 ret;
xor.b32 r8, r1, 1; mul.wide.u32 d4, r8, 256; add.u64 d3, d1, d4;
ld.global.u32 r7, [d3+132];
""", ctas=2, seed=seed)  # fmt: skip
    assert race.threads[0].cta == (seed // 4, 0, 0)
    assert "there is a release, but an acquire is missing before line" in race.words


def test_the_cure_of_a_copy_that_a_lane_of_the_warp_waits_for_is_a_barrier_of_the_warp() -> None:
    copy = "add.u64 d3, d0, d2; cp.async.ca.shared.global [r2], [d3], 4; xor.b32 r4, r2, {}; ld.shared.u32 r5, [r4];"
    assert "a barrier (bar.warp.sync)" in watched(copy.format(4))[0].words
    assert "a barrier (bar.sync)" in watched(copy.format(128))[0].words


def test_an_index_in_a_loop_is_of_two_runs() -> None:
    loop = "mov.u32 r9, 0; loop: xor.b32 r4, r2, r9; st.shared.u32 [r4], r9; add.u32 r9, r9, 128; "
    (found,) = watched(loop + "setp.lt.u32 p1, r9, 256; @p1 bra loop;")
    assert "between two runs of line 11" in found.words


COPIES = """
mov.u32 r4, s; setp.ne.u32 p1, r0, 0; @p1 bra met; mov.u32 r8, 0;
mbarrier.init.shared.b64 [r4], 1; mbarrier.arrive.expect_tx.shared.b64 _, [r4], {nbytes};
turn: and.b32 r6, r8, 31; shl.b32 r6, r6, 4; add.u32 r6, r6, 16;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r6], [d0], 16, [r4];
add.u32 r8, r8, 1; setp.lt.u32 p3, r8, {count}; @p3 bra turn;
met: bar.sync 0;
wait: mbarrier.try_wait.parity.shared.b64 p2, [r4], 0; @!p2 bra wait;
"""


def test_bulk_copies_cost_a_few_events_each_and_arrive_together() -> None:
    """What a copy costs does not grow with their number: the arrivals at one mbarrier are one event."""
    touches = []
    for count in (50, 100):
        tool = Counting()
        module, memory = parse(text(COPIES.format(count=count, nbytes=16 * count))), Memory()
        x = memory.allocate(1024, initialised=True)
        launch(module, "k", (1, 1, 1), (64, 1, 1), [x, x], memory, tool=tool)
        touches.append(tool.touches)
    assert touches[1] - touches[0] == 50  # the reads of the source; the other events are the same


class Counting(Tool):
    """Counts accesses to memory."""

    def __init__(self) -> None:
        self.touches = 0

    def touch(self, touch: Touch) -> None:
        self.touches += touch.access.space in ("shared", "global")
