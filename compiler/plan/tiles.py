"""Tiles: all elements of some neighbouring results lie in one run of memory, which a CTA copies into shared memory.

What is copied is cut between indices of the outermost kept dim. The elements of one such index are a *unit*: a short
row, or the rows of a small middle axis with all that lies beside them. Wherever a unit begins and however its elements
lie, memory is read in whole aligned accesses, and threads pick their elements up in shared memory, where single ones
cost little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from ..dtypes import DType
from ..space.geometry import Dim, Geometry
from .plan import Plan

EDGE, BEYOND = 32, 32
"""Bytes of a tile beyond its elements: the aligned accesses at both ends reach past them; and so do the words that
vectors in a tile are taken out of."""
SECTOR = 32
"""Results of one byte that memory takes at once."""
DENSE = 0.75
"""The part of a unit's bytes that must be elements: the gaps are read as well."""


@dataclass(frozen=True)
class Unit:
    """The elements of one index of the outermost kept dim, of one input.

    Attributes:
        stride: elements from one unit to the next.
        span: elements from the first to the last of a unit, gaps included.
        count: elements in it.
    """

    stride: int
    span: int
    count: int


def unit(geometry: Geometry, operand: int) -> Unit | None:
    """The unit of an input; None where units do not follow each other as wholes."""
    if not geometry.n_reduced:
        return Unit(1, 0, 1)
    outer, inner = _outermost(geometry.kept), _inner(geometry)
    strides = [d.strides[operand] for d in inner if d.size > 1]
    if min(strides, default=0) < 0:
        return None
    span = 1 + sum((d.size - 1) * d.strides[operand] for d in inner)
    count = prod(d.size for d in inner if d.strides[operand])
    stride = outer.strides[operand] if outer is not None else span
    return Unit(stride, span, count) if 0 < span <= stride else None


def results(geometry: Geometry) -> int:
    """Results of a unit."""
    outer = _outermost(geometry.kept)
    return geometry.n_kept // outer.size if outer is not None else 1


def share(plan: Plan, items: Sequence[int], copied: Sequence[bool], operand: int) -> int:
    """Bytes of the plan's tile that belong to one of the inputs that are copied: by the size of their elements."""
    whole = sum(item for item, own in zip(items, copied, strict=True) if own)
    return plan.tile_bytes * items[operand] // whole // 16 * 16


def beyond(plan: Plan) -> int:
    """Bytes after the elements of a tile that threads of ``plan`` may read."""
    return BEYOND if plan.vector > 1 else 0


def units(plan: Plan, geometry: Geometry, inputs: Sequence[DType]) -> int:
    """Units that fit a CTA's tile; 0 where the layout has none, or not one fits.

    An input that all units share is not copied. Where many results fit, a whole number of sectors of them.
    """
    found, items = [unit(geometry, i) for i in range(len(inputs))], [t.itemsize for t in inputs]
    mine = [u is not None for u in found]
    fits = []
    for i, u in enumerate(found):
        if u is None:
            if _differs(geometry, i):
                return 0
            continue
        if u.count < DENSE * u.stride:
            return 0
        room = (share(plan, items, mine, i) - EDGE - beyond(plan)) // items[i]
        fits.append((room - u.span) // u.stride + 1 if room >= u.span else 0)
    most, each = min(fits, default=0), results(geometry)
    whole = SECTOR // gcd(SECTOR, each)
    return most // whole * whole if most >= 8 * whole else most


def _differs(geometry: Geometry, operand: int) -> bool:
    """Whether an input has other elements for other units."""
    outer = _outermost(geometry.kept)
    return outer is not None and outer.strides[operand] != 0


def ctas(geometry: Geometry, each: int) -> int:
    """CTAs that copy ``each`` units; none where there are no results."""
    outer = _outermost(geometry.kept)
    count = outer.size if outer is not None else 1
    return -(-count // each) if geometry.n_kept else 0


def _outermost(kept: tuple[Dim, ...]) -> Dim | None:
    """The outermost kept dim; a kernel may have dims of size 1 before it."""
    return next((d for d in kept if d.size > 1), None)


def _inner(geometry: Geometry) -> list[Dim]:
    outer = _outermost(geometry.kept)
    return [d for d in (*geometry.kept, *geometry.reduced) if d is not outer]
