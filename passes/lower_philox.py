"""Lowers random bits to the arithmetic of the generator Philox 4x32-10.

The generator makes four words of a counter and a key. An element has the word ``number % 4`` of the counter
``number / 4 + offset * 2^64``, and the key is the seed. So the four neighbours that begin at a multiple of 4 share a
counter. The elements of an access nearly always are such neighbours, which a branch finds out; else each element takes
ten rounds of its own. Seed and offset are the same for all elements of a fragment.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

One round for one element:

```mlir before
func.func @bits(%number: i64, %seed: i64, %offset: i64) -> i32 {
  %word = "fold.philox"(%number, %seed, %offset) {rounds = 1} : (i64, i64, i64) -> i32
  return %word : i32
}
```

```mlir after
func.func @bits(%number: i64, %seed: i64, %offset: i64) -> i32 {
  %key_low = arith.trunci %seed : i64 to i32
  %width_0 = arith.constant 32 : i64
  %seed_high = arith.shrui %seed, %width_0 : i64
  %key_high = arith.trunci %seed_high : i64 to i32
  %c2 = arith.trunci %offset : i64 to i32
  %width_1 = arith.constant 32 : i64
  %offset_high = arith.shrui %offset, %width_1 : i64
  %c3 = arith.trunci %offset_high : i64 to i32
  %two = arith.constant 2 : i64
  %counter = arith.shrui %number, %two : i64
  %c0 = arith.trunci %counter : i64 to i32
  %width_2 = arith.constant 32 : i64
  %counter_high = arith.shrui %counter, %width_2 : i64
  %c1 = arith.trunci %counter_high : i64 to i32
  %factor_0 = arith.constant 0xD2511F53 : i32
  %high_0 = llvm.call_intrinsic "llvm.nvvm.mulhi.ui"(%c0, %factor_0) : (i32, i32) -> i32
  %low_0 = arith.muli %c0, %factor_0 : i32
  %factor_2 = arith.constant 0xCD9E8D57 : i32
  %high_2 = llvm.call_intrinsic "llvm.nvvm.mulhi.ui"(%c2, %factor_2) : (i32, i32) -> i32
  %low_2 = arith.muli %c2, %factor_2 : i32
  %mixed_0 = arith.xori %high_2, %c1 : i32
  %word_0 = arith.xori %mixed_0, %key_low : i32
  %mixed_2 = arith.xori %high_0, %c3 : i32
  %word_2 = arith.xori %mixed_2, %key_high : i32
  %place = arith.trunci %number : i64 to i32
  %bit_1 = arith.constant 2 : i32
  %place_1 = arith.andi %place, %bit_1 : i32
  %zero_1 = arith.constant 0 : i32
  %is_late = arith.cmpi ne, %place_1, %zero_1 : i32
  %even = arith.select %is_late, %word_2, %word_0 : i32
  %odd = arith.select %is_late, %low_0, %low_2 : i32
  %bit_0 = arith.constant 1 : i32
  %place_0 = arith.andi %place, %bit_0 : i32
  %zero_0 = arith.constant 0 : i32
  %is_odd = arith.cmpi ne, %place_0, %zero_0 : i32
  %word = arith.select %is_odd, %odd, %even : i32
  return %word : i32
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import before, find, i32, integer, replace, word_type
from ..compiler.ir.combine import elements, fragment
from ..compiler.ir.dialect.base import int_attr
from ..compiler.ir.mlir import arith, ir, llvm, scf

FACTORS = (0xD2511F53, 0xCD9E8D57)
"""What the two words of a counter are multiplied by in a round."""
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
"""What is added to the words of the key after a round."""
WORDS = 4
"""The words of a counter."""

Pair = tuple[Any, Any]
"""The low and the high word of 64 bits."""


def _lower(op: Any) -> None:
    """Lowers one op: a branch finds out which elements of its fragment share a counter."""
    with before(op):
        numbers, seed, offset = (elements(v) for v in op.operands)
        generator = _Philox(_halves(seed[0]), _halves(offset[0]), int_attr(op, "rounds"))
        shared = min(len(numbers), WORDS)
        if shared == 1:
            replace(op, generator.words(numbers[0], 1))
            return
        branch = scf.IfOp(_are_neighbours(numbers, shared), [op.results[0].type], has_else=True)
        for block, step in ((branch.then_block, shared), (branch.else_block, 1)):
            with ir.InsertionPoint(block):
                found = [word for number in numbers[::step] for word in generator.words(number, step)]
                scf.YieldOp([fragment(found)])
        replace(op, [branch.results[0]])


def _are_neighbours(numbers: Sequence[Any], shared: int) -> Any:
    """Whether the numbers follow each other, and the first is a multiple of ``shared``."""
    first, t = numbers[0], numbers[0].type
    rest = arith.andi(first, integer(t, shared - 1))
    apart = arith.subi(arith.subi(numbers[-1], first), integer(t, len(numbers) - 1))
    return arith.cmpi(arith.CmpIPredicate.eq, arith.ori(rest, apart), integer(t, 0))


class _Philox(NamedTuple):
    """The generator with a key; ``offset`` is the high half of all counters."""

    key: Pair
    offset: Pair
    rounds: int

    def words(self, number: Any, count: int) -> list[Any]:
        """The words of ``count`` elements that share a counter, of which the first has this number."""
        low, high = _halves(arith.shrui(number, integer(number.type, 2)))
        found = self._block([low, high, *self.offset])
        place = arith.trunci(word_type(), number)
        if count < WORDS:
            found = _chosen(place, 2, found)
        return _chosen(place, 1, found) if count == 1 else found

    def _block(self, counter: list[Any]) -> list[Any]:
        """The words of a counter."""
        key = self.key
        for number in range(self.rounds):
            if number:
                low, high = (arith.addi(k, i32(_signed(step))) for k, step in zip(key, KEY_STEPS, strict=True))
                key = low, high
            counter = _round(counter, key)
        return counter


def _round(counter: Sequence[Any], key: Pair) -> list[Any]:
    """A counter after one round."""
    low, high = zip(*(_product(f, c) for f, c in zip(FACTORS, counter[::2], strict=True)), strict=True)
    mixed = [arith.xori(arith.xori(h, c), k) for h, c, k in zip(high[::-1], counter[1::2], key, strict=True)]
    return [mixed[0], low[1], mixed[1], low[0]]


def _product(factor: int, word: Any) -> Pair:
    """The words of ``factor * word``."""
    times = i32(_signed(factor))
    high = llvm.call_intrinsic(word_type(), "llvm.nvvm.mulhi.ui", [word, times], [], [])  # ptxas makes both in one
    return arith.muli(word, times), high


def _halves(x: Any) -> Pair:
    """The words of an i64."""
    return arith.trunci(word_type(), x), arith.trunci(word_type(), arith.shrui(x, integer(x.type, 32)))


def _chosen(place: Any, bit: int, words: Sequence[Any]) -> list[Any]:
    """The half of ``words`` that a bit of an element's number says."""
    is_set = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(place, i32(bit)), i32(0))
    low, high = words[: len(words) // 2], words[len(words) // 2 :]
    return [arith.select(is_set, b, a) for a, b in zip(low, high, strict=True)]


def _signed(word: int) -> int:
    """A word as the signed number that has its bits."""
    return word - (word >> 31 << 32)


def _run(module: Any) -> None:
    for op in find(module, "fold.philox"):
        if not isinstance(op.results[0].type, ir.RankedTensorType):  # those of tensors are not in a kernel yet
            _lower(op)


PASS = Pass("lower-philox", _run, ("fold.philox",), "make random bits of counters and a key")
