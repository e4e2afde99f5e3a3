"""Where the rows of a program wait that it reads again: the plan of the CTAs or of the cluster that own them."""

from __future__ import annotations

from ...plan.ladder import expand
from ...plan.plan import STATIC_SHARED, Plan
from ...plan.shared_memory import shared_bytes
from ...program.graph import REDUCED
from ..options import ask_for_blocks
from ..table import Sitting, threshold
from ..task import Notes, Task
from . import (
    few,
    grid,
    grid_periods,
    grid_teams,
    kept_columns,
    l2,
    maps,
    matrix_tiles,
    once,
    overlapping_columns,
    rows,
    shared_columns,
    shared_rows,
    tiled,
    transposed,
)
from .accesses import elements_of, has_bits, is_by_columns, writes_bits
from .asked import names_residency
from .columns import NARROW

LITTLE_MORE = threshold(1.25, "times the elements that all steps read", Sitting("2026-11-25", "ececb7f"))
"""Rows whose results are values of rows alone are cut at the grid where reductions then read less than this: they need
no registers for a row."""


def owning(task: Task, notes: Notes, wanted: str = "") -> Plan | None:
    """The plan by which a CTA or a cluster owns its rows; None where they, or their states, are too large for that.

    Where ``wanted`` names a residency, rows of any length have a plan to put it in.
    """
    found = _owning(task, notes, wanted)
    states = sum(t.itemsize for t in task.program.states)
    if found is None or wanted or shared_bytes(found, states) <= STATIC_SHARED:
        return found
    notes.rejected.append((f"resident={found.resident}", f"states of {states} bytes do not fit shared memory"))
    return None


def _owning(task: Task, notes: Notes, wanted: str) -> Plan | None:
    """The same, whatever room states take."""
    if ask_for_blocks(wanted):
        return matrix_tiles.plan(task, notes)
    by_columns = is_by_columns(task) and not writes_bits(task)
    if task.few and not names_residency(wanted):
        return few.plan(task, notes, by_columns=by_columns)
    if len(task.program.reduces) == 1 and once.serves(task):
        return once.plan(task, notes)
    if task.is_portable:
        found = rows.portable_plan(task, notes, by_columns=by_columns)
    elif by_columns and not wanted and matrix_tiles.holds(task):
        found = matrix_tiles.plan(task, notes)
    else:
        found = None if wanted else grid_periods.plan(task, notes)
        found = found or _tiled(task, notes, wanted, by_columns=by_columns)
        if found:
            return found
        found = grid_teams.plan(task, notes, by_columns=True) if by_columns and not wanted else None
        if found:
            return found
        found = (_of_columns if by_columns else _of_rows)(task, notes, wanted)
        near = found is not None and found.resident == "registers"
        if not near and not by_columns and not names_residency(wanted) and rows.are_narrow_runs(task):
            notes.rejected.append(("resident=shared", "kernels of their own read runs of narrow elements faster"))
            return None
    if found is None or expand(wanted).get("resident") == "grid":
        found = _shared_by_ctas(task, notes, wanted, by_columns=by_columns) or found
    walked = found is None and names_residency(wanted) and not writes_bits(task)
    return rows.walked_plan(task) if walked else found


def _tiled(task: Task, notes: Notes, wanted: str, *, by_columns: bool = False) -> Plan | None:
    """The plan of rows that go through a tile, if that pays or ``wanted`` asks for it."""
    asked = expand(wanted).get("tile_bytes", "")
    wants = asked != "0" and not has_bits(task) and (asked or tiled.pays(task, by_columns=by_columns))
    return tiled.plan(task, notes) if wants else None


def _of_rows(task: Task, notes: Notes, wanted: str) -> Plan | None:
    """The plan of rows that a CTA or a cluster keeps; None where they are too long, or faster otherwise."""
    own = Notes()
    found = rows.plan(task, own)
    weighted = found is not None and REDUCED in task.program.input_spaces
    if found and weighted and not wanted and shared_rows.is_long(task, found) and l2.divides(task):
        notes.rejected.append(("resident=shared", "long rows with weights are faster in whole chunks"))
        return None
    notes.reasons += own.reasons
    notes.rejected += own.rejected
    return found


def _of_columns(task: Task, notes: Notes, wanted: str) -> Plan | None:
    """The plan of columns that a CTA or a cluster keeps; None where they are too long, or faster otherwise."""
    own = Notes()
    found = _columns_on_chip(task, own)
    if found and (not wanted or is_far(None, wanted)) and l2.takes(task, found):
        notes.rejected.append(("resident=registers", f"columns in clusters of {found.cluster} CTAs are slower"))
        return None
    notes.reasons += own.reasons
    notes.rejected += own.rejected
    return found


def _columns_on_chip(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that wait on chip; None where they are too long for that."""
    if max(task.operand_type(i).itemsize for i in elements_of(task)) > NARROW:
        found = shared_columns.of_words(task, notes)
    else:
        found = kept_columns.of_pairs(task, notes) or overlapping_columns.plan(task, notes)
        found = found or shared_columns.halves_in_lines(task, notes) or shared_columns.plan(task, notes)
    return found or kept_columns.plan(task, notes)


def _shared_by_ctas(task: Task, notes: Notes, wanted: str, *, by_columns: bool) -> Plan | None:
    """The plan of rows that CTAs of the grid share, all at once or in chunks; None where a cut is faster."""
    asked, chunked = expand(wanted).get("resident"), Notes()
    if grid_teams.are_asked(expand(wanted)):
        return grid_teams.plan(task, notes, by_columns=by_columns, asked=True)
    cached = l2.plan(task, chunked, by_columns=by_columns, asked=names_residency(wanted))
    if asked in (None, "grid"):
        found = grid.plan(task, notes, by_columns=by_columns, cached=cached is not None, asked=asked == "grid")
        if found:
            return found
    notes.reasons += chunked.reasons
    notes.rejected += chunked.rejected
    return cached


def mapping(task: Task, notes: Notes, wanted: str = "") -> Plan:
    """The plan of a program without a fold."""
    if task.few:
        return few.mapping(task, notes)
    if ask_for_blocks(wanted) or (not wanted and matrix_tiles.pays(task)):
        return matrix_tiles.plan(task, notes)
    blocks = transposed.plan(task)
    if blocks and transposed.fits(task, blocks.with_options(wanted)):
        size = f"{blocks.vector} x {blocks.held}"
        how = f"each thread transposes a block of {size}"
        if blocks.exchanges:
            how = f"a CTA exchanges {blocks.slots} x {blocks.positions * blocks.held} elements in shared memory"
        notes.because(f"arrays lie across each other: {how}", "held", "vector", "walk", "resident")
        return blocks
    found = None if is_by_columns(task) else _tiled(task, notes, wanted)
    return found or maps.plan(task, notes)


def is_far(plan: Plan | None, wanted: str = "") -> bool:
    """Whether rows wait so far from the threads, by their ``plan`` or by options, that they are read seldom."""
    asked = expand(wanted)
    if (plan and plan.in_teams) or grid_teams.are_asked(asked):
        return False
    resident = asked.get("resident", "" if names_residency(wanted) or plan is None else plan.resident)
    return resident in ("grid", "l2")
