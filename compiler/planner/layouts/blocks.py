"""Short rows without gaps: a thread has several that lie side by side, reads all of them at once and writes at once.

A row of two bytes fills no access, and a row of three begins anywhere; but sixteen of them are whole accesses, wherever
they are cut. So what a thread reads knows of no row, and which elements are of one result is known when the kernel is
made: no loop, no mask, no address of a row. The rows of a small middle axis with few columns are a *block*, and blocks
lie side by side alike.

Each number of elements is a kernel of its own, so this is for few of them, where it gains most.
"""

from __future__ import annotations

from typing import NamedTuple

from ...plan.plan import Plan, settled
from ...program.analysis.cost import operations
from ...target import WARP
from ..alignment import WIDEST, large
from ..limits import LONG_COMBINE, adds_bytes, joins_truths
from ..split import THREADS
from ..task import Notes, Task

MOST, BEST = 256, 48
"""Bytes of a thread's accesses, at most, which are all in flight; and up to which a warp of them fills lines: of more
results a thread has no more than must be, of fewer more."""


STATES = 48
"""Registers of states of all results of a thread, at most: with sixteen variances it spills."""


class Rows(NamedTuple):
    """Rows that are faster so.

    Attributes:
        nbytes: rows of which a thread reads so many bytes at most,
        elements: or which have so many elements at most;
        block: the same bytes of blocks of several columns,
        least: of so many elements at least.
    """

    nbytes: int
    elements: int
    block: int
    least: int = 2


TRUTHS, ADDED = Rows(BEST, 11, MOST), Rows(0, 0, MOST, 16)
OTHERS = {1: Rows(BEST, 22, MOST), 2: Rows(64, 5, MOST), 4: Rows(BEST, 0, 128), 8: Rows(32, 0, 64)}
HEAVY = {1: Rows(112, 14, MOST), 2: Rows(112, 14, MOST), 4: Rows(80, 0, 128), 8: Rows(64, 0, 64)}
"""Truth values, bytes that are added, others by the bytes of an element, and those of states of several values or of
long combines. Other rows are as fast by a copy, or write so much that it does not matter how they are read."""
WANTED = (
    "a number of results without repetition that fills whole accesses, of rows or blocks that follow each other without"
    " gaps from a boundary on, and are all of a result"
)


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread for as many results as fill whole accesses; None where that does not serve, or gains nothing."""
    g, found = task.geometry, fitted(task, Plan())
    if not large(g) or not task.monoid.commutative or not serves(task, found) or not _pays(task, found):
        return None
    words = f"a thread reads all {g.n_reduced} elements of {found.vector} results at once: they lie side by side"
    notes.because(words, "walk", "fast", "vector", "lanes", "warps", "unroll")
    notes.rejected.append(("tile_bytes", f"a loop and masks for {g.n_reduced} elements take longer than reading them"))
    return found


def _pays(task: Task, found: Plan) -> bool:
    """Whether such rows are faster so."""
    elements, columns = block(task) or (0, 0)
    nbytes = found.vector * elements * task.itemsize
    if len(task.monoid.state) > 1 or operations(task.monoid) >= LONG_COMBINE:
        rows = HEAVY[task.itemsize]
    else:
        rows = TRUTHS if joins_truths(task) else ADDED if adds_bytes(task) else OTHERS[task.itemsize]
    if found.vector * task.state_registers > STATES:
        return False
    if columns > 1:
        return nbytes <= rows.block and elements >= rows.least
    return nbytes <= rows.nbytes or elements <= rows.elements


def block(task: Task) -> tuple[int, int] | None:
    """The elements of a result and the results of a block, where blocks of both follow each other without gaps."""
    g, inputs = task.geometry, range(len(task.program.inputs))
    if len(g.reduced) != 1 or not 1 <= len(g.kept) <= 2:
        return None
    columns = g.kept[1].size if len(g.kept) == 2 else 1
    found = g.reduced[0].size, columns
    wanted = (found[0] * columns, *([1] * (len(g.kept) - 1)), columns)
    dense = all(tuple(d.strides[i] for d in (*g.kept, *g.reduced)) == wanted for i in inputs)
    return found if dense and columns & (columns - 1) == 0 else None


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout is one of such blocks, of which those of a thread of ``plan`` fill whole accesses."""
    g, inputs = task.geometry, range(len(task.program.inputs))
    items = {task.operand_type(i).itemsize for i in inputs}
    found, several = block(task), len(items) != 1 or g.repeats
    if found is None or found[0] < 2 or several or task.determinism == "portable" or task.program.uses_index:
        return False
    (item,) = items
    nbytes = plan.vector * found[0] * item
    whole = nbytes % WIDEST == 0 and nbytes <= MOST and plan.vector % found[1] == 0 and plan.vector <= g.n_kept
    return whole and all((task.addresses[i] + g.offsets[i] * item) % WIDEST == 0 for i in inputs)


def fitted(task: Task, _plan_of_others: Plan) -> Plan:
    """The plan with as many results as are best."""
    elements, columns = block(task) or (1, 1)
    each = WIDEST // task.itemsize
    widths = [each >> k for k in range(each.bit_length() - 1)]
    whole = [v for v in widths if v % columns == 0 and v * elements % each == 0] or [each]
    few = [v for v in whole if v * elements * task.itemsize <= BEST] if not adds_bytes(task) else []
    return settled(Plan("kept", "whole", few[0] if few else whole[-1], 1, warps_kept=THREADS // WARP))
