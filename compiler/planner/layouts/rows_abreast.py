"""Rows abreast: columns whose rows follow each other in memory are read as those of fewer, wider rows.

Rows of 1,000 halves begin at no boundary of a line, so strips of them share lines, and those of 100 words fill no whole
number of strips. Of eight rows abreast, which are one wide row, strips are whole lines. A column of the array is then
several columns of the wide row, whose states meet with those of its parts.

A wide row may also be any number of *periods*, as many as there are accesses for. After a period, which is a row, or an
image in which a column is a run of neighbours, the columns come again. Accesses go on from one column in the next, and
from one period in the next.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from ...plan.plan import Plan
from ...plan.tiles import SECTOR
from ...program.graph import ELEMENT, KEPT, SCALAR
from ...space.geometry import Dim, Geometry, merged
from .. import sittings
from ..alignment import LINE, WIDEST
from ..table import threshold
from ..task import Task

IN_LINES = threshold(0.95, "part of the periods", sittings.PERIODS_ABREAST)
"""Wide rows, and so strips, are whole lines of memory where these have so many of the periods that fit."""


def as_read(task: Task, plan: Plan) -> Task | None:
    """``task`` with rows abreast by ``plan``; None where its rows do not follow each other, or it needs them apart."""
    return in_periods(task, plan) if plan.in_periods else widened(task, plan.abreast)


def widened(task: Task, abreast: int) -> Task | None:
    """``task`` with so many rows abreast; None where its rows do not follow each other, or it needs them apart."""
    g = task.geometry
    if len(g.kept) != 1 or len(g.reduced) != 1 or not _is_plain(task, ELEMENT, KEPT):
        return None
    (columns,), (rows,) = g.kept, g.reduced
    apart = [(c, r) for c, r in zip(columns.strides, rows.strides, strict=True) if r]
    if not all(pair == (1, columns.size) for pair in apart) or abreast > rows.size:
        return None
    wide = -(-rows.size // abreast)
    beside = Dim(abreast, rows.strides)
    kept = merged([beside, columns])
    reduced = rows._replace(size=wide, strides=tuple(abreast * s for s in rows.strides))
    gap = (wide * abreast - rows.size) * columns.size
    return replace(task, geometry=replace(g, kept=kept, reduced=(reduced,), gap=gap))


def in_periods(task: Task, plan: Plan) -> Task | None:
    """``task`` with as many periods abreast as all CTAs have room for beside each other, in whole lines.

    Or in whole sectors, where threads share the columns of narrow strips: what two CTAs write costs more there. None
    where its arrays are no periods of columns, or it has values of columns that are read or written.
    """
    found = period_of(task.geometry)
    if found is None or not _is_plain(task, ELEMENT) or not all(o.space == ELEMENT for o in task.program.outputs):
        return None
    period, run = found
    elements, rank = period * task.geometry.n_reduced // run, len(task.geometry.offsets)
    moves = [max(abs(s) for s in strides) > 0 for strides in _strides(task.geometry)]
    item = min(task.operand_type(i).itemsize for i in range(rank) if moves[i])
    most = min(task.sms * plan.slots, elements) // period
    least = SECTOR if is_narrow(task.geometry, plan) else WIDEST
    lines, others = (_in_whole_units(most, period, nbytes // item) for nbytes in (LINE, least))
    abreast = lines if lines >= IN_LINES * others else others
    if not abreast:
        return None
    wide = abreast * period
    count = -(-elements // wide)
    along = [tuple(s * one for one in moves) for s in (1, wide)]
    kept, reduced = Dim(wide, along[0]), Dim(count, along[1])
    geometry = replace(
        task.geometry, kept=(kept,), reduced=(reduced,), gap=count * wide - elements, period=period, run=run
    )
    return replace(task, geometry=geometry)


def _in_whole_units(most: int, period: int, unit: int) -> int:
    """The largest number of periods, ``most`` or fewer, that together are whole units of ``unit`` elements."""
    each = unit // gcd(unit, period)
    return most // each * each


def period_of(g: Geometry) -> tuple[int, int] | None:
    """The elements of a period and of a run in it; None where the arrays with elements of rows are no periods.

    All others have no stride at all.
    """
    if len(g.kept) != 1 or not 1 <= len(g.reduced) <= 2 or not g.n_reduced:
        return None
    run = g.reduced[-1].size if len(g.reduced) > 1 else 1
    (columns,) = g.kept
    period = columns.size * run
    wanted = (run, period, 1)[: len(g.kept) + len(g.reduced)]
    own = [strides for strides in _strides(g) if any(strides)]
    return (period, run) if own and all(strides == wanted for strides in own) else None


def is_narrow(g: Geometry, plan: Plan) -> bool:
    """Whether a strip of periods of single elements is no longer than one, so that it has each column once."""
    period, run = (g.period, g.run) if g.period else period_of(g) or (0, 0)
    return plan.in_periods and run == 1 and plan.slots <= period


def _strides(g: Geometry) -> list[tuple[int, ...]]:
    """Of each operand its strides along the kept and the reduced dims."""
    return list(zip(*(d.strides for d in (*g.kept, *g.reduced)), strict=True))


def _is_plain(task: Task, *spaces: int) -> bool:
    """Whether nothing is gathered, numbered, repeated or folded aside, and the inputs have these spaces."""
    g, program = task.geometry, task.program
    if g.repeats or g.gap or program.side or program.section or program.gathered:
        return False
    return not set(program.numberings) - {SCALAR} and not set(program.input_spaces) - set(spaces)


def serves(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` can have its rows abreast: rows are whole accesses, or there is any number of rows."""
    if not plan.abreast:
        return False
    shared = plan.resident == "grid" and plan.fast == "kept" and not plan.in_teams
    if plan.in_periods:
        wide = in_periods(task, plan) if shared else None
        return wide is not None and (plan.positions == 1 or is_narrow(task.geometry, plan))
    return shared and task.geometry.columns % plan.vector == 0 and widened(task, plan.abreast) is not None
