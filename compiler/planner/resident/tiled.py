"""Rows of odd lengths: a CTA copies whole rows into shared memory, and its threads read them there by single elements.

Rows that begin anywhere cut the accesses at both ends, and their weights lie otherwise than they do. Where rows follow
each other, those of a CTA are one run of memory, which all threads copy in whole aligned accesses. In shared memory an
element costs the same wherever it lies. Results go back in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ...plan import tiles
from ...plan.launch import Launch
from ...plan.plan import LARGEST, Access, Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import BANKS, WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from .accesses import accesses, elements_of

HELD = threshold(40, "elements of a row that a thread keeps", sittings.TILED_ROWS)
"""A row gets as few threads, a power of two, as keep it in this many elements each."""
WARPS_KEPT = threshold((4, 2, 8, 1, 16), "warps of a CTA, in the order of choice", sittings.TILED_ROWS)
"""Warps with rows of their own: the first number by which lanes wait least."""
MOST_WAITS = threshold(3, "words of one bank that a warp asks for at a time", sittings.TILED_ROWS)
"""Elements of several sizes have no more lanes than this asks for: more lanes would cost more than they wait."""
WORK = threshold(64, "elements of a thread", sittings.TILED_ROWS)
"""A thread works on as many rows, one after another, as have so many elements of its own, if a tile holds them."""
MOST_ROUNDS = threshold(6, "rows of a thread", sittings.TILED_ROWS)
"""No tile is larger than for so many."""
WHOLE_WARP = threshold(32, "elements of a row that a thread keeps", sittings.TILED_ROWS)
"""A warp that keeps so many of one row in each thread works on one row."""
LONG_ROW_BYTES = threshold(6000, "bytes of a row", sittings.TILED_ROWS)
"""From here on rows of words, or of wider elements, have no tile if nothing else lies along them."""
FILLING_THREADS = threshold(256, "threads per SM", sittings.TILED_ROWS)
"""Fewer rows are shared by more threads each, without a tile."""
FILLING = threshold(8, "CTAs per SM", sittings.TILED_ROWS)
"""A CTA takes fewer rows one after another where these are not reached."""


def dense(task: Task) -> tuple[int, ...]:
    """The operands whose rows follow each other without gaps: those with the elements of rows, or none of them."""
    found = tuple(i for i in elements_of(task) if _is_dense(task, i))
    moving = [i for i in elements_of(task) if any(d.strides[i] for d in task.geometry.kept)]
    return found if len(found) == len(moving) else ()


def _is_dense(task: Task, operand: int) -> bool:
    """Whether the elements of an operand lie in the order of kept and then of reduced indices."""
    expected = 1
    for d in reversed((*task.geometry.kept, *task.geometry.reduced)):
        if d.strides[operand] != expected:
            return False
        expected *= d.size
    item = task.operand_type(operand).itemsize
    return task.start(operand) % item == 0 and bool(task.geometry.kept)


def pays(task: Task) -> bool:
    """Whether rows are faster through a tile: the widest accesses do not divide them, and there are enough of them.

    Long rows of words are as fast without, if nothing else lies along them, and no elements are narrower: the ends that
    are cut cost little.
    """
    rows, g = elements_of(task), task.geometry
    items = [task.operand_type(i).itemsize for i in rows]
    wide = max(items)
    found = accesses(task, "reduced", WIDEST // wide)
    aligned = all(found[i] == "aligned" for i in rows)
    beside = any(d.strides[i] for i in range(len(found)) if i not in rows for d in g.reduced)
    long = min(items) >= WORD and g.n_reduced * wide >= LONG_ROW_BYTES and not beside
    return not aligned and not long and g.n_kept * ceil(g.n_reduced / HELD) >= FILLING_THREADS * task.machine


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of rows that go through a tile; None where they do not follow each other, or are too long for one."""
    n, own = task.geometry.n_reduced, dense(task)
    if task.is_portable or not own or not n:
        return None
    found = _plan(task, ceil2(ceil(n / HELD)))
    if found is None:
        return None
    words = f"a CTA copies rows into {found.tile_bytes} bytes of shared memory, where it does not matter"
    notes.because(f"{words} where they begin", "tile_bytes", "vector")
    notes.because(f"{found.held} element(s) in each of {found.positions} thread(s) of a row", "held", "lanes", "warps")
    return found


def _plan(task: Task, threads: int) -> Plan | None:
    """A plan with ``threads`` threads a row or more, and the least tile for that; None where no tile is large enough.

    Lanes do not wait for each other at the banks; elements of several sizes, which no distance of rows suits, may.
    """
    n, items = task.geometry.n_reduced, {task.operand_type(i).itemsize for i in dense(task)}
    if threads > WARP:
        return _tiled(task, _shape(n, WARP, threads // WARP, 1))
    most = MOST_WAITS if len(items) > 1 else 1
    for lanes in (threads << k for k in range((WARP // threads).bit_length())):
        plans = [plan for kept in WARPS_KEPT if (plan := _tiled(task, _shape(n, lanes, 1, kept)))]
        waiting = [max(waits(plan, n, item) for item in items) for plan in plans]
        if plans and min(waiting) <= most:
            return plans[waiting.index(min(waiting))]
    return None


def _shape(n: int, lanes: int, warps: int, kept: int) -> Plan:
    """A plan of these extents for rows of ``n`` elements, without a tile."""
    held = ceil(n / (lanes * warps))
    return Plan("reduced", lanes=lanes, warps=warps, warps_kept=kept, resident="registers", held=held)


def _tiled(task: Task, plan: Plan) -> Plan | None:
    """``plan`` with the least tile for the rows that a thread works on; None where not even one fits the largest."""
    plans = [replace(plan, tile_bytes=1 << k) for k in range(LARGEST["tile_bytes"].bit_length())]
    rounds = [_rounds(task, p) for p in plans]
    whole = plan.lanes == WARP and plan.held >= WHOLE_WARP
    wanted = 1 if whole else min(max(1, WORK // plan.held), MOST_ROUNDS)
    wanted = min(wanted, rounds[-1])
    return next(p for p, each in zip(plans, rounds, strict=True) if each >= wanted) if wanted else None


def waits(plan: Plan, n: int, item: int) -> int:
    """The most words of one bank that the lanes of a warp ask for at a time, in rows of ``n`` elements of a tile.

    An access of 8 bytes serves half a warp at a time. A row may begin at any of the elements of a word.
    """
    width = max(WORD, item)
    together = BANKS // width
    worst = 0
    for begin in range(width // item):
        words: dict[int, set[int]] = {}
        for thread in range(together):
            row, lane = divmod(thread, plan.lanes)
            word = (begin + row * plan.warps_kept * n + lane) * item // width
            words.setdefault(word % together, set()).add(word)
        worst = max(worst, *map(len, words.values()))
    return worst


def rows_of_a_cta(task: Task, plan: Plan) -> int:
    """The rows that a CTA takes: a multiple of those that its threads work on at a time, or 0 where none fit.

    They are fewer than fit the tile if CTAs would not fill the machine.
    """
    rounds = _rounds(task, plan)
    filling = task.geometry.n_kept // (plan.slots * FILLING * task.machine)
    return plan.slots * max(min(1, rounds), min(rounds, filling))


def _rounds(task: Task, plan: Plan) -> int:
    """How many rows a thread can work on, one after another, so that those of a CTA fit its tile; 0 where none do."""
    operands = range(len(task.program.inputs) + len(task.program.outputs))
    own, inputs = dense(task), len(task.program.inputs)
    items = [task.operand_type(i).itemsize for i in operands]
    buffers = tiles.RowBuffers(plan, items, [i for i in own if i < inputs], [i for i in own if i >= inputs])
    return buffers.rounds(task.geometry.n_reduced)


def tiled(task: Task, found: Sequence[Access]) -> tuple[Access, ...]:
    """How operands are accessed where rows go through a tile, if ``found`` says how they are without one."""
    own = dense(task)
    return tuple(
        "tile" if i in own else "aligned" if access == "strided" and _is_side_by_side(task, i) else access
        for i, access in enumerate(found)
    )


def _is_side_by_side(task: Task, operand: int) -> bool:
    """Whether the elements of a row of an operand lie side by side."""
    expected = 1
    for d in reversed(task.geometry.reduced):
        if d.strides[operand] != expected:
            return False
        expected *= d.size
    return task.start(operand) % task.operand_type(operand).itemsize == 0


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: each CTA has the rows that fit its tile."""
    rows = rows_of_a_cta(task, plan)
    return Launch(ceil(task.geometry.n_kept / rows), 1, plan.held * plan.positions, units=rows)
