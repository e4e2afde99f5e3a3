"""Tiles of rows that teams of CTAs hold in shared memory: a team takes one tile after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from ...errors import error
from ...plan.fields import MOST_HELD
from ...plan.launch import Launch
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..table import threshold
from ..task import Notes, Task
from . import columns, grid_facts
from .accesses import accesses, elements_of, vector_of, writes_bits

CTAS = threshold(2, "CTAs per SM", sittings.GRID_TEAMS)
"""Of different teams: one reads while another waits for the state of its rows."""
WARPS = threshold(8, "warps of a CTA", sittings.GRID_TEAMS)
"""Two such CTAs have up to 128 registers a thread."""
UNROLL = threshold(4, "accesses in flight", sittings.GRID_TEAMS)
"""Of a thread that reads its slots in a loop."""
WIDTH = threshold(128, "bytes of a row of a strip", sittings.GRID_TEAMS)
"""Neighbouring columns of a strip: whole lines of the cache."""
MOST_PARTS = threshold(64, "CTAs of a team", sittings.GRID_TEAMS)
"""Each combines the states of all."""
FILLED = threshold(3 / 4, "times the accesses that a thread has room for", sittings.GRID_TEAMS)
"""The least that wait: of so many the number is chosen with which teams are over at about the same time."""
WAITING = threshold(2, "arrays that wait", sittings.GRID_TEAMS)
"""The least: clusters hold columns of one array as fast, or faster."""
LEAST = threshold(96 << 20, "bytes of all rows", sittings.GRID_TEAMS)
"""Teams take too few tiles of less."""
LEAST_OF_PHASES = threshold(56 << 20, "bytes of all rows", sittings.GRID_TEAMS)
"""The same of narrow elements in several phases of many instructions."""
LENGTH = threshold(4096, "elements of a column", sittings.GRID_TEAMS)
"""The least of narrow elements: small clusters hold shorter ones."""
LENGTH_OF_WIDE = threshold(16384, "elements of a column", sittings.GRID_TEAMS)
"""The least of wider elements: the registers of clusters hold shorter ones."""
MEETING = threshold(4, "accesses of a thread", sittings.GRID_TEAMS)
"""A phase of a tile takes as long as so many more."""
IN_TEAMS: dict[str, Any] = {"resident": "grid", "persistent": CTAS}


def plan(task: Task, notes: Notes, *, by_columns: bool, asked: bool = False) -> Plan | None:
    """The plan of rows whose tiles teams of CTAs take in turn; None where others are faster.

    Where rows are ``asked`` to wait so, they do whatever it costs.
    """
    if task.is_portable or writes_bits(task) or not grid_facts.waiting_elements(task):
        return None
    base = _strips(task) if by_columns else _rows(task)
    found = next(iter(_holding(task, base, MOST_PARTS)), None)
    if found is None:
        return None
    if not asked and (reason := _slow(task, found, by_columns=by_columns)):
        notes.rejected.append(("persistent", reason))
        return None
    run = launch(task, found)
    rounds = ceil(run.tiles / run.teams)
    notes.forget({"held", "warps"})
    notes.because(
        f"{run.teams} team(s) of {run.split} CTAs hold a tile of rows each, in {rounds} turn(s)",
        *("resident", "persistent", "held"),
    )
    return found


def are_asked(wanted: Mapping[str, str]) -> bool:
    """Whether options ask for teams."""
    return wanted.get("resident") == "grid" and wanted.get("persistent", "0") != "0"


def _rows(task: Task) -> Plan:
    """The plan of rows whose elements follow each other: a tile is a row."""
    return Plan("reduced", "interleaved", vector_of(task, "reduced"), UNROLL, WARP, WARPS, **IN_TEAMS)


def _strips(task: Task) -> Plan:
    """The plan of rows whose elements lie apart: a tile is a strip of neighbouring rows."""
    vector, item = columns.vector_of(task), max(task.operand_type(i).itemsize for i in elements_of(task))
    lanes_kept = max(1, min(WARP, WIDTH // (item * vector)))
    return Plan("kept", "interleaved", vector, UNROLL, WARP // lanes_kept, WARPS, **IN_TEAMS)


def _holding(task: Task, plan: Plan, most: int) -> list[Plan]:
    """The plans that have room for their tiles in teams of at most ``most`` CTAs, in the order of their time."""
    span, room = layout_of(plan).span("reduced"), _room(task, plan)
    parts = [_parts(task, replace(plan, held=held)) for held in range(room, max(0, int(room * FILLED) - 1), -1)]
    found = [replace(plan, held=chunk // span) for count, chunk in dict.fromkeys(parts) if count <= most]
    return sorted(found, key=lambda p: _cost(task, p))


def _cost(task: Task, plan: Plan) -> int:
    """The elements that a CTA holds in all turns, and those that it could in the time of the meetings."""
    run = launch(task, plan)
    meetings = MEETING * len(task.program.reduces) * layout_of(plan).span("reduced")
    return ceil(run.tiles / run.teams) * (run.chunk + meetings) * plan.slots


def _slow(task: Task, plan: Plan, *, by_columns: bool) -> str:
    """Why another plan is faster; empty if none is."""
    rows = elements_of(task)
    if max(task.operand_type(i).itemsize for i in rows) > WORD:
        return "wider elements were not measured"
    if not by_columns:
        return "rows whose elements follow each other are faster otherwise"
    if REDUCED in task.program.input_spaces:
        return "weights along columns were not measured"
    again, narrow = len(task.program.reduces) > 1, grid_facts.is_narrow(task)
    length = LENGTH if narrow else LENGTH_OF_WIDE
    if len(grid_facts.waiting_elements(task)) < WAITING or task.geometry.n_reduced < length:
        return "clusters hold columns of one array, and short ones, as fast"
    nbytes = grid_facts.bytes_of(task)
    heavy = narrow and grid_facts.instructions(task.program) > grid_facts.LIGHT
    least = LEAST_OF_PHASES if again and heavy else LEAST
    if nbytes < least:
        return f"{nbytes} bytes of all rows: {least} are faster so"
    if heavy and not again:
        return "narrow elements compute for longer than a second read takes"
    found = accesses(task, plan.fast, plan.vector)
    whole = plan.vector * max(task.operand_type(i).itemsize for i in rows) >= WIDEST
    if not whole or any(found[i] != "aligned" for i in rows):
        return "rows that are read by less than whole accesses are faster otherwise"
    return ""


def _room(task: Task, plan: Plan) -> int:
    """The accesses of a thread for which there is room if an SM holds its CTAs."""
    target = task.target
    return grid_facts.room(
        task, plan, min(target.shared_per_cta, target.shared_per_sm // plan.persistent - target.reserved_shared)
    )


def _most(task: Task, plan: Plan) -> int:
    """The CTAs that run at a time."""
    return grid_facts.ctas(task) * plan.persistent


def _parts(task: Task, plan: Plan) -> tuple[int, int]:
    """The CTAs that hold a tile, and the elements of a row that each has: nearly equally many."""
    span, length = layout_of(plan).span("reduced"), grid_facts.length_of(task, plan)
    chunk = ceil(length / ceil(length / (plan.held * span)) / span) * span
    return ceil(length / chunk), chunk


def overridden(task: Task, chosen: Plan, wanted: Mapping[str, str]) -> Plan:
    """The plan ``chosen``, of which ``wanted`` are the fields that were asked for.

    Raises:
        PlanError: WF403 where no access waits in shared memory, WF425 for a cluster or accesses that wait elsewhere,
            WF437 for a tile that needs more CTAs than run at a time, and for portable bits.
    """
    name = task.program.name
    for key, only in (("cluster", 1), ("in_registers", 0), ("in_cache", 0)):
        if key in wanted and getattr(chosen, key) != only:
            raise error("WF425", name=name, key=key, value=getattr(chosen, key), only=only)
    found = replace(chosen, cluster=1)
    room = _room(task, found)
    if "held" not in wanted:
        plans = [p for most in (MOST_PARTS, _most(task, found)) for p in _holding(task, found, most)]
        found = plans[0] if plans else replace(found, held=room)
    if found.held > room:
        raise error("WF403", key="held", value=found.held, expected=f"a number up to {room}")
    if not found.held:
        raise error("WF403", key="held", value=found.held, expected=f"a number from 1 to {MOST_HELD}")
    parts, chunk = _parts(task, found)
    if found.fragments == "matrix":  # whose threads make all accesses that they hold
        found = replace(found, held=chunk // layout_of(found).span("reduced"))
    if parts > _most(task, found) or task.is_portable:
        raise error("WF437", name=name, needed=f"{parts} parts of a tile", ctas=_most(task, found))
    return found


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: as many teams as run at a time, if there is a tile for each."""
    tiles, (parts, chunk) = ceil(task.geometry.n_kept / plan.slots), _parts(task, plan)
    return Launch(tiles, parts, chunk, teams=max(1, min(tiles, _most(task, plan) // parts)))
