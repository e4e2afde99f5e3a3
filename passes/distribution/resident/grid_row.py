"""Rows that the CTAs of the grid share, all at once: each keeps its part of a row, as clusters do for shorter ones.

A CTA owns one part of the rows of one tile. The first accesses of a thread to its part wait in registers, and the last
ones in slots of shared memory. Those between, for which there is no room, are walked again in each phase, and wait in
the L2 cache as far as it holds them: what a CTA keeps is read so that it leaves the cache first, and so are the
results. A part that is too short for the registers, or that an end of the row cuts there, uses none of them.

CTAs wait for the state of their row, so all CTAs of the grid must run at a time: the launch is a cooperative one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from ....compiler.ir.combine import clone_block, unpack, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, llvm, scf
from ....compiler.plan.layout import layout_of
from ..kernel import Kernel
from ..place import Place, existing, first_place
from ..walk import Chunk
from .grid_teams import distribute_over_teams
from .held_row import HeldRow
from .row_accesses import RowAccesses, is_cut
from .row_states import RowStates, branched
from .values import Numbered, fetched_first
from .walked_row import WalkedRow


@dataclass(frozen=True, eq=False)
class InRegisters:
    """The accesses of a thread that wait in registers.

    A loop takes them in groups of as many as a walk has in flight, so that the code of a group is there once: the
    straight-line code of all takes longer to load than a second read of the row. Registers have no numbers that a loop
    could count, so in each turn the groups move up by one. After all turns they are where they were.

    Attributes:
        row: the accesses.
        waiting: the inputs that wait, of each access.
        fragments: their fragments, access by access: after a loop those that it leaves.
        turns: the groups; none if the part lacks some of the accesses, or an end of the row cuts one.
    """

    row: HeldRow
    waiting: Sequence[Any]
    fragments: list[Any]
    turns: Any

    @classmethod
    def of(cls, row: RowAccesses, used: Any) -> InRegisters:
        """The accesses to the part of a CTA, which are on the way if it has all of them: if they are ``used``."""
        plan, kernel = row.kernel.plan, row.kernel
        whole = replace(HeldRow.of(row, plan.in_registers), whole=True)
        waiting = [kernel.inputs[i] for i in kernel.facts.waiting]
        own = [(v, j) for j in range(plan.in_registers) for v in waiting]
        types = [with_shape(element(v.type), plan.vector) for v, _ in own]
        if own and plan.vector_reduced > 1 and is_cut(kernel):
            load = whole.apart(whole=True)
            found = branched(
                used,
                types,
                lambda: [load.fragment(v, j) for v, j in own],
                lambda: [llvm.mlir_undef(t) for t in types],
            )
        else:  # without a branch: in place of what does not exist a thread reads the first element of the CTA
            there = [kernel.less(r, row.chunk.limit) for r in whole.starts]
            starts = [arith.select(t, r, row.chunk.first) for t, r in zip(there, whole.starts, strict=True)]
            found = [replace(whole, starts=tuple(starts)).fragment(v, j) for v, j in own]
        turns = arith.select(used, kernel.number(plan.in_registers // max(1, _group(kernel))), kernel.number(0))
        return cls(whole, waiting, list(found), turns)

    def reduced(self, phase: Kernel) -> list[list[Any]]:
        """The state that the accesses combine to, if there are any."""

        def combine(group: HeldRow, state: list[Any]) -> list[Any]:
            return joined(phase, [state, unpack(group.reduced(phase))])

        return [self._each(phase.neutral(phase.plan.vector_kept), combine)] if self.fragments else []

    def store(self, elements: Numbered) -> None:
        """Writes results that have a value for each element."""

        def store(group: HeldRow, _: list[Any]) -> list[Any]:
            group.store_elements(elements)
            return []

        if self.fragments:
            self._each([], store)

    def _each(self, first: list[Any], take: Callable[[HeldRow, list[Any]], list[Any]]) -> list[Any]:
        """Has each group taken, with what ``take`` gave for the one before: what it gives for the last."""
        kernel = self.row.row.kernel
        loop = scf.ForOp(kernel.number(0), self.turns, kernel.number(1), [*first, *self.fragments])
        with ir.InsertionPoint(loop.body):
            found, fragments = _cut(loop.inner_iter_args, len(first))
            own, others = _cut(fragments, _group(kernel) * len(self.waiting))
            found = take(self._group(loop.induction_variable, own), found)
            scf.YieldOp([*found, *others, *own])
        found, self.fragments[:] = _cut(loop.results, len(first))
        return found

    def _group(self, turn: Any, fragments: Sequence[Any]) -> HeldRow:
        """The accesses of a turn, whose ``fragments`` are there."""
        kernel, each = self.row.row.kernel, len(self.waiting)
        size = _group(kernel)
        earlier = arith.muli(turn, kernel.number(size * layout_of(kernel.plan).step))
        starts = [arith.addi(r, earlier) for r in self.row.starts[:size]]
        known = [dict(zip(self.waiting, fragments[j * each :], strict=False)) for j in range(size)]
        return replace(self.row, starts=tuple(starts), fragments=tuple(known)).apart(whole=True)


def _cut(values: Sequence[Any], count: int) -> tuple[list[Any], list[Any]]:
    """The first ``count`` of some values, and the others."""
    return list(values)[:count], list(values)[count:]


def _group(kernel: Kernel) -> int:
    """The accesses of a group in registers."""
    return gcd(kernel.plan.in_registers, kernel.plan.unroll) if kernel.plan.in_registers else 0


@dataclass(frozen=True, eq=False)
class GridRow:
    """A thread's accesses to the part of its CTA.

    Attributes:
        kept: those that wait in registers.
        walked: those that it makes again in each phase.
        again: the same, in the last phase.
        slots: those that wait in shared memory.
    """

    kept: InRegisters
    walked: WalkedRow
    again: WalkedRow
    slots: WalkedRow

    @classmethod
    def of(cls, kernel: Kernel, place: Place, part: Any) -> GridRow:
        """The accesses of a thread at its place to ``part`` of its row, of which those that wait are on the way."""
        used = _uses_registers(kernel, part)
        rows = [RowAccesses.of(kernel, place, {}, chunk) for chunk in _divided(kernel, part, used)]
        registers, walked, slots = (replace(r, values=replace(r.values, kept=rows[0].values.kept)) for r in rows)
        held = WalkedRow.in_slots(slots.cached("evict_first"))
        kept = InRegisters.of(registers.cached("evict_first"), used)
        first, last = (WalkedRow.of(walked.cached(policy)) for policy in ("evict_last", "evict_first"))
        return cls(kept, first, last, held)

    def reduced(self, phase: Kernel) -> list[Any]:
        """The state that the thread's elements combine to: what waits is there before the rest is read."""
        self.slots.row.values.prepare(phase.sources)
        rows = [*self.kept.reduced(phase), *(unpack(row.reduced(phase)) for row in (self.slots, self.walked))]
        return joined(phase, rows)

    def store(self, owner: Any) -> None:
        """Writes the results: first those of the accesses that are walked, which the cache may lose, then the others.

        ``owner`` says whether the thread writes results of rows.
        """
        row = self.again.row
        rows, elements = row.values.apart()
        replace(row, place=replace(row.place, owner=owner)).store_rows(rows)
        row.values.prepare([result for _, result in elements])
        self.again.store_elements()
        self.kept.store(elements)
        self.slots.store_elements()


def joined(phase: Kernel, states: Sequence[list[Any]]) -> list[Any]:
    """The states of a thread, combined from the left."""
    state, *others = states
    for other in others:
        state = clone_block(phase.combine.blocks[0], [*state, *other], phase.plan.vector_kept)
    return state


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
    values = row.slots.row.values
    values.prepare(fetched_first(values))
    states = RowStates(kernel, tiles, parts, number, part, tile, place, together=True)
    for phase in range(len(kernel.phases)):
        with kernel.of(phase).reduce.location:
            state = row.reduced(kernel.of(phase))
        states.leave(phase, state)
        states.wait(phase)
        values.kept.update(states.published(phase))
    row.store(arith.andi(place.owner, kernel.is_first(part)))


def _uses_registers(kernel: Kernel, part: Any) -> Any:
    """Whether a part has all accesses that wait in registers, and no end of the row cuts one."""
    own, length = kernel.number(_in_registers(kernel)), kernel.arg("chunk")
    end = arith.addi(arith.muli(part, length), own)
    at_most = arith.CmpIPredicate.sle
    return arith.andi(arith.cmpi(at_most, own, length), arith.cmpi(at_most, end, kernel.arg("n_reduced")))


def _divided(kernel: Kernel, part: Any, used: Any) -> list[Chunk]:
    """The elements of a part that wait in registers, those that a CTA walks, and those that wait in its slots."""
    length, end = kernel.arg("chunk"), kernel.arg("n_reduced")
    kept = arith.select(used, kernel.number(_in_registers(kernel)), kernel.number(0))
    left = arith.subi(length, kept)
    room = kernel.number(kernel.plan.held * layout_of(kernel.plan).span("reduced"))
    walked = kernel.at_least(arith.subi(left, room), 0)
    found, first = [], arith.muli(part, length)
    for own in (kept, walked, arith.subi(left, walked)):
        following = arith.addi(first, own)
        found.append(Chunk(first, arith.minsi(following, end), own))
        first = following
    return found


def _in_registers(kernel: Kernel) -> int:
    """The elements of a row that a CTA has room for in registers."""
    return kernel.plan.in_registers * layout_of(kernel.plan).span("reduced")
