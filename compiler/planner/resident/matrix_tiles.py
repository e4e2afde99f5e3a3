"""Columns in a tile of shared memory that warps read and write in turned blocks (``fragments=matrix``).

The rows of a tile lie as in the array, along the kept axis. A warp has eight neighbouring columns, and reads 32 rows of
them at once, by ``ldmatrix``: QUAD lanes share a column, and each gets WIDEST bytes of it. So columns have a plan of
rows, whose threads have one result each. Results of such arrays go back by ``stmatrix``. A tile lies where the slots of
the threads do, 16 bytes in each, which ``compiler/plan/tiles.py`` places so that no two lanes wait for a bank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ...errors import error
from ...plan.fields import LARGEST, MOST_HELD, Access
from ...plan.plan import QUAD, Plan
from ...plan.shared_memory import HALF
from ...plan.tiles import COLUMNS, ROWS, SECTOR
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2, floor2
from ..table import threshold
from ..task import Notes, Task
from . import columns
from .accesses import accesses, elements_of, has_bits
from .columns import THREADS, TILE

VECTOR = WIDEST // HALF
"""Elements of an access."""
WIDTH = threshold(64, "bytes of a row of the tile", sittings.MATRICES)
"""The most of columns that are read again."""
TILE_OF_MAP = threshold((1, 8, 1), "warps along rows and across them, accesses of a thread", sittings.MATRICES)
"""The tile of a program without a fold."""
BETWEEN_SECTORS = threshold((2, 8, 1), "warps along rows and across them, accesses of a thread", sittings.MATRICES)
"""The same where rows of results begin between sectors of memory."""
FAR = threshold((2, 16, 2), "warps along rows and across them, accesses of a thread", sittings.MATRICES)
"""The same where rows of an array are FAR_APART."""
FAR_APART = threshold(16384, "bytes from one row to the next", sittings.MATRICES)
"""From here on rows are far apart."""
LEAST = threshold(64, "elements of a row, or of a column", sittings.MATRICES)
"""A LARGE array that is transposed, with so many at least, is read in turned blocks if rows of the result begin between
sectors, or rows of an array are FAR_APART."""
LARGE = threshold(1 << 25, "elements of an array", sittings.MATRICES)
"""Smaller ones are in the L2 cache in part, and blocks of threads transpose them as fast."""
HELD = threshold(4, "accesses of a thread", sittings.TURNED_COLUMNS)
"""More warps share a column only if each makes this many."""
SEVERAL = threshold(3, "values of all states", sittings.TURNED_COLUMNS)
"""From here on columns wait in turned tiles: a thread with one column computes once what a thread with the eight of an
access computes for each, for as many elements of each."""
COLUMN = threshold((33, 512), "elements of a column", sittings.TURNED_COLUMNS)
"""Only of such columns: shorter ones leave accesses empty, and longer ones are as fast by words."""
FILLED = threshold(0.75, "part of the rows of a tile", sittings.TURNED_COLUMNS)
"""Only if so many exist."""
LEAST_COLUMNS = threshold(16, "columns beside each other", sittings.TURNED_COLUMNS)
"""Only of so many at least, which fill a sector, and of whole tiles."""
LEAST_ELEMENTS = threshold(1 << 22, "elements of an array", sittings.TURNED_COLUMNS)
"""Only in arrays of so many."""
WARPS = THREADS // WARP


def pays(task: Task) -> bool:
    """Whether a program without a fold is to turn the one array that lies across its result."""
    rows, g = elements_of(task), task.geometry
    if task.program.reduces or task.is_portable or has_bits(task) or len(rows) != 2 or not g.kept or not g.reduced:
        return False
    if min(g.n_reduced, g.columns) < LEAST or g.n_kept * g.n_reduced < LARGE:
        return False
    found = turned(task, accesses(task, "reduced", VECTOR, waits=False))
    return [found[i] for i in rows] == ["matrix", "aligned"] and _tile_of_map(task) != TILE_OF_MAP


def holds(task: Task) -> bool:
    """Whether columns of one array, which are read again, are to wait in a tile that is turned."""
    g, rows, program = task.geometry, elements_of(task), task.program
    if task.is_portable or has_bits(task) or program.side or program.section or len(program.states) < SEVERAL:
        return False
    if len(rows) != 2 or across(task) != rows or not COLUMN[0] <= g.n_reduced <= COLUMN[1]:
        return False
    if g.columns < LEAST_COLUMNS or g.columns % (COLUMNS * _beside(task)):
        return False
    return g.n_reduced >= FILLED * ROWS * ceil(g.n_reduced / ROWS) and g.n_kept * g.n_reduced >= LEAST_ELEMENTS


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of columns whose tile is read in turned blocks, whether or not the arrays have such."""
    notes.because("warps read the tile in blocks of 8x8 elements, turned: four lanes share a column", "fragments")
    found = Plan("reduced", "interleaved", VECTOR, 1, QUAD, resident="shared", fragments="matrix")
    if not task.program.reduces:
        warps, most, held = _tile_of_map(task)
        warps = min(warps, ceil2(ceil(task.geometry.n_reduced / ROWS)))
        beside = max(1, ceil2(ceil(task.geometry.n_kept / COLUMNS)))
        return replace(found, warps=warps, warps_kept=min(beside, most), held=held)
    own, inputs = across(task), len(task.program.inputs)
    arrays = max(sum(i < inputs for i in own), sum(i >= inputs for i in own))  # results lie where inputs did
    of_tile = _beside(task)
    cluster = min(ceil2(ceil(task.geometry.n_reduced * of_tile * WIDEST * arrays / TILE)), columns.most_ctas(task))
    steps = ceil(task.geometry.n_reduced / cluster / ROWS)
    shared = min(WARPS // of_tile, floor2(max(1, steps // HELD)))
    warps = min(max(1, shared, ceil2(ceil(steps / MOST_HELD))), LARGEST["warps"] // of_tile)
    return replace(found, warps=warps, warps_kept=of_tile, cluster=cluster, held=ceil(steps / warps))


def _beside(task: Task) -> int:
    """The warps beside each other of columns that are read again, as far as columns lie side by side."""
    return min(WIDTH // WIDEST, max(1, floor2(task.geometry.columns // COLUMNS)))


def _tile_of_map(task: Task) -> tuple[int, int, int]:
    """The warps along rows and across them, and the accesses of a thread, of a program without a fold."""
    g, inputs, rows = task.geometry, len(task.program.inputs), elements_of(task)
    inner = [dims[-1] for dims in (g.kept, g.reduced) if dims]
    apart = {i: max((abs(d.strides[i]) for d in inner), default=0) * task.operand_type(i).itemsize for i in rows}
    if any(apart[i] % SECTOR for i in rows if i >= inputs):
        return BETWEEN_SECTORS
    return FAR if max(apart.values()) >= FAR_APART else TILE_OF_MAP


def across(task: Task) -> list[int]:
    """The operands whose elements lie side by side along the kept axis, in whole accesses, and are halves."""
    found = accesses(task, "kept", VECTOR, waits=False)
    return [i for i in elements_of(task) if found[i] == "aligned" and task.operand_type(i).itemsize == HALF]


def turned(task: Task, found: Sequence[Access]) -> tuple[Access, ...]:
    """How operands are accessed if ``found`` says how they are by the accesses along the reduced axis."""
    own = across(task)
    return tuple("matrix" if i in own and kind == "strided" else kind for i, kind in enumerate(found))


def check(task: Task, plan: Plan) -> None:
    """Refuses ``fragments=matrix`` where blocks cannot be read.

    Raises:
        PlanError: WF440 for arrays of other elements than halves, WF438 for arrays without whole accesses along the
            kept axis, WF439 for other fields that the plan would have to have, WF441 for a reduction that needs the
            order or the numbers of its elements.
    """
    if plan.fragments != "matrix":
        return
    ordered = not all(m.commutative for m in task.program.monoids)
    if not task.program.reads_again and (ordered or task.program.uses_index):
        raise error("WF441", name=task.program.name, needs="the order" if ordered else "the numbers")
    alone = () if plan.in_teams else (("resident", "shared"), ("persistent", 0))
    for key, expected in (("fast", "reduced"), ("lanes", QUAD), ("vector", VECTOR), *alone,
                          ("tile_bytes", 0), ("walk", "interleaved"), ("accesses", "")):  # fmt: skip
        if getattr(plan, key) != expected:
            raise error("WF439", key=key, value=getattr(plan, key), expected=expected or "none")
    own = turned(task, accesses(task, "reduced", VECTOR, waits=False))
    read = own[: len(task.program.inputs)] if task.program.reduces else own
    if "matrix" in read and not has_bits(task):
        return
    rows = elements_of(task)
    types = [task.operand_type(i) for i in rows]
    if has_bits(task) or HALF not in (t.itemsize for t in types):
        raise error("WF440", name=task.program.name, types=" ".join(dict.fromkeys(t.name for t in types)))
    raise error("WF438", name=task.program.name)
