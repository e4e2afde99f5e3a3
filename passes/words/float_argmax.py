"""The first of the greatest f32: a step finds its greatest element, then which of its elements that is.

An element takes a maximum, a comparison and a selection, where its word of 64 bits would take eight instructions. The
floats are those of ``Word.floats``, with one zero and one NaN, so that equal elements have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from ...compiler.ir.build import i32, word_type
from ...compiler.ir.combine import constant, elements, halved
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir
from ..access.thread_loop import combines_lanes, walked
from .argmin_walk import ArgminWalk

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
