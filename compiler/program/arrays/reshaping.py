"""Reshapes of symbolic arrays: axes are split into the parts of their dims, and joined; no element moves."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

from ...errors import error
from ..frames import caller
from .dims import Dims, bits
from .sizes import Size
from .sym_array import SymArray


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
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    left = [p for d in x.axes for p in x.dims.parts(d)]
    axes: list[int | None] = []
    for size, number in zip(reversed(sizes), reversed(_numbers(x, sizes)), strict=True):
        own = _parts_of(size, left, x.dims)
        if own is None:
            own = _taken(left, number, x.dims, fixed=isinstance(size, Size) or size != -1)
        if own is None:
            raise _impossible(x, sizes)
        axes.insert(0, x.dims.join(own))
    if left:  # beside an axis of size 0
        raise _impossible(x, sizes)
    return x.relabeled(tuple(axes))


def _numbers(x: SymArray, sizes: Sequence[Any]) -> list[int]:
    """The new sizes as numbers."""
    numbers = [n.value if isinstance(n, Size) else index(n) for n in sizes]
    elements, rest = prod(x.dims.sizes[p] for d in x.axes for p in x.dims.parts(d)), prod(n for n in numbers if n != -1)
    if numbers.count(-1) == 1 and rest:
        numbers[numbers.index(-1)] = elements // rest
    if prod(numbers) != elements or min(numbers, default=1) < 0:
        raise _impossible(x, sizes)
    return numbers


def _parts_of(size: Any, left: list[int], dims: Dims) -> tuple[int, ...] | None:
    """Takes the innermost dims of ``left`` if ``size`` is the symbolic size of these."""
    if not isinstance(size, Size) or size.expr.op != "count":
        return None
    space, n = dims.space(size.of), dims.space(size.of).bit_count()
    own = tuple(left[-n:])
    if bits(own) != space:
        return None
    del left[-n:]
    return own


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


def _impossible(x: SymArray, sizes: Sequence[Any]) -> Exception:
    """The error for a shape that ``x`` cannot have."""
    own = tuple(1 if d is None else x.dims.sizes[d] for d in x.axes)
    asked = ", ".join(str(n.value if isinstance(n, Size) else n) for n in sizes)
    return error("WF273", value=x.described(), found=own, expected=f"({asked})", where=caller())
