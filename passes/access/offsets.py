"""Offsets of elements in an array, from the indices of an access along the kept and the reduced axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...compiler.ir.build import integer
from ...compiler.ir.dialect.access import ACCESS
from ...compiler.ir.dialect.base import int_attr, str_attr
from ...compiler.ir.mlir import arith, ir
from ...compiler.plan.fields import IN_TILE

ELEMENTWISE = ("fold.load", "fold.element_load", "fold.element_rest", "fold.element_store", "fold.hold")
"""The accesses to elements, by both indices."""
SIDE_BY_SIDE = ("aligned", "shifted", "unaligned", "period", "staggered", "tile", "bits", "split")
"""Access methods of loads whose vectors are contiguous in memory: the stride along the vector's axis is 1."""


def coordinates(flat: Any, sizes: list[Any], rank: int) -> list[Any]:
    """The coordinates of a flat index over ``rank`` dims whose sizes, without the outermost, are ``sizes``."""
    found: list[Any] = []
    for size in reversed(sizes):
        flat, rest = _divided(flat, size)
        found.insert(0, rest)
    return [flat, *found] if rank else []


def _divided(flat: Any, size: Any) -> tuple[Any, Any]:
    """Quotient and remainder by a size.

    In 32 bits it multiplies by the reciprocal ``m = floor((2^32 - 1) / size)``, which the kernel computes once. For a
    flat index x below 2^31, ``x / size - x * m / 2^32`` is between 0 and 1/2: the guess is at most 1 too low.
    """
    t = flat.type
    if t.width != 32:
        quotient = arith.divui(flat, size)
        return quotient, arith.subi(flat, arith.muli(quotient, size))
    _, guess = arith.mului_extended(flat, _reciprocal(size))
    rest = arith.subi(flat, arith.muli(guess, size))
    low = arith.cmpi(arith.CmpIPredicate.uge, rest, size)
    quotient = arith.select(low, arith.addi(guess, integer(t, 1)), guess)
    return quotient, arith.select(low, arith.subi(rest, size), rest)


def _reciprocal(size: Any) -> Any:
    """``floor((2^32 - 1) / size)``, computed where ``size`` is defined, outside all loops. An empty axis has size 0."""
    t, owner = size.type, size.owner
    where = ir.InsertionPoint.at_block_begin(owner) if isinstance(owner, ir.Block) else ir.InsertionPoint.after(owner)
    with where:
        return arith.divui(integer(t, -1), arith.maxui(size, integer(t, 1)))


def offset(op: Any, kept: Any, reduced: Any, fixed: int) -> Any:
    """The offset, in elements, of (kept, reduced) by the layout operands of ``op``, which follow ``fixed`` others."""
    return next(offsets(op, kept, [reduced], fixed))


def offsets(op: Any, kept: Any, reduced: Sequence[Any], fixed: int) -> Iterator[Any]:
    """The offsets of elements with one index along the kept axis, whose part is computed once; each when asked."""
    kept_rank, reduced_rank = int_attr(op, "kept_rank"), int_attr(op, "reduced_rank")
    layout, strides = list(op.operands)[fixed:], strides_of(op, fixed)
    split, sizes = max(0, kept_rank - 1), max(0, kept_rank - 1) + max(0, reduced_rank - 1)
    # The origin of a tile comes first, since it is the same in all steps.
    of_kept = arith.subi(integer(kept.type, 0), layout[-1]) if is_of_tile(op) else None
    places = coordinates(kept, layout[:split], kept_rank)
    for k, r in enumerate(reduced):
        own = coordinates(r, layout[split:sizes], reduced_rank)
        of_kept = of_kept if k else _moved(of_kept, places, strides[:kept_rank])
        total = _moved(of_kept, own, strides[kept_rank:])
        yield integer(kept.type, 0) if total is None else total


def behind_index(op: Any, kept: Any, reduced: Any, places: Sequence[Any], fixed: int) -> Iterator[Any]:
    """The offsets of the elements that lie ``places`` behind index ``reduced``; each when asked."""
    if int_attr(op, "reduced_rank") > 1:
        yield from offsets(op, kept, [arith.addi(reduced, p) for p in places], fixed)
        return
    at, stride = offset(op, kept, reduced, fixed), strides_of(op, fixed)[-1]
    for place in places:
        yield _moved(at, [place], [stride])


def strides_of(op: Any, fixed: int) -> list[Any]:
    """The strides of the kept and the reduced dims; None stands for 1, where elements lie side by side."""
    kept_rank, reduced_rank = int_attr(op, "kept_rank"), int_attr(op, "reduced_rank")
    sizes = fixed + max(0, kept_rank - 1) + max(0, reduced_rank - 1)
    strides = list(op.operands)[sizes : sizes + kept_rank + reduced_rank]
    if op.name in ELEMENTWISE and str_attr(op, "access", ACCESS) in SIDE_BY_SIDE:
        inner = kept_rank if str_attr(op, "axis", ("kept", "reduced")) == "kept" else kept_rank + reduced_rank
        strides[inner - 1] = None
    return strides


def following(op: Any, kept: Any, reduced: Any, count: int, fixed: int) -> list[Any]:
    """The offsets of ``count`` elements from index ``reduced`` on: coordinates are counted up, and divided once."""
    kept_rank, rank = int_attr(op, "kept_rank"), int_attr(op, "reduced_rank")
    layout = list(op.operands)[fixed:]
    split, sizes = max(0, kept_rank - 1), max(0, kept_rank - 1) + max(0, rank - 1)
    inner, strides = layout[split:sizes], layout[sizes + kept_rank : sizes + kept_rank + rank]
    t, places = reduced.type, coordinates(reduced, layout[split:sizes], rank)[1:]
    one, zero, found = integer(t, 1), integer(t, 0), [offset(op, kept, reduced, fixed)]
    backs = [arith.muli(arith.subi(size, one), stride) for size, stride in zip(inner, strides[1:], strict=True)]
    for _ in range(count - 1):
        step, back, carry = strides[-1], zero, None
        for d in reversed(range(rank - 1)):
            up = one if carry is None else arith.extui(t, carry)
            places[d] = arith.addi(places[d], up)
            ends = arith.cmpi(arith.CmpIPredicate.eq, places[d], inner[d])
            carry = ends if carry is None else arith.andi(carry, ends)
            places[d] = arith.select(carry, zero, places[d])
            back = arith.addi(back, backs[d])
            step = arith.select(carry, arith.subi(strides[d], back), step)
        found.append(arith.addi(found[-1], step))
    return found


class Part(NamedTuple):
    """Elements that follow each other, at most one end of an innermost row apart.

    Attributes:
        at: the offset of the first one.
        left: the elements of its row from there on.
        gap: how much farther those of the next row lie.
    """

    at: Any
    left: Any
    gap: Any


def parts(op: Any, kept: Any, reduced: Any, size: int, count: int, fixed: int) -> list[Part]:
    """``count`` parts of ``size`` elements from index ``reduced`` on; an innermost row has as many at least."""
    kept_rank, rank = int_attr(op, "kept_rank"), int_attr(op, "reduced_rank")
    layout = list(op.operands)[fixed:]
    split, sizes = max(0, kept_rank - 1), max(0, kept_rank - 1) + max(0, rank - 1)
    inner, strides = layout[split:sizes], layout[sizes + kept_rank : sizes + kept_rank + rank]
    t, places = reduced.type, coordinates(reduced, inner, rank)[1:]
    one, zero, step = integer(t, 1), integer(t, 0), integer(t, size)
    at, left, found = offset(op, kept, reduced, fixed), arith.subi(inner[-1], places[-1]), []
    lasts = [arith.subi(n, one) for n in inner]
    backs = [inner[-1]]  # from behind the innermost row to its beginning, and to those of the dims around it
    for last, stride in zip(reversed(lasts[:-1]), reversed(strides[1:-1]), strict=True):
        backs.append(arith.addi(backs[-1], arith.muli(last, stride)))
    for k in range(count):
        carries: list[Any] = []
        gap = arith.subi(strides[rank - 2], backs[0])
        for d, back in zip(reversed(range(rank - 2)), backs[1:], strict=True):
            ends = arith.cmpi(arith.CmpIPredicate.eq, places[d], lasts[d])
            carries.append(arith.andi(carries[-1], ends) if carries else ends)
            gap = arith.select(carries[-1], arith.subi(strides[d], back), gap)
        found.append(Part(at, left, gap))
        if k + 1 < count:
            ends = arith.cmpi(arith.CmpIPredicate.sle, left, step)
            at = arith.addi(arith.addi(at, step), arith.select(ends, gap, zero))
            left = arith.addi(arith.subi(left, step), arith.select(ends, inner[-1], zero))
            for d in reversed(range(rank - 2)):
                carry = carries[rank - 3 - d]
                up = arith.select(carry, zero, arith.addi(places[d], one))
                places[d] = arith.select(ends, up, places[d])
                ends = arith.andi(ends, carry)
    return found


def _moved(total: Any, places: Sequence[Any], strides: Sequence[Any]) -> Any:
    """``total``, none at first, and the products of places with strides, of which None stands for 1."""
    for place, stride in zip(places, strides, strict=True):
        moved = place if stride is None else arith.muli(place, stride)
        total = moved if total is None else arith.addi(total, moved)
    return total


def is_of_tile(op: Any) -> bool:
    """Whether elements are in a copy in shared memory, whose origin is the last operand."""
    return op.name in ELEMENTWISE and str_attr(op, "access", ACCESS) in IN_TILE


def clamped(op: Any, kept: Any, *, whole: bool = False) -> Any:
    """The index on the kept axis that is nearest to ``kept``, which may lie beyond either end of the axis.

    The last index of a ``whole`` access is never before the axis, so its lower bound needs no check.
    """
    n_kept = op.operands[len(op.operands) - 2]
    found = arith.minsi(kept, arith.subi(n_kept, integer(kept.type, 1)))
    return found if whole else arith.maxsi(found, integer(kept.type, 0))
