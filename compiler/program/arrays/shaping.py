"""Functions of the Array API standard that move, add, drop or stretch axes.

Reshapes of symbolic arrays: axes are split into the parts of their dims, and joined; no element moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...errors import error
from ..frames import caller
from .broadcasting import along, broadcast
from .dims import Axes, Dims, bits, dims_of
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


def reshape(x: SymArray, /, shape: Any, *, copy: object = None) -> SymArray:  # noqa: ARG001 - values have no memory
    """``x`` with its axes split and joined, in row-major order.

    A size that is given as a number becomes a constant of the program; -1 and sizes of ``x`` in its order do not.

    Args:
        x: an array.
        shape: the new sizes; one of them may be -1, which stands for the rest.
        copy: without effect.

    Raises:
        TraceError: WF273 for sizes that do not hold the elements of ``x``, or that neither divide nor join its axes.
    """
    dims, sizes = x.dims, list(shape) if isinstance(shape, tuple | list) else [shape]
    left = [p for d in x.axes for p in dims.parts(d)]
    first = _unchanged(sizes, left, dims)
    inner, left = sizes[len(first) :], left[sum(map(len, first)) :]
    last = [own[::-1] for own in reversed(_unchanged(inner[::-1], left[::-1], dims))]
    inner, left = inner[: len(inner) - len(last)], left[: len(left) - sum(map(len, last))]
    numbers = _numbers(inner, prod(dims.sizes[p] for p in left))
    found: list[tuple[int, ...] | None] = []
    for size, number in zip(reversed(inner), reversed(numbers or []), strict=False):
        found.insert(0, _taken(left, number, dims, fixed=isinstance(size, Size) or size != -1))
    if numbers is None or left or None in found:
        own, asked = ([n.value if isinstance(n, Size) else n for n in tuple(s)] for s in (x.shape, sizes))
        raise error("WF273", value=x.described(), found=tuple(own), expected=tuple(asked), where=caller())
    return x.relabeled(tuple(dims.join(own) for own in (*first, *found, *last) if own is not None))


def _unchanged(sizes: Sequence[Any], left: Sequence[int], dims: Dims) -> list[tuple[int, ...]]:
    """The dims of the first sizes that are symbolic sizes of the first dims of ``left``, or 1."""
    found: list[tuple[int, ...]] = []
    start = 0
    for size in sizes:
        if not (isinstance(size, Size) and size.expr.op == "count") and not (type(size) is int and size == 1):
            break
        space = dims.space(size.of) if isinstance(size, Size) else 0
        own = tuple(left[start : start + space.bit_count()])
        if bits(own) != space:
            break
        found.append(own)
        start += len(own)
    return found


def _numbers(sizes: Sequence[Any], elements: int) -> list[int] | None:
    """The sizes of so many elements as numbers; None if they have another product."""
    numbers = [n.known() if isinstance(n, Size) else whole(n) for n in sizes]
    rest = prod(n for n in numbers if n != -1)
    if numbers.count(-1) == 1 and rest:
        numbers[numbers.index(-1)] = elements // rest
    return numbers if prod(numbers) == elements and min(numbers, default=1) >= 0 else None


def _taken(left: list[int], size: int, dims: Dims, *, fixed: bool) -> tuple[int, ...] | None:
    """Takes the innermost dims of ``left`` that have ``size`` elements, and splits the last of them if need be.

    None where no whole number splits it. The size is a constant if it is ``fixed``.
    """
    found: list[int] = []
    while size != 1:
        if not left:
            return None
        dim = left.pop()
        n = dims.sizes[dim]
        if n == size or (n and size % n == 0):
            size = 1 if n == size else size // n
            if fixed and dim not in dims.fixed:
                dims.looked_at.add(dim)
        elif size and n % size == 0:
            outer, dim = dims.split(dim, size, fixed="inner" if fixed else "outer")
            left.append(outer)
            size = 1
        else:
            return None
        found.insert(0, dim)
    return tuple(found)
