"""The access history of memory: for each cell its last write, and two of the reads since.

A cell has four bytes, or one byte once anything narrower is accessed. Of the reads since the last write, those that the
next reader knows of are forgotten. Of the others two are kept, from different warps if possible (after C. Flanagan and
S. Freund, FastTrack, PLDI 2009, which keeps all of them).

An access is one number, its stamp: the time of its event, which identifies the instruction, above the number of its
thread, 32 bits each.

Events: one memory instruction of a set of threads, with the cells that it touches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Array
from .findings import Symbolizer
from .memory_model import Strength, strength, verb_of

if TYPE_CHECKING:
    from ..machine.address_resolution import Access, Piece
    from ..machine.memory import Allocation
    from ..tool import Touch


@dataclass(frozen=True, eq=False)
class Event:
    """One instruction of some threads in one array, with an entry for each of the ``wide`` cells that a thread touches.

    Attributes:
        verb: read, written or updated.
        threads, numbers: the thread of each entry, by its number in the batch and in the launch.
        cells: the cell of each entry.
        stored: for a store the memory array, and the index and value that each thread writes.
    """

    access: Access
    home: Allocation | None
    verb: str
    strong: Strength
    time: int
    threads: Array
    numbers: Array
    cells: Array
    wide: int
    stored: tuple[Array, Array, Array] | None

    def unchanged(self, some: Array) -> Array:
        """Which of the entries ``some`` store the value that is there already."""
        if self.stored is None:
            return np.zeros(some.size, bool)
        view, index, values = self.stored
        own = some // self.wide
        return _same_bits(view[index[own]], values[own])

    def agreed(self, some: Array) -> Array:
        """Which of the entries ``some`` store the same value as the last entry of their cell."""
        if self.stored is None:
            return np.ones(some.size, bool)
        values = self.stored[2]
        _, cell = np.unique(self.cells, return_inverse=True)
        last = np.zeros(self.cells.size, np.int64)
        last[cell] = np.arange(cell.size)
        return _same_bits(values[some // self.wide], values[last[cell[some]] // self.wide])

    def where(self, symbols: Symbolizer, k: int) -> str:
        """The array and element that entry ``k`` touches."""
        base = self.home.address % 32 if self.home is not None else 0
        byte = int(self.cells[k - k % self.wide]) * (self.access.size // self.wide)
        return symbols.where(self.access, byte - base, self.home)


def _same_bits(a: Array, b: Array) -> Array:
    """Which elements of two arrays of one type have the same bytes: as complex numbers, two zeros would be equal."""
    octets = (np.ascontiguousarray(x).view(np.uint8).reshape(a.size, -1) for x in (a, b))
    return np.asarray(np.equal(*octets).all(axis=1))


def event_of(touch: Touch, piece: Piece, threads: Array, numbers: Array, time: int, cell: int) -> Event:
    """The event of a memory access, in cells of ``cell`` bytes."""
    access, home, size = touch.access, piece.home, touch.access.size
    verb = verb_of(access)
    index = piece.index if piece.index.size == threads.size else np.broadcast_to(piece.index, threads.shape)
    stored = None
    if touch.values is not None:
        values = touch.values if touch.values.size == 1 else touch.values[piece.where]
        stored = piece.view, index, np.broadcast_to(values, threads.shape)
    wide = size // cell
    start = 0 if home is None else (home.address % 32 + -home.address % size) // cell
    cells = index if wide == 1 else index * wide
    if start:
        cells = cells + start
    if wide > 1:
        cells = (cells[:, None] + np.arange(wide)).reshape(-1)
        threads, numbers = np.repeat(threads, wide), np.repeat(numbers, wide)
    return Event(access, home, verb, strength(access.ins, verb), time, threads, numbers, cells, wide, stored)


_LOW = 0xFFFFFFFF


def stamp(time: int, numbers: Array) -> Array:
    """The stamps of accesses at ``time``, which is never 0, by threads with these numbers in the launch."""
    result: Array = numbers + (time << 32)
    return result


def time_of(stamps: Array) -> Array:
    """The times in stamps."""
    result: Array = stamps >> 32
    return result


def thread_of(stamps: Array) -> Array:
    """The thread numbers in stamps."""
    result: Array = stamps & _LOW
    return result


class AccessHistory:
    """The histories of the cells of ``nbytes`` bytes of memory. A stamp of 0 means that there was no such access.

    Strong writes may follow each other unordered, and an access that may race with an earlier one need not race with
    the last one. So some earlier writes are kept beside the last one. Arrays of which no cell has an entry are None.

    Attributes:
        size: the bytes of a cell.
        write, first, second: the last write, and two of the reads since.
        hidden: a write that the last write replaced although nothing orders the two.
        weaker: a replaced write that is weak, or strong below GPU scope.
        seen: the last strong read since the last store; what it observed is ordered.
        chained: whether the last write is an atomic, which observed the write before it.
        wrote, read: the times of the latest write and read of any cell.
    """

    def __init__(self, nbytes: int) -> None:
        self.size = 4
        self.write, self.first = (np.zeros(-(-nbytes // self.size), np.int64) for _ in range(2))
        self.second: Array | None = None
        self.hidden: Array | None = None
        self.weaker: Array | None = None
        self.seen: Array | None = None
        self.chained: Array | None = None
        self.wrote = self.read = 0

    @property
    def reads(self) -> list[Array]:
        """The arrays of stamps of reads."""
        return [v for v in (self.first, self.second) if v is not None]

    @property
    def writes(self) -> list[Array]:
        """The arrays of stamps of writes."""
        return [v for v in (self.write, self.hidden, self.weaker) if v is not None]

    def observers(self, cells: Array) -> list[Array]:
        """The stamps of strong accesses that observed the last write of ``cells``; 0 where there are none."""
        out = [] if self.seen is None else [self.seen[cells]]
        return out if self.chained is None else [*out, self.write[cells] * self.chained[cells]]

    def hide(self, cells: Array, stamps: Array) -> None:
        """Records writes that unordered writes replace."""
        self.hidden = np.zeros_like(self.write) if self.hidden is None else self.hidden
        self.hidden[cells] = stamps

    def put(self, cells: Array, stamps: Array) -> None:
        """Records weak writes. A weak write is ordered after all accesses before it, or else that race was reported."""
        self.write[cells] = stamps
        for others in (self.hidden, self.weaker, self.seen, self.chained):
            if others is not None:
                others[cells] = 0

    def put_strong(self, cells: Array, stamps: Array, observes: bool) -> None:
        """Records strong writes. Those that observe the last write (atomics) keep its other observers."""
        self.write[cells] = stamps
        self.chained = np.zeros(self.write.size, bool) if self.chained is None else self.chained
        self.chained[cells] = observes
        if not observes and self.seen is not None:
            self.seen[cells] = 0

    def see(self, cells: Array, stamps: Array) -> None:
        """Records strong reads, which observe the last write."""
        self.seen = np.zeros_like(self.write) if self.seen is None else self.seen
        self.seen[cells] = stamps

    def weaken(self, cells: Array, stamps: Array) -> None:
        """Records weak or narrow writes that strong writes replace."""
        self.weaker = np.zeros_like(self.write) if self.weaker is None else self.weaker
        self.weaker[cells] = stamps

    def cut(self) -> None:
        """Cuts all cells into cells of one byte."""
        for name in ("write", "first", "second", "hidden", "weaker", "seen", "chained"):
            stamps = getattr(self, name)
            setattr(self, name, None if stamps is None else np.repeat(stamps, self.size))
        self.size = 1
