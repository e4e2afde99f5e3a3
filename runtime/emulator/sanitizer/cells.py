"""What is remembered of each cell of memory: its last write, and two of the reads since.

Cells have four bytes, or one once anything narrower is accessed. Of the reads since the last write those that are known
to the next reader are forgotten; two that are not are kept, of different warps if there are such (after C. Flanagan and
S. Freund, FastTrack, PLDI 2009, which keeps all of them).
"""

from __future__ import annotations

import numpy as np

from ..types import Array


class Record:
    """For each cell a thread (its number in the launch plus one, 0: none), time, line and strength."""

    def __init__(self, count: int) -> None:
        self.thread, self.time, self.line = (np.zeros(count, np.int32) for _ in range(3))
        self.code = np.zeros(count, np.uint8)

    def put(self, cells: Array | slice, thread: Array, time: int, line: int, code: int) -> None:
        """Remembers an access."""
        self.thread[cells], self.time[cells], self.line[cells], self.code[cells] = thread, time, line, code

    def copy_to(self, other: Record, cells: Array) -> None:
        """Makes the record of some cells that of ``other``, too."""
        for name in ("thread", "time", "line", "code"):
            getattr(other, name)[cells] = getattr(self, name)[cells]

    def repeated(self, times: int) -> Record:
        """The record of cells that are cut."""
        out = Record(0)
        for name in ("thread", "time", "line", "code"):
            setattr(out, name, np.repeat(getattr(self, name), times))
        return out


class Cells:
    """The cells of ``nbytes`` bytes: ``write``, ``first`` and ``second`` reads; ``size`` bytes each."""

    def __init__(self, nbytes: int, size: int = 4) -> None:
        self.size = size
        count = -(-nbytes // size)
        self.write, self.first, self.second = Record(count), Record(count), Record(count)
        self.read = False

    def cut(self) -> None:
        """Makes cells of one byte."""
        for name in ("write", "first", "second"):
            setattr(self, name, getattr(self, name).repeated(self.size))
        self.size = 1
