"""How many threads a row gets: tables by what is read of it, measured for each kind of rows."""

from __future__ import annotations

from ...target import WARP
from .. import lists, sittings
from ..alignment import HALF, WIDEST
from ..limits import CTA_THREADS
from ..table import Sitting, Table, threshold
from ..task import FILLING_WARPS, LONG_COMBINE, Task
from . import half_accesses
from .half_accesses import FOUR_WARPS, SIXTEEN_WARPS

ACCESSES = "16-byte accesses of a row"
THREADS_OF_WIDE = Table(
    ACCESSES,
    "threads",
    sittings.WIDE_CTAS,
    ((3, 1), (6, 2), (12, 4), (28, 8), (128, 16), (224, WARP), (2000, FOUR_WARPS), (8192, SIXTEEN_WARPS)),
)
"""Rows read by vectors, unless another table decides. Rows of one thread lie side by side, so that a warp reads
neighbours anyway; four lanes read 64 bytes in a row; up to a warp needs no shared memory. A long row gets a wide CTA,
so that an SM reads few rows at a time."""
THREADS_OF_PAIRS = Table(
    ACCESSES,
    "threads",
    sittings.WIDE_CTAS,
    ((3, 1), (6, 2), (32, 4), (72, 8), (128, 16), (224, WARP), (2000, FOUR_WARPS), (8192, SIXTEEN_WARPS)),
)
"""Rows of 2-byte elements."""
_OF_LONG = ((700, FOUR_WARPS), (1000, CTA_THREADS), (8192, SIXTEEN_WARPS))
"""Long rows of light states."""
THREADS_OF_SIMPLE_PAIRS = Table(
    ACCESSES,
    "threads",
    sittings.WIDE_CTAS,
    ((3, 1), (6, 2), (16, 4), (28, 8), (112, 16), (340, WARP), *_OF_LONG),
)
"""Rows of 2-byte elements whose states have one value and no number."""
THREADS_OF_WORDS = Table(
    ACCESSES,
    "threads",
    sittings.WIDE_CTAS,
    ((3, 1), (6, 2), (12, 4), (28, 8), (112, 16), (127, WARP), (128, 16), (224, WARP), *_OF_LONG),
)
"""Rows of 4-byte elements whose states are one register without a number. From 112 to 127 accesses some of 16 threads
would have a whole step more than others, and a warp would take both ways."""
WARP_OF_WIDE_STATES = threshold(512, ACCESSES, sittings.SIXTY_THOUSAND)
"""A row of states of several registers, or of numbered elements, gets a warp and no more up to here."""
WHOLE_STEPS = threshold(((4096, SIXTEEN_WARPS), (1024, FOUR_WARPS)), "(accesses of a row, threads)", sittings.WIDE_CTAS)
"""A row of a multiple of these accesses, of 4- or 8-byte elements that are much work, gets these threads, and any other
a warp: no access of their steps is masked."""
THREADS_OF_LONG_ACCESSES = Table(ACCESSES, "threads", sittings.BLOCKS, ((5, 1), (32, 4), (512, 16), (4096, WARP)))
"""Rows of short combines that take LONG_COMBINE instructions for the elements of an access."""
THREADS_OF_LONG_COMBINES = Table(
    ACCESSES, "threads", sittings.BLOCKS, ((7, 1), (15, 2), (63, 4), (512, 8), (4096, WARP))
)
"""Rows of long combines: each thread has more elements then."""
THREADS_OF_VERY_LONG_PAIRS = Table(
    ACCESSES, "threads", sittings.ANCHORED, ((15, 1), (47, 2), (126, 4), (300, 8), (600, 16), (4096, WARP))
)
"""Rows of 2-byte elements of very long combines."""
THREADS_OF_APPROXIMATED_PAIRS = Table(
    ACCESSES,
    "threads",
    sittings.SHORT_ROWS,
    ((15, 1), (47, 2), (90, 4), (200, 8), (320, 16), (700, WARP), (4096, FOUR_WARPS)),
)
"""Rows of 2-byte elements of combines with approximate exponentials, which take half the instructions."""
THREADS_OF_VERY_LONG_DOUBLES = Table(
    ACCESSES, "threads", sittings.ANCHORED, ((15, 1), (31, 2), (63, 4), (512, 8), (4096, WARP))
)
"""Rows of 8-byte elements of very long combines."""
RESIDENT_OF_VERY_LONG = threshold(1536, "threads per SM", sittings.ANCHORED)
"""The registers of an SM hold these threads of a very long combine of 4-byte elements."""
LITTLE_MORE_THAN_RESIDENT = threshold(1.75, "times the resident threads", sittings.ANCHORED)
"""Up to here threads are too few more than are resident: while the last ones run, most of the machine waits."""
THREADS_OF_NUMBERED = Table(
    ACCESSES, "threads", sittings.NUMBERED, ((6, 1), (32, 4), (64, 8), (128, 16), (511, WARP), (2000, FOUR_WARPS))
)
"""Aligned rows of numbered bytes: a thread has no more than one step has room for."""
THREADS_OF_SHIFTED_NUMBERED = Table(
    ACCESSES, "threads", sittings.NUMBERED, ((6, 1), (24, 2), (70, 4), (130, 8), (700, 16), (8000, FOUR_WARPS))
)
"""Rows of numbered bytes that begin anywhere."""
THREADS_OF_SINGLE_LONG = Table(
    "elements of a row",
    "threads",
    sittings.LONG_COMBINES,
    ((20, 1), (64, 2), (128, 4), (400, 8), (2500, 16), (12000, WARP), (30000, FOUR_WARPS)),
)
"""Rows of long combines that are read by single elements."""
THREADS_OF_SINGLE = Table("bytes of a row", "threads", Sitting("2026-11-22", "4c3585e"), ((64, 1), (192, 4), (800, 8)))
"""Rows of short combines that are read by single elements."""
WARP_OF_SINGLE = threshold(1024, "elements of a row", sittings.ROW_LENGTHS)
"""Up to here a longer row that is read by single elements gets a warp, and the threads of a CTA beyond."""
THREADS_OF_FEW_WIDE = Table("accesses of a row", "threads", sittings.CLASSES, ((2, 1), (4, 4), (64, WARP)))
"""Rows read by vectors, where results at a warp each do not fill the machine."""
THREADS_OF_FEW_SINGLE = Table("elements of a row", "threads", sittings.CLASSES, ((4, 1), (16, 4), (64, WARP)))
"""Rows read by single elements, where results at a warp each do not fill the machine."""
THREADS_OF_SEVERAL_DIMS = threshold(
    ((512, FILLING_WARPS, 8), (8192, 4 * FILLING_WARPS, WARP)),
    "(accesses of a row, warps per SM, threads)",
    sittings.SEVERAL_DIMS,
)
"""Rows of several dims of at most these accesses get these threads where results fill the machine by these warps: an
access takes a division, so that threads have work enough."""
ONE_THREAD_OF_SHIFTED = threshold(0.75, "accesses for each element of one", sittings.SHIFTED_ROWS)
"""Up to here a row that begins anywhere gets one thread, so that few of the elements it reads are masked."""
FOUR_THREADS_OF_SHIFTED = threshold(8, "accesses for each element of one", sittings.SHIFTED_ROWS)
"""Up to here a row that begins anywhere gets four threads."""
WARP_OF_SHIFTED = threshold(
    {1: 512, 2: 768, 4: 640, 8: 1024}, "16-byte accesses of a row, by bytes of an element", sittings.SIXTY_THOUSAND
)
"""Up to here a longer row that begins anywhere gets a warp."""
FOUR_WARPS_OF_SHIFTED = threshold(2048, ACCESSES, sittings.SIXTY_THOUSAND)
"""Up to here a still longer row that begins anywhere gets four warps."""
THREADS_OF_SHIFTED_PAIRS = Table(ACCESSES, "threads", sittings.ALL_IN_FLIGHT, ((640, WARP), (1600, FOUR_WARPS)))
"""Rows of 2-byte elements that begin anywhere, of states of one value without a number."""
THREADS_OF_SHIFTED_WORDS = Table(ACCESSES, "threads", sittings.WIDE_CTAS, ((180, WARP), (2048, FOUR_WARPS)))
"""Rows of 4-byte elements that begin anywhere, of states of one register without a number."""
THREADS_OF_SHIFTED_DOUBLES = Table(
    ACCESSES, "threads", sittings.ALL_IN_FLIGHT, ((180, 16), (640, WARP), (2200, FOUR_WARPS))
)
"""Rows of 8-byte elements that begin anywhere, of states of one value without a number."""
STEPS_OF_SHIFTED = threshold(1024, ACCESSES, sittings.WIDE_CTAS)
"""Rows that begin anywhere, of two or more such steps and at most an access more or less, get 16 warps."""
_VERY_LONG = {2: THREADS_OF_VERY_LONG_PAIRS, 8: THREADS_OF_VERY_LONG_DOUBLES}
_SHIFTED = {2: THREADS_OF_SHIFTED_PAIRS, 4: THREADS_OF_SHIFTED_WORDS, 8: THREADS_OF_SHIFTED_DOUBLES}


def threads_of(task: Task, vector: int) -> int:
    """Threads of a row that is read by ``vector`` elements at a time."""
    if task.ranks[1] > 1:
        return _of_several_dims(task, vector)
    if lists.are_of_warps(task, vector):
        return WARP
    if task.has_few_results:
        table = THREADS_OF_FEW_WIDE if vector > 1 else THREADS_OF_FEW_SINGLE
        return table.at(-(-task.geometry.n_reduced // vector)) or CTA_THREADS
    if half_accesses.serves(task) and vector * task.itemsize == HALF:
        return half_accesses.threads(task)
    return (_of_single(task) if vector == 1 else _of_vectors(task, vector)) or CTA_THREADS


def _of_several_dims(task: Task, vector: int) -> int:
    """Threads of a row whose dims did not merge."""
    accesses = -(-task.geometry.n_reduced // vector)
    for most, warps, threads in THREADS_OF_SEVERAL_DIMS:
        if accesses <= threads or (accesses <= most and task.geometry.n_kept >= warps * task.machine):
            return threads
    return CTA_THREADS if task.has_few_results else FOUR_WARPS


def _of_single(task: Task) -> int | None:
    """Threads of a row that is read by single elements; None for those of a CTA."""
    n = task.geometry.n_reduced
    if task.has_long_combine:
        return THREADS_OF_SINGLE_LONG.at(n)
    return THREADS_OF_SINGLE.at(n * task.itemsize) or (WARP if n <= WARP_OF_SINGLE else None)


def _of_vectors(task: Task, vector: int) -> int | None:
    """Threads of a row that is read by vectors; None for those of a CTA."""
    accesses = -(-task.geometry.n_reduced * task.itemsize // WIDEST)
    if task.ranks_bytes:
        aligned = task.is_aligned("reduced", vector)
        return (THREADS_OF_NUMBERED if aligned else THREADS_OF_SHIFTED_NUMBERED).at(accesses)
    if "shifted" in task.accesses("reduced", vector):
        return _of_shifted(task, vector, accesses)
    threads = _table(task, vector).at(accesses)
    if _is_long(task, vector) or task.has_long_combine:
        whole = threads == WARP and task.itemsize >= 4 and not task.has_very_long_combine
        return _in_whole_steps(accesses) if whole else threads
    return WARP if task.has_wide_state and accesses <= WARP_OF_WIDE_STATES and threads == FOUR_WARPS else threads


def _in_whole_steps(accesses: int) -> int:
    """The threads of a row of long combines that a warp would read in many steps."""
    return next((threads for step, threads in WHOLE_STEPS if accesses % step == 0), WARP)


def _of_shifted(task: Task, vector: int, accesses: int) -> int | None:
    """Threads of a row that begins anywhere."""
    elements = WIDEST // task.itemsize
    if accesses <= ONE_THREAD_OF_SHIFTED * elements:
        return 1
    if accesses <= FOUR_THREADS_OF_SHIFTED * elements:
        return 4
    if task.has_long_combine:
        return _table(task, vector).at(accesses)
    if task.has_simple_state and (task.itemsize != 4 or task.has_words) and task.itemsize in _SHIFTED:
        whole = accesses >= 2 * STEPS_OF_SHIFTED - 1 and (accesses + 1) % STEPS_OF_SHIFTED <= 2
        return SIXTEEN_WARPS if whole and accesses <= THREADS_OF_WIDE.last else _SHIFTED[task.itemsize].at(accesses)
    if accesses <= WARP_OF_SHIFTED[task.itemsize]:
        return WARP
    return FOUR_WARPS if accesses <= FOUR_WARPS_OF_SHIFTED else None


def _is_long(task: Task, vector: int) -> bool:
    """Whether combining the elements of an access is long."""
    return task.combine_cost * vector >= LONG_COMBINE


def _table(task: Task, vector: int) -> Table[int]:
    """The table for aligned rows, and for rows of long combines."""
    if task.approximates and task.itemsize == 2:
        return THREADS_OF_APPROXIMATED_PAIRS
    if task.has_very_long_combine and task.itemsize in _VERY_LONG:
        return _VERY_LONG[task.itemsize]
    if task.has_long_combine:
        return THREADS_OF_LONG_COMBINES
    if _is_long(task, vector):
        return THREADS_OF_LONG_ACCESSES
    if task.itemsize == 2:
        return THREADS_OF_SIMPLE_PAIRS if task.has_simple_state else THREADS_OF_PAIRS
    return THREADS_OF_WORDS if task.has_words else THREADS_OF_WIDE


def in_waves(task: Task, positions: int) -> int:
    """``positions`` threads of a row, twice as many, or half, so that there are not a few more than are resident."""
    waves = task.geometry.n_kept * positions / (task.machine * RESIDENT_OF_VERY_LONG)
    if not 1 < waves < LITTLE_MORE_THAN_RESIDENT:
        return positions
    return 2 * positions if positions < WARP else positions // 2
