"""Columns, which are rows whose elements lie apart: neighbouring lanes read neighbouring ones, those of a tile."""

from __future__ import annotations

from math import ceil

from ...plan.plan import Plan
from ...program.graph import ELEMENT, MonoidGraph, Program, walk
from ...target import PORTABLE_CLUSTER, WARP
from .. import sittings
from ..alignment import LINE, WIDEST
from ..few import widths
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Task
from .accesses import accesses, elements_of

THREADS = threshold(256, "threads of a CTA", sittings.RESIDENT_ROWS)
"""The most threads of a CTA; two CTAs of a cluster become one of twice as many. So does a CTA of which a thread would
keep more than KEPT_OF_SEVERAL elements."""
WIDTH_IN_LINES = threshold(64, "bytes of a row of the tile", sittings.RESIDENT_COLUMNS)
"""The most for columns that a CTA of THREADS does not keep in twice the width, where rows are whole lines of the L2
cache and each SM has a tile: the cache reads a line for two tiles, and half as many states cross a cluster."""
NARROW = threshold(2, "bytes of an element", sittings.RESIDENT_COLUMNS)
"""Such elements wait in shared memory: in registers they take as much room as what is computed of them."""
TILE = threshold(64 * 1024, "bytes of a tile in shared memory", sittings.RESIDENT_COLUMNS)
"""So an SM holds three CTAs."""
SEVERAL = threshold(3, "values of all states", sittings.SHORT_COLUMNS)
"""From here on they are several."""


def items_of(program: Program) -> list[int]:
    """The bytes of an element of each array; none where a program does more than fold and use its rows."""
    if program.gathered or program.side or program.section:
        return []
    return [t.itemsize for t, space in zip(program.inputs, program.input_spaces, strict=True) if space == ELEMENT]


def are_words(program: Program) -> bool:
    """Whether columns are those of one array of words."""
    return items_of(program) == [WORD]


def folds_exponentials(program: Program) -> bool:
    """Whether phases fold exponentials."""
    combined = [e for r in program.reduces if isinstance(r.value, MonoidGraph) for e in r.value.combine]
    folded = [e for r in program.reduces for e in r.args]
    return any(e.op in ("exp", "exp2") for e in walk((*folded, *combined)))


def counts_alike(task: Task, plan: Plan) -> bool:
    """Whether all threads fold as many elements of one array, to states of SEVERAL values.

    A count among these is a constant of the kernel then, and means are combined without a division. Otherwise two
    meetings take less time than these divisions, and narrow columns less in the L2 cache than in large clusters.
    """
    return (
        len(items_of(task.program)) == 1
        and len(task.program.states) >= SEVERAL
        and task.geometry.n_reduced % (plan.positions * plan.cluster) == 0
    )


def most_ctas(task: Task) -> int:
    """The most CTAs that share a column."""
    return PORTABLE_CLUSTER if task.target.has_clusters and not task.is_portable else 1


def are_lines(task: Task, each: int = WIDTH_IN_LINES) -> bool:
    """Whether what lies between the rows of tiles is whole lines of the L2 cache, and each SM has ``each`` bytes."""
    g, rows = task.geometry, elements_of(task)
    items, outer = {i: task.operand_type(i).itemsize for i in rows}, (*g.kept[:-1], *g.reduced)
    fills = g.n_kept * max(items.values()) >= each * task.machine
    return fills and all(d.strides[i] * items[i] % LINE == 0 for i in rows for d in outer)


def lanes_kept_of(task: Task, columns: int, vector: int) -> int:
    """The lanes beside each other that read the columns of a tile, or all columns if they are fewer."""
    return max(1, min(WARP, columns // vector, ceil2(ceil(task.geometry.columns / vector))))


def held_of(n: int, lanes_kept: int, threads: int, cluster: int) -> int:
    """The accesses of a thread to a column of ``n`` elements."""
    return max(1, ceil(n / (threads // lanes_kept * cluster)))


def vector_of(task: Task) -> int:
    """Neighbouring columns of a thread: as many as an access holds, where every array has them side by side."""
    rows = elements_of(task)
    widest = max(1, WIDEST // max(task.operand_type(i).itemsize for i in rows))

    def is_whole(vector: int) -> bool:
        found = accesses(task, "kept", vector)
        return all(found[i] in ("aligned", "bits") for i in rows)

    return next(filter(is_whole, widths(task, widest)), 1)
