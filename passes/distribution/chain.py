"""The body of a kernel that scans a few long rows, or columns: what each of the warps of a CTA does.

The ring of places of a scan whose warps have roles: the ticket, the chunk and the states that each place has.

Scans of a few long rows: a CTA of an SM stays, and its warps share the work on one chunk after another.

Where few rows are long, a CTA waits for the chunks before its own more than for memory: so nothing else waits for that.
Chunks go through a ring of places in shared memory, and each kind of warp goes round it by itself:

1. One thread takes a ticket, and has the chunk copied to its place in bulk.
2. The *makers* combine the elements of its segments, and leave the states of these.
3. One warp combines these to the state of the chunk, and leaves it for other CTAs.
4. One warp looks back at the chunks before.
5. The *writers* scan the segments again, now with what comes before them, and write results. Then the place is free.

So a chunk is read from memory while another one looks back and a third is written. The order of combines is that of a
scan without roles with the same chunks (``scan.py``), but that groups of chunks of a row are larger (``group_of``). A
CTA takes tickets in order, and waits for earlier ones alone.

Scans of few long columns by warps with roles: a chunk has elements of all columns of an array.

Such a chunk is one run of memory. A row of it has an access for each lane across, so a warp reads whole rows. There is
a state of each column, of each segment and of each chunk. The warp that leaves states scans those of segments first, by
a lane for each column, so that writers find what comes before theirs. Several warps look back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ...compiler.ir.build import address, i32, if_then, repeat, shared_buffer, when, word_type
from ...compiler.ir.combine import combine, with_shape
from ...compiler.ir.lane_exchange import lane_id
from ...compiler.ir.mlir import arith, gpu, ir, nvvm, scf
from ...compiler.plan.launch import lookers
from ...compiler.target import WARP
from ..access.state_buffers import StateBuffers
from .kernel import Kernel
from .look_back import LookBack
from .looks import Before
from .place import Digits, Place, Row, Tile, existing, place_in_tile
from .scan_row import ScanRow
from .scan_work import Work, clear_words, look_back
from .staged_chunk import Ring, StagedChunk, Turn, copy_chunk, leave_word, word_of

LEAVES, LOOKS = 1, 2
"""The first warp copies chunks, the next one leaves their states, the ``lookers`` from the third one on look back, and
those behind them make states; half of the warps write."""


@dataclass(frozen=True, eq=False)
class ChainPlaces:
    """The places of the ring, and what waits in each.

    Attributes:
        kernel: the kernel.
        digits: the digits of the thread's number.
        ring: the places, and their barriers: ``full`` with elements, ``made`` states, ``left`` for others, what comes
            before is ``known``, and all is ``read``.
        tickets: the ticket of each place.
        states, totals, before: for each place the states of its segments, that of its chunk, and of what comes before.
        count: the tickets for which there is work.
        tiles, parts: the tiles of rows, and the chunks of each.
    """

    kernel: Kernel
    digits: Digits
    ring: Ring
    tickets: Any
    states: Sequence[Any]
    totals: Sequence[Any]
    before: Sequence[Any]
    count: Any
    tiles: Any
    parts: Any

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Those of a kernel."""
        warps, slots, scan, places = kernel.plan.warps, kernel.plan.slots, kernel.of_scan, kernel.plan.places
        tiles, parts = Work.all(kernel)
        tickets = shared_buffer(kernel.entry, "tickets", places, word_type())
        states = [shared_buffer(kernel.entry, "segments", places * warps * slots, t) for t in scan.states]
        totals = [shared_buffer(kernel.entry, "chunks", places * slots, t) for t in scan.states]
        before = [shared_buffer(kernel.entry, "before", places * slots, t) for t in scan.states]
        looks, half = lookers(kernel.plan), warps // 2
        arrivals = {"full": 1, "made": half - LOOKS - looks, "left": 1, "known": looks, "read": half}
        ring = Ring.of(kernel.entry, places, arrivals)
        digits = Digits.of(kernel, kernel.plan)
        count = arith.muli(tiles, parts)
        return cls(kernel, digits, ring, tickets, states, totals, before, count, tiles, parts)

    def taken(self, turn: Turn) -> tuple[Any, list[Any]]:
        """Whether the ticket of a place has work, and the ticket."""
        ticket = word_of(self.tickets, turn)
        return self.kernel.less(self.index(ticket), self.count), [ticket]

    def index(self, word: Any) -> Any:
        """A word as an index."""
        return word if word.type == self.kernel.index else arith.extui(self.kernel.index, word)

    def work(self, ticket: Any) -> Work:
        """The work of a ticket."""
        part, tile = self.kernel.divided(self.index(ticket), self.tiles)
        return Work(tile, part, self.parts, self.tiles)

    def segments(self, turn: Turn) -> StateBuffers:
        """The states of the segments of a place."""
        return self._buffers(self.states, turn, self.kernel.plan.warps * self.kernel.plan.slots)

    def earlier(self, turn: Turn) -> StateBuffers:
        """The state of what comes before the chunk of a place."""
        return self._buffers(self.before, turn, self.kernel.plan.slots)

    def of_chunk(self, turn: Turn) -> StateBuffers:
        """The state of the chunk of a place."""
        return self._buffers(self.totals, turn, self.kernel.plan.slots)

    def of_row(self, buffers: StateBuffers, row: Any, *, wide: bool = False) -> StateBuffers:
        """The states of the rows of a chunk from ``row`` on, as many as an access has where it is ``wide``."""
        plan = self.kernel.plan
        if plan.slots == 1:
            return buffers
        types = [with_shape(t, plan.vector) for t in buffers.types] if wide else buffers.types
        return replace(buffers, types=types, slots=plan.slots, slot=row)

    def _buffers(self, buffers: Sequence[Any], turn: Turn, each: int) -> StateBuffers:
        types = self.kernel.of_scan.states
        own = [address(b, arith.muli(turn.place, i32(each)), t) for b, t in zip(buffers, types, strict=True)]
        return StateBuffers(own, types)

    def row(self, turn: Turn, work: Work, segment: Any) -> ScanRow:
        """The accesses of a thread to a segment of the chunk in a place."""
        kernel = self.kernel
        position = arith.addi(self.digits.lane, kernel.scaled(segment, kernel.plan.lanes))
        digits = self.digits._replace(warp=segment, position=position)
        digits = digits if kernel.plan.slots > 1 else digits._replace(slot=kernel.number(0))
        tile, place = self.place(work, digits)
        return ScanRow.of(kernel, work, tile, place, StagedChunk.of(kernel, turn, work, place))

    def place(self, work: Work, digits: Digits) -> tuple[Tile, Place]:
        """The row of a ticket, and the place of a thread with these digits in it."""
        tile, place = place_in_tile(Row.at(self.kernel, None), work.tile, digits)
        return tile, replace(place, start=existing(self.kernel, place))


@dataclass(frozen=True, eq=False)
class Roles(ChainPlaces):
    """What each kind of warp does with the places of the ring."""

    # --- the roles ---
    def copy(self) -> None:
        """One thread takes tickets, and has their chunks copied; the last ticket has no work."""
        kernel, ring = self.kernel, self.ring
        limit = arith.addi(self.count, kernel.id(gpu.grid_dim(gpu.Dimension.x)))
        word = word_type()
        loop = scf.WhileOp([word, word], list(Turn.first()))
        before = loop.before.blocks.append(word, word)
        with ir.InsertionPoint(before):
            turn = Turn(*before.arguments)
            ticket = kernel.make("fold.ticket", word, [kernel.arg("counter"), limit], {}, 1)
            ring.wait("read", turn.before)
            leave_word(ticket, self.tickets, turn)
            some = kernel.less(self.index(ticket), self.count)
            branch = scf.IfOp(some, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                work = self.work(ticket)
                copy_chunk(kernel, ring, turn, work, self.place(work, self.digits)[1])
                scf.YieldOp([])
            with ir.InsertionPoint(branch.else_block):
                ring.arrive("full", turn)
                scf.YieldOp([])
            scf.ConditionOp(some, list(turn.next(ring.places)))
        body = loop.after.blocks.append(word, word)
        with ir.InsertionPoint(body):
            scf.YieldOp(list(body.arguments))

    def make(self, warp: Any) -> None:
        """Makers combine the elements of segments."""
        first = LOOKS + lookers(self.kernel.plan)
        makers = self.kernel.plan.warps // 2 - first

        def work(turn: Turn, ticket: Any) -> None:
            own = self.work(ticket)

            def segment(g: Any) -> None:
                row = self.row(turn, own, g)
                row.load()
                with row.kernel.reduce.location:
                    state = row.segment()
                self.keep(turn, g, state)

            self._each_segment(arith.subi(warp, self.kernel.number(first)), makers, segment)
            self._arrive("made", turn)

        self._arrive("made", self.ring.each("full", self.taken, work))

    def keep(self, turn: Turn, segment: Any, state: Any) -> None:
        """Keeps the state of a segment."""
        self._by_one(lambda: self.segments(turn).store(segment, state))

    def leave(self) -> None:
        """A warp leaves the states of chunks for other CTAs."""

        def work(turn: Turn, ticket: Any) -> None:
            with self.kernel.of_scan.reduce.location:
                self.leave_states(turn, self.work(ticket))
            self._arrive("left", turn)

        self._arrive("left", self.ring.each("made", self.taken, work))

    def leave_states(self, turn: Turn, work: Work) -> None:
        """Scans the states of segments, so that writers find what comes before theirs, and leaves that of a chunk."""
        back = look_back(self.kernel, work, lane_id())
        self._by_one(lambda: self.scan_segments(turn, back, i32(0)))

    def scan_segments(self, turn: Turn, back: LookBack, row: Any) -> None:
        """What comes before each segment of a row takes the place of its state; that of the chunk is kept and left."""
        own = self.of_row(self.segments(turn), row)
        total, *others = [own.load(i32(g)) for g in range(self.kernel.plan.warps)]
        for g, state in enumerate(others, 1):
            own.store(i32(g), total)
            total = combine(self.kernel.of_scan.combine, total, state)
        self.of_row(self.of_chunk(turn), row).store(i32(0), total)
        back.leave(total)

    def look(self) -> None:
        """A warp looks back at the chunks before."""

        def work(turn: Turn, ticket: Any) -> None:
            own = self.work(ticket)
            with self.kernel.of_scan.reduce.location:
                self.look_at_states(turn, own)
            self._arrive("known", turn)

        self._arrive("known", self.ring.each("left", self.taken, work))

    def look_at_states(self, turn: Turn, work: Work) -> None:
        """Keeps what comes before a chunk."""
        back = look_back(self.kernel, work, lane_id()).glanced()
        found = back.known(self.of_chunk(turn).load(i32(0)))
        self._by_one(lambda: self.earlier(turn).store(i32(0), found))

    def write(self, warp: Any) -> None:
        """Writers scan segments, and write results."""
        writers = self.kernel.plan.warps // 2

        def work(turn: Turn, ticket: Any) -> None:
            own, kernel = self.work(ticket), self.kernel

            def segment(g: Any) -> None:
                row = self.row(turn, own, g)
                row.load()
                with row.kernel.reduce.location:
                    before = self.before_segment(turn, own, g, row.place)
                self._if_last(g, writers, lambda: self._arrive("read", turn))
                with row.kernel.reduce.location:
                    row.scan(before)
                row.store()

            self._each_segment(arith.subi(warp, kernel.number(writers)), writers, segment)

        self.ring.each("known", self.taken, work)

    def before_segment(self, turn: Turn, work: Work, segment: Any, place: Place) -> Before:
        """What comes before the rows of a segment that a thread has."""
        states = ((self.earlier(turn), self.kernel.number(0)), (self.segments(turn), segment))
        earlier, inside = (self.of_row(b, place.slot, wide=True).load(at) for b, at in states)
        exists = [arith.cmpi(arith.CmpIPredicate.ne, x, self.kernel.number(0)) for x in (work.part, segment)]
        return Before(earlier, exists[0]).then(self.kernel.of_scan, Before(inside, exists[1]))

    def clear(self, thread: Any) -> None:
        """The last CTA of the grid sets the words of all chunks to zero again, with all of its threads."""
        kernel, i1 = self.kernel, ir.IntegerType.get_signless(1)
        gpu.barrier()
        first = scf.IfOp(kernel.less(thread, kernel.number(WARP)))
        with ir.InsertionPoint(first.then_block):
            ctas = kernel.id(gpu.grid_dim(gpu.Dimension.x))
            operands = [kernel.arg("counter"), kernel.number(1), ctas]
            last = kernel.make_op("fold.arrive", [i1], operands, {"alone": True}).results[0]
            self._by_one(lambda: leave_word(arith.extui(word_type(), last), self.tickets, Turn.first()))
            scf.YieldOp([])
        gpu.barrier()
        with when(arith.cmpi(arith.CmpIPredicate.ne, word_of(self.tickets, Turn.first()), i32(0))):
            clear_words(kernel, self.work(i32(0)), thread)

    # --- warps ---
    def _each_segment(self, first: Any, step: int, work: Callable[[Any], None]) -> None:
        """Does ``work`` for each segment that a warp has, from its ``first`` one on."""
        with repeat(first, self.kernel.number(self.kernel.plan.warps), self.kernel.number(step)) as i:
            work(i)

    def _if_last(self, segment: Any, step: int, do: Callable[[], None]) -> None:
        """Does ``do`` for the last segment of a warp that has each ``step``th one."""
        if_then(self.kernel.less(self.kernel.number(self.kernel.plan.warps - step - 1), segment), do)

    def _by_one(self, do: Callable[[], None]) -> None:
        """What the first lane does."""
        if_then(arith.cmpi(arith.CmpIPredicate.eq, lane_id(), i32(0)), do)

    def _arrive(self, name: str, turn: Turn) -> None:
        """The warp says that it has happened, once all of its lanes are here."""
        nvvm.bar_warp_sync(i32(-1))
        self._by_one(lambda: self.ring.arrive(name, turn))


@dataclass(frozen=True, eq=False)
class ColumnRoles(Roles):
    """A kernel whose warps have roles, and scan columns."""

    def keep(self, turn: Turn, segment: Any, state: Any) -> None:
        """Keeps the states of a segment's columns: the lanes across have them."""
        with when(self.kernel.is_first(self.digits.lane)):
            self.of_row(self.segments(turn), self.digits.slot).store(segment, state)

    def leave_states(self, turn: Turn, work: Work) -> None:
        """Scans the states of segments, and leaves that of a chunk: each lane for some of the columns."""
        slots = self.kernel.plan.slots
        back = look_back(self.kernel, work, i32(0))
        for first in range(0, slots, WARP):
            column = arith.addi(lane_id(), i32(first))
            with when(arith.cmpi(arith.CmpIPredicate.slt, column, i32(slots))):
                self.scan_segments(turn, replace(back, row=column, lane=i32(0)), column)

    def look_at_states(self, turn: Turn, work: Work) -> None:
        """Keeps what comes before a chunk: warps look back for some of the columns each."""
        thread = arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
        back = look_back(self.kernel, work, arith.subi(thread, i32(LOOKS * WARP))).glanced()
        found = back.known(self.of_row(self.of_chunk(turn), back.row).load(i32(0)))
        with when(arith.cmpi(arith.CmpIPredicate.eq, back.lane, i32(0))):
            self.of_row(self.earlier(turn), back.row).store(i32(0), found)


def distribute_with_roles(kernel: Kernel) -> None:
    """Writes the body of a kernel whose warps have roles."""
    roles = (ColumnRoles if kernel.plan.slots > 1 else Roles).of(kernel)
    thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
    warp = kernel.divide(thread, WARP)
    half = kernel.plan.warps // 2
    if_then(kernel.is_first(thread), roles.copy)
    makers = LOOKS + lookers(kernel.plan)
    if_then(arith.cmpi(arith.CmpIPredicate.eq, warp, kernel.number(LEAVES)), roles.leave)
    looks = arith.andi(kernel.less(kernel.number(LOOKS - 1), warp), kernel.less(warp, kernel.number(makers)))
    if_then(looks, roles.look)
    writes = kernel.less(kernel.number(half - 1), warp)
    makes = arith.andi(kernel.less(kernel.number(makers - 1), warp), kernel.less(warp, kernel.number(half)))
    if_then(makes, lambda: roles.make(warp))
    if_then(writes, lambda: roles.write(warp))
    roles.clear(thread)
