"""Persistent CTAs: what is the same for all rows, such as weights, is read once and waits in shared memory.

Read again with each row it would come from caches, and each read behind a meeting would wait once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...plan.fields import Access
from ...plan.plan import Plan
from ...program.graph import REDUCED
from ..task import Notes, Task
from .accesses import accesses, elements_of
from .sides import STATIC

HELD = ("aligned", "unaligned", "strided")
"""The accesses that slots of shared memory take."""


def operands(task: Task, found: Sequence[Access]) -> tuple[int, ...]:
    """The inputs along rows, accessed as ``found`` says, that have the same elements in each row."""
    program, apart = task.program, {*elements_of(task)}
    return tuple(
        i
        for i, space in enumerate(program.input_spaces)
        if space & REDUCED and i not in apart and found[i] in HELD and not any(d.strides[i] for d in task.geometry.kept)
    )


def reading(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan``, whose CTAs read once what all rows need, if an SM has room for it beside their rows."""
    own = operands(task, accesses(task, plan.fast, plan.vector))
    if not own or task.few or _bytes(task, plan, own) > _room(task, plan):
        return plan
    notes.because("what all rows share is read once, and waits in shared memory", "reads")
    return replace(plan, reads="ahead")


def _bytes(task: Task, plan: Plan, own: Sequence[int]) -> int:
    """The bytes of a CTA's slots."""
    waiting = [i for i in elements_of(task) if i < len(task.program.inputs)]
    rows, lasting = (sum(task.operand_type(i).itemsize for i in operands) for operands in (waiting, own))
    return plan.held * plan.threads * plan.vector * (plan.sets * rows + lasting)


def _room(task: Task, plan: Plan) -> int:
    """The bytes of shared memory that each CTA of an SM may have for slots."""
    target = task.target
    each = target.shared_per_sm // plan.persistent - target.reserved_shared
    return min(target.shared_per_cta, each) - STATIC
