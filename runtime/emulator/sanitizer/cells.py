"""What is remembered of each cell of memory: its last write, and two of the reads since.

Cells have four bytes, or one once anything weakerer is accessed. Of the reads since the last write those that are known
to the next reader are forgotten; two that are not are kept, of different warps if there are such (after C. Flanagan and
S. Freund, FastTrack, PLDI 2009, which keeps all of them).

An access is one number, a stamp: the time of its event (which says the instruction) and the thread, as 32 bits each.
"""

from __future__ import annotations

import numpy as np

from ..types import Array

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


class Cells:
    """The cells of ``nbytes`` bytes, ``size`` bytes each: stamps of the last ``write``, of two reads; 0 is none.

    Strong writes may follow each other unordered, and one who may meet the last of them may not meet all: ``hidden`` is
    an unordered one that the last took the place of, ``weaker`` one that is weak or below GPU scope, ``seen`` the last
    strong access that found the last write there; each is made when there is one. ``wrote`` and ``read`` are the times
    of the latest accesses to any cell.
    """

    def __init__(self, nbytes: int) -> None:
        self.size = 4
        self.write, self.first, self.second = (np.zeros(-(-nbytes // self.size), np.int64) for _ in range(3))
        self.hidden: Array | None = None
        self.weaker: Array | None = None
        self.seen: Array | None = None
        self.wrote = self.read = 0

    @property
    def writes(self) -> list[Array]:
        """The stamps of writes."""
        return [v for v in (self.write, self.hidden, self.weaker) if v is not None]

    def hide(self, cells: Array, stamps: Array) -> None:
        """Remembers unordered writes that others take the place of."""
        self.hidden = np.zeros_like(self.write) if self.hidden is None else self.hidden
        self.hidden[cells] = stamps

    def put(self, cells: Array, stamps: Array) -> None:
        """Remembers weak writes: whoever comes after one comes after all before it, or those two were a race."""
        self.write[cells] = stamps
        for others in (self.hidden, self.weaker, self.seen):
            if others is not None:
                others[cells] = 0

    def put_strong(self, cells: Array, stamps: Array, observes: bool) -> None:
        """Remembers strong writes, and whether they observe what was there."""
        self.write[cells] = stamps
        if observes:
            self.see(cells, stamps)
        elif self.seen is not None:
            self.seen[cells] = 0

    def see(self, cells: Array, stamps: Array) -> None:
        """Remembers strong accesses that observe the last write."""
        self.seen = np.zeros_like(self.write) if self.seen is None else self.seen
        self.seen[cells] = stamps

    def weaken(self, cells: Array, stamps: Array) -> None:
        """Remembers weaker writes that strong ones take the place of."""
        self.weaker = np.zeros_like(self.write) if self.weaker is None else self.weaker
        self.weaker[cells] = stamps

    def cut(self) -> None:
        """Makes cells of one byte."""
        for name in ("write", "first", "second", "hidden", "weaker", "seen"):
            stamps = getattr(self, name)
            setattr(self, name, None if stamps is None else np.repeat(stamps, self.size))
        self.size = 1
