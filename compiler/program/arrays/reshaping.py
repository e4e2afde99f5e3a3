"""Reshapes of symbolic arrays: axes are split into the parts of their dims, and joined; no element moves."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...errors import error
from ..frames import caller
from .dims import Dims, bits
from .sizes import Size, whole
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
