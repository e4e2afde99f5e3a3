"""Rows that the CTAs of the grid share, all at once: each keeps its part of a row, as clusters do for shorter ones.

A CTA owns one part of the rows of one tile. The first accesses of a thread to its part wait in registers, and the last
ones in slots of shared memory. Those between, for which there is no room, are walked again in each phase, and wait in
the L2 cache as far as it holds them: what a CTA keeps is read so that it leaves the cache first, and so are the
results. Where the cache is far too small, only the last ones of those between are kept there, and each phase reads them
last, but the results first. A part that is too short for the registers, or that an end of the row cuts there, uses none
of them.

CTAs wait for the state of their row, so all CTAs of the grid must run at a time: the launch is a cooperative one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.combine import unpack, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, llvm
from ....compiler.plan.layout import layout_of
from ..kernel import Kernel
from ..place import Place, existing, first_place
from ..walk import Chunk
from .grid_teams import distribute_over_teams
from .held_row import HeldRow, joined
from .period_states import PeriodStates
from .row_accesses import RowAccesses, is_cut
from .row_starts import is_shifted
from .row_states import RowStates, branched
from .row_stores import store_rows
from .row_tail import RowTail
from .rows_abreast import end_abreast, first_of_column
from .values import Numbered
from .walked_row import WalkedRow


@dataclass(frozen=True, eq=False)
class InRegisters:
    """The accesses of a thread that wait in registers.

    Attributes:
        used: whether the part has all of them, and no end of the row cuts one.
        groups: the accesses, as many at a time as a walk has in flight: a fold takes one group after another.
    """

    used: Any
    groups: Sequence[HeldRow]

    @classmethod
    def of(cls, row: RowAccesses, used: Any) -> InRegisters:
        """The accesses to the part of a CTA, which are on the way."""
        plan, kernel = row.kernel.plan, row.kernel
        if not plan.in_registers:
            return cls(used, ())
        whole = replace(HeldRow.of(row, plan.in_registers), whole=True)
        waiting = [(kernel.inputs[i], j) for i in kernel.facts.waiting for j in range(plan.in_registers)]
        types = [with_shape(element(v.type), plan.vector) for v, _ in waiting]
        if plan.vector_reduced > 1 and is_cut(kernel):
            load = whole.apart(whole=True)
            found = branched(
                used,
                types,
                lambda: [load.fragment(v, j) for v, j in waiting],
                lambda: [llvm.mlir_undef(t) for t in types],
            )
        else:  # without a branch: in place of what does not exist a thread reads the first element of the CTA
            there = [kernel.less(r, row.chunk.limit) for r in whole.starts]
            first = row.chunk.first
            if plan.abreast:  # of which a thread whose columns the last wide row lacks may have none
                first = arith.minsi(first, kernel.at_least(arith.subi(row.chunk.limit, kernel.number(1)), 0))
            starts = [arith.select(t, r, first) for t, r in zip(there, whole.starts, strict=True)]
            found = [replace(whole, starts=tuple(starts)).fragment(v, j) for v, j in waiting]
        for (v, j), fragment in zip(waiting, found, strict=True):
            whole.fragments[j][v] = fragment
        return cls(used, [whole.part(j, plan.unroll) for j in range(0, plan.in_registers, plan.unroll)])

    def reduced(self, phase: Kernel) -> list[list[Any]]:
        """The state that the accesses combine to, if there are any."""
        if not self.groups:
            return []
        width = phase.plan.vector_kept

        def reduced() -> list[Any]:
            return joined(phase, [unpack(row.apart(whole=True).reduced(phase)) for row in self.groups])

        types = [with_shape(t, width) for t in phase.states]
        return [branched(self.used, types, reduced, lambda: phase.neutral(width))]

    def store(self, elements: Numbered) -> None:
        """Writes results that have a value for each element."""

        def store() -> list[Any]:
            for row in self.groups:
                row.apart(whole=True).store_elements(elements)
            return []

        if self.groups:
            branched(self.used, [], store)


@dataclass(frozen=True, eq=False)
class GridRow:
    """A thread's accesses to the part of its CTA.

    Attributes:
        kept: those that wait in registers.
        walked: those that it makes again in each phase, in the order of a fold: the L2 cache is told to keep the last.
        again: the same, in the last phase.
        slots: those that wait in shared memory.
        tail: the elements of the last row that none of these has; None where whole accesses have all.
    """

    kept: InRegisters
    walked: Sequence[WalkedRow]
    again: Sequence[WalkedRow]
    slots: WalkedRow
    tail: RowTail | None = None

    @classmethod
    def of(cls, kernel: Kernel, place: Place, part: Any) -> GridRow:
        """The accesses of a thread at its place to ``part`` of its row, of which those that wait are on the way."""
        used = _uses_registers(kernel, part)
        end = kernel.arg("n_reduced")
        if kernel.plan.abreast:
            end = end_abreast(kernel, place)
        rows = [RowAccesses.of(kernel, place, {}, chunk) for chunk in _divided(kernel, part, used, end)]
        registers, *walked, slots = (replace(r, values=replace(r.values, kept=rows[0].values.kept)) for r in rows)
        held = WalkedRow.in_slots(slots.cached("evict_first"))
        kept = InRegisters.of(registers.cached("evict_first"), used)
        policies = ["evict_first"] * (len(walked) - 1) + ["evict_last"]
        first = [WalkedRow.of(row.cached(policy)) for row, policy in zip(walked, policies, strict=True)]
        tail = None
        if kernel.plan.in_periods:
            length = kernel.arg("chunk")
            own = Chunk(arith.muli(part, length), end, length)
            tail = RowTail.of(replace(slots, chunk=own))
        return cls(kept, first, [WalkedRow.of(row.cached("evict_first")) for row in walked], held, tail)

    def reduced(self, phase: Kernel) -> list[Any]:
        """The state that the thread's elements combine to: what waits is there before the rest is read."""
        rows = [*self.kept.reduced(phase), *(unpack(row.reduced(phase)) for row in (self.slots, *self.walked))]
        return joined(phase, [*rows, self.tail.reduced(phase)] if self.tail else rows)

    def store(self, owner: Any) -> None:
        """Writes the results: first those of the accesses that are walked, which the cache may lose, then the others.

        ``owner`` says whether the thread writes results of rows.
        """
        row = self.again[-1].row
        rows, elements = row.values.apart()
        store_rows(replace(row, place=replace(row.place, owner=owner)), rows)
        row.values.prepare([result for _, result in elements])
        for walked in reversed(self.again):
            walked.store_elements()
        self.kept.store(elements)
        self.slots.store_elements()
        if self.tail:
            self.tail.store(elements)


def distribute_over_grid(kernel: Kernel) -> None:
    """Writes the body of a kernel whose CTAs share rows all at once."""
    if kernel.plan.in_teams:
        distribute_over_teams(kernel)
        return
    tile, place = first_place(kernel)
    place = replace(place, start=existing(kernel, place))
    part, parts = (kernel.id(of(gpu.Dimension.y)) for of in (gpu.block_id, gpu.grid_dim))
    number, tiles = (kernel.id(of(gpu.Dimension.x)) for of in (gpu.block_id, gpu.grid_dim))
    row = GridRow.of(kernel, place, part)
    if kernel.plan.in_periods:
        states = PeriodStates(kernel, tile, place, number, tiles, part, parts)
        states.fold(row.slots.row.values, row.reduced)
        row.store(place.owner)
        return
    together = RowStates(kernel, tiles, parts, number, part, tile, place, together=True)
    together.fold(row.slots.row.values, row.reduced)
    owner = arith.andi(place.owner, kernel.is_first(part))
    row.store(arith.andi(owner, first_of_column(kernel, place)) if kernel.plan.abreast else owner)


def _uses_registers(kernel: Kernel, part: Any) -> Any:
    """Whether a part has all accesses that wait in registers, and no end of the row cuts one."""
    own, length = kernel.number(_in_registers(kernel)), kernel.arg("chunk")
    end = arith.addi(arith.muli(part, length), own)
    at_most, whole = arith.CmpIPredicate.sle, kernel.arg("n_reduced")
    if kernel.plan.abreast:  # the last wide row lacks some columns
        whole = arith.subi(whole, kernel.number(1))
    used = arith.andi(arith.cmpi(at_most, own, length), arith.cmpi(at_most, end, whole))
    return arith.andi(used, kernel.less(kernel.number(0), part)) if is_shifted(kernel) else used


def _divided(kernel: Kernel, part: Any, used: Any, end: Any) -> list[Chunk]:
    """The elements of a part that wait in registers, those that a CTA walks, and those that wait in its slots.

    The row ends before ``end``. Of those that it walks the L2 cache keeps the last ones, by a plan that says how many.
    """
    plan, length = kernel.plan, kernel.arg("chunk")
    kept = arith.select(used, kernel.number(_in_registers(kernel)), kernel.number(0))
    left = arith.subi(length, kept)
    room, cached = (kernel.number(n * layout_of(kernel.plan).span("reduced")) for n in (plan.held, plan.in_cache))
    walked = kernel.at_least(arith.subi(left, room), 0)
    last = arith.minsi(walked, cached)
    passed = [arith.subi(walked, last), last] if plan.in_cache else [walked]
    found, first = [], arith.muli(part, length)
    for own in (kept, *passed, arith.subi(left, walked)):
        following = arith.addi(first, own)
        found.append(Chunk(first, arith.minsi(following, end), own))
        first = following
    return found


def _in_registers(kernel: Kernel) -> int:
    """The elements of a row that a CTA has room for in registers."""
    return kernel.plan.in_registers * layout_of(kernel.plan).span("reduced")
