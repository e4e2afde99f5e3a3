"""Where a thread stands: its place among those of its CTA, and the results that are its own there.

The formulas are those of ``compiler/plan/launch.py``.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.locations import named
from ...compiler.ir.mlir import arith, gpu
from ...compiler.plan.plan import Plan
from ...compiler.target import WARP
from .reader import Elements


class Standing(Elements):
    """How the threads of a CTA lie, by the function's plan or by one of those that it gives for later.

    Attributes:
        first_kept: the first result of the CTA in its row.
        position, lane, row: the thread's number along the reduced axis in its CTA, its lane's, and its warp's.
        slot: the thread's first result among those of its CTA.
        in_range, owner: whether it has results, and whether it is the one of those that share them that writes.
    """

    first_kept: Any
    position: Any
    lane: Any
    row: Any
    slot: Any
    in_range: Any
    owner: Any

    def lie(self, plan: Plan) -> None:
        """Gives each thread the place and the results that it has by ``plan``."""
        self.lay = plan
        self.stand()
        self.own(arith.addi(self.first_kept, self.slot), self.columns)

    def stand(self) -> None:
        """Computes the thread's place among those of its CTA."""
        plan = self.lay
        thread = self.id(gpu.thread_id(gpu.Dimension.x))
        lane, warp = self.modulo(thread, WARP), self.divide(thread, WARP)
        if plan.fast == "reduced":
            self.lane, lane_kept = self.modulo(lane, plan.lanes), self.divide(lane, plan.lanes)
        else:
            lane_kept, self.lane = self.modulo(lane, plan.lanes_kept), self.divide(lane, plan.lanes_kept)
        self.row, warp_kept = self.modulo(warp, plan.warps), self.divide(warp, plan.warps)
        self.position = self.scaled(self.row, plan.lanes, self.lane)
        self.slot = self.scaled(self.scaled(warp_kept, plan.lanes_kept, lane_kept), plan.vector_kept)
        self.name_values("lane", "row", "position", "slot")
        local = {"thread": thread, "in_warp": lane, "warp": warp, "lane_kept": lane_kept, "warp_kept": warp_kept}
        for word, value in local.items():
            named(value, word)

    def own(self, kept: Any, end: Any) -> None:
        """Makes the result ``kept`` this thread's, if it lies before ``end``."""
        self.kept = kept
        self.in_range = arith.cmpi(arith.CmpIPredicate.slt, kept, end)
        self.owner = arith.andi(self.in_range, self.is_first(self.position))
        self.name_values("kept", "in_range", "owner")
