"""What is remembered of each cell of memory: its last write, and two of the reads since.

Cells have four bytes, or one once anything weakerer is accessed. Of the reads since the last write those that are known
to the next reader are forgotten; two that are not are kept, of different warps if there are such (after C. Flanagan and
S. Freund, FastTrack, PLDI 2009, which keeps all of them).

An access is one number, a stamp: the time of its event (which says the instruction) and the thread, as 32 bits each.
"""

from __future__ import annotations

import numpy as np

from ..ptx.types import Array

_LOW = 0xFFFFFFFF


def stamp(time: int, numbers: Array) -> Array:
    """The stamps of accesses by threads (their numbers in the launch) at ``time``, which is never 0."""
    result: Array = numbers + (time << 32)
    return result


def time_of(stamps: Array) -> Array:
    """The times of accesses."""
    result: Array = stamps >> 32
    return result


def thread_of(stamps: Array) -> Array:
    """Their threads."""
    result: Array = stamps & _LOW
    return result


class AccessHistory:
    """The cells of ``nbytes`` bytes, ``size`` bytes each: stamps of the last ``write``, of ``reads``; 0 is none.

    Strong writes may follow each other unordered, and one who may meet the last of them may not meet all: ``hidden`` is
    an unordered one that the last took the place of, ``weaker`` one that is weak or below GPU scope. What was observed
    is ordered: ``seen`` is the last strong read since a store, ``chained`` says that the last write is an atomic. Each
    is made when there is one. ``wrote`` and ``read`` are the times of the latest accesses to any cell.
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
        """The stamps of reads."""
        return [v for v in (self.first, self.second) if v is not None]

    @property
    def writes(self) -> list[Array]:
        """The stamps of writes."""
        return [v for v in (self.write, self.hidden, self.weaker) if v is not None]

    def observers(self, cells: Array) -> list[Array]:
        """The stamps of strong accesses that found there what was written before; 0 where there is none."""
        out = [] if self.seen is None else [self.seen[cells]]
        return out if self.chained is None else [*out, self.write[cells] * self.chained[cells]]

    def hide(self, cells: Array, stamps: Array) -> None:
        """Remembers unordered writes that others take the place of."""
        self.hidden = np.zeros_like(self.write) if self.hidden is None else self.hidden
        self.hidden[cells] = stamps

    def put(self, cells: Array, stamps: Array) -> None:
        """Remembers weak writes: whoever comes after one comes after all before it, or those two were a race."""
        self.write[cells] = stamps
        for others in (self.hidden, self.weaker, self.seen, self.chained):
            if others is not None:
                others[cells] = 0

    def put_strong(self, cells: Array, stamps: Array, observes: bool) -> None:
        """Remembers strong writes; those that observe what was there leave the others that did."""
        self.write[cells] = stamps
        self.chained = np.zeros(self.write.size, bool) if self.chained is None else self.chained
        self.chained[cells] = observes
        if not observes and self.seen is not None:
            self.seen[cells] = 0

    def see(self, cells: Array, stamps: Array) -> None:
        """Remembers strong reads, which observe the last write."""
        self.seen = np.zeros_like(self.write) if self.seen is None else self.seen
        self.seen[cells] = stamps

    def weaken(self, cells: Array, stamps: Array) -> None:
        """Remembers weaker writes that strong ones take the place of."""
        self.weaker = np.zeros_like(self.write) if self.weaker is None else self.weaker
        self.weaker[cells] = stamps

    def cut(self) -> None:
        """Makes cells of one byte."""
        for name in ("write", "first", "second", "hidden", "weaker", "seen", "chained"):
            stamps = getattr(self, name)
            setattr(self, name, None if stamps is None else np.repeat(stamps, self.size))
        self.size = 1
