"""Cut rows: rows of which one step could fold the elements and use the results, and does not, with the reason."""

from __future__ import annotations

from typing import NamedTuple

from ...compiler.planner.resident.asked import cuts
from ...compiler.planner.resident.residency import owning
from ...compiler.planner.task import Notes
from ...compiler.program.cuts.cut import cut
from ...compiler.program.cuts.steps import Step
from ...compiler.target import target
from ...runtime.programs.machine import Machine
from ...runtime.programs.plans import PreparedProgram
from ...runtime.programs.step_tasks import StepTasks
from ..requests.program_request import ProgramRequest

Rows = tuple[tuple[int, ...], tuple[int, ...]]
"""The dims that say which row, and those along a row."""


class CutRows(NamedTuple):
    """Why rows are cut.

    Attributes:
        why: the reason in words.
        rejected: the plans that do not hold a row, each with the reason.
    """

    why: str
    rejected: tuple[tuple[str, str], ...] = ()


def cut_rows(request: ProgramRequest, prepared: PreparedProgram, arch: str) -> dict[Rows, CutRows]:
    """The rows that are cut: of the steps that there were if a CTA owned every row, those that are there no more."""
    machine = Machine(target(arch), target(arch).sms)
    tasks = StepTasks(prepared.program, *request.specs, machine, request.determinism)
    whole = cut(prepared.program, lambda *_: True, tasks.order)
    found = {}
    for step, task in zip(whole.steps, tasks.of(whole), strict=True):
        rows = step.kept, step.reduced
        if not _owns(step) or rows in owned(prepared):
            continue
        notes = Notes()
        if cuts(request.plan):
            found[rows] = CutRows("asked for: resident=none")
        elif not task.geometry.n_reduced:
            found[rows] = CutRows("the rows have no elements")
        elif owning(task, notes) is None:
            why = f"no CTA or cluster owns a row of {task.geometry.n_reduced:,} elements"
            found[rows] = CutRows(why, tuple(notes.rejected))
        else:
            found[rows] = CutRows("as one reduction it reads its elements once")
    return found


def owned(prepared: PreparedProgram) -> set[Rows]:
    """The rows that a CTA or a cluster owns."""
    return {(own.step.kept, own.step.reduced) for own in prepared.steps if _owns(own.step)}


def _owns(step: Step) -> bool:
    """Whether a step folds rows in phases, or uses what it folds on their elements."""
    return bool(step.program.reduces) and step.program.reads_again
