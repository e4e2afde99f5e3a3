"""Reductions of bytes, four in a word: sums of 8-bit integers, counts of bytes that are not zero, any and all.

The states are integers, so every order of combining gives the same bits. The bytes of an access are words:

- The sum of the bytes of a word is ``dp4a`` with a one for each byte. It adds to a state of 32 bits; to a state of 64
  bits the sum of a step is added.
- Where neighbouring bytes belong to different results, ``prmt`` collects the bytes of one result from the words of four
  accesses: twelve instructions for sixteen bytes. A last access alone has a one for the byte of the result only.
- Counts of the accesses of a step fit in bytes, so their words are added first.
- Truth values stay words, which are joined as they are; a scalar result is one comparison of the joined word.

A byte that is counted, or that ``all`` tests, is first replaced by its highest bit, which is set if the byte is not
zero: ((w & 0x7f) + 0x7f) | w sets this bit in each byte of w without a carry between bytes. The bit counts 2^7, so the
sum of a step, or else each word, is shifted right by 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...compiler.ir.build import before, bytes_of, i32, replace, word_type
from ...compiler.ir.combine import clone_block, elements, fragment, horizontal, single_op, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, llvm, vector
from ..access.thread_loop import combines_lanes, walked
from .packing import (
    BYTES,
    HIGH,
    as_bytes,
    as_words,
    high_bits,
    is_a,
    is_number,
    mask_words,
    mixed,
    tested_bytes,
    yielded,
)

_ONES = 0x01010101
COUNT_BITS = 7
_PAIR = 0x0101
_BYTES_IN_TURN, _HALVES_IN_TURN = (0x5140, 0x7362), (0x5410, 0x7632)
"""Selectors of ``prmt`` that interleave the bytes, or the halves, of two words: the lower and the upper result."""
_NEUTRAL = {"arith.addi": 0, "arith.ori": 0, "arith.andi": 1}
"""The combines, with the value of elements outside a mask."""


@dataclass(frozen=True)
class Lift:
    """The elements of an access as functions of bytes.

    Attributes:
        combine: the name of the op that combines the elements.
        source: the bytes, as one fragment or as scalars.
        masks: an element counts if all of these hold for it.
        signed: whether the bytes are signed.
        truth: whether an element says that its byte is not zero; otherwise it is the value of the byte.
    """

    combine: str
    source: list[Any]
    masks: tuple[Any, ...]
    signed: bool
    truth: bool

    @property
    def lanes(self) -> int:
        return sum(width(v.type) for v in self.source)

    def words(self) -> list[Any]:
        """The bytes as words, with neutral bytes outside the masks; tested bytes as their highest bits."""
        found = as_words(self.source[0] if len(self.source) == 1 else fragment(self.source))
        for mask in self.masks:
            inside = mask_words(mask, len(found))
            if _NEUTRAL[self.combine]:
                found = [arith.ori(w, arith.xori(m, i32(-1))) for w, m in zip(found, inside, strict=True)]
            else:
                found = [arith.andi(w, m) for w, m in zip(found, inside, strict=True)]
        return [high_bits(w) for w in found] if self.truth and self.combine != "arith.ori" else found


def lower(op: Any) -> list[Any] | None:
    """Writes the loop of a ``fold.thread_reduce`` and returns its state; None if the op combines no bytes."""
    region, init = op.regions[1], op.operands[2]
    combine = single_op(region)
    if isinstance(init.type, ir.TupleType) or combine not in _NEUTRAL:
        return None
    truths = str(element(init.type)) == "i1"
    if truths is (combine == "arith.addi") or lift_of(yielded(op), combine) is None:
        return None
    folded = op.results[0].type != init.type
    if truths:
        words = _truths(op, combine)
        if folded:
            return [_all_of(words, combine)]
        write_truths(op.results[0], [arith.shrui(high_bits(w), i32(COUNT_BITS)) for w in words])
        return [is_set(as_bytes(words))]
    state = _total(op) if combines_lanes(op) else _totals(op)
    return horizontal(region, [state], width(init.type)) if folded else [state]


def _loop(op: Any, first: list[Any], combine: str, step_of: Callable[[list[Any], list[Lift]], list[Any]]) -> list[Any]:
    """Writes the loop: ``step_of`` computes the next state from the state and the lifts of a step's accesses."""
    body = op.regions[0].blocks[0]

    def step(state: list[Any], starts: list[Any]) -> list[Any]:
        return step_of(state, [lift_of(clone_block(body, [start], 1)[0], combine) for start in starts])

    return walked(op, first, step)


# --- sums ----------------------------------------------------------------------------------------------------------
def _total(op: Any) -> Any:
    """The sum of all bytes, in the first element of the state."""
    init = op.operands[2]

    def step(state: list[Any], lifts: list[Lift]) -> list[Any]:
        total = reduce(arith.addi, [_sum(x) for x in lifts])
        if lifts[0].truth:
            total = arith.shrui(total, i32(COUNT_BITS))
        return [arith.addi(state[0], widened(total, state[0].type, signed=lifts[0].signed))]

    (total,) = _loop(op, [vector.extract(init, [], [0])], "arith.addi", step)
    return vector.insert(total, init, [], [0])


def _totals(op: Any) -> Any:
    """A sum for each element of an access."""
    narrow = bytes_of(element(op.operands[2].type)) == BYTES

    def step(state: list[Any], lifts: list[Lift]) -> list[Any]:
        words = [counting(x) for x in lifts]
        if lifts[0].truth:
            words = [[reduce(arith.addi, column) for column in zip(*words, strict=True)]]
        totals = elements(state[0]) if narrow else [i32(0)] * lifts[0].lanes
        for k in range(0, len(words), BYTES):
            some = words[k : k + BYTES]
            each = [pair for column in zip(*some, strict=True) for pair in _by_position(list(column))]
            totals = [_dot(lifts[0], word, ones, t) for (word, ones), t in zip(each, totals, strict=True)]
        added = fragment(totals)
        return [added if narrow else arith.addi(state[0], widened(added, state[0].type, signed=lifts[0].signed))]

    return _loop(op, [op.operands[2]], "arith.addi", step)[0]


def _by_position(words: list[Any]) -> list[tuple[Any, int]]:
    """For each of the four byte positions in up to four words: a word of the bytes there, and a one for each byte."""
    if len(words) == 1:
        return [(words[0], 1 << (8 * j)) for j in range(BYTES)]
    first = mixed(words[0], words[1], _BYTES_IN_TURN)
    if len(words) == 2:
        return [(word, ones) for word in first for ones in (_PAIR, _PAIR << 16)]
    last = words[3] if len(words) == BYTES else i32(0)
    second = mixed(words[2], last, _BYTES_IN_TURN)
    return [(w, _ONES) for a, b in zip(first, second, strict=True) for w in mixed(a, b, _HALVES_IN_TURN)]


def counting(lift: Lift) -> list[Any]:
    """The bytes of an access as words, in which a truth value counts as one."""
    return [arith.shrui(w, i32(COUNT_BITS)) if lift.truth else w for w in lift.words()]


def _sum(lift: Lift) -> Any:
    """The sum of the bytes of an access."""
    total = i32(0)
    for word in lift.words():
        total = _dot(lift, word, _ONES, total)
    return total


def _dot(lift: Lift, word: Any, ones: int, total: Any) -> Any:
    """``total`` plus the bytes of ``word`` that ``ones`` has a one for."""
    name = "llvm.nvvm.idp4a.s.s" if lift.signed else "llvm.nvvm.idp4a.u.u"
    return llvm.call_intrinsic(word_type(), name, [word, i32(ones), total], [], [])


def widened(total: Any, t: Any, *, signed: bool) -> Any:
    """The sum of a step, widened to the type ``t`` of the state."""
    if t == total.type:
        return total
    return (arith.extsi if signed else arith.extui)(t, total)


# --- truth values ----------------------------------------------------------------------------------------------------
def _truths(op: Any, combine: str) -> list[Any]:
    """Whether any byte, or every byte, is not zero, for each element of an access: as the bytes of words."""
    join = arith.ori if combine == "arith.ori" else arith.andi

    def step(state: list[Any], lifts: list[Lift]) -> list[Any]:
        return [reduce(join, ws) for ws in zip(state, *(x.words() for x in lifts), strict=True)]

    return _loop(op, _words_of_truths(op.operands[2]), combine, step)


def _all_of(words: list[Any], combine: str) -> Any:
    """Whether any byte of the words, or every byte, is not zero.

    For ``and`` the highest bit of each byte tells; for ``or`` any bit.
    """
    if combine == "arith.ori":
        return arith.cmpi(arith.CmpIPredicate.ne, reduce(arith.ori, words), i32(0))
    return arith.cmpi(arith.CmpIPredicate.eq, arith.andi(reduce(arith.andi, words), i32(HIGH)), i32(HIGH))


def write_truths(truths: Any, ones: list[Any]) -> None:
    """Replaces the conversions of ``truths`` to stored bytes by the bytes of ``ones``, which are zero or one."""
    uses = [(use.owner, x) for use in truths.uses for x in (use.owner, *_single(use.owner))]
    written = [(via, op) for via, op in uses if op.name == "arith.extui"]
    if not written:
        return
    for via, op in written:
        with before(op):
            index = next(iter(via.attributes["static_position"])) if via.name == "vector.extract" else None
            if index is None:
                replace(op, [as_bytes(ones, width(op.results[0].type))])
            else:
                replace(op, [_byte(ones[index // BYTES], index % BYTES)])


def _single(op: Any) -> list[Any]:
    """The users of the element that ``op`` extracts; none if it extracts no element."""
    return [use.owner for use in op.results[0].uses] if op.name == "vector.extract" else []


def _words_of_truths(state: Any) -> list[Any]:
    """Words whose bytes are zero where the truth values are false: those of which ``state`` was made, or new ones."""
    if is_a(state, "arith.cmpi") and is_a(state.owner.operands[0], "vector.bitcast"):
        made = state.owner.operands[0].owner.operands[0]
        if is_a(made, "vector.from_elements"):
            return list(made.owner.operands)
    eight = ir.IntegerType.get_signless(8)
    return as_words(arith.extsi(with_shape(eight, width(state.type)), state))


def is_set(source: Any) -> Any:
    zero = ir.DenseElementsAttr.get_splat(source.type, ir.IntegerAttr.get(element(source.type), 0))
    return arith.cmpi(arith.CmpIPredicate.ne, source, arith.constant(source.type, zero))


# --- what fragments are made of --------------------------------------------------------------------------------------


def _byte(w: Any, j: int) -> Any:
    return arith.trunci(ir.IntegerType.get_signless(8), arith.shrui(w, i32(8 * j)) if j else w)


def lift_of(v: Any, combine: str) -> Any:
    """How the fragment ``v`` is made of bytes; None if it is made of something else."""
    masks: tuple[Any, ...] = ()
    while is_a(v, "arith.select") and is_number(v.owner.operands[2], _NEUTRAL[combine]):
        mask, v = v.owner.operands[0], v.owner.operands[1]
        masks += () if is_number(mask, 1) else (mask,)
    signed = False
    if str(element(v.type)) != "i1":
        if not is_a(v, "arith.extsi", "arith.extui"):
            return None
        signed, v = v.owner.name == "arith.extsi", v.owner.operands[0]
    tested = None if signed else tested_bytes(v)
    lift = Lift(combine, [v] if tested is None else tested, masks, signed, tested is not None)
    known = all(str(element(x.type)) == "i8" for x in lift.source) and lift.lanes % BYTES == 0
    return lift if known else None
