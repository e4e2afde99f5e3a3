"""The plan of a program that reads its rows again: the axis of its lanes, and the residency of its rows.

The residency of a row is where it waits for the next phase: in registers, in shared memory, or in memory.
"""

from __future__ import annotations

from ...errors import error
from ...plan.checks import check
from ...plan.ladder import expand
from ...plan.plan import Plan
from ...plan.shared_memory import waiting_bytes
from ..layouts.gapped_columns import as_read
from ..task import Choice, Notes, Task
from . import (
    ahead,
    few,
    held,
    lasting,
    scans,
    sides,
)
from .facts import facts_of, launch_of
from .overridden import check_rows_of_words, overridden
from .residency import mapping, owning


def choose(task: Task, wanted: str = "") -> Choice:
    """The plan of a program that reads rows again.

    Raises:
        PlanError: WF423 where no plan holds its rows, WF425 where ``wanted`` sets a field that such plans have not, and
            the errors of ``check`` where it cannot be served.
    """
    if task.program.scan:
        return scans.choose(task, wanted)
    notes = Notes()
    plan = owning(task, notes, wanted) if task.program.reduces else mapping(task, notes, wanted)
    if plan and task.program.side:
        plan = sides.taking(task, plan, notes, wanted)
    if plan is None:
        raise error("WF423", name=task.program.name, elements=task.geometry.n_reduced)
    if wanted:
        plan = overridden(task, plan, wanted, notes)
    elif task.program.reduces:
        notes.rejected += _other_residencies(task, plan)
    if "reads" not in expand(wanted):
        plan = (lasting if plan.takes_side else ahead).reading(task, plan, notes)
    if plan.walk != "blocked":
        check_rows_of_words(task)
    task = as_read(task, plan)
    facts = facts_of(task, plan)
    if task.few:
        plan, facts = few.for_any_length(task, plan, facts)
    elif task.program.reduces:
        plan, facts = held.for_any_length(task, plan, facts)
    waiting = waiting_bytes(plan, facts, task.program.inputs)
    check(plan, task.target, sum(t.itemsize for t in task.program.states), waiting)
    return Choice(plan, facts, launch_of(task, plan), [reason for reason, _ in notes.reasons], notes.rejected)


def _other_residencies(task: Task, plan: Plan) -> list[tuple[str, str]]:
    """Why a row waits nowhere farther from the threads."""
    if plan.resident == "memory":
        return []
    copied = [("resident=shared", "registers hold the row, without a copy")] * (plan.resident == "registers")
    return [*copied, ("resident=memory", f"each of {len(task.program.reduces)} phase(s) would read the row again")]
