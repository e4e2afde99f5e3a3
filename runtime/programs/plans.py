"""From a program of arrays to the kernels of its steps: geometry and plan of each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from typing import NamedTuple

from ...compiler.plan.fields import Determinism
from ...compiler.plan.ladder import expand, menu_of
from ...compiler.planner import choose as planner
from ...compiler.planner.resident import maps as planned_maps
from ...compiler.planner.resident import once
from ...compiler.planner.resident.accesses import elements_of
from ...compiler.planner.resident.asked import cuts, names_residency
from ...compiler.planner.resident.meetings import meets_once
from ...compiler.planner.resident.residency import is_far, owning
from ...compiler.planner.task import Notes, Task
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.cuts.steps import Step, Steps
from ...compiler.program.rewrites.one_hot import gathered
from ...compiler.program.rewrites.packed import by_words
from .. import tuned_plans
from ..backends.kernel_calls import placed
from ..calls import recall
from ..prepare import Prepared
from ..view import ArraySpec
from .machine import Machine
from .map_dims import Dims, MapDims
from .row_cuts import Cutter, RowCuts
from .row_questions import RowQuestions
from .step_tasks import StepTasks


class PreparedStep(NamedTuple):
    """A step with its program and plan.

    Attributes:
        step: the step.
        prepared: the kernel program and its plan.
        elements: the value of a count of elements.
    """

    step: Step
    prepared: Prepared
    elements: int


class PreparedProgram(NamedTuple):
    """The steps of a program with their plans.

    Attributes:
        program: the program, with gathers.
        steps: the steps, in order.
        buffers: for each buffer its offset in the workspace.
        nbytes: the bytes of all buffers.
        cut: the steps without their plans, and the buffers between them.
    """

    program: ArrayProgram
    steps: tuple[PreparedStep, ...]
    buffers: tuple[int, ...]
    nbytes: int
    cut: Steps


@lru_cache(maxsize=4096)
def prepare_program(
    program: ArrayProgram,
    arrays: tuple[ArraySpec, ...],
    outputs: tuple[ArraySpec, ...],
    machine: Machine,
    options: str = "",
    determinism: Determinism = "run",
) -> PreparedProgram:
    """The steps of ``program`` for these arrays and results, and their plans.

    Args:
        program: the program.
        arrays: the arrays of a call.
        outputs: the arrays for its results.
        machine: what to plan for.
        options: fields of the plans to set, see ``Plan.with_options``: of the steps that fold, if there are any.
        determinism: what the bits of results may depend on.

    Raises:
        ArgumentError: WF104 for an empty fold without an identity, WF185 for arrays that lie in too many dims.
        PlanError: WF403 and others where ``options`` cannot be served.
    """
    program = gathered(by_words(program, program.sizes_of([a.shape for a in arrays])))
    asks, options = menu_of(options)
    return StepPlanner(StepTasks(program, arrays, outputs, machine, determinism, few=asks)).prepared(options)


def asked_of(steps: Steps, options: str) -> list[str]:
    """What ``options`` ask of the plan of each step: they are those of the steps that fold, if there are any.

    Options that say where rows wait are those of the steps whose rows do.
    """
    if cuts(options):
        options = _without(options, "resident")
    folds = [bool(s.program.reduces or s.program.scan) for s in steps.steps]
    waits = [own and s.program.reads_again for own, s in zip(folds, steps.steps, strict=True)]
    served = waits if any(waits) and names_residency(options) else folds
    asked = [options if own or not any(served) else "" for own in served]
    if expand(options).get("resident") == "grid":  # whose teams have persistent CTAs without side folds
        return asked
    stays = [bool(s.program.side or s.program.scan) for s in steps.steps]
    return [a if own else _without(a, "persistent") for own, a in zip(stays, asked, strict=True)]


def _without(options: str, field: str) -> str:
    """``options`` without those for a field of the plan."""
    own = expand(options)
    return ",".join(f"{key}={value}" for key, value in own.items() if key != field) if field in own else options


def _bytes(spec: ArraySpec) -> int:
    """The bytes of the elements of an array, each counted once."""
    return spec.dtype.nbytes(prod(n for n, stride in zip(spec.shape, spec.strides, strict=True) if stride))


class StepPlanner:
    """Plans the steps of a program for some arrays, of which it has the ``tasks``."""

    def __init__(self, tasks: StepTasks) -> None:
        self.tasks, self._cutter = tasks, Cutter(tasks)
        self._ask = RowQuestions(tasks, self._cutter)
        self._map_dims = MapDims(tasks.operands, tasks.sizes, tasks.order)
        self._alone: dict[tuple[Dims, Dims], list[tuple[str, str]]] = {}  # rows without side folds, and why
        self._whole: dict[tuple[Dims, Dims], list[tuple[str, str]]] = {}  # rows without states of sections, and why

    def prepared(self, options: str) -> PreparedProgram:
        """The steps and their plans."""
        steps, tasks = self._cut(options)
        asked = asked_of(steps, options)
        plans = [self._planned(t, own) for t, own in zip(tasks, asked, strict=True)]
        for step, own in zip(steps.steps, plans, strict=True):
            rows = step.kept, step.reduced
            own.choice.rejected += [*self._alone.get(rows, []), *self._whole.get(rows, [])]
        return self.planned(steps, plans)

    def planned(self, steps: Steps, plans: Sequence[Prepared]) -> PreparedProgram:
        """The steps with these plans, and the buffers between them; each begins while the one before it ends."""
        sizes = self.tasks.sizes
        plans = [self._among(steps, k, own) for k, own in enumerate(plans)]
        found = [
            PreparedStep(step, own, prod(sizes[d] for d in step.counted))
            for step, own in zip(steps.steps, plans, strict=True)
        ]
        offsets, nbytes = [], 0
        for b in steps.buffers:
            (offset,), nbytes = placed(max(1, prod(self.tasks.shape(b))), (b.dtype,), nbytes)
            offsets.append(offset)
        return PreparedProgram(self.tasks.program, tuple(found), tuple(offsets), nbytes, steps)

    def _among(self, steps: Steps, number: int, own: Prepared) -> Prepared:
        """The plan of a step as one of several: it follows others, and may be the last to read what these have read."""
        if not number or not self.tasks.machine.target.has_early_launches:
            return own
        step, before = steps.steps[number], {o for s in steps.steps[:number] for o in s.inputs}
        maps = number == len(steps.steps) - 1 and not step.program.reduces and own.choice.plan.resident == "registers"
        again = sum(_bytes(self.tasks.operand(o, steps)) for o in before.intersection(step.inputs))
        streams = maps and not self.tasks.few and planned_maps.streams(again)
        facts = replace(own.choice.facts, follows=True, streams=streams)
        return replace(own, choice=replace(own.choice, facts=facts))

    def _planned(self, task: Task, options: str) -> Prepared:
        """A task with its plan, or with a faster one that the autotuner found."""
        choice = planner.choose(task, options)
        if not options and not task.program.reads_again and not self.tasks.few:
            choice = tuned_plans.better(task, choice, self.tasks.machine.device)
        return Prepared(task, choice)

    def _cut(self, options: str) -> tuple[Steps, list[Task]]:
        """The steps, and the task of each.

        Which rows are cut depends on the plans of the steps, and the steps on which rows are cut. So rows are cut until
        no step asks for another cut.
        """
        rows = RowCuts()
        while True:
            steps = self._cutter.steps(rows)
            tasks = self.tasks.of(steps)
            more = self._set_apart(rows, steps, tasks, options)
            if more == rows:
                more = self._cut_further(rows, steps, tasks, options)
            if more == rows:
                return steps, tasks
            rows = more

    def _set_apart(self, rows: RowCuts, steps: Steps, tasks: Sequence[Task], options: str) -> RowCuts:
        """The cuts with those of side folds, and of states of sections, that steps of these rows cannot have."""
        pairs = list(zip(steps.steps, tasks, strict=True))
        for s, t in pairs:
            if (notes := self._ask.why_alone(t, options)) is not None:
                self._alone[s.kept, s.reduced] = notes
            if t.program.section and (why := self._ask.why_whole(s, t, steps, options)):
                self._whole[s.kept, s.reduced] = [("sections", why)]
        return rows._replace(alone=frozenset(self._alone), unsplit=frozenset(self._whole))

    def _cut_further(self, rows: RowCuts, steps: Steps, tasks: Sequence[Task], options: str) -> RowCuts:
        """The cuts with those that the plans of the steps ask for.

        Rows that are too long for a cluster are cut at the grid. So are those of a step that writes values of rows
        alone, if one reduction then reads them once, and a row of many elements that are gathered. But a step stays
        whole whose CTAs fold a row once, and then gather. None are cut where ``options`` say where rows wait, and all
        are where these say that none does.
        """
        ask, pairs = self._ask, list(zip(steps.steps, tasks, strict=True))
        waits = [(s, t) for s, t in pairs if s.program.reduces and s.program.reads_again]
        nowhere = {(s.kept, s.reduced) for s, t in waits if not elements_of(t)}  # rows of numbers alone have no place
        owned = [(s, t, owning(t, Notes(), options)) for s, t in waits if (s.kept, s.reduced) not in nowhere]
        again = {(s.kept, s.reduced) for s, _, plan in owned if cuts(options) or plan is None}
        again |= {(s.kept, s.reduced) for s, _, plan in owned if ask.folds_once(s, plan, steps, rows)}
        gathers = {(s.kept, s.reduced) for s, t in pairs if once.serves(t)}
        walked = set() if cuts(options) else again & gathers - rows.far
        again |= {(s.kept, s.reduced) for s, _, _ in owned if ask.is_read_again(s, steps, rows)}
        again |= {(s.kept, s.reduced) for s, _, _ in owned if ask.gathers_many(s)} - gathers
        away = {(s.kept, s.reduced) for s, t, plan in owned if is_far(plan, options) or meets_once(t, plan, options)}
        if names_residency(options):
            again, walked = set(), set()
        fits = partial(self._is_served, rows)
        along = {(s.kept, s.reduced, self._map_dims.along(s, t, fits, options)) for s, t in pairs}
        turned = {own for own in along if own[2] != own[1]}
        return rows._replace(
            long=rows.long | (again - walked) | nowhere, far=rows.far | away | walked, turned=rows.turned | turned
        )

    def _is_served(self, rows: RowCuts, step: Step, along: Dims, serves: Callable[[Task], object]) -> bool:
        """Whether ``serves`` holds of a step if its threads go along these dims."""
        steps = self._cutter.steps(rows.along(step, along))
        found = (t for s, t in zip(steps.steps, self.tasks.of(steps), strict=True) if s.outputs == step.outputs)
        return any(serves(t) for t in found)


def forget() -> None:
    """Forgets the plans chosen in this process, after the autotuner found or deleted plans."""
    prepare_program.cache_clear()
    recall.forget()
