"""Single loads of a fragment, the mask of the elements that count, and the positions of the elements.

Accesses to bits: those of an access come with the byte, or the two, that hold them, and words go as a whole.

The ends of rows that begin anywhere: their distance from a boundary, and which whole accesses stay inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...compiler.ir.build import address, before, bytes_of, integer, load, memory_type, replace
from ...compiler.ir.combine import backwards, fragment, splat, width
from ...compiler.ir.dialect.access import ACCESS
from ...compiler.ir.dialect.base import element, int_attr, str_attr
from ...compiler.ir.mlir import arith, ir, llvm
from ...compiler.plan.fields import OF_BITS
from ...compiler.program.bit_arrays import BYTE, WORD
from .offsets import clamped, coordinates, is_of_tile, offset
from .unaligned import copied, unaligned


def load_bits(base: Any, at: Any, t: Any, *, invariant: bool = False) -> Any:
    """Loads a fragment of truth values, from bit ``at`` on, a multiple of their number."""
    return _truths(load_word(base, at, width(t), invariant=invariant), width(t))


def load_word(base: Any, at: Any, lanes: int, *, invariant: bool = False) -> Any:
    """Loads ``lanes`` bits from bit ``at`` on, a multiple of their number, as the lowest ones of a word."""
    unit = ir.IntegerType.get_signless(max(BYTE, lanes))
    place = _address(base, at, BYTE, ir.IntegerType.get_signless(BYTE))
    flags = {"invariant": True} if invariant else {}
    found = llvm.load(unit, place, alignment=unit.width // BYTE, **flags)
    word = ir.IntegerType.get_signless(WORD)
    value = arith.extui(word, found)
    if lanes < BYTE:
        low = arith.andi(at, integer(at.type, BYTE - 1))
        value = arith.shrui(value, low if at.type == word else arith.trunci(word, low))
    return value


def load_bits_across(base: Any, at: Any, t: Any, first: Any = None, last: Any = None) -> Any:
    """Loads a fragment of truth values that begins at any bit ``at``, out of the two words that hold it.

    Bits before bit ``first`` and beyond bit ``last``, which lie in no element, are not asked for.
    """
    word, lanes = ir.IntegerType.get_signless(WORD), width(t)
    ends = [at, arith.addi(at, integer(at.type, lanes - 1))]
    ends = ends if first is None else [arith.maxsi(end, first) for end in ends]
    ends = ends if last is None else [arith.minsi(end, last) for end in ends]
    low, high = (
        llvm.load(word, _address(base, end, WORD, word), alignment=WORD // BYTE, invariant=True) for end in ends
    )
    value = llvm.intr_fshr(high, low, at if at.type == word else arith.trunci(word, at))  # by ``at`` modulo 32
    return _truths(value, lanes)


def _truths(value: Any, lanes: int) -> Any:
    """The lowest bits of a word as a fragment: each is one test of the inverted word, where the bit is.

    LLVM makes two operations more of a test for a bit that is set: it shifts that bit down.
    """
    t, eq = value.type, arith.CmpIPredicate.eq
    other = arith.xori(value, integer(t, -1))
    return fragment([arith.cmpi(eq, arith.andi(other, integer(t, 1 << j)), integer(t, 0)) for j in range(lanes)])


def store_word(word: Any, base: Any, at: Any) -> None:
    """Writes the word whose first bit is bit ``at``."""
    llvm.store(word, _address(base, at, WORD, word.type), alignment=WORD // BYTE)


def store_bytes(word: Any, base: Any, at: Any, count: int) -> None:
    """Writes the ``count`` lowest bits of a word, which fill bytes, to bit ``at`` and those behind it."""
    t = ir.IntegerType.get_signless(count)
    llvm.store(arith.trunci(t, word), _address(base, at, count, t), alignment=count // BYTE)


def place_in_word(at: Any) -> Any:
    """The number of bit ``at`` in its word."""
    return arith.andi(at, integer(at.type, WORD - 1))


def begins_word(at: Any) -> Any:
    """Whether bit ``at`` is the first of a word."""
    return arith.cmpi(arith.CmpIPredicate.eq, place_in_word(at), integer(at.type, 0))


def _address(base: Any, at: Any, size: int, t: Any) -> Any:
    """The address of the unit of ``size`` bits, of type ``t``, in which bit ``at`` is."""
    index = arith.shrsi(at, integer(at.type, size.bit_length() - 1))
    return llvm.getelementptr(base.type, base, [index], [-(2**31)], t, no_wrap_flags=0)


@dataclass(frozen=True)
class Window:
    """Which elements the accesses of a masked loop count, and how they are read.

    Attributes:
        first, end: indices outside this range do not count. Without ``first`` no access begins before the range.
        last: an access that would begin after this index begins here instead and does not count, so that it reads
            existing memory. None: the elements are read one by one, at indices clamped to the window, unless they lie
            in a copy in shared memory, which can be read beyond its end.
        whole: whether all elements of an access count, if it begins before ``end``, or none.
    """

    first: Any
    end: Any
    last: Any = None
    whole: bool = False

    def reads_apart(self, access: str) -> bool:
        """Whether the elements of an access are read one by one, at clamped indices.

        Those that lie apart are, beside accesses that begin before the range or end after it.
        """
        return self.last is None or (self.first is not None and access in ("strided", "bits_strided"))


def lower_body(block: Any, window: Window | None) -> None:
    """Lowers the access ops in the body of one loop."""
    for o in [o.operation for o in block.operations]:
        if o.name == "fold.load":
            lower_load(o, window)
        elif o.name == "fold.live":
            lower_live(o, window)
        elif o.name == "fold.position":
            lower_position(o)


def lower_load(op: Any, window: Window | None) -> None:
    """Lowers a load to one vector load, to two from which the bytes are taken, or to one load an element.

    ``window`` and the load's access method decide which.
    """
    base, kept, reduced = list(op.operands)[:3]
    access, t = str_attr(op, "access", ACCESS), op.results[0].type
    scalar, lanes = element(t), width(t)
    apart = window is not None and window.reads_apart(access)
    in_order = access == "coherent" or "in_order" in op.attributes
    with before(op):
        if window is not None and window.last is not None:
            reduced = arith.minsi(reduced, window.last)
        if is_of_tile(op):
            place = offset(op, kept, reduced, 3)
            value = load(base, place, t) if lanes == 1 else copied(base, place, t)
        elif access in ("aligned", "shifted", "period", "staggered", "coherent") and not apart:
            value = load(base, offset(op, kept, reduced, 3), t, volatile=in_order, invariant=not in_order)
        elif access == "reversed" and not apart:
            last = arith.addi(reduced, integer(reduced.type, lanes - 1))
            value = backwards(load(base, offset(op, kept, last, 3), t, invariant=True))
        elif access == "bits" and not apart:
            value = load_bits(base, offset(op, kept, reduced, 3), t, invariant=True)
        elif access == "bits_across" and not apart:
            value = load_bits_across(base, offset(op, kept, reduced, 3), t, *_ends(op, kept, reduced, lanes, window))
        elif access == "uniform":
            value = splat(load(base, offset(op, kept, reduced, 3), scalar, invariant=True), lanes)
        elif access == "unaligned" and not apart:
            last = clamped(op, arith.addi(kept, integer(kept.type, lanes - 1)), whole=True)
            first, last = (address(base, offset(op, k, reduced, 3), scalar) for k in (kept, last))
            value = unaligned(first, last, t)
        else:
            along = str_attr(op, "axis", ("kept", "reduced"))
            places = [_moved(op, kept, reduced, along, j, window if apart else None) for j in range(lanes)]
            where = [offset(op, *p, 3) for p in places]
            if access in OF_BITS:
                value = fragment([load_bits(base, w, scalar, invariant=True) for w in where])
            else:
                value = fragment([load(base, w, scalar, volatile=in_order, invariant=not in_order) for w in where])
        replace(op, [value])


def _ends(op: Any, kept: Any, reduced: Any, lanes: int, window: Window | None) -> list[Any]:
    """The offsets of the first and the last element around an access to bits that may reach beyond them."""
    if str_attr(op, "axis", ("kept", "reduced")) == "kept":
        last = clamped(op, arith.addi(kept, integer(kept.type, lanes - 1)), whole=True)
        return [None, offset(op, last, reduced, 3)]
    if window is None or window.first is None:
        return []
    return [offset(op, kept, r, 3) for r in (window.first, arith.subi(window.end, integer(kept.type, 1)))]


def _moved(op: Any, kept: Any, reduced: Any, along: str, j: int, window: Window | None) -> tuple[Any, Any]:
    """The (kept, reduced) indices of element ``j`` of a fragment, clamped to ``window`` or to the kept axis."""
    t = kept.type
    if along == "kept":
        moved = arith.addi(kept, integer(t, j)) if j else kept
        return (clamped(op, moved) if op.name == "fold.load" and _reaches_beyond(op) else moved), reduced
    moved = arith.addi(reduced, integer(t, j)) if j else reduced
    if window is not None:
        moved = moved if window.first is None else arith.maxsi(moved, window.first)
        moved = arith.minsi(moved, arith.subi(window.end, integer(t, 1)))  # last: a CTA may own nothing of the row
    return kept, moved


def _reaches_beyond(op: Any) -> bool:
    """Whether the accesses of a load may reach beyond the kept axis."""
    return str_attr(op, "access", ACCESS) in ("unaligned", "staggered", "bits_across")


def lower_position(op: Any) -> None:
    """Lowers ``fold.position``: for each element, base plus the sum of coordinate times stride."""
    kept, reduced, base, *layout = op.operands
    ranks = {axis: int_attr(op, f"{axis}_rank") for axis in ("kept", "reduced")}
    t, along = op.results[0].type, str_attr(op, "axis", ("kept", "reduced"))
    inner = layout[-1] if along == "reduced" else layout[len(layout) - 1 - ranks["reduced"]]
    with before(op):
        total = _number(base, kept, reduced, ranks, layout)
        found = [_resized(total, element(t))]
        for j in range(1, width(t)):
            if not ranks[along]:
                other = total
            elif ranks[along] == 1:  # j times the stride is loop invariant
                other = arith.addi(total, arith.muli(integer(base.type, j), inner))
            else:
                other = _number(base, *_moved(op, kept, reduced, along, j, None), ranks, layout)
            found.append(_resized(other, element(t)))
        replace(op, [fragment(found)])


def _number(base: Any, kept: Any, reduced: Any, ranks: dict[str, int], layout: list[Any]) -> Any:
    """The number of the element at these flat indices of both axes."""
    sizes = {axis: max(0, rank - 1) for axis, rank in ranks.items()}
    places = coordinates(kept, layout[: sizes["kept"]], ranks["kept"])
    places += coordinates(reduced, layout[sizes["kept"] : sum(sizes.values())], ranks["reduced"])
    for place, stride in zip(places, layout[sum(sizes.values()) :], strict=True):
        base = arith.addi(base, arith.muli(place, stride))
    return base


def _resized(x: Any, t: Any) -> Any:
    """An integer converted to type ``t``; positions are never negative."""
    if x.type.width == t.width:
        return x
    return (arith.extsi if t.width > x.type.width else arith.trunci)(t, x)


def lower_live(op: Any, window: Window | None) -> None:
    """Lowers ``fold.live`` to comparisons with the window; without a window every element counts."""
    t, reduced = op.results[0].type, op.operands[0]
    lanes = width(t)
    with before(op):
        if window is None:
            one = ir.BoolAttr.get(True)
            value = arith.constant(t, one if lanes == 1 else ir.DenseElementsAttr.get_splat(t, one))
        elif window.whole:
            value = splat(arith.cmpi(arith.CmpIPredicate.slt, reduced, window.end), lanes)
        else:
            # The lanes are constants on one side, so that each access computes one difference.
            at = fragment([integer(reduced.type, j) for j in range(lanes)])
            value = arith.cmpi(arith.CmpIPredicate.slt, at, splat(arith.subi(window.end, reduced), lanes))
            if window.first is not None:
                low = splat(arith.subi(window.first, reduced), lanes)
                value = arith.andi(arith.cmpi(arith.CmpIPredicate.sge, at, low), value)
        replace(op, [value])


class RowEnds:
    """The ends of the row of ``shifted`` loads, which need not lie at boundaries of ``lanes`` elements.

    The rows of all loads begin equally far after a boundary. Where a CTA owns a part of a row that does not begin with
    it, the part begins ``lead`` elements after a boundary; or at one, if walks are ``early``.

    Attributes:
        lead: elements from the boundary before the row to the row's first element.
        window: the elements of the row, which whole accesses read.
        inside: whether the accesses at both ends lie in the arrays' memory as a whole.
    """

    def __init__(self, loads: Sequence[Any], first: Any, end: Any, lanes: int, *, early: bool = False) -> None:
        t = first.type
        one, down = integer(t, 1), integer(t, -lanes)
        self.lead = _lead(loads[0], lanes, t)
        past = arith.andi(arith.addi(first, self.lead), integer(t, lanes - 1)) if early else self.lead
        boundary = arith.subi(first, past)
        last = arith.addi(boundary, arith.andi(arith.subi(arith.subi(end, one), boundary), down))
        self.window = Window(first, end, last)
        zero, found = integer(t, 0), []
        for own in loads:
            row = offset(own, own.operands[1], zero, 3)
            after = arith.addi(arith.addi(row, last), integer(t, lanes))
            low = arith.cmpi(arith.CmpIPredicate.sge, arith.addi(row, boundary), zero)
            high = arith.cmpi(arith.CmpIPredicate.sle, after, own.operands[len(own.operands) - 1])
            found.append(arith.andi(low, high))
        self.inside = reduce(arith.andi, found)


def accesses_inside(loads: Sequence[Any], reduced: Any) -> Any:
    """Whether a thread's accesses at index ``reduced`` of the reduced axis lie in the memory of all arrays.

    They do if all elements between the boundaries around each access do.
    """
    found = []
    for own in loads:
        t, kept = own.operands[1].type, own.operands[1]
        before, behind, n_kept, n_reduced = list(own.operands)[-4:]
        one, vector = integer(t, 1), own.results[0].type
        around = integer(t, width(vector) - 1)
        last = offset(own, clamped(own, arith.addi(kept, integer(t, width(vector) - 1)), whole=True), reduced, 3)
        greatest = arith.addi(behind, offset(own, arith.subi(n_kept, one), arith.subi(n_reduced, one), 3))
        first = arith.addi(before, offset(own, kept, reduced, 3))
        found.append(arith.cmpi(arith.CmpIPredicate.sge, first, around))
        found.append(arith.cmpi(arith.CmpIPredicate.sle, arith.addi(last, around), greatest))
    return reduce(arith.andi, found)


def lower_lead(op: Any) -> None:
    """Replaces a ``fold.lead`` by the distance of its row from the boundary before it, in elements."""
    with before(op):
        base, kept = op.operands[0], op.operands[1]
        scalar = ir.IntegerType.get_signless(8 * int_attr(op, "bytes"))
        start = address(base, offset(op, kept, kept, 2), scalar)
        replace(op, [_past(start, scalar, int_attr(op, "lanes"), kept.type)])


def _lead(op: Any, lanes: int, t: Any) -> Any:
    """Elements from the boundary of ``lanes`` elements before the row of a shifted load to the row."""
    base, kept = op.operands[0], op.operands[1]
    scalar = element(op.results[0].type)
    return _past(address(base, offset(op, kept, integer(t, 0), 3), scalar), scalar, lanes, t)


def _past(start: Any, scalar: Any, lanes: int, t: Any) -> Any:
    """Elements from the boundary of ``lanes`` elements before the address ``start`` to this address."""
    i64 = ir.IntegerType.get_signless(64)
    bits = llvm.ptrtoint(i64, start)
    count = arith.shrui(bits, integer(i64, bytes_of(memory_type(scalar)).bit_length() - 1))
    lead = arith.andi(count, integer(i64, lanes - 1))
    return lead if t == i64 else arith.trunci(t, lead)
