"""The operands of one call: views of its inputs, memory for its results, the backend and the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.dtypes import BOOL, DType
from ...compiler.errors import error
from ...compiler.program.spelling import wrong_count
from ...compiler.space.geometry import memory_order
from ..arrays import conversion
from ..backends.backend import Backend
from ..backends.select import backend_for
from ..view import ArraySpec, View, all_parts


@dataclass
class Operands:
    """The arrays of one call.

    Attributes:
        first: the first input as the caller passed it; results are arrays of its library.
        inputs: views of the input arrays, broadcast to one shape; a mask comes last.
        backend: the machine that will run.
        stream: the caller's stream.
        outputs: views of the result arrays, then of the checks.
        results: functions that return the caller's result arrays, then the checks.
        masked: whether the last input is a mask.
        numbers: the inputs of rank 0 whose values launches have in place of their addresses.
        fixed: how many of the last inputs are no arguments of the call, but the same arrays in all calls of its key.
    """

    first: object
    inputs: tuple[View, ...]
    backend: Backend
    stream: int
    outputs: tuple[View, ...] = ()
    results: list[Callable[[], Any]] = field(default_factory=list)
    masked: bool = False
    numbers: frozenset[int] = frozenset()
    fixed: int = 0

    @classmethod
    def of(cls, xs: Sequence[object], device: str, mask: object = None) -> Operands:
        """The inputs and the mask as views, with the backend and the stream that serve them.

        None and True are no mask: all elements take part.

        Raises:
            ArgumentError: WF124 without inputs, WF126 when shapes do not broadcast, WF139 for a mask of a wrong shape
                or type.
        """
        views = tuple(conversion.view(x) for x in xs)
        if not views:
            raise wrong_count("a reduction", "at least 1", 0)
        shape = views[0].shape
        if any(v.shape != shape for v in views):
            shape = _common_shape(views)
            views = tuple(_broadcast(v, shape) for v in views)
        masked = mask is not None and mask is not True
        if masked:
            views += (_mask(mask, shape),)
        conversion.common_device(views)
        return cls(xs[0], views, backend_for(views, device), conversion.stream_of(xs[0]), masked=masked)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all inputs have."""
        return self.inputs[0].shape

    @property
    def order(self) -> tuple[int, ...]:
        """The axes in memory order, outermost first."""
        return memory_order(self.shape, [v.strides for v in self.inputs])

    @property
    def types(self) -> tuple[DType, ...]:
        """The element type of each input."""
        return tuple(v.dtype for v in self.inputs)

    def allocate(
        self, axes: tuple[int, ...], types: Sequence[DType], out: Any = None, keepdims: bool = False, checks: int = 0,
        order: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Makes the result arrays, or checks ``out``; then makes one bool array per check.

        New arrays have the memory order of the inputs, or ``order``: the axes of the results, outermost first.
        """
        check_keepdims(keepdims)
        shape, own = _results(self.shape, tuple([v.strides for v in self.inputs]), axes, keepdims)
        order = own if order is None else order
        made = [conversion.allocate(self.first, shape, t, order) for t in (() if out is not None else types)]
        self.outputs = tuple(v for v, _ in made)
        self.results = [finish for _, finish in made]
        if out is not None:
            given = out if isinstance(out, tuple | list) else (out,)
            if len(given) != len(types):
                raise error("WF125", expected=len(types), found=len(given))
            pairs = zip(given, types, strict=True)
            self.outputs = tuple(conversion.check_out(o, shape, t, self.inputs) for o, t in pairs)
            conversion.check_apart(self.outputs)
            self.results = [lambda o=o: o for o in given]  # type: ignore[misc]
        for view, finish in (conversion.allocate(self.first, shape, BOOL, order) for _ in range(checks)):
            self.outputs += (view,)
            self.results.append(finish)

    def shapes(self, axes: tuple[int, ...]) -> tuple[tuple[ArraySpec, ...], tuple[ArraySpec, ...]]:
        """The parts of inputs and outputs for the planner; outputs without the axes that ``keepdims`` keeps."""
        rank = len(self.shape)
        inputs = [ArraySpec(v.shape, v.strides, v.address % 16, v.dtype) for v in self.inputs]
        outputs = []
        for v in self.outputs:
            kept = [i for i in range(len(v.shape)) if len(v.shape) != rank or i not in axes or not axes]
            shape, strides = tuple(v.shape[i] for i in kept), tuple(v.strides[i] for i in kept)
            outputs.append(ArraySpec(shape, strides, v.address % 16, v.dtype))
        return all_parts(inputs), all_parts(outputs)


@lru_cache(maxsize=4096)
def check_keepdims(keepdims: object) -> None:
    """Checks that ``keepdims`` is a truth value; WF138 for anything else."""
    if not isinstance(keepdims, bool | int | np.bool_):
        raise error("WF138", option="keepdims", value=keepdims, expected="True or False", default=False)


def _results(
    shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...], axes: tuple[int, ...], keepdims: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of the results, and their axes in the memory order of the inputs."""
    kept = [a for a in range(len(shape)) if keepdims or a not in axes]
    order = tuple(kept.index(a) for a in memory_order(shape, strides) if a in kept)
    return tuple(1 if a in axes else shape[a] for a in kept), order


def _common_shape(views: Sequence[View]) -> tuple[int, ...]:
    """The shape that the views broadcast to; WF126 if they do not."""
    try:
        return np.broadcast_shapes(*(v.shape for v in views))
    except ValueError:
        raise error("WF126", shapes=", ".join(str(v.shape) for v in views)) from None


def _broadcast(v: View, shape: tuple[int, ...]) -> View:
    """``v`` broadcast to ``shape``: repeated dims have stride 0."""
    missing = len(shape) - len(v.shape)
    own = zip(v.shape, v.strides, shape[missing:], strict=True)
    strides = (0,) * missing + tuple(0 if size == 1 and n != 1 else stride for size, stride, n in own)
    return replace(v, shape=shape, strides=strides)


def _mask(mask: object, shape: tuple[int, ...]) -> View:
    """The view of a mask, broadcast to ``shape``; WF139 for another shape or type."""
    v = conversion.view(mask)
    fits = len(v.shape) <= len(shape) and all(
        m in (1, n) for m, n in zip(v.shape[::-1], shape[::-1], strict=False)
    )  # fmt: skip
    if v.dtype != BOOL or not fits:
        raise error("WF139", dtype=v.dtype, shape=v.shape, expected=shape)
    return _broadcast(v, shape)
