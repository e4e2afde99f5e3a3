"""Words that are made of an element's rank and its number: recognised, taken apart, and made again.

Where the first of the least elements is wanted, or of the greatest, a program takes the least of such words. What comes
first among them depends on the element alone, then on the number. So narrow elements have keys (``keys.py``): that
these are in the order of the words is tried for all elements that there are. Words of f32 are known by their formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.ir.combine import constant, splat, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import ir
from ...compiler.plan.abi import NUMBER_BITS
from ...compiler.postorder import postorder
from .matchers import is_a, is_number
from .order_keys import BITS, WORD, Key, key_like, tested
from .word_formulas import Formula, constant_of, formula_of, has, tried, with_sign

WIDE = 32
"""Bits of an element's number in a word of 64."""
_WIDER = ("arith.extsi", "arith.extui")


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

    def floats(self) -> Any:
        """Its floats, of which the greatest come first."""
        return self.key.plain(self.source)

    def at(self, keys: Any, r: Any) -> Any:
        """The words of the elements that have some ``keys`` and come first in the accesses at ``r``."""
        block, lanes = self.made.owner.operation.block, width(keys.type)
        first = self.numbers.owner.operands[0]
        memo = {block.arguments[0]: r, self.source: self.key.elements(keys, element(self.source.type))}
        memo[self.numbers] = _rebuilt(first, memo, block, lanes)
        return _rebuilt(self.made, memo, block, lanes)


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
    formula = formula_of(made, {source: replace(_ELEMENT, kind=kind), numbers: _NUMBER})
    if kind not in BITS:
        key = _OF_F32.get(formula)
    else:
        number = WIDE if t.width > WORD else NUMBER_BITS + 8 - BITS[kind] if narrow else 0
        key = _key_of(formula, kind, number) if number else None
    return Word(made, masks, source, numbers, key) if key else None


@lru_cache(maxsize=64)
def _key_of(formula: Formula, kind: str, number: int) -> Key | None:
    """The order of elements of some kind in a formula's words, with so many bits of a number; if it has one."""
    bits = np.arange(2 if kind == "i1" else 1 << BITS[kind], dtype=np.uint64)
    least, most = np.uint64(0), np.uint64((1 << min(number, 31)) - 1)
    words, numbered = (tried(formula, {"element": bits, "number": n * np.ones_like(bits)}) for n in (least, most))
    if (words & np.uint64((1 << number) - 1)).any() or (numbered != words | most).any():
        return None
    return key_like(kind, bits, with_sign(words, formula.bits))


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
    todo, seen = [v], set[Any]()
    while todo:
        x = todo.pop()
        if x in seen:
            continue
        seen.add(x)
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
    if kind == "i1":
        return tested(x) is not None
    return (kind in BITS and name not in _WIDER) or (kind == "f32" and not (name and has(x.owner)))


def _rebuilt(v: Any, memo: dict[Any, Any], block: Any, lanes: int) -> Any:
    """The ops of ``block`` that make ``v``, for so many elements; ``memo`` has what other values became."""
    for x in postorder([v], lambda x: _operands(x, block), memo):
        op = None if isinstance(x, ir.BlockArgument) else x.owner.operation
        if op is not None and op.name == "arith.constant":
            value = op.attributes["value"]
            value = ir.DenseElementsAttr(value).get_splat_value() if width(x.type) > 1 else value
            memo[x] = constant(value, lanes)
        elif op is not None and op.name == "vector.broadcast":
            memo[x] = memo[op.operands[0]]
        elif op is None or op.block != block:
            memo[x] = splat(x, lanes)
        else:
            operands = [memo[y] for y in op.operands]
            types = [with_shape(element(r.type), lanes) for r in op.results]
            made = ir.Operation.create(op.name, types, operands, dict(op.attributes.items()), loc=op.location)
            memo.update(zip(op.results, made.results, strict=True))
    return memo[v]


def _operands(v: Any, block: Any) -> list[Any]:
    """What ``v`` is made of in ``block``, or repeats."""
    op = None if isinstance(v, ir.BlockArgument) else v.owner.operation
    return list(op.operands) if op is not None and (op.block == block or op.name == "vector.broadcast") else []


# --- words of f32 ----------------------------------------------------------------------------------------------------
_ELEMENT, _NUMBER = Formula("element", "f32"), Formula("number", "i32")


def _word_of_f32(x: Formula) -> Formula:
    """A word of 64 bits that has above its number the rank of ``x``, as a sum is: the greatest has the least."""
    bits = Formula("arith.bitcast", "i32", (x,))
    sign = Formula("arith.shrsi", "i32", (bits, constant_of("i32", WORD - 1)))
    turned = Formula("arith.xori", "i32", (sign, constant_of("i32", -1)))
    rank = Formula(
        "arith.xori", "i32", (bits, Formula("arith.ori", "i32", (turned, constant_of("i32", -1 << WORD - 1))))
    )
    high = Formula("arith.shli", "i64", (Formula("arith.extsi", "i64", (rank,)), constant_of("i64", WIDE)))
    return Formula("arith.ori", "i64", (high, Formula("arith.extui", "i64", (_NUMBER,))))


_ZERO = constant_of("f32", 0)
_OF_F32 = {
    _word_of_f32(Formula("arith.addf", "f32", (_ELEMENT, _ZERO))): Key(WORD, sign=1),
    _word_of_f32(Formula("arith.subf", "f32", (_ZERO, _ELEMENT))): Key(WORD, sign=-1),
}
"""The words of which it is known, since there are too many elements to try them all."""
