"""Scans of few long columns by warps with roles (``chain_roles.py``): a chunk has elements of all columns of an array.

Such a chunk is one run of memory. A row of it has an access for each lane across, so a warp reads whole rows. There is
a state of each column, of each segment and of each chunk. The warp that leaves states scans those of segments first, by
a lane for each column, so that writers find what comes before theirs. Several warps look back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...compiler.ir.build import i32, shared_buffer, word_type
from ...compiler.ir.combine import combine, with_shape
from ...compiler.ir.lane_exchange import lane_id
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.target import WARP
from ..access.state_buffers import StateBuffers
from .chain_roles import LOOKS, Roles
from .place import Place
from .rings import Turn
from .scan_before import Before
from .scan_work import Work, look_back


@dataclass(frozen=True, eq=False)
class ColumnRoles(Roles):
    """A kernel whose warps have roles, and scan columns."""

    @cached_property
    def totals(self) -> Sequence[Any]:
        """For each place the states of the columns of its chunk."""
        count = self.kernel.plan.places * self.kernel.plan.slots
        return [shared_buffer(self.kernel.entry, "columns", count, t) for t in self.kernel.of_scan.states]

    def _of(self, buffers: StateBuffers, slot: Any, *, wide: bool = False) -> StateBuffers:
        """The states of columns from ``slot`` on, as many as an access has where it is ``wide``."""
        plan = self.kernel.plan
        types = [with_shape(t, plan.vector) for t in buffers.types] if wide else buffers.types
        return replace(buffers, types=types, slots=plan.slots, slot=slot)

    def _columns(self, turn: Turn) -> StateBuffers:
        """The states of the columns of a place."""
        return self._buffers(self.totals, turn, self.kernel.plan.slots)

    def keep(self, turn: Turn, segment: Any, state: Any) -> None:
        """Keeps the states of a segment's columns: the lanes across have them."""
        first = scf.IfOp(self.kernel.is_first(self.digits.lane))
        with ir.InsertionPoint(first.then_block):
            self._of(self.segments(turn), self.digits.slot).store(segment, state)
            scf.YieldOp([])

    def leave_states(self, turn: Turn, work: Work) -> None:
        """Scans the states of segments, and leaves that of a chunk: each lane for some of the columns."""
        kernel, slots = self.kernel, self.kernel.plan.slots
        back = look_back(kernel, work, i32(0))
        for first in range(0, slots, WARP):
            column = arith.addi(lane_id(), i32(first))
            some = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, column, i32(slots)))
            with ir.InsertionPoint(some.then_block):
                own = self._of(self.segments(turn), column)
                total, *others = [own.load(i32(g)) for g in range(kernel.plan.warps)]
                for g, state in enumerate(others, 1):
                    own.store(i32(g), total)
                    total = combine(kernel.of_scan.combine, total, state)
                self._of(self._columns(turn), column).store(i32(0), total)
                replace(back, row=column, lane=i32(0)).leave(total)
                scf.YieldOp([])

    def look_at_states(self, turn: Turn, work: Work) -> None:
        """Keeps what comes before a chunk: warps look back for some of the columns each."""
        thread = arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
        back = look_back(self.kernel, work, arith.subi(thread, i32(LOOKS * WARP))).glanced()
        found = back.known(self._of(self._columns(turn), back.row).load(i32(0)))
        first = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, back.lane, i32(0)))
        with ir.InsertionPoint(first.then_block):
            self._of(self.earlier(turn), back.row).store(i32(0), found)
            scf.YieldOp([])

    def before_segment(self, turn: Turn, work: Work, segment: Any, place: Place) -> Before:
        """What comes before the columns of a segment that a thread has."""
        states = ((self.earlier(turn), self.kernel.number(0)), (self.segments(turn), segment))
        earlier, inside = (self._of(b, place.slot, wide=True).load(at) for b, at in states)
        exists = [arith.cmpi(arith.CmpIPredicate.ne, x, self.kernel.number(0)) for x in (work.part, segment)]
        return Before(earlier, exists[0]).then(self.kernel.of_scan, Before(inside, exists[1]))
