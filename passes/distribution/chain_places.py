"""The ring of places of a scan whose warps have roles: the ticket, the chunk and the states that each place has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ...compiler.ir.build import address, i32, shared_buffer, word_type
from ...compiler.ir.combine import with_shape
from ...compiler.ir.mlir import arith
from ...compiler.plan.launch import lookers
from ..access.state_buffers import StateBuffers
from .kernel import Kernel
from .place import Digits, Place, Tile, existing, place_in_tile
from .rings import Ring, Turn, word_of
from .row import Row
from .scan_row import ScanRow
from .scan_work import Work
from .staged_chunk import StagedChunk

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
