"""Blocks side by side, as code: a thread reads all elements of its results at once, and combines those of each.

What differs from the distributor otherwise: there is no walk. The elementwise code is that of single accesses, and
which of their elements are of one result is known here.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.combine import pack, with_shape
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith
from ...compiler.planner.alignment import WIDEST
from .walk import Distributor


class WholeDistributor(Distributor):
    """Distributes a function whose plan reads blocks as a whole."""

    def first_round(self) -> Any:
        """What the elements of each of the thread's results combine to."""
        elements, columns = self.facts.block
        first, total = (arith.muli(x, self.number(elements)) for x in (self.kept, self.columns))
        read = [self.accesses(i, x, first, total) for i, x in enumerate(self.block.arguments)]
        values = []
        for own in zip(*read, strict=True):
            memo: dict[Any, Any] = dict(zip(self.block.arguments, own, strict=True))
            values.append(pack([self.value(v, self.each, memo, None) for v in self.sources]))
        state = state_type([with_shape(t, self.plan.vector) for t in self.states])
        attributes = {"elements": elements, "columns": columns}
        return self.stage("fold.block_reduce", [state], values, attributes).results[0]

    @property
    def each(self) -> int:
        """Elements of an access."""
        return WIDEST // bytes_of(memory_type(element(self.block.arguments[0].type)))

    def accesses(self, operand: int, x: Any, first: Any, total: Any) -> list[Any]:
        """The accesses that hold the thread's elements of an input."""
        types = [with_shape(element(x.type), self.each)] * (self.plan.vector * self.facts.block[0] // self.each)
        return list(self.make_op("fold.block_load", types, [self.starts[operand], first, total], {}).results)
