"""Rows of narrow elements that are read by half an access at a time.

A wide access of bytes is much for a thread to mask and to join: with half of it twice as many threads share a row that
is not long, and of an aligned one each has all that it reads in flight at once.
"""

from __future__ import annotations

from ...program.analysis.cost import operations
from ...target import WARP
from ..alignment import WIDEST, planned, ranks
from ..limits import FEW as WARPS
from ..limits import LONG_COMBINE, STATE_LIMIT, UNROLL, in_words, joins_truths, numbers_bytes, widest_of
from ..split import THREADS
from ..task import Task

HALF = WIDEST // 2
"""Bytes of an access."""
ROW = 128
"""Threads of a row that one CTA of four warps reads in a few steps."""
ALIGNED = ((56, 1), (88, 2), (200, 4), (960, 8), (1500, 16), (5500, WARP), (12000, ROW))
OTHERS = ((60, 1), (88, 2), (600, 4), (1100, 8), (5000, 16), (8192, WARP))
SHIFTED_TRUTHS = (*OTHERS[:3], (2300, 8), *OTHERS[4:], (40960, WARP))
"""(bytes, threads): rows of so many bytes at most get so many threads. Longer ones get those of a CTA where they are
aligned and those of a word are taken up at once; others are read by whole accesses. Shifted truth values take the
fewest instructions an element."""
OF_PAIRS = 3200
"""Bytes, at most, of shifted rows of pairs of bytes that are read so; aligned ones are not."""
FEW, IN_VAIN = 4, 3
"""Threads of so short rows that they have no more than TWO accesses in flight; and the part of a thread's accesses, one
in so many, that may be in vain for as many to be in flight as can be."""
TWO = 2


def served(task: Task) -> bool:
    """Whether rows are read so."""
    narrow = task.itemsize <= 2 and task.state_registers <= 2 and operations(task.monoid) < LONG_COMBINE
    g = task.geometry
    if not narrow or g.n_kept < WARPS * task.machine or ranks(g)[1] > 1 or numbers_bytes(task):
        return False
    if _aligned(task):
        return task.itemsize == 1 and (in_words(task) or g.n_reduced <= OTHERS[-1][0])
    most = OF_PAIRS if task.itemsize > 1 else SHIFTED_TRUTHS[-1][0] if joins_truths(task) else OTHERS[-1][0]
    return g.n_reduced * task.itemsize <= most


def threads(task: Task) -> int:
    """Threads of a row."""
    words = in_words(task) and _aligned(task)
    table = ALIGNED if words else SHIFTED_TRUTHS if joins_truths(task) else OTHERS
    nbytes = task.geometry.n_reduced * task.itemsize
    return next((threads for most, threads in table if nbytes <= most), THREADS)


def unroll(task: Task, vector: int, positions: int) -> int:
    """Accesses in flight of each of so many threads of an aligned row."""
    accesses = -(-task.geometry.n_reduced // vector)
    return at_once(-(-accesses // positions), UNROLL if in_words(task) and positions > FEW else TWO)


def at_once(each: int, most: int) -> int:
    """As many of ``each`` accesses of a thread as can be in flight, ``most`` of them, of which few are in vain."""
    choices = [1 << k for k in range(most.bit_length())]
    return max(n for n in choices if IN_VAIN * (-each % n) <= each)


def _aligned(task: Task) -> bool:
    """Whether rows are, for accesses of HALF bytes."""
    return planned(task, "reduced", min(HALF // task.itemsize, widest_of(task, STATE_LIMIT))) == {"aligned"}
