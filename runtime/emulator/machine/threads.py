"""Sets of threads that run together, also seen as rows of warps.

The threads of a batch are numbered CTA by CTA. Each CTA's threads are padded to whole warps, so thread ``t`` is lane
``t % 32`` of warp ``t // 32``. Padding threads exist but have exited before the first instruction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....compiler.lazy import lazy
from ..instructions.op import broadcast
from ..ptx.types import Array

WARP = 32


class Threads:
    """A set of threads of one batch: ``index`` holds their sorted numbers, or None for all ``total`` of them."""

    def __init__(self, index: Array | None, total: int, per_cta: int, parent: Threads | None = None) -> None:
        self.index = index
        self.total, self.per_cta = total, per_cta
        self.n = total if index is None else int(index.size)
        self.parent = parent

    @lazy
    def numbers(self) -> Array:
        """The thread numbers, int64."""
        return np.arange(self.total) if self.index is None else self.index

    @lazy
    def ctas(self) -> Array:
        """The CTA (within the batch) of each thread."""
        return self.numbers // self.per_cta

    @lazy
    def homes(self) -> Array:
        """The CTAs (within the batch) that have a thread in the set, ascending."""
        return self.ctas[_first(self.ctas)]

    @lazy
    def warps(self) -> Array:
        """The warp (within the batch) of each row of the warp view, ascending."""
        if self.index is None:
            return np.arange(self.total // WARP)
        each = self.index >> 5
        return each[_first(each)]

    @lazy
    def whole(self) -> bool:
        """Whether every warp that has a thread in the set has all 32 in it."""
        return self.n == WARP * self.warps.size

    @lazy
    def row(self) -> Array:
        """The row of each thread in the warp view."""
        return np.searchsorted(self.warps, self.numbers >> 5)

    @lazy
    def column(self) -> Array:
        """The lane number of each thread."""
        return self.numbers & 31

    @lazy
    def present(self) -> Array:
        """Flags of shape (warps, 32): whether each lane is in the set."""
        out = np.zeros((self.warps.size, WARP), bool)
        out[self.row, self.column] = True
        return out

    def select(self, mask: Array) -> Threads:
        """The threads where ``mask`` (one flag per thread of this set) is true."""
        return Threads(self.numbers[mask], self.total, self.per_cta, self)

    def rows(self, value: Array) -> Array:
        """``value`` in the shape (warps, 32); absent lanes hold zero."""
        value = broadcast(value, self.n)
        if self.whole:
            return np.ascontiguousarray(value).reshape(-1, WARP)
        out = np.zeros((self.warps.size, WARP), value.dtype)
        out[self.row, self.column] = value
        return out

    def flat(self, rows: Array) -> Array:
        """The values of the threads of this set, from an array of shape (warps, 32)."""
        return rows.reshape(-1) if self.whole else rows[self.row, self.column]


def _first(ascending: Array) -> Array:
    """Flags of the first occurrence of each value of a sorted array."""
    found = np.ones(ascending.size, bool)
    np.not_equal(ascending[1:], ascending[:-1], out=found[1:])
    return found


def union(sets: Sequence[Threads], full: Threads) -> Threads:
    """The union of disjoint sets. A set that was split and is complete again is the same object again."""
    if len(sets) == 1:
        return sets[0]
    n = sum(s.n for s in sets)
    if n == full.total:
        return full
    parent = sets[0].parent
    if parent is not None and parent.n == n and all(s.parent is parent for s in sets):
        return parent
    return Threads(np.sort(np.concatenate([s.numbers for s in sets])), full.total, full.per_cta)
