"""Extremes of narrow elements, two in a register: ``max`` and ``min`` of elements of 8 and 16 bits.

The program widens the elements and takes the extreme. The extreme of the narrow elements is the same, and one
instruction compares two elements of 16 bits. It compares bytes, too: the upper byte of a half decides which half is
greater. So the words as they are give the extremes of their odd bytes, whatever their even bytes hold, and the words
shifted left by a byte give those of their even bytes.

Masked elements are replaced by a number that an element could have too (see
``compiler/program/rewrites/narrowing.py``).

The access that a step loads last is combined first. In the order of the loads, ptxas would combine the first access
before it issues the other loads, to save registers, and a thread of few accesses would wait for memory twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...compiler.ir.build import bytes_of, i32, word_type
from ...compiler.ir.combine import clone_block, single_op, width
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, llvm, vector
from ..access.thread_loop import walked
from .packing import BYTES, as_words, chosen, is_a, is_number, mask_words, permuted, yielded

WORD, HALF, BYTE = 32, 16, 8
INFINITIES = {"bf16": 0x7F80, "f16": 0x7C00}
"""The bits of infinity, by the narrow float type."""
_UPPER = 0x7351
"""A selector of ``prmt`` that interleaves the upper bytes of the halves of two words."""
_WIDEN = {"arith.extsi": arith.extsi, "arith.extui": arith.extui, "arith.extf": arith.extf}
_JOIN = {
    ("arith.extsi", "arith.maxsi"): arith.maxsi,
    ("arith.extsi", "arith.minsi"): arith.minsi,
    ("arith.extui", "arith.maxui"): arith.maxui,
    ("arith.extui", "arith.minui"): arith.minui,
    ("arith.extf", "arith.maximumf"): arith.maximumf,
    ("arith.extf", "arith.minimumf"): arith.minimumf,
}
"""The combine of narrow elements, by the op that widens them and the op that combines the wide ones."""
_KINDS = ("i8", "i16", "bf16", "f16")


@dataclass(frozen=True)
class Lift:
    """The elements of an access as widened narrow elements.

    Attributes:
        source: the narrow elements, as a fragment.
        widen: the name of the op that widens them.
        masks: an element counts if all masks hold for it. Each comes with the word that replaces masked elements.
    """

    source: Any
    widen: str
    masks: tuple[tuple[Any, int], ...]

    def words(self) -> list[Any]:
        """The narrow elements as words."""
        found = as_words(self.source)
        for mask, other in reversed(self.masks):
            inside = mask_words(mask, len(found), bytes_of(element(self.source.type)))
            found = [chosen(m, w, i32(other)) for m, w in zip(inside, found, strict=True)]
        return found


def lower(op: Any) -> list[Any] | None:
    """Writes the loop of a ``fold.thread_reduce`` and returns its state; None if the op takes no extremes."""
    init, body = op.operands[2], op.regions[0].blocks[0]
    lift = None if isinstance(init.type, ir.TupleType) else lift_of(yielded(op))
    if lift is None:
        return None
    join, first = _JOIN.get((lift.widen, single_op(op.regions[1]) or "")), _narrow(init, lift)
    if join is None or first is None:
        return None
    t = element(lift.source.type)

    def step(state: list[Any], starts: list[Any]) -> list[Any]:
        accesses = [clone_block(body, [start], 1)[0] for start in starts]
        found = [_registers(_words(access), t) for access in accesses]
        return [reduce(join, column) for column in zip(*reversed(found), state, strict=True)]

    state = walked(op, _registers(first, t), step)
    return [_extreme(state, join, lift) if op.results[0].type != init.type else _widened(state, lift)]


# --- what elements are made of ---------------------------------------------------------------------------------------
def lift_of(v: Any) -> Lift | None:
    """The fragment ``v`` as widened narrow elements; None if it is not."""
    masks: list[tuple[Any, Any]] = []
    while is_a(v, "arith.select"):
        masks.append((v.owner.operands[0], v.owner.operands[2]))
        v = v.owner.operands[1]
    if not is_a(v, *_WIDEN):
        return None
    source, widen = v.owner.operands[0], v.owner.name
    kind = str(element(source.type))
    if kind not in _KINDS or width(source.type) * bytes_of(element(source.type)) % BYTES:
        return None
    found = [(mask, _bits(other, kind, widen)) for mask, other in masks if not is_number(mask, 1)]
    known = tuple((mask, bits) for mask, bits in found if bits is not None)
    return Lift(source, widen, known) if len(known) == len(found) else None


def _words(v: Any) -> list[Any]:
    """The words of one access of a step, whose elements ``v`` are made like those of the other accesses."""
    lift = lift_of(v)
    assert lift is not None
    return lift.words()


def _bits(v: Any, kind: str, widen: str) -> int | None:
    """A word whose elements, of the type ``kind``, widen to the constant ``v``; None if no element does."""
    if not is_a(v, "arith.constant"):
        return None
    value = v.owner.attributes["value"]
    value = ir.DenseElementsAttr(value).get_splat_value() if isinstance(v.type, ir.VectorType) else value
    size = BYTE if kind == "i8" else HALF
    if kind in INFINITIES:
        x = ir.FloatAttr(value).value
        bits = INFINITIES[kind] | (x < 0) << HALF - 1
        served = abs(x) == float("inf")
    else:
        n = ir.IntegerAttr(value).value
        bits, least = n % (1 << size), -(1 << size - 1) if widen == "arith.extsi" else 0
        served = least <= n < least + (1 << size)
    together = bits * (0x01010101 if size == BYTE else 0x00010001)
    return together - (together >> WORD - 1 << WORD) if served else None


def _narrow(state: Any, lift: Lift) -> list[Any] | None:
    """The words of the narrow elements from which a state was widened; None if it was not widened."""
    if is_a(state, lift.widen) and state.owner.operands[0].type == lift.source.type:
        return as_words(state.owner.operands[0])
    bits = _bits(state, str(element(lift.source.type)), lift.widen)
    count = width(state.type) * bytes_of(element(lift.source.type)) // BYTES
    return None if bits is None else [i32(bits)] * count


# --- registers of two halves -----------------------------------------------------------------------------------------
def _registers(words: Sequence[Any], t: Any) -> list[Any]:
    """The registers to compare, two elements of type ``t`` each; of a word of bytes the odd ones, then the even."""
    if bytes_of(t) > 1:
        return [_pair(w, t) for w in words]
    half = ir.IntegerType.get_signless(HALF)
    return [_pair(x, half) for w in words for x in (w, arith.shli(w, i32(BYTE)))]


def _pair(w: Any, t: Any) -> Any:
    return llvm.bitcast(ir.VectorType.get([2], t), w)


def _word(pair: Any) -> Any:
    return llvm.bitcast(word_type(), pair)


def _widened(state: Sequence[Any], lift: Lift) -> Any:
    """The wide state that the registers ``state`` hold."""
    words = [_word(x) for x in state]
    if bytes_of(element(lift.source.type)) == 1:
        words = [permuted(even, odd, _UPPER) for odd, even in zip(words[::2], words[1::2], strict=True)]
    together = vector.from_elements(ir.VectorType.get([len(words)], word_type()), words)
    wide = ir.VectorType.get([width(lift.source.type)], _wide(lift))
    return _WIDEN[lift.widen](wide, vector.bitcast(lift.source.type, together))


def _extreme(state: Sequence[Any], join: Callable[[Any, Any], Any], lift: Lift) -> Any:
    """The extreme of all registers. It is computed in the upper half of the last one, and extracted from there."""
    t = element(lift.source.type)
    last = reduce(join, state)
    w = _word(join(last, _pair(arith.shli(_word(last), i32(HALF)), element(last.type))))
    if lift.widen != "arith.extf":
        return (arith.shrsi if lift.widen == "arith.extsi" else arith.shrui)(w, i32(WORD - BYTE * bytes_of(t)))
    return arith.extf(_wide(lift), vector.extract(_pair(w, t), [], [1]))


def _wide(lift: Lift) -> Any:
    return ir.F32Type.get() if lift.widen == "arith.extf" else word_type()
