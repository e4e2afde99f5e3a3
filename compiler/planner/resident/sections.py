"""Sections of rows: a kernel of rows leaves partial states for a fold over parts of rows, and maybe over rows.

A section is what some neighbouring lanes hold in one access, so that their states meet by shuffles. A later step
combines the states, which are few. So a group norm reads its arrays once: the gradients of its weights are folded over
images and pixels, and a row of it has several channels.
"""

from __future__ import annotations

from ...plan.plan import Plan
from ...program.graph import SECTION
from ...target import WARP
from ..task import Task
from .accesses import accesses, elements_of, vector_of


def elements(task: Task) -> int:
    """The elements of a section: a power of two that divides parts of rows; 0 where an access lies in two of them."""
    lanes, vector = WARP, vector_of(task, "reduced")
    while lanes and task.inner % (lanes * vector):
        lanes //= 2
    return lanes * vector


def why_not(task: Task, plan: Plan | None) -> str:
    """Why threads that share rows by ``plan`` cannot leave states of sections; empty if they can, and it pays."""
    if plan is None or plan.resident not in ("registers", "shared") or plan.fast != "reduced" or plan.tile_bytes:
        return "no lane has neighbouring elements of a row that waits on chip"
    section = elements(task)
    kinds = accesses(task, "reduced", plan.vector)
    own = elements_of(task)
    if not section or {kinds[i] for i in own} != {"aligned"}:
        return f"parts of {task.inner} elements are no whole accesses"
    if not plan.vector <= section <= plan.vector * plan.lanes:
        return f"{plan.lanes} lanes have no section of {section} elements"
    read = sum(task.operand_type(i).itemsize for i in own if i < len(task.program.inputs))
    states = sum(o.dtype.itemsize for o in task.program.outputs if o.space == SECTION)
    if 2 * states >= read * section:
        return f"states of sections of {section} elements are as many bytes as another read"
    return ""
