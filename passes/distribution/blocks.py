"""The walk over blocks: a thread reads all elements of its results at once, and combines those of each result.

There is no loop. The elementwise code is that of single accesses, and which elements of an access belong to which
result is known here.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.combine import pack, with_shape
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith
from ...compiler.planner.alignment import WIDEST
from .partials import RowPartials
from .place import Place, Tile
from .reader import Reader
from .walk import Walk


class BlockWalk(Walk):
    """The walk of a thread over blocks."""

    @classmethod
    def of(cls, tile: Tile, place: Place) -> BlockWalk:
        """The walk of a thread from its place."""
        return cls(tile, place, tile.kernel.arg("count"), RowPartials(tile))

    def first_round(self) -> tuple[Any, Place]:
        kernel, plan, inputs = self.kernel, self.kernel.plan, self.kernel.inputs
        elements, columns = kernel.facts.block
        first, total = (arith.muli(x, kernel.number(elements)) for x in (self.place.kept, self.tile.row.columns))
        each = WIDEST // bytes_of(memory_type(element(inputs[0].type)))
        read = [self._accesses(i, x, each, first, total) for i, x in enumerate(inputs)]
        reader = Reader(kernel, self.count)
        values = []
        for own in zip(*read, strict=True):
            memo = dict(zip(inputs, own, strict=True))
            values.append(pack([reader.fragment(v, each, memo) for v in kernel.sources]))
        state = state_type([with_shape(t, plan.vector) for t in kernel.states])
        attributes = {"elements": elements, "columns": columns}
        return kernel.stage("fold.block_reduce", [state], values, attributes).results[0], self.place

    def _accesses(self, operand: int, x: Any, each: int, first: Any, total: Any) -> list[Any]:
        """The accesses, of ``each`` elements, that hold the thread's elements of an input."""
        kernel = self.kernel
        types = [with_shape(element(x.type), each)] * (kernel.plan.vector * kernel.facts.block[0] // each)
        return list(kernel.make_op("fold.block_load", types, [self.tile.row.starts[operand], first, total], {}).results)
