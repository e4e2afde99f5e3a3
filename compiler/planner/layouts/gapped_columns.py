"""Columns cut out of wider rows: a walk by periods reads rows as wide as they lie in memory.

Between two rows of such columns lies a *gap*, so that the columns are no one run of elements, and begin anywhere. With
the gap they are one: the elements in it are reduced like other columns, and nobody writes the result. The memory
delivers their lines anyway. The last row ends with its columns.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.plan import Plan
from .. import sittings
from ..table import threshold
from ..task import Task
from . import rows_abreast

DENSE = threshold(3 / 4, "part of a row", sittings.GAPS)
"""Gaps are read as columns where at least this part of a row is columns."""


def as_read(task: Task, plan: Plan) -> Task:
    """``task`` as ``plan`` reads it: with the gaps as columns, where that makes periods, or with rows abreast."""
    if plan.abreast:
        return rows_abreast.as_read(task, plan) or task
    return (widened(task) if plan.walk == "period" else None) or task


def widened(task: Task) -> Task | None:
    """``task`` with the gap behind each row as columns; None where there is none, or a wide one."""
    g, inputs = task.geometry, range(len(task.program.inputs))
    if len(g.reduced) != 1 or not g.kept or g.repeats or g.gap or not inputs:
        return None
    inner, pitch = g.kept[-1], g.reduced[0].strides[0]
    alike = all((inner.strides[i], g.reduced[0].strides[i]) == (1, pitch) for i in inputs)
    if not alike or not DENSE * pitch <= inner.size < pitch:
        return None
    kept = (*g.kept[:-1], inner._replace(size=pitch))
    return replace(task, geometry=replace(g, kept=kept, gap=pitch - inner.size))
