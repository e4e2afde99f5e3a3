"""How many threads a row gets: tables by what is read of it, measured for each kind of rows."""

from __future__ import annotations

from collections.abc import Sequence

from ...program.analysis.cost import operations
from ...target import WARP
from ..alignment import WIDEST, planned, ranks
from ..limits import FEW, LONG_COMBINE, LONGER_COMBINE, kind, numbers_bytes
from ..split import THREADS
from ..task import Task
from . import half_accesses
from .half_accesses import HALF, ROW
from .kinds import are_few, are_simple, are_wide, are_words
from .unroll import PAIR

THREADS_A_ROW = ((3, 1), (6, 2), (32, 4), (128, 16), (224, WARP), (4096, ROW))
THREADS_A_ROW_OF_PAIRS = (*THREADS_A_ROW[:3], (72, 8), *THREADS_A_ROW[3:])
THREADS_A_ROW_OF_SIMPLE_PAIRS = (*THREADS_A_ROW[:3], (60, 8), (128, 16), (340, WARP), (1600, ROW))
THREADS_A_ROW_OF_WORDS = (*THREADS_A_ROW[:3], (112, 16), (127, WARP), *THREADS_A_ROW[3:])
"""(accesses, threads): rows of so many wide accesses at most get so many threads; longer ones a CTA of THREADS. Rows of
one thread lie side by side, so that a warp reads neighbours anyway; four lanes read 64 bytes in a row; up to a warp
needs no shared memory. An access counts as a wide one is, and of pairs of bytes they have one class more, others where
states are simple (``are_simple``); so have words (``are_words``), where of 16 threads some would have a whole step
more than others: a warp then takes both ways."""
OF_ONE_WARP = 512
"""Accesses of a row of states of several registers up to which it gets a warp and no more."""
THREADS_A_ROW_OF_LONG = {
    1: ((5, 1), (32, 4), (512, 16), (4096, WARP)),
    LONG_COMBINE: ((7, 1), (15, 2), (63, 4), (512, 8), (4096, WARP)),
}
"""THREADS_A_ROW where LONG_COMBINE operations join the elements of an access, by those of one combine: each thread has
more of them then."""
THREADS_A_ROW_OF_LONGER = {
    2: ((15, 1), (47, 2), (126, 4), (300, 8), (600, 16), (4096, WARP)),
    8: ((15, 1), (31, 2), (63, 4), (512, 8), (4096, WARP)),
}
"""The same of LONGER_COMBINE operations, by the bytes of an element, where these have a table of their own."""
RESIDENT_OF_LONGER, LITTLE_MORE = 1536, 1.75
"""Threads of such a combine of words that the registers of an SM have room for, and how many times as many as are
resident are too few: while those run that came last, most of the machine waits. Others take more work an element, which
weighs more."""
THREADS_OF_NUMBERED = ((6, 1), (32, 4), (64, 8), (128, 16), (511, WARP), (2000, ROW))
THREADS_OF_SHIFTED_NUMBERED = ((6, 1), (24, 2), (70, 4), (130, 8), (700, 16), (8000, ROW))
"""The same of bytes that are numbered, and of those where they begin anywhere: a thread has no more than one step has
room for, or a few that have much to choose from."""
THREADS_OF_SINGLE_LONG = ((20, 1), (64, 2), (128, 4), (400, 8), (2500, 16), (12000, WARP), (30000, ROW))
"""(elements, threads): the same of rows that are read by single elements, of long combines."""
THREADS_OF_BYTES = ((64, 1), (192, 4), (800, 8))
"""(bytes, threads): rows that are read by single elements get so many threads up to so many bytes; others a warp."""
WARP_TO = 1024
"""Elements up to which a row that is read one by one gets a warp and no more."""
THREADS_A_ROW_OF_FEW = {"wide": ((2, 1), (4, 4), (64, WARP)), "single": ((4, 1), (16, 4), (64, WARP))}
"""The same where results are few."""
THREADS_OF_SEVERAL_DIMS = ((512, FEW, 8), (8192, 4 * FEW, WARP))
"""(accesses, warps, threads): rows of several dims, of at most so many accesses, get so many threads where results fill
the machine by so many warps an SM; others ROW threads, or where results are few those of a CTA."""
FOUR, ONE = 8, 0.75
"""Accesses for each element of one: such rows of fewer get four threads or one, so that few of the elements that these
read are masked; longer ones, up to MOST_OF_A_WARP accesses, by the bytes of an element, get a warp, and up to
MOST_OF_A_ROW ROW threads."""
MOST_OF_A_WARP, MOST_OF_A_ROW = {1: 512, 2: 768, 4: 640, 8: 1024}, 2048
THREADS_OF_SHIFTED = {
    2: ((640, WARP), (1600, ROW)), 4: ((360, WARP), (2048, ROW)), 8: ((180, 16), (640, WARP), (2200, ROW)),
}  # fmt: skip
"""(accesses, threads), by the bytes of an element: the same of those with a state of one value and no number."""


def threads_of(task: Task, vector: int) -> int:
    """By the number of its accesses, and by whether the results alone fill the machine."""
    g = task.geometry
    accesses, nbytes = -(-g.n_reduced // vector), g.n_reduced * task.itemsize
    if ranks(g)[1] > 1:
        return _of_several_dims(task, accesses)
    if are_few(task):
        return _first(THREADS_A_ROW_OF_FEW[kind(vector)], accesses)
    if half_accesses.served(task) and vector * task.itemsize == HALF:
        return half_accesses.threads(task)
    return _first(_steps(task, vector), -(-nbytes // WIDEST) if vector > 1 else accesses)


def _of_several_dims(task: Task, accesses: int) -> int:
    """The same where dims did not merge: an access takes a division, so that threads have work enough."""
    for most, warps, threads in THREADS_OF_SEVERAL_DIMS:
        if accesses <= threads or (accesses <= most and task.geometry.n_kept >= warps * task.machine):
            return threads
    return THREADS if are_few(task) else ROW


def in_waves(task: Task, positions: int) -> int:
    """So many threads of a row, twice as many, or half, so that there are not a few more than are resident."""
    waves = task.geometry.n_kept * positions / (task.machine * RESIDENT_OF_LONGER)
    if not 1 < waves < LITTLE_MORE:
        return positions
    return 2 * positions if positions < WARP else positions // 2


def _first(steps: Sequence[tuple[float, int]], size: int) -> int:
    """The threads of the first class of so large rows; those of a CTA beyond."""
    return next((threads for most, threads in steps if size <= most), THREADS)


def _steps(task: Task, vector: int) -> tuple[tuple[float, int], ...]:
    """(accesses, threads) of rows that fill the machine."""
    code = operations(task.monoid)
    if numbers_bytes(task) and vector > 1:
        aligned = planned(task, "reduced", vector) == {"aligned"}
        return THREADS_OF_NUMBERED if aligned else THREADS_OF_SHIFTED_NUMBERED
    is_long = code * vector >= LONG_COMBINE
    steps: tuple[tuple[float, int], ...] = THREADS_A_ROW_OF_PAIRS if task.itemsize == 2 else THREADS_A_ROW
    steps = THREADS_A_ROW_OF_WORDS if are_words(task) else steps
    steps = THREADS_A_ROW_OF_SIMPLE_PAIRS if task.itemsize == PAIR and are_simple(task) else steps
    if is_long:
        steps = next(found for least, found in reversed(THREADS_A_ROW_OF_LONG.items()) if code >= least)
        steps = THREADS_A_ROW_OF_LONGER.get(task.itemsize, steps) if code >= LONGER_COMBINE else steps
    elif are_wide(task):
        steps = tuple((OF_ONE_WARP if threads == WARP else most, threads) for most, threads in steps)
    if vector == 1 and code >= LONG_COMBINE:
        return THREADS_OF_SINGLE_LONG
    if vector == 1:
        return (*((nbytes / task.itemsize, threads) for nbytes, threads in THREADS_OF_BYTES), (WARP_TO, WARP))
    if "shifted" not in planned(task, "reduced", vector):
        return steps
    item = WIDEST // task.itemsize
    short = ((ONE * item, 1), (FOUR * item, 4))
    if code >= LONG_COMBINE:
        return (*short, *steps[1:])
    if are_simple(task) and (task.itemsize != 4 or are_words(task)) and task.itemsize in THREADS_OF_SHIFTED:
        return (*short, *THREADS_OF_SHIFTED[task.itemsize])
    return (*short, (MOST_OF_A_WARP[task.itemsize], WARP), (MOST_OF_A_ROW, ROW))
