"""Rows that a CTA or a cluster folds once, and then gathers from, such as those of a cross entropy: they wait nowhere.

A reduction of its own would need a map behind it that gathers, which takes 5 us more on an H100.
"""

from __future__ import annotations

from ...plan.plan import Plan
from ...program.graph import ELEMENT, REDUCED, walk
from ...target import PORTABLE_CLUSTER, WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from .accesses import MOST, ROW_THREADS, accesses, has_bits, is_by_columns, vector_of
from .rows import count_of

UNROLL = threshold(4, "accesses in flight", sittings.GATHERED_ONCE)
"""Of a thread."""
LEAST_CTAS = threshold(1.5, "CTAs per SM", sittings.GATHERED_ONCE)
"""Rows that have fewer in the largest clusters are cut: more CTAs than those of a cluster then share each."""
FILLED = threshold(0.95, "CTAs per SM", sittings.GATHERED_ONCE)
"""Rows that have these in clusters of two, but fewer alone, have CTAs of WIDE warps in such clusters."""
FEW = threshold(2, "rows per SM", sittings.GATHERED_ONCE)
"""Fewer rows have clusters of two: SMs have equal shares of them."""
WIDEST_BLOCK = threshold(32, "warps of a CTA", sittings.ROWS_IN_PAIRS)
"""Of rows that have such clusters of two, if no SM has two of their CTAs: one needs many bytes in flight."""
WIDE = threshold(16, "warps of a CTA", sittings.GATHERED_ONCE)
"""Of many rows of narrow elements, each of which has one CTA: these compute more for each byte, and meet seldom."""
MANY = threshold(4, "rows per SM", sittings.GATHERED_ONCE)
"""Fewer rows of narrow elements have CTAs of WARPS: an SM has registers for two CTAs of WIDE warps."""
NARROW = threshold(2, "bytes of an element", sittings.GATHERED_ONCE)
"""Narrow elements have at most these."""
WARPS = threshold(8, "warps of a CTA", sittings.GATHERED_ONCE)
"""Of all other rows."""
PART = threshold(64 << 10, "bytes of a row in a CTA", sittings.GATHERED_ONCE)
"""The most of many rows of wider elements, as far as clusters are large enough: the last wave of CTAs is short."""
CLUSTER = threshold(4, "CTAs of a cluster", sittings.GATHERED_ONCE)
"""The least that share such a row."""


def serves(task: Task) -> bool:
    """Whether rows are folded as fast as by a reduction, by CTAs that then make the results, which are of rows alone.

    Rows are read by whole accesses, and are too long for the registers of a CTA. What the folds need is not gathered.
    """
    program, g = task.program, task.geometry
    if task.is_portable or has_bits(task) or any(o.space & REDUCED for o in program.outputs):
        return False
    if not program.gathered or not program.reduces or any(e.op == "gather" for e in walk(program.reduces)):
        return False
    own = [i for i, space in enumerate(program.input_spaces) if space == ELEMENT and i not in program.gathered]
    few = g.n_kept * PORTABLE_CLUSTER < LEAST_CTAS * task.machine
    if not own or few or not task.target.has_clusters or is_by_columns(task) or len(g.reduced) > 1:
        return False
    vector = vector_of(task, "reduced")
    found = accesses(task, "reduced", vector, waits=False)
    whole = vector * _widest(task) == WIDEST and all(found[i] == "aligned" for i in own)
    return whole and count_of(task, vector) > ROW_THREADS * MOST


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of rows that CTAs fold once."""
    warps, cluster = _block(task)
    owner = "a CTA" if cluster == 1 else f"a cluster of {cluster} CTAs"
    notes.because(f"{owner} folds a row once, and then gathers: no map follows", "resident", "cluster", "warps")
    vector = vector_of(task, "reduced")
    return Plan("reduced", "interleaved", vector, UNROLL, WARP, warps, 1, cluster=cluster, resident="memory")


def _block(task: Task) -> tuple[int, int]:
    """The warps of a CTA, and the CTAs of a cluster."""
    rows, sms = task.geometry.n_kept, task.machine
    if rows < sms:
        if 2 * rows < FILLED * sms:
            return WARPS, PORTABLE_CLUSTER
        return WIDEST_BLOCK if 2 * rows <= sms else WIDE, 2
    if rows < FEW * sms:
        return WARPS, 2
    if _widest(task) <= NARROW:
        return (WIDE if rows >= MANY * sms else WARPS), 1
    parts = ceil2(-(-task.geometry.n_reduced * _widest(task) // PART))
    return WARPS, min(PORTABLE_CLUSTER, max(CLUSTER, parts))


def _widest(task: Task) -> int:
    """The bytes of the widest element of rows."""
    program = task.program
    found = zip(program.inputs, program.input_spaces, strict=True)
    return max(t.itemsize for i, (t, space) in enumerate(found) if space == ELEMENT and i not in program.gathered)
