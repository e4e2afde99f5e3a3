"""The first of the least elements, or of the greatest: a thread notes a key and a place, and makes one word at the end.

Where elements of 8 or 16 bits have their numbers below, each is a word of 32 or 64 bits to the program, and the combine
takes the least. Here an element gets its *place* in the step beside its key instead (``_ranks.py``): of bytes two such
are a register, which ``prmt`` makes and one ``min.s16x2`` compares with two others; of 16 bits one is. The least of a
step is noted, with where the step begins, if its key is less than the one so far; only when the walk has ended becomes
what was noted the program's word, with the number that its place has.

The numbers of a thread's elements must go up along its walk, or down; then places count down, too, and of equal keys
the last one is noted.

What is noted is one register: a key, a bit that is set where there is no element, and a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ..compiler.build import i32, word_type
from ..compiler.combine import clone_block, elements, fragment, horizontal, single_op, splat, width
from ..compiler.dialect.base import integer as attribute
from ..compiler.dialect.base import string
from ..compiler.mlir import arith, ir, llvm, vector
from ._packed import BYTES, folds, is_a, mask_words, mixed, yielded
from ._ranks import WORD, Word, word_of
from ._steps import apart, walked

UP, DOWN = "up", "down"
LEAST = 8
"""Elements of a step of one result from which on it is worth it."""
LEAST_APART = 2
"""Elements of a step of each of several results."""
_HALF = 16
_OF_BYTES, _TWICE = (0x1504, 0x3726), (0x1100, 0x3322)
"""Selectors of ``prmt`` for two bytes of one word, each above one of another; and for each of them twice."""
_ABOVE = tuple((0x1404 + 0x101 * u, 0x3424 + 0x101 * u) for u in range(BYTES))
"""For two bytes of one word, each above byte ``u`` of another."""
_NONE = 0x7FFF7FFF


def lower(op: Any) -> list[Any] | None:
    """The state that the ``fold.thread_reduce`` gives, its loop added before it; None where it takes no such words."""
    init = op.operands[2]
    if (
        isinstance(init.type, ir.TupleType)
        or single_op(op.regions[1]) != "arith.minsi"
        or "numbers" not in op.attributes
    ):
        return None
    word = word_of(yielded(op), narrow="places" in op.attributes)
    if word is None:
        return None
    walk = (_Together if folds(op) else _Apart)(op, word)
    if not walk.serves():
        return None
    state = [walk.run()]
    return state if op.results[0].type == init.type else horizontal(op.regions[1], state, walk.lanes)


class _Walk:
    """A walk that notes keys and places.

    Attributes:
        lanes, unroll: elements of an access, and accesses of a step.
        count: the places of a step.
        none: what is noted where there is no element.
        shift, low: how far the place lies above the lowest bit, and all bits below the one that says so.
    """

    count: int

    def __init__(self, op: Any, word: Word) -> None:
        self.op, self.word, self.body = op, word, op.regions[0].blocks[0]
        self.lanes, self.unroll = width(op.operands[2].type), attribute(op, "unroll")
        self.down = string(op, "numbers", (UP, DOWN)) == DOWN
        self.bytes = word.key.bits == 8
        self.shift, self.low = (_HALF, 0x7FFFFF) if self.bytes else (0, 0x7FFF)

    @property
    def places(self) -> int:
        """As many as there is room for."""
        return (self.low + 1) >> self.shift

    def place(self, n: int) -> int:
        return self.count - 1 - n if self.down else n

    def walked(self, lanes: int) -> list[Any]:
        """What is noted at the end, and where its step began, for so many lanes."""

        def step(state: list[Any], starts: list[Any]) -> list[Any]:
            best, at = state
            found = self.least([self.word.again(clone_block(self.body, [r], 1)[0]) for r in starts])
            if self.down:
                takes = arith.cmpi(arith.CmpIPredicate.sle, found, arith.ori(best, _numbers(self.low, best)))
            else:
                takes = arith.cmpi(arith.CmpIPredicate.slt, found, arith.andi(best, _numbers(~self.low, best)))
            return [arith.select(takes, found, best), arith.select(takes, splat(starts[0], lanes), at)]

        return walked(self.op, [splat(i32(-1 + (1 << WORD - 1)), lanes), splat(self.op.operands[0], lanes)], step)

    def least(self, accesses: Sequence[Word]) -> Any:
        raise NotImplementedError

    def number_in_step(self, best: Any) -> Any:
        """Which element of its step was noted."""
        found = arith.andi(arith.shrui(best, _numbers(self.shift, best)), _numbers(self.places - 1, best))
        return arith.subi(_numbers(self.count - 1, best), found) if self.down else found

    def state(self, init: Any, best: Any, r: Any) -> Any:
        """``init`` combined with the words of what was noted, of elements that come first at ``r``, if anything was."""
        keys = arith.shrsi(best, _numbers(WORD - self.word.key.bits, best))
        words = arith.minsi(init, self.word.at(keys, r))
        flag = arith.andi(best, _numbers(self.low + 1, best))
        return arith.select(arith.cmpi(arith.CmpIPredicate.eq, flag, _numbers(0, best)), words, init)

    def moved(self, r: Any, accesses: Any, lanes: Any) -> Any:
        """So many accesses, and lanes, beyond ``r``."""
        accesses, lanes = (v if v.type == r.type else arith.extui(r.type, v) for v in (accesses, lanes))
        distance = splat(apart(self.op, 1), width(r.type))
        return arith.addi(arith.addi(r, arith.muli(accesses, distance)), lanes)


class _Together(_Walk):
    """The elements of an access are of one result."""

    def __init__(self, op: Any, word: Word) -> None:
        super().__init__(op, word)
        self.count = self.lanes * self.unroll

    def serves(self) -> bool:
        return self.lanes % BYTES == 0 and LEAST <= self.count <= self.places

    def run(self) -> Any:
        init = self.op.operands[2]
        best, at = self.walked(1)
        n = self.number_in_step(best)
        accesses, lane = arith.shrui(n, i32(self.lanes.bit_length() - 1)), arith.andi(n, i32(self.lanes - 1))
        state = self.state(vector.extract(init, [], [0]), best, self.moved(at, accesses, lane))
        return vector.insert(state, init, [], [0])

    def least(self, accesses: Sequence[Word]) -> Any:
        found = [self.least_of(u, access) for u, access in enumerate(accesses)]
        best = _least(found)
        return _better_half(best) if self.bytes else best

    def least_of(self, u: int, access: Word) -> Any:
        """The least of an access: where there is no other, of none."""
        whole, single = _by_width(access.masks)
        first, words = u * self.lanes, access.key_words()
        inside = [mask_words(m, len(words)) for m in single] if self.bytes else [elements(m) for m in single]
        if self.bytes:
            found = [
                pair for k, w in enumerate(words) for pair in self.pairs(w, first + k * BYTES, [m[k] for m in inside])
            ]
        else:
            found = [half for k, w in enumerate(words) for half in self.halves(w, first + 2 * k)]
            found = [_where(masks, [x])[0] for *masks, x in zip(*inside, found, strict=True)]
        return _where(whole, [_least(found)])[0]

    def pairs(self, w: Any, first: int, inside: Sequence[Any]) -> list[Any]:
        """The four bytes of a word with their places, two in a register."""
        places = i32(int.from_bytes(bytes(self.place(first + j) for j in range(BYTES)), "little", signed=True))
        found = mixed(w, places, _OF_BYTES)
        for mask in inside:
            wide = mixed(mask, mask, _TWICE)
            outside = [arith.andi(arith.xori(m, i32(-1)), i32(_NONE)) for m in wide]
            found = [arith.ori(arith.andi(x, m), n) for x, m, n in zip(found, wide, outside, strict=True)]
        return [_as_pair(x) for x in found]

    def halves(self, w: Any, first: int) -> list[Any]:
        """The two halves of a word with their places."""
        return _apart(w, [self.place(first), self.place(first + 1)])


class _Apart(_Walk):
    """The elements of an access are of results of their own."""

    def __init__(self, op: Any, word: Word) -> None:
        super().__init__(op, word)
        self.count = self.unroll

    def serves(self) -> bool:
        whole = not _by_width(self.word.masks)[1] and self.lanes * self.word.key.bits % WORD == 0
        return whole and LEAST_APART <= self.count <= self.places

    def run(self) -> Any:
        best, at = self.walked(self.lanes)
        along = len(self.op.operands) > 3  # of rows that are read as one, neighbours follow each other
        lane = fragment([i32(j if along else 0) for j in range(self.lanes)])
        return self.state(self.op.operands[2], best, self.moved(at, self.number_in_step(best), lane))

    def least(self, accesses: Sequence[Word]) -> Any:
        each = [_where(_by_width(a.masks)[0], self.words(self.place(u), a)) for u, a in enumerate(accesses)]
        found = [_least(column) for column in zip(*each, strict=True)]
        if self.bytes:
            pairs = [llvm.bitcast(word_type(), pair) for pair in found]
            found = [x for pair in pairs for x in (arith.shli(pair, i32(_HALF)), pair)]
        return fragment(found)

    def words(self, place: int, access: Word) -> list[Any]:
        """The elements of an access with one place: those of 16 bits one by one, bytes by pairs."""
        if not self.bytes:
            return [x for w in access.key_words() for x in _apart(w, [place, place])]
        four = i32((place - place % BYTES) * 0x01010101 + 0x03020100)
        return [_as_pair(x) for w in access.key_words() for x in mixed(w, four, _ABOVE[place % BYTES])]


def _by_width(masks: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Masks that are one for a whole access, as scalars, and those of single elements."""
    scalars = [m.owner.operands[0] if is_a(m, "vector.broadcast") else m for m in masks]
    return [m for m in scalars if width(m.type) == 1], [m for m in scalars if width(m.type) > 1]


def _where(masks: Sequence[Any], found: list[Any]) -> list[Any]:
    """What was found where all masks hold, else nothing."""
    if not masks:
        return found
    inside = reduce(arith.andi, masks)
    return [arith.select(inside, x, _none(x)) for x in found]


def _apart(w: Any, places: Sequence[int]) -> list[Any]:
    """The halves of a word, each above a place."""
    low, high = arith.shli(w, i32(_HALF)), arith.andi(w, i32(-1 << _HALF))
    return [arith.addi(x, i32(place)) if place else x for x, place in zip((low, high), places, strict=True)]


def _numbers(n: int, like: Any) -> Any:
    """``n`` on as many elements as another value has."""
    return splat(i32(n), width(like.type))


def _as_pair(w: Any) -> Any:
    return llvm.bitcast(ir.VectorType.get([2], ir.IntegerType.get_signless(_HALF)), w)


def _none(x: Any) -> Any:
    """Nothing, in the place of ``x``."""
    none = i32(_NONE) if isinstance(x.type, ir.VectorType) else i32(-1 + (1 << WORD - 1))
    return _as_pair(none) if isinstance(x.type, ir.VectorType) else none


def _least(found: Sequence[Any]) -> Any:
    """The least of some, halves of registers by themselves."""
    level = list(found)
    while len(level) > 1:
        level = [reduce(arith.minsi, level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]


def _better_half(pair: Any) -> Any:
    """The lesser half of a register; below the upper half the other one is left, which is less than a place."""
    w = llvm.bitcast(word_type(), pair)
    return arith.minsi(arith.shli(w, i32(_HALF)), w)
