"""The row of the kept axis in which a CTA's results lie, as code.

Where tiles go by row, a CTA knows the indices of the outer kept dims: from there on its row is all that there is. So a
thread's results are columns of that row, and arrays begin where the row does. Else all results are one row.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import address
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, gpu
from .kernel import Kernel


class Row(Kernel):
    """What a CTA knows of its row.

    Attributes:
        tile: the CTA's number among those of its row.
        columns: the results of a row.
        kept_row: the number of the row.
        outer: its index along each outer kept dim.
        starts: by input, where the elements of that row begin.
    """

    tile: Any
    columns: Any
    kept_row: Any
    outer: list[Any]
    starts: list[Any]

    def find_row(self) -> None:
        """Computes in which row the CTA's results lie; arrays begin there from now on."""
        self.columns, self.tile = self.arg("n_kept"), self.id(gpu.block_id(gpu.Dimension.x))
        if self.facts.by_row:
            self.columns = self.arg("kept_size", 0, self.facts.kept_rank - 1)
            self.kept_row, self.tile = self.row_of_tile()
            self.outer = self.outer_of(self.kept_row)
        inputs = enumerate(self.block.arguments)
        self.starts = [self.in_row(self.arg("input", i), i, element(x.type)) for i, x in inputs]

    def row_of_tile(self) -> tuple[Any, Any]:
        """The number of the CTA's row, and its own among those of that row."""
        return self.divided(self.tile, self.tiles_of_row())

    def outer_of(self, row: Any) -> list[Any]:
        """The index of a row along each outer kept dim."""
        found: list[Any] = []
        for d in reversed(range(1, self.facts.kept_rank - 1)):
            row, index = self.divided(row, self.arg("kept_size", 0, d))
            found.insert(0, index)
        return [row, *found]

    def divided(self, x: Any, by: Any) -> tuple[Any, Any]:
        """Quotient and remainder."""
        quotient = arith.divui(x, by)
        return quotient, arith.subi(x, arith.muli(quotient, by))

    def tiles_of_row(self) -> Any:
        """CTAs along the kept axis, of one row."""
        if not self.facts.by_row:
            return self.id(gpu.grid_dim(gpu.Dimension.x))
        slots = self.number(self.plan.slots)
        return arith.divui(arith.addi(self.columns, arith.subi(slots, self.number(1))), slots)

    def count_of_rows(self) -> Any:
        """How many rows there are."""
        return arith.divui(self.arg("n_kept"), self.columns)

    def in_row(self, base: Any, operand: int, t: Any) -> Any:
        """Where the elements ``t`` of an operand's row begin, of an array that begins at ``base``."""
        return address(base, self.place_of(self.outer, operand), t) if self.facts.by_row else base

    def beside_row(self, operand: int) -> list[Any]:
        """How many elements of an array, whose rows follow each other, lie before where a row begins, and behind it."""
        if not self.facts.by_row:
            return [self.number(0), self.number(0)]
        last = self.outer_of(arith.subi(self.count_of_rows(), self.number(1)))
        before = self.place_of(self.outer, operand)
        return [before, arith.subi(self.place_of(last, operand), before)]

    def place_of(self, outer: list[Any], operand: int) -> Any:
        """How far a row lies from the first one, in elements."""
        found = self.number(0)
        for d, index in enumerate(outer):
            found = arith.addi(found, arith.muli(index, self.arg("kept_stride", operand, d)))
        return found

    @property
    def kept_dims(self) -> range:
        """The kept dims that a flat index of results goes through: of a row the innermost."""
        return range(self.facts.kept_rank - 1 if self.facts.by_row else 0, self.facts.kept_rank)
