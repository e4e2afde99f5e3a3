"""Padded rows, as code: a thread's results lie within one row, and begin where an access to the results may.

What differs from the distributor otherwise: threads are counted through rows of ``padded`` places each, so that each
has a row of its own choice; and its first result is as far before its place as the row of results begins after a
boundary. The first thread of a row may begin before it.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith
from ...compiler.planner.alignment import WIDEST
from .walk import Distributor


class PaddedDistributor(Distributor):
    """Distributes a function whose plan has padded rows."""

    def row_of_tile(self) -> tuple[Any, Any]:
        """The number of the thread's row, and its place there."""
        vector = self.plan.vector
        whole = arith.addi(self.columns, self.number(2 * vector - 2))
        place = arith.addi(self.scaled(self.tile, self.plan.slots), self.slot)
        return self.divided(place, arith.andi(whole, self.number(-vector)))

    def place(self) -> None:
        """The thread's place, and as much before it its first result as its row of results begins after a boundary."""
        self.stand()
        self.find_row()
        operand = len(self.block.arguments)
        t = element(self.results[0].type)
        item = bytes_of(memory_type(t))
        base = self.in_row(self.arg("output", 0), operand, t)
        attributes = {"kept_rank": 1, "reduced_rank": 0, "lanes": min(self.plan.vector, WIDEST // item), "bytes": item}
        operands = [base, self.number(0), self.number(1)]
        lead = self.make("fold.lead", self.index, operands, attributes, 1)
        self.first_kept = self.number(0)
        self.own(arith.subi(self.tile, lead), self.columns)
        there = arith.cmpi(arith.CmpIPredicate.slt, self.kept_row, self.count_of_rows())
        self.in_range, self.owner = arith.andi(self.in_range, there), arith.andi(self.owner, there)
