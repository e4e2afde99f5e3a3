"""The first of the least bytes, or of the greatest: two at a time, and one word of rank and number a step.

Where elements are bytes with their numbers below, each is a word of 32 or 64 bits to the program, and the combine takes
the least. Of a step's bytes only the first of the least can be that. So each byte gets its place in the step beside it
instead (``prmt``), two of them are a word, and the better of two pairs is one instruction: an instruction a byte in
all. Then the one that is left becomes the program's word, with the number that its place has.

The bytes of a step lie in the order of their numbers, or where these count down in the other: then places do, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..compiler.abi import NUMBER_BITS
from ..compiler.build import i32, integer, word_type
from ..compiler.combine import clone_block, horizontal, single_op, width
from ..compiler.dialect.base import element
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith, ir, llvm, vector
from ._packed import BYTES, as_words, folds, high_bits, is_a, is_number, mixed, tested_bytes, yielded
from ._steps import walked

LEAST, MOST = 16, 256
"""Elements of a step from which on it is worth it, and of which a byte holds the places."""
WIDE = 32
"""Bits of an element's number in a word of 64; in one of 32 it has NUMBER_BITS."""
_PAIRS = (0x1504, 0x3726)
"""Selectors of ``prmt`` for two bytes of one word, each above one of another."""
_ALL = 0xFFFF
_WIDER = ("arith.extsi", "arith.extui")
Bits = npt.NDArray[np.uint64]
_BINARY: dict[str, Callable[[Bits, Bits], Bits]] = {
    "arith.xori": np.bitwise_xor, "arith.ori": np.bitwise_or, "arith.andi": np.bitwise_and,
    "arith.shli": np.left_shift,
}  # fmt: skip


@dataclass(frozen=True)
class Word:
    """How the words of an access are made of bytes and numbers.

    Attributes:
        made: the words, as a fragment.
        source: what of the bytes they are made of: themselves, or whether they are not zero.
        numbers: those of the elements, as a fragment.
        signed: whether the bytes are ordered as signed ones.
        least: whether the least byte has the least word, else the greatest.
    """

    made: Any
    source: Any
    numbers: Any
    signed: bool
    least: bool

    @property
    def truth(self) -> bool:
        return str(element(self.source.type)) == "i1"

    def again(self, v: Any) -> Word:
        """The words of another access, ``v``, which are made alike."""
        made = _unmasked(v)
        source, numbers = _leaves(made) or (None, None)
        return replace(self, made=made, source=source, numbers=numbers)

    def words(self) -> list[Any]:
        """The bytes as words; of truth values each is nothing, or a high bit."""
        if not self.truth:
            return as_words(self.source)
        return [high_bits(w) for w in as_words(_tested(self.source))]

    def of(self, byte: Any, number: Any) -> Any:
        """The word of a single element, of which ``byte`` has nothing but zeros above."""
        t = element(self.source.type)
        one = arith.cmpi(arith.CmpIPredicate.ne, byte, i32(0)) if self.truth else arith.trunci(t, byte)
        return _rebuilt(self.made, {self.source: one, self.numbers: number})


def lower(op: Any) -> list[Any] | None:
    """The state that the ``fold.thread_reduce`` gives, its loop added before it; None where it takes no such words."""
    init, body = op.operands[2], op.regions[0].blocks[0]
    if isinstance(init.type, ir.TupleType) or single_op(op.regions[1]) != "arith.minsi":
        return None
    lanes, count = width(init.type), width(init.type) * attribute(op, "unroll")
    if lanes % BYTES or not LEAST <= count <= MOST or len(op.operands) > 3 or not folds(op):
        return None
    word = word_of(yielded(op), narrow="places" in op.attributes)
    if word is None:
        return None

    def step(state: list[Any], starts: list[Any]) -> list[Any]:
        accesses = [word.again(clone_block(body, [start], 1)[0]) for start in starts]
        return [arith.minsi(state[0], _first(op, accesses))]

    (least,) = walked(op, [vector.extract(init, [], [0])], step)
    state = [vector.insert(least, init, [], [0])]
    return state if op.results[0].type == init.type else horizontal(op.regions[1], state, lanes)


def _first(op: Any, accesses: list[Word]) -> Any:
    """The least word of a step."""
    one = accesses[0]
    lanes, stride = width(one.numbers.type), _stride(one.numbers)
    down = arith.shrsi(stride, integer(stride.type, stride.type.width - 1))  # all bits where numbers count down
    down = down if stride.type.width == 32 else arith.trunci(word_type(), down)
    pairs = [
        llvm.bitcast(ir.VectorType.get([2], ir.IntegerType.get_signless(16)), pair)
        for u, access in enumerate(accesses)
        for k, w in enumerate(access.words())
        for pair in mixed(w, arith.xori(_places(u * lanes + k * BYTES, least=one.least), down), _PAIRS)
    ]
    while len(pairs) > 1:
        pairs = [_better(one, a, b) for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    best = llvm.bitcast(word_type(), pairs[0])
    other = arith.shrui(best, i32(16))
    best, other = (_signed(x) if one.signed else arith.andi(x, i32(_ALL)) for x in (best, other))
    best = (arith.minsi if one.least else arith.maxsi)(best, other)
    place = arith.xori(arith.andi(best, i32(0xFF)), arith.andi(down, i32(0xFF)))
    place = place if one.least else arith.subi(i32(0xFF), place)
    access, lane = arith.shrui(place, i32(lanes.bit_length() - 1)), arith.andi(place, i32(lanes - 1))
    far = arith.addi(arith.muli(access, i32(attribute(op, "step"))), lane)
    far = far if stride.type.width == 32 else arith.extui(stride.type, far)
    number = arith.addi(vector.extract(one.numbers, [], [0]), arith.muli(far, stride))
    return one.of(arith.andi(arith.shrui(best, i32(8)), i32(0xFF)), number)


def _better(one: Word, a: Any, b: Any) -> Any:
    """The better halves of two words."""
    if one.least:
        return (arith.minsi if one.signed else arith.minui)(a, b)
    return (arith.maxsi if one.signed else arith.maxui)(a, b)


def _places(first: int, *, least: bool) -> Any:
    """Four places that follow each other, as bytes of a word; from the end where the greatest is wanted."""
    places = [first + j if least else 0xFF - first - j for j in range(BYTES)]
    return i32(int.from_bytes(bytes(places), "little", signed=False) - (1 << 32) * (places[-1] > 0x7F))


def _signed(half: Any) -> Any:
    """The lower half of a word as a number with a sign."""
    return arith.shrsi(arith.shli(half, i32(16)), i32(16))


# --- what words are made of ------------------------------------------------------------------------------------------
def word_of(v: Any, *, narrow: bool) -> Word | None:
    """How the fragment ``v`` is made of bytes and their numbers; None where it is not.

    The lowest bits are the number's alone, and the others order the bytes: this is tried for all of them.
    """
    made = _unmasked(v)
    t, leaves = element(made.type), _leaves(made)
    bits = {64: WIDE, 32: NUMBER_BITS if narrow else 0}.get(t.width if isinstance(t, ir.IntegerType) else 0, 0)
    if not bits or leaves is None:
        return None
    source, numbers = leaves
    truth = str(element(source.type)) == "i1"
    tried, number = np.arange(2 if truth else 256, dtype=np.uint64), np.uint64((1 << min(bits, 31)) - 1)
    words, numbered = (_value(made, {source: tried, numbers: np.uint64(0) * tried + n}) for n in (np.uint64(0), number))
    if (words & np.uint64((1 << bits) - 1)).any() or (numbered != words | number).any():
        return None
    ranks = (words << np.uint64(64 - t.width)).view(np.int64)
    for signed in (False,) if truth else (False, True):
        in_order = np.roll(ranks, 128) if signed else ranks
        for least in (True, False):
            if (in_order[1:] > in_order[:-1] if least else in_order[1:] < in_order[:-1]).all():
                return Word(made, source, numbers, signed, least)
    return None


def _unmasked(v: Any) -> Any:
    """``v`` without masks that hold for all elements."""
    while is_a(v, "arith.select") and is_number(v.owner.operands[0], 1):
        v = v.owner.operands[1]
    return v


def _leaves(v: Any) -> tuple[Any, Any] | None:
    """(the bytes, or whether they are not zero, and the numbers) that a fragment is made of, by bits alone."""
    sources, numbers = set[Any](), set[Any]()
    todo = [v]
    while todo:
        x = todo.pop()
        name = "" if isinstance(x, ir.BlockArgument) else x.owner.name
        kind = str(element(x.type))
        if name == "arith.constant":
            continue
        if name == "vector.broadcast":
            todo += x.owner.operands
        elif (kind == "i8" and name not in _WIDER) or (kind == "i1" and _tested(x) is not None):
            sources.add(x)
        elif kind == "i32" and name == "vector.from_elements":
            numbers.add(x)
        elif name in (*_BINARY, *_WIDER, "arith.select") or (name and _is_below(x.owner)):
            todo += x.owner.operands
        else:
            return None
    if len(sources) != 1 or len(numbers) != 1:
        return None
    (source,), (number,) = sources, numbers
    return (source, number) if _stride(number) is not None else None


def _tested(truths: Any) -> Any:
    """The bytes, as a fragment, of which ``truths`` say that they are not zero; None of others."""
    found = tested_bytes(truths) or []
    return found[0] if len(found) == 1 and str(element(found[0].type)) == "i8" else None


def _stride(numbers: Any) -> Any:
    """How far apart the numbers of neighbours are, where all are as far; else None."""
    first, *others = numbers.owner.operands
    found: Any = None
    for j, x in enumerate(others, 1):
        if not is_a(x, "arith.addi") or x.owner.operands[0] != first or not is_a(x.owner.operands[1], "arith.muli"):
            return None
        times, stride = x.owner.operands[1].owner.operands
        if not is_number(times, j) or (found is not None and stride != found):
            return None
        found = stride
    return found


def _value(v: Any, leaves: dict[Any, Bits]) -> Bits:
    """What bits an element of ``v`` has where the leaves have these."""
    if v in leaves:
        return leaves[v]
    op, mask = v.owner, np.uint64((1 << element(v.type).width) - 1)
    if op.name != "arith.constant":
        return _result(op, [_value(x, leaves) for x in op.operands]) & mask
    value = op.attributes["value"]
    one = next(iter(ir.DenseIntElementsAttr(value))) if isinstance(v.type, ir.VectorType) else value.value
    return np.full_like(next(iter(leaves.values())), int(one) & int(mask))


def _result(op: Any, operands: list[Bits]) -> Bits:
    """What an op makes of such bits; more than fit its type are cut off."""
    first, *others = operands
    if op.name == "arith.select":
        return np.where(first.astype(bool), *others)
    if op.name == "arith.cmpi":
        return (first < others[0]).astype(np.uint64)
    if op.name == "arith.extsi":
        above = np.uint64(64 - element(op.operands[0].type).width)
        return ((first << above).view(np.int64) >> above.astype(np.int64)).view(np.uint64)
    return _BINARY[op.name](first, others[0]) if others else first


def _is_below(op: Any) -> bool:
    """Whether an op says which of two numbers without a sign is less."""
    less = int(arith.CmpIPredicate.ult)
    return op.name == "arith.cmpi" and bool(ir.IntegerAttr(op.attributes["predicate"]).value == less)


def _rebuilt(v: Any, leaves: dict[Any, Any]) -> Any:
    """The ops that ``v`` is made by, for a single element."""
    if v in leaves:
        return leaves[v]
    op = v.owner
    if op.name == "vector.broadcast":
        return op.operands[0]
    attributes, t = dict(op.attributes.items()), element(v.type)
    if op.name == "arith.constant":
        value = attributes["value"]
        return arith.constant(t, ir.DenseElementsAttr(value).get_splat_value() if width(v.type) > 1 else value)
    operands = [_rebuilt(x, leaves) for x in op.operands]
    return ir.Operation.create(op.name, [t], operands, attributes, loc=op.location).results[0]
