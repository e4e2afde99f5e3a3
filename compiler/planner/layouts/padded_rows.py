"""Rows of a middle axis that begin anywhere, of few elements a result: a thread's results begin where accesses do.

Accesses along such rows begin anywhere, whatever results a thread owns. So it may as well own those that it can write
at once: each row of results is *padded* to whole accesses, the first of which begins at the boundary before the row.
What of it, and of the last one, is not the row's is neither written nor counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ...plan.plan import Plan, settled
from ...program.analysis.cost import operations
from ...target import WARP
from ..alignment import WIDEST, large, planned
from ..columns import is_short
from ..limits import LONG_COMBINE, adds_bytes, joins_truths
from ..split import THREADS
from ..task import Notes, Task


class Rows(NamedTuple):
    """Rows that are padded.

    Attributes:
        elements, columns: of so many elements a result at most, and of so many columns at least,
        whole: which are no multiple of this.
        vector, unroll: the elements of an access then, and the accesses in flight.
    """

    elements: int
    columns: int
    whole: int
    vector: int
    unroll: int


TRUTHS = (Rows(119, 128, 4, 16, 1), Rows(159, 128, 4, 16, 8))
ADDED = (Rows(23, 0, 1, 8, 4), Rows(49, 500, 2, 8, 4), Rows(159, 128, 2, 8, 4))
OTHERS = {
    1: (Rows(3, 128, 4, 16, 1), Rows(11, 250, 4, 16, 2), Rows(23, 500, 4, 16, 2), Rows(159, 500, 4, 16, 4)),
    2: (
        Rows(3, 128, 4, 8, 1), Rows(11, 128, 2, 8, 2), Rows(23, 200, 2, 8, 2), Rows(64, 200, 2, 8, 4),
        Rows(119, 0, 1, 8, 8), Rows(159, 128, 2, 8, 8),
    ),
    4: (Rows(3, 0, 1, 4, 2), Rows(12, 500, 2, 4, 2), Rows(39, 1000, 2, 4, 2), Rows(99, 500, 2, 4, 1)),
}  # fmt: skip
"""The first that has so many elements counts, which with ``whole`` 1 are never padded: of truth values, of bytes that
are added, and of others, by the bytes of an element. Rows of a multiple of ``whole`` columns are written well without.
A copy is as fast for fewer columns, and where results, or elements, are so wide that single ones fill sectors.
"""
FEW, WARPS_OF_FEW, WARPS = 24, 4, THREADS // WARP
"""Elements of a result up to which CTAs have fewer warps: the first and the last of each stand alone, so that threads
wait for most of their time."""
WANTED = (
    "several kept dims, one result without repetition whose rows have no gaps between elements, and inputs whose rows"
    " can be read by accesses that begin anywhere, two accesses apart at least"
)


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread for each access of a padded row; None where that does not serve, or gains nothing."""
    g, rows = task.geometry, _rows(task)
    if rows is None or not large(g) or not is_short(task, rows.vector):
        return None
    found = replace(_plan(rows.vector), unroll=rows.unroll, warps_kept=WARPS_OF_FEW if g.n_reduced <= FEW else WARPS)
    if not serves(task, found):
        return None
    words = f"a thread has up to {rows.vector} results of one of the rows of {g.columns}, from a boundary of theirs on"
    notes.because(words, "walk", "fast", "vector", "lanes", "warps")
    notes.because(f"{rows.unroll} access(es) in flight", "unroll")
    notes.rejected.append(("walk=interleaved", "rows of results begin anywhere, and would be written one by one"))
    return found


def _rows(task: Task) -> Rows | None:
    """How the rows of ``task`` are padded, if that gains anything."""
    g = task.geometry
    simple = task.state_registers == 1 and not task.program.uses_index and operations(task.monoid) < LONG_COMBINE
    if not simple or len(g.kept) < 2 or len(task.program.inputs) > 1:
        return None
    table = TRUTHS if joins_truths(task) else ADDED if adds_bytes(task) else OTHERS.get(task.itemsize, ())
    if table not in (TRUTHS, ADDED) and task.result_bytes > task.itemsize:
        return None
    found = next((rows for rows in table if 1 < g.n_reduced <= rows.elements), None)
    return found if found and g.columns >= found.columns and g.columns % found.whole else None


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout is one of such rows, in accesses of ``plan``.

    An access begins up to a vector before a row does, and is read from the boundary before.
    """
    g, inputs = task.geometry, range(len(task.program.inputs))
    one = len(g.offsets) == len(inputs) + 1 and not g.repeats
    if not one or len(g.kept) < 2 or "strided" in planned(task, "kept", plan.vector):
        return False
    item, out = task.result_bytes, len(inputs)
    start = task.addresses[out] + g.offsets[out] * item
    apart = all(d.strides[i] * task.operand_type(i).itemsize >= 2 * WIDEST for d in g.reduced for i in inputs)
    return apart and start % item == 0 and g.kept[-1].strides[out] == 1


def fitted(task: Task, _plan_of_others: Plan) -> Plan:
    """The plan with the widest accesses."""
    return _plan(WIDEST // task.itemsize)


def _plan(vector: int) -> Plan:
    return settled(Plan("kept", "padded", vector, 1, warps_kept=WARPS))
