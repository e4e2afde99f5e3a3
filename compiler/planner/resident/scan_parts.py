"""Scans of few tall arrays of odd columns: CTAs keep the columns of an array, each with a part of the rows.

A CTA has all columns of its rows, which are one run of memory, as where arrays are many (``scan_columns.py``). It goes
through its part twice, first for the states of its columns, and waits for those of the parts before once. So there are
as many parts as the GPU holds CTAs at a time.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan import tiles
from ...plan.fields import TILE_UNIT
from ...plan.plan import STATIC_TILE, Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import floor2
from ..table import threshold
from ..task import Notes, Task
from . import columns, scan_columns, tile_groups
from .accesses import elements_of

FEW = threshold({1: 33, 2: 193, 4: 81, 8: 33}, "columns, by bytes of an element", sittings.RINGS)
"""At most, from LEAST on. Of more columns a strip of some is faster, and its chunk waits for fewer states."""
COLUMNS = threshold({1: 33, 2: 545, 4: 225, 8: 65}, "columns, by bytes of an element", sittings.RINGS)
"""The same of one array from LARGE on."""
OF_SEVERAL = threshold(33, "columns", sittings.PARTS_OF_COLUMNS)
"""At most, where a state takes two registers. With more registers strips are kept."""
BESIDE = threshold({2: 132, 4: 10}, "columns, by bytes of an element", sittings.PARTS_OF_COLUMNS)
"""At most, where accesses have several columns; of other elements strips are as fast."""
WHOLE = threshold(40, "columns of two bytes", sittings.PARTS_OF_COLUMNS)
"""The same where accesses have 16 bytes, or there are several arrays. A power of two of whole accesses has roles."""
LEAST = threshold({1: 46 << 20, 2: 64 << 20}, "bytes moved, by registers of a state", sittings.PARTS_OF_COLUMNS)
"""With fewer bytes most of the time would go by until all parts have looked back."""
LARGE = threshold(120 << 20, "bytes moved", sittings.PARTS_OF_COLUMNS)
"""From here on the wait is a small part for several arrays, or more columns, too."""
ARRAYS = threshold({1: 1, 2: 16, 4: 8, 8: 1}, "arrays, by bytes of an element", sittings.PARTS_OF_COLUMNS)
"""Of more, the chunks before a strip's have left their states when it asks for them."""
THREADS = threshold({1: 672, 2: 672, 4: 320, 8: 320}, "threads of an SM, by bytes of an element", sittings.RINGS)
"""At most, if that is a CTA or more: parts are fewer, look at fewer states, and have more tiles in shared memory."""
LANES_FROM = threshold({1: 256, 2: 256, 4: 128, 8: 128}, "lanes of a tile, by bytes of an element", sittings.RINGS)
"""A column gets two lanes or more, a power of two, so that a tile has as many: as many look back for it. It gets one
where two would be more than THREADS."""
TILES = threshold({1: 2, 2: 4, 4: 8, 8: 8}, "tiles of a CTA, by bytes of an element", sittings.RINGS)
"""So many have places in shared memory, or half as many, and so on: while one is scanned the next ones are copied."""
HELD = threshold((12, 24), "elements of a thread", sittings.PARTS_OF_COLUMNS)
"""The least and the most. Of these numbers the largest is taken at which lanes wait little for banks."""
WAITS = threshold(2, "words of one bank that a warp asks for at a time", sittings.RINGS)
"""Up to here states of one register do not take fewer elements for the sake of banks."""
REGISTERS = threshold(28, "registers of a thread", sittings.RINGS)
"""The states of its elements take so many at most."""


def plan(task: Task, registers: int, notes: Notes) -> Plan | None:
    """The plan of columns of which CTAs have parts; None where they are faster without.

    Args:
        task: the program and its arrays.
        registers: the registers that the state of an element takes.
        notes: gets the reasons.
    """
    g, own = task.geometry, tile_groups.groups(task, alone=True)
    if own is None or not _pays(task, registers):
        return None
    item = _item(task)
    lanes = 1 if 2 * g.columns > THREADS[item] else 2
    while 1 < lanes < WARP and g.columns * lanes < LANES_FROM[item]:
        lanes *= 2
    warps = ceil(g.columns * lanes / WARP)
    ctas = max(1, THREADS[item] // (WARP * warps))
    shape = Plan("kept", lanes=lanes, warps_kept=warps, resident="chain", persistent=ctas)
    most = max(HELD[0], min(HELD[1], REGISTERS // registers))
    plans = [_with_tiles(task, own, replace(shape, held=held), item) for held in range(most, HELD[0] - 1, -1)]
    waits = [(_cost(task, own, p, registers), p) for p in plans if p and scan_columns.serves(task, p)]
    if not waits or warps > WARP:
        return None
    found = min(waits, key=lambda w: w[0])[1]
    words = (
        f"a CTA keeps {g.columns} columns of a part of the rows, and goes through it twice, {lanes * found.held} rows"
    )
    notes.because(f"{words} at a time, in {found.tile_bytes} bytes of shared memory", "persistent", "held")
    notes.because(f"{found.unroll} such tiles are there: while one is scanned the next ones are copied", "unroll")
    return found


def _cost(task: Task, own: tiles.Groups, plan: Plan, registers: int) -> tuple[bool, int, int]:
    """What makes a plan worse, the most important first: tiles that begin between accesses, lanes that wait, few rows.

    The accesses at both ends of such a tile are single elements, for which a thread waits.
    """
    rows = plan.lanes * plan.held * own.rows
    between = any(rows * task.operand_type(i).itemsize % WIDEST for i in own.units)
    waits = tile_groups.most_waits(task, own, plan)
    return between, max(waits, WAITS) if registers == 1 else waits, -plan.held


def _item(task: Task) -> int:
    """The bytes of the widest element that is read."""
    rows = elements_of(task)
    return max((task.operand_type(i).itemsize for i in rows if i < len(task.program.inputs)), default=0)


def _pays(task: Task, registers: int) -> bool:
    """Whether columns are few and arrays are few and long, and accesses to neighbouring columns are narrow."""
    g, rows = task.geometry, elements_of(task)
    item = _item(task)
    arrays, vector = g.n_kept // max(1, g.columns), columns.vector_of(task)
    if registers not in LEAST or item not in FEW or arrays > ARRAYS[item]:
        return False
    moved = g.n_kept * g.n_reduced * sum(task.operand_type(i).itemsize for i in rows)
    most = COLUMNS[item] if arrays == 1 and moved >= LARGE else FEW[item]
    if vector > 1:
        whole = vector * item == WIDEST
        most = min(most, BESIDE.get(item, 0), WHOLE if whole or arrays > 1 else most)
        if whole and (item > columns.NARROW or g.columns & (g.columns - 1) == 0):
            return False
    if registers > 1:
        most = min(most, OF_SEVERAL)
    return g.columns <= most and moved >= (LEAST[registers] if arrays == 1 else LARGE)


def _with_tiles(task: Task, own: tiles.Groups, plan: Plan, item: int) -> Plan | None:
    """``plan`` with the least tile for the rows that its lanes have, and as many as have room; None without two."""
    items = [task.operand_type(i).itemsize for i in own.units]
    copied = tile_groups.buffers_of(task, own, replace(plan, tile_bytes=STATIC_TILE)).own
    row = sum(task.operand_type(i).itemsize for i in copied)
    nbytes = row * (plan.lanes * plan.held * own.rows + ceil((tiles.EDGE + tiles.ACCESS) / min(items)))
    found = ceil(nbytes / TILE_UNIT) * TILE_UNIT
    most = min(TILES[item], floor2(scan_columns.ROOM // (plan.persistent * found)))
    return replace(plan, tile_bytes=found, unroll=most) if most > 1 else None
