"""Arrays of files as pieces that follow each other in memory, of bounded size, some of which are read at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...compiler.errors import error
from ..requests.inputs import Array

T = TypeVar("T")
Read = tuple[Array, ...]


class _Memory(threading.local):
    """Memory of one thread, for a piece of each array by its number.

    It is used again: the first writes to fresh pages take longer than the bytes of a file take to copy.
    """

    def __init__(self) -> None:
        self.memory: dict[int, Array] = {}


@dataclass(frozen=True)
class Pieces:
    """Arrays of one shape, cut along the axis whose elements lie the farthest apart in their files.

    Attributes:
        arrays: the arrays, of which large ones are maps of their files.
        axis: the axis that is cut.
        rows: how many indices of that axis a piece has, at most.
        own: the memory into which each thread reads.
    """

    arrays: Sequence[Array]
    axis: int
    rows: int
    own: _Memory = field(default_factory=_Memory, repr=False)

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

    def after(self, begin: int, made: Callable[[int, Read], T], threads: int = 0) -> Iterator[tuple[int, T]]:
        """What ``made`` makes of each piece from index ``begin`` on, in order, with the index behind the piece.

        It is given the index of a piece and its arrays. With ``threads`` so many of them each read a piece and make
        something of it, which must not hold its arrays. Without, a thread reads the next piece in the meantime.
        """
        if threads:
            yield from self._ahead(begin, lambda b: made(b, self._read(b, self.own.memory)), threads, threads + 1)
            return
        last = begin
        for behind, arrays in self._ahead(begin, lambda b: self._read(b, {}), 1, 1):
            yield behind, made(last, arrays)
            last = behind

    def _ahead(self, begin: int, task: Callable[[int], T], threads: int, most: int) -> Iterator[tuple[int, T]]:
        """What ``task`` gives for each piece, of which ``most`` are under way."""
        begins = iter(range(begin, self.extent, self.rows))
        pool = ThreadPoolExecutor(threads)
        try:
            waiting = deque((b, pool.submit(task, b)) for b in islice(begins, most))
            while waiting:
                b, first = waiting.popleft()
                found = first.result()
                waiting += ((b, pool.submit(task, b)) for b in islice(begins, 1))
                yield min(b + self.rows, self.extent), found
        finally:
            pool.shutdown(cancel_futures=True)

    def _read(self, begin: int, memory: dict[int, Array]) -> Read:
        """The piece that begins there, in ``memory`` by the numbers of the arrays where that is large enough."""
        end = min(begin + self.rows, self.extent)
        return tuple(self._piece(k, x, begin, end, memory) for k, x in enumerate(self.arrays))

    def _piece(self, number: int, x: Array, begin: int, end: int, memory: dict[int, Array]) -> Array:
        """The elements of some indices. What a map of a file read would count as memory of this process."""
        place = (slice(None),) * self.axis + (slice(begin, end),)
        row = x.size // max(x.shape[self.axis], 1)
        order: Any = "F" if self.axis else "C"
        contiguous = x.flags.f_contiguous if self.axis else x.flags.c_contiguous
        if not isinstance(x, np.memmap) or not contiguous:
            return np.array(x[place])
        shape = tuple(end - begin if a == self.axis else n for a, n in enumerate(x.shape))
        size = (end - begin) * row * x.itemsize
        if number not in memory or memory[number].size < size:
            memory[number] = np.empty(size, np.uint8)
        data = memory[number][:size]
        _fill(data, str(x.filename), x.offset + begin * row * x.itemsize)
        return data.view(x.dtype).reshape(shape, order=order)


def _fill(data: Array, path: str, at: int) -> None:
    """Reads bytes of a file from one place on.

    Raises:
        FileError: WF507 where the file has become shorter.
    """
    done = 0
    with Path(path).open("rb", buffering=0) as f:
        f.seek(at)
        while done < data.size:  # a call reads 2 GiB at most
            read = f.readinto(data.data[done:])
            if not read:
                raise error("WF507", path=path, reason=f"it ends at byte {at + done} now")
            done += read
