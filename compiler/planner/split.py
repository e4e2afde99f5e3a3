"""How many CTAs share a result: those of a cluster, or those that fill the machine and meet in global memory."""

from __future__ import annotations

from dataclasses import replace

from ..plan.launch import cells_of, grain, launch, shared, tiles_of, unrolled
from ..plan.plan import LARGEST_CLUSTER, OWN_WALKS, Plan
from ..program.analysis.atomic import exact
from ..target import WARP
from .alignment import WIDEST, ranks, row_of
from .layouts.gapped_columns import laid
from .task import Notes, Task

THREADS = 256
"""Threads of a CTA: eight warps hide latency, and eight such CTAs fill an SM of 2048 threads."""
CTAS_PER_SM = 4
"""CTAs of THREADS threads per SM a split aims at: all of them resident, and few states to bring together at the end."""
CTAS_OF_RUNS, MANY_IN_FLIGHT = 8, 4
"""The same where a thread walks run by run, and waits for each: all that an SM can hold. Threads of long runs, with so
many accesses in flight, take more registers: of more CTAs than CTAS_PER_SM the last would begin when others end."""
ALL_OF_SM, WORD = 2, 4
"""Times as many CTAs as these, where all threads of an SM are resident; and bytes of a state of one register."""
LONGEST = 64
"""Accesses of a thread beyond which more CTAs share a result: they start in order, so that all SMs read one moving
front of the array, and none is left with a long part at the end."""
UNEVEN, CHOICES = 1.05, 64
"""How much longer than the least the waves of CTAs may take, and how many lengths of a CTA's part are looked at."""
ALONG_KEPT = (
    ("staggered", 1, 32, 3, 256), ("staggered", 1, 0, 4, 256), ("interleaved", 1, 64, 2, 128),
    ("interleaved", 8, 32, 2, 128), ("period", 1, 128, 3, 64), ("period", 1, 0, 4, 128),
)  # fmt: skip
"""(walk, unroll, bytes, CTAs, longest): the two numbers where a thread along the kept axis has so many accesses in
flight, and states of so many bytes, or more: registers leave room for fewer CTAs, and those take longer to meet."""
NARROW, FILLED = 4, 4
"""Bytes of an access, at most, and CTAs an SM from which on results read so have one each: of fewer too little is in
flight."""
TOO_FEW = 4
"""CTAs that, to meet in global memory, take longer than one of them takes to do all."""
WORKSPACE = 1000 << 10
"""Bytes of partial states that a launch may ask for: a stream's MiB, less 16 KiB of tickets and what aligns values."""
CLUSTER_FROM, CLUSTER_TO = 1 << 15, 1 << 18
"""Bytes of a result's elements, at least and at most, for which one cluster is faster than one CTA, and than CTAs that
meet in global memory."""
CLUSTER_WARPS = 16
"""Warps of its CTAs: an SM then reads its share of CLUSTER_TO in one unrolled step."""
AT_THE_END = 1 << 15
"""States of columns side by side that the CTA which comes last may have to read: it does so alone."""
MOST_PARTS = 2**16 - LARGEST_CLUSTER
"""CTAs of a grid along its second dim, at most, of whole clusters."""


def clustered(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` for a cluster a result, where that is faster than one CTA and than CTAs that meet in global memory."""
    g = task.geometry
    nbytes = g.n_reduced * task.itemsize
    plain = ranks(g) == (1, 1) and g.n_kept * LARGEST_CLUSTER <= task.machine
    room = plain and CLUSTER_FROM < nbytes <= CLUSTER_TO
    if not room or not task.target.has_clusters or task.determinism == "portable" or not task.monoid.commutative:
        return plan
    wide = replace(plan, warps=CLUSTER_WARPS, cluster=LARGEST_CLUSTER)
    words = f"a cluster of {LARGEST_CLUSTER} CTAs reads {nbytes} bytes at once and meets in shared memory"
    notes.forget({"warps"})
    notes.because(f"{words}: {wide.threads} threads a CTA", "cluster", "finish", "parts", "lanes", "warps", "unroll")
    return wide


def parts_of(task: Task, plan: Plan, notes: Notes) -> int:
    """CTAs along the reduced axis: enough to fill the machine, each but the last with at least one unrolled step.

    A plan for several results a CTA is one for short rows, which are not shared.
    """
    if plan.cluster > 1:
        return plan.cluster
    task = laid(task, plan)
    g = task.geometry
    row = row_of(task, plan)
    tiles = max(1, tiles_of(plan, g.n_kept, row))
    parts = ctas_of(task, plan)
    if parts == 1 or (plan.warps_kept > 1 and plan.walk != "period"):
        notes.because("one CTA finishes each result: no grid stage", "parts", "finish")
        return 1
    split = launch(replace(plan, finish="last_block"), g.n_kept, shared(plan, g), parts, row).split
    few = f"{tiles} tile(s) of results do not fill {task.machine} SMs"
    notes.because(f"{split} CTAs share each result: {few}", "parts", "coarsening")
    notes.rejected.append(("finish=two_kernels", "a second launch costs more than the last CTA's second round"))
    why = "it is exact here, but needs two more launches" if exact(task.monoid) else "the order of atomics is not fixed"
    notes.rejected.append(("finish=atomic", why))
    return parts


def ctas(plan: Plan, n_kept: int, n_reduced: int, sms: int, state_bytes: int, item: int, row: int = 0) -> int:
    """CTAs along the reduced axis: of a plan that coarsens so many that no thread makes more accesses than it says.

    Others fill a machine of ``sms`` multiprocessors, with partial states of ``state_bytes`` each that fit in WORKSPACE;
    there is one CTA when the results fill it. An element has ``item`` bytes, ``row`` is that of ``tiles_of``.
    """
    if plan.walk in ("padded", "whole"):  # a thread has all elements of its results
        return 1
    if plan.coarsening:
        return coarsened(plan, n_reduced, row)
    step = grain(plan, row or n_kept)[1]
    accesses = -(-n_reduced // step)
    cells = max(1, cells_of(plan, n_kept, row))
    most = min(MOST_PARTS, WORKSPACE // (cells * state_bytes) * plan.cluster)
    most = min(most, AT_THE_END // row) if plan.walk == "period" else most
    tiles = max(1, tiles_of(plan, n_kept, row))
    each, longest = _in_flight(plan, state_bytes)
    resident = sms * each * THREADS // plan.threads
    whole = unrolled(plan, row or n_kept)
    steps = -(-n_reduced // whole)
    wanted = max(resident // tiles, -(-accesses // longest))
    vector_bytes = plan.vector * item
    along = plan.fast == "reduced" and plan.walk == "interleaved"
    if along:
        wanted = _of_rows(
            plan, wanted, tiles, resident, heavy=vector_bytes == WIDEST and item > 1 and state_bytes > WORD
        )
    parts = min(most, wanted, steps if along else n_reduced // whole)
    narrow = plan.fast == "reduced" and plan.walk not in OWN_WALKS and vector_bytes <= NARROW
    if tiles >= (FILLED if narrow else max(2, each // 2)) * sms or tiles * parts <= TOO_FEW:
        return 1
    if plan.fast == "reduced":  # how many of these are resident is up to the assembler
        return max(1, parts)
    return _even(max(1, parts), most, tiles, steps, resident)


def _of_rows(plan: Plan, wanted: int, tiles: int, resident: int, *, heavy: bool) -> int:
    """``wanted`` CTAs a row, or some more or fewer, where more than ``resident`` in all: few waves must be full ones.

    All threads of an SM are resident in CTAs of more than THREADS, which are for light states. Of ``heavy`` ones how
    many are is up to the assembler: only ``resident``, or so many that the last wave does not matter.
    """
    if plan.threads > THREADS:
        full = ALL_OF_SM * resident
        return -(-wanted * tiles // full) * full // tiles if wanted * tiles > full else wanted
    if not heavy or wanted * tiles <= resident:
        return wanted
    return resident // tiles if wanted * tiles <= 2 * resident else 2 * wanted


def coarsened(plan: Plan, n_reduced: int, row: int = 0) -> int:
    """CTAs along the reduced axis of a plan that coarsens, on any machine and for any state."""
    accesses = -(-n_reduced // grain(plan, row)[1])
    return max(1, min(MOST_PARTS, -(-accesses // plan.coarsening)))


def _in_flight(plan: Plan, state_bytes: int) -> tuple[int, int]:
    """CTAs of THREADS threads an SM, and accesses of a thread, or runs, before more CTAs share a result."""
    if plan.walk == "runs":
        return CTAS_PER_SM if plan.lanes == WARP and plan.unroll >= MANY_IN_FLIGHT else CTAS_OF_RUNS, LONGEST
    if plan.fast != "kept":
        return CTAS_PER_SM, LONGEST
    nbytes = plan.vector * state_bytes
    for walk, unroll, least, each, longest in ALONG_KEPT:
        if plan.walk == walk and plan.unroll >= unroll and nbytes >= least:
            return each, longest
    return CTAS_PER_SM, LONGEST


def _even(parts: int, most: int, tiles: int, steps: int, resident: int) -> int:
    """``parts``, or some more or fewer, so that none of the waves in which CTAs run is nearly empty.

    A result has so many unrolled ``steps``, and so many CTAs are ``resident`` at a time.
    """
    wanted = -(-steps // parts)

    def load(chunk: int) -> int:
        return -(-tiles * -(-steps // chunk) // resident) * chunk

    lengths: list[int] = [wanted, *range(max(1, wanted // 2), wanted + wanted // 4 + 1, max(1, wanted // CHOICES))]
    choices = [c for c in lengths if -(-steps // c) <= most] or [wanted]
    least = min(map(load, choices))
    even = [c for c in choices if load(c) <= UNEVEN * least]
    chunk = min(even, key=lambda c: abs(c - wanted))
    return -(-steps // chunk)


def ctas_of(task: Task, plan: Plan) -> int:
    """The same for ``task``."""
    task = laid(task, plan)
    g = task.geometry
    return ctas(plan, g.n_kept, shared(plan, g), task.machine, task.state_bytes, task.itemsize, row_of(task, plan))
