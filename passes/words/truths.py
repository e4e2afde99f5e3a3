"""Truth values of a fragment, as bits side by side in a word and as bytes: each is made of the other as a whole."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from ...compiler.ir.build import as_word, i32, integer, word_type
from ...compiler.ir.combine import elements, splat, width, with_shape
from ...compiler.ir.mlir import arith, ir
from ...compiler.program.bit_arrays import WORD
from .compared_bytes import compared
from .matchers import counts_up, is_a
from .packing import BYTES, as_bytes

TO_HIGHEST = 1 << 21 | 1 << 14 | 1 << 7 | 1
"""The factor by which bits 7, 15, 23 and 31 of a word become its four highest ones."""
TO_BYTES = TO_HIGHEST
"""The factor by which bits 0, 1, 2 and 3 of a word become the lowest ones of its bytes, among others."""
LOWEST = 0x01010101
"""The lowest bit of each byte of a word."""
JOINED = {"arith.andi": arith.andi, "arith.ori": arith.ori, "arith.xori": arith.xori}
"""Logical operations, which serve all bits of a word at once."""


def of_bits(word: Any, lanes: int) -> Any:
    """The lowest bits of a word as a fragment of truth values."""
    truth = ir.IntegerType.get_signless(1)
    if lanes == 1:
        return arith.trunci(truth, word)
    t = with_shape(word_type(), lanes)
    numbers = ir.DenseElementsAttr.get([ir.IntegerAttr.get(word_type(), k) for k in range(lanes)], t)
    return arith.trunci(with_shape(truth, lanes), arith.shrui(splat(word, lanes), arith.constant(t, numbers)))


def as_bits(mask: Any, known: dict[Any, Any] | None = None) -> Any:
    """Truth values side by side as the lowest bits of a word, whose other bits are zero.

    ``known`` has the words of masks that were met before: a mask may be used several times.
    """
    known = {} if known is None else known
    if mask not in known:
        known[mask] = _bits_of(mask, known)
    return known[mask]


def _bits_of(mask: Any, known: dict[Any, Any]) -> Any:
    if width(mask.type) == 1:
        return arith.select(mask, i32(1), i32(0))
    for x, there in permutations(mask.owner.operands) if is_a(mask, "arith.andi") else ():
        if is_a(there, "vector.broadcast"):  # one truth value for all
            return arith.select(there.owner.operands[0], as_bits(x, known), i32(0))
    if is_a(mask, *JOINED):
        return JOINED[mask.owner.name](*(as_bits(m, known) for m in mask.owner.operands))
    if is_a(mask, "vector.broadcast"):
        return arith.select(mask.owner.operands[0], i32(_ones(width(mask.type))), i32(0))
    word = word_of(mask)
    if word is not None:
        return arith.andi(word, i32(_ones(width(mask.type))))
    return _of_bytes(mask) or _of_bound(mask) or _of_each(elements(mask))


def as_stored(value: Any) -> Any:
    """Truth values that are bits of a word as the bytes that memory has of them; other fragments as they are.

    A multiplication moves four bits to four bytes.
    """
    word, lanes = word_of(value), width(value.type)
    if word is None or lanes % BYTES:
        return value
    return as_bytes(bytes_of_bits(word, lanes // BYTES))


def bytes_of_bits(word: Any, count: int) -> list[Any]:
    """``count`` words whose bytes are the lowest bits of ``word``."""
    four = [arith.shrui(word, i32(BYTES * k)) if k else word for k in range(count)]
    spread = [arith.muli(arith.andi(w, i32(_ones(BYTES))), i32(TO_BYTES)) for w in four]
    return [arith.andi(w, i32(LOWEST)) for w in spread]


def _ones(count: int) -> int:
    """A word whose ``count`` lowest bits are set."""
    return (1 << count) - 1


def word_of(mask: Any) -> Any:
    """The word of which ``of_bits`` made these truth values, else None."""
    moved = mask.owner.operands[0] if is_a(mask, "arith.trunci") else mask
    if not is_a(moved, "arith.shrui") or moved is mask:
        return None
    word, numbers = moved.owner.operands
    return word.owner.operands[0] if is_a(word, "vector.broadcast") and counts_up(numbers) else None


def _of_bytes(mask: Any) -> Any:
    """The bits where these compare the bytes of whole words; else None.

    A multiplication moves the highest bits of the four bytes of a word beside each other.
    """
    found = compared(mask)
    if found is None:
        return None
    word = i32(0)
    for k, w in enumerate(found):
        four = arith.shrui(arith.muli(w, i32(TO_HIGHEST)), i32(WORD - BYTES))
        word = arith.ori(word, arith.shli(four, i32(BYTES * k)))
    return word


def _of_bound(mask: Any) -> Any:
    """The bits where these compare numbers that count up with a bound, as at the ends of rows; else None."""
    lanes = width(mask.type)
    if not is_a(mask, "arith.cmpi") or lanes == WORD or not is_a(mask.owner.operands[1], "vector.broadcast"):
        return None
    numbers, bound = mask.owner.operands[0], mask.owner.operands[1].owner.operands[0]
    predicate = ir.IntegerAttr(mask.owner.attributes["predicate"]).value
    at_least = predicate == int(arith.CmpIPredicate.sge)
    if not is_a(numbers, "arith.addi") or not (at_least or predicate == int(arith.CmpIPredicate.slt)):
        return None
    first, steps = numbers.owner.operands
    if not is_a(first, "vector.broadcast") or not counts_up(steps):
        return None
    ahead = arith.subi(bound, first.owner.operands[0])
    below = arith.minsi(arith.maxsi(ahead, integer(ahead.type, 0)), integer(ahead.type, lanes))
    from_bound = arith.shli(i32(-1), as_word(below))
    return arith.andi(from_bound, i32(_ones(lanes))) if at_least else arith.xori(from_bound, i32(-1))


def _of_each(mask: list[Any]) -> Any:
    """The bits, each of a truth value of its own."""
    word = none = i32(0)
    for k, truth in enumerate(mask):
        word = arith.ori(word, arith.select(truth, i32(1 << k), none))
    return word
