"""Narrow columns: several rows, the *period* of the walk, are read as one.

Rows of n columns without gaps, m at a time, are a run of m * n elements. Where that fills whole accesses, all threads
of a CTA lie side by side along it, and what a thread reads m rows later belongs to the same columns. So a thread keeps
a state for each element of its access, and computes no column before the end: then thread c combines the states of
column c.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.checks import settled
from ...plan.launch import period_rows
from ...plan.plan import STATIC_SHARED, Plan
from ...plan.shared_memory import shared_bytes
from ...target import WARP
from .. import sittings
from ..alignment import HALF, WIDEST
from ..limits import CTA_THREADS, UNROLL
from ..powers_of_two import floor2
from ..table import Sitting, threshold
from ..task import Notes, Task
from .gapped_columns import as_read, widened

COLUMNS = threshold(256, "columns", sittings.SHORT_PAIRS)
"""CTAs own all columns, at most these: more threads than that do not pay off."""
COLUMNS_OF_WORDS = threshold(340, "columns", sittings.SHORT_PAIRS)
"""Replaces COLUMNS for bytes that are added or compared: of staggered warps many lanes would own no column."""
COLUMNS_WITH_GAPS = threshold(
    {1: COLUMNS, 2: 120, 4: 128, 8: 128}, "columns, by bytes of an element", sittings.BESIDE_PERIODS
)
"""Replaces COLUMNS for rows with gaps between them: wider ones are as fast by staggered warps."""
MIDDLE_WARPS = threshold(16, "warps of a CTA", sittings.HEAVY_COLUMNS)
"""A CTA has these: the more columns, the more states its threads leave, and a few large CTAs are better."""
LARGEST_WARPS = threshold(32, "warps of a CTA", sittings.SHORT_PAIRS)
"""A CTA has these beyond COLUMNS."""
BYTE_COLUMNS = threshold(32, "columns", sittings.HEAVY_COLUMNS)
"""Up to here a CTA has WARPS_OF_BYTES for bytes that are neither combined by the word nor numbered."""
WARPS_OF_BYTES = threshold(8, "warps of a CTA", sittings.HEAVY_COLUMNS)
"""A CTA has these for few columns of bytes, and where there are too few periods for more."""
FEWEST_WARPS = threshold(2, "warps of a CTA", sittings.PERIODS)
"""A CTA has these where there are too few periods for eight; no number between, so that kernels are few."""
ARRAY_BYTES = threshold(1 << 20, "bytes of an array", Sitting("2026-11-22", "2f5af35"))
"""From here on periods pay: a smaller array is read in a few accesses a thread, whichever they are."""
ACCESSES = threshold(
    {1: 64, 2: 32, 4: 32, 8: 32}, "accesses of a thread, by bytes of an element", Sitting("2026-11-22", "4df7cba")
)
"""Threads make at least these where each tile of columns has rows of its own: while some CTAs begin or meet, others
read."""
PERIODS_OF_CTA = threshold(4, "periods", sittings.PERIODS)
"""A CTA has at least these; it gets fewer warps where the rows of a result are too few."""
SECTOR_ROW_BYTES = threshold(64, "bytes of a row", sittings.SIXTY_THOUSAND)
"""From here on a middle axis of SECTOR_ITEM elements is as fast by single elements."""
SECTOR_ITEM = threshold(8, "bytes of an element", sittings.SIXTY_THOUSAND)
"""From here on single elements along a middle axis fill sectors."""
MIDDLE_BYTE_COLUMNS = threshold(128, "columns", sittings.SIXTY_THOUSAND)
"""Up to here lanes along bytes of a middle axis would touch too many rows, if there are MIDDLE_BYTE_ROWS."""
MIDDLE_BYTE_ROWS = threshold(256, "rows of a middle axis", sittings.SIXTY_THOUSAND)
"""Beyond, lanes along few columns of bytes would touch too many of these rows."""
MIDDLE_BYTES = threshold(1 << 18, "bytes of the middle axis of one outer index", sittings.SIXTY_THOUSAND)
"""Up to here, MIDDLE_BYTE_COLUMNS holds."""
STATE_REGISTERS = threshold(16, "registers", sittings.SIXTY_THOUSAND)
"""A thread of the ordinary walk along the columns has states of at most these: whole accesses hold as many columns."""
VALUE_REGISTERS = threshold(64, "registers", Sitting("2026-11-22", "3c14c5c"))
"""Values in flight take at most these where a thread has twice as many accesses in flight as in other plans."""
LINE_BYTES = threshold(128, "bytes of a row", sittings.BATCH_NORM)
"""Rows of several whole lines are read by whole accesses, however many registers their states take."""
FULL = threshold(3 / 4, "part of the lanes", Sitting("2026-11-22", "a541b40"))
"""With at least this part busy, the ordinary walk by whole accesses is as fast."""
NEEDS = "rows with no gaps, or narrow ones, no more columns than threads, whole accesses in a period"
"""What a layout must be, in the words of an error."""
RAISE = "warps_kept"
"""The extent that makes more layouts so."""


def serves(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` can walk by periods: each row begins where the one before ends, at one offset in all inputs.

    The kernel works for any offset from a boundary of accesses; the bits of a result depend on it.
    """
    task = as_read(task, plan)
    g = task.geometry
    if len(g.reduced) != 1 or not g.kept or not g.columns or max(task.ranks) > 3 or task.is_portable:
        return False
    inputs, inner = range(len(task.program.inputs)), g.kept[-1]
    narrow = inner.size <= plan.threads and period_rows(plan, inner.size) > 0 and plan.vector * task.itemsize <= WIDEST
    dense = all((inner.strides[i], g.reduced[0].strides[i]) == (1, inner.size) for i in inputs)
    return narrow and dense and _has_one_offset(task, plan.vector)


def _has_one_offset(task: Task, vector: int) -> bool:
    """Whether all inputs begin as many elements past a boundary of ``vector`` elements."""
    offsets = set()
    for i, t in enumerate(task.program.inputs):
        start = task.start(i)
        if start % t.itemsize:
            return False
        offsets.add(start // t.itemsize % vector)
    same = all(len({d.strides[i] for i in range(len(task.program.inputs))}) == 1 for d in task.geometry.kept[:-1])
    return len(offsets) <= 1 and same


def periodic(task: Task, wide: Plan, plan: Plan, notes: Notes) -> Plan:
    """A plan that walks by periods with the accesses of ``wide``, where that is faster than ``plan``."""
    wider = widened(task)
    if wider is not None and wider.geometry.columns > COLUMNS_WITH_GAPS[task.itemsize]:
        return plan
    if not pays(task, wide, plan):
        return plan
    task = wider or task
    found = _found(task, wide)
    if not _fits(task, found) or not serves(task, found):
        return plan
    columns = task.geometry.columns
    words = f"{period_rows(found, columns)} rows of {columns} columns are a period of {found.threads} threads"
    notes.forget({"fast", "vector", "lanes", "warps", "unroll"})
    notes.because(
        f"{words}: each reads {found.vector} element(s) an access, of the same columns throughout", "walk", "vector"
    )
    notes.rejected.append(("walk=interleaved", "lanes along so few columns would read in pieces, or nothing"))
    return found


def pays(task: Task, wide: Plan, plan: Plan) -> bool:
    """Whether columns are so narrow, and the array so large, that periods are faster than ``plan``.

    Gaps count as columns, but for the lanes of ``plan``, which does not read them.
    """
    g, several = (widened(task) or task).geometry, len(task.geometry.kept) > 1
    alone = several and plan.vector > 1 and plan.warps < CTA_THREADS // WARP
    large = g.n_kept * g.n_reduced * task.itemsize >= ARRAY_BYTES and (task.is_large or not several)
    words = task.combines_words and not task.joins_truths and not several
    narrow = g.columns <= (COLUMNS_OF_WORDS if words else COLUMNS)
    return not alone and wide.vector > 1 and large and task.monoid.commutative and narrow and not _is_full(task, plan)


def _found(task: Task, wide: Plan) -> Plan:
    """The plan by periods with the accesses of ``wide``, of as many warps as there are periods for."""
    columns = task.geometry.columns
    warps = WARPS_OF_BYTES if task.itemsize == 1 and columns <= BYTE_COLUMNS else MIDDLE_WARPS
    vector, unroll = wide.vector, wide.unroll * _more(task, wide)
    if len(task.geometry.kept) > 1:
        vector = vector // 2 if task.itemsize == 1 else vector
        warps = _warps_of_tile(task, vector, warps)
    elif task.combines_words or task.is_keyed("kept"):
        vector, unroll = min(vector, HALF // task.itemsize), UNROLL
        warps = LARGEST_WARPS if columns > COLUMNS else MIDDLE_WARPS
    found = settled(replace(wide, walk="period", vector=vector, warps_kept=warps, unroll=unroll))
    while found.warps_kept > FEWEST_WARPS and not _fits(task, found):
        fewer = WARPS_OF_BYTES if found.warps_kept > WARPS_OF_BYTES else FEWEST_WARPS
        found = replace(found, warps_kept=fewer)
    return found


def _warps_of_tile(task: Task, vector: int, most: int) -> int:
    """Warps of a CTA whose rows are not shared with others: as many as leave each thread ACCESSES."""
    g = task.geometry
    threads = g.n_reduced * g.columns // (vector * ACCESSES[task.itemsize])
    return max(FEWEST_WARPS, min(most, floor2(threads // WARP)))


def _more(task: Task, wide: Plan) -> int:
    """The factor for the accesses in flight of ``wide``: 2 in large CTAs whose registers hold the values, else 1.

    Bytes, and states of several values, have enough in flight as it is.
    """
    large_ctas = task.geometry.columns > BYTE_COLUMNS or task.itemsize == 8
    held = 2 * wide.unroll * wide.vector * task.state_registers <= VALUE_REGISTERS
    return 2 if large_ctas and held and task.itemsize > 1 and len(task.monoid.state) == 1 else 1


def _is_full(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` reads rows of whole accesses by most of its lanes, if need be an element a lane.

    Lanes go on in the next row where several kept dims follow each other: there sectors must be full.
    """
    g, item = task.geometry, task.itemsize
    columns, lanes = g.columns, plan.lanes_kept
    whole = columns % min(WIDEST // item, max(1, STATE_REGISTERS // task.state_registers)) == 0
    whole = whole or (item > 1 and columns * item % LINE_BYTES == 0 and columns * item > LINE_BYTES)
    if len(g.kept) > 1:
        spread = columns <= MIDDLE_BYTE_COLUMNS and MIDDLE_BYTE_ROWS < g.n_reduced <= MIDDLE_BYTES // columns
        wide = plan.vector * item >= WIDEST and (item > 1 or not spread)
        return (whole and wide) or (columns * item >= SECTOR_ROW_BYTES and item >= SECTOR_ITEM)
    accesses = -(-columns // plan.vector)
    return whole and accesses / (-(-accesses // lanes) * lanes) >= FULL


def _fits(task: Task, plan: Plan) -> bool:
    """Whether there are enough periods for the threads of a CTA, and shared memory for their states."""
    enough = task.geometry.n_reduced >= PERIODS_OF_CTA * period_rows(plan, task.geometry.columns)
    return enough and shared_bytes(replace(plan, finish="last_block"), task.state_bytes) <= STATIC_SHARED
