"""What is remembered of each cell of memory: its last write, and two of the reads since.

Cells have four bytes, or one once anything narrower is accessed. Of the reads since the last write those that are known
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

    ``wrote`` and ``read`` are the times of the latest ones in any cell.
    """

    def __init__(self, nbytes: int) -> None:
        self.size = 4
        self.write, self.first, self.second = (np.zeros(-(-nbytes // self.size), np.int64) for _ in range(3))
        self.wrote = self.read = 0

    def cut(self) -> None:
        """Makes cells of one byte."""
        self.write, self.first, self.second = (np.repeat(v, self.size) for v in (self.write, self.first, self.second))
        self.size = 1
