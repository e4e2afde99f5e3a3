"""Events: one memory instruction of a set of threads, with the cells that it touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .memory_model import Strength, strength, verb_of
from .symbolizer import Symbolizer

if TYPE_CHECKING:
    from ..machine.address_resolution import Access, Piece
    from ..machine.memory import Allocation
    from ..ptx.types import Array
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
