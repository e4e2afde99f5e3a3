"""Faults in kernels written by hand, which are compiled with the mistake (``data/*.cu``) or launched wrongly."""

from __future__ import annotations

from dataclasses import replace

import handmade
from change import Change, argument, null, shorter
from fault import (
    CLUSTER,
    DEADLOCK,
    DIVERGED,
    GLOBAL,
    MASK,
    MISALIGNED,
    OUT,
    SHARED,
    STUCK,
    UNWRITTEN,
    WARP,
    Fault,
)  # fmt: skip
from handmade import FAMILIES, floats, zeros
from scene import At, Launch, Scene, nothing


def _written(family: str, fault: str, *kinds: str) -> Fault:
    source = {"copied": "async.cu", "met": "async.cu", "left": "left.cu"}.get(family, "planted.cu")
    return Fault(f"{family} {fault}", kinds, lambda: FAMILIES[family](fault), fault, source)


def _raced(family: str, fault: str) -> Fault:
    """The race that comes with a fault of another kind."""
    return replace(_written(family, fault, SHARED), name=f"{family} {fault}: the race")


def _launched(family: str, fault: str, kind: str, change: Change) -> Fault:
    """A wrong launch of a correct kernel."""
    return Fault(f"{family} {fault}", (kind,), lambda: change(FAMILIES[family]("NONE")), fault, "planted.cu")


def _copy_of(buffer: str) -> Launch:
    args = (At(buffer), At("copy"), 1)
    return Launch(handmade.text("planted.ptx"), "copy", (1, 1, 1), (32, 1, 1), args)


def _scratch_never_written() -> Scene:
    return Scene("copy", {"scratch": nothing(64), "copy": nothing(4)}, (_copy_of("scratch"),))


WRITTEN = (
    _written("tree", "NO_FIRST_BARRIER", SHARED, UNWRITTEN),
    _written("tree", "NO_LOOP_BARRIER", SHARED),
    _written("tree", "BARRIER_IN_BRANCH", DIVERGED),
    _written("tree", "BARRIER_IN_BOUND", DIVERGED),
    _written("tree", "TAIL_OFF_BY_ONE", OUT),
    _written("tree", "NO_BOUND", OUT),
    _written("tree", "STRIDE_FROM_BLOCK", OUT),
    _written("tree", "LESS_OR_EQUAL", OUT, SHARED),
    _written("tree", "EARLY_RETURN", UNWRITTEN),
    _written("tree", "OUT_PER_THREAD", OUT),
    _written("tree", "TWO_CTAS_ONE_OUT", GLOBAL),
    _written("tree", "ONE_WARP_SHORT", UNWRITTEN),
    _written("tail", "VOLATILE_TAIL", WARP),
    _written("tail", "PLAIN_TAIL", WARP, SHARED),
    _written("tail", "HALF_SYNCED_TAIL", WARP),
    _written("tail", "TAIL_OF_TWO_WARPS", SHARED),
    _written("shuffled", "NO_BARRIER_BEFORE_ROUND_TWO", SHARED, UNWRITTEN),
    _written("shuffled", "SLOTS_PAST_LAST_WARP", UNWRITTEN),
    _written("shuffled", "SLOT_PER_LANE", OUT),
    _written("shuffled", "SLOTS_REUSED", SHARED),
    _written("shuffled", "MASK_ONE_SHORT", MASK),
    _written("shuffled", "LANES_RETURNED", MASK),
    _written("shuffled", "ROUND_TWO_BY_FEW_LANES", MASK),
    _written("shuffled", "SOURCE_OUTSIDE_MASK", MASK),
    _written("shuffled", "ACTIVEMASK_AFTER_BRANCH", MASK, WARP),
    _written("shuffled", "FULL_MASK_IN_BRANCH", MASK),
    _written("shuffled", "MASK_OF_OTHER_HALF", MASK),
    _written("votes", "BALLOT_IN_BRANCH", MASK),
    _written("votes", "SYNCWARP_WITHOUT_ONESELF", MASK),
    _written("votes", "REDUCE_OF_HALF", MASK),
    _written("votes", "ANY_AFTER_RETURN", MASK),
    _written("votes", "SHUFFLE_ON_BOTH_SIDES", MASK),
    _written("votes", "STALE_BALLOT", MASK),
    _written("exchanged", "EXCHANGED_WITHOUT_SYNC", WARP),
    _written("exchanged", "WRITTEN_WITHOUT_SYNC", WARP),
    _written("exchanged", "EXCHANGED_BY_TWO_WARPS", SHARED),
    _written("tiles", "NO_BARRIER_AFTER_FILL", SHARED, UNWRITTEN),
    _written("tiles", "NO_BARRIER_AFTER_USE", SHARED),
    _written("tiles", "BARRIERS_AROUND_LOOP", SHARED, UNWRITTEN),
    _written("tiles", "TRIPS_BY_THREAD", DIVERGED),
    _written("doubled", "BUFFER_NOT_TOGGLED", SHARED),
    _written("doubled", "OTHER_BUFFER_READ", UNWRITTEN, SHARED),
    _written("doubled", "NO_BARRIER_DOUBLED", SHARED, UNWRITTEN),
    _written("scan", "IN_PLACE_ONE_BARRIER", SHARED, WARP),
    _written("scan", "LEFT_OF_FIRST", OUT),
    _written("histogram", "PLAIN_INCREMENT", SHARED, WARP),
    _written("histogram", "NOT_ZEROED", UNWRITTEN),
    _written("histogram", "NO_BARRIER_AFTER_ZEROING", SHARED, UNWRITTEN),
    _written("histogram", "NO_BARRIER_BEFORE_MERGE", SHARED),
    _written("histogram", "MERGE_WITHOUT_ATOMIC", GLOBAL),
    _written("histogram", "BIN_PAST_END", OUT),
    _written("last", "NO_FENCE_BEFORE_TICKET", GLOBAL),
    _written("last", "NO_FENCE_AFTER_TICKET", GLOBAL),
    _written("last", "FENCES_OF_CTA_SCOPE", GLOBAL),
    _written("last", "FENCE_ABOVE_STORE", GLOBAL),
    _written("last", "TICKET_BY_LOAD_STORE", GLOBAL),
    _written("last", "TICKET_OF_CTA_SCOPE", GLOBAL),
    _written("last", "WRITERS_NOT_WAITED_FOR", GLOBAL),
    _written("last", "LAST_FLAG_NO_BARRIER", SHARED, UNWRITTEN),
    _written("last", "ONE_PARTIAL_TOO_MANY", OUT),
    _written("flagged", "NO_FENCE_BEFORE_FLAG", GLOBAL),
    _written("flagged", "NO_FENCE_AFTER_FLAG", GLOBAL),
    _written("flagged", "FLAG_FENCES_OF_CTA_SCOPE", GLOBAL),
    _written("flagged", "FLAG_READ_ONCE", GLOBAL, *STUCK),
    _written("flagged", "FLAG_BEFORE_WRITERS", GLOBAL, UNWRITTEN),
    _written("flagged", "FLAG_NEVER_SET", *STUCK),
    _written("flagged", "RELAXED_FLAG", GLOBAL),
    _written("flagged", "ACQUIRE_OF_CTA_SCOPE", GLOBAL),
    _written("locked", "NO_FENCE_BEFORE_UNLOCK", GLOBAL),
    _written("locked", "NO_FENCE_AFTER_LOCK", GLOBAL),
    _written("locked", "NEVER_UNLOCKED", *STUCK),
    _written("locked", "LOCK_BY_LOAD_STORE", GLOBAL),
    _written("stencil", "NO_LEFT_BOUND", OUT),
    _written("stencil", "UNSIGNED_UNDERFLOW", OUT),
    _written("stencil", "NEIGHBOUR_WRITTEN", GLOBAL),
    _written("rows", "ROWS_FOR_COLUMNS", OUT),
    _written("rows", "OUT_ACCUMULATED_PLAIN", GLOBAL),
    _written("vectors", "VECTOR_OVER_TAIL", OUT),
    _written("vectors", "SHARED_PAIR_AT_ODD", MISALIGNED),
    _written("vectors", "DOUBLE_AT_ODD", MISALIGNED),
    _written("locals", "LOCAL_PAST_END", OUT),
    _written("locals", "LOCAL_UNWRITTEN", UNWRITTEN),
    _written("locals", "LOCAL_MISALIGNED", MISALIGNED),
    _written("clustered", "NO_FIRST_CLUSTER_BARRIER", CLUSTER, UNWRITTEN),
    _written("clustered", "NO_LAST_CLUSTER_BARRIER", CLUSTER),
    _written("clustered", "CTA_BARRIER_ONLY", CLUSTER, UNWRITTEN),
    _written("clustered", "RANK_PAST_END", OUT),
    _written("clustered", "ONE_CTA_SKIPS", CLUSTER, UNWRITTEN, DIVERGED, DEADLOCK),
    _written("clustered", "READ_BEFORE_WAIT", CLUSTER, UNWRITTEN),
    _written("clustered", "RELAXED_ARRIVE", CLUSTER),
    _written("clustered", "ONE_SLOT_FOR_ALL", CLUSTER, UNWRITTEN),
    _written("clustered", "REMOTE_INDEX_PAST_END", OUT),
    _written("handed", "COUNT_TOO_SHORT", SHARED, UNWRITTEN, DIVERGED, DEADLOCK),
    _written("handed", "COUNT_TOO_LONG", DEADLOCK, DIVERGED),
    _written("handed", "DIFFERENT_BARRIERS", DEADLOCK, DIVERGED),
    _written("handed", "PRODUCER_RETURNS", DEADLOCK, DIVERGED),
    _written("handed", "CONSUMER_DOES_NOT_WAIT", SHARED, UNWRITTEN),
    _written("handed", "HALF_A_WARP_WAITS", DIVERGED, DEADLOCK),
    _written("handed", "BARRIER_ON_BOTH_SIDES", DIVERGED),
    _written("copied", "COPY_NOT_WAITED_FOR", SHARED, UNWRITTEN),
    _written("copied", "ONE_GROUP_TOO_FEW", SHARED, UNWRITTEN),
    _written("copied", "COPIES_OF_OTHERS", SHARED, UNWRITTEN),
    _written("copied", "COPY_INTO_USE", SHARED),
    _written("copied", "COPY_OVER_END", OUT),
    _written("met", "ARRIVALS_TOO_MANY", *STUCK),
    _written("met", "NEVER_INITIALISED", UNWRITTEN),
    _written("met", "INITIALISED_UNSEEN", SHARED, UNWRITTEN),
    _written("met", "OTHER_PARITY", SHARED, UNWRITTEN, *STUCK),
    _written("met", "ONE_WARP_DOES_NOT_ARRIVE", *STUCK),
    _written("met", "NOT_WAITED_FOR", SHARED, UNWRITTEN),
)
"""Mistakes in kernels written by hand."""

LEFT = (
    _written("left", "ODD_LANES", DIVERGED),
    _written("left", "ODD_LANES_LAST", DIVERGED),
    _written("left", "FIRST_LANES", DIVERGED),
    _raced("left", "FIRST_LANES"),
    _written("left", "RETURN_AFTER_WRITE", DIVERGED),
    _raced("left", "RETURN_AFTER_WRITE"),
    _written("left", "RETURN_AFTER_RESULT", DIVERGED),
    _written("left", "RETURN_AFTER_BARRIER", DIVERGED),
    _written("left", "UNEQUAL_TRIPS", DIVERGED),
    _written("left", "WARP_AFTER_WRITE", SHARED),
)
"""Barriers that lanes or warps miss because they exit."""

LAUNCHED = (
    _launched("last", "TICKET_NEVER_SET", UNWRITTEN, lambda s: s.with_buffer("count", nothing(4))),
    _launched("last", "SCRATCH_TOO_SMALL", OUT, shorter("partial", 4)),
    _launched("rows", "SIZE_IN_BYTES", OUT, argument(0, 3, 30)),
    _launched("rows", "ARRAY_TOO_SMALL", OUT, shorter("x", 4)),
    _launched("rows", "RESULTS_TOO_SMALL", OUT, lambda s: s.with_buffer("out", zeros(76))),
    _launched("rows", "NULL_POINTER", OUT, null),
    _launched("vectors", "START_BETWEEN_VECTORS", MISALIGNED, lambda s: s.with_buffer("x", floats(1026, skew=4))),
    Fault("copy SCRATCH_NEVER_WRITTEN", (UNWRITTEN,), _scratch_never_written, "SCRATCH_NEVER_WRITTEN", "planted.cu"),
    Fault(
        "last TICKET_NOT_RESET",
        (UNWRITTEN,),
        lambda: handmade.twice(FAMILIES["last"]("TICKET_NOT_RESET"), "out", 3),
        "TICKET_NOT_RESET",
        "planted.cu",
    ),
)
"""Wrong launches of kernels written by hand."""
