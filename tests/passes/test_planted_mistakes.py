"""Mistakes planted in the PTX of kernels that read a row again: the sanitizer finds each, or the result is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from kernel_harness import place, ptx_of_text
from row_kernels import RowKernel, text, wanted

from warpfold.runtime.emulator import Memory, sanitize

sys.path.insert(0, str(Path(__file__).parent.parent / "sanitizer"))
from mutate import Edit, barrier, both, drop, edit, mask, offset

ROWS, SKEW = 3, 4
SLOTS, LONG, MEMORY = RowKernel(), RowKernel(slots=8), RowKernel("memory")
CLUSTER, FEW = RowKernel(ctas=4), RowKernel("memory", ctas=2)
OUT, MISALIGNED, UNWRITTEN = "out-of-bounds", "misaligned", "uninitialised"
SHARED, REMOTE, GLOBAL, WARP, MASK = "shared-race", "cluster-race", "global-race", "warp-synchrony", "warp-mask"
WRONG = "wrong result"
EXPOSED = (SHARED, WARP, UNWRITTEN)
"""How a read that nothing orders after the write is reported: of another warp's, of a lane's, or of nobody's yet."""
COPY, WAIT, SLOT = r"cp\.async\.cg", r"cp\.async\.wait_group", r"ld\.shared\.v4"
ARRIVE, WAITS = r"barrier\.cluster\.arrive\S*;", r"barrier\.cluster\.wait\S*;"
STORE, REMOTE_STORE = r"st\.global\.v4", r"st\.shared::cluster"


@dataclass(frozen=True)
class Launch:
    """What a launch of a kernel gets: rows of ``n`` elements, ``more`` of which are claimed, and its shared memory."""

    n: int
    more: int = 0
    less_shared: int = 0


@dataclass(frozen=True)
class Mistake:
    """A mistake: where and what it is, how it may be found, and how it is planted."""

    kernel: RowKernel
    what: str
    kinds: tuple[str, ...]
    change: Edit | None = None
    launch: Callable[[Launch], Launch] = lambda launch: launch


def _one_buffer(name: str) -> Edit:
    """Lets the second phase use the buffer of the first one."""
    return edit(rf"\b{name}_1\b", f"{name}_0", None)


def _without_pass(which: int) -> Edit:
    """Removes one pass of the cluster's barrier."""
    return both(drop(ARRIVE, which), drop(WAITS, which))


def _copied_to(at: int, which: int) -> Edit:
    """Lets a copy write ``at`` bytes behind the thread's first slot."""
    return edit(rf"({COPY}\S*\s+\[%rd\d+)\S*\], \[", rf"\g<1>+{at}], [", which)


def _copied_from(by: int, which: int) -> Edit:
    """Moves what a copy reads by some bytes."""
    return edit(rf"({COPY}\S*\s+\[\S+\], \[%rd\d+)\]", rf"\g<1>+{by}]", which)


def _one_cta_less(code: str) -> str:
    """Lets only three lanes write to a CTA each, in the first phase."""
    before, mapa, after = code.partition("mapa")
    compare = before.rindex(", 3;")
    return before[:compare] + ", 2;" + before[compare + 4 :] + mapa + after


def _groups_end(later: int) -> Edit:
    """Moves the end of the whole groups of the walk that writes by some elements."""
    return edit(r"add\.s32(\s+%r\d+, %r\d+), -259;", rf"add.s32\1, {later - 259};", -1)


MISTAKES = (
    # Copies into slots.
    Mistake(SLOTS, "no wait for the copies", (SHARED,), drop(WAIT)),
    Mistake(SLOTS, "a wait for all copies but the last group", (SHARED,), edit(rf"({WAIT}\s+)0", r"\g<1>1")),
    Mistake(SLOTS, "the copies are in no group", (SHARED,), drop(r"cp\.async\.commit_group")),
    Mistake(SLOTS, "the wait comes before the last copy", (SHARED,),
            both(drop(WAIT), edit(rf"^(.*{COPY}.*)$", r"cp.async.wait_group 0; \1", -1))),
    Mistake(SLOTS, "a copy into a slot of the neighbour", (UNWRITTEN, SHARED, WARP), _copied_to(1040, 1)),
    Mistake(SLOTS, "a copy between two slots", (MISALIGNED,), _copied_to(1032, 1)),
    Mistake(SLOTS, "a copy into the next slot", (UNWRITTEN, WRONG), _copied_to(2048, 1)),
    Mistake(SLOTS, "a copy beyond the last slot", (OUT,), _copied_to(4096, -1)),
    Mistake(SLOTS, "a copy is forgotten", (UNWRITTEN,), drop(COPY, 2)),
    Mistake(SLOTS, "a copy of what begins an element later", (MISALIGNED,), _copied_from(4, 1)),
    Mistake(SLOTS, "a copy of the next access", (WRONG, OUT), _copied_from(16, 1)),
    Mistake(SLOTS, "the end of the row is not looked at", (OUT,), edit(rf"({COPY}.*, 16), %r\d+;", r"\1;", None)),
    Mistake(SLOTS, "copies lack their last element", (WRONG,),
            edit(r"min\.s32(\s+%r\d+, %r\d+), 4;", r"min.s32\1, 3;", None)),
    Mistake(SLOTS, "the first access is copied though it begins before the array", (OUT,),
            edit(r"setp\.gt\.s32(\s+%p\d+, %r\d+), -1;", r"setp.gt.s32\1, -1000;")),
    Mistake(SLOTS, "the first elements go to another slot", (UNWRITTEN,), offset(r"st\.shared\.v4", 1024)),
    Mistake(SLOTS, "slots overlap", (SHARED, MISALIGNED), edit(r"shl\.b32(\s+%r\d+, %r\d+), 4;", r"shl.b32\1, 3;")),
    Mistake(SLOTS, "a slot of the neighbour is read", (SHARED, WARP), offset(SLOT, 16)),
    Mistake(SLOTS, "the next slot is read", (WRONG,), offset(SLOT, 1024)),
    Mistake(SLOTS, "only every second slot is read", (WRONG,),
            edit(r"and\.b32(\s+%r\d+, %r\d+), -1024;", r"and.b32\1, -2048;", None)),
    Mistake(SLOTS, "the launch has shared memory for one slot less", (OUT,),
            launch=lambda launch: replace(launch, less_shared=1024)),
    # The phases of a CTA.
    Mistake(SLOTS, "no barrier in the first phase", EXPOSED, barrier(0)),
    Mistake(SLOTS, "no barrier in the second phase", EXPOSED, barrier(1)),
    Mistake(SLOTS, "both phases have one buffer", (SHARED, WARP), _one_buffer("partials")),
    Mistake(MEMORY, "both phases have one buffer", (SHARED, WARP), _one_buffer("partials")),
    Mistake(SLOTS, "a state further stored", (UNWRITTEN, OUT), offset(r"st\.shared\.b32", 4, 1)),
    Mistake(SLOTS, "a state further read", (UNWRITTEN, OUT, WRONG), offset(r"ld\.shared\.b32", 4, 1)),
    Mistake(SLOTS, "lanes exchange states without the last one", (MASK,), mask(r"shfl\.sync", 0x7FFFFFFF, 1)),
    Mistake(SLOTS, "the states of the second phase are not exchanged", (WRONG,),
            edit(r"shfl\.sync\.bfly\.b32(\s+%r\d+, %r\d+), 1, 31, -1;", r"mov.b32\1;", 1)),
    # Clusters.
    Mistake(CLUSTER, "nobody knows that the others have begun", (REMOTE,), _without_pass(0)),
    Mistake(CLUSTER, "no pass of the barrier in the first phase", (*EXPOSED, REMOTE), _without_pass(1)),
    Mistake(CLUSTER, "no pass of the barrier in the second phase", (*EXPOSED, REMOTE), _without_pass(2)),
    Mistake(CLUSTER, "an arrival that releases nothing", (*EXPOSED, REMOTE),
            edit(r"(barrier\.cluster\.arrive)(\.aligned;)", r"\1.relaxed\2", 1)),
    Mistake(CLUSTER, "both phases have one buffer", (SHARED, WARP), _one_buffer("gathered")),
    Mistake(CLUSTER, "one CTA gets no states", (UNWRITTEN,), _one_cta_less),
    Mistake(CLUSTER, "all states go to the first CTA", (UNWRITTEN, REMOTE),
            edit(r"(mapa\S*\s+%\w+, %\w+), %r\d+;", r"\1, 0;")),
    Mistake(CLUSTER, "a state further stored in another CTA", (UNWRITTEN, REMOTE, OUT), offset(REMOTE_STORE, 4)),
    Mistake(CLUSTER, "a state further read", (WRONG, OUT), offset(r"ld\.shared\.b32", 4, 1)),
    Mistake(FEW, "both phases have one buffer", (SHARED, WARP), _one_buffer("gathered")),
    Mistake(FEW, "no pass of the barrier in the second phase", (*EXPOSED, REMOTE), _without_pass(2)),
    # The walk that writes.
    Mistake(SLOTS, "rows an element longer", (OUT, GLOBAL, WRONG), launch=lambda launch: replace(launch, more=1)),
    Mistake(SLOTS, "vectors are stored an element later", (MISALIGNED,), offset(STORE, 4, 2)),
    Mistake(SLOTS, "an access further stored", (WRONG, OUT, GLOBAL, WARP), offset(STORE, 16, 2)),
    Mistake(SLOTS, "whole groups end later", (OUT, GLOBAL, WRONG), _groups_end(4)),
    Mistake(MEMORY, "whole groups end later", (OUT, GLOBAL, WRONG), _groups_end(4)),
    Mistake(LONG, "whole groups end earlier, and some accesses are left out", (WRONG,), _groups_end(-900)),
    Mistake(SLOTS, "a single element further stored", (WRONG, OUT, GLOBAL, WARP), offset(r"st\.global\.b32", 4, 1)),
    Mistake(MEMORY, "vectors are read an element later", (MISALIGNED,), offset(r"ld\.global(\.nc)?\.v4", 4, -1)),
    Mistake(MEMORY, "an access further read", (WRONG, OUT), offset(r"ld\.global(\.nc)?\.v4", 16, -1)),
)  # fmt: skip


@cache
def ptx(kernel: RowKernel) -> str:
    return ptx_of_text(text(kernel))


def outcome(kernel: RowKernel, code: str, launch: Launch) -> set[str]:
    """The kinds of the findings; or that the result is wrong, or nothing."""
    n, pitch = launch.n, launch.n + 1
    x = np.random.default_rng(n).integers(-99, 99, (ROWS - 1) * pitch + n).astype(np.int32)
    memory, own = Memory(), np.add.outer(np.arange(ROWS) * pitch, np.arange(n))
    given, (out, found) = place(memory, x, SKEW)[0], place(memory, np.zeros_like(x), SKEW, initialised=False)
    faults = sanitize(
        code, "k", (ROWS * kernel.ctas, 1, 1), (kernel.threads, 1, 1), [given, out, n + launch.more, pitch, x.size],
        memory, shared_bytes=kernel.shared - launch.less_shared, max_steps=20_000,
    )  # fmt: skip
    if faults:
        return {fault.kind for fault in faults}
    right = np.zeros_like(x)
    right[own] = wanted(x[own])
    return set() if np.array_equal(found.view(np.int32), right) else {WRONG}


def lengths(kernel: RowKernel) -> list[int]:
    """Rows that end in an access of the last slot, and in one of the second."""
    whole = kernel.chunk * (kernel.ctas - 1)
    return [whole + kernel.chunk - kernel.step + 37, whole + kernel.step + 5]


@pytest.mark.parametrize("kernel", sorted({m.kernel for m in MISTAKES}), ids=str)
def test_nothing_is_found_without_a_mistake(kernel: RowKernel) -> None:
    for n in [*lengths(kernel), 1, kernel.chunk * kernel.ctas - 4]:
        assert outcome(kernel, ptx(kernel), Launch(n)) == set()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: f"{m.kernel.waits} {m.kernel.ctas}: {m.what}")
def test_each_mistake_is_found(mistake: Mistake) -> None:
    """With a right kind only, and for one of two lengths of rows at least."""
    code = ptx(mistake.kernel)
    changed = mistake.change(code) if mistake.change else code
    found: set[str] = set()
    for n in lengths(mistake.kernel):
        found |= outcome(mistake.kernel, changed, mistake.launch(Launch(n)))
    assert found
    assert found <= set(mistake.kinds), found


def test_there_are_thirty_mistakes_at_least() -> None:
    assert len({(m.kernel, m.what) for m in MISTAKES}) == len(MISTAKES) > 30
