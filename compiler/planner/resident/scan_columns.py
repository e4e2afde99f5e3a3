"""Scans of many arrays of odd columns: a CTA keeps all columns of an array, and walks along them, a tile at a time.

Without a tile accesses to such rows are single elements, and strips of them begin anywhere. All columns of some rows
are one run of memory instead, which is copied to shared memory, and back, by whole accesses. No CTA waits for another
one, so there must be enough arrays for all SMs.
"""

from __future__ import annotations

from math import ceil

from ...plan import tiles
from ...plan.launch import Launch
from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2, floor2
from ..table import threshold
from ..task import Notes, Task
from . import columns, tile_groups
from .accesses import elements_of

ARRAYS = threshold(2, "arrays of columns for each SM", sittings.KEPT_COLUMNS)
"""Of fewer, CTAs take chunks of columns in strips."""
IN_FLIGHT = threshold(24 << 10, "bytes of an SM", sittings.KEPT_COLUMNS)
"""The tiles of the CTAs of an SM have about so many."""
TILES = threshold((4 << 10, 8 << 10, 16 << 10), "bytes of a tile", sittings.KEPT_COLUMNS)
"""The least one of at least that many; a larger one, where a tile would have fewer rows than LEAST_ROWS."""
LEAST_ROWS = threshold(32, "rows of a tile", sittings.KEPT_COLUMNS)
"""With fewer rows threads wait for tiles more than they work."""
HELD = threshold(21, "elements of a thread", sittings.KEPT_COLUMNS)
"""Of a column, in each tile."""
LANES = threshold(4, "lanes of a column", sittings.KEPT_COLUMNS)
"""At most, in each tile. So many of each column must fill a warp."""
CTAS = threshold(8, "CTAs of an SM", sittings.KEPT_COLUMNS)
"""At most, of THREADS in all."""
WHOLE_TILES = threshold(4, "tiles of a CTA", sittings.RINGS)
"""So many have places in shared memory, where they begin at whole accesses."""
OTHER_TILES = threshold(2, "tiles of a CTA", sittings.RINGS)
"""So many where they do not."""
ROOM = threshold(208 << 10, "bytes of an SM", sittings.RINGS)
"""All places of all CTAs of an SM have so many at most."""
THREADS = threshold(1024, "threads of an SM", sittings.KEPT_COLUMNS)
"""With more of them, few registers are left for elements."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that a CTA keeps; None where they are faster without, few, or not dense."""
    g, own = task.geometry, tile_groups.groups(task, alone=True)
    wide = max(task.operand_type(i).itemsize for i in elements_of(task))
    arrays = g.n_kept // max(1, g.columns)
    if own is None or columns.vector_of(task) > 1 or arrays < ARRAYS * task.machine:
        return None
    if g.columns * LANES < WARP:
        return None
    least = IN_FLIGHT / min(CTAS, arrays / task.machine)
    for size in TILES:
        rows = (size - tiles.EDGE) // (g.columns * wide)
        if size < least / 2**0.5 or rows < LEAST_ROWS:
            continue
        lanes = min(LANES, ceil2(ceil(rows / HELD)))
        most = min(HELD, rows // lanes)
        whole = _whole(task, own, lanes, most)
        held = whole or (most - 1) | 1  # neighbours then begin at different banks
        warps = ceil2(ceil(g.columns * lanes / WARP))
        ctas = max(1, min(CTAS, THREADS // (WARP * warps)))
        resident = min(ctas, ceil(arrays / task.machine))
        places = min(WHOLE_TILES if whole else OTHER_TILES, floor2(ROOM // (resident * size)))
        found = Plan(
            "kept", unroll=places, lanes=lanes, warps_kept=warps, tile_bytes=size, resident="chain", held=held,
            persistent=ctas,
        )  # fmt: skip
        if lanes * warps <= WARP * WARP and g.n_reduced > lanes * held and serves(task, found):
            words = f"a CTA keeps {g.columns} columns, and copies {lanes * held} rows of them at a time"
            notes.because(f"{words} into {size} bytes of shared memory", "persistent", "held")
            if places > 1:
                notes.because(f"{places} such tiles are there: while one is scanned the next ones are copied", "unroll")
            return found
    return None


def _whole(task: Task, own: tiles.Groups, lanes: int, most: int) -> int:
    """The most elements of a thread, at least 3/4 of ``most``, with which tiles begin at whole accesses; 0 for none.

    The accesses at both ends of other tiles are single elements, for which a thread waits.
    """
    items = {task.operand_type(i).itemsize for i in own.units}
    if any(own.rows * task.geometry.n_reduced * item % WIDEST for item in items):
        return 0
    for held in range(most, 3 * most // 4 - 1, -1):
        if not any(lanes * held * own.rows * item % WIDEST for item in items):
            return held
    return 0


def serves(task: Task, plan: Plan) -> bool:
    """Whether CTAs can keep columns, and walk along them: they are dense, side by side, and a tile has some rows."""
    own, g = tile_groups.groups(task, alone=True), task.geometry
    if own is None or len(g.reduced) != 1 or not 1 < own.rows == g.columns <= plan.slots:
        return False
    buffers, rows = tile_groups.buffers_of(task, own, plan), plan.held * plan.lanes
    room = [(buffers.share(buffers.reused.get(i, i)) - tiles.EDGE) // buffers.items[i] for i in own.units]
    beside = all(abs(g.reduced[0].strides[i]) == own.rows for i in own.units)
    return beside and plan.fast == "kept" and plan.vector == plan.warps == 1 and rows * own.rows <= min(room)


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: a CTA for each array of columns, or several if these are few, with tiles of so many rows."""
    each, chunk = task.geometry.columns, plan.held * plan.lanes
    arrays, tiles_ = ceil(task.geometry.n_kept / each), ceil(task.geometry.n_reduced / chunk)
    parts = 1 if arrays >= ARRAYS * task.machine else min(tiles_, max(1, task.machine * plan.persistent // arrays))
    parts = ceil(tiles_ / max(1, ceil(tiles_ / max(1, parts))))  # none has no tiles
    return Launch(arrays, parts, chunk, units=each, ctas=arrays * parts if parts > 1 else 0)
