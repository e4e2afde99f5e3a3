"""The ends of rows that begin anywhere: their distance from a boundary, and which whole accesses stay inside."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ...compiler.ir.build import address, before, bytes_of, integer, memory_type, replace
from ...compiler.ir.combine import width
from ...compiler.ir.dialect.base import element, int_attr
from ...compiler.ir.mlir import arith, ir, llvm
from .loads import Window
from .offsets import clamped, offset


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
        for load in loads:
            row = offset(load, load.operands[1], zero, 3)
            after = arith.addi(arith.addi(row, last), integer(t, lanes))
            low = arith.cmpi(arith.CmpIPredicate.sge, arith.addi(row, boundary), zero)
            high = arith.cmpi(arith.CmpIPredicate.sle, after, load.operands[len(load.operands) - 1])
            found.append(arith.andi(low, high))
        self.inside = reduce(arith.andi, found)


def accesses_inside(loads: Sequence[Any], reduced: Any) -> Any:
    """Whether a thread's accesses at index ``reduced`` of the reduced axis lie in the memory of all arrays.

    They do if all elements between the boundaries around each access do.
    """
    found = []
    for load in loads:
        t, kept = load.operands[1].type, load.operands[1]
        before, behind, n_kept, n_reduced = list(load.operands)[-4:]
        one, vector = integer(t, 1), load.results[0].type
        around = integer(t, width(vector) - 1)
        last = offset(load, clamped(load, arith.addi(kept, integer(t, width(vector) - 1)), whole=True), reduced, 3)
        greatest = arith.addi(behind, offset(load, arith.subi(n_kept, one), arith.subi(n_reduced, one), 3))
        first = arith.addi(before, offset(load, kept, reduced, 3))
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
