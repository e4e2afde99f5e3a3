"""``wf.segment_reduce``: reduces every segment of an axis in one call, however uneven they are.

The arrays are viewed with the axis twice: once for the segments, once for their elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ..compiler.errors import error
from ..compiler.planner.ragged import RaggedRows
from ..compiler.program.array_program import ArrayProgram
from ..compiler.program.cuts.cut import only_step
from ..compiler.program.frames import outermost
from ..compiler.space.geometry import memory_order, normalize_axes
from .arrays.overlap import share
from .arrays.torch_compile import opaque
from .options import check_options, plan_text
from .programs.reductions import Kind, as_bools, operands_of, program_of
from .programs.run import allocate, bound, collect
from .segment_offsets import bounds
from .segment_parts import Pipeline
from .view import View, broadcast


@opaque
@outermost
def segment_reduce(
    x: Any,
    offsets: Any = None,
    what: Any = None,
    *,
    ids: Any = None,
    num_segments: int | None = None,
    axis: int = 0,
    out: Any = None,
    where: Any = None,
    nan: str = "propagate",
    device: str = "auto",
    plan: str = "",
    **params: Any,
) -> Any:
    """Reduces each segment ``x[offsets[k]:offsets[k + 1]]`` of an axis, or the elements of each id.

    >>> import warpfold as wf
    >>> wf.segment_reduce([1, 2, 3, 4], [0, 3, 3, 4], "sum")
    array([6, 0, 4])
    >>> wf.segment_reduce([1, 2, 3, 4], "sum", ids=[0, 0, 0, 2])
    array([6, 0, 4])

    Short and long segments may be mixed: long segments are divided into parts that fill the machine. Positions, as of
    an argmax, count from the start of the segment; a mean divides by its length.

    Args:
        x: an array of any library.
        offsets: non-decreasing integers from at least 0 to at most the size of the axis, one more than segments: an
            array of any library or a list. Offsets on a GPU are copied to the host first, since the launches depend on
            them.
        what: as in ``reduce``; with ``ids`` it may follow ``x`` directly.
        ids: in place of offsets, the segment of each element along the axis, in non-decreasing order.
        num_segments: with ``ids``, the number of segments; by default one more than the last id.
        axis: the axis that is divided into segments.
        out: an array (or one per result) to write into.
        where: as in ``reduce``, for the elements of ``x``.
        nan: as in ``reduce``.
        device: as in ``reduce``.
        plan: fields of the plan to set, as ``key=value,...``, except ``vector`` and ``finish``.
        params: keyword parameters of the tensor program, compiled into the kernels.

    Returns:
        An array in the library and on the device of ``x``, with the segments in place of the axis; or a tuple of them.

    Raises:
        DTypeError: WF140 or WF154 for offsets or ids that are no integers.
        ArgumentError: WF141 to WF143 for wrong offsets, WF177 and WF179 to WF182 for wrong ids, WF119 for more
            segments than there can be, WF144 for an empty segment without an identity, WF145 for several axes, WF146
            for a plan that segments cannot have.
        TraceError, PlanError, CompileError, BackendError: as in ``reduce``.

    Warns:
        WarpfoldWarning: WF178 for as many offsets as elements, which may be ids.
    """
    check_options(nan=nan)
    if ids is not None and what is None:
        what, offsets = offsets, None
    arrays, masked = operands_of((x,), as_bools(where, (x,)), device)
    shape = arrays.inputs[0].shape
    own = _axis(axis, len(shape))
    rows = RaggedRows.of(bounds(offsets, ids, num_segments, shape[own]))
    whole = [broadcast(v, shape) for v in arrays.inputs]
    order = memory_order(shape, [v.strides for v in whole])  # the segments take the place of their axis in memory, too
    arrays.inputs = tuple(_twice(v, own, len(rows)) for v in whole)
    found = _program(what, own + 1, params, arrays.inputs, rows, masked=masked, nan=nan)
    allocate(arrays, found, out, order=order)
    for v in arrays.outputs:
        if any(share(v, other) for other in arrays.inputs):
            raise error("WF111", position=0)
    with bound(arrays) as pointers:
        if prod(arrays.outputs[0].shape):
            Pipeline(arrays, own, plan_text(plan)).run(found, rows, pointers)
    return collect(arrays, found.name, found.structure, found.checks)


# --- what the caller gave ------------------------------------------------------------------------------------------
def _axis(axis: Any, rank: int) -> int:
    if axis is None or isinstance(axis, tuple | list):
        raise error("WF145", axis=axis)
    return normalize_axes(axis, rank)[0]


def _twice(v: View, axis: int, segments: int) -> View:
    """``v`` with an axis of segments before ``axis``, of stride 0."""
    shape = (*v.shape[:axis], segments, *v.shape[axis:])
    return replace(v, shape=shape, strides=(*v.strides[:axis], 0, *v.strides[axis:]))


def _program(
    what: Any, axis: int, params: dict[str, Any], inputs: Sequence[View], rows: RaggedRows, *, masked: bool, nan: str
) -> ArrayProgram:
    """The program of a reduction of whole segments along an axis; WF144 for an empty segment without an identity."""
    kinds = [Kind(v.dtype, tuple(max(1, n) if a == axis else n for a, n in enumerate(v.shape))) for v in inputs]
    found = program_of(what, axis, params, kinds, masked=masked, nan=nan)
    empty = np.flatnonzero(rows.lengths == 0)
    kept = (n for a, n in enumerate(inputs[0].shape) if a != axis)
    if len(empty) and 0 not in kept and not only_step(found).program.monoid.has_identity:
        raise error("WF144", name=found.name, position=empty[0])
    return found
