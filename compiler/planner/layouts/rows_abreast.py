"""Rows abreast: columns whose rows follow each other in memory are read as those of fewer, wider rows.

Rows of 1,000 halves begin at no boundary of a line, so strips of them share lines, and those of 100 words fill no whole
number of strips. Of eight rows abreast, which are one wide row, strips are whole lines. A column of the array is then
several columns of the wide row, whose states meet with those of its parts.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.plan import Plan
from ...program.graph import ELEMENT, KEPT, SCALAR
from ...space.geometry import Dim, merged
from ..task import Task


def widened(task: Task, abreast: int) -> Task | None:
    """``task`` with so many rows abreast; None where its rows do not follow each other, or it needs them apart."""
    g, program = task.geometry, task.program
    if len(g.kept) != 1 or len(g.reduced) != 1 or g.repeats or g.gap or program.side or program.section:
        return None
    if program.gathered or set(program.numberings) - {SCALAR} or set(program.input_spaces) - {ELEMENT, KEPT}:
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


def serves(task: Task, plan: Plan) -> bool:
    """Whether ``plan`` can have its rows abreast: no access of a thread goes on from one row in the next."""
    if not plan.abreast:
        return False
    shared = plan.resident == "grid" and plan.fast == "kept" and not plan.in_teams
    return shared and task.geometry.columns % plan.vector == 0 and widened(task, plan.abreast) is not None
