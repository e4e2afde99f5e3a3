"""Order keys: signed integers that order narrow elements as argmin or argmax does.

A key is as wide as its element, and the element with the least key comes first. The keys of a register are made
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...compiler.ir.build import i32
from ...compiler.ir.combine import constant, splat, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, math
from .packing import as_words, high_bits, permuted, tested_bytes

WORD = 32
BITS = {"i1": 8, "i8": 8, "i16": 16, "bf16": 16, "f16": 16}
"""The bits of a key, by the type of the element."""
_SIGNS, _SIGN_BITS = 0xBB99, -0x7FFF8000
"""A selector of ``prmt`` that fills each half of a word with its sign, and the sign bits of both halves."""


@dataclass(frozen=True)
class Key:
    """The function from elements to signed integers, the least of which comes first.

    Attributes:
        bits: 8 or 16; 32 for a float that is its own key, of which the greatest comes first.
        turned: the bits to flip, for integers and for truth values (which are the high bit of a byte).
        sign: for floats 1 or -1: the greatest ``sign * x`` comes first, a NaN before it, and zeros are equal. Else 0.
    """

    bits: int
    turned: int = 0
    sign: int = 0

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


def key_of(kind: str, *, signed: bool, falls: bool) -> Key | None:
    """The key of elements of the type ``kind`` that are ranked; None of those that no walk notes."""
    if kind in ("bf16", "f16", "f32"):
        return Key(BITS.get(kind, WORD), sign=1 if falls else -1)
    if kind not in BITS:
        return None
    ones = (1 << BITS[kind]) - 1
    middle = 0 if signed else ones // 2 + 1
    if kind == "i1":  # a set bit is that of the sign
        return Key(BITS[kind], 0 if falls else ones)
    return Key(BITS[kind], middle ^ (ones if falls else 0))


def _with_sign(word: int) -> int:
    return word - (1 << WORD) * (word >> WORD - 1)


def tested(truths: Any) -> Any:
    """The fragment of bytes that ``truths`` compare with zero; None for other values."""
    found = tested_bytes(truths) or []
    return found[0] if len(found) == 1 and str(element(found[0].type)) == "i8" else None
