"""What fences let the strong writes after them release: a value for each thread, in rows that threads share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..ptx.types import Array


class Fenced:
    """What fences of one scope made releasable, for each thread of the batch.

    ``own`` is the time of its last fence, ``acquired`` what it had acquired then, ``at`` the row of ``rows`` that holds
    what it knew then of the warps of its CTA, or has learned of others' fences since. Of the rows that a warp's threads
    have, a later one says no less than an earlier one, unless lanes met apart from the rest of their warp.
    """

    def __init__(self, total: int, warps: int) -> None:
        self.own = np.zeros(total, np.int32)
        self.at = np.zeros(total, np.int64)
        self.acquired = np.zeros(total, np.int64)
        self.rows = np.zeros((64, warps), np.int32)
        self.used = 1

    def known(self, threads: Array | int) -> Array:
        """The rows of threads."""
        result: Array = self.rows[self.at[threads]]
        return result

    def put(self, rows: Array) -> Array:
        """Adds rows; where they are."""
        if self.used > 2 * self.at.size:
            self._drop()
        self.used += len(rows)
        if self.used > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros((2 * self.used, rows.shape[1]), np.int32)])
        self.rows[self.used - len(rows) : self.used] = rows
        return np.arange(self.used - len(rows), self.used)

    def _drop(self) -> None:
        """Drops the rows that no thread has any more; row 0 stays, which says nothing."""
        kept, at = np.unique(np.append(self.at, 0), return_inverse=True)
        self.rows, self.used, self.at = self.rows[kept], kept.size, at[:-1]
