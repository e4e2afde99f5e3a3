"""Staggered warps, as code: each begins its rows at the boundary before a CTA's columns.

What differs from the distributor otherwise: a thread's accesses begin ``lead`` elements before the columns that it owns
in the end, and the warps shift their states by as much where they meet. One lane reads for its neighbour alone.
"""

from __future__ import annotations

from typing import Any

from ..compiler.build import bytes_of, memory_type
from ..compiler.dialect.base import element
from ..compiler.mlir import arith, gpu
from ._distributor import Distributor


class StaggeredDistributor(Distributor):
    """Distributes a function whose plan has staggered warps."""

    def place(self) -> None:
        """The thread's place, and how far before it its accesses begin: rows that it reads begin at one place.

        CTAs get as many columns each, in whole accesses.
        """
        super().place()
        plan, less = self.plan, arith.CmpIPredicate.slt
        tiles, n_kept = self.id(gpu.grid_dim(gpu.Dimension.x)), self.arg("n_kept")
        accesses = arith.divui(arith.addi(n_kept, self.number(plan.vector - 1)), self.number(plan.vector))
        each = arith.divui(arith.addi(accesses, arith.subi(tiles, self.number(1))), tiles)
        pitch = self.scaled(each, plan.vector)
        tile = arith.muli(self.id(gpu.block_id(gpu.Dimension.x)), pitch)
        self.own(arith.addi(tile, self.slot), n_kept)
        size = bytes_of(memory_type(element(self.block.arguments[0].type)))
        attributes = {"kept_rank": 1, "reduced_rank": 0, "lanes": plan.vector, "bytes": size}
        operands = [self.arg("input", 0), tile, self.arg("kept_stride", 0, 0)]
        of_first = self.make("fold.lead", tile.type, operands, attributes, 1)
        rows = arith.muli(self.position, self.arg("reduced_stride", 0, 0))
        self.lead: Any = arith.andi(arith.addi(of_first, rows), self.number(plan.vector - 1))
        self.start = arith.subi(self.kept, self.lead)
        self.mine = arith.andi(self.in_range, arith.cmpi(less, self.slot, pitch))
        self.owner = arith.andi(self.owner, self.mine)
        beside = arith.cmpi(less, self.slot, arith.addi(pitch, self.number(plan.vector)))
        self.in_range = arith.andi(beside, arith.cmpi(less, self.start, n_kept))

    def first_round(self) -> Any:
        """Reduces this CTA's rows; after it threads read for what they own."""
        state = super().first_round()
        self.in_range, self.lead = self.mine, None
        return state

    def meet(self, value: Any) -> Any:
        """The warp stage, with states of a warp as far on in shared memory as its accesses began early."""
        slots, vector = self.plan.slots, self.plan.vector
        place = arith.addi(self.slot, self.number(vector))
        apart = self.lead is not None
        to = arith.subi(place, self.lead) if apart else place
        source = arith.minsi(place, self.number(slots))
        return self.meet_in_cta(value, slots + 2 * vector, to, source, **({"apart": True} if apart else {}))

    def load(self, operand: int, t: Any, r: Any) -> Any:
        """An access from the boundary before."""
        layout = [self.arg("kept_stride", operand, 0), self.arg("reduced_stride", operand, 0)]
        layout += [self.arg("n_kept"), self.arg("n_reduced")]
        attributes = self.load_attributes(1, 1, "kept", "staggered")
        return self.make(
            "fold.load", t, [self.arg("input", operand), self.start, r, *layout], attributes, self.plan.vector
        )
