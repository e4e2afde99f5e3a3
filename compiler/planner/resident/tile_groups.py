"""Groups of rows in tiles: which rows are dense in memory, how many fit a tile, and how their elements are accessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...plan import tiles
from ...plan.fields import Access
from ...plan.plan import Plan
from ...space.geometry import Geometry
from .. import sittings
from ..alignment import WIDEST
from ..table import threshold
from ..task import Task
from . import banks
from .accesses import across_rows, elements_of

WORKING = threshold(0.5, "part of the threads of a CTA", sittings.GROUPED_ROWS)
"""So many have a row of one large group, or the tile is too small for it."""
LARGE_GROUP = threshold(20_000, "bytes of a group", sittings.GROUPED_ROWS)
"""Groups of narrow elements go through a large tile from here on: an SM holds two CTAs, which read that much."""
MOST_WAITS = threshold(3, "words of one bank that a warp asks for at a time", sittings.TILED_ROWS)
"""Rows of narrow elements, those that do not lie alike in all arrays, and those whose elements lie apart have no more
lanes than this asks for: more lanes would cost more than they wait."""


def groups(task: Task, *, alone: bool = False) -> tiles.Groups | None:
    """The groups of rows that a CTA copies, with the operands that it copies; None where these are not dense.

    They are those with elements of rows. An input that is the same along the outermost dim is read where it is, and so
    is an array that lies across, if nothing is folded. Where a group may be ``alone``, it may have all rows.
    """
    g = task.geometry
    own = [i for i in elements_of(task) if g.kept and g.kept[0].strides[i] and i not in arrays_across(task)]
    results = range(len(task.program.inputs), len(g.offsets))
    items = {i: task.operand_type(i).itemsize for i in own}
    if not own or any(task.start(i) % item for i, item in items.items()):
        return None
    return tiles.groups(_upright(g) if task.program.scan else g, items, results, alone=alone)


def _upright(geometry: Geometry) -> Geometry:
    """``geometry`` with the reduced dims from the first element in memory on: scans go along them in reverse, too."""
    reduced = (d._replace(strides=tuple(map(abs, d.strides))) for d in geometry.reduced)
    return replace(geometry, reduced=tuple(reduced))


def arrays_across(task: Task) -> list[int]:
    """The arrays of a program without a fold that lie across the rows of others."""
    return [] if task.program.reduces else across_rows(task)


def most_waits(task: Task, own: tiles.Groups, plan: Plan) -> int:
    """The most words of one bank that the lanes of a warp ask for at a time, over all arrays in tiles."""
    return max(banks.waits(plan, task.geometry, i, task.operand_type(i).itemsize) for i in own.units)


def rows_that_fit(task: Task, own: tiles.Groups, plan: Plan) -> int:
    """How many rows fit the tile, in whole groups; 0 where too few threads had one.

    Warps that share a row work on one alone, whose elements are side by side.
    """
    if plan.cluster > 1 and len(task.geometry.reduced) != 1:  # whose CTAs have parts of one dim
        return 0
    buffers = buffers_of(task, own, plan)
    rows = buffers.groups(own.units, task.geometry.n_reduced) * own.rows
    if plan.warps > 1 and not plan.waits_in_tile:
        alone = own.rows == 1 and all(is_side_by_side(task, i) for i in own.units)
        return min(1, rows) if alone else 0
    if plan.is_large_tile:
        rows = min(rows, plan.slots // own.rows * own.rows)
    return rows if rows >= plan.slots * (WORKING if own.rows > 1 else 1) else 0


def buffers_of(task: Task, own: tiles.Groups, plan: Plan) -> tiles.RowBuffers:
    """The buffers of a tile of ``plan``."""
    inputs, count = len(task.program.inputs), len(task.program.inputs) + len(task.program.outputs)
    items = [task.operand_type(i).itemsize for i in range(count)]
    return tiles.RowBuffers(plan, items, [i for i in own.units if i < inputs], written(task, own, plan))


def written(task: Task, own: tiles.Groups, plan: Plan) -> list[int]:
    """The results that go back through the tile.

    Where rows wait in the tile, a thread writes an element to where it read one, while others read theirs. So a result
    that takes the place of an input must lie as every input with elements of its size does, or it is written where it
    is. Results that no input leaves a place have buffers of their own.
    """
    g, inputs = task.geometry, len(task.program.inputs)
    dims, results = (*g.kept, *g.reduced), [i for i in own.units if i >= inputs]
    if not plan.waits_in_tile:
        return results

    def place(operand: int) -> tuple[int, ...]:
        return (task.start(operand) % WIDEST, *(d.strides[operand] for d in dims))

    found: list[int] = []
    for result in results:
        size = task.operand_type(result).itemsize
        read, made = ([i for i in among if task.operand_type(i).itemsize == size] for among in (own.units, found))
        read = [i for i in read if i < inputs]
        if len(made) >= len(read) or all(place(i) == place(result) for i in read):
            found.append(result)
    return found


def tiled(task: Task, plan: Plan, found: Sequence[Access]) -> tuple[Access, ...]:
    """How operands are accessed where rows go through a tile, if ``found`` says how they are without one."""
    own, inputs = groups(task, alone=plan.keeps_columns), len(task.program.inputs)
    assert own is not None  # or the plan would have no tile
    in_tile = {*(i for i in own.units if i < inputs), *written(task, own, plan)}

    def access(operand: int, without: Access) -> Access:
        dense = is_side_by_side(task, operand)
        if operand in in_tile:
            return "tile" if dense else "tile_strided"
        return "aligned" if without == "strided" and dense and operand < inputs else without

    return tuple(access(i, without) for i, without in enumerate(found))


def is_side_by_side(task: Task, operand: int) -> bool:
    """Whether the elements of a row of an operand lie side by side."""
    expected = 1
    for d in reversed(task.geometry.reduced):
        if d.strides[operand] != expected:
            return False
        expected *= d.size
    return task.start(operand) % task.operand_type(operand).itemsize == 0
