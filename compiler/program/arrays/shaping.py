"""Functions of the Array API standard that move, add, drop or stretch axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import error
from ..frames import caller
from .broadcasting import along, broadcast
from .dims import Axes, Dims, dims_of
from .folding import AxisArgument, no_axis, positions
from .sizes import Size, whole
from .sym_array import SymArray


def expand_dims(x: SymArray, *, axis: int | Sequence[int] = 0) -> SymArray:
    """``x`` with new axes of size 1 at these positions of the result."""
    places = axis if isinstance(axis, tuple | list) else (axis,)
    found = positions(places, (None,) * (x.ndim + len(places)), x)
    rest = iter(x.axes)
    return x.relabeled(tuple(None if i in found else next(rest) for i in range(x.ndim + len(places))))


def squeeze(x: SymArray, axis: AxisArgument = None) -> SymArray:
    """``x`` without these axes, which must have size 1; without a choice, without all of those.

    Raises:
        TraceError: WF265 for an axis of another size.
    """
    axes = x.axes
    found = [i for i, d in enumerate(axes) if d is None] if axis is None else positions(axis, axes, x)
    for i in found:
        if (d := axes[i]) is not None:
            raise error("WF265", axis=i, value=x.described(), size=x.dims.sizes[d], where=caller())
    return x.relabeled(tuple(d for i, d in enumerate(axes) if i not in found))


def permute_dims(x: SymArray, axes: Sequence[int] | None = None) -> SymArray:
    """``x`` with its axes in this order; in reverse order without one."""
    if axes is None:
        return x.T
    given: Any = tuple(axes) if isinstance(axes, tuple | list) else (axes,)
    order = positions(given, x.axes, x)
    if len(order) != x.ndim:
        raise no_axis(given, x.ndim, x)
    return x.relabeled(tuple(x.axes[i] for i in order))


def matrix_transpose(x: SymArray) -> SymArray:
    """``x`` with its last two axes exchanged."""
    return x.mT


def moveaxis(x: SymArray, source: int | Sequence[int], destination: int | Sequence[int]) -> SymArray:
    """``x`` with the axes ``source`` at the positions ``destination``."""
    moved, to = positions(source, x.axes, x), positions(destination, x.axes, x)
    rest = iter(i for i in range(x.ndim) if i not in moved)
    order = [moved[to.index(i)] if i in to else next(rest) for i in range(x.ndim)]
    return permute_dims(x, order)


def broadcast_to(x: SymArray, shape: Sequence[Size | int]) -> SymArray:
    """``x`` stretched to a shape of sizes of arrays, such as ``y.shape``.

    Raises:
        TraceError: WF255 for a shape to which it does not broadcast, WF266 for a size that no array has.
    """
    axes = axes_of(shape, x.dims, x.axes)
    return SymArray(along(x, axes), axes, x.dims, x.dtype)


def broadcast_arrays(*arrays: SymArray) -> list[SymArray]:
    """The arrays stretched to their common shape."""
    exprs, axes = broadcast(arrays)
    return [SymArray(e, axes, a.dims, a.dtype) for e, a in zip(exprs, arrays, strict=True)]


def axes_of(shape: Any, dims: Dims, like: Axes = ()) -> Axes:
    """The axes of a shape; a plain number stands for the axis of ``like`` that has this size.

    Raises:
        TraceError: WF266 for a size that is not that of an axis.
    """
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    own = (None,) * (len(sizes) - len(like)) + like[max(0, len(like) - len(sizes)) :]
    return tuple(_axis(n, d, dims) for n, d in zip(sizes, own, strict=True))


def _axis(size: Any, like: int | None, dims: Dims) -> int | None:
    if isinstance(size, Size) and size.expr.op == "count" and len(found := dims_of(size.of)) == 1:
        return dims.find(found[0])
    number = whole(size)
    if number == 1:
        return None
    if like is None or dims.sizes[like] != number:
        raise error("WF266", size=number, where=caller())
    dims.looked_at.add(like)
    return like
