"""How large the tile of rows is, and how many of them a CTA takes and a thread works on, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ...plan import tiles
from ...plan.launch import Launch
from ...plan.plan import STATIC_TILE, Plan
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..table import threshold
from ..task import Task
from . import held
from .tile_groups import groups, rows_that_fit

LEAST_TILE = threshold(4 << 10, "bytes of a tile", sittings.SHORT_ROWS)
"""The least: an SM holds 32 CTAs."""
READ_TILES = threshold((8 << 10, 16 << 10), "bytes of a tile", sittings.SHORT_ROWS)
"""The sizes where nothing is written for elements of rows: a thread works on one row, and more CTAs read at a time."""
WORK = threshold(64, "elements of a thread", sittings.TILED_ROWS)
"""A thread works on as many rows, one after another, as have so many elements of its own, if a tile holds them."""
WORK_APART = threshold(32, "elements of a thread", sittings.GROUPED_ROWS)
"""The same where rows are in groups."""
WORK_OF_MAPS = threshold(24, "elements of a thread", sittings.TRANSPOSED)
"""The same where nothing is folded, and rows are not in groups."""
WORK_WITH_VALUES = threshold(20, "elements of a thread", sittings.GROUPED_ROWS)
"""The same where a result has a value for each row, such as a scale; a thread then works on two rows at least."""
MOST_ROUNDS = threshold(6, "rows of a thread", sittings.TILED_ROWS)
"""No tile is larger than for so many."""
WHOLE_WARP = threshold(32, "elements of a row that a thread keeps", sittings.TILED_ROWS)
"""A warp that keeps so many of one row in each thread works on one row."""
FILLED = threshold(0.75, "part of the groups that fit", sittings.GROUPED_ROWS)
"""A CTA takes all groups that fit a tile rather than fewer than this, though fewer threads work in its last turn."""
FILLING = threshold(8, "CTAs per SM", sittings.TILED_ROWS)
"""A CTA takes fewer rows one after another where these are not reached."""


def least_tile(task: Task, own: tiles.Groups, plan: Plan) -> Plan | None:
    """``plan`` with the least tile for the rows that a thread works on; None where not even one fits the largest.

    It has twice the bytes where three groups fit these, and but one the least.
    """
    sizes: Sequence[int] = [LEAST_TILE << k for k in range((STATIC_TILE // LEAST_TILE).bit_length())]
    if only_reads(task) and own.rows == 1 and plan.warps == 1:
        sizes = READ_TILES
    plans = [replace(plan, tile_bytes=size) for size in sizes]
    rounds = [_rounds(task, own, p) for p in plans]
    wanted = min(_wanted(task, plan, apart=own.rows > 1), rounds[-1])
    if not wanted:
        return None
    least, *more = (p for p, each in zip(plans, rounds, strict=True) if each >= wanted)
    half_empty = own.rows > 1 and plan.lanes < WARP and more
    return more[0] if half_empty and rows_that_fit(task, own, more[0]) >= 3 * rows_that_fit(task, own, least) else least


def _wanted(task: Task, plan: Plan, *, apart: bool) -> int:
    """The rows on which a thread works, one after another, if a tile holds them; ``apart`` if they are in groups."""
    if plan.lanes == WARP and plan.held >= WHOLE_WARP:
        return 1
    if only_reads(task) and not apart:
        return 1
    if has_values_of_rows(task):
        return max(2, min(WORK_WITH_VALUES // plan.held, MOST_ROUNDS))
    of_folds, of_maps = WORK_APART if plan.fast == "kept" else WORK, WORK if apart else WORK_OF_MAPS
    work = of_folds if task.program.reduces else of_maps
    return min(max(1, work // plan.held), MOST_ROUNDS)


def rows_of_a_cta(task: Task, plan: Plan) -> int:
    """The rows that a CTA takes, whole groups: about as many as its threads work on at a time, or a multiple of that.

    They are fewer than fit the tile if CTAs would not fill the machine, and 0 where no group fits it.
    """
    own = groups(task)
    fitting = rows_that_fit(task, own, plan) if own else 0
    if not own or not fitting or plan.cluster > 1:
        return own.rows if own and fitting else 0
    filling = task.geometry.n_kept // (plan.slots * FILLING * task.machine)
    turns = max(1, min(_turns(own, plan, fitting), filling))
    rows = max(1, plan.slots * turns // own.rows) * own.rows
    if own.rows > 1 and filling > turns and rows <= FILLED * fitting:
        return fitting
    return min(fitting, rows)


def _rounds(task: Task, own: tiles.Groups, plan: Plan) -> int:
    """How many rows a thread can work on, one after another, so that those of a CTA fit its tile; 0 where none do."""
    return _turns(own, plan, rows_that_fit(task, own, plan))


def _turns(own: tiles.Groups, plan: Plan, rows: int) -> int:
    """The rows of a thread, of so many of a CTA: in groups the threads of the last turn may be half as many."""
    return max(min(1, rows), (rows + (plan.slots // 2 if own.rows > 1 else 0)) // plan.slots)


def part_of(task: Task, plan: Plan) -> int:
    """The elements of a row that a CTA of a cluster has: equal parts, of which the last one may lack some."""
    return ceil(task.geometry.n_reduced / plan.cluster)


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: each CTA has the rows that fit its tile."""
    rows = rows_of_a_cta(task, plan)
    if plan.cluster > 1:
        return Launch(ceil(task.geometry.n_kept / rows), plan.cluster, part_of(task, plan), units=rows)
    each = plan.held or held.needed(task, plan)
    return Launch(ceil(task.geometry.n_kept / rows), 1, each * plan.positions, units=rows)


def only_reads(task: Task) -> bool:
    """Whether no result has elements of rows."""
    return not any(o.space & REDUCED for o in task.program.outputs)


def has_values_of_rows(task: Task) -> bool:
    """Whether a result has one value a row: lanes of neighbouring rows write these at once."""
    return any(o.space & REDUCED == 0 for o in task.program.outputs)
