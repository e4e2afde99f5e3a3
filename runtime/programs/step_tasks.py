"""The task of each step of a program for some arrays: what the planner is asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ...compiler.dtypes import BIT, DType
from ...compiler.errors import error
from ...compiler.plan.fields import Determinism
from ...compiler.planner import few
from ...compiler.planner.resident import sections
from ...compiler.planner.task import Task
from ...compiler.program.array_layouts import Layout
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.bit_arrays import WORD
from ...compiler.program.cuts.steps import Buffer, Operand, Step, Steps
from ...compiler.program.rewrites.narrowing import narrowed
from ...compiler.program.storage import parts
from ...compiler.space.geometry import Gathered, memory_order, step_geometry
from ..prepare import without_repeats
from ..view import ArraySpec, dense
from .empty_folds import check_empty
from .machine import Machine
from .map_dims import Dims


class StepTasks:
    """The arrays of a program, and the tasks of steps that use them.

    Attributes:
        program, sizes: the program, and the sizes of its dims.
        machine, determinism, few: what plans are made for, what bits may depend on, whether kernels should be few.
            Kernels that serve arrays ``as_given`` read elements that are repeated as often as they are there.
        operands: the arrays of a call, with a stride along each dim.
        order: the dims in the order in which the arrays lie in memory, outermost first.
    """

    def __init__(
        self,
        program: ArrayProgram,
        arrays: Sequence[ArraySpec],
        outputs: Sequence[ArraySpec],
        machine: Machine,
        determinism: Determinism,
        *,
        few: bool = False,
        as_given: bool = False,
    ) -> None:
        check_empty(program, [a.shape for a in arrays])
        self.program, self.machine, self.determinism, self.few = program, machine, determinism, few
        self._as_given = as_given
        self.sizes = program.sizes_of([a.shape for a in arrays])
        self.operands: dict[Operand, ArraySpec] = {}
        self._offsets: dict[Operand, int] = {}
        self._axes: dict[int, tuple[int, int]] = {}
        self._sections: dict[Dims, int] = {}  # the elements of a section along dims
        self._take_inputs(arrays)
        for i, (output, spec) in enumerate(zip(program.outputs, outputs, strict=True)):
            layout = output.apart(self.sizes, spec.strides)
            spec = spec if output.dtype != BIT else spec._replace(dtype=BIT)
            self.operands[Operand("output", i)] = _along_dims(spec, layout, output.axes, self.sizes)
        self.order = memory_order(self.sizes, [s.strides for s in self.operands.values()])

    def _take_inputs(self, arrays: Sequence[ArraySpec]) -> None:
        """Notes what the program reads of the arrays of a call.

        Raises:
            ArgumentError: WF196 for bits that do not begin with a word.
        """
        program = self.program
        layouts = program.layouts([a.shape for a in arrays], [a.strides for a in arrays])
        for i, view in enumerate(program.views):
            layout, spec = layouts[view.array], arrays[program.argument(view.array)]
            assert layout is not None
            if (axis := view.gathered) is not None:
                self._axes[i] = layout.shape[axis], layout.strides[axis]
            if program.is_bits(view.array):
                spec = spec._replace(dtype=BIT)
                if layout.offset % WORD:
                    raise error("WF196", position=program.argument(view.array), offset=layout.offset)
            self.operands[Operand("view", i)] = _along_dims(spec, layout, view.axes, self.sizes)
            self._offsets[Operand("view", i)] = layout.offset

    def of(self, steps: Steps) -> list[Task]:
        """What the planner is asked for each step."""
        return [self._task(step, steps) for step in steps.steps]

    def _task(self, step: Step, steps: Steps) -> Task:
        """What the planner is asked for a step."""
        operands = (*step.inputs, *step.outputs)
        specs = [self.operand(o, steps) for o in operands]
        for i, o in enumerate(step.outputs, len(step.inputs)):
            if self._sections_of(o, steps):  # one behind another, without strides
                specs[i] = specs[i]._replace(strides=(0,) * len(self.sizes))
        read, left = ({b for o in own if (b := self._sections_of(o, steps))} for own in (step.inputs, step.outputs))
        sizes, inner = (self._coarse(next(iter(read))) if read else self.sizes), next(iter(left), ())
        in_order = self.determinism == "portable" and step.program.reads_again
        starts = [self._offsets.get(o, 0) for o in operands]
        geometry = step_geometry(step, sizes, [s.strides for s in specs], starts=starts, in_order=in_order)
        geometry = replace(geometry, gathered=self._gathered(step))
        program = step.program
        if not program.reads_again:
            found, most = narrowed(program)
            program = found if most is None or geometry.n_reduced <= most else program
            if not program.scatters and not self._as_given:  # whose results differ, though they read the same elements
                geometry = without_repeats(program, geometry, len(step.inputs))
        addresses = tuple(s.address for s in specs)
        machine = self.machine.target, self.machine.sms, self.determinism
        task = Task(program, geometry, addresses, *machine, prod(self.sizes[d] for d in inner) if inner else 0)
        if inner:
            self._sections[inner] = max(1, sections.elements(task))
        return replace(task, few=True) if self.few and few.serves(task) else task

    def _sections_of(self, operand: Operand, steps: Steps) -> Dims:
        """The dims along which a buffer has a value for each section; nothing for other arrays."""
        return steps.buffers[operand.number].sections if operand.kind == "buffer" else ()

    def _coarse(self, inner: Dims) -> Dims:
        """The sizes of all dims where a section along the ``inner`` ones counts as one element."""
        count = prod(self.sizes[d] for d in inner) // self._sections.get(inner, 1)
        own = {d: count if d == inner[0] else 1 for d in inner}
        return tuple(own.get(d, n) for d, n in enumerate(self.sizes))

    def shape(self, b: Buffer) -> Dims:
        """The sizes of a buffer."""
        sizes = self._coarse(b.sections) if b.sections else self.sizes
        return tuple(sizes[d] for d in b.dims)

    def _gathered(self, step: Step) -> tuple[Gathered, ...]:
        """The axes along which indices choose elements of the arrays that a step reads."""
        found = enumerate(step.inputs)
        return tuple(
            Gathered(i, *self._axes[o.number]) for i, o in found if o.kind == "view" and o.number in self._axes
        )

    def operand(self, operand: Operand, steps: Steps) -> ArraySpec:
        """An array of a step, with its strides along all dims of the program."""
        if operand.kind != "buffer":
            return self.operands[operand]
        b = steps.buffers[operand.number]
        shape = self.shape(b)
        if b.sections:
            rows = next(s for s in steps.steps if operand in s.outputs)
            dims = [*(d for d in self.order if d in rows.kept), *(d for d in self.order if d in rows.reduced)]
            strides = dict(zip(b.dims, dense(shape, [b.dims.index(d) for d in dims]), strict=True))
            return ArraySpec(self.sizes, tuple(strides.get(d, 0) for d in range(len(self.sizes))), 0, b.dtype)
        own = ArraySpec(shape, dense(shape, range(len(shape))), 0, b.dtype)
        return _along_dims(own, Layout(shape, own.strides), b.dims, self.sizes)


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
