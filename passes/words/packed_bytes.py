"""Bytes four at a time, in words: selects whose mask words or comparisons of bytes make, sums and differences.

Comparisons of bytes, four in a word.

Truth values of a fragment, as bits side by side in a word and as bytes: each is made of the other as a whole.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

from ...compiler.ir.build import as_word, i32, integer, replace, word_type, zeros
from ...compiler.ir.combine import elements, splat, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir
from ...compiler.program.bit_arrays import WORD
from .packing import BYTES, HIGH, LOW, as_bytes, as_words, chosen, counts_up, high_bits, is_a, is_number, permuted

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
