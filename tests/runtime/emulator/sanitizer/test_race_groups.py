"""Races that one barrier would order are one finding; races that need two barriers are two."""

from __future__ import annotations

import pytest
from watched import kinds, watched

from warpfold.runtime.emulator.sanitizer import grouped

FAR = "add.u32 r3, r0, {}; rem.u32 r3, r3, 64; shl.b32 r4, r3, 2;\n"
"""r4: the place of another thread, of 64, one of the same warp or not."""
STORE, LOAD = "st.shared.u32 [r2], r0;\n", "ld.shared.u32 r5, [r4];\n"
OTHER, LOAD_OTHER = "st.shared.u32 [r2+256], r0;\n", "ld.shared.u32 r6, [r4+256];\n"
LOOP = "mov.u32 r9, 0; loop:\n{} add.u32 r9, r9, 1; setp.lt.u32 p1, r9, 4; @p1 bra loop;\n"


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        (FAR.format(1) + STORE + LOAD, [1]),
        (FAR.format(1) + STORE + OTHER + LOAD + LOAD_OTHER, [2]),
        (FAR.format(1) + STORE + LOAD + LOAD + LOAD + LOAD, [4]),
        (FAR.format(1) + STORE + LOAD + OTHER + LOAD_OTHER, [1, 1]),
        (FAR.format(1) + STORE + "bar.sync 0;" + LOAD + OTHER + LOAD_OTHER, [1]),
        (FAR.format(1) + LOOP.format(STORE + "bar.sync 0;\n" + LOAD), [1]),
        (FAR.format(1) + LOOP.format(STORE + OTHER + "bar.sync 0;\n" + LOAD + LOAD_OTHER), [2]),
        (FAR.format(1) + LOOP.format("bar.sync 0;\n" + STORE + OTHER + LOAD + LOAD_OTHER), [2]),
        (FAR.format(1) + LOOP.format(STORE + "bar.sync 0;\n" + LOAD) * 1
         + LOOP.format(OTHER + "bar.sync 0;\n" + LOAD_OTHER).replace("loop", "again"), [1, 1]),
        (FAR.format(1) + STORE + "bar.sync 0;\n" + LOAD + "bar.sync 0;\n" + STORE, []),
    ],
)  # fmt: skip
def test_there_is_a_finding_for_each_missing_barrier(body: str, pairs: list[int]) -> None:
    every = watched(body)
    found = grouped(every)
    assert [f.kind for f in found] == ["shared-race"] * len(pairs)
    for finding, count in zip(found, pairs, strict=True):
        more = "" if count == 1 else f"would order {count - 1} pair{'s' * (count > 2)} of lines more: "
        assert more in finding.words
        assert ("more: " in finding.words) == (count > 1)
    assert sum(f.count for f in found) == sum(f.count for f in every)


def test_races_that_need_more_than_a_barrier_are_separate() -> None:
    warp = watched("xor.b32 r3, r0, 1; shl.b32 r4, r3, 2;\n" + STORE + LOAD)
    assert kinds(grouped(warp)) == ["warp-synchrony"]
    both = watched(FAR.format(1) + STORE + LOAD + "shfl.sync.down.b32 r5, r0, 16, 31, 0x7fffffff;")
    assert kinds(grouped(both)) == ["shared-race", "warp-mask"]
    assert grouped([]) == []


def test_up_to_three_pairs_are_named() -> None:
    (found,) = grouped(watched(FAR.format(1) + STORE + LOAD * 6))
    assert found.words.endswith("would order 5 pairs of lines more: 12 and 14, 12 and 15, 12 and 16 and 2 more")


COPY = "add.u64 d3, d0, d2; cp.async.ca.shared.global [r2], [d3], 4;\n"
PAIR = "xor.b32 r3, r0, 32; shl.b32 r4, r3, 2;\n"
ALL = "cp.async.wait_all;\n"


@pytest.mark.parametrize("before", ["", "st.shared.u32 [r2], 0; bar.sync 0;\n"])
@pytest.mark.parametrize(
    ("body", "missing"),
    [
        (COPY + "ld.shared.u32 r5, [r2];\n", "a wait for it"),
        (COPY + "ld.shared.u32 r5, [r2];\n" + ALL, "a wait for it"),
        (COPY + "st.shared.u32 [r2], r0;\n" + ALL, "a wait for it"),
        (COPY + "cp.async.commit_group; cp.async.wait_group 1;\nld.shared.u32 r5, [r2];\n", "a wait for it"),
        (COPY + ALL + "ld.shared.u32 r5, [r2];\n", ""),
        ("st.shared.u32 [r2], 0;\n" + COPY + "ld.volatile.shared.u32 r5, [r2];\n" + ALL, ""),
        (COPY + "cp.async.commit_group; cp.async.wait_group 0;\nld.shared.u32 r5, [r2];\n", ""),
        (COPY + "bar.sync 0;\n" + PAIR + LOAD, "by the thread that asked, and a barrier (bar.sync) behind it"),
        (COPY + ALL + PAIR + LOAD, "a barrier (bar.sync) between"),
        (COPY + ALL + "bar.sync 0;\n" + PAIR + LOAD, ""),
        (COPY + "ld.shared.u32 r5, [r2+512];\n", None),
    ],
)
def test_a_missing_wait_is_named(before: str, body: str, missing: str | None) -> None:
    found = grouped(watched(before + body))
    if missing is None:  # of other bytes than the copy's
        assert [f.kind for f in found] == ["uninitialised"]
    elif missing:
        assert [(f.kind, missing in f.words, "a store" in f.words) for f in found] == [("shared-race", True, False)]
    else:
        assert found == []


def test_copies_that_one_wait_would_end_are_one_finding() -> None:
    second = COPY.replace("[r2]", "[r2+256]")
    (found,) = grouped(watched(COPY + second + "ld.shared.u32 r5, [r2];\nld.shared.u32 r6, [r2+256];\n"))
    assert found.words.startswith("the copy that line 11 asks for may still be under way to what this load at line 13")
    assert found.words.endswith("what orders them would order 1 pair of lines more: 12 and 14")
