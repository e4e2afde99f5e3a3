"""Comparisons of bytes, four in a word."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import i32, zeros
from ...compiler.ir.combine import width
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir
from .matchers import is_a, is_number
from .packing import BYTES, HIGH, LOW, as_words, high_bits

_P = arith.CmpIPredicate
_SIGNED = (_P.slt, _P.sle, _P.sgt, _P.sge)
_SWAPS = (_P.sgt, _P.ugt, _P.sle, _P.ule)
"""The predicates that are asked as whether the second operand is less than the first."""
_NEGATES = (_P.sge, _P.uge, _P.sle, _P.ule, _P.eq)
"""The predicates whose opposite is asked for."""


def compared(mask: Any) -> list[Any] | None:
    """Words whose bytes have their highest bit set where ``mask`` holds, and no other bit; else None.

    There are some where it compares two fragments of bytes, which may have been widened.
    """
    if not is_a(mask, "arith.cmpi") or width(mask.type) % BYTES:
        return None
    (a, how), (b, other) = map(_narrow, mask.owner.operands)
    if str(element(a.type)) == "i8" and is_number(b, 0):
        b, other = zeros(a.type), how
    if how != other or any(str(element(x.type)) != "i8" for x in (a, b)):
        return None
    predicate = _P(ir.IntegerAttr(mask.owner.attributes["predicate"]).value)
    if predicate in _SWAPS:
        a, b = b, a
    signed, found = predicate in _SIGNED and how != "arith.extui", []
    for x, y in zip(as_words(a), as_words(b), strict=True):
        word = high_bits(arith.xori(x, y)) if predicate in (_P.eq, _P.ne) else _less(x, y, signed=signed)
        found.append(arith.xori(word, i32(HIGH)) if predicate in _NEGATES else word)
    return found


def _narrow(x: Any) -> tuple[Any, str]:
    """What a fragment was widened from, and by which op; itself, if it was not."""
    return (x.owner.operands[0], x.owner.name) if is_a(x, "arith.extsi", "arith.extui") else (x, "")


def _less(a: Any, b: Any, *, signed: bool) -> Any:
    """The highest bit of each byte of ``a`` that is less than that of ``b``.

    A difference of the lower seven bits, with a bit above to borrow from, decides where the highest bits are equal.
    """
    difference = arith.subi(arith.ori(a, i32(HIGH)), arith.andi(b, i32(LOW)))
    one, (set_, clear) = i32(-1), (a, b) if signed else (b, a)
    by_highest = arith.andi(set_, arith.xori(clear, one))
    equal = arith.xori(arith.xori(a, b), one)
    less = arith.ori(by_highest, arith.andi(equal, arith.xori(difference, one)))
    return arith.andi(less, i32(HIGH))
