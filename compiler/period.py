"""Narrow columns: rows so short that several of them are read as one, the period of a plan that walks so.

Rows of n columns without gaps, m at a time, are a run of m * n elements. Where that fills whole accesses, all threads
of a CTA lie side by side along it, and what a thread reads m rows on is of the same columns. So it keeps a state for
each element of its access, and needs to know of no column before the end: then thread c takes those of column c.
"""

from __future__ import annotations

from dataclasses import replace

from .access import WIDEST, large, ranks
from .ownership import period_rows
from .plan import STATIC_SHARED, Plan, settled
from .task import Notes, Task

COLUMNS = 256
"""Columns at most: CTAs own all of them, and have no more threads than pay off for wider rows."""
WARPS = ((32, 8), (COLUMNS, 16))
"""(columns, warps): a CTA of rows of up to so many columns gets so many warps. The more columns there are, the more
states the CTAs bring to the last one: then few large CTAs are better."""
LEAST = 1 << 20
"""Bytes of an array at least: a smaller one is read in a few accesses a thread, whichever they are. Wide states, of
which an access has one, gain nothing either."""
STEPS = 4
"""Periods that a CTA must have at least; it gets fewer warps where the rows of a result are too few for so many."""
FEWEST = 2
"""Warps of a CTA at least; in between there are 8, so that there are few kernels."""
SECTORS, WORD = 64, 4
"""Bytes of a row, and of its elements, from which on a middle axis is as fast by single elements."""
VALUES = 64
"""Registers of values in flight at most, where there are twice as many of them as for other plans."""
WANTED, RAISE = "rows without gaps, no more columns than threads, whole accesses in a period", "warps_kept"
"""What a layout must be, in words, and the extent that makes more layouts so."""
FULL = 3 / 4
"""Part of its lanes that have something to read in a plan of whole accesses: with as many it is as fast."""


def serves(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` can walk by periods: each row begins where the one before ends, in all inputs at one place.

    Which place that is in an access does not matter to the kernel; the bits of a result know it.
    """
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
    g = task.geometry
    small = wide.vector == 1 or g.n_kept * g.n_reduced * task.itemsize < LEAST or (len(g.kept) > 1 and not large(g))
    if small or not task.monoid.commutative or g.columns > COLUMNS or _is_full(task, plan):
        return plan
    warps = next(warps for most, warps in WARPS if g.columns <= most)
    found = settled(replace(wide, walk="period", warps_kept=warps, unroll=wide.unroll * _more(task, wide)))
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


def _more(task: Task, wide: Plan) -> int:
    """How many times the accesses of ``wide`` are in flight: of large CTAs twice, if registers hold their values.

    Bytes, and states of several values, have enough in flight as it is.
    """
    large_ctas = task.geometry.columns > WARPS[0][0]
    held = 2 * wide.unroll * wide.vector * task.state_registers <= VALUES
    return 2 if large_ctas and held and task.itemsize > 1 and len(task.monoid.state) == 1 else 1


def _is_full(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` reads rows of whole accesses by most of its lanes, if need be an element a lane.

    Lanes go on in the next row where several kept dims follow each other: there sectors must be full.
    """
    g, item = task.geometry, task.itemsize
    columns, lanes = g.columns, plan.lanes_kept
    whole = columns % (plan.vector if plan.vector > 1 else WIDEST // item) == 0
    if len(g.kept) > 1:
        return (whole and plan.vector > 1) or (columns * item >= SECTORS and item >= WORD)
    accesses = -(-columns // plan.vector)
    return whole and accesses / (-(-accesses // lanes) * lanes) >= FULL


def _fits(task: Task, plan: Plan) -> bool:
    """Whether there are enough periods for the threads of a CTA, and shared memory for their states."""
    enough = task.geometry.n_reduced >= STEPS * period_rows(plan, task.geometry.columns)
    return enough and replace(plan, finish="last_block").shared_bytes(task.state_bytes) <= STATIC_SHARED
