"""How many accesses of a row a thread keeps: the most where a loop walks them, so that all lengths share a kernel."""

from __future__ import annotations

from dataclasses import replace

from ...plan.facts import Facts
from ...plan.fields import MOST_HELD
from ...plan.plan import Plan
from ...plan.shared_memory import shared_bytes
from ...program.graph import REDUCED
from .. import sittings
from ..alignment import WIDEST
from ..table import threshold
from ..task import Task
from . import rows
from .accesses import inputs_of

WALKED = threshold(2, "bytes of an element", sittings.WALKED_SLOTS)
"""Rows of one large array that begin anywhere and wait in shared memory are walked in a loop if their elements have no
more, or if weights lie along them: straight-line code masks both ends of a row wherever they may be."""
LARGE = threshold(1 << 22, "elements of an array", sittings.WALKED_SLOTS)
"""An array of fewer is in the L2 cache, and a loop takes longer than straight-line code."""


def needed(task: Task, plan: Plan) -> int:
    """The accesses that each thread of ``plan`` needs to cover a row, or its part of one."""
    along = rows.count_of(task, plan.vector) if plan.fast == "reduced" else max(1, task.geometry.n_reduced)
    return -(-along // (plan.positions * plan.cluster))


def for_any_length(task: Task, plan: Plan, facts: Facts) -> tuple[Plan, Facts]:
    """``plan`` and its ``facts`` as they are for rows of any length, if such a kernel is no slower; else both."""
    if plan.resident != "shared" or [facts.access[i] for i in facts.waiting] != ["shifted"]:
        return plan, facts
    if any(facts.access[i] == "unaligned" for r in task.program.reduces for i in inputs_of(r.args)):
        return plan, facts  # which takes branches, and the loop of a fold has none
    (item,) = (task.program.inputs[i].itemsize for i in facts.waiting)
    large, weighted = task.geometry.n_kept * task.geometry.n_reduced >= LARGE, REDUCED in task.program.input_spaces
    if not large or not (weighted or item <= WALKED):
        return plan, facts
    room = task.target.shared_per_cta - shared_bytes(plan, sum(t.itemsize for t in task.program.states))
    most = min(MOST_HELD, room // (plan.threads * plan.vector * item))
    return replace(plan, held=max(plan.held, most)), replace(facts, walked=True, leading=_leading(task, plan, facts))


def _leading(task: Task, plan: Plan, facts: Facts) -> tuple[int, ...]:
    """The inputs whose elements lie side by side along all rows, from a boundary on."""
    inputs = zip(task.program.input_spaces, facts.access, strict=True)
    own = [i for i, (space, access) in enumerate(inputs) if space == REDUCED and access in ("strided", "unaligned")]
    items = {i: task.operand_type(i).itemsize for i in own}
    return tuple(
        i
        for i in own
        if task.geometry.reduced[0].strides[i] == 1
        and task.start(i) % WIDEST == 0
        and plan.vector * items[i] % WIDEST == 0
    )
