"""Rows in groups that are dense: a CTA copies whole groups into shared memory, and threads read single elements there.

Rows that begin anywhere cut the accesses at both ends, and their weights lie otherwise than they do. Rows of a short
middle axis, whose elements lie apart, are read by narrow accesses. But a row, or the rows of one index of the outer
dims, are a unit of memory, and the units of a CTA follow each other. All threads copy them in whole aligned accesses.
In shared memory an element costs the same wherever it lies. Results go back in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan import tiles
from ...plan.fields import LARGEST, Axis
from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from . import columns, tile_sizes, waiting_groups
from . import rows as rows_in_place
from .accesses import accesses, elements_of
from .tile_groups import LARGE_GROUP, MOST_WAITS, arrays_across, groups, most_waits, rows_that_fit

HELD = threshold(40, "elements of a row that a thread keeps", sittings.TILED_ROWS)
"""A row gets as few threads, a power of two, as keep it in this many elements each."""
HELD_OF_SCALED = threshold(64, "elements of a row that a thread keeps", sittings.ROWS_IN_PAIRS)
"""Replaces HELD where a result has a value for each row, such as a scale, and warps would share one."""
HELD_OF_MANY = threshold(49, "elements of a row that a thread keeps", sittings.ROWS_IN_PAIRS)
"""Replaces HELD where a row would have more than MANY threads."""
MANY = threshold(256, "threads of a row", sittings.ROWS_IN_PAIRS)
"""An SM has registers for few CTAs of more."""
HELD_APART = threshold(16, "elements of a row that a thread keeps", sittings.GROUPED_ROWS)
"""The same where rows are in groups, in which their elements lie apart."""
WARPS_KEPT = threshold((4, 2, 8, 1, 16), "warps of a CTA, in the order of choice", sittings.TILED_ROWS)
"""Warps with rows of their own: the first number by which lanes wait least."""
WARPS_READING = threshold((2, 4, 8, 1, 16), "warps of a CTA, in the order of choice", sittings.SHORT_ROWS)
"""The same where nothing is written for elements of rows, of which a warp has several."""
ACROSS = threshold(4, "threads of a row", sittings.TRANSPOSED)
"""Where an array lies across the rows, as in ``x + y.T``, so many lanes beside each other read it where it is."""
LONG_ROW_BYTES = threshold(6000, "bytes of a row", sittings.TILED_ROWS)
"""From here on rows of words, or of wider elements, have no tile if nothing else lies along them."""
LONG_WITH_GAPS = threshold(4000, "bytes of a row", sittings.GROUPED_ROWS)
"""The same where there are gaps between rows."""
FILLING_THREADS = threshold(256, "threads per SM", sittings.TILED_ROWS)
"""Fewer rows are shared by more threads each, without a tile."""


def pays(task: Task, *, by_columns: bool = False) -> bool:
    """Whether rows are faster through a tile: the widest accesses do not divide them, and there are enough of them.

    Long rows of words are as fast without, if nothing else lies along them, and no elements are narrower: the ends that
    are cut cost little. Rows side by side, ``by_columns``, have no wide accesses where few are side by side.
    """
    rows, g = elements_of(task), task.geometry
    items = [task.operand_type(i).itemsize for i in rows]
    wide = max(items)
    if g.n_kept * ceil(g.n_reduced / HELD) < FILLING_THREADS * task.machine:
        return False
    if by_columns:
        return columns.vector_of(task) * wide < WIDEST
    if rows_in_place.is_read_alone(task):
        return False
    found = accesses(task, "reduced", WIDEST // wide)
    across = arrays_across(task)
    aligned = all(found[i] == "aligned" for i in rows if i not in across)
    beside = any(d.strides[i] for i in range(len(found)) if i not in rows for d in g.reduced)
    gaps = any(g.kept and g.kept[-1].strides[i] > g.n_reduced for i in rows)
    long = min(items) >= WORD and g.n_reduced * wide >= (LONG_WITH_GAPS if gaps else LONG_ROW_BYTES) and not beside
    return not aligned and not long


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of rows that go through a tile; None where no groups of them are dense, or one is too large."""
    n = task.geometry.n_reduced
    own = groups(task) if n and not task.is_portable else None
    found = _plan(task, own) if own else None
    if found is None or own is None:
        return None
    one = f"groups of {own.rows} rows" if own.rows > 1 else "rows"
    who = "a CTA copies" if found.cluster == 1 else f"{found.cluster} CTAs copy parts of"
    words = f"{who} {one} into {found.tile_bytes} bytes of shared memory, where it does not matter"
    notes.because(f"{words} where they begin", "tile_bytes", "vector")
    if found.waits_in_tile:
        readers = found.positions * found.cluster
        notes.because(f"rows wait there, where {readers} thread(s) read one in each phase", "resident", "warps")
    else:
        notes.because(
            f"{found.held} element(s) in each of {found.positions} thread(s) of a row", "held", "lanes", "warps"
        )
    return found


def _plan(task: Task, own: tiles.Groups) -> Plan | None:
    """A plan with few threads a row, and the least tile for that; None where no tile is large enough.

    Where rows of wide elements are dense and alike in all arrays, lanes do not wait for each other at the banks.
    """
    n, apart = task.geometry.n_reduced, own.rows > 1
    threads = _threads(task, n, apart=apart)
    across = bool(arrays_across(task))
    if across and threads > ACROSS:
        return None
    fast: Axis = "kept" if apart or across or tile_sizes.has_values_of_rows(task) else "reduced"
    if ceil2(ceil(n / HELD)) > WARP:
        shape = _shape(n, fast, WARP, threads // WARP, 1)
        return (waiting_groups.plan(task, own) if apart else None) or tile_sizes.least_tile(task, own, shape)
    threads = max(threads, min(WARP, ceil2(ceil(n / HELD_APART)))) if apart else threads
    sizes = {(u.stride, task.operand_type(i).itemsize) for i, u in own.units.items()}
    free = fast == "reduced" and len(sizes) == 1 and max(item for _, item in sizes) > columns.NARROW
    reads = tile_sizes.only_reads(task) and not apart
    fasts: tuple[Axis, ...] = (fast, "reduced") if reads else (fast,)
    for lanes in (threads << k for k in range((WARP // threads).bit_length())):
        order = WARPS_READING if reads and lanes < WARP else WARPS_KEPT
        in_turn = apart and lanes == WARP  # warps take the rows of a group in turn
        most_kept = max(1, own.rows // 2) if in_turn else max(WARPS_KEPT)
        shapes = (_shape(n, f, lanes, 1, kept) for f in fasts for kept in order if kept <= most_kept)
        plans = [plan for shape in shapes if (plan := tile_sizes.least_tile(task, own, shape))]
        waiting = [most_waits(task, own, plan) for plan in plans]
        if plans and min(waiting) <= (1 if free else MOST_WAITS):
            return plans[waiting.index(min(waiting))]
    if not apart:
        return None
    makes = (
        (_large, waiting_groups.plan)
        if max(item for _, item in sizes) > columns.NARROW
        else (waiting_groups.plan, _large)
    )
    return next((found for make in makes if (found := make(task, own))), None)


def _threads(task: Task, n: int, *, apart: bool) -> int:
    """The threads that keep a row of ``n`` elements, which lie ``apart`` where rows are in groups."""
    threads = ceil2(ceil(n / HELD))
    if threads > MANY:
        return ceil2(ceil(n / HELD_OF_MANY))
    scaled = threads > WARP and tile_sizes.has_values_of_rows(task) and not apart
    return ceil2(ceil(n / HELD_OF_SCALED)) if scaled else threads


def _large(task: Task, own: tiles.Groups) -> Plan | None:
    """A plan of groups in a large tile, each thread with one row; None where another plan is faster.

    Such is one of columns that are read by wider accesses, or of groups that leave most of the tile empty.
    """
    n, wide = task.geometry.n_reduced, max(task.operand_type(i).itemsize for i in own.units)
    small = wide < WORD and n * own.rows * wide < LARGE_GROUP
    if not task.program.reduces or columns.vector_of(task) * wide >= WIDEST // 2 or small:
        return None
    least = ceil2(ceil(n / HELD))
    for lanes in (least << k for k in range((WARP // least).bit_length())):
        kept = ceil2(ceil(own.rows * lanes / WARP))
        plan = replace(_shape(n, "kept", lanes, 1, kept), tile_bytes=LARGEST["tile_bytes"])
        fits = kept <= max(WARPS_KEPT) and rows_that_fit(task, own, plan)
        if fits and most_waits(task, own, plan) <= MOST_WAITS:
            return plan
    return None


def _shape(n: int, fast: Axis, lanes: int, warps: int, kept: int) -> Plan:
    """A plan of these extents for rows of ``n`` elements, without a tile."""
    held = ceil(n / (lanes * warps))
    return Plan(fast, lanes=lanes, warps=warps, warps_kept=kept, resident="registers", held=held)
