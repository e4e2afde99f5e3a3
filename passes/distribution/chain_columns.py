"""Scans of few long columns by warps with roles (``chain_roles.py``): a chunk has elements of all columns of an array.

Such a chunk is one run of memory. A row of it has an access for each lane across, so a warp reads whole rows. There is
a state of each column, of each segment and of each chunk. The warp that leaves states scans those of segments first, by
a lane for each column, so that writers find what comes before theirs. Several warps look back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...compiler.ir.build import i32, word_type
from ...compiler.ir.lane_exchange import lane_id
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.target import WARP
from .chain_places import LOOKS
from .chain_roles import Roles
from .rings import Turn
from .scan_work import Work, look_back


@dataclass(frozen=True, eq=False)
class ColumnRoles(Roles):
    """A kernel whose warps have roles, and scan columns."""

    def keep(self, turn: Turn, segment: Any, state: Any) -> None:
        """Keeps the states of a segment's columns: the lanes across have them."""
        first = scf.IfOp(self.kernel.is_first(self.digits.lane))
        with ir.InsertionPoint(first.then_block):
            self.of_row(self.segments(turn), self.digits.slot).store(segment, state)
            scf.YieldOp([])

    def leave_states(self, turn: Turn, work: Work) -> None:
        """Scans the states of segments, and leaves that of a chunk: each lane for some of the columns."""
        slots = self.kernel.plan.slots
        back = look_back(self.kernel, work, i32(0))
        for first in range(0, slots, WARP):
            column = arith.addi(lane_id(), i32(first))
            some = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, column, i32(slots)))
            with ir.InsertionPoint(some.then_block):
                self.scan_segments(turn, replace(back, row=column, lane=i32(0)), column)
                scf.YieldOp([])

    def look_at_states(self, turn: Turn, work: Work) -> None:
        """Keeps what comes before a chunk: warps look back for some of the columns each."""
        thread = arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
        back = look_back(self.kernel, work, arith.subi(thread, i32(LOOKS * WARP))).glanced()
        found = back.known(self.of_row(self.of_chunk(turn), back.row).load(i32(0)))
        first = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, back.lane, i32(0)))
        with ir.InsertionPoint(first.then_block):
            self.of_row(self.earlier(turn), back.row).store(i32(0), found)
            scf.YieldOp([])
