"""Single accesses to global memory: addresses, loads and stores of a fragment, and which of its elements are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...compiler.ir.build import address, before, integer, load, replace, store
from ...compiler.ir.combine import elements, fragment, splat, width
from ...compiler.ir.dialect.access import ACCESS
from ...compiler.ir.dialect.base import bool_attr, element, int_attr, str_attr
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.plan.plan import IN_TILE
from .pairs import store_in_pairs
from .unaligned import copied, unaligned

SIDE_BY_SIDE = ("aligned", "shifted", "unaligned", "period", "staggered", "tile")
"""The loads whose elements lie side by side along the axis of a vector, so that its stride is known."""


@dataclass(frozen=True)
class Window:
    """Which elements the accesses of a masked piece count, and how they are read.

    Attributes:
        first, end: elements outside are not counted; without a first one no access begins too early.
        last: accesses that would begin beyond begin here, so that they read what is there; what they read does not
            count. Nothing: the elements are read one by one, at indices clamped to the window, unless they lie in a
            copy, which can be read beyond its end.
        whole: whether an access counts as a whole, if it begins before ``end``, or not at all.
    """

    first: Any
    end: Any
    last: Any = None
    whole: bool = False


def lower_body(block: Any, window: Window | None) -> None:
    """Lowers the access ops of one piece's body."""
    for o in [o.operation for o in block.operations]:
        if o.name == "fold.load":
            lower_load(o, window)
        elif o.name == "fold.live":
            lower_live(o, window)
        elif o.name == "fold.position":
            lower_position(o)


def _coordinates(flat: Any, sizes: list[Any], rank: int) -> list[Any]:
    """The coordinates of a flat index over ``rank`` dims whose sizes, without the outermost, are ``sizes``."""
    found: list[Any] = []
    for size in reversed(sizes):
        flat, rest = _divided(flat, size)
        found.insert(0, rest)
    return [flat, *found] if rank else []


def _divided(flat: Any, size: Any) -> tuple[Any, Any]:
    """Quotient and remainder by a size.

    In 32 bits by the reciprocal ``m = floor((2^32 - 1) / size)``, made once where the kernel begins: for a flat index x
    below 2^31, ``x / size - x * m / 2^32`` is between 0 and 1/2, so the guess ``x * m / 2^32`` is at most 1 too low.
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
    """``floor((2^32 - 1) / size)``, made where ``size`` becomes known, outside all loops. An empty axis has size 0."""
    t, owner = size.type, size.owner
    where = ir.InsertionPoint.at_block_begin(owner) if isinstance(owner, ir.Block) else ir.InsertionPoint.after(owner)
    with where:
        return arith.divui(integer(t, -1), arith.maxui(size, integer(t, 1)))


def offset(op: Any, kept: Any, reduced: Any, fixed: int) -> Any:
    """The offset in elements of (kept, reduced) by the layout operands of ``op``, which follow ``fixed`` others."""
    kept_rank, reduced_rank = int_attr(op, "kept_rank"), int_attr(op, "reduced_rank")
    layout = list(op.operands)[fixed:]
    sizes = max(0, kept_rank - 1) + max(0, reduced_rank - 1)
    places = _coordinates(kept, layout[: max(0, kept_rank - 1)], kept_rank)
    places += _coordinates(reduced, layout[max(0, kept_rank - 1) : sizes], reduced_rank)
    strides = layout[sizes : sizes + kept_rank + reduced_rank]
    if op.name == "fold.load" and str_attr(op, "access", ACCESS) in SIDE_BY_SIDE:
        inner = kept_rank if str_attr(op, "axis", ("kept", "reduced")) == "kept" else kept_rank + reduced_rank
        strides[inner - 1] = None  # vectors are read where neighbours lie side by side
    zero = integer(kept.type, 0)
    total = arith.subi(zero, layout[-1]) if is_of_tile(op) else zero  # first, since it is the same in all steps
    for place, stride in zip(places, strides, strict=True):
        total = arith.addi(total, place if stride is None else arith.muli(place, stride))
    return total


def is_of_tile(op: Any) -> bool:
    """Whether a load reads a copy in shared memory, whose origin is its last operand."""
    return op.name == "fold.load" and str_attr(op, "access", ACCESS) in IN_TILE


def lower_load(op: Any, window: Window | None) -> None:
    """One vector load, two of which the wanted bytes are taken, or one load an element; as ``window`` says."""
    base, kept, reduced = list(op.operands)[:3]
    access, t = str_attr(op, "access", ACCESS), op.results[0].type
    scalar, lanes = element(t), width(t)
    apart, coherent = window is not None and window.last is None, access == "coherent"
    with before(op):
        if window is not None and window.last is not None:
            reduced = arith.minsi(reduced, window.last)
        if is_of_tile(op):
            place = offset(op, kept, reduced, 3)
            value = load(base, place, t) if lanes == 1 else copied(base, place, t)
        elif access in ("aligned", "shifted", "period", "staggered", "coherent") and not apart:
            value = load(base, offset(op, kept, reduced, 3), t, volatile=coherent, invariant=not coherent)
        elif access == "unaligned" and not apart:
            last = clamped(op, arith.addi(kept, integer(kept.type, lanes - 1)), whole=True)
            first, last = (address(base, offset(op, k, reduced, 3), scalar) for k in (kept, last))
            value = unaligned(first, last, t)
        else:
            along = str_attr(op, "axis", ("kept", "reduced"))
            places = [_moved(op, kept, reduced, along, j, window if apart else None) for j in range(lanes)]
            where = [offset(op, *p, 3) for p in places]
            value = fragment([load(base, w, scalar, volatile=coherent, invariant=not coherent) for w in where])
        replace(op, [value])


def clamped(op: Any, kept: Any, *, whole: bool = False) -> Any:
    """A kept index of a load whose accesses begin anywhere, or before the axis; the nearest one of the axis.

    The last index of a ``whole`` access lies on the axis or behind it.
    """
    n_kept = op.operands[len(op.operands) - 2]
    found = arith.minsi(kept, arith.subi(n_kept, integer(kept.type, 1)))
    return found if whole else arith.maxsi(found, integer(kept.type, 0))


def _moved(op: Any, kept: Any, reduced: Any, along: str, j: int, window: Window | None) -> tuple[Any, Any]:
    """The indices of element ``j`` of a fragment along an axis, clamped to ``window``, or to the kept axis."""
    t = kept.type
    if along == "kept":
        moved = arith.addi(kept, integer(t, j)) if j else kept
        return (clamped(op, moved) if op.name == "fold.load" and _reaches_beyond(op) else moved), reduced
    moved = arith.addi(reduced, integer(t, j)) if j else reduced
    if window is not None:
        moved = moved if window.first is None else arith.maxsi(moved, window.first)
        moved = arith.minsi(moved, arith.subi(window.end, integer(t, 1)))  # last: a CTA may have nothing of the row
    return kept, moved


def _reaches_beyond(op: Any) -> bool:
    """Whether a load's accesses may reach beyond the kept axis."""
    return str_attr(op, "access", ACCESS) in ("unaligned", "staggered")


def lower_position(op: Any) -> None:
    """base + the sum of coordinate times index stride, for each element."""
    reduced, base = op.operands[0], op.operands[1]
    rank, layout = int_attr(op, "reduced_rank"), list(op.operands)[2:]
    t = op.results[0].type
    along = str_attr(op, "axis", ("kept", "reduced"))
    with before(op):
        total = _number(base, reduced, rank, layout)
        found = [_resized(total, element(t))]
        for j in range(1, width(t)):
            if along == "reduced" and rank == 1:  # the multiple of the stride is the same in every round of a loop
                other = arith.addi(total, arith.muli(integer(base.type, j), layout[0]))
            else:
                other = _number(base, _moved(op, reduced, reduced, along, j, None)[1], rank, layout)
            found.append(_resized(other, element(t)))
        replace(op, [fragment(found)])


def _number(base: Any, flat: Any, rank: int, layout: list[Any]) -> Any:
    """The number of the element at ``flat``."""
    places = _coordinates(flat, layout[: rank - 1], rank)
    for place, stride in zip(places, layout[max(0, rank - 1) :], strict=True):
        base = arith.addi(base, arith.muli(place, stride))
    return base


def _resized(x: Any, t: Any) -> Any:
    """An integer in another width; positions are never negative."""
    if x.type.width == t.width:
        return x
    return (arith.extsi if t.width > x.type.width else arith.trunci)(t, x)


def lower_live(op: Any, window: Window | None) -> None:
    """The comparison where the piece is masked; elsewhere every element is wanted."""
    t, reduced = op.results[0].type, op.operands[0]
    lanes = width(t)
    with before(op):
        if window is None:
            one = ir.BoolAttr.get(True)
            value = arith.constant(t, one if lanes == 1 else ir.DenseElementsAttr.get_splat(t, one))
        elif window.whole:
            value = splat(arith.cmpi(arith.CmpIPredicate.slt, reduced, window.end), lanes)
        else:
            # Against constants: the differences are made once an access.
            at = fragment([integer(reduced.type, j) for j in range(lanes)])
            value = arith.cmpi(arith.CmpIPredicate.slt, at, splat(arith.subi(window.end, reduced), lanes))
            if window.first is not None:
                low = splat(arith.subi(window.first, reduced), lanes)
                value = arith.andi(arith.cmpi(arith.CmpIPredicate.sge, at, low), value)
        replace(op, [value])


def lower_store(op: Any) -> None:
    """A branch around a store for every 16 bytes, or one an element; a fragment never goes past the innermost dim.

    One that may reach beyond the kept axis is stored as a whole where it does not. Of ``paired`` lanes those of two
    are stored together.
    """
    value, base, kept, on = list(op.operands)[:4]
    with before(op):
        if "paired" in op.attributes:
            store_in_pairs(value, base, offset(op, kept, kept, 4), on)
        else:
            branch = scf.IfOp(on)
            with ir.InsertionPoint(branch.then_block):
                _store(op, value, base, kept)
                scf.YieldOp([])
        replace(op, [])


def _store(op: Any, value: Any, base: Any, kept: Any) -> None:
    """The stores of a thread."""
    if not bool_attr(op, "vector"):
        return _store_elements(op, value, base, kept)
    if "bounded" not in op.attributes:
        return store(value, base, offset(op, kept, kept, 4))
    fits = scf.IfOp(_fits(op, width(value.type) - 1), has_else=True)
    with ir.InsertionPoint(fits.then_block):
        store(value, base, offset(op, kept, kept, 4))
        scf.YieldOp([])
    with ir.InsertionPoint(fits.else_block):
        _store_elements(op, value, base, kept)
        scf.YieldOp([])
    return None


def _fits(op: Any, last: int) -> Any:
    """Whether all elements of a store's fragment, the last of that number, lie on the kept axis."""
    found = _is_kept(op, last)
    return arith.andi(_is_kept(op, 0), found) if "early" in op.attributes else found


def _is_kept(op: Any, j: int) -> Any:
    """Whether element ``j`` of a store's fragment lies on the kept axis: before its end, and not before it."""
    kept, n_kept = op.operands[2], op.operands[len(op.operands) - 1]
    less = arith.CmpIPredicate.ult if "early" in op.attributes else arith.CmpIPredicate.slt
    return arith.cmpi(less, arith.addi(kept, integer(kept.type, j)) if j else kept, n_kept)


def _store_elements(op: Any, value: Any, base: Any, kept: Any) -> None:
    """A store an element; of those beyond the kept axis none, where there may be some."""
    rank, bounded = int_attr(op, "kept_rank"), "bounded" in op.attributes
    first, inner = offset(op, kept, kept, 4), op.operands[4 + 2 * rank - 2]
    for j, x in enumerate(elements(value)):
        along = arith.muli(integer(kept.type, j), inner) if j else None
        at = arith.addi(first, along) if j else first
        if not bounded or (not j and "early" not in op.attributes):
            store(x, base, at)
            continue
        branch = scf.IfOp(_is_kept(op, j))
        with ir.InsertionPoint(branch.then_block):
            store(x, base, at)
            scf.YieldOp([])
