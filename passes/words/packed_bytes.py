"""Bytes four at a time, in words: selects whose mask words or comparisons of bytes make, sums and differences."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import i32, replace, word_type
from ...compiler.ir.combine import width
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith
from .compared_bytes import compared
from .matchers import is_a
from .packing import BYTES, HIGH, LOW, as_bytes, as_words, chosen, permuted
from .truths import JOINED, bytes_of_bits, word_of

SIGNS = 0xBA98
"""The selector by which ``prmt`` puts the highest bit of each byte into all bits of that byte."""


def pack_sum(op: Any) -> None:
    """Replaces an ``arith.trunci`` to bytes of sums and differences of bytes that were widened; other ones stay."""
    t = op.results[0].type
    if str(element(t)) == "i8" and width(t) % BYTES == 0 and is_a(op.operands[0], *_SUMS):
        words = _sum(op.operands[0], {})
        if words is not None:
            replace(op, [as_bytes(words)])


def _sum(x: Any, known: dict[Any, list[Any] | None]) -> list[Any] | None:
    """The lowest bytes of sums of bytes, as words; None if anything else is in it, or bytes that are no words yet.

    ``known`` has those of values that were met before: a value may be used several times.
    """
    if x not in known:
        known[x] = _sum_of(x, known)
    return known[x]


def _sum_of(x: Any, known: dict[Any, list[Any] | None]) -> list[Any] | None:
    if is_a(x, "arith.extsi", "arith.extui"):
        (narrow,) = x.owner.operands
        return None if str(element(narrow.type)) != "i8" or is_a(narrow, "arith.trunci") else as_words(narrow)
    if not is_a(x, *_SUMS):
        return None
    a, b = (_sum(y, known) for y in x.owner.operands)
    return a and b and [_SUMS[x.owner.name](*pair) for pair in zip(a, b, strict=True)]


def _added(a: Any, b: Any) -> Any:
    """The sums of the bytes of two words: no bit of one is carried into the next."""
    lower = arith.addi(arith.andi(a, i32(LOW)), arith.andi(b, i32(LOW)))
    return arith.xori(lower, arith.andi(arith.xori(a, b), i32(HIGH)))


def _subtracted(a: Any, b: Any) -> Any:
    """The differences of the bytes of two words: none borrows from the next."""
    lower = arith.subi(arith.ori(a, i32(HIGH)), arith.andi(b, i32(LOW)))
    return arith.xori(lower, arith.andi(arith.xori(arith.xori(a, b), i32(-1)), i32(HIGH)))


_SUMS = {"arith.addi": _added, "arith.subi": _subtracted}


def pack_select(op: Any) -> None:
    """Replaces an ``arith.select`` between bytes whose mask words can have; other ones stay."""
    mask, a, b = op.operands
    if str(element(a.type)) != "i8" or width(a.type) % BYTES or is_a(mask, "vector.broadcast"):
        return
    if is_a(a, "arith.trunci") and is_a(b, "arith.trunci"):  # neither is in words
        return
    masks = _masks(mask, {}) if width(mask.type) > 1 else None
    if masks is not None:
        words = [chosen(*own) for own in zip(masks, as_words(a), as_words(b), strict=True)]
        replace(op, [as_bytes(words)])


def _masks(mask: Any, known: dict[Any, list[Any] | None]) -> list[Any] | None:
    """Words with all bits of a byte set where the mask holds; None if words do not make it.

    ``known`` has those of masks that were met before.
    """
    if mask not in known:
        known[mask] = _masks_of(mask, known)
    return known[mask]


def _masks_of(mask: Any, known: dict[Any, list[Any] | None]) -> list[Any] | None:
    count = width(mask.type) // BYTES
    if is_a(mask, "vector.broadcast"):
        return [arith.extsi(word_type(), mask.owner.operands[0])] * count
    if is_a(mask, *JOINED):
        a, b = (_masks(m, known) for m in mask.owner.operands)
        return a and b and [JOINED[mask.owner.name](*pair) for pair in zip(a, b, strict=True)]
    word = word_of(mask)
    if word is not None:
        return [arith.muli(w, i32(0xFF)) for w in bytes_of_bits(word, count)]
    found = compared(mask)
    return found and [permuted(w, i32(0), SIGNS) for w in found]
