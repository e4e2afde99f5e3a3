"""Keys: what stands for narrow elements where the first of the least is wanted, or of the greatest.

A key is an integer with a sign, as wide as the element, and the least comes first. Those of a register are made
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.ir.build import i32
from ...compiler.ir.combine import constant, splat, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, math
from .matchers import tested_bytes
from .packing import as_words, high_bits, permuted
from .word_formulas import Bits

WORD = 32
BITS = {"i1": 8, "i8": 8, "i16": 16, "bf16": 16, "f16": 16}
"""Those of keys, by the kind of elements."""
_FLOATS = {"bf16": 0x7F80, "f16": 0x7C00}
"""Floats of 16 bits, with the bits of their infinity."""
_SIGNS, _SIGN_BITS = 0xBB99, -0x7FFF8000
"""A selector of ``prmt``: all bits of each half of a word as its sign; and the signs of both."""


@dataclass(frozen=True)
class Key:
    """How elements become integers with a sign, the least of which comes first.

    Attributes:
        bits: 8 or 16; 32 where a float is its own key, and the greatest comes first.
        turned: of integers, and of truth values, which are a byte's high bit: the bits that are turned over.
        sign: of floats: the greatest of ``sign * x`` comes first, and before it NaN; zeros are equal. 0 for others.
        infinity: of floats: its bits.
    """

    bits: int
    turned: int = 0
    sign: int = 0
    infinity: int = 0

    def of(self, bits: Bits) -> Bits:
        """The keys of elements that have these bits, as integers without a sign in the same order."""
        half = np.uint64(1 << self.bits - 1)
        if not self.sign:
            return bits ^ np.uint64(self.turned) ^ half
        magnitude = bits & ~half
        bits = np.where(magnitude == 0, magnitude, bits ^ half * np.uint64(self.sign < 0))
        bits = np.where(magnitude > np.uint64(self.infinity), half - np.uint64(1), bits)
        return np.where(bits & half, bits, ~bits & ~half & np.uint64(0xFFFF))

    def words(self, source: Any) -> list[Any]:
        """The keys of a fragment, side by side in words."""
        if self.sign:
            return [self._of_floats(w) for w in as_words(self.plain(source))]
        turned = self.turned * (1 if self.bits == 16 else 0x0101) * 0x00010001
        words = as_words(source) if tested_bytes(source) is None else [high_bits(w) for w in as_words(tested(source))]
        return [arith.xori(w, i32(_with_sign(turned))) for w in words] if turned else words

    def plain(self, source: Any) -> Any:
        """``sign`` times floats, without a zero with a sign, and with one NaN: what has all bits but the sign."""
        t, lanes = element(source.type), width(source.type)
        one, zero = (constant(ir.FloatAttr.get(t, x), lanes) for x in (self.sign, 0.0))
        return math.fma(source, one, zero)

    @staticmethod
    def _of_floats(w: Any) -> Any:
        signs = permuted(w, w, _SIGNS)
        return arith.xori(w, arith.ori(arith.xori(signs, i32(-1)), i32(_SIGN_BITS)))

    def elements(self, keys: Any, t: Any) -> Any:
        """The elements of type ``t`` that have some keys: i32 with a sign, or floats."""
        if self.bits == WORD:
            return keys if self.sign > 0 else arith.negf(keys)
        lanes = width(keys.type)
        like = with_shape(t, lanes)

        def number(n: int) -> Any:
            return splat(i32(n), lanes)

        if not self.sign:
            bits = arith.xori(keys, number(self.turned))
            if str(t) == "i1":
                return arith.cmpi(arith.CmpIPredicate.ne, arith.andi(bits, number(0x80)), number(0))
            return arith.trunci(like, bits)
        bits = arith.xori(keys, number(-1))
        bits = arith.xori(bits, arith.andi(arith.shrsi(bits, number(15)), number(0x7FFF)))
        bits = bits if self.sign > 0 else arith.xori(bits, number(0x8000))
        return arith.bitcast(like, arith.trunci(with_shape(ir.IntegerType.get_signless(16), lanes), bits))


def key_like(kind: str, elements: Bits, ranks: Any) -> Key | None:
    """The key whose order is that of the ``ranks`` that all ``elements`` of some kind have; None where none has it."""
    bits = elements << np.uint64(7) if kind == "i1" else elements
    return next((key for key in _keys(kind) if _same_order(key.of(bits), ranks)), None)


def _keys(kind: str) -> list[Key]:
    """The orders that elements may have."""
    if kind in _FLOATS:
        return [Key(16, sign=sign, infinity=_FLOATS[kind]) for sign in (1, -1)]
    sign = 1 << BITS[kind] - 1
    return [Key(BITS[kind], turned) for turned in (0, 2 * sign - 1, sign, sign - 1)]


def _same_order(keys: Bits, ranks: Any) -> bool:
    """Whether of two elements one has the lesser key and the lesser rank, or both have the same."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    keys, ranks = keys[order], ranks[order]
    rises = ranks[1:] > ranks[:-1]
    return bool((rises == (keys[1:] != keys[:-1])).all() and (ranks[1:] >= ranks[:-1]).all())


def _with_sign(word: int) -> int:
    return word - (1 << WORD) * (word >> WORD - 1)


def tested(truths: Any) -> Any:
    """The bytes, as a fragment, of which ``truths`` say that they are not zero; None of others."""
    found = tested_bytes(truths) or []
    return found[0] if len(found) == 1 and str(element(found[0].type)) == "i8" else None
