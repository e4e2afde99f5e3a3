"""Scans of many arrays of odd columns: a CTA keeps all columns of an array, and walks along them, a tile at a time.

No wide access divides such rows, and strips of them begin anywhere. All columns of some rows are one run of memory
instead, which is copied to shared memory, and back, by whole accesses. No CTA waits for another one, so there must be
enough arrays for all SMs.
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
from . import columns, tiled
from .accesses import elements_of


def plan(task: Task, registers: int, notes: Notes) -> Plan | None:
    """The plan of columns that a CTA keeps; None where they are faster without, few, or not dense."""
    g, own = task.geometry, tiled.groups(task)
    wide = max(task.operand_type(i).itemsize for i in elements_of(task))
    if task.is_portable or own is None or columns.vector_of(task) * wide >= WIDEST:
        return None
    if g.n_kept < ARRAYS * own.rows * task.machine:
        return None
    return None


def serves(task: Task, plan: Plan) -> bool:
    """Whether CTAs can keep columns, and walk along them: they are dense, side by side, and a tile has some rows."""
    own, g = tiled.groups(task), task.geometry
    if own is None or len(g.reduced) != 1 or not 1 < own.rows == g.columns <= plan.slots:
        return False
    inputs, rows = len(task.program.inputs), plan.held * plan.lanes
    items, copied = _items(task), [i for i in own.units if i < inputs]
    buffers = tiles.RowBuffers(plan, items, copied, tiled.written(task, own, plan))
    room = [(buffers.share(buffers.reused.get(i, i)) - tiles.EDGE) // items[i] for i in own.units]
    beside = all(abs(g.reduced[0].strides[i]) == own.rows for i in own.units)
    return beside and plan.fast == "kept" and plan.vector == plan.warps == 1 and rows * own.rows <= min(room)


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: a CTA for each array of columns, with tiles of so many rows."""
    each = task.geometry.columns
    return Launch(ceil(task.geometry.n_kept / each), 1, plan.held * plan.lanes, units=each)


def _items(task: Task) -> list[int]:
    """The bytes of an element of each operand."""
    return [task.operand_type(i).itemsize for i in range(len(task.program.inputs) + len(task.program.outputs))]
