"""Rows of narrow elements that are read by half an access at a time.

A wide access of bytes is much for a thread to mask and to join. With half of it twice as many threads share a row that
is not long, and of an aligned row each thread has all that it reads in flight at once.
"""

from __future__ import annotations

from ...target import WARP
from .. import sittings
from ..alignment import HALF
from ..limits import CTA_THREADS, STATE_REGISTERS, UNROLL, widest_of
from ..table import Table, threshold
from ..task import Task

FOUR_WARPS = 4 * WARP
"""Threads of a row that one CTA of four warps reads in a few steps."""
SIXTEEN_WARPS = 16 * WARP
"""Threads of a long row: four such CTAs fill an SM, which then reads four rows at a time."""
THREADS_OF_ALIGNED = Table(
    "bytes of a row",
    "threads",
    sittings.WIDE_CTAS,
    (
        (56, 1),
        (88, 2),
        (200, 4),
        (960, 8),
        (1500, 16),
        (5500, WARP),
        (12000, FOUR_WARPS),
        (48000, CTA_THREADS),
        (131072, SIXTEEN_WARPS),
    ),
)
"""Aligned rows of bytes that are added, joined or compared; a CTA of 256 threads beyond."""
THREADS_OF_OTHERS = Table(
    "bytes of a row", "threads", sittings.PAIR_RUNS, ((60, 1), (88, 2), (600, 4), (1100, 8), (5000, 16), (8192, WARP))
)
"""Rows of narrow elements that begin anywhere, and aligned ones of other bytes; longer ones by whole accesses."""
THREADS_OF_SHIFTED_TRUTHS = Table(
    "bytes of a row",
    "threads",
    sittings.PAIR_RUNS,
    ((60, 1), (88, 2), (600, 4), (2300, 8), (5000, 16), (40960, WARP)),
)
"""Rows of truth values that begin anywhere, which take the fewest instructions an element."""
SHIFTED_PAIRS_BYTES = threshold(3200, "bytes of a row", sittings.PAIR_RUNS)
"""Rows of 2-byte elements that begin anywhere are read by half accesses up to here; aligned ones never are."""
HALF_ROW_THREADS = threshold(4, "threads of a row", sittings.PAIR_RUNS)
"""Up to here rows are so short that a thread has at most UNROLL_OF_SHORT_ROWS accesses in flight."""
UNROLL_OF_SHORT_ROWS = threshold(2, "accesses in flight", sittings.PAIR_RUNS)
"""A thread of a short row, or of bytes that are not combined by the word, has at most these."""
IN_VAIN = threshold(3, "accesses", sittings.PAIR_RUNS)
"""One in so many accesses of a thread may be masked off, so that more of them are in flight."""


def serves(task: Task) -> bool:
    """Whether rows are read by half accesses."""
    narrow = task.itemsize <= 2 and task.state_registers <= 2 and not task.has_long_combine
    if not narrow or task.has_few_results or task.ranks[1] > 1 or task.ranks_bytes:
        return False
    n = task.geometry.n_reduced
    if _is_aligned(task):
        return task.itemsize == 1 and (task.combines_words or n <= THREADS_OF_OTHERS.last)
    table = THREADS_OF_SHIFTED_TRUTHS if task.joins_truths else THREADS_OF_OTHERS
    return n * task.itemsize <= (SHIFTED_PAIRS_BYTES if task.itemsize > 1 else table.last)


def threads(task: Task) -> int:
    """Threads of a row."""
    words = task.combines_words and _is_aligned(task)
    others = THREADS_OF_SHIFTED_TRUTHS if task.joins_truths else THREADS_OF_OTHERS
    table = THREADS_OF_ALIGNED if words else others
    return table.at(task.geometry.n_reduced * task.itemsize) or CTA_THREADS


def unroll(task: Task, vector: int, positions: int) -> int:
    """Accesses in flight of each of ``positions`` threads of an aligned row."""
    accesses = -(-task.geometry.n_reduced // vector)
    many = task.combines_words and positions > HALF_ROW_THREADS
    return at_once(-(-accesses // positions), UNROLL if many else UNROLL_OF_SHORT_ROWS)


def at_once(each: int, most: int) -> int:
    """As many of a thread's ``each`` accesses as can be in flight, up to ``most``, with few of them in vain."""
    choices = [1 << k for k in range(most.bit_length())]
    return max(n for n in choices if IN_VAIN * (-each % n) <= each)


def _is_aligned(task: Task) -> bool:
    """Whether rows are aligned for accesses of HALF bytes."""
    return task.is_aligned("reduced", min(HALF // task.itemsize, widest_of(task, STATE_REGISTERS)))
