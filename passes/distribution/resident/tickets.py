"""Work by tickets: rows that wait in the L2 cache, shared by the CTAs of the grid.

A row is divided into *chunks*. A piece of work is one phase of one chunk: its elements are folded and their state is
left for the others, or the results are written. Chunks are numbered through all rows. Ticket number t is phase
``t % phases``, of which the last one writes, of chunk ``t / phases`` less ``lag`` for each phase before. So each phase
follows ``lag`` chunks behind the one before it, which is more than a row has: the first phase has loaded a row into the
cache shortly before the others read it, and CTAs seldom wait.

CTAs take tickets until none is left, each while they compute for the one before. A CTA waits only for smaller tickets,
and finishes its own in order. So the smallest ticket that is not done is always being worked on, and the kernel ends
even if one CTA runs at a time.

All phases combine the states of the chunks of a row in the order of the chunks, and get the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.build import address
from ....compiler.ir.combine import unpack
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, scf
from ....compiler.plan.layout import rows_of_states
from ..kernel import Kernel, load_attributes
from ..meeting import meet_in_cta
from ..place import Digits, Place, Tile, place_in_tile
from ..row import Row
from ..span import reduce_span, span_of
from ..walk import Chunk
from .held_row import HeldRow
from .row_accesses import RowAccesses, is_shifted


@dataclass(frozen=True, eq=False)
class Tickets:
    """The tickets of a kernel.

    Attributes:
        kernel: the kernel.
        digits: the digits of the thread.
        phases: how many there are, with the last one, which writes.
        parts: the chunks of a row.
        tiles: the tiles of rows.
        count: the tickets.
        limit: the tickets that are taken: each CTA takes one more, which says that none is left.
    """

    kernel: Kernel
    digits: Digits
    phases: int
    parts: Any
    tiles: Any
    count: Any
    limit: Any

    @classmethod
    def of(cls, kernel: Kernel) -> Tickets:
        """The tickets of a kernel."""
        early = kernel.plan.vector - 1 if is_shifted(kernel) else 0
        length = arith.addi(kernel.arg("n_reduced"), kernel.number(early)) if early else kernel.arg("n_reduced")
        parts = kernel.at_least(kernel.ceil(length, kernel.arg("chunk")), 1)
        tiles, phases = kernel.ceil(kernel.arg("n_kept"), kernel.plan.slots), 1 + len(kernel.phases)
        behind = arith.muli(kernel.arg("lag"), kernel.number(phases - 1))
        count = arith.muli(arith.addi(arith.muli(tiles, parts), behind), kernel.number(phases))
        limit = arith.addi(count, kernel.id(gpu.grid_dim(gpu.Dimension.x)))
        return cls(kernel, Digits.of(kernel, kernel.plan), phases, parts, tiles, count, limit)

    def take(self) -> Any:
        """The next ticket, which the first thread of the CTA knows."""
        return self.kernel.make("fold.ticket", self.kernel.index, [self.kernel.arg("counter"), self.limit], {}, 1)

    def share(self, ticket: Any) -> Any:
        """A ticket, for all threads of the CTA."""
        return self.kernel.make("fold.share", self.kernel.index, [ticket], {}, 1)

    def work(self, ticket: Any) -> Any:
        """Does the work of a ticket, and takes the next one: of those at either end, some have no work."""
        kernel = self.kernel
        turn, phase = kernel.divided(ticket, kernel.number(self.phases))
        number = arith.subi(turn, arith.muli(phase, kernel.arg("lag")))
        first = arith.cmpi(arith.CmpIPredicate.sge, number, kernel.number(0))
        there = arith.andi(first, kernel.less(number, arith.muli(self.tiles, self.parts)))
        exists = scf.IfOp(there, [kernel.index], has_else=True)
        with ir.InsertionPoint(exists.then_block):
            scf.YieldOp([self._of_phase(phase, 0, number)])
        with ir.InsertionPoint(exists.else_block):
            scf.YieldOp([self.take()])
        return exists.results[0]

    def _of_phase(self, phase: Any, own: int, number: Any) -> Any:
        """The work of a chunk in ``phase``, which is ``own`` or a later one; gives the next ticket."""
        if own + 1 == self.phases:
            return self._of_chunk(own, number)
        mine = arith.cmpi(arith.CmpIPredicate.eq, phase, self.kernel.number(own))
        branch = scf.IfOp(mine, [self.kernel.index], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp([self._of_chunk(own, number)])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([self._of_phase(phase, own + 1, number)])
        return branch.results[0]

    def _of_chunk(self, own: int, number: Any) -> Any:
        """Phase ``own`` of a chunk: those that no end of the row cuts need no masks; gives the next ticket."""
        kernel = self.kernel
        if kernel.facts.full:
            return ChunkWork.of(self, own, number).run()
        part, length = kernel.divided(number, self.parts)[1], kernel.arg("chunk")
        end = arith.muli(arith.addi(part, kernel.number(1)), length)
        inner = arith.cmpi(arith.CmpIPredicate.sle, end, kernel.arg("n_reduced"))
        if is_shifted(kernel):
            inner = arith.andi(inner, kernel.less(kernel.number(0), part))
        branch = scf.IfOp(inner, [kernel.index], has_else=True)
        for whole, block in ((True, branch.then_block), (False, branch.else_block)):
            with ir.InsertionPoint(block):
                scf.YieldOp([ChunkWork.of(self, own, number, whole=whole).run()])
        return branch.results[0]


def distribute_by_tickets(kernel: Kernel) -> None:
    """Writes the body of a kernel whose CTAs share rows in the L2 cache."""
    tickets = Tickets.of(kernel)
    loop = scf.WhileOp([kernel.index], [tickets.share(tickets.take())])
    before, body = (part.blocks.append(kernel.index) for part in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        (ticket,) = before.arguments
        scf.ConditionOp(kernel.less(ticket, tickets.count), [ticket])
    with ir.InsertionPoint(body):
        (ticket,) = body.arguments
        scf.YieldOp([tickets.share(tickets.work(ticket))])


@dataclass(frozen=True, eq=False)
class ChunkWork:
    """One phase of a chunk.

    Attributes:
        tickets: the tickets.
        phase: the number of the phase.
        number: the number of the tile of rows.
        part: the number of the chunk in its rows.
        tile, place: the tile, and the thread's place in it.
        row: the thread's accesses to the chunk.
    """

    tickets: Tickets
    phase: int
    number: Any
    part: Any
    tile: Tile
    place: Place
    row: HeldRow

    @classmethod
    def of(cls, tickets: Tickets, phase: int, number: Any, *, whole: bool = False) -> ChunkWork:
        """Phase ``phase`` of chunk ``number`` of all, all of whose accesses lie in the row if it is ``whole``."""
        kernel = tickets.kernel
        tile_number, part = kernel.divided(number, tickets.parts)
        tile, place = place_in_tile(Row.at(kernel, None), tile_number, tickets.digits)
        last = arith.subi(kernel.arg("n_kept"), kernel.number(kernel.plan.vector_kept))
        place = replace(place, start=arith.minsi(place.kept, last))
        first, length = arith.muli(part, kernel.arg("chunk")), kernel.arg("chunk")
        chunk = Chunk(first, arith.minsi(arith.addi(first, length), kernel.arg("n_reduced")), length)
        accesses = RowAccesses.of(kernel, place, {}, chunk)
        row = HeldRow.of(accesses.cached("evict_last" if phase < len(kernel.phases) else "evict_first"))
        return cls(tickets, phase, tile_number, part, tile, place, replace(row, whole=whole))

    def run(self) -> Any:
        """Reads the chunk, and folds it or writes the results; gives the next ticket.

        The accesses are under way while the CTA waits for the states of the phases before, and the ticket is while it
        computes.
        """
        kernel, values = self.tickets.kernel, self.row.row.values
        last = self.phase == len(kernel.phases)
        self.row.load(kernel.results if last else kernel.of(self.phase).sources)
        if self.phase:
            self.count("fold.await", self.phase - 1)
        for number in range(self.phase):
            before = kernel.of(number)
            with before.reduce.location:
                values.kept.update(zip(before.reduced, self.combined(before), strict=True))
        following = self.tickets.take()
        if last:
            self.write()
        else:
            self.fold(kernel.of(self.phase))
        return following

    def count(self, op: str, phase: int) -> None:
        """Signals the states of a phase of these rows, or waits for them. The first counter is that of the tickets."""
        kernel, tiles = self.tickets.kernel, self.tickets.tiles
        number = arith.addi(arith.muli(tiles, kernel.number(phase)), arith.addi(self.number, kernel.number(1)))
        kernel.make_op(op, [], [kernel.arg("counter"), number, self.tickets.parts], {})

    def write(self) -> None:
        """Writes the results; those of rows with the first chunk."""
        owner = arith.andi(self.place.owner, self.tickets.kernel.is_first(self.part))
        row = replace(self.row.row, place=replace(self.place, owner=owner))
        replace(self.row, row=row).store()

    def fold(self, phase: Kernel) -> None:
        """Folds the chunk, and leaves its state."""
        with phase.reduce.location:
            state = unpack(meet_in_cta(self.tile_of(phase), self.row.reduced(phase), self.place)[0])
            self.leave(phase, state)
        self.count("fold.signal", self.phase)

    def tile_of(self, phase: Kernel) -> Tile:
        """The tile of rows as a phase sees it."""
        return replace(self.tile, row=replace(self.tile.row, kernel=phase))

    def leave(self, phase: Kernel, state: list[Any]) -> None:
        """Stores the state of the chunk."""
        at = arith.muli(self.part, self.pitch())
        for pointer, value in zip(self.partials(phase), state, strict=True):
            begin = address(pointer, at, element(value.type))
            operands = [value, begin, self.place.kept, self.place.owner, phase.number(1)]
            attributes = {"kept_rank": 1, "reduced_rank": 0, "vector": phase.plan.vector_kept > 1}
            phase.make_op("fold.store", [], operands, attributes)

    def combined(self, phase: Kernel) -> list[Any]:
        """The state of the whole row, from the states of its chunks."""
        plan, parts = phase.plan.second, self.tickets.parts
        span = span_of(phase, self.place, plan, phase.number(0), parts, parts)
        layout = [phase.number(1), self.pitch()]
        attributes = load_attributes(1, 1, "kept", "coherent")

        def read(r: Any) -> list[Any]:
            return [
                phase.make("fold.load", t, [pointer, self.place.kept, r, *layout], attributes, plan.vector_kept)
                for pointer, t in zip(self.partials(phase), phase.states, strict=True)
            ]

        state = reduce_span(phase, plan, span, plan.unroll, plan.vector_kept, read)
        return unpack(meet_in_cta(self.tile_of(phase), state, self.place)[0])

    def partials(self, phase: Kernel) -> list[Any]:
        """The arrays of the states of a phase: those of all phases follow each other."""
        before = sum(len(p.sources) for p in phase.phases[: phase.phase])
        return [phase.arg("partial", before + i) for i in range(len(phase.states))]

    def pitch(self) -> Any:
        """The states of all rows for one chunk of each."""
        kernel = self.tickets.kernel
        return rows_of_states(kernel.plan).places(kernel.arg("n_kept"), kernel)
