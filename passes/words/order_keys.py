"""Order keys: signed integers that order narrow elements as argmin or argmax does.

A key is as wide as its element, and the element with the least key comes first. The keys of a register are made
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
"""The bits of a key, by the type of the element."""
_FLOATS = {"bf16": 0x7F80, "f16": 0x7C00}
"""The bits of infinity, by the 16-bit float type."""
_SIGNS, _SIGN_BITS = 0xBB99, -0x7FFF8000
"""A selector of ``prmt`` that fills each half of a word with its sign, and the sign bits of both halves."""


@dataclass(frozen=True)
class Key:
    """The function from elements to signed integers, the least of which comes first.

    Attributes:
        bits: 8 or 16; 32 for a float that is its own key, of which the greatest comes first.
        turned: the bits to flip, for integers and for truth values (which are the high bit of a byte).
        sign: for floats 1 or -1: the greatest ``sign * x`` comes first, a NaN before it, and zeros are equal. Else 0.
        infinity: for floats, the bits of infinity.
    """

    bits: int
    turned: int = 0
    sign: int = 0
    infinity: int = 0

    def of(self, bits: Bits) -> Bits:
        """The keys of elements with these bits, as unsigned integers in the same order."""
        half = np.uint64(1 << self.bits - 1)
        if not self.sign:
            return bits ^ np.uint64(self.turned) ^ half
        magnitude = bits & ~half
        bits = np.where(magnitude == 0, magnitude, bits ^ half * np.uint64(self.sign < 0))
        bits = np.where(magnitude > np.uint64(self.infinity), half - np.uint64(1), bits)
        return np.where(bits & half, bits, ~bits & ~half & np.uint64(0xFFFF))

    def words(self, source: Any) -> list[Any]:
        """The keys of a fragment, packed in words."""
        if self.sign:
            return [self._of_floats(w) for w in as_words(self.plain(source))]
        turned = self.turned * (1 if self.bits == 16 else 0x0101) * 0x00010001
        words = as_words(source) if tested_bytes(source) is None else [high_bits(w) for w in as_words(tested(source))]
        return [arith.xori(w, i32(_with_sign(turned))) for w in words] if turned else words

    def plain(self, source: Any) -> Any:
        """``sign`` times the floats, with one zero (+0) and one NaN (all bits but the sign)."""
        t, lanes = element(source.type), width(source.type)
        one, zero = (constant(ir.FloatAttr.get(t, x), lanes) for x in (self.sign, 0.0))
        return math.fma(source, one, zero)

    @staticmethod
    def _of_floats(w: Any) -> Any:
        signs = permuted(w, w, _SIGNS)
        return arith.xori(w, arith.ori(arith.xori(signs, i32(-1)), i32(_SIGN_BITS)))

    def elements(self, keys: Any, t: Any) -> Any:
        """The elements of type ``t`` with the given keys, which are i32, or floats for keys of 32 bits."""
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
    """The key that orders all ``elements`` of the type ``kind`` as their ``ranks`` do; None if there is none."""
    bits = elements << np.uint64(7) if kind == "i1" else elements
    return next((key for key in _keys(kind) if _same_order(key.of(bits), ranks)), None)


def _keys(kind: str) -> list[Key]:
    """The keys that elements of the type ``kind`` may have."""
    if kind in _FLOATS:
        return [Key(16, sign=sign, infinity=_FLOATS[kind]) for sign in (1, -1)]
    sign = 1 << BITS[kind] - 1
    return [Key(BITS[kind], turned) for turned in (0, 2 * sign - 1, sign, sign - 1)]


def _same_order(keys: Bits, ranks: Any) -> bool:
    """Whether keys and ranks order all pairs of elements alike, ties included."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    keys, ranks = keys[order], ranks[order]
    rises = ranks[1:] > ranks[:-1]
    return bool((rises == (keys[1:] != keys[:-1])).all() and (ranks[1:] >= ranks[:-1]).all())


def _with_sign(word: int) -> int:
    return word - (1 << WORD) * (word >> WORD - 1)


def tested(truths: Any) -> Any:
    """The fragment of bytes that ``truths`` compare with zero; None for other values."""
    found = tested_bytes(truths) or []
    return found[0] if len(found) == 1 and str(element(found[0].type)) == "i8" else None
