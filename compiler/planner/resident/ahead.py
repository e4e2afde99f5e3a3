"""Rows that are few: what only results need, such as weights, is read before the first phase.

Where an SM has a CTA or two there is nothing else to do while a thread waits for memory. So a thread asks for all that
it needs at once, and keeps it in registers. In large arrays weights are in the caches, other CTAs run meanwhile, and
registers are scarce.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...dtypes import NUMBER
from ...plan.plan import Plan
from ...program.graph import REDUCED
from .. import sittings
from ..table import threshold
from ..task import Notes, Task
from .accesses import inputs_of

CTAS = threshold(2, "CTAs per SM", sittings.READ_AHEAD)
"""Up to here rows are few."""
REGISTERS = threshold(64, "registers of a thread", sittings.READ_AHEAD)
"""What is read ahead needs these at most."""


def reading(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan``, which reads ahead where rows are few and wait in registers."""
    late = [] if task.few or not serves(task, plan) else _late(task)
    if not late:
        return plan
    each = sum(ceil(task.operand_type(i).itemsize * plan.vector / 4) for i in late if _is_along_rows(task, i))
    ctas = ceil(task.geometry.n_kept / plan.own) * plan.cluster
    if ctas > CTAS * task.machine or plan.held * each > REGISTERS:
        return plan
    notes.because(f"{ctas} CTA(s) read at once what their results need", "reads")
    return replace(plan, reads="ahead")


def serves(task: Task, plan: Plan) -> bool:
    """Whether the kernel of a plan can read ahead: a thread keeps its accesses of one row, or what lasts."""
    held = (plan.resident == "registers" or plan.takes_side) and not plan.tile_bytes
    return held and plan.fragments != "matrix" and bool(task.program.reduces)


def _late(task: Task) -> list[int]:
    """The arrays that results need, but no fold: weights, and classes with what is gathered by them."""
    folded = inputs_of([a for r in task.program.reduces for a in r.args])
    return [i for i in sorted(inputs_of(task.program.outputs) - folded) if task.operand_type(i) != NUMBER]


def _is_along_rows(task: Task, operand: int) -> bool:
    """Whether an input has a value for each element of a row."""
    return bool(task.program.input_spaces[operand] & REDUCED)
