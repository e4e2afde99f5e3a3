"""Scans of short rows that no wide access divides: a CTA copies its rows into shared memory, and writes results there.

In shared memory an element costs the same wherever it lies. So each lane has a stretch of a row, and scans it by
itself: what comes before it is known after one exchange of its warp. A row needs no more than one warp.
"""

from __future__ import annotations

from math import ceil

from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from . import columns, tile_groups, tile_sizes, tiled
from .accesses import SHIFTED, accesses, elements_of

HELD = threshold(40, "registers of a thread", sittings.SHORT_SCANS)
"""A row gets as few lanes, a power of two, as hold the states of its elements in so many each."""
WARPS_KEPT = threshold((4, 2, 8, 1), "warps of a CTA, in the order of choice", sittings.SHORT_SCANS)
"""The first number by which lanes wait least."""
MOST_WAITS = threshold(3, "words of one bank that a warp asks for at a time", sittings.SHORT_SCANS)
"""More lanes share a row, each with fewer elements, where these would ask for more."""


def plan(task: Task, registers: int, notes: Notes, *, by_columns: bool) -> Plan | None:
    """The plan of rows that go through a tile; None where they are faster without, too long, or not dense.

    Args:
        task: the program and its arrays.
        registers: the registers that the state of an element takes.
        notes: gets the reasons.
        by_columns: whether neighbouring lanes have neighbouring rows without a tile.
    """
    if task.is_portable or not _pays(task, by_columns=by_columns):
        return None
    own, n = tile_groups.groups(task), task.geometry.n_reduced
    if own is None:
        return None
    most = max(1, HELD // registers)
    least = ceil2(ceil(n / most))
    for lanes in (least << k for k in range((WARP // least).bit_length())):
        held = n if lanes == 1 else min(most, ceil(n / lanes) | 1)  # neighbours then begin at different banks
        shapes = (Plan("kept", lanes=lanes, warps_kept=k, resident="chain", held=held) for k in WARPS_KEPT)
        plans = [p for shape in shapes if held * lanes >= n and (p := tile_sizes.least_tile(task, own, shape))]
        waits = [tile_groups.most_waits(task, own, p) for p in plans]
        if plans and min(waits) <= MOST_WAITS:
            found = plans[waits.index(min(waits))]
            words = f"a CTA copies rows into {found.tile_bytes} bytes of shared memory, where it does not matter"
            notes.because(f"{words} where they begin: each of {lanes} lane(s) has {held} element(s) of one", "held")
            return found
    return None


def serves(task: Task, plan: Plan) -> bool:
    """Whether rows can be scanned in the tile of ``plan``: a warp has whole ones of them, and some fit the tile."""
    if not task.geometry.n_reduced or plan.fast != "kept" or not plan.vector == plan.warps == 1:
        return False
    return plan.lanes * plan.held >= task.geometry.n_reduced and tile_sizes.rows_of_a_cta(task, plan) > 0


def _pays(task: Task, *, by_columns: bool) -> bool:
    """Whether the widest accesses do not divide rows, of which there are enough for all SMs.

    Long rows of words are as fast without a tile: the accesses that an end of the row cuts are few.
    """
    rows, g = elements_of(task), task.geometry
    items = [task.operand_type(i).itemsize for i in rows]
    wide = max(items)
    if not g.n_reduced or g.n_kept * ceil(g.n_reduced / HELD) < tiled.FILLING_THREADS * task.machine:
        return False
    if by_columns:
        return columns.vector_of(task) * wide < WIDEST
    found = accesses(task, "reduced", WIDEST // wide)
    long = min(items) >= WORD and g.n_reduced >= SHIFTED * (WIDEST // wide)
    return not long and any(found[i] not in ("aligned", "bits", "reversed") for i in rows)
