"""How many CTAs share a result: those of a cluster, or those that fill the machine and meet in global memory."""

from __future__ import annotations

from dataclasses import replace

from ..plan.fields import OWN_WALKS
from ..plan.launch import cells_of, grain, launch, shared, tiles_of, unrolled
from ..plan.plan import Plan
from ..program.analysis.atomic import exact
from ..target import PORTABLE_CLUSTER, WARP
from . import sittings
from .alignment import WIDEST
from .layouts.gapped_columns import as_read
from .limits import CTA_THREADS
from .stores import row_of
from .table import Sitting, threshold
from .task import Notes, Task

CTAS_PER_SM = threshold(4, "CTAs of 256 threads per SM", sittings.CLEAN_FLUSH)
"""CTAs that share results aim at these: all are resident, and few states are to be combined at the end."""
CTAS_PER_SM_OF_RUNS = threshold(8, "CTAs of 256 threads per SM", sittings.SEVERAL_DIMS)
"""Replaces CTAS_PER_SM where threads walk run by run, and wait for each: all that an SM can hold."""
MANY_IN_FLIGHT_OF_RUNS = threshold(4, "accesses in flight", sittings.GAPS)
"""From here on warps along long runs aim at CTAS_PER_SM: threads take more registers, and more CTAs would not be
resident."""
ALL_RESIDENT = threshold(2, "times CTAS_PER_SM", sittings.SIXTEEN_WARPS)
"""Aimed at by CTAs of more than 256 threads, of which all threads of an SM are resident."""
WORD_STATE_BYTES = threshold(4, "bytes of a state", sittings.SIXTEEN_WARPS)
"""Beyond, states of rows that are read by whole accesses are heavy: the assembler decides how many CTAs are
resident."""
LONGEST_WALK = threshold(64, "accesses of a thread", sittings.PLAIN_READS)
"""Beyond, more CTAs share a result: they start in order, so that all SMs read one moving front of the array."""
LONGEST_WALK_OF_WIDE = threshold(128, "accesses of a thread", sittings.BY_HAND)
"""Replaces LONGEST_WALK along columns for CTAs of more than 256 threads: so many states meet that fewer are better."""
LONGEST_WALK_WITH_BITS = threshold(4, "accesses of a thread", sittings.SUMS_UNDER_BITS)
"""Replaces LONGEST_WALK for CTAs of more than 256 threads that read bits, where these are WAVES_WITH_BITS: masks take
registers, so that fewer CTAs are resident, and the last of few waves would be nearly empty. Long combines and states of
several values keep LONGEST_WALK: threads of a CTA join theirs in nine steps, which so few accesses do not hide."""
WAVES_WITH_BITS = threshold(8, "times CTAS_PER_SM", sittings.SUMS_UNDER_BITS)
"""From here on CTAs that read bits are so many that their last wave does not matter."""
EVEN_WAVES = threshold(1.05, "times the least time", sittings.WAVES)
"""Waves of CTAs may take this long, so that the number of CTAs stays near the one that was wanted."""
PART_LENGTHS = threshold(64, "lengths", sittings.WAVES)
"""About as many lengths of a CTA's part are compared for even waves."""
NARROW_ACCESS_BYTES = threshold(4, "bytes of an access", sittings.GRID_BORDERS)
"""Up to here accesses along rows are narrow, and too little is in flight."""
CTAS_PER_SM_OF_NARROW = threshold(4, "CTAs per SM", sittings.GRID_BORDERS)
"""From here on rows that are read by narrow accesses have a CTA each."""
FEWEST_CTAS = threshold(4, "CTAs", sittings.CLEAN_FLUSH)
"""Up to here CTAs take longer to meet in global memory than one of them takes to do all."""
WORKSPACE = threshold(1000 << 10, "bytes", Sitting("2026-11-22", "82b0bc4"))
"""Partial states of a launch take at most these: a stream's MiB, less 16 KiB of tickets and padding."""
CLUSTER_BYTES_FROM = threshold(1 << 15, "bytes of a result's elements", sittings.CLEAN_FLUSH)
"""Beyond, one cluster is faster than one CTA."""
CLUSTER_BYTES_TO = threshold(1 << 18, "bytes of a result's elements", sittings.CLEAN_FLUSH)
"""Up to here one cluster is faster than CTAs that meet in global memory."""
CLUSTER_WARPS = threshold(16, "warps of a CTA", sittings.CLEAN_FLUSH)
"""A CTA of a cluster has these: an SM then reads its share of CLUSTER_BYTES_TO in one unrolled step."""
LAST_CTA_STATES = threshold(1 << 15, "states", sittings.PERIODS)
"""The last CTA of a walk by periods reads at most these alone."""
MOST_PARTS = 2**16 - PORTABLE_CLUSTER
"""The most CTAs of a grid along its second dim, in whole clusters."""
RESIDENT_OF_COLUMNS = threshold(
    (
        ("staggered", 1, 32, 3, 256),
        ("staggered", 1, 0, 4, 256),
        ("interleaved", 1, 64, 2, 128),
        ("interleaved", 8, 32, 2, 128),
        ("period", 1, 128, 3, 64),
        ("period", 1, 0, 4, 128),
    ),
    "(walk, accesses in flight, bytes of states, CTAs per SM, accesses of a thread)",
    sittings.HEAVY_COLUMNS,
)
"""Replaces CTAS_PER_SM and LONGEST_WALK along columns of at least these accesses and bytes: registers leave room for
fewer CTAs, which take longer to meet."""


def _most_parts(plan: Plan) -> int:
    """The most CTAs along the second dim of a grid: whole clusters, of a plan that may have larger ones than others."""
    return min(MOST_PARTS, 2**16 - plan.cluster)


def clustered(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` for a cluster a result, where that is faster than one CTA and than CTAs that meet in global memory."""
    g = task.geometry
    nbytes = g.n_reduced * task.itemsize
    plain = task.ranks == (1, 1) and g.n_kept * PORTABLE_CLUSTER <= task.machine
    room = plain and CLUSTER_BYTES_FROM < nbytes <= CLUSTER_BYTES_TO
    if not room or not task.target.has_clusters or task.is_portable:
        return plan
    wide = replace(plan, warps=CLUSTER_WARPS, cluster=PORTABLE_CLUSTER)
    words = f"a cluster of {PORTABLE_CLUSTER} CTAs reads {nbytes} bytes at once and meets in shared memory"
    notes.forget({"warps"})
    notes.because(f"{words}: {wide.threads} threads a CTA", "cluster", "finish", "parts", "lanes", "warps", "unroll")
    return wide


def parts_of(task: Task, plan: Plan, notes: Notes) -> int:
    """CTAs along the reduced axis: enough to fill the machine, each but the last with at least one unrolled step.

    A plan with several results a CTA is one for short rows, which are not shared.
    """
    if plan.cluster > 1:
        return plan.cluster
    task = as_read(task, plan)
    g = task.geometry
    row = row_of(task, plan)
    tiles = max(1, tiles_of(plan, g.n_kept, row))
    parts = _ctas(task, plan, row)
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


def ctas_of(task: Task, plan: Plan) -> int:
    """CTAs along the reduced axis of ``plan`` for ``task``."""
    task = as_read(task, plan)
    return _ctas(task, plan, row_of(task, plan))


def _ctas(task: Task, plan: Plan, row: int) -> int:
    g = task.geometry
    sizes = g.n_kept, shared(plan, g), task.machine, task.state_bytes, task.itemsize, row
    bits = task.reads_bits and task.has_simple_state and not task.has_long_combine
    return ctas(plan, *sizes, bits=bits)


def ctas(
    plan: Plan, n_kept: int, n_reduced: int, sms: int, state_bytes: int, item: int, row: int = 0, *, bits: bool = False
) -> int:
    """CTAs along the reduced axis: as many as fill the machine, or one where the results fill it.

    A plan that coarsens has so many that no thread makes more accesses than it says.

    Args:
        plan: how the elements are walked.
        n_kept: results.
        n_reduced: elements of each.
        sms: multiprocessors of the machine.
        state_bytes: bytes of a state, of which the partial ones fit in WORKSPACE.
        item: bytes of an element.
        row: results of a row, as ``tiles_of`` takes them; 0 for all.
        bits: whether an input is one of bits, and states of one value are joined by few instructions.
    """
    if plan.walk in ("padded", "whole"):  # a thread has all elements of its results
        return 1
    if plan.coarsening:
        return coarsened(plan, n_reduced, row)
    step = grain(plan, row or n_kept)
    accesses = -(-n_reduced // step)
    cells = max(1, cells_of(plan, n_kept, row))
    most = min(_most_parts(plan), WORKSPACE // (cells * state_bytes) * plan.cluster)
    most = min(most, LAST_CTA_STATES // row) if plan.walk == "period" else most
    tiles = max(1, tiles_of(plan, n_kept, row))
    each, longest = _per_sm(plan, state_bytes)
    resident = sms * each * CTA_THREADS // plan.threads
    whole = unrolled(plan, row or n_kept)
    steps = -(-n_reduced // whole)
    vector_bytes = plan.vector * item
    interleaved = plan.fast == "reduced" and (plan.walk == "interleaved" or plan.meets_in_steps)
    many = -(-accesses // LONGEST_WALK_WITH_BITS)
    if interleaved and bits and plan.threads > CTA_THREADS and many * tiles >= WAVES_WITH_BITS * resident:
        longest = LONGEST_WALK_WITH_BITS
    wanted = max(resident // tiles, -(-accesses // longest))
    if interleaved:
        heavy = vector_bytes == WIDEST and item > 1 and state_bytes > WORD_STATE_BYTES
        wanted = _in_full_waves(plan, wanted, tiles, resident, heavy=heavy)
    parts = min(most, wanted, steps if interleaved else n_reduced // whole)
    narrow = plan.fast == "reduced" and plan.walk not in OWN_WALKS and vector_bytes <= NARROW_ACCESS_BYTES
    if tiles >= (CTAS_PER_SM_OF_NARROW if narrow else max(2, each // 2)) * sms or tiles * parts <= FEWEST_CTAS:
        return 1
    if plan.fast == "reduced":  # the assembler decides how many of these are resident
        return max(1, parts)
    return _even(max(1, parts), most, tiles, steps, resident)


def _in_full_waves(plan: Plan, wanted: int, tiles: int, resident: int, *, heavy: bool) -> int:
    """``wanted`` CTAs a row, or some more or fewer, where more than ``resident`` in all: few waves must be full ones.

    All threads of an SM are resident in CTAs of more than 256 threads, which are for light states. The assembler
    decides how many of ``heavy`` states are: they get ``resident`` CTAs, or so many that the last wave does not matter.
    """
    if plan.threads > CTA_THREADS:
        full = ALL_RESIDENT * resident
        return -(-wanted * tiles // full) * full // tiles if wanted * tiles > full else wanted
    if not heavy or wanted * tiles <= resident:
        return wanted
    return resident // tiles if wanted * tiles <= 2 * resident else 2 * wanted


def coarsened(plan: Plan, n_reduced: int, row: int = 0) -> int:
    """CTAs along the reduced axis of a plan that coarsens, on any machine and for any state."""
    accesses = -(-n_reduced // grain(plan, row))
    return max(1, min(_most_parts(plan), -(-accesses // plan.coarsening)))


def _per_sm(plan: Plan, state_bytes: int) -> tuple[int, int]:
    """CTAs of 256 threads per SM, and accesses of a thread, or runs, beyond which more CTAs share a result."""
    if plan.walk == "runs":
        long = plan.lanes == WARP and plan.unroll >= MANY_IN_FLIGHT_OF_RUNS
        return CTAS_PER_SM if long else CTAS_PER_SM_OF_RUNS, LONGEST_WALK
    if plan.fast != "kept":
        return CTAS_PER_SM, LONGEST_WALK
    nbytes = plan.vector * state_bytes
    for walk, unroll, least, each, longest in RESIDENT_OF_COLUMNS:
        if plan.walk == walk and plan.unroll >= unroll and nbytes >= least:
            return each, longest
    wide = plan.walk == "interleaved" and plan.threads > CTA_THREADS
    return CTAS_PER_SM, LONGEST_WALK_OF_WIDE if wide else LONGEST_WALK


def _even(parts: int, most: int, tiles: int, steps: int, resident: int) -> int:
    """``parts``, or some more or fewer, so that none of the waves in which CTAs run is nearly empty.

    A result has ``steps`` unrolled steps, and ``resident`` CTAs run at a time.
    """
    wanted = -(-steps // parts)

    def load(chunk: int) -> int:
        return -(-tiles * -(-steps // chunk) // resident) * chunk

    spacing = max(1, wanted // PART_LENGTHS)
    lengths: list[int] = [wanted, *range(max(1, wanted // 2), wanted + wanted // 4 + 1, spacing)]
    choices = [c for c in lengths if -(-steps // c) <= most] or [wanted]
    least = min(map(load, choices))
    even = [c for c in choices if load(c) <= EVEN_WAVES * least]
    chunk = min(even, key=lambda c: abs(c - wanted))
    return -(-steps // chunk)
