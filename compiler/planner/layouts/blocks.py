"""Blocks: short rows without gaps. A thread reads all elements of several neighbouring results at once.

A row of two bytes fills no access, and a row of three begins anywhere; but sixteen of them are whole accesses, wherever
rows are cut. Such a kernel has no loop, no mask and no address of a row: which elements belong to one result is known
when it is compiled. The rows of a small middle axis with few columns are a *block*, and blocks follow each other in the
same way.

Each number of elements is a kernel of its own, so only a few are read so, where it gains most.
"""

from __future__ import annotations

from typing import NamedTuple

from ...plan.checks import settled
from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..limits import CTA_THREADS
from ..powers_of_two import halvings
from ..table import Sitting, threshold
from ..task import Notes, Task

MOST_BYTES = threshold(256, "bytes of a thread's accesses", sittings.BLOCKS)
"""A thread has at most these in flight."""
LINE_FILLING_BYTES = threshold(48, "bytes of a thread's accesses", sittings.BLOCKS)
"""Up to here the accesses of a warp fill lines. Of more results a thread has as few as must be, of fewer more."""
STATE_REGISTERS = threshold(48, "registers", Sitting("2026-11-23", "cd3e648", "Layouts drawn at random, once more"))
"""States of all results of a thread take at most these: with sixteen variances it spills."""


class Worth(NamedTuple):
    """Which rows and blocks are worth a kernel of their own.

    Attributes:
        nbytes: rows of which a thread reads at most these bytes.
        elements: longer rows of at most these elements.
        block: blocks of several columns of which a thread reads at most these bytes.
        least: blocks of at least these elements a result.
    """

    nbytes: int
    elements: int
    block: int
    least: int = 2


UNIT = "(bytes a thread, elements of a row, bytes a thread of a block, elements of a block's result)"
TRUTHS = threshold(Worth(48, 11, 256), UNIT, sittings.BLOCKS)
"""Rows of truth values up to these are read whole."""
ADDED = threshold(Worth(0, 0, 256, 16), UNIT, sittings.BLOCKS)
"""Blocks of added bytes up to these are read whole. Their rows write so much that it does not matter how they are
read."""
OTHERS = threshold(
    {1: Worth(48, 22, 256), 2: Worth(64, 5, 256), 4: Worth(48, 0, 128), 8: Worth(32, 0, 64)},
    UNIT + ", by bytes of an element",
    sittings.BLOCKS,
)
"""Rows of other elements up to these are read whole: longer ones are as fast by a copy."""
HEAVY = threshold(
    {1: Worth(112, 14, 256), 2: Worth(112, 14, 256), 4: Worth(80, 0, 128), 8: Worth(64, 0, 64)},
    UNIT + ", by bytes of an element",
    sittings.GRID_BORDERS,
)
"""Rows whose states have several values, or whose combines are long, are read whole up to these."""
NEEDS = (
    "a number of results without repetition that fills whole accesses, of rows or blocks that follow each other without"
    " gaps from a boundary on, and are all of a result"
)
"""What a layout must be, in the words of an error."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread for as many results as fill whole accesses; None where that does not serve, or gains nothing."""
    if not task.is_large or not task.monoid.commutative:
        return None
    g, found = task.geometry, fitted(task, Plan())
    if not serves(task, found) or not _pays(task, found):
        return None
    words = f"a thread reads all {g.n_reduced} elements of {found.vector} results at once: they lie side by side"
    notes.because(words, "walk", "fast", "vector", "lanes", "warps", "unroll")
    notes.rejected.append(("tile_bytes", f"a loop and masks for {g.n_reduced} elements take longer than reading them"))
    return found


def _pays(task: Task, found: Plan) -> bool:
    """Whether such rows are faster so."""
    elements, columns = block(task) or (0, 0)
    nbytes = found.vector * elements * task.itemsize
    if len(task.monoid.state) > 1 or task.has_long_combine:
        worth = HEAVY[task.itemsize]
    else:
        worth = TRUTHS if task.joins_truths else ADDED if task.adds_bytes else OTHERS[task.itemsize]
    if found.vector * task.state_registers > STATE_REGISTERS:
        return False
    if columns > 1:
        return nbytes <= worth.block and elements >= worth.least
    return nbytes <= worth.nbytes or elements <= worth.elements


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
    if found is None or found[0] < 2 or several or task.is_portable or task.program.uses_index:
        return False
    nbytes = plan.vector * found[0] * task.itemsize
    whole = nbytes % WIDEST == 0 and nbytes <= MOST_BYTES and plan.vector % found[1] == 0 and plan.vector <= g.n_kept
    return whole and all(task.start(i) % WIDEST == 0 for i in inputs)


def fitted(task: Task, _plan_of_others: Plan) -> Plan:
    """The plan with the best number of results a thread."""
    elements, columns = block(task) or (1, 1)
    each = WIDEST // task.itemsize
    whole = [v for v in halvings(each) if v % columns == 0 and v * elements % each == 0] or [each]
    few = [v for v in whole if v * elements * task.itemsize <= LINE_FILLING_BYTES] if not task.adds_bytes else []
    return settled(Plan("kept", "whole", few[0] if few else whole[-1], 1, warps_kept=CTA_THREADS // WARP))
