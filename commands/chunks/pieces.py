"""Arrays of files as pieces that follow each other in memory, of bounded size; one is read while another is reduced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..requests.inputs import Array


@dataclass(frozen=True)
class Pieces:
    """Arrays of one shape, cut along the axis whose elements lie the farthest apart in their files.

    Attributes:
        arrays: the arrays, of which large ones are maps of their files.
        axis: the axis that is cut.
        rows: how many indices of that axis a piece has, at most.
    """

    arrays: Sequence[Array]
    axis: int
    rows: int

    @classmethod
    def of(cls, arrays: Sequence[Array], nbytes: int) -> Pieces:
        """Pieces of all ``arrays`` together that take about ``nbytes``, or one index of the axis where that is more."""
        first = arrays[0]
        columns = first.flags.f_contiguous and not first.flags.c_contiguous
        axis = first.ndim - 1 if columns else 0
        row = sum(x.itemsize * (x.size // max(x.shape[axis], 1)) for x in arrays)
        return cls(arrays, axis, max(nbytes // max(row, 1), 1))

    @property
    def extent(self) -> int:
        """The number of indices of the axis."""
        return int(self.arrays[0].shape[self.axis])

    def after(self, begin: int) -> Iterator[tuple[int, tuple[Array, ...]]]:
        """The pieces from index ``begin`` on, each with the index behind it.

        A thread reads the next one in the meantime, so two of them are in memory.
        """
        begins = range(begin, self.extent, self.rows)
        with ThreadPoolExecutor(1) as reader:
            waiting = [reader.submit(self._read, b) for b in begins[:1]]
            for b in begins:
                found = waiting.pop().result()
                if b + self.rows < self.extent:
                    waiting.append(reader.submit(self._read, b + self.rows))
                yield min(b + self.rows, self.extent), found

    def _read(self, begin: int) -> tuple[Array, ...]:
        return tuple(self._piece(x, begin, min(begin + self.rows, self.extent)) for x in self.arrays)

    def _piece(self, x: Array, begin: int, end: int) -> Array:
        """The elements of some indices. What a map of a file read would count as memory of this process."""
        place = (slice(None),) * self.axis + (slice(begin, end),)
        row = x.size // max(x.shape[self.axis], 1)
        order: Any = "F" if self.axis else "C"
        contiguous = x.flags.f_contiguous if self.axis else x.flags.c_contiguous
        if not isinstance(x, np.memmap) or not contiguous:
            return np.array(x[place])
        shape = tuple(end - begin if a == self.axis else n for a, n in enumerate(x.shape))
        with Path(str(x.filename)).open("rb") as f:
            f.seek(x.offset + begin * row * x.itemsize)
            return np.fromfile(f, x.dtype, (end - begin) * row).reshape(shape, order=order)
