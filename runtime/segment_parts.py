"""The kernels of one segmented reduction: first over parts of long segments, last over whole segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..compiler.driver.artifact import CompiledKernel
from ..compiler.plan.abi import Role, partial_program, second_program
from ..compiler.plan.launch import launch
from ..compiler.plan.plan import Plan
from ..compiler.plan.shared_memory import global_states
from ..compiler.planner import ragged
from ..compiler.planner.ragged import RaggedRows, Threads
from ..compiler.planner.task import Choice, Task
from ..compiler.program.array_program import ArrayProgram
from ..compiler.program.cuts.cut import only_step
from ..compiler.program.graph import Program
from ..compiler.program.rewrites.narrowing import narrowed
from ..compiler.space.geometry import Geometry, collapse
from ..compiler.target import Target
from .arrays.conversion import view
from .backends.kernel_calls import Workspace, calls, placed, scratch
from .calls.operands import Operands
from .prepare import Prepared, artifact
from .view import ArraySpec, all_parts, contiguous, spec_of


@dataclass(frozen=True)
class Level:
    """One kernel of the pipeline.

    Attributes:
        program, rows, plan: the program, the rows that it reduces, and the plan.
        inputs: the arrays that it reads, without the axis of segments.
    """

    program: Program
    rows: RaggedRows
    plan: Plan
    inputs: tuple[ArraySpec, ...]


class Pipeline:
    """The kernels of one call: each but the last reduces parts of segments to states for the next."""

    def __init__(self, arrays: Operands, axis: int, options: str) -> None:
        self.arrays, self.axis, self.options = arrays, axis, options
        self.backend, self.stream = arrays.backend, arrays.stream
        full = arrays.inputs[0].shape
        self.elements = full[axis + 1]
        self.before, self.after = full[:axis], full[axis + 2 :]
        self.others = prod((*self.before, *self.after))
        self.held: list[np.ndarray[Any, Any]] = []  # host memory must outlive the queued copies

    def run(self, whole: ArrayProgram, rows: RaggedRows, pointers: Sequence[int]) -> None:
        """Queues all kernels of a reduction; ``pointers`` are the addresses of the parts of inputs, then of results."""
        step = only_step(whole)
        narrow, most = narrowed(step.program)
        program = narrow if most is None or self.elements <= most else step.program
        inputs, outputs = (all_parts(map(spec_of, own)) for own in (self.arrays.inputs, self.arrays.outputs))
        read = [whole.argument(whole.views[o.number].array) for o in step.inputs]
        written = [o.number for o in step.outputs]
        levels = self.levels(program, rows, tuple(self.once(inputs[i]) for i in read))
        own, results = [pointers[i] for i in read], [pointers[len(inputs) + i] for i in written]
        outputs = tuple(outputs[i] for i in written)
        scratch, free = self.scratch(levels)
        for level, states in zip(levels, scratch, strict=True):
            shapes = outputs if level is levels[-1] else self.states(level)
            made = results if level is levels[-1] else states
            self.queue(level, shapes, [*own, *made], free)
            own = made

    def levels(self, program: Program, rows: RaggedRows, inputs: tuple[ArraySpec, ...]) -> list[Level]:
        """The kernels to run: the last reads whole segments, all others read parts."""
        sms, target = self.backend.sms, self.backend.target
        room = sms * target.threads_per_sm
        found: list[Level] = []
        while True:
            plan = _plan(program, inputs, self.axis, Threads.of(rows, self.others, room), self.options, target, sms)
            limit = ragged.cut_at(plan, rows, self.others, room)
            if limit is None:
                return [*found, Level(program, rows, plan, inputs)]
            pieces, rows = rows.cut(limit)
            found.append(Level(partial_program(program), pieces, plan, inputs))
            program = second_program(program)
            inputs = self.states(found[-1])

    def once(self, s: ArraySpec) -> ArraySpec:
        """An array without the axis of segments."""
        a = self.axis
        return s._replace(shape=s.shape[:a] + s.shape[a + 1 :], strides=s.strides[:a] + s.strides[a + 1 :])

    def states(self, level: Level) -> tuple[ArraySpec, ...]:
        """The arrays of states that a level leaves: like the input, with one state per part along the axis."""
        shape = (*self.before, len(level.rows), *self.after)
        return tuple(ArraySpec(shape, contiguous(shape), 0, t) for t in level.program.monoid.state)

    def scratch(self, levels: Sequence[Level]) -> tuple[list[list[int]], int]:
        """The addresses of the states of all levels but the last, and of the exchange buffer that all levels share."""
        places, nbytes = [], 0
        for level in levels[:-1]:
            place, nbytes = placed(len(level.rows) * self.others, level.program.monoid.state, nbytes)
            places.append(place)
        end = max(placed(self.exchanged(level), level.program.monoid.state, nbytes)[1] for level in levels)
        address = self.backend.workspace(end, 0, self.stream).partials
        return [*([address + o for o in place] for place in places), []], address + nbytes

    def exchanged(self, level: Level) -> int:
        """The number of states that the CTAs of a level exchange in global memory."""
        return global_states(level.plan) * launch(level.plan, len(level.rows) * self.others, 1).tiles

    def queue(self, level: Level, outputs: tuple[ArraySpec, ...], pointers: Sequence[int], free: int) -> None:
        """Compiles and launches one kernel; ``free`` is the address of the exchange buffer."""
        rows, target = level.rows, self.backend.target
        wide = ragged.is_wide(rows)
        ready = _prepare(level.program, level.inputs, outputs, len(rows), self.axis, level.plan, wide, target)
        made = artifact(ready)
        addresses = self.on_device(rows, made.main)
        layout = scratch(made, ready.geometry, ready.choice.run)
        queued = calls(made, ready.geometry, ready.choice.run, pointers, Workspace(free, 0), layout, addresses)
        self.backend.launch(made, queued, self.stream)

    def on_device(self, rows: RaggedRows, kernel: CompiledKernel) -> dict[Role, int]:
        """The addresses of the row arrays that ``kernel`` reads, copied to the device; ``bound`` releases them."""
        t = np.dtype(f"i{kernel.facts.index_bits // 8}")
        roles = {p.role for p in kernel.params}
        bounds = self.bind(rows.bounds.astype(t))
        found: dict[Role, int] = {"row_begin": bounds, "row_end": bounds + t.itemsize}
        if "row_origin" in roles:
            found["row_origin"] = self.bind(rows.origin.astype(t))
        if "row_count" in roles:
            found["row_count"] = self.bind(rows.count.astype(t))
        return found

    def bind(self, a: np.ndarray[Any, Any]) -> int:
        self.held.append(a)
        return self.backend.bind(view(a), write=False, stream=self.stream)


def _geometry(
    program: Program, inputs: Sequence[ArraySpec], outputs: Sequence[ArraySpec], segments: int, axis: int
) -> Geometry:
    """The geometry of inputs with an axis of segments inserted before the reduced axis."""
    shape = inputs[0].shape
    return collapse(
        (*shape[:axis], segments, *shape[axis:]),
        (axis + 1,),
        [(*s.strides[:axis], 0, *s.strides[axis:]) for s in inputs],
        [s.strides for s in outputs],
        ordered=True,
        indexed=program.uses_index,
        rows=axis,
    )


@lru_cache(maxsize=4096)
def _plan(
    program: Program, inputs: tuple[ArraySpec, ...], axis: int, threads: Threads, options: str, target: Target, sms: int
) -> Plan:
    """The plan for rows that each want ``threads``."""
    geometry = _geometry(program, inputs, (), 1, axis)
    return ragged.plan(Task(program, geometry, tuple(s.address for s in inputs), target, sms), threads, options)


@lru_cache(maxsize=4096)
def _prepare(
    program: Program, inputs: tuple[ArraySpec, ...], outputs: tuple[ArraySpec, ...], segments: int, axis: int, plan:
    Plan,
    wide: bool, target: Target,
) -> Prepared:  # fmt: skip
    """A level, prepared for compilation."""
    geometry = _geometry(program, inputs, outputs, segments, axis)
    task = Task(program, geometry, tuple(s.address for s in (*inputs, *outputs)), target, target.sms)
    run = launch(plan, geometry.n_kept, geometry.n_reduced)
    choice = Choice(plan, ragged.facts(task, plan, wide=wide), run)
    return Prepared(task, choice)
