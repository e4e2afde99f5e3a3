"""How many accesses a thread of a row has in flight, at most: more would find nothing to read, or cost masks."""

from __future__ import annotations

from ...dtypes import BOOL
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..limits import CTA_THREADS, UNROLL
from ..powers_of_two import ceil2, floor2
from ..table import Sitting, threshold
from ..task import Task
from . import half_accesses
from .half_accesses import FOUR_WARPS, SIXTEEN_WARPS

UNROLL_OF_SHORT = threshold(
    {1: 1, 2: 2, 4: 2, 8: 2}, "accesses in flight, by threads of a row", Sitting("2026-11-21", "caf0554")
)
"""A row of so few threads has at most these: more would find nothing to read."""
SHORT_ROW_THREADS = threshold(8, "threads of a row", sittings.SIXTY_THOUSAND)
"""Up to here a thread has one access in flight where it makes 0, 1 or 3: of the last two that it made one would be in
vain."""
UNROLL_OF_SHIFTED = threshold(
    {1: 2, 2: 1, 4: 2, 8: 4}, "accesses in flight, by bytes of an element", sittings.ALL_IN_FLIGHT
)
"""A thread of a row that begins anywhere has at most these: all of its first and last ones are masked."""
UNROLL_OF_MASKED = threshold(2, "accesses in flight", sittings.ROW_BORDERS)
"""A thread has at most these in shifted rows that are not simple, or are read by half accesses or 16 warps, and where
bytes are compared in CTAs of more than 256 threads."""
UNROLL_OF_LONG_ROWS = threshold(4, "accesses in flight", sittings.ALL_IN_FLIGHT)
"""A thread has at most these in long shifted rows, where few elements are masked, and in aligned rows that have enough
elements but do not get UNROLL."""
LONG_ROW_BYTES = threshold(1 << 17, "bytes of a row", sittings.ALL_IN_FLIGHT)
"""From here on a shifted row is long, but for rows of bytes."""
PAIR_ROW_THREADS = threshold(8, "threads of a row", sittings.ALL_IN_FLIGHT)
"""From here on rows of 2-byte elements that fill the machine have no more accesses in flight than a thread makes."""
MASKED_ELEMENTS = threshold(16, "elements of a step", sittings.SIXTY_THOUSAND)
"""A shifted row of a warp or less has at most these in flight."""


def in_flight(task: Task, positions: int, vector: int, *, shifted: bool) -> int:
    """Accesses in flight, at most, of each of ``positions`` threads of a row."""
    if task.ranks_bytes and vector > 1:
        return _of_numbered(task, positions, vector, shifted=shifted)
    if shifted:
        return _of_shifted(task, positions, vector)
    if vector > 1 and half_accesses.serves(task):
        return half_accesses.unroll(task, vector, positions)
    if task.compares_bytes and positions > CTA_THREADS:
        return UNROLL_OF_MASKED  # machines that compare no two halves at once need registers to do it
    each = task.geometry.n_reduced // (vector * positions)
    many = not task.has_few_results
    if task.folds_lists:
        return min(UNROLL, floor2(each)) if positions < WARP else UNROLL
    if positions >= (WARP // 2 if task.program.uses_index else WARP) and task.has_wide_state and many:
        return (UNROLL if task.state_registers > 1 else UNROLL_OF_LONG_ROWS) if each >= UNROLL else 1
    if task.has_long_combine:
        return min(UNROLL, floor2(each)) if positions < WARP else UNROLL
    if task.itemsize == 2 and vector > 1 and positions >= PAIR_ROW_THREADS and task.has_simple_state and many:
        accesses = -(-task.geometry.n_reduced // vector)
        return half_accesses.at_once(-(-accesses // positions), UNROLL_OF_LONG_ROWS)
    most = UNROLL_OF_SHORT.get(positions, UNROLL)
    if vector > 1 and vector * task.itemsize < WIDEST:
        most = min(most, UNROLL_OF_MASKED if task.itemsize == 1 else UNROLL_OF_LONG_ROWS)
    return 1 if positions <= SHORT_ROW_THREADS and each in (0, 1, 3) else most


def _of_shifted(task: Task, positions: int, vector: int) -> int:
    """Accesses in flight of a row that begins anywhere."""
    accesses = task.geometry.n_reduced // vector
    if task.itemsize > 1 and accesses * vector * task.itemsize >= LONG_ROW_BYTES:
        return UNROLL_OF_LONG_ROWS
    if positions == 1 and accesses % 2:
        return 1  # of two in flight one would be left over
    if positions == FOUR_WARPS and task.itemsize > 2:
        return min(UNROLL_OF_LONG_ROWS, ceil2(accesses // positions + 1))
    if positions == WARP and task.has_words:
        return 1
    simple = task.has_simple_state and not half_accesses.serves(task)
    most = UNROLL_OF_SHIFTED[task.itemsize] if simple and positions < SIXTEEN_WARPS else UNROLL_OF_MASKED
    return most if positions > WARP else max(1, min(most, MASKED_ELEMENTS // vector))


def _of_numbered(task: Task, positions: int, vector: int, *, shifted: bool) -> int:
    """Accesses in flight of numbered bytes: of an aligned row all, or those of long rows if some threads had one more.

    A shifted row has two, or one where results are few and elements are no truth values.
    """
    if shifted:
        return 1 if task.has_few_results and task.program.inputs[0] != BOOL else UNROLL_OF_MASKED
    accesses = -(-task.geometry.n_reduced // vector)
    each = -(-accesses // positions)
    return ceil2(each) if each < UNROLL and accesses % (UNROLL_OF_LONG_ROWS * positions) else UNROLL_OF_LONG_ROWS
