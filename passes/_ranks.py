"""Words that are made of an element's rank and its number: recognised, taken apart, and made again.

Where the first of the least elements is wanted, or of the greatest, a program takes the least of such words. What comes
first among them depends on the element alone, then on the number. So the elements of 8 and of 16 bits get *keys*: as
wide, in the order of the words as integers with a sign, and several of them in one register are made at once. That the
order is the same is tried for all elements that there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..compiler.abi import NUMBER_BITS
from ..compiler.build import i32
from ..compiler.combine import constant, splat, width, with_shape
from ..compiler.dialect.base import element
from ..compiler.mlir import arith, ir, math
from ._formulas import Bits, Formula, formula_of, has, tried, with_sign
from ._packed import as_words, high_bits, is_a, is_number, permuted, tested_bytes

WORD, WIDE = 32, 32
"""Bits of a register, and of an element's number in a word of 64."""
_SIGNS = 0xBB99
"""A selector of ``prmt``: all bits of each half of a word as its sign."""
_SIGN_BITS = -0x7FFF8000
_WIDER = ("arith.extsi", "arith.extui")
BITS = {"i1": 8, "i8": 8, "i16": 16, "bf16": 16, "f16": 16}
"""Those of keys, by the kind of elements."""
_FLOATS = {"bf16": 0x7F80, "f16": 0x7C00}
"""Floats of 16 bits, with the bits of their infinity."""


@dataclass(frozen=True)
class Key:
    """How elements become integers with a sign, the least of which comes first.

    Attributes:
        bits: 8 or 16.
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
            return [self._of_floats(w) for w in as_words(self._plain(source))]
        turned = self.turned * (1 if self.bits == 16 else 0x0101) * 0x00010001
        words = as_words(source) if tested_bytes(source) is None else [high_bits(w) for w in as_words(_tested(source))]
        return [arith.xori(w, i32(_with_sign(turned))) for w in words] if turned else words

    def _plain(self, source: Any) -> Any:
        """``sign`` times floats, without a zero with a sign, and with one NaN: what has all bits but the sign."""
        t, lanes = element(source.type), width(source.type)
        one, zero = (constant(ir.FloatAttr.get(t, x), lanes) for x in (self.sign, 0.0))
        return math.fma(source, one, zero)

    @staticmethod
    def _of_floats(w: Any) -> Any:
        signs = permuted(w, w, _SIGNS)
        return arith.xori(w, arith.ori(arith.xori(signs, i32(-1)), i32(_SIGN_BITS)))

    def elements(self, keys: Any, t: Any) -> Any:
        """The elements of type ``t`` that have some keys: i32 with a sign."""
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


@dataclass(frozen=True)
class Word:
    """How the words of an access are made of elements and numbers.

    Attributes:
        made: the words, as a fragment.
        masks: which of them count: those for which all of these hold.
        source: the elements, or whether they are not zero.
        numbers: those of the elements, as a fragment.
        key: the order of the elements.
    """

    made: Any
    masks: tuple[Any, ...]
    source: Any
    numbers: Any
    key: Key

    def again(self, v: Any) -> Word:
        """The words of another access, ``v``, which are made alike."""
        made, masks = _unmasked(v)
        source, numbers = _leaves(made) or (None, None)
        return replace(self, made=made, masks=masks, source=source, numbers=numbers)

    def key_words(self) -> list[Any]:
        """The keys of the access, side by side in words."""
        return self.key.words(self.source)

    def at(self, keys: Any, r: Any) -> Any:
        """The words of the elements that have some ``keys`` and come first in the accesses at ``r``."""
        block, lanes = self.made.owner.operation.block, width(keys.type)
        first = self.numbers.owner.operands[0]
        memo = {block.arguments[0]: r, self.source: self.key.elements(keys, element(self.source.type))}
        memo[self.numbers] = rebuilt(first, memo, block, lanes)
        return rebuilt(self.made, memo, block, lanes)


def word_of(v: Any, *, narrow: bool) -> Word | None:
    """How the fragment ``v`` is made of elements and their numbers; None where it is not.

    The lowest bits are the number's alone, and the others order the elements.
    """
    made, masks = _unmasked(v)
    t, found = element(made.type), _leaves(made)
    if found is None or not isinstance(t, ir.IntegerType):
        return None
    source, numbers = found
    kind = str(element(source.type))
    number = WIDE if t.width > WORD else NUMBER_BITS + 8 - BITS[kind] if narrow else 0
    if not number:
        return None
    leaves = {source: Formula("element", kind), numbers: Formula("number")}
    key = _key_of(formula_of(made, leaves), kind, number)
    return Word(made, masks, source, numbers, key) if key else None


@lru_cache(maxsize=64)
def _key_of(formula: Formula, kind: str, number: int) -> Key | None:
    """The order of elements of some kind in a formula's words, with so many bits of a number; if it has one."""
    bits = np.arange(2 if kind == "i1" else 1 << BITS[kind], dtype=np.uint64)
    least, most = np.uint64(0), np.uint64((1 << min(number, 31)) - 1)
    words, numbered = (tried(formula, {"element": bits, "number": n * np.ones_like(bits)}) for n in (least, most))
    if (words & np.uint64((1 << number) - 1)).any() or (numbered != words | most).any():
        return None
    ranks = with_sign(words, formula.bits)
    return next((k for k in _keys(kind) if _same_order(k.of(bits << np.uint64(7 * (kind == "i1"))), ranks)), None)


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


def _tested(truths: Any) -> Any:
    """The bytes, as a fragment, of which ``truths`` say that they are not zero; None of others."""
    found = tested_bytes(truths) or []
    return found[0] if len(found) == 1 and str(element(found[0].type)) == "i8" else None


# --- what words are made of ------------------------------------------------------------------------------------------
def _unmasked(v: Any) -> tuple[Any, tuple[Any, ...]]:
    """``v`` without masks, and those that do not hold for all elements."""
    masks: tuple[Any, ...] = ()
    while is_a(v, "arith.select") and _is_last(v.owner.operands[2]):
        mask, v = v.owner.operands[0], v.owner.operands[1]
        masks += () if is_number(mask, 1) else (mask,)
    return v, masks


def _is_last(v: Any) -> bool:
    """Whether ``v`` is the greatest integer of its type, which is the least of none."""
    t = element(v.type)
    return isinstance(t, ir.IntegerType) and is_number(v, (1 << t.width - 1) - 1)


def _leaves(v: Any) -> tuple[Any, Any] | None:
    """(the elements, or whether they are not zero, and the numbers) that a fragment is made of."""
    sources, numbers = set[Any](), set[Any]()
    todo = [v]
    while todo:
        x = todo.pop()
        name = "" if isinstance(x, ir.BlockArgument) else x.owner.name
        kind = str(element(x.type))
        if _is_element(x, kind, name):
            sources.add(x)
        elif kind == "i32" and name == "vector.from_elements":
            numbers.add(x)
        elif name and has(x.owner):
            todo += x.owner.operands
        else:
            return None
    if len(sources) != 1 or len(numbers) != 1:
        return None
    return sources.pop(), numbers.pop()


def _is_element(x: Any, kind: str, name: str) -> bool:
    """Whether ``x`` was read from memory as it is: narrow, and not made of something narrower."""
    return (kind in BITS and kind != "i1" and name not in _WIDER) or (kind == "i1" and _tested(x) is not None)


def rebuilt(v: Any, memo: dict[Any, Any], block: Any, lanes: int) -> Any:
    """The ops of ``block`` that make ``v``, for so many elements; ``memo`` has what other values became."""
    if v not in memo:
        op = None if isinstance(v, ir.BlockArgument) else v.owner.operation
        if op is not None and op.name == "arith.constant":
            value = op.attributes["value"]
            value = ir.DenseElementsAttr(value).get_splat_value() if width(v.type) > 1 else value
            memo[v] = constant(value, lanes)
        elif op is not None and op.name == "vector.broadcast":
            memo[v] = rebuilt(op.operands[0], memo, block, lanes)
        elif op is None or op.block != block:
            memo[v] = splat(v, lanes)
        else:
            operands = [rebuilt(x, memo, block, lanes) for x in op.operands]
            types = [with_shape(element(r.type), lanes) for r in op.results]
            made = ir.Operation.create(op.name, types, operands, dict(op.attributes.items()), loc=op.location)
            memo.update(zip(op.results, made.results, strict=True))
    return memo[v]
