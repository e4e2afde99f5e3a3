"""Narrow columns: rows so short that several of them are read as one, the period of a plan that walks so.

Rows of n columns without gaps, m at a time, are a run of m * n elements. Where that fills whole accesses, all threads
of a CTA lie side by side along it, and what a thread reads m rows on is of the same columns. So it keeps a state for
each element of its access, and needs to know of no column before the end: then thread c takes those of column c.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.launch import period_rows
from ...plan.plan import STATIC_SHARED, Plan, settled
from ...target import WARP
from ..alignment import WIDEST, large, ranks
from ..limits import UNROLL, floor2, in_words, joins_truths, keyed
from ..split import THREADS
from ..task import Notes, Task
from .gapped_columns import laid, widened

COLUMNS, OF_WORDS, LARGEST = 256, 340, 32
"""Columns at most: CTAs own all of them, and have no more threads than pay off for wider rows. Bytes that are added or
compared are better off so up to OF_WORDS columns, in CTAs of LARGEST warps: of staggered ones many lanes own none."""
GAPPED = {1: COLUMNS, 2: 200, 4: 48, 8: 48}
"""The same of rows with gaps between them, by the bytes of an element: wider ones are as fast by staggered warps."""
FEW, WARPS_OF_FEW, WARPS = 32, 8, 16
"""Columns of bytes up to which a CTA has fewer warps, but where these are taken up by the word or numbered. The more
columns there are, the more states the CTAs bring to the last one: then few large CTAs are better."""
HALF = 8
"""Bytes of an access to bytes that are taken up by the word, UNROLL of them in flight, and to numbered elements."""
LEAST = 1 << 20
"""Bytes of an array at least: a smaller one is read in a few accesses a thread, whichever they are. Wide states, of
which an access has one, gain nothing either."""
EACH_OF_BYTES, EACH = 64, 32
"""Accesses of a thread at least, of elements of a byte and of wider ones, where there are several tiles of columns,
each of which has its rows to itself: while some CTAs begin or meet, others read."""
STEPS = 4
"""Periods that a CTA must have at least; it gets fewer warps where the rows of a result are too few for so many."""
FEWEST = 2
"""Warps of a CTA at least. Where there are too few periods for many, it gets 8 or these, so that kernels are few."""
SECTORS, WORD = 64, 8
"""Bytes of a row, and of its elements, from which on a middle axis is as fast by single elements."""
BYTES, SHORT, LONG = 128, 256, 1 << 18
"""Columns of bytes of a middle axis up to which lanes along them would lie in too many of its rows, if there are more
than so many of these, and no more bytes in all."""
STATES = 16
"""Registers of states that a thread along the columns has at most: so many columns make a whole access."""
VALUES = 64
"""Registers of values in flight at most, where there are twice as many of them as for other plans."""
WANTED, RAISE = (
    "rows with no gaps, or narrow ones, no more columns than threads, whole accesses in a period",
    "warps_kept",
)
"""What a layout must be, in words, and the extent that makes more layouts so."""
FULL = 3 / 4
"""Part of its lanes that have something to read in a plan of whole accesses: with as many it is as fast."""


def serves(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` can walk by periods: each row begins where the one before ends, in all inputs at one place.

    Which place that is in an access does not matter to the kernel; the bits of a result know it.
    """
    task = laid(task, plan)
    g = task.geometry
    if len(g.reduced) != 1 or not g.kept or not g.columns or max(ranks(g)) > 3 or task.determinism == "portable":
        return False
    inputs, inner = range(len(task.program.inputs)), g.kept[-1]
    narrow = inner.size <= plan.threads and period_rows(plan, inner.size) > 0 and plan.vector * task.itemsize <= WIDEST
    side_by_side = all((inner.strides[i], g.reduced[0].strides[i]) == (1, inner.size) for i in inputs)
    return narrow and side_by_side and _one_place(task, plan.vector)


def _one_place(task: Task, vector: int) -> bool:
    """Whether all inputs begin as many elements past a boundary of ``vector`` elements."""
    g, places = task.geometry, set()
    for i, t in enumerate(task.program.inputs):
        start = task.addresses[i] + g.offsets[i] * t.itemsize
        if start % t.itemsize:
            return False
        places.add(start // t.itemsize % vector)
    same = all(len({d.strides[i] for i in range(len(task.program.inputs))}) == 1 for d in g.kept[:-1])
    return len(places) <= 1 and same


def periodic(task: Task, wide: Plan, plan: Plan, notes: Notes) -> Plan:
    """A plan that walks by periods with the accesses of ``wide``, where that is faster than ``plan``."""
    wider = widened(task)
    if wider is not None and wider.geometry.columns > GAPPED[task.itemsize]:
        return plan
    task = wider or task
    g = task.geometry
    alone = plan.vector > 1 and plan.warps < THREADS // WARP and len(g.kept) > 1
    small = (
        alone
        or wide.vector == 1
        or g.n_kept * g.n_reduced * task.itemsize < LEAST
        or (len(g.kept) > 1 and not large(g))
    )
    if small or not task.monoid.commutative or g.columns > _most_columns(task) or _is_full(task, plan):
        return plan
    warps = WARPS_OF_FEW if task.itemsize == 1 and g.columns <= FEW else WARPS
    vector, unroll = wide.vector, wide.unroll * _more(task, wide)
    if len(g.kept) > 1:
        vector = vector // 2 if task.itemsize == 1 else vector
        warps = _of_many_tiles(task, vector, warps)
    elif in_words(task) or keyed(task, "kept"):
        vector, unroll, warps = min(vector, HALF // task.itemsize), UNROLL, LARGEST if g.columns > COLUMNS else WARPS
    found = replace(wide, walk="period", vector=vector, warps_kept=warps, unroll=unroll)
    found = settled(found)
    while found.warps_kept > FEWEST and not _fits(task, found):
        found = replace(found, warps_kept=8 if found.warps_kept > 8 else FEWEST)
    if not _fits(task, found) or not serves(task, found):
        return plan
    rows = period_rows(found, g.columns)
    words = f"{rows} rows of {g.columns} columns are a period of {found.threads} threads"
    notes.forget({"fast", "vector", "lanes", "warps", "unroll"})
    notes.because(
        f"{words}: each reads {found.vector} element(s) an access, of the same columns throughout", "walk", "vector"
    )
    notes.rejected.append(("walk=interleaved", "lanes along so few columns would read in pieces, or nothing"))
    return found


def _most_columns(task: Task) -> int:
    """Columns at most; of several tiles of them, and of all but bytes that are added or compared, COLUMNS."""
    words = in_words(task) and not joins_truths(task) and len(task.geometry.kept) == 1
    return OF_WORDS if words else COLUMNS


def _of_many_tiles(task: Task, vector: int, most: int) -> int:
    """Warps of a CTA whose rows are not shared with others: as many as make enough accesses each."""
    g = task.geometry
    threads = g.n_reduced * g.columns // (vector * (EACH_OF_BYTES if task.itemsize == 1 else EACH))
    return max(FEWEST, min(most, floor2(threads // WARP)))


def _more(task: Task, wide: Plan) -> int:
    """How many times the accesses of ``wide`` are in flight: of large CTAs twice, if registers hold their values.

    Bytes, and states of several values, have enough in flight as it is.
    """
    large_ctas = task.geometry.columns > FEW or task.itemsize == 8
    held = 2 * wide.unroll * wide.vector * task.state_registers <= VALUES
    return 2 if large_ctas and held and task.itemsize > 1 and len(task.monoid.state) == 1 else 1


def _is_full(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` reads rows of whole accesses by most of its lanes, if need be an element a lane.

    Lanes go on in the next row where several kept dims follow each other: there sectors must be full.
    """
    g, item = task.geometry, task.itemsize
    columns, lanes = g.columns, plan.lanes_kept
    whole = columns % min(WIDEST // item, max(1, STATES // task.state_registers)) == 0
    if len(g.kept) > 1:
        long = item > 1 or columns > BYTES or not SHORT < g.n_reduced <= LONG // columns
        return (whole and plan.vector * item >= WIDEST and long) or (columns * item >= SECTORS and item >= WORD)
    accesses = -(-columns // plan.vector)
    return whole and accesses / (-(-accesses // lanes) * lanes) >= FULL


def _fits(task: Task, plan: Plan) -> bool:
    """Whether there are enough periods for the threads of a CTA, and shared memory for their states."""
    enough = task.geometry.n_reduced >= STEPS * period_rows(plan, task.geometry.columns)
    return enough and replace(plan, finish="last_block").shared_bytes(task.state_bytes) <= STATIC_SHARED
