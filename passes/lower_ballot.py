"""Lowers the words of truth values: lanes beside each other put theirs together.

A lane with one truth value takes part in a ballot, whose word is that of the warp. A lane with V of them puts these
side by side in a register, at their place in the word: those of bytes four at a time, by a multiplication. Then lanes
at distances 1, 2, 4, ... join their words by ``or``, as far as a word reaches: log2(32 / V) shuffles.

A plan's ``word`` asks for another way. V ballots (``ballot``) give the first elements of all lanes, then the second
ones, and so on, whose bits are then spread. ``redux`` joins the registers by one instruction. ``byte`` joins nothing:
the lane's bits are the lowest ones of the result, and fill bytes.

All lanes of the warp take part, also those without elements.

Eight lanes with four elements each:

```mlir before
func.func @positive(%mask: vector<4xi1>) -> i32 {
  %word = "fold.ballot"(%mask) : (vector<4xi1>) -> i32
  return %word : i32
}
```

```mlir after
func.func @positive(%mask: vector<4xi1>) -> i32 {
  %bit0 = vector.extract %mask[0] : i1 from vector<4xi1>
  %bit1 = vector.extract %mask[1] : i1 from vector<4xi1>
  %bit2 = vector.extract %mask[2] : i1 from vector<4xi1>
  %bit3 = vector.extract %mask[3] : i1 from vector<4xi1>
  %none = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %own0 = arith.select %bit0, %c1, %none : i32
  %one = arith.ori %none, %own0 : i32
  %c2 = arith.constant 2 : i32
  %own1 = arith.select %bit1, %c2, %none : i32
  %two = arith.ori %one, %own1 : i32
  %c4 = arith.constant 4 : i32
  %own2 = arith.select %bit2, %c4, %none : i32
  %three = arith.ori %two, %own2 : i32
  %c8 = arith.constant 8 : i32
  %own3 = arith.select %bit3, %c8, %none : i32
  %nibble = arith.ori %three, %own3 : i32
  %lane = gpu.lane_id
  %number = arith.index_cast %lane : index to i32
  %last = arith.constant 7 : i32
  %in_word = arith.andi %number, %last : i32
  %elements = arith.constant 4 : i32
  %shift = arith.muli %in_word, %elements : i32
  %own = arith.shli %nibble, %shift : i32
  %distance1 = arith.constant 1 : i32
  %warp1 = arith.constant 32 : i32
  %other1, %valid1 = gpu.shuffle xor %own, %distance1, %warp1 : i32
  %pair = arith.ori %own, %other1 : i32
  %distance2 = arith.constant 2 : i32
  %warp2 = arith.constant 32 : i32
  %other2, %valid2 = gpu.shuffle xor %pair, %distance2, %warp2 : i32
  %half = arith.ori %pair, %other2 : i32
  %distance4 = arith.constant 4 : i32
  %warp4 = arith.constant 32 : i32
  %other4, %valid4 = gpu.shuffle xor %half, %distance4, %warp4 : i32
  %word = arith.ori %half, %other4 : i32
  return %word : i32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import i32
from ..compiler.ir.combine import elements, width
from ..compiler.ir.dialect.base import int_attr, str_attr
from ..compiler.ir.lane_exchange import exchange, lane_id
from ..compiler.ir.mlir import arith, llvm, nvvm
from ..compiler.plan.fields import WORDS
from ..compiler.program.bit_arrays import WORD
from ..compiler.target import WARP
from .words.packed_bytes import as_bits

OPS = ("fold.ballot", "fold.bit_transpose")


def _ballot(op: Any) -> list[Any]:
    vector = width(op.operands[0].type)
    lanes = int_attr(op, "lanes") if "lanes" in op.attributes else WORD // vector
    default = "ballot" if lanes == WARP else "shuffle"
    how = str_attr(op, "word", WORDS) if "word" in op.attributes else default
    return [_word(op.operands[0], lanes, how)]


def _turned(word: Any) -> Any:
    """The lane's column of the square of bits that the words of all lanes are.

    Squares of half the size change places across the diagonal, in each quarter then those of a quarter, and so on. A
    lane keeps one half of each of its groups of bits, and takes the other one from its neighbour's, rotated.
    """
    lane, every = lane_id(), (1 << WORD) - 1
    for log in reversed(range(WORD.bit_length() - 1)):
        step = 1 << log
        low = every // ((1 << 2 * step) - 1) * ((1 << step) - 1)  # the lower half of each group
        upper = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(lane, i32(step)), i32(0))
        kept = arith.select(upper, i32(-1 - low), i32(low))
        others = exchange(word, i32(step))
        moved = llvm.intr_fshl(others, others, arith.select(upper, i32(WORD - step), i32(step)))
        taken = arith.andi(moved, arith.xori(kept, i32(-1)))
        word = arith.ori(arith.andi(word, kept), taken)
    return word


def _word(mask: Any, lanes: int, how: str) -> Any:
    """The word of which these are the lane's elements, and ``lanes`` lanes have all."""
    if how == "ballot":
        return _of_ballots(elements(mask), lanes)
    own = as_bits(mask)
    if how == "byte":
        return own
    number = arith.andi(lane_id(), i32(lanes - 1))
    word = arith.shli(own, arith.muli(number, i32(width(mask.type))))
    if how == "redux":
        return nvvm.redux_sync(word, nvvm.ReductionKind.OR, _members(lanes))
    for step in range(lanes.bit_length() - 1):
        word = arith.ori(word, exchange(word, i32(1 << step)))
    return word


def _of_ballots(mask: list[Any], lanes: int) -> Any:
    """The word of ``lanes`` lanes, from a ballot for each element of an access."""
    ballots = [nvvm.vote_sync(i32(-1), truth, nvvm.VoteSyncKind.ballot) for truth in mask]
    if lanes == WARP:
        return ballots[0]
    word, first = i32(0), _first(lanes)
    for k, votes in enumerate(ballots):
        own = arith.andi(arith.shrui(votes, first), i32((1 << lanes) - 1))
        word = arith.ori(word, arith.shli(_spread(own, lanes, len(mask)), i32(k)))
    return word


def _spread(bits: Any, count: int, distance: int) -> Any:
    """The ``count`` lowest bits, put ``distance`` places apart: the upper half of each group moves up, then halves."""
    group = count // 2
    while group:
        places = sum(((1 << group) - 1) << (i * group * distance) for i in range(count // group))
        bits = arith.andi(arith.ori(bits, arith.shli(bits, i32(group * (distance - 1)))), i32(places))
        group //= 2
    return bits


def _first(lanes: int) -> Any:
    """The first of the lanes of this lane's word."""
    return arith.andi(lane_id(), i32(-lanes))


def _members(lanes: int) -> Any:
    """A mask of the lanes of this lane's word."""
    return i32(-1) if lanes == WARP else arith.shli(i32((1 << lanes) - 1), _first(lanes))


LOWERED = {"fold.ballot": _ballot, "fold.bit_transpose": lambda op: [_turned(op.operands[0])]}
PASS = lowering("lower-ballot", LOWERED, "put the truth values of a word together", stage=True)
