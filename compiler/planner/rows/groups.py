"""Long rows of exponentials: as many threads as make whole groups of accesses.

Each group joins its elements at one anchor, and takes an exponential of each. What is left of a row is one more group,
whose missing accesses take as long as others, so the threads are those that lack few of them. Of those the most are the
fastest: an SM then reads few rows at a time.
"""

from __future__ import annotations

from typing import NamedTuple

from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..table import threshold
from ..task import Task

ACCESSES = threshold({4: 4, 8: 8}, "accesses of a group, by bytes of an element", sittings.GROUPS)
"""A thread has these in flight; of wider elements one access is less work."""
LEAST = threshold(512, "16-byte accesses of a row", sittings.GROUPS)
"""From here on rows are long enough for several warps."""
THREADS = threshold((16 * WARP, 8 * WARP, 4 * WARP, 2 * WARP, WARP), "threads of a row", sittings.GROUPS)
"""These are tried, the most first."""
IN_VAIN = threshold(1.15, "accesses of groups for each of a row", sittings.GROUPS)
"""A row gets the most threads whose groups have at most these, and none where it is one group of each thread."""

FEW_THREADS = threshold(4 * WARP, "threads of a row", sittings.GROUPS)
"""Up to here rows are not to be ABOUT_FULL."""
ABOUT_FULL = threshold((0.9, 1.3), "times the resident threads", sittings.GROUPS)
"""Between these the threads of all rows are about as many as are resident."""
RESIDENT = threshold({4: 2048, 8: 1024}, "threads per SM, by bytes of an element", sittings.GROUPS)
"""The registers of an SM hold these threads."""


class Groups(NamedTuple):
    """The threads of a row, and the accesses that each has in flight."""

    threads: int
    unroll: int


def groups(task: Task, vector: int) -> Groups | None:
    """How a long aligned row of an anchored monoid is read; None for other rows, and where no threads fit."""
    if not _serves(task) or not task.is_aligned("reduced", vector) or vector * task.itemsize != WIDEST:
        return None
    accesses, unroll = -(-task.geometry.n_reduced // vector), ACCESSES[task.itemsize]
    if accesses < LEAST:
        return None
    found = next((threads for threads in THREADS if _fit(accesses, threads * unroll)), None)
    return None if found is None or _about_a_wave(task, found) else Groups(found, unroll)


def _serves(task: Task) -> bool:
    """Whether rows are many, of one array and one dim, and states a sum beside its anchor."""
    heavy = task.has_very_long_combine and task.is_anchored and task.itemsize in ACCESSES
    single = len(task.program.inputs) == task.ranks[1] == 1 and len(task.monoid.state) == 2
    return heavy and single and not task.has_few_results and not task.is_portable


def _about_a_wave(task: Task, threads: int) -> bool:
    """Whether the threads of all rows about fill the machine: most of it waits while the last ones run."""
    filled = task.geometry.n_kept * threads / (task.machine * RESIDENT[task.itemsize])
    return threads <= FEW_THREADS and ABOUT_FULL[0] < filled < ABOUT_FULL[1]


def _fit(accesses: int, group: int) -> bool:
    """Whether the accesses of a row fill groups of the row's threads: one of them, or almost all of several."""
    made = -(-accesses // group) * group
    return made == accesses or group < made <= IN_VAIN * accesses
