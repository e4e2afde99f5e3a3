"""Argmin and argmax of narrow elements: a thread notes a key and a place in a register, and makes one word at the end.

To the program each element is a word of 32 or 64 bits, with its number in the low bits, and the combine takes the least
word. Here an element of 8 or 16 bits has its place in the step beside its order key instead. Two bytes with their
places fill a register, which ``prmt`` makes, and one ``min.s16x2`` compares two such registers; an element of 16 bits
fills a register alone. The least of a step is noted, with the index where the step begins, if its key is less than the
best so far. After the walk the noted element becomes the program's word, with the number at its place. Floats of 32
bits are their own keys.

The numbers of a thread's elements must rise or fall along its walk. If they fall, places count down too, and of equal
keys the last one is noted.

The noted register holds a key, a bit that is set if there is no element, and a place.

The walks of argmin and argmax: note which element comes first, and make its word at the end.

A *place* is the number of an element within its step. A step notes the place of its first element and the index where
the step begins. So the word of an element and its number is made once a walk, not once an element.

The first of the greatest f32: a step finds its greatest element, then which of its elements that is.

An element takes a maximum, a comparison and a selection, where its word of 64 bits would take eight instructions. The
floats are those of ``Word.floats``, with one zero and one NaN, so that equal elements have the same bits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any

from ...compiler.ir.build import i32, word_type
from ...compiler.ir.combine import (
    clone_block,
    constant,
    elements,
    fragment,
    halved,
    horizontal,
    single_op,
    splat,
    width,
)
from ...compiler.ir.dialect.base import element, int_attr, str_attr
from ...compiler.ir.mlir import arith, ir, llvm, vector
from ..access.thread_loop import apart, combines_lanes, walked
from .argmin_words import Word, word_of
from .order_keys import WORD
from .packing import BYTES, chosen, is_a, mask_words, mixed, yielded

UP, DOWN = "up", "down"


class ArgminWalk(ABC):
    """The loop of a ``fold.thread_reduce`` that takes the least word.

    Attributes:
        init: the state before the loop.
        lanes, unroll: elements of an access, and accesses of a step.
        down: whether the numbers of elements fall along the walk: then the last of equal elements comes first.
    """

    def __init__(self, op: Any, word: Word) -> None:
        self.op, self.word, self.body, self.init = op, word, op.regions[0].blocks[0], op.operands[2]
        self.lanes, self.unroll = width(self.init.type), int_attr(op, "unroll")
        self.down = str_attr(op, "numbers", (UP, DOWN)) == DOWN

    @abstractmethod
    def serves(self) -> bool:
        """Whether this walk can compute the op."""

    @abstractmethod
    def run(self) -> Any:
        """Writes the loop, and returns the state after it."""

    def accesses(self, starts: Sequence[Any]) -> list[Word]:
        """The words of a step's accesses."""
        return [self.word.again(clone_block(self.body, [r], 1)[0]) for r in starts]

    def joined(self, init: Any, keys: Any, r: Any, some: Any) -> Any:
        """``init`` combined, where ``some`` holds, with the words of elements with these keys at the indices ``r``."""
        return arith.select(some, arith.minsi(init, self.word.at(keys, r)), init)

    def joined_first(self, key: Any, at: Any, n: Any, some: Any) -> Any:
        """The state, its first element combined with the word of element ``n`` of the step that begins at ``at``."""
        accesses, lane = arith.shrui(n, i32(self.lanes.bit_length() - 1)), arith.andi(n, i32(self.lanes - 1))
        first = vector.extract(self.init, [], [0])
        return vector.insert(self.joined(first, key, self.moved(at, accesses, lane), some), self.init, [], [0])

    def moved(self, r: Any, accesses: Any, lanes: Any) -> Any:
        """The index that is ``accesses`` accesses and ``lanes`` elements after ``r``."""
        accesses, lanes = (v if v.type == r.type else arith.extui(r.type, v) for v in (accesses, lanes))
        distance = splat(apart(self.op, 1), width(r.type))
        return arith.addi(arith.addi(r, arith.muli(accesses, distance)), lanes)


LEAST = 8
"""A step needs this many elements for the walk to pay."""


class FloatArgmax(ArgminWalk):
    """The walk over floats that belong to one result and are not masked."""

    def serves(self) -> bool:
        return combines_lanes(self.op) and not self.word.masks and self.lanes * self.unroll >= LEAST

    def run(self) -> Any:
        begin, end = list(self.op.operands)[:2]
        lowest = constant(ir.FloatAttr.get(element(self.word.source.type), -math.inf), 1)
        best, at, n = walked(self.op, [lowest, begin, i32(0)], self.step)
        return self.joined_first(best, at, n, arith.cmpi(arith.CmpIPredicate.slt, begin, end))

    def step(self, state: list[Any], starts: list[Any]) -> list[Any]:
        fragments = [access.floats() for access in self.accesses(starts)]
        (greatest,) = halved(_greater, [reduce(arith.maximumf, fragments)], self.lanes)
        place, bits = i32(0), _bits(greatest)
        each = list(enumerate(x for f in fragments for x in elements(f)))
        for k, x in each if self.down else reversed(each):
            place = arith.select(arith.cmpi(arith.CmpIPredicate.eq, _bits(x), bits), i32(k), place)
        first = self.comes_first(greatest, state[0])
        return [arith.select(first, new, old) for new, old in zip((greatest, starts[0], place), state, strict=True)]

    def comes_first(self, greatest: Any, best: Any) -> Any:
        """Whether the greatest of a step comes before the best so far: greater, a NaN, or equal and first."""
        which = arith.CmpFPredicate
        if self.down:
            return arith.ori(arith.cmpf(which.OGE, greatest, best), arith.cmpf(which.UNO, greatest, greatest))
        return arith.andi(arith.cmpf(which.UGT, greatest, best), arith.cmpf(which.ORD, best, best))


def _greater(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The greater values of two states; a NaN on either side wins."""
    return [arith.maximumf(a, b) for a, b in zip(left, right, strict=True)]


def _bits(x: Any) -> Any:
    return arith.bitcast(word_type(), x)


LEAST_APART = 2
"""With several results, a step needs this many elements a result for the walk to pay."""
_HALF = 16
_OF_BYTES, _TWICE = (0x1504, 0x3726), (0x1100, 0x3322)
"""Selectors of ``prmt``: two bytes of one word, each above a byte of another word; and each byte of a word twice."""
_ABOVE = tuple((0x1404 + 0x101 * u, 0x3424 + 0x101 * u) for u in range(BYTES))
"""Selectors of ``prmt``: two bytes of one word, each above byte ``u`` of another word."""
_NONE, _NONES = (1 << WORD - 1) - 1, 0x7FFF7FFF
"""The noted register without an element, and two such halves in a register."""


def lower(op: Any) -> list[Any] | None:
    """Writes the loop of a ``fold.thread_reduce`` and returns its state; None if the op takes no such words."""
    init = op.operands[2]
    if (
        "numbers" not in op.attributes
        or isinstance(init.type, ir.TupleType)
        or single_op(op.regions[1]) != "arith.minsi"
    ):
        return None
    word = word_of(yielded(op), narrow="places" in op.attributes)
    if word is None:
        return None
    walk = (FloatArgmax if word.key.bits == WORD else _Together if combines_lanes(op) else _Apart)(op, word)
    if not walk.serves():
        return None
    state = [walk.run()]
    return state if op.results[0].type == init.type else horizontal(op.regions[1], state, walk.lanes)


class _Noted(ArgminWalk):
    """A walk that notes a key and a place.

    Attributes:
        count: the number of places in a step.
        shift: the lowest bit of the place in the register.
        low: a mask of all bits below the one that says that there is no element.
    """

    count: int

    def __init__(self, op: Any, word: Word) -> None:
        super().__init__(op, word)
        self.bytes = word.key.bits == 8
        self.shift, self.low = (_HALF, 0x7FFFFF) if self.bytes else (0, 0x7FFF)

    @property
    def room(self) -> int:
        """The greatest number of places."""
        return (self.low + 1) >> self.shift

    def place(self, n: int) -> int:
        """The place of element ``n`` of a step."""
        return self.count - 1 - n if self.down else n

    def noted(self, lanes: int) -> list[Any]:
        """For each of ``lanes`` results the register noted by the end of the walk, and where its step begins."""

        def step(state: list[Any], starts: list[Any]) -> list[Any]:
            best, at = state
            found = self.least(self.accesses(starts))
            if self.down:
                first = arith.cmpi(arith.CmpIPredicate.sle, found, arith.ori(best, _each(self.low, best)))
            else:
                first = arith.cmpi(arith.CmpIPredicate.slt, found, arith.andi(best, _each(~self.low, best)))
            return [arith.select(first, found, best), arith.select(first, splat(starts[0], lanes), at)]

        return walked(self.op, [splat(i32(_NONE), lanes), splat(self.op.operands[0], lanes)], step)

    @abstractmethod
    def least(self, accesses: Sequence[Word]) -> Any:
        """The register to note for the least element of a step."""

    def read(self, best: Any) -> tuple[Any, Any, Any]:
        """The keys, the element numbers within the steps, and whether there are elements, from noted registers."""
        keys = arith.shrsi(best, _each(WORD - self.word.key.bits, best))
        place = arith.andi(arith.shrui(best, _each(self.shift, best)), _each(self.room - 1, best))
        n = arith.subi(_each(self.count - 1, best), place) if self.down else place
        flag = arith.andi(best, _each(self.low + 1, best))
        return keys, n, arith.cmpi(arith.CmpIPredicate.eq, flag, _each(0, best))


class _Together(_Noted):
    """The walk where all elements of an access belong to one result."""

    def __init__(self, op: Any, word: Word) -> None:
        super().__init__(op, word)
        self.count = self.lanes * self.unroll

    def serves(self) -> bool:
        return self.lanes % BYTES == 0 and LEAST <= self.count <= self.room

    def run(self) -> Any:
        best, at = self.noted(1)
        key, n, some = self.read(best)
        return self.joined_first(key, at, n, some)

    def least(self, accesses: Sequence[Word]) -> Any:
        best = _least([self.least_of(u, access) for u, access in enumerate(accesses)])
        return _lesser_half(best) if self.bytes else best

    def least_of(self, u: int, access: Word) -> Any:
        """The register of the least element of access number ``u``, which says so if all are masked."""
        whole, single = _by_width(access.masks)
        found = (self.pairs if self.bytes else self.halves)(access.key_words(), u * self.lanes, single)
        return _where(whole, [_least(found)])[0]

    def pairs(self, words: Sequence[Any], first: int, masks: Sequence[Any]) -> list[Any]:
        """Registers of two bytes with their places."""
        found = []
        inside = [mask_words(m, len(words)) for m in masks]
        for k, w in enumerate(words):
            places = bytes(self.place(first + BYTES * k + j) for j in range(BYTES))
            two = mixed(w, i32(int.from_bytes(places, "little", signed=True)), _OF_BYTES)
            for mask in inside:
                wide = mixed(mask[k], mask[k], _TWICE)
                two = [chosen(m, x, i32(_NONES)) for m, x in zip(wide, two, strict=True)]
            found += [_as_pair(x) for x in two]
        return found

    def halves(self, words: Sequence[Any], first: int, masks: Sequence[Any]) -> list[Any]:
        """Registers of one 16-bit element with its place."""
        places = [self.place(first + j) for j in range(self.lanes)]
        found = [x for k, w in enumerate(words) for x in _split(w, places[2 * k : 2 * k + 2])]
        inside = [elements(m) for m in masks]
        return [_where(mask, [x])[0] for *mask, x in zip(*inside, found, strict=True)]


class _Apart(_Noted):
    """The walk where each element of an access belongs to a result of its own."""

    def __init__(self, op: Any, word: Word) -> None:
        super().__init__(op, word)
        self.count = self.unroll

    def serves(self) -> bool:
        whole = not _by_width(self.word.masks)[1] and self.lanes * self.word.key.bits % WORD == 0
        return whole and LEAST_APART <= self.count <= self.room

    def run(self) -> Any:
        best, at = self.noted(self.lanes)
        along = len(self.op.operands) > 3  # a period: neighbours in an access have successive numbers
        lane = fragment([i32(j if along else 0) for j in range(self.lanes)])
        keys, n, some = self.read(best)
        return self.joined(self.init, keys, self.moved(at, n, lane), some)

    def least(self, accesses: Sequence[Word]) -> Any:
        each = [_where(_by_width(a.masks)[0], self.words(self.place(u), a)) for u, a in enumerate(accesses)]
        found = [_least(column) for column in zip(*each, strict=True)]
        if self.bytes:
            pairs = [llvm.bitcast(word_type(), pair) for pair in found]
            found = [x for pair in pairs for x in (arith.shli(pair, i32(_HALF)), pair)]
        return fragment(found)

    def words(self, place: int, access: Word) -> list[Any]:
        """Registers of the elements of an access with one place: 16-bit elements one by one, bytes by pairs."""
        if not self.bytes:
            return [x for w in access.key_words() for x in _split(w, [place, place])]
        four = i32((place - place % BYTES) * 0x01010101 + 0x03020100)
        return [_as_pair(x) for w in access.key_words() for x in mixed(w, four, _ABOVE[place % BYTES])]


# --- masks -----------------------------------------------------------------------------------------------------------
def _by_width(masks: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The masks of whole accesses, as scalars, and the masks of single elements."""
    scalars = [m.owner.operands[0] if is_a(m, "vector.broadcast") else m for m in masks]
    return [m for m in scalars if width(m.type) == 1], [m for m in scalars if width(m.type) > 1]


def _where(masks: Sequence[Any], found: list[Any]) -> list[Any]:
    """What was found where all masks hold, else nothing."""
    if not masks:
        return found
    inside, pairs = reduce(arith.andi, masks), isinstance(found[0].type, ir.VectorType)
    none = _as_pair(i32(_NONES)) if pairs else i32(_NONE)
    return [arith.select(inside, x, none) for x in found]


# --- words and their halves ------------------------------------------------------------------------------------------
def _split(w: Any, places: Sequence[int]) -> list[Any]:
    """The halves of a word, each above a place."""
    low, high = arith.shli(w, i32(_HALF)), arith.andi(w, i32(-1 << _HALF))
    return [arith.addi(x, i32(place)) if place else x for x, place in zip((low, high), places, strict=True)]


def _as_pair(w: Any) -> Any:
    return llvm.bitcast(ir.VectorType.get([2], ir.IntegerType.get_signless(_HALF)), w)


def _least(found: Sequence[Any]) -> Any:
    """The minimum of the registers; of packed ones, half by half."""
    level = list(found)
    while len(level) > 1:
        level = [reduce(arith.minsi, level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]


def _lesser_half(pair: Any) -> Any:
    """The lesser half of a register, in its upper half; what the lower half holds is below the place."""
    w = llvm.bitcast(word_type(), pair)
    return arith.minsi(arith.shli(w, i32(_HALF)), w)


def _each(n: int, like: Any) -> Any:
    """``n`` as a constant with as many elements as ``like``."""
    return splat(i32(n), width(like.type))
