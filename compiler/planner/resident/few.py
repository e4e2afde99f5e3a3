"""Few kernels: the menu of programs that read rows again, and of programs without a fold.

Rows and columns wait in shared memory, where a loop walks them, so that one kernel serves all lengths of a kind of
access. Many short rows that begin anywhere go through a tile, in which threads keep a fixed number of elements under
masks. Longer rows wait in the L2 cache, or are cut at the grid, as ever.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan.facts import Facts
from ...plan.fields import MOST_HELD
from ...plan.plan import Plan
from ...plan.shared_memory import shared_bytes
from ...target import PORTABLE_CLUSTER, WARP
from .. import sittings
from ..alignment import WIDEST
from ..few import PAIR
from ..table import Table, threshold
from ..task import Notes, Task
from . import columns, l2, maps, once, tile_groups, tile_sizes, tiled
from .accesses import elements_of, is_by_columns, spaces, vector_of
from .rows import CTA_THREADS, count_of
from .shared_rows import CTA_BYTES

SHORT_ROW = threshold(16, "accesses of a row", sittings.FEW_KERNELS)
"""Up to here rows of the widest accesses have SHORT_LANES lanes each."""
SHORT_LANES = threshold(4, "lanes of a row", sittings.FEW_KERNELS)
"""Of short rows."""
ROW_OF_A_WARP = threshold(512, "accesses of a row", sittings.FEW_KERNELS)
"""Up to here a warp has a row of the widest accesses; if there is no row for each SM, up to WARP."""
NARROW_ROW_OF_A_WARP = threshold(2048, "accesses of a row", sittings.FEW_KERNELS)
"""The same of narrower ones; if there is no row for each SM, up to ROW_OF_A_WARP."""
CTA_OF_ROW = threshold(8, "warps of a CTA", sittings.FEW_KERNELS)
"""Of longer rows, and of long columns."""
PART = threshold(75 << 10, "bytes of a row", sittings.FEW_KERNELS)
"""Longer rows are shared by the CTAs of a cluster."""
CLUSTER = threshold(4, "CTAs of a cluster", sittings.FEW_KERNELS)
"""Of rows."""
TILES = Table("elements of a row", "(lanes of a row, elements that a thread keeps)", sittings.FEW_KERNELS, (
    (32, (2, 16)), (160, (8, 20)), (768, (32, 24)),
))  # fmt: skip
"""Rows that go through a tile; longer ones do not."""
TILE = threshold(32 << 10, "bytes of a tile", sittings.FEW_KERNELS)
"""Of rows that go through one."""
TILE_WARPS = threshold(4, "warps of a CTA", sittings.FEW_KERNELS)
"""Of such rows."""
FEW_COLUMNS = threshold(16, "rows", sittings.FEW_KERNELS)
"""Fewer rows side by side would leave lanes idle: lanes lie along each of them."""
SHORT_COLUMN = threshold(64, "elements of a column", sittings.FEW_KERNELS)
"""Up to here LANES_OF_COLUMN have a column, in a CTA of a warp's columns for each of its warps."""
LANES_OF_COLUMN = threshold(2, "lanes of a column", sittings.FEW_KERNELS)
"""Of short columns."""
WIDTH = threshold(64, "bytes of a row of a tile of columns", sittings.FEW_KERNELS)
"""Of longer columns."""
COLUMN_BYTES = threshold(64 << 10, "bytes of the columns of a CTA", sittings.FEW_KERNELS)
"""Those of more share a cluster of the largest size; columns of still more are cut at the grid."""
MAP_WARPS = threshold(8, "warps of a CTA", sittings.FEW_KERNELS)
"""Of a program without a fold."""
MAP_LANES = threshold(8, "lanes of a row", sittings.FEW_KERNELS)
"""Of a program without a fold."""
MAP_BYTES = threshold(32, "bytes of a thread", sittings.FEW_KERNELS)
"""Such threads make accesses to so many, up to MOST_OF_MAP."""
MOST_OF_MAP = threshold(4, "accesses of a thread", sittings.FEW_KERNELS)
"""The most of a program without a fold."""


def plan(task: Task, notes: Notes, *, by_columns: bool) -> Plan | None:
    """The plan of a program that reads rows again; None where they are cut at the grid."""
    if len(task.program.reduces) == 1 and once.serves(task):
        return replace(once.plan(task, notes), warps=CTA_OF_ROW, cluster=CLUSTER)
    found = _of_tile(task) if tiled.pays(task, by_columns=by_columns) and not task.is_huge else None
    found = found or (_of_columns(task) if by_columns and not _are_few(task) else _of_rows(task))
    if found is None:
        return l2.plan(task, notes, by_columns=by_columns)
    threads = f"{found.positions} thread(s) of a CTA" + (f", {found.cluster} CTAs" if found.cluster > 1 else "")
    notes.because(f"few kernels: {threads} share a row of any length, in {_place(found)}", "held", "resident", "warps")
    return found


def _are_few(task: Task) -> bool:
    """Whether so few rows lie side by side that lanes lie along each of them."""
    return task.geometry.n_kept < FEW_COLUMNS


def _place(plan: Plan) -> str:
    """Where rows wait, in words."""
    return "a tile of shared memory" if plan.tile_bytes else "shared memory"


def _of_tile(task: Task) -> Plan | None:
    """The plan of rows that go through a tile; None where no groups of them are dense, or they are too long."""
    own, shape = tile_groups.groups(task), TILES.at(task.geometry.n_reduced)
    if not own or not shape:
        return None
    lanes, held = shape
    found = Plan("kept", lanes=lanes, warps_kept=TILE_WARPS, resident="registers", held=held, tile_bytes=TILE)
    return found if tile_sizes.rows_of_a_cta(task, found) else None


def _of_rows(task: Task) -> Plan | None:
    """The plan of rows whose elements follow each other; None where they are too long for a cluster."""
    vector = vector_of(task, "reduced")
    count, each = count_of(task, vector), vector * _bytes_of_element(task)
    if not each:
        return None
    few_rows = task.geometry.n_kept <= task.machine
    if not task.is_huge:
        if count <= SHORT_ROW and vector > PAIR and len(task.geometry.reduced) == 1 and not few_rows:
            return _rows(vector, SHORT_LANES, 1)
        longest = (ROW_OF_A_WARP, WARP) if vector > PAIR else (NARROW_ROW_OF_A_WARP, ROW_OF_A_WARP)
        if count <= longest[few_rows]:
            return _rows(vector, WARP, 1)
    shared = [(CLUSTER, CLUSTER * CTA_BYTES)] if task.target.has_clusters else []
    alone = vector > PAIR or not shared
    for cluster, nbytes in [(1, PART)] * alone + shared:
        found = replace(_rows(vector, WARP, CTA_OF_ROW), cluster=cluster)
        if count * each <= nbytes and count <= MOST_HELD * found.positions * cluster:
            return found
    return None


def _rows(vector: int, lanes: int, warps: int) -> Plan:
    """The plan of rows of so many lanes and warps each."""
    beside = max(1, CTA_THREADS // (WARP * warps))
    return Plan("reduced", vector=vector, lanes=lanes, warps=warps, warps_kept=beside, resident="shared", held=1)


def _bytes_of_element(task: Task) -> int:
    """Bytes of an element of all inputs with elements of rows."""
    return sum(task.operand_type(i).itemsize for i in elements_of(task) if i < len(task.program.inputs))


def _of_columns(task: Task) -> Plan | None:
    """The plan of rows whose elements lie apart; None where they are too long for a cluster."""
    vector, n = columns.vector_of(task), task.geometry.n_reduced
    if not _bytes_of_element(task):
        return None
    if n <= SHORT_COLUMN and not task.is_huge:
        beside = CTA_THREADS // WARP
        return Plan("kept", vector=vector, lanes=LANES_OF_COLUMN, warps_kept=beside, resident="shared", held=1)
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    lanes_kept = max(1, min(WARP, WIDTH // (item * vector)))
    found = Plan("kept", vector=vector, lanes=WARP // lanes_kept, warps=CTA_OF_ROW, resident="shared", held=1)
    largest = PORTABLE_CLUSTER if task.target.has_clusters else 1
    for cluster in (largest,) if task.is_huge else (1, largest):
        nbytes = n * lanes_kept * vector * _bytes_of_element(task)
        if nbytes <= cluster * COLUMN_BYTES and n <= MOST_HELD * found.positions * cluster:
            return replace(found, cluster=cluster)
    return None


def mapping(task: Task, notes: Notes) -> Plan:
    """The plan of a program without a fold."""
    found = maps.plan(task, notes)
    if is_by_columns(task) and _are_few(task):
        found = replace(found, fast="reduced", vector=1)
    elif is_by_columns(task):
        return replace(found, lanes=1, warps=MAP_WARPS, warps_kept=1, held=MOST_OF_MAP)
    nbytes = found.vector * max(task.operand_type(i).itemsize for i in elements_of(task))
    held = min(MOST_OF_MAP, ceil(MAP_BYTES / min(nbytes, WIDEST)))
    others = [space for i, space in enumerate(spaces(task)) if i not in elements_of(task)]
    if task.geometry.n_kept == 1 and not any(others):  # whole arrays beside numbers, as in wf.relu
        return replace(found, lanes=WARP, warps=MAP_WARPS, warps_kept=1, held=held)
    return replace(found, lanes=MAP_LANES, warps=1, warps_kept=MAP_WARPS, held=held)


def for_any_length(task: Task, plan: Plan, facts: Facts) -> tuple[Plan, Facts]:
    """``plan`` and its ``facts`` as they are for rows of any length, in one, two or three dims."""
    reduced = facts.reduced_rank if not task.is_huge else task.ranks[1]
    folds, facts = bool(task.program.reduces), replace(facts, full=False)
    facts = replace(facts, kept_rank=max(3, facts.kept_rank), reduced_rank=reduced)
    if plan.tile_bytes:
        return plan, replace(facts, spare=True)
    if not folds or plan.resident not in ("registers", "shared"):
        return plan, facts
    if plan.resident == "registers":
        return plan, replace(facts, spare=True)
    each = plan.threads * plan.vector * sum(task.program.inputs[i].itemsize for i in facts.waiting)
    room = task.target.shared_per_cta - shared_bytes(plan, sum(t.itemsize for t in task.program.states))
    return replace(plan, held=min(MOST_HELD, room // each)), replace(facts, walked=True)
