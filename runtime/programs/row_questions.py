"""Questions about the rows of a program's steps: whether it costs less to cut them, or to fold them by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...compiler.plan.plan import Plan
from ...compiler.planner.resident import sections, sides
from ...compiler.planner.resident.asked import cuts
from ...compiler.planner.resident.residency import LITTLE_MORE, owning
from ...compiler.planner.task import Notes, Task
from ...compiler.program.cuts.steps import Step, Steps
from ...compiler.program.graph import REDUCED
from .row_cuts import Cutter, RowCuts
from .step_tasks import StepTasks

LARGE = 1 << 22
"""From so many elements on a step that reads few of them is over in a small part of the time."""
MANY_READ = 100
"""A step that reads less than the whole divided by this reads few."""
MOST_GATHERED = 4096
"""Elements of a row that a CTA gathers and folds; of a longer one a map gathers them, and a reduction follows."""


@dataclass(frozen=True)
class RowQuestions:
    """Answers questions about rows.

    Attributes:
        tasks: the arrays, and the tasks of steps.
        cutter: what makes the steps.
    """

    tasks: StepTasks
    cutter: Cutter

    def why_alone(self, task: Task, options: str) -> list[tuple[str, str]] | None:
        """Why the side folds of a step have to be a step of their own, maybe without words; None if they have not."""
        if not task.program.side:
            return None
        notes = Notes()
        plan = None if cuts(options) else owning(task, notes, options)
        if plan and sides.taking(task, plan, notes, options):
            return None
        return [note for note in notes.rejected if note[0] == "persistent"]

    def why_whole(self, step: Step, task: Task, steps: Steps, options: str) -> str:
        """Why a step cannot leave states of sections of its rows for another one; empty if it can."""
        if cuts(options):
            return "asked for"
        if not self._is_in_order(step, steps):
            return "elements of rows follow each other otherwise than rows do"
        plan = owning(task, Notes(), options)
        return sections.why_not(task, plan.with_options(options) if plan and options else plan)

    def _is_in_order(self, step: Step, steps: Steps) -> bool:
        """Whether all arrays with elements of rows have the rows, and the elements of a row, in the order of memory."""
        along = [
            [d for d in self.tasks.order if d in dims and self.tasks.sizes[d] > 1] for dims in (step.kept, step.reduced)
        ]
        strides = [self.tasks.operand(o, steps).strides for o in (*step.inputs, *step.outputs) if o.kind != "buffer"]
        own = [[[s[d] for d in dims] for dims in along] for s in strides if all(s[d] for dims in along for d in dims)]
        return all(axis == sorted(axis, reverse=True) and min(axis, default=1) > 0 for s in own for axis in s)

    def folds_once(self, step: Step, plan: Plan | None, steps: Steps, row_cuts: RowCuts) -> bool:
        """Whether a step of values of rows reads its elements once, in a reduction, if no CTA owns the rows.

        Where that takes a further kernel, rows that one CTA holds stay whole.
        """
        if len(step.program.reduces) == 1 or any(o.space & REDUCED for o in step.program.outputs):
            return False
        cut = self.cutter.steps(row_cuts.at_the_grid(step))
        if plan is not None and plan.cluster == 1 and plan.held and len(cut.steps) > len(steps.steps):
            return False
        return self._read(cut) < LITTLE_MORE * self._read(steps)

    def is_read_again(self, step: Step, steps: Steps, row_cuts: RowCuts) -> bool:
        """Whether another step reads the elements of a step as well, so that as many passes read no more if it is cut.

        So it is with images whose bits are words along another axis: on an H100 a batch norm of 64 x 256 x 56 x 56 f32
        with bits took 271 us where its rows waited, and 216 cut; with an array added 415 and 282.
        """
        if len(steps.steps) == 1 or self.tasks.determinism == "portable":
            return False
        cut = self.cutter.steps(row_cuts.at_the_grid(step))
        return self._passes(cut) <= self._passes(steps) and self._read(cut) <= self._read(steps)

    def _passes(self, steps: Steps) -> int:
        """The steps, without those of a program of large arrays that read few elements."""
        read = [self._read_by(step, steps) for step in steps.steps]
        return sum(MANY_READ * n >= sum(read) for n in read) if sum(read) >= LARGE else len(read)

    def gathers_many(self, step: Step) -> bool:
        """Whether a step folds more gathered elements than the threads of a CTA have in flight."""
        program = step.program
        return len(program.reduces) == 1 and bool(program.gathered) and self._elements(step) > MOST_GATHERED

    def _elements(self, step: Step) -> int:
        """The elements of a row of a step."""
        return prod(self.tasks.sizes[d] for d in step.reduced)

    def _read(self, steps: Steps) -> int:
        """The elements that all steps read."""
        return sum(self._read_by(step, steps) for step in steps.steps)

    def _read_by(self, step: Step, steps: Steps) -> int:
        """The elements that a step reads."""
        views = [self.tasks.program.read(o.number) for o in step.inputs if o.kind == "view"]
        read = sum(prod(self.tasks.sizes[d] for d in own) for own in views)
        return read + sum(prod(self.tasks.shape(steps.buffers[o.number])) for o in step.inputs if o.kind == "buffer")
