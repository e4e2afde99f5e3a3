"""Faults in warpfold's own kernels, which are compiled as usual; then their PTX or their launch is edited."""

from __future__ import annotations

from dataclasses import replace

import handmade
import mutate
import own
from change import Change, argument, grid, second_alone, shorter
from fault import CLUSTER, DEADLOCK, DIVERGED, GLOBAL, MASK, MISALIGNED, OUT, SHARED, UNWRITTEN, WARP, Fault
from scene import Scene, nothing


def _edited(
    kernel: str, what: str, kinds: str | tuple[str, ...], change: mutate.Edit, lines: str, which: int = 0
) -> Fault:
    """A mistake in the PTX of a kernel of warpfold's, in launch number ``which``."""

    def scene() -> Scene:
        base = own.scene(kernel)
        launch = base.launches[which]
        return base.with_launch(which, replace(launch, ptx=mutate.within(launch.entry, change)(launch.ptx)))

    return Fault(f"{kernel}: {what}", (kinds,) if isinstance(kinds, str) else kinds, scene, lines)


def _called(kernel: str, what: str, kind: str, change: Change, lines: str) -> Fault:
    """A mistake of warpfold's runtime, planted in the launch."""
    return Fault(f"{kernel}: {what}", (kind,), lambda: change(own.scene(kernel)), lines)


def _again(kernel: str, what: str, change: mutate.Edit) -> Fault:
    """A last-block kernel with an edit, launched twice on the same counters; the second result is then read."""

    def scene() -> Scene:
        base = own.scene(kernel)
        launch = base.launches[0]
        edited = base.with_launch(0, replace(launch, ptx=change(launch.ptx)))
        return handmade.twice(edited, launch.args[1].buffer, 1)  # type: ignore[union-attr]

    return Fault(f"{kernel}: {what}", (UNWRITTEN,), scene, "TICKET_NOT_RESET", "planted.cu")


EXPOSED = (SHARED, UNWRITTEN)
"""The kinds of a read that nothing orders after the write: a race, or uninitialised memory."""
ASTRAY = (MISALIGNED, OUT)
"""Between two places, and the last beyond the end."""
_SHARED, _GLOBAL, _SHUFFLE = r"(ld|st)\.shared", r"(ld|st)(\.volatile)?\.global", r"shfl\.sync"
_LAST, _KEPT = "last block", "kept last block"
_SIMPLE, _WARP_SYNC, _MERGED = (
    f"ladder's {rung}" for rung in ("two-pass-simple", "two-pass-warp-sync", "single-pass-merged")
)
_ADDED_IN_STEPS = mutate.edit(
    r"atom\.relaxed\.gpu\.global\.add\.u64\s+(%rd\d+), (\[%rd\d+\]), (%rd\d+);",
    r"ld.global.b64 \1, \2; add.s64 \1, \1, \3; st.global.b64 \2, \1;",
)
_NOT_COHERENT = mutate.edit(r"ld\.volatile\.global", "ld.global.nc", None)
_NARROW_FENCES = mutate.both(mutate.ordered("relaxed"), mutate.fenced(before=True, after=True), mutate.NARROW)
_BARRIER_INTO_BRANCH = mutate.both(mutate.barrier(1), mutate.edit(r"(st\.shared.*)$", r"\1 bar.sync 0;", 1))


def _in_excess(by: int) -> Change:
    """More results than there are, and a CTA for them."""
    return lambda s: argument(0, 2, by)(grid(0, lambda g: (g[0] + 1, 1, 1))(s))


EDITED = (
    _edited("row sum", "no barrier before the second round", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("row sum", "a slot further stored", (UNWRITTEN, OUT), mutate.offset(r"st\.shared", 4), _SHARED),
    _edited("row sum", "a slot further read", OUT, mutate.offset(r"ld\.shared", 4), r"ld\.shared"),
    _edited("row sum", "a mask one lane short", MASK, mutate.mask(_SHUFFLE, 0x7FFFFFFF), _SHUFFLE),
    _edited("row sum", "a mask of half a warp", MASK, mutate.mask(_SHUFFLE, 0xFFFF, 4), _SHUFFLE),
    _edited("row sum", "a shuffle in a branch", MASK, mutate.guarded_by_first_lane(_SHUFFLE, 2), _SHUFFLE),
    _edited("row sum", "vectors an element late", ASTRAY, mutate.offset(r"ld\.global\.nc\.v4", 4), _GLOBAL),
    _called("row sum", "rows an element longer", OUT, argument(0, 3, 1), r"ld\.global"),
    _called("row sum", "results told apart too far", OUT, argument(0, 8, 1), r"st\.global"),
    _called("row sum", "rows told apart too far", OUT, argument(0, 6, 1), r"ld\.global"),
    _called("row sum", "a row too many", OUT, _in_excess(1), _GLOBAL),
    _edited(_LAST, "nothing releases the partials", GLOBAL, mutate.ordered("acquire"), _GLOBAL),
    _edited(_LAST, "nothing acquires the partials", GLOBAL, mutate.ordered("release"), _GLOBAL),
    _edited(_LAST, "fences and ticket of the CTA's scope", GLOBAL, _NARROW_FENCES, _GLOBAL + r"|atom"),
    _edited(_LAST, "a ticket by a load and a store", GLOBAL, mutate.load_and_store, _GLOBAL),
    _edited(_LAST, "a load that is not coherent", GLOBAL, _NOT_COHERENT, _GLOBAL),
    _edited(_LAST, "no barrier before the ticket is read", EXPOSED, mutate.barrier(2), _SHARED),
    _edited(_LAST, "no barrier before the last round", EXPOSED, mutate.barrier(3), _SHARED),
    _edited(_LAST, "a cell further stored", UNWRITTEN, mutate.offset(r"st\.global", 4), r"ld\.volatile"),
    _called(_LAST, "scratch of one cell too few", OUT, shorter("partials", 256 - 36), _GLOBAL),
    _called(_LAST, "counters nobody set", UNWRITTEN, lambda s: s.with_buffer("counters", nothing(4)), r"atom"),
    _again(_LAST, "counters not reset", mutate.edit(r"inc\.u32(\s+%r\d+, \[%rd\d+\]), %r\d+", r"add.u32\1, 1")),
    _edited(_KEPT, "no barrier between partials and ticket", GLOBAL, mutate.barrier(1), _GLOBAL),
    _edited(_KEPT, "no barrier before the ticket is read", EXPOSED, mutate.barrier(2), _SHARED),
    _called(_KEPT, "one counter for two tiles", OUT, shorter("counters", 4), r"atom"),
    _edited("kept columns", "no barrier", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("kept columns", "results beyond the last", OUT, mutate.offset(r"st\.global", 256), r"st\.global"),
    _called("kept columns", "columns in excess", OUT, _in_excess(16), _GLOBAL),
    _edited("kept columns", "a vector at an odd element", ASTRAY, mutate.offset(r"st\.shared\.v2", 8), _SHARED),
    _called("two kernels", "one CTA short", UNWRITTEN, grid(0, lambda g: (1, g[1] - 1, 1)), r"ld\.global"),
    _called("two kernels", "the first forgotten", UNWRITTEN, second_alone, r"ld\.global"),
    _called("two kernels", "parts beyond the last", UNWRITTEN, argument(1, 3, 1), r"ld\.global"),
    _called("atomic", "cells nobody set", UNWRITTEN, second_alone, r"atom|red"),
    _edited("atomic", "a load, an add and a store", GLOBAL, _ADDED_IN_STEPS, _GLOBAL, 1),
    _edited("atomic", "an atomic of the CTA's scope", GLOBAL, mutate.edit(r"relaxed\.gpu", "relaxed.cta"), r"atom", 1),
    _edited("argmax", "positions not stored", UNWRITTEN, mutate.drop(r"st\.shared", 1), r"ld\.shared"),
    _edited("argmax", "no barrier", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("argmax", "a mask without the first lane", MASK, mutate.mask(_SHUFFLE, 0xFFFFFFFE, 3), _SHUFFLE),
    _edited("variance", "no barrier", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("variance", "a state at half its place", ASTRAY, mutate.offset(r"st\.shared", 4), _SHARED),
    _edited("any", "a vote one lane short", MASK, mutate.mask(r"vote\.sync", 0x7FFFFFFF), r"vote\.sync"),
    _edited("any", "a vote in a branch", MASK, mutate.guarded_by_first_lane(r"vote\.sync"), r"vote\.sync"),
    _edited("whole maximum", "redux one lane short", MASK, mutate.mask(r"redux\.sync", 0x7FFFFFFF), r"redux\.sync"),
    _called("short rows", "rows in excess", OUT, argument(0, 2, 20), _GLOBAL),
    _called("short rows", "an array of one row less", OUT, shorter("input 0", 24), r"ld\.global"),
    _called("ragged rows", "offsets beyond the end", OUT, shorter("input 0", 4), r"ld\.global"),
    _called("ragged rows", "an offset too few", OUT, shorter("input 1", 4), r"ld\.global"),
    _edited("ladder's simple", "no barrier before the first round", (WARP, GLOBAL), mutate.barrier(0), _GLOBAL),
    _edited("ladder's simple", "no barrier between rounds", GLOBAL, mutate.barrier(1), _GLOBAL),
    _edited("ladder's shared", "no barrier before the first round", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("ladder's shared", "no barrier between rounds", SHARED, mutate.barrier(1), _SHARED),
    _edited("ladder's shared", "the barrier between rounds in a branch", DIVERGED, _BARRIER_INTO_BRANCH, r"bar\.sync"),
    _edited("ladder's shared", "a distance too far", OUT, mutate.offset(r"ld\.shared", 4, 1), r"ld\.shared"),
    _edited(_SIMPLE, "no barrier before one thread combines", EXPOSED, mutate.barrier(0), _SHARED),
    _edited(_SIMPLE, "no barrier after it has combined", SHARED, mutate.barrier(1), _SHARED),
    _edited(_WARP_SYNC, "nothing between a warp's rounds", WARP, mutate.drop(r"bar\.warp\.sync"), _SHARED),
    _edited(_MERGED, "nothing between two rounds of a warp", WARP, mutate.drop(r"bar\.warp\.sync", 2), _SHARED),
    _edited(_MERGED, "a warp's barrier for half of it", (MASK, WARP),
            mutate.edit(r"bar\.warp\.sync(\s+)-1", r"bar.warp.sync\g<1>65535", 0), r"bar\.warp\.sync"),
    _edited(_MERGED, "no barrier before the last rounds", WARP, mutate.barrier(-1), _SHARED),
)  # fmt: skip
"""Mistakes in warpfold's own kernels."""

_WAIT = r"ld\.acquire"
_CHUNKS, _STRIPS = "chunks", "strips of columns"


def _in_few_ctas(kernel: str, what: str, kinds: str | tuple[str, ...], change: mutate.Edit, lines: str) -> Fault:
    """A mistake in a kernel of chunks, whose tickets three CTAs take."""
    fault = _edited(kernel, what, kinds, change, lines)
    return replace(fault, scene=lambda: grid(0, lambda _: (3, 1, 1))(fault.scene()))


def _close_behind(kernel: str, what: str, kinds: tuple[str, ...], change: mutate.Edit, lines: str) -> Fault:
    """A mistake in a kernel of chunks, in which each phase follows two chunks behind the one before."""
    fault = _in_few_ctas(kernel, what, kinds, change, lines)
    return replace(fault, scene=lambda: argument(0, 9, -36)(fault.scene()))


def _twice(kernel: str, what: str, kind: str, change: mutate.Edit, lines: str) -> Fault:
    """A mistake in a kernel of chunks, which is launched twice on the same counters."""
    fault = _edited(kernel, what, kind, change, lines)

    def scene() -> Scene:
        once = fault.scene()
        return replace(once, launches=once.launches * 2)

    return replace(fault, scene=scene)


def _of_one_cta_with_a_short_lag(s: Scene) -> Scene:
    """One CTA takes all tickets, and would have to wait for larger ones."""
    return argument(0, 9, -36)(grid(0, lambda _: (1, 1, 1))(s))


_ALWAYS_MORE = mutate.edit(r"inc\.u32(\s+%r\d+, \[%rd\d+\]), %r\d+", r"add.u32\1, 1", None)
_ONE_ARRIVAL = mutate.edit(r"setp\.gt\.u32(\s+%p\d+, %r\d+), %r\d+", r"setp.gt.u32\1, 0")
_ARRIVAL = r"atom\.acq_rel\.gpu"
CHUNKED = (
    _in_few_ctas(_CHUNKS, "nothing releases the states", GLOBAL, mutate.edit(_ARRIVAL, "atom.acquire.gpu"), _GLOBAL),
    _in_few_ctas(_CHUNKS, "nothing acquires the states", GLOBAL, mutate.edit(_ARRIVAL, "atom.release.gpu"), _GLOBAL),
    _in_few_ctas(_CHUNKS, "states released to the CTA", GLOBAL, mutate.edit(_ARRIVAL, "atom.acq_rel.cta"),
                 _GLOBAL + "|atom"),
    _in_few_ctas(_CHUNKS, "nothing releases the state of a row", GLOBAL, mutate.edit(r"atom\.release", "atom.relaxed"),
                 _GLOBAL),
    _in_few_ctas(_CHUNKS, "nothing acquires the state of a row", GLOBAL, mutate.edit(_WAIT, "ld.relaxed"), _GLOBAL),
    _in_few_ctas(_CHUNKS, "the state of a row released to the CTA", GLOBAL,
                 mutate.edit(r"release\.gpu", "release.cta"), _GLOBAL + "|atom|ld"),
    _in_few_ctas(_STRIPS, "no barrier before the arrival", GLOBAL, mutate.barrier(2), _GLOBAL),
    _in_few_ctas(_CHUNKS, "no barrier after the arrival", EXPOSED, mutate.barrier(3), _SHARED),
    _in_few_ctas(_STRIPS, "no barrier before the signal", GLOBAL, mutate.barrier(5), _GLOBAL),
    _in_few_ctas(_CHUNKS, "no barrier after the wait", GLOBAL, mutate.barrier(6), _GLOBAL),
    _close_behind(_CHUNKS, "the wait for one arrival", (GLOBAL, UNWRITTEN), _ONE_ARRIVAL, _GLOBAL),
    _in_few_ctas(_CHUNKS, "no barrier after the ticket", EXPOSED, mutate.barrier(7), _SHARED),
    _in_few_ctas(_CHUNKS, "a state further stored", (UNWRITTEN, OUT, GLOBAL), mutate.offset(r"st\.global\.b32", 4),
                 _GLOBAL),
    _twice(_CHUNKS, "waits that count nothing", DEADLOCK, mutate.drop(r"atom\.relaxed\.gpu\.global\.inc", 1), _WAIT),
    _again(_CHUNKS, "tickets not reset", _ALWAYS_MORE),
    _called(_CHUNKS, "counters nobody set", UNWRITTEN, lambda s: s.with_buffer("counters", nothing(44)), r"acq|atom"),
    _called(_CHUNKS, "one counter too few", OUT, shorter("counters", 24), _WAIT + "|atom"),
    _called(_CHUNKS, "a lag shorter than a row", DEADLOCK, _of_one_cta_with_a_short_lag, _WAIT),
)  # fmt: skip
"""Mistakes in rows that wait in the L2 cache, which compute-sanitizer has not been run on yet."""

_SIDES = "side folds"
BESIDE = (
    _in_few_ctas(_SIDES, "nothing releases the states of a part", GLOBAL, mutate.edit(_ARRIVAL, "atom.acquire.gpu"),
                 _GLOBAL),
    _in_few_ctas(_SIDES, "nothing acquires the states of the parts", GLOBAL, mutate.edit(_WAIT, "ld.relaxed"), _GLOBAL),
    _in_few_ctas(_SIDES, "no barrier before the end of a row", EXPOSED, mutate.barrier(2), _SHARED),
    _in_few_ctas(_SIDES, "no barrier before a part arrives", GLOBAL, mutate.barrier(3), _GLOBAL),
    _in_few_ctas(_SIDES, "no barrier after the wait for the parts", GLOBAL, mutate.barrier(6), _GLOBAL),
    _in_few_ctas(_SIDES, "no barrier before the next columns", EXPOSED, mutate.barrier(8), _SHARED),
    _in_few_ctas(_SIDES, "a row is read before its copies arrive", SHARED, mutate.drop(r"cp\.async\.wait", 1), _SHARED),
    _in_few_ctas(_SIDES, "a state further stored", UNWRITTEN, mutate.offset(r"st\.global\.v4", 16, -1), _GLOBAL),
    _edited("sections of rows", "a state is not stored", UNWRITTEN, mutate.drop(r"st\.global\.b32", 0), _GLOBAL),
    _edited("sections of rows", "lanes without a place", MASK, mutate.mask(r"shfl\.sync", 0xFFFF, -1), _SHUFFLE),
    _edited("exchanged block", "no barrier", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("exchanged block", "copies that nobody waits for", SHARED, mutate.drop(r"cp\.async\.wait_group"), _SHARED),
    _edited("exchanged bits", "no barrier before squares are turned", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("exchanged bits", "no barrier before bytes are written", EXPOSED, mutate.barrier(1), _SHARED),
)  # fmt: skip
"""Mistakes in side folds, sections and exchanged blocks, which compute-sanitizer has not been run on yet."""
_GRID, _TEAMS = "rows of the grid", "teams of the grid"
SHARED_BY_GRID = (
    _edited(_GRID, "nothing releases the states", GLOBAL, mutate.edit(r"atom\.release", "atom.relaxed"), _GLOBAL),
    _edited(_GRID, "nothing acquires the state of a row", GLOBAL, mutate.edit(_WAIT, "ld.relaxed"), _GLOBAL),
    _edited(_GRID, "no barrier after the wait", GLOBAL, mutate.barrier(2), _GLOBAL),
    _edited(_GRID, "copies that nobody waits for", SHARED, mutate.drop(r"cp\.async\.wait_group"), _SHARED),
    _called(_GRID, "one counter too few", OUT, shorter("counters", 164), _WAIT + "|atom"),
    _edited(_TEAMS, "no part signals", DEADLOCK, mutate.drop(r"atom\.release"), _WAIT),
    _edited(_TEAMS, "a meeting left out", GLOBAL, mutate.edit(_WAIT, "ld.relaxed", 1), _GLOBAL),
    _edited(_TEAMS, "the counter of another tile", DEADLOCK, mutate.offset(_WAIT, 3 * 128), _WAIT),
    _edited(_TEAMS, "no barrier after the wait", GLOBAL, mutate.barrier(2), _GLOBAL),
    _called(_TEAMS, "parts a row longer", OUT, argument(0, 7, 1), r"cp\.async"),
)  # fmt: skip
"""Mistakes in rows that the grid shares, which compute-sanitizer has not been run on yet."""

_STATES, _STATE = "states of a cluster", "state of a cluster"
_STORE, _WAITS = r"st\.async", r"mbarrier\.try_wait"
_AWAITED = r"(mbarrier\.arrive\.expect_tx\S+ state, \[%r\d+\]), \d+"
_ANY_CLUSTER = r"st\.async|ld\.shared|mbarrier"
CLUSTERED = (
    _edited(_STATES, "no mbarrier", UNWRITTEN, mutate.drop(r"mbarrier\.init", 1), r"mbarrier"),
    _edited(_STATES, "mbarriers that others may not see", CLUSTER, mutate.drop(r"fence\.mbarrier_init"), _STORE),
    _edited(_STATES, "no wait for the states", SHARED,
            mutate.edit(rf"{_WAITS}.*", r"setp.eq.s32 all, 0, 0;", 1), r"ld\.shared"),
    _edited(_STATES, "a wait for the states of the phase before", SHARED,
            mutate.edit(rf"({_WAITS}\S+ all), \[%r\d+\]", r"\1, [arrivals_0]", 1), r"ld\.shared"),
    _edited(_STATES, "a wait for the other parity", SHARED,
            mutate.edit(rf"({_WAITS}.*), 0;", r"\1, 1;", 1), r"ld\.shared"),
    _edited(_STATES, "fewer bytes are awaited", SHARED, mutate.edit(_AWAITED, r"\1, 8", 1), r"ld\.shared"),
    _edited(_STATES, "more bytes are awaited", DEADLOCK, mutate.edit(_AWAITED, r"\1, 64"), _WAITS),
    _edited(_STATES, "a second arrival is awaited", DEADLOCK,
            mutate.edit(r"(mbarrier\.init.*), 1;", r"\1, 2;"), _WAITS),
    _edited(_STATES, "a state far away", OUT, mutate.offset(_STORE, 4096), _STORE),
    _edited(_STATES, "bytes that another CTA counts", (CLUSTER, DEADLOCK),
            mutate.edit(rf"({_STORE}\S+ \[%rd\d+\], %r\d+), \[%rd\d+\]", r"\1, [arrivals_0]"), _ANY_CLUSTER),
    _edited(_STATES, "a store that nobody counts", DEADLOCK,
            mutate.edit(rf"{_STORE}\S+( \[%rd\d+\], %r\d+), \[%rd\d+\]", r"st.shared::cluster.b32\1"), _WAITS),
    _edited(_STATE, "the first CTA ends before all has come", (SHARED, CLUSTER),
            mutate.edit(rf"{_WAITS}.*", r"setp.eq.s32 all, 0, 0;"), r"ld\.shared|st\.async"),
)  # fmt: skip
"""Mistakes in states that asynchronous stores bring, which compute-sanitizer has not been run on yet."""

COPIED = (
    _edited("copied rows", "no barrier behind the copy", EXPOSED, mutate.barrier(0), _SHARED),
    _edited("copied rows", "accesses an element late", ASTRAY, mutate.offset(r"ld\.global\.nc\.v4", 4), _GLOBAL),
    _edited("copied rows", "a copy an access late", UNWRITTEN, mutate.offset(r"st\.shared\.v4", 16), _SHARED),
    _called("copied rows", "an array told to be longer", OUT, argument(0, 12, 16), r"ld\.global"),
    _called("copied rows", "an array of one row less", OUT, shorter("input 0", 28), r"ld\.global"),
)  # fmt: skip
"""Mistakes in copies of rows, which compute-sanitizer has not been run on yet."""

_SCAN, _COLUMNS, _PARTS = "scan", "scan of columns", "parts of columns"
SCANNED = (
    _edited(_SCAN, "states left by plain stores", GLOBAL, mutate.edit(r"st\.relaxed\.gpu", "st", None), _GLOBAL),
    _edited(_COLUMNS, "states seen by plain loads", GLOBAL, mutate.edit(r"ld\.relaxed\.gpu", "ld", None), _GLOBAL),
    _edited(_SCAN, "words of the CTA's scope", GLOBAL, mutate.edit(r"(ld|st)\.relaxed\.gpu", r"\1.relaxed.cta", None),
            r"(ld|st)\.relaxed"),
    _edited(_SCAN, "nothing releases the words that are cleared", GLOBAL, mutate.edit(_ARRIVAL, "atom.acquire.gpu"),
            _GLOBAL),
    _edited(_COLUMNS, "nothing acquires the words that are cleared", GLOBAL, mutate.edit(_ARRIVAL, "atom.release.gpu"),
            _GLOBAL),
    _edited(_SCAN, "lanes that do not wait for the last arrival", (GLOBAL, WARP), mutate.drop(r"bar\.warp\.sync", -1),
            _GLOBAL),
    _edited(_SCAN, "no barrier between the warps' states", EXPOSED, mutate.barrier(1), _SHARED),
    _edited(_PARTS, "states seen by plain loads", GLOBAL, mutate.edit(r"ld\.relaxed\.gpu", "ld", None), _GLOBAL),
    _edited(_PARTS, "no barrier behind the copy", EXPOSED, mutate.barrier(1), _SHARED),
)  # fmt: skip
"""Mistakes in scans, which compute-sanitizer has not been run on yet."""

_COUNTS, _COUNTER = "counts", r"\.shared"
_COUNTED_IN_STEPS = mutate.edit(
    r"atom\.relaxed\.cta\.shared\.add\.u32\s+(%r\d+), (\[%rd\d+\]), 1;",
    r"ld.shared.b32 \1, \2; add.s32 \1, \1, 1; st.shared.b32 \2, \1;", None,
)  # fmt: skip
COUNTED = (
    _edited(_COUNTS, "no barrier after the counters are cleared", EXPOSED, mutate.barrier(0), _COUNTER),
    _edited(_COUNTS, "no barrier before the counters are added up", SHARED, mutate.barrier(1), _COUNTER),
    _edited(_COUNTS, "a load, an add and a store of a counter", (SHARED, WARP), _COUNTED_IN_STEPS, _COUNTER),
    _edited(_COUNTS, "a load, an add and a store of a cell", GLOBAL, _ADDED_IN_STEPS, _GLOBAL),
)  # fmt: skip
"""Mistakes in counts, which compute-sanitizer has not been run on yet."""
