"""From a program of arrays to the kernels of its steps: geometry and plan of each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from typing import NamedTuple

from ...compiler.dtypes import BIT, DType
from ...compiler.errors import error
from ...compiler.plan.fields import Determinism
from ...compiler.plan.ladder import expand, menu_of
from ...compiler.plan.plan import Plan
from ...compiler.planner import choose as planner
from ...compiler.planner import few
from ...compiler.planner.resident import once, sections, sides
from ...compiler.planner.resident.choose import LITTLE_MORE, cuts, is_far, meets_once, names_residency, owning
from ...compiler.planner.task import Notes, Task
from ...compiler.program.array_program import ArrayProgram, Fold, Layout
from ...compiler.program.bit_arrays import WORD
from ...compiler.program.cuts.cut import cut
from ...compiler.program.cuts.steps import Buffer, Operand, Step, Steps
from ...compiler.program.graph import REDUCED, walk
from ...compiler.program.rewrites.narrowing import narrowed
from ...compiler.program.rewrites.one_hot import gathered
from ...compiler.program.rewrites.packed import by_words
from ...compiler.program.storage import parts
from ...compiler.program.tracing import Traced
from ...compiler.space.geometry import Gathered, memory_order, step_geometry
from ...compiler.target import Target
from .. import tuned_plans
from ..backends.kernel_calls import placed
from ..prepare import Prepared, without_repeats
from ..view import ArraySpec, dense
from .map_dims import Dims, MapDims

Rows = frozenset[tuple[Dims, Dims]]
"""Rows by the dims that say which row, and those along a row."""
Turned = frozenset[tuple[Dims, Dims, Dims]]
"""Rows of steps without a fold, and the dims along which their threads go instead."""
LARGE = 1 << 22
"""From so many elements on a step that reads few of them is over in a small part of the time."""
MANY_READ = 100
"""A step that reads less than the whole divided by this reads few."""
MOST_GATHERED = 4096
"""Elements of a row that a CTA gathers and folds; of a longer one a map gathers them, and a reduction follows."""


class Machine(NamedTuple):
    """What plans are made for.

    Attributes:
        target: the architecture.
        sms: multiprocessors.
        device: the driver's name for the device; empty to ignore plans that the autotuner found.
    """

    target: Target
    sms: int
    device: str = ""


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
    return StepPlanner(program, arrays, outputs, machine, determinism, few=asks).prepared(options)


def asked_of(steps: Steps, options: str) -> list[str]:
    """What ``options`` ask of the plan of each step: they are those of the steps that fold, if there are any.

    Options that say where rows wait are those of the steps whose rows do.
    """
    if cuts(options):
        options = _without(options, "resident")
    folds = [bool(s.program.reduces) for s in steps.steps]
    waits = [own and s.program.reads_again for own, s in zip(folds, steps.steps, strict=True)]
    served = waits if any(waits) and names_residency(options) else folds
    asked = [options if own or not any(served) else "" for own in served]
    if expand(options).get("resident") == "grid":  # whose teams have persistent CTAs without side folds
        return asked
    has_sides = [s.program.side for s in steps.steps]
    return [a if own else _without(a, "persistent") for own, a in zip(has_sides, asked, strict=True)]


def _without(options: str, field: str) -> str:
    """``options`` without those for a field of the plan."""
    return ",".join(f"{key}={value}" for key, value in expand(options).items() if key != field)


class StepPlanner:
    """Plans the steps of a program for some arrays."""

    def __init__(
        self,
        program: ArrayProgram,
        arrays: Sequence[ArraySpec],
        outputs: Sequence[ArraySpec],
        machine: Machine,
        determinism: Determinism,
        *,
        few: bool = False,
    ) -> None:
        self.program, self.machine, self.determinism, self.few = program, machine, determinism, few
        self.sizes = program.sizes_of([a.shape for a in arrays])
        check_empty(program, [a.shape for a in arrays], self.sizes)
        self.operands: dict[Operand, ArraySpec] = {}
        self.offsets: dict[Operand, int] = {}
        self.axes: dict[int, tuple[int, int]] = {}
        layouts = program.layouts([a.shape for a in arrays], [a.strides for a in arrays])
        for i, view in enumerate(program.views):
            layout, spec = layouts[view.array], arrays[program.argument(view.array)]
            assert layout is not None
            if (axis := view.gathered) is not None:
                self.axes[i] = layout.shape[axis], layout.strides[axis]
            if program.is_bits(view.array):
                spec = spec._replace(dtype=BIT)
                if layout.offset % WORD:
                    raise error("WF196", position=program.argument(view.array), offset=layout.offset)
            self.operands[Operand("view", i)] = _along_dims(spec, layout, view.axes, self.sizes)
            self.offsets[Operand("view", i)] = layout.offset
        for i, (output, spec) in enumerate(zip(program.outputs, outputs, strict=True)):
            layout = output.apart(self.sizes, spec.strides)
            spec = spec if output.dtype != BIT else spec._replace(dtype=BIT)
            self.operands[Operand("output", i)] = _along_dims(spec, layout, output.axes, self.sizes)
        self.alone: dict[tuple[Dims, Dims], list[tuple[str, str]]] = {}  # rows without side folds, and why
        self.whole: dict[tuple[Dims, Dims], list[tuple[str, str]]] = {}  # rows without states of sections, and why
        self.sections: dict[Dims, int] = {}  # the elements of a section along dims
        self.order = memory_order(self.sizes, [s.strides for s in self.operands.values()])
        self.map_dims = MapDims(self.operands, self.sizes, self.order)

    def prepared(self, options: str) -> PreparedProgram:
        """The steps and their plans."""
        steps, tasks = self._cut(options)
        asked = asked_of(steps, options)
        plans = [self._planned(t, own) for t, own in zip(tasks, asked, strict=True)]
        for step, own in zip(steps.steps, plans, strict=True):
            rows = step.kept, step.reduced
            own.choice.rejected += [*self.alone.get(rows, []), *self.whole.get(rows, [])]
        return self.planned(steps, plans)

    def planned(self, steps: Steps, plans: Sequence[Prepared]) -> PreparedProgram:
        """The steps with these plans, and the buffers between them."""
        found = [
            PreparedStep(step, own, prod(self.sizes[d] for d in step.counted))
            for step, own in zip(steps.steps, plans, strict=True)
        ]
        offsets, nbytes = [], 0
        for b in steps.buffers:
            (offset,), nbytes = placed(max(1, prod(self._shape(b))), (b.dtype,), nbytes)
            offsets.append(offset)
        return PreparedProgram(self.program, tuple(found), tuple(offsets), nbytes, steps)

    def _cut(self, options: str) -> tuple[Steps, list[Task]]:
        """The steps, and the task of each: rows that turn out to be too long for a cluster are cut at the grid.

        So are those of a step that writes values of rows alone, if one reduction then reads them once, and a row of
        many elements that are gathered. But a step stays whole whose CTAs fold a row once, and then gather. None are
        cut where ``options`` say where rows wait, and all are where these say that none does.
        """
        long: Rows = frozenset()
        far: Rows = frozenset()
        turned: Turned = frozenset()
        while True:
            steps = self._steps(long, far, turned)
            tasks = self.tasks(steps)
            alone = {
                (s.kept, s.reduced): notes
                for s, t in zip(steps.steps, tasks, strict=True)
                if (notes := self._why_alone(t, options)) is not None
            }
            whole = {
                (s.kept, s.reduced): [("sections", why)]
                for s, t in zip(steps.steps, tasks, strict=True)
                if t.program.section and (why := self._why_whole(s, t, steps, options))
            }
            if alone or whole:
                self.alone |= alone
                self.whole |= whole
                continue
            rows = [
                (s, t) for s, t in zip(steps.steps, tasks, strict=True) if s.program.reduces and s.program.reads_again
            ]
            owned = [(step, owning(task, Notes(), options)) for step, task in rows]
            again = {(s.kept, s.reduced) for s, plan in owned if cuts(options) or plan is None}
            again |= {(s.kept, s.reduced) for s, plan in owned if self._folds_once(s, plan, steps, long, far)}
            gathers = {(s.kept, s.reduced) for s, t in zip(steps.steps, tasks, strict=True) if once.serves(t)}
            walked = set() if cuts(options) else again & gathers - far
            again |= {(s.kept, s.reduced) for s, _ in owned if self._is_read_again(s, steps, long, far)}
            again |= {(s.kept, s.reduced) for s, _ in owned if self._gathers_many(s)} - gathers
            again = set() if names_residency(options) else again - walked
            planned = [(s, t, plan) for (s, t), (_, plan) in zip(rows, owned, strict=True)]
            away = {
                (s.kept, s.reduced) for s, t, plan in planned if is_far(plan, options) or meets_once(t, plan, options)
            }
            away |= set() if names_residency(options) else walked
            fits = partial(self._is_served, long, far, turned)
            pairs = zip(steps.steps, tasks, strict=True)
            own = {(s.kept, s.reduced, self.map_dims.along(s, t, fits, options)) for s, t in pairs}
            other = {(kept, reduced, along) for kept, reduced, along in own if along != reduced}
            if again <= long and away <= far and other <= turned:
                return steps, tasks
            long, far, turned = long | again, far | away, turned | other

    def _why_alone(self, task: Task, options: str) -> list[tuple[str, str]] | None:
        """Why the side folds of a step have to be a step of their own, maybe without words; None if they have not."""
        if not task.program.side:
            return None
        notes = Notes()
        plan = None if cuts(options) else owning(task, notes, options)
        if plan and sides.taking(task, plan, notes, options):
            return None
        return [note for note in notes.rejected if note[0] == "persistent"]

    def _why_whole(self, step: Step, task: Task, steps: Steps, options: str) -> str:
        """Why a step cannot leave states of sections of its rows for another one; empty if it can."""
        if cuts(options):
            return "asked for"
        if not self._is_in_order(step, steps):
            return "elements of rows follow each other otherwise than rows do"
        plan = owning(task, Notes(), options)
        return sections.why_not(task, plan.with_options(options) if plan and options else plan)

    def _is_in_order(self, step: Step, steps: Steps) -> bool:
        """Whether all arrays with elements of rows have the rows, and the elements of a row, in the order of memory."""
        along = [[d for d in self.order if d in dims and self.sizes[d] > 1] for dims in (step.kept, step.reduced)]
        strides = [self._operand(o, steps).strides for o in (*step.inputs, *step.outputs) if o.kind != "buffer"]
        own = [[[s[d] for d in dims] for dims in along] for s in strides if all(s[d] for dims in along for d in dims)]
        return all(axis == sorted(axis, reverse=True) and min(axis, default=1) > 0 for s in own for axis in s)

    def _is_served(
        self, long: Rows, far: Rows, turned: Turned, step: Step, along: Dims, serves: Callable[[Task], object]
    ) -> bool:
        """Whether ``serves`` holds of a step if its threads go along these dims."""
        steps = self._steps(
            long, far, turned | ({(step.kept, step.reduced, along)} if along != step.reduced else set())
        )
        found = (t for s, t in zip(steps.steps, self.tasks(steps), strict=True) if s.outputs == step.outputs)
        return any(serves(t) for t in found)

    def _steps(self, long: Rows, far: Rows, turned: Turned = frozenset()) -> Steps:
        """The steps where rows along ``long`` dims are cut at the grid, and those along ``far`` ones wait far away."""
        empty = frozenset(d for d, n in enumerate(self.sizes) if n == 0)
        packs = any(o.dtype == BIT for o in self.program.outputs)
        whole = frozenset(d for d, n in enumerate(self.sizes) if packs and n % WORD == 0)
        portable = self.determinism == "portable"
        apart = frozenset(self.alone), frozenset(self.whole)
        return _steps(self.program, long, far, turned, empty, self.order, portable, whole, *apart)

    def _folds_once(self, step: Step, plan: Plan | None, steps: Steps, long: Rows, far: Rows) -> bool:
        """Whether a step of values of rows reads its elements once, in a reduction, if no CTA owns the rows.

        Where that takes a further kernel, rows that one CTA holds stay whole.
        """
        if len(step.program.reduces) == 1 or any(o.space & REDUCED for o in step.program.outputs):
            return False
        cut = self._steps(long | {(step.kept, step.reduced)}, far)
        if plan is not None and plan.cluster == 1 and plan.held and len(cut.steps) > len(steps.steps):
            return False
        return self._read(cut) < LITTLE_MORE * self._read(steps)

    def _is_read_again(self, step: Step, steps: Steps, long: Rows, far: Rows) -> bool:
        """Whether another step reads the elements of a step as well, so that as many passes read no more if it is cut.

        So it is with images whose bits are words along another axis: on an H100 a batch norm of 64 x 256 x 56 x 56 f32
        with bits took 271 us where its rows waited, and 216 cut; with an array added 415 and 282.
        """
        if len(steps.steps) == 1 or self.determinism == "portable":
            return False
        cut = self._steps(long | {(step.kept, step.reduced)}, far)
        return self._passes(cut) <= self._passes(steps) and self._read(cut) <= self._read(steps)

    def _passes(self, steps: Steps) -> int:
        """The steps, without those of a program of large arrays that read few elements."""
        read = [self._read_by(step, steps) for step in steps.steps]
        return sum(MANY_READ * n >= sum(read) for n in read) if sum(read) >= LARGE else len(read)

    def _gathers_many(self, step: Step) -> bool:
        """Whether a step folds more gathered elements than the threads of a CTA have in flight."""
        program = step.program
        return len(program.reduces) == 1 and bool(program.gathered) and self._elements(step) > MOST_GATHERED

    def _elements(self, step: Step) -> int:
        """The elements of a row of a step."""
        return prod(self.sizes[d] for d in step.reduced)

    def _read(self, steps: Steps) -> int:
        """The elements that all steps read."""
        return sum(self._read_by(step, steps) for step in steps.steps)

    def _read_by(self, step: Step, steps: Steps) -> int:
        """The elements that a step reads."""
        views = [self.program.read(o.number) for o in step.inputs if o.kind == "view"]
        read = sum(prod(self.sizes[d] for d in own) for own in views)
        return read + sum(prod(self._shape(steps.buffers[o.number])) for o in step.inputs if o.kind == "buffer")

    def tasks(self, steps: Steps) -> list[Task]:
        """What the planner is asked for each step."""
        return [self._task(step, steps) for step in steps.steps]

    def _task(self, step: Step, steps: Steps) -> Task:
        """What the planner is asked for a step."""
        operands = (*step.inputs, *step.outputs)
        specs = [self._operand(o, steps) for o in operands]
        for i, o in enumerate(step.outputs, len(step.inputs)):
            if self._sections_of(o, steps):  # one behind another, without strides
                specs[i] = specs[i]._replace(strides=(0,) * len(self.sizes))
        read, left = ({b for o in own if (b := self._sections_of(o, steps))} for own in (step.inputs, step.outputs))
        sizes, inner = (self._coarse(next(iter(read))) if read else self.sizes), next(iter(left), ())
        in_order = self.determinism == "portable" and step.program.reads_again
        starts = [self.offsets.get(o, 0) for o in operands]
        geometry = step_geometry(step, sizes, [s.strides for s in specs], starts=starts, in_order=in_order)
        geometry = replace(geometry, gathered=self._gathered(step))
        program = step.program
        if not program.reads_again:
            found, most = narrowed(program)
            program = found if most is None or geometry.n_reduced <= most else program
            geometry = without_repeats(program, geometry, len(step.inputs))
        addresses = tuple(s.address for s in specs)
        machine = self.machine.target, self.machine.sms, self.determinism
        task = Task(program, geometry, addresses, *machine, prod(self.sizes[d] for d in inner) if inner else 0)
        if inner:
            self.sections[inner] = max(1, sections.elements(task))
        return replace(task, few=True) if self.few and few.serves(task) else task

    def _sections_of(self, operand: Operand, steps: Steps) -> Dims:
        """The dims along which a buffer has a value for each section; nothing for other arrays."""
        return steps.buffers[operand.number].sections if operand.kind == "buffer" else ()

    def _coarse(self, inner: Dims) -> Dims:
        """The sizes of all dims where a section along the ``inner`` ones counts as one element."""
        count = prod(self.sizes[d] for d in inner) // self.sections.get(inner, 1)
        own = {d: count if d == inner[0] else 1 for d in inner}
        return tuple(own.get(d, n) for d, n in enumerate(self.sizes))

    def _shape(self, b: Buffer) -> Dims:
        """The sizes of a buffer."""
        sizes = self._coarse(b.sections) if b.sections else self.sizes
        return tuple(sizes[d] for d in b.dims)

    def _gathered(self, step: Step) -> tuple[Gathered, ...]:
        """The axes along which indices choose elements of the arrays that a step reads."""
        found = enumerate(step.inputs)
        return tuple(Gathered(i, *self.axes[o.number]) for i, o in found if o.kind == "view" and o.number in self.axes)

    def _operand(self, operand: Operand, steps: Steps) -> ArraySpec:
        """An array of a step, with its strides along all dims of the program."""
        if operand.kind != "buffer":
            return self.operands[operand]
        b = steps.buffers[operand.number]
        shape = self._shape(b)
        if b.sections:
            rows = next(s for s in steps.steps if operand in s.outputs)
            dims = [*(d for d in self.order if d in rows.kept), *(d for d in self.order if d in rows.reduced)]
            strides = dict(zip(b.dims, dense(shape, [b.dims.index(d) for d in dims]), strict=True))
            return ArraySpec(self.sizes, tuple(strides.get(d, 0) for d in range(len(self.sizes))), 0, b.dtype)
        own = ArraySpec(shape, dense(shape, range(len(shape))), 0, b.dtype)
        return _along_dims(own, Layout(shape, own.strides), b.dims, self.sizes)

    def _planned(self, task: Task, options: str) -> Prepared:
        choice = planner.choose(task, options)
        if not options and not task.program.reads_again and not self.few:
            choice = tuned_plans.better(task, choice, self.machine.device)
        return Prepared(Traced(task.program, (), 0), task, choice)


@lru_cache(maxsize=1024)
def _steps(
    program: ArrayProgram,
    long: Rows,
    far: Rows,
    turned: Turned,
    empty: frozenset[int],
    order: Sequence[int],
    portable: bool,
    whole: frozenset[int],
    alone: Rows,
    unsplit: Rows,
) -> Steps:
    """The steps of a program, of whose rows those along ``long`` dims, and those without elements, are cut.

    No side folds join the steps of rows that are ``alone``, and ``unsplit`` ones leave no states of sections.
    """
    others = {(kept, reduced): along for kept, reduced, along in turned}

    def owns(kept: Dims, reduced: Dims) -> bool:
        return (kept, reduced) not in long and empty.isdisjoint(reduced)

    return cut(
        program,
        owns,
        order,
        lambda *dims: dims in far,
        lambda *rows: others.get(rows, rows[1]),
        portable=portable,
        whole=whole,
        joins=lambda *rows: not portable and rows not in alone,
        splits=lambda *rows: not portable and rows[:2] not in unsplit and _are_innermost(rows[2], rows[1], order),
    )


def _are_innermost(inner: Dims, reduced: Dims, order: Sequence[int]) -> bool:
    """Whether some dims are the innermost ones of rows."""
    return {*inner} == {*[d for d in order if d in reduced][-len(inner) :]}


def _along_dims(spec: ArraySpec, layout: Layout, axes: Sequence[int | None], sizes: Dims) -> ArraySpec:
    """An array with a stride along each dim of the program, 0 along those that it has not, and its type in memory."""
    strides = [0] * len(sizes)
    for d, stride in zip(axes, layout.strides, strict=True):
        if d is not None:
            strides[d] += stride
    return ArraySpec(sizes, tuple(strides), spec.address % 16, _memory_type(spec.dtype))


def _memory_type(t: DType) -> DType:
    """The type that kernels see of elements of type ``t``."""
    (found,) = parts(t)
    return found


def check_empty(program: ArrayProgram, shapes: Sequence[Dims], sizes: Dims) -> None:
    """Checks that every fold of no elements has an identity, if results with elements depend on it.

    Raises:
        ArgumentError: WF104.
    """
    results = tuple(o.expr for o in program.outputs if 0 not in o.shape(sizes)) if 0 in sizes else ()
    for e in walk(results):
        if not isinstance(e.value, Fold):
            continue
        over = program.dims_of(e.value.over)
        kept = [sizes[d] for d in program.dims_of(e.space)]
        if 0 in kept or 0 not in (sizes[d] for d in over) or e.value.monoid.has_identity:
            continue
        pairs = [pair for d in over for pair in program.dims[d]]
        array = pairs[0][0]
        axes = tuple(axis for a, axis in pairs if a == array)
        layout = program.layouts(shapes)[array]
        raise error("WF104", name=e.value.monoid.name.lower(), axes=axes, shape=layout and layout.shape)
