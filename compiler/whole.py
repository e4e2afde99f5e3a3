"""Short rows without gaps: a thread has several that lie side by side, reads all of them at once and writes at once.

A row of two bytes fills no access, and a row of three begins anywhere; but sixteen of them are whole accesses, wherever
they are cut. So what a thread reads knows of no row, and which elements are of one result is known when the kernel is
made: no loop, no mask, no address of a row. The rows of a small middle axis with few columns are a *block*, and blocks
lie side by side alike.

Each number of elements is a kernel of its own, so this is for few of them, where it gains most.
"""

from __future__ import annotations

from .access import WIDEST, large
from .cost import operations
from .limits import joins_truths
from .plan import Plan, settled
from .rows import LONG_COMBINE
from .split import THREADS
from .target import WARP
from .task import Notes, Task

MOST = 256
"""Bytes of a thread's accesses, which are all in flight: a quarter of its registers hold them."""
TRUTHS = 11
OTHERS = {2: 2}
"""Elements of a result, at most: of truth values, and of others by the bytes of an element. Other rows are as fast by a
copy, or write so much that it does not matter how they are read."""
WANTED = (
    "a number of results without repetition that fills whole accesses, of rows or blocks that follow each other without"
    " gaps from a boundary on, and are all of a result"
)


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread for as many results as fill whole accesses; None where that does not serve, or gains nothing."""
    g = task.geometry
    most = TRUTHS if joins_truths(task) else OTHERS.get(task.itemsize, 0)
    simple = task.state_registers == 1 and operations(task.monoid) < LONG_COMBINE and task.monoid.commutative
    found = fitted(task, Plan())
    if not simple or not 1 < g.n_reduced <= most or not large(g) or not serves(task, found):
        return None
    words = f"a thread reads all {g.n_reduced} elements of {found.vector} results at once: they lie side by side"
    notes.because(words, "walk", "fast", "vector", "lanes", "warps", "unroll")
    notes.rejected.append(("tile_bytes", f"a loop and masks for {g.n_reduced} elements take longer than reading them"))
    return found


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
    found = block(task)
    if found is None or g.repeats or task.determinism == "portable" or task.program.uses_index or len(items) != 1:
        return False
    (item,) = items
    nbytes = plan.vector * found[0] * item
    whole = nbytes % WIDEST == 0 and nbytes <= MOST and plan.vector % found[1] == 0 and plan.vector <= g.n_kept
    return whole and all((task.addresses[i] + g.offsets[i] * item) % WIDEST == 0 for i in inputs)


def fitted(task: Task, _plan_of_others: Plan) -> Plan:
    """The plan with as many results as an access has elements: whatever their rows are, they fill accesses."""
    return settled(Plan("kept", "whole", WIDEST // task.itemsize, 1, warps_kept=THREADS // WARP))
