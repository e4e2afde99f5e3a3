"""Words of an element's rank above its number: recognises them, takes them apart and makes them again.

A program that looks for the first of the least or the greatest elements takes the least of such words. The rank depends
on the element alone, and the number decides between equal ranks. Narrow elements then have order keys
(``word_formulas.py``). That a key orders elements as the words do is checked for every value that an element can have.
Words of f32 have too many values for that: they are recognised by their formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.ir.combine import constant, splat, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import ir
from ...compiler.plan.facts import NUMBER_BITS
from ...compiler.postorder import postorder
from .packing import is_a, is_number
from .word_formulas import BITS, WORD, Formula, Key, constant_of, formula_of, has, key_like, tested, tried, with_sign

WIDE = 32
"""Bits of an element's number in a word of 64 bits."""
_WIDER = ("arith.extsi", "arith.extui")


@dataclass(frozen=True)
class Word:
    """The words of an access as functions of elements and numbers.

    Attributes:
        made: the words, as a fragment.
        masks: a word counts if all of these hold for it.
        source: the elements, or truth values that say whether bytes are not zero.
        numbers: the numbers of the elements, as a fragment.
        key: the order key of the elements.
    """

    made: Any
    masks: tuple[Any, ...]
    source: Any
    numbers: Any
    key: Key

    def again(self, v: Any) -> Word:
        """The words ``v`` of another access, which are made in the same way."""
        made, masks = _unmasked(v)
        source, numbers = _leaves(made) or (None, None)
        return replace(self, made=made, masks=masks, source=source, numbers=numbers)

    def key_words(self) -> list[Any]:
        """The keys of the access, packed in words."""
        return self.key.words(self.source)

    def floats(self) -> Any:
        """The floats of the access, of which the greatest comes first."""
        return self.key.plain(self.source)

    def at(self, keys: Any, r: Any) -> Any:
        """The words of elements with these ``keys`` that are the first of the accesses at the indices ``r``."""
        block, lanes = self.made.owner.operation.block, width(keys.type)
        first = self.numbers.owner.operands[0]
        memo = {block.arguments[0]: r, self.source: self.key.elements(keys, element(self.source.type))}
        memo[self.numbers] = _rebuilt(first, memo, block, lanes)
        return _rebuilt(self.made, memo, block, lanes)


def word_of(v: Any, *, narrow: bool) -> Word | None:
    """The fragment ``v`` as words of elements and numbers; None if it holds no such words.

    The low bits of a word depend on the number alone, and the other bits order the elements.
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
    """The key of elements of the type ``kind`` in words of this formula with ``number`` bits for the number, if any."""
    bits = np.arange(2 if kind == "i1" else 1 << BITS[kind], dtype=np.uint64)
    least, most = np.uint64(0), np.uint64((1 << min(number, 31)) - 1)
    words, numbered = (tried(formula, {"element": bits, "number": n * np.ones_like(bits)}) for n in (least, most))
    if (words & np.uint64((1 << number) - 1)).any() or (numbered != words | most).any():
        return None
    return key_like(kind, bits, with_sign(words, formula.bits))


# --- what words are made of ------------------------------------------------------------------------------------------
def _unmasked(v: Any) -> tuple[Any, tuple[Any, ...]]:
    """``v`` without its masks, and the masks, without those that are constant true."""
    masks: tuple[Any, ...] = ()
    while is_a(v, "arith.select") and _is_last(v.owner.operands[2]):
        mask, v = v.owner.operands[0], v.owner.operands[1]
        masks += () if is_number(mask, 1) else (mask,)
    return v, masks


def _is_last(v: Any) -> bool:
    """Whether ``v`` is the greatest integer of its type, which is the identity of min."""
    t = element(v.type)
    return isinstance(t, ir.IntegerType) and is_number(v, (1 << t.width - 1) - 1)


def _leaves(v: Any) -> tuple[Any, Any] | None:
    """The elements (or tested bytes) and the numbers from which a fragment is computed; None if there are others."""
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
    """Whether ``x`` is an element as loaded: not widened, and not computed by an op that a formula knows."""
    if kind == "i1":
        return tested(x) is not None
    return (kind in BITS and name not in _WIDER) or (kind == "f32" and not (name and has(x.owner)))


def _rebuilt(v: Any, memo: dict[Any, Any], block: Any, lanes: int) -> Any:
    """Clones the ops of ``block`` that compute ``v``, for fragments of ``lanes``; ``memo`` maps values to new ones."""
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
    """The operands of the op that defines ``v``, if it stands in ``block`` or broadcasts a scalar."""
    op = None if isinstance(v, ir.BlockArgument) else v.owner.operation
    return list(op.operands) if op is not None and (op.block == block or op.name == "vector.broadcast") else []


# --- words of f32 ----------------------------------------------------------------------------------------------------
_ELEMENT, _NUMBER = Formula("element", "f32"), Formula("number", "i32")


def _word_of_f32(x: Formula) -> Formula:
    """The 64-bit word with the rank of ``x`` above its number; the greatest ``x`` has the least rank."""
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
"""The keys of words of f32, by formula: there are too many f32 to try them all."""
