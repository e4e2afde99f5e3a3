"""Staggered warps, as code: each begins its rows at the boundary before a CTA's columns.

What differs from the distributor otherwise: a thread's accesses begin ``lead`` elements before the columns that it owns
in the end, and the warps shift their states by as much where they meet. One lane reads for its neighbour alone.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith
from ...compiler.plan.plan import Plan
from .walk import Distributor


class StaggeredDistributor(Distributor):
    """Distributes a function whose plan has staggered warps."""

    def place(self) -> None:
        """The thread's place, and how far before it its accesses begin: rows that it reads begin at one place.

        CTAs get as many columns each, in whole accesses.
        """
        super().place()
        plan, less, inner = self.plan, arith.CmpIPredicate.slt, self.facts.kept_rank - 1
        tiles, columns = self.tiles_of_row(), self.columns
        accesses = arith.divui(arith.addi(columns, self.number(plan.vector - 1)), self.number(plan.vector))
        each = arith.divui(arith.addi(accesses, arith.subi(tiles, self.number(1))), tiles)
        pitch = self.scaled(each, plan.vector)
        self.width = pitch
        self.first_kept = tile = arith.muli(self.tile, pitch)
        self.own(arith.addi(tile, self.slot), columns)
        size = bytes_of(memory_type(element(self.block.arguments[0].type)))
        attributes = {"kept_rank": 1, "reduced_rank": 0, "lanes": plan.vector, "bytes": size}
        operands = [self.starts[0], tile, self.arg("kept_stride", 0, inner)]
        of_first = self.make("fold.lead", tile.type, operands, attributes, 1)
        rows = arith.muli(self.position, self.arg("reduced_stride", 0, self.facts.reduced_rank - 1))
        self.lead: Any = arith.andi(arith.addi(of_first, rows), self.number(plan.vector - 1))
        self.start = arith.subi(self.kept, self.lead)
        beside = arith.cmpi(less, self.slot, arith.addi(pitch, self.number(plan.vector)))
        self.in_range = arith.andi(beside, arith.cmpi(less, self.start, columns))

    def lie(self, plan: Plan) -> None:
        """Gives each thread the columns that it owns by ``plan``, of those that are its CTA's."""
        super().lie(plan)
        self.mine = arith.cmpi(arith.CmpIPredicate.slt, self.slot, self.width)
        self.in_range, self.owner = arith.andi(self.in_range, self.mine), arith.andi(self.owner, self.mine)

    def leaves(self) -> Any:
        """Whether the thread leaves a partial state, of the columns that are its CTA's."""
        return arith.andi(super().leaves(), self.mine)

    def left_in_cta(self) -> tuple[Any, int, dict[str, Any]]:
        """States of a warp lie as far on in shared memory as its accesses began early."""
        if self.lead is None:
            return super().left_in_cta()
        place = arith.addi(self.slot, self.number(self.plan.vector))
        return arith.subi(place, self.lead), self.plan.slots + 2 * self.plan.vector, {"apart": True}

    def found_in_cta(self) -> Any:
        """The same place without a lead; for threads that own no column that of the last ones."""
        if self.lead is None:
            return super().found_in_cta()
        last = self.plan.slots + self.plan.vector - self.lay.vector
        return arith.minsi(arith.addi(self.slot, self.number(self.plan.vector)), self.number(last))

    def first_round(self) -> Any:
        """Reduces this CTA's rows; after it nothing begins early."""
        state = super().first_round()
        self.lead = None
        return state

    def load(self, operand: int, t: Any, r: Any) -> Any:
        """An access from the boundary before."""
        facts = self.facts
        layout = [self.arg("kept_stride", operand, facts.kept_rank - 1)]
        layout += [self.arg("reduced_stride", operand, facts.reduced_rank - 1)]
        layout += [self.columns, self.arg("n_reduced")]
        attributes = self.load_attributes(1, 1, "kept", "staggered")
        return self.make("fold.load", t, [self.starts[operand], self.start, r, *layout], attributes, self.plan.vector)
