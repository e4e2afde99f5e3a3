"""Scans of a few long rows: a CTA of an SM stays, and its warps share the work on one chunk after another.

Where few rows are long, a CTA waits for the chunks before its own more than for memory: so nothing else waits for that.
Chunks go through a ring of places in shared memory, and each kind of warp goes round it by itself:

1. One thread takes a ticket, and has the chunk copied to its place in bulk.
2. The *makers* combine the elements of its segments, and leave the states of these.
3. One warp leaves the state of the chunk for other CTAs, as soon as it is known.
4. One warp looks back at the chunks before.
5. The *writers* scan the segments again, now with what comes before them, and write results. Then the place is free.

So a chunk is read from memory while another one looks back and a third is written. The stages and the order of combines
are those of a scan without roles, with the same chunks (``scan.py``), but for larger groups. A CTA takes tickets in
order, and waits for earlier ones alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

from ...compiler.ir.build import (
    address,
    bytes_of,
    dynamic_shared,
    i32,
    integer,
    load,
    memory_type,
    shared_buffer,
    word_type,
)  # fmt: skip
from ...compiler.ir.combine import backwards, combine, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.lane_exchange import lane_id
from ...compiler.ir.mlir import arith, gpu, ir, nvvm, scf
from ...compiler.plan.fields import IN_BULK
from ...compiler.plan.launch import lookers
from ...compiler.target import WARP
from ..access.offsets import coordinates
from ..access.state_buffers import StateBuffers
from .kernel import Kernel
from .look_back import LookBack
from .place import Digits, Place, Tile, existing, place_in_tile
from .resident.row_starts import is_shifted, lead_of_row
from .rings import Ring, Turn, leave_word, word_of
from .row import Row
from .scan import ScanRow
from .scan_before import Before
from .scan_work import Work, clear_words, look_back

LEAVES, LOOKS = 1, 2
"""The first warp copies chunks, the next one leaves their states, the ``lookers`` from the third one on look back, and
those behind them make states; half of the warps write."""


class Staged(NamedTuple):
    """Where the elements of a chunk wait in shared memory.

    Attributes:
        first, limit: the index of the first element that has room, and of the one after the chunk's last.
        places: for each input that waits there the address at which its elements begin.
        reversed: the inputs whose rows lie in memory from the last element on.
        columns, slot: of columns that lie side by side how many there are, and the thread's first one.
    """

    first: Any
    limit: Any
    places: Mapping[int, Any]
    reversed: frozenset[int]
    columns: int = 1
    slot: Any = None

    def read(self, operand: int, t: Any, at: Any) -> Any:
        """The access of an input at ``at``, a fragment of type ``t``."""
        if operand not in self.reversed:
            index = arith.subi(at, self.first)
            if self.columns > 1:
                index = arith.addi(arith.muli(index, integer(at.type, self.columns)), self.slot)
            return load(self.places[operand], index, t)
        behind = arith.addi(at, integer(at.type, width(t)))
        return backwards(load(self.places[operand], arith.subi(self.limit, behind), t))


@dataclass(frozen=True, eq=False)
class Roles:
    """A kernel whose warps have roles.

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
    def of(cls, kernel: Kernel) -> Roles:
        """The roles of a kernel."""
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

    # --- what a place has ---
    def taken(self, turn: Turn) -> tuple[Any, list[Any]]:
        """Whether the ticket of a place has work, and the ticket."""
        ticket = word_of(self.tickets, turn)
        return self.kernel.less(self._index(ticket), self.count), [ticket]

    def _index(self, word: Any) -> Any:
        return word if word.type == self.kernel.index else arith.extui(self.kernel.index, word)

    def work(self, ticket: Any) -> Work:
        """The work of a ticket."""
        part, tile = self.kernel.divided(self._index(ticket), self.tiles)
        return Work(tile, part, self.parts, self.tiles)

    def segments(self, turn: Turn) -> StateBuffers:
        """The states of the segments of a place."""
        return self._buffers(self.states, turn, self.kernel.plan.warps * self.kernel.plan.slots)

    def earlier(self, turn: Turn) -> StateBuffers:
        """The state of what comes before the chunk of a place."""
        return self._buffers(self.before, turn, self.kernel.plan.slots)

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

    def staged(self, turn: Turn, work: Work, place: Place) -> Staged:
        """The elements of a chunk in a place of the ring; those of shifted rows begin early."""
        chunk = work.chunk(self.kernel)
        first, limit = chunk.first, chunk.limit
        if is_shifted(self.kernel):
            first = arith.subi(first, lead_of_row(self.kernel, place))
            limit = arith.minsi(arith.addi(first, chunk.length), limit)
        byte, places, start = ir.IntegerType.get_signless(8), dict[int, Any](), 0
        base, sizes = dynamic_shared(self.kernel.entry), self._sizes()
        for i, size in sizes.items():
            at = arith.addi(arith.muli(turn.place, i32(sum(sizes.values()))), i32(start))
            places[i], start = address(base, at, byte), start + size
        kinds = self.kernel.facts.access
        reverse = frozenset(i for i in places if kinds[i] == "reversed")
        return Staged(first, limit, places, reverse, self.kernel.plan.slots, place.slot)

    def _sizes(self) -> dict[int, int]:
        """The bytes of a chunk of each input that waits in shared memory."""
        plan, own = self.kernel.plan, enumerate(self.kernel.inputs)
        length = plan.threads * plan.vector * plan.held
        kinds = self.kernel.facts.access
        return {i: length * bytes_of(memory_type(element(v.type))) for i, v in own if kinds[i] in IN_BULK}

    def of_chunk(self, turn: Turn) -> StateBuffers:
        """The state of the chunk of a place."""
        return self._buffers(self.totals, turn, self.kernel.plan.slots)

    def row(self, turn: Turn, work: Work, segment: Any) -> ScanRow:
        """The accesses of a thread to a segment of the chunk in a place."""
        kernel = self.kernel
        position = arith.addi(self.digits.lane, kernel.scaled(segment, kernel.plan.lanes))
        digits = self.digits._replace(warp=segment, position=position)
        digits = digits if kernel.plan.slots > 1 else digits._replace(slot=kernel.number(0))
        tile, place = self._place(work, digits)
        return ScanRow.of(kernel, work, tile, place, self.staged(turn, work, place))

    def _place(self, work: Work, digits: Digits) -> tuple[Tile, Place]:
        """The row of a ticket, and the place of a thread with these digits in it."""
        tile, place = place_in_tile(Row.at(self.kernel, None), work.tile, digits)
        return tile, replace(place, start=existing(self.kernel, place))

    # --- the roles ---
    def copy(self) -> None:
        """One thread takes tickets, and has their chunks copied; the last ticket has no work."""
        kernel, ring = self.kernel, self.ring
        limit = arith.addi(self.count, kernel.id(gpu.grid_dim(gpu.Dimension.x)))
        word, i1 = word_type(), ir.IntegerType.get_signless(1)
        loop = scf.WhileOp([word, word], list(Turn.first()))
        before = loop.before.blocks.append(word, word)
        with ir.InsertionPoint(before):
            turn = Turn(*before.arguments)
            ticket = kernel.make("fold.ticket", word, [kernel.arg("counter"), limit], {}, 1)
            ring.wait("read", turn.before)
            leave_word(ticket, self.tickets, turn)
            some = kernel.less(self._index(ticket), self.count)
            branch = scf.IfOp(some, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                self._copy_chunk(turn, self.work(ticket))
                scf.YieldOp([])
            with ir.InsertionPoint(branch.else_block):
                ring.arrive("full", turn)
                scf.YieldOp([])
            assert some.type == i1
            scf.ConditionOp(some, list(turn.next(ring.places)))
        body = loop.after.blocks.append(word, word)
        with ir.InsertionPoint(body):
            scf.YieldOp(list(body.arguments))

    def _copy_chunk(self, turn: Turn, work: Work) -> None:
        """Begins to copy the elements of a chunk to its place: whole accesses of them."""
        kernel, each, columns = self.kernel, self.kernel.plan.vector_reduced, self.kernel.plan.slots
        vector = kernel.number(each)
        staged = self.staged(turn, work, self._place(work, self.digits)[1])
        early = kernel.less(staged.first, kernel.number(0))
        begin = arith.select(early, arith.addi(staged.first, vector), staged.first)
        length = kernel.scaled(arith.divui(arith.subi(staged.limit, staged.first), vector), each)
        length = arith.maxsi(arith.subi(arith.addi(staged.first, length), begin), kernel.number(0))
        elements = kernel.scaled(length, columns)
        word = elements if length.type == word_type() else arith.trunci(word_type(), elements)
        types = {i: element(kernel.inputs[i].type) for i in staged.places}
        sizes = {i: arith.muli(word, i32(bytes_of(memory_type(t)))) for i, t in types.items()}
        total = reduce(arith.addi, sizes.values())
        self.ring.arrive("full", turn, total)
        branch = scf.IfOp(kernel.less(kernel.number(0), length))
        with ir.InsertionPoint(branch.then_block):
            for i, to in staged.places.items():
                first = arith.subi(kernel.number(1), staged.limit) if i in staged.reversed else begin
                first = arith.addi(self._start(i, kernel.scaled(work.tile, columns)), kernel.scaled(first, columns))
                source = address(kernel.arg("input", i), first, types[i])
                room = address(to, kernel.scaled(arith.subi(begin, staged.first), columns), types[i])
                self.ring.copy("full", turn, room, source, sizes[i])
            scf.YieldOp([])

    def _start(self, operand: int, kept: Any) -> Any:
        """Where row ``kept`` of an input begins."""
        kernel, rank = self.kernel, self.kernel.facts.kept_rank
        places = coordinates(kept, kernel.dims("kept_size", 0, range(1, rank)), rank)
        total = kernel.number(0)
        for at, stride in zip(places, kernel.dims("kept_stride", operand, range(rank)), strict=True):
            total = arith.addi(total, arith.muli(at, stride))
        return total

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
        branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.ne, word_of(self.tickets, Turn.first()), i32(0)))
        with ir.InsertionPoint(branch.then_block):
            clear_words(kernel, self.work(i32(0)), thread)
            scf.YieldOp([])

    # --- warps ---
    def _each_segment(self, first: Any, step: int, work: Callable[[Any], None]) -> None:
        """Does ``work`` for each segment that a warp has, from its ``first`` one on."""
        loop = scf.ForOp(first, self.kernel.number(self.kernel.plan.warps), self.kernel.number(step))
        with ir.InsertionPoint(loop.body):
            work(loop.induction_variable)
            scf.YieldOp([])

    def _if_last(self, segment: Any, step: int, do: Callable[[], None]) -> None:
        last = self.kernel.less(self.kernel.number(self.kernel.plan.warps - step - 1), segment)
        branch = scf.IfOp(last)
        with ir.InsertionPoint(branch.then_block):
            do()
            scf.YieldOp([])

    def _by_one(self, do: Callable[[], None]) -> None:
        """What the first lane does."""
        branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, lane_id(), i32(0)))
        with ir.InsertionPoint(branch.then_block):
            do()
            scf.YieldOp([])

    def _arrive(self, name: str, turn: Turn) -> None:
        """The warp says that it has happened, once all of its lanes are here."""
        nvvm.bar_warp_sync(i32(-1))
        self._by_one(lambda: self.ring.arrive(name, turn))
