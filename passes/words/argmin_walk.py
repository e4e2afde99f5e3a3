"""The walks of argmin and argmax: note which element comes first, and make its word at the end.

A *place* is the number of an element within its step. A step notes the place of its first element and the index where
the step begins. So the word of an element and its number is made once a walk, not once an element.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ...compiler.ir.build import i32
from ...compiler.ir.combine import clone_block, splat, width
from ...compiler.ir.dialect.base import int_attr, str_attr
from ...compiler.ir.mlir import arith, vector
from ..access.thread_loop import apart
from .argmin_words import Word

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
