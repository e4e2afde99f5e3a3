"""How the results of a plan are written: by row or on into the next, at once or one by one."""

from __future__ import annotations

from ..plan.fields import OWN_WALKS
from ..plan.plan import Plan
from ..plan.rounds import met_plan
from .alignment import WIDEST
from .task import Task


def goes_by_row(task: Task, plan: Plan) -> bool:
    """Whether the results of a CTA lie within one row, that is along the innermost of several kept dims.

    No vector then goes on into the next row, which begins anywhere: each row is read as if it were alone.
    """
    if len(task.geometry.kept) < 2 or plan.fast == "reduced":
        return False
    return plan.walk in ("staggered", "padded") or (plan.walk not in OWN_WALKS and task.is_cut(plan.vector))


def row_of(task: Task, plan: Plan) -> int:
    """The results of a row, beyond which the tile of a CTA does not go; all results where tiles go on into the next."""
    by_row = plan.walk == "period" or goes_by_row(task, plan)
    return task.geometry.columns if by_row else task.geometry.n_kept


def stores_vector(task: Task, operand: int, plan: Plan, *, bounded: bool) -> bool:
    """Whether a thread's results along the kept axis can be written at once, or WIDEST bytes at a time.

    Several such stores are for threads that have results of their own: others have few results.

    Args:
        task: what to reduce.
        operand: the number of the output.
        plan: how it is reduced.
        bounded: whether the kernel checks each vector, since the last one may be cut.
    """
    vector = met_plan(plan).vector_kept
    item = task.operand_type(operand).itemsize
    dims = task.geometry.kept
    start = task.start(operand)
    if not dims:  # one result of a kernel that was compiled for many
        return False
    if dims[-1].size % vector and not bounded:
        return False
    nbytes = vector * item
    if plan.walk == "padded":
        return dims[-1].strides[operand] == 1
    if plan.walk == "whole":
        return dims[-1].strides[operand] == 1 and start % min(WIDEST, nbytes) == 0
    copies = task.geometry.copies
    outer = [d.strides[operand] * item for d in (*dims[:-1], *([copies] if copies else []))]
    dense = all(s % min(WIDEST, nbytes) == 0 for s in (start, *outer)) and dims[-1].strides[operand] == 1
    return dense and (nbytes <= WIDEST or plan.positions == 1)
