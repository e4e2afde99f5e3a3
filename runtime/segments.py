"""Ragged rows: every segment of an axis reduced in one call, however uneven they are.

The arrays go the way of every reduction. What is added is a view in which the axis is there twice, once as the segments
and once as their elements; what each row is made of; and kernels that follow, when long segments were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..compiler import ragged
from ..compiler.abi import Role, partial_program, second_program
from ..compiler.artifact import CompiledKernel
from ..compiler.dtypes import BOOL
from ..compiler.errors import error
from ..compiler.geometry import Geometry, collapse, normalize_axes
from ..compiler.graph import Program
from ..compiler.plan import Plan, launch
from ..compiler.planner import Choice, Task
from ..compiler.programs import Traced
from ..compiler.ragged import Extent, Rows
from ..compiler.target import Target
from .api import plan_text
from .arrays import to_numpy, view
from .backend import View, Workspace
from .dlpack import contiguous
from .execute import Arrays, bound, collect
from .launch import ALIGN, Scratch, calls
from .prepare import Prepared, Request, Shape, artifact, traced
from .what import params_of


def segment_reduce(
    x: Any,
    offsets: Any,
    what: Any,
    *,
    axis: int = 0,
    out: Any = None,
    device: str = "auto",
    plan: str = "",
    **params: Any,
) -> Any:
    """Reduces each segment ``x[offsets[k]:offsets[k + 1]]`` of an axis.

    >>> import warpfold as wf
    >>> wf.segment_reduce([1, 2, 3, 4], [0, 3, 3, 4], "sum")
    array([6, 0, 4])

    Short and long segments may be mixed: long ones are cut into pieces that fill the machine. Positions (as of an
    argmax) count from the segment's start, and a mean divides by the segment's length.

    Args:
        x: an array of any library.
        offsets: integers that rise from 0 at least to the axis' size at most, one more than there are segments: an
            array of any library, or a list. Offsets on a GPU are waited for and copied, since they decide what is run.
        what: as in ``reduce``.
        axis: the axis that the segments lie along.
        out: an array (or one per result) to write into.
        device: as in ``reduce``.
        plan: ``key=value,...`` in place of the planner's own choices; without ``vector`` and ``finish``.
        params: passed to the tensor program and baked in.

    Returns:
        An array in x's library and on its device, with the segments in the place of the axis; or a tuple of them.

    Raises:
        DTypeError: WF140 for offsets that are no integers.
        ArgumentError: WF141 to WF143 for other offsets that cut no axis, WF144 for an empty segment without a value,
            WF145 for an axis that is not one, WF146 for a plan that segments cannot have.
        TraceError, PlanError, CompileError, BackendError: as ``reduce``.
    """
    arrays = Arrays.of((x,), device)
    own = _axis(axis, len(arrays.shape))
    rows = Rows.of(_bounds(offsets, arrays.shape[own]))
    arrays.inputs = tuple(_twice(v, own, len(rows)) for v in arrays.inputs)
    request = Request(what, (own + 1,), params_of(what, params), plan_text(plan))
    found = _traced(request, arrays, rows)
    arrays.allocate(request.axes, found.results, out, checks=len(found.checks))
    with bound(arrays) as pointers:
        if prod(arrays.outputs[0].shape):
            _Pipeline(arrays, own, request.options).run(found.program, rows, pointers)
    return collect(arrays, found.program.name, found.structure, found.checks)


# --- what the caller gave ------------------------------------------------------------------------------------------
def _axis(axis: Any, rank: int) -> int:
    if axis is None or isinstance(axis, tuple | list):
        raise error("WF145", axis=axis)
    return normalize_axes(axis, rank)[0]


def _bounds(offsets: Any, size: int) -> np.ndarray[Any, Any]:
    """The offsets on the host, checked."""
    v = view(offsets)
    if len(v.shape) != 1 or v.shape[0] == 0:
        raise error("WF141", shape=v.shape)
    if v.dtype == BOOL or not v.dtype.is_integer:
        raise error("WF140", dtype=v.dtype)
    found = to_numpy(offsets)
    outside = np.flatnonzero((found < 0) | (found > size))
    if len(outside):
        raise error("WF142", position=outside[0], value=found[outside[0]], size=size)
    found = found.astype(np.int64)
    falls = np.flatnonzero(found[1:] < found[:-1])
    if len(falls):
        p = int(falls[0])
        raise error("WF143", position=p, value=found[p], following=found[p + 1])
    return found


def _twice(v: View, axis: int, segments: int) -> View:
    """``v`` with an axis of segments before ``axis``, along which no element moves."""
    shape = (*v.shape[:axis], segments, *v.shape[axis:])
    return replace(v, shape=shape, strides=(*v.strides[:axis], 0, *v.strides[axis:]))


def _traced(request: Request, arrays: Arrays, rows: Rows) -> Traced:
    """The program of a request on whole segments; WF144 when one of them has no value."""
    axis = request.axes[0]
    full = (*arrays.shape[:axis], max(1, arrays.shape[axis]), *arrays.shape[axis + 1 :])
    found, kept = traced(request, arrays.types, full)
    empty = np.flatnonzero(rows.lengths == 0)
    if len(empty) and 0 not in kept and not found.program.monoid.has_identity:
        raise error("WF144", name=found.program.name, position=empty[0])
    return found


# --- the kernels ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Level:
    """One kernel of the pipeline.

    Attributes:
        program, rows, plan: what it computes, of which rows, and how.
        inputs: the arrays that it reads, with the axis once.
    """

    program: Program
    rows: Rows
    plan: Plan
    inputs: tuple[Shape, ...]


class _Pipeline:
    """The kernels of one call: pieces first, while there are any, each of whose states the next one reads."""

    def __init__(self, arrays: Arrays, axis: int, options: str) -> None:
        self.arrays, self.axis, self.options = arrays, axis, options
        self.backend, self.stream = arrays.backend, arrays.stream
        full = arrays.shape
        self.before, self.after = full[:axis], full[axis + 2 :]
        self.others = prod((*self.before, *self.after))
        self.held: list[np.ndarray[Any, Any]] = []  # host memory must outlive the copies that are queued

    def run(self, program: Program, rows: Rows, pointers: Sequence[int]) -> None:
        """Queues all kernels; ``pointers`` are those of the inputs' parts, then the results'."""
        inputs, outputs = self.arrays.shapes((self.axis + 1,))
        levels = self.levels(program, rows, tuple(self.once(s) for s in inputs))
        own, results = list(pointers[: len(inputs)]), list(pointers[len(inputs) :])
        scratch = self.scratch(levels)
        for level, states in zip(levels, scratch, strict=True):
            shapes = outputs if level is levels[-1] else self.states(level)
            written = results if level is levels[-1] else states
            self.queue(level, shapes, [*own, *written])
            own = written

    def levels(self, program: Program, rows: Rows, inputs: tuple[Shape, ...]) -> list[_Level]:
        """The kernels to run: the last reads whole segments, those before it pieces."""
        sms = self.backend.sms
        found: list[_Level] = []
        while True:
            item = max(s.dtype.itemsize for s in inputs)
            extent = Extent.of(rows, self.others, item, sms)
            plan = _plan(program, inputs, self.axis, extent, self.options, self.backend.target, sms)
            limit = ragged.cut_at(plan, rows, self.others, sms)
            if limit is None:
                return [*found, _Level(program, rows, plan, inputs)]
            pieces, rows = rows.cut(limit)
            found.append(_Level(partial_program(program), pieces, plan, inputs))
            program = second_program(program)
            inputs = self.states(found[-1])

    def once(self, s: Shape) -> Shape:
        """A shape without the axis of segments."""
        a = self.axis
        return replace(s, shape=s.shape[:a] + s.shape[a + 1 :], strides=s.strides[:a] + s.strides[a + 1 :])

    def states(self, level: _Level) -> tuple[Shape, ...]:
        """The arrays of states that a level of pieces leaves: like the input, with the pieces along the axis."""
        shape = (*self.before, len(level.rows), *self.after)
        return tuple(Shape(shape, contiguous(shape), 0, t) for t in level.program.monoid.state)

    def scratch(self, levels: Sequence[_Level]) -> list[list[int]]:
        """The addresses of each level's states; none of the last's."""
        sizes = [[prod(s.shape) * s.dtype.itemsize for s in self.states(level)] for level in levels[:-1]]
        padded = [[-(-n // ALIGN) * ALIGN for n in level] for level in sizes]
        address = self.backend.workspace(sum(map(sum, padded)), 0, self.stream).partials
        found: list[list[int]] = []
        for level in padded:
            found.append([])
            for n in level:
                found[-1].append(address)
                address += n
        return [*found, []]

    def queue(self, level: _Level, outputs: tuple[Shape, ...], pointers: Sequence[int]) -> None:
        """Compiles and launches one kernel."""
        rows, target = level.rows, self.backend.target
        wide = ragged.is_wide(rows)
        ready = _prepare(level.program, level.inputs, outputs, len(rows), self.axis, level.plan, wide, target)
        made = artifact(ready)
        addresses = self.on_device(rows, made.main)
        none = Scratch(0, (), 0)
        queued = calls(made, ready.geometry, ready.choice.run, pointers, Workspace(0, 0), none, addresses)
        self.backend.launch(made, queued, self.stream)

    def on_device(self, rows: Rows, kernel: CompiledKernel) -> dict[Role, int]:
        """The addresses of what ``kernel`` asks of each row, copied to where it runs; ``bound`` lets go of them."""
        t = np.dtype(f"i{kernel.facts.index_bits // 8}")
        asked = {p.role for p in kernel.params}
        bounds = self.bind(rows.bounds.astype(t))
        found: dict[Role, int] = {"row_begin": bounds, "row_end": bounds + t.itemsize}
        if "row_origin" in asked:
            found["row_origin"] = self.bind(rows.origin.astype(t))
        if "row_count" in asked:
            found["row_count"] = self.bind(rows.count.astype(t))
        return found

    def bind(self, a: np.ndarray[Any, Any]) -> int:
        self.held.append(a)
        return self.backend.bind(view(a), write=False, stream=self.stream)


def _geometry(
    program: Program, inputs: Sequence[Shape], outputs: Sequence[Shape], segments: int, axis: int
) -> Geometry:
    """The geometry of inputs that have the axis once, seen with the segments before it."""
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
    program: Program, inputs: tuple[Shape, ...], axis: int, extent: Extent, options: str, target: Target, sms: int
) -> Plan:
    """The plan for rows of an extent."""
    geometry = _geometry(program, inputs, (), 1, axis)
    return ragged.plan(Task(program, geometry, tuple(s.address for s in inputs), target, sms), extent, options)


@lru_cache(maxsize=4096)
def _prepare(
    program: Program, inputs: tuple[Shape, ...], outputs: tuple[Shape, ...], segments: int, axis: int, plan: Plan,
    wide: bool, target: Target,
) -> Prepared:  # fmt: skip
    """A level with what it is compiled for."""
    geometry = _geometry(program, inputs, outputs, segments, axis)
    task = Task(program, geometry, tuple(s.address for s in (*inputs, *outputs)), target, target.sms)
    run = launch(plan, geometry.n_kept, geometry.n_reduced)
    choice = Choice(plan, ragged.facts(task, plan, wide=wide), run)
    return Prepared(Traced(program, (), 0), geometry, choice, target)
