"""Lowers the words of truth values: lanes beside each other put theirs together.

A lane with one truth value takes part in a ballot, whose word is that of the warp. A lane with V of them puts these
side by side in a register, at their place in the word. Then lanes at distances 1, 2, 4, ... join their words by ``or``,
as far as a word reaches: log2(32 / V) shuffles. V ballots would give the first elements of all lanes, then the second
ones, and so on, so that a transpose of bits would follow.

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

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import before, find, i32, replace
from ..compiler.ir.combine import elements
from ..compiler.ir.lane_exchange import exchange, lane_id
from ..compiler.ir.mlir import arith, nvvm
from ..compiler.program.bit_arrays import WORD


def _run(module: Any) -> None:
    for op in find(module, "fold.ballot"):
        with before(op):
            replace(op, [_word(elements(op.operands[0]))])


def _word(mask: list[Any]) -> Any:
    """The word of which these are the lane's elements."""
    if len(mask) == 1:
        return nvvm.vote_sync(i32(-1), mask[0], nvvm.VoteSyncKind.ballot)
    word = none = i32(0)
    for k, truth in enumerate(mask):
        word = arith.ori(word, arith.select(truth, i32(1 << k), none))
    lanes = WORD // len(mask)  # whose elements are those of a word
    word = arith.shli(word, arith.muli(arith.andi(lane_id(), i32(lanes - 1)), i32(len(mask))))
    for step in range(lanes.bit_length() - 1):
        word = arith.ori(word, exchange(word, i32(1 << step)))
    return word


PASS = Pass("lower-ballot", _run, ("fold.ballot",), "put the truth values of a word together", stage=True)
