"""What fences let later strong writes release, or copies see: for each thread what its warp knew at the fence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..ptx.types import Array


class Fenced:
    """What the fences of one scope made releasable, for each thread of the batch.

    Attributes:
        own: the time of the thread's last fence.
        acquired: the number of what the thread had acquired through memory at its last fence.
        at: the index in ``rows`` of what the thread knew at its last fence, or has learned from fences of others since.
        rows: known times, one for each warp of the CTA. Threads share rows. Within a warp a later row knows no less
            than an earlier one, unless lanes have met apart from the rest of their warp.
        used: the number of rows in use.
    """

    def __init__(self, total: int, warps: int) -> None:
        self.own = np.zeros(total, np.int32)
        self.at = np.zeros(total, np.int64)
        self.acquired = np.zeros(total, np.int64)
        self.rows = np.zeros((64, warps), np.int32)
        self.used = 1

    def passed(self, threads: Array, now: int, known: Array, acquired: Array) -> None:
        """Notes that threads pass a fence at the time ``now``: what their warps know, and what they have acquired."""
        self.own[threads] = now
        warps, which = np.unique(threads >> 5, return_inverse=True)
        self.at[threads] = self.put(known[warps])[which]
        self.acquired[threads] = acquired[threads]

    def known(self, threads: Array | int) -> Array:
        """The rows of ``threads``."""
        result: Array = self.rows[self.at[threads]]
        return result

    def put(self, rows: Array) -> Array:
        """Adds rows and returns their indices."""
        if self.used > 2 * self.at.size:
            self._drop()
        self.used += len(rows)
        if self.used > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros((2 * self.used, rows.shape[1]), np.int32)])
        self.rows[self.used - len(rows) : self.used] = rows
        return np.arange(self.used - len(rows), self.used)

    def _drop(self) -> None:
        """Drops rows that no thread uses any more. Row 0 stays: it knows nothing."""
        kept, at = np.unique(np.append(self.at, 0), return_inverse=True)
        self.rows, self.used, self.at = self.rows[kept], kept.size, at[:-1]
