"""How many accesses a thread of a row has in flight, at most: more would find nothing to read, or cost masks."""

from __future__ import annotations

from ...dtypes import BOOL
from ...program.analysis.cost import operations
from ...target import WARP
from ..alignment import WIDEST, ceil2
from ..limits import LONG_COMBINE, UNROLL, compares_bytes, floor2, numbers_bytes
from ..split import THREADS
from ..task import Task
from . import half_accesses
from .half_accesses import ROW
from .kinds import are_few, are_simple, are_wide, are_words

UNROLL_OF_SHORT = {1: 1, 2: 2, 4: 2, 8: 2}
"""Accesses in flight of rows that get so few threads: more would find nothing to read."""
MOST_OF_SHORT, IN_VAIN = 8, (0, 1, 3)
"""Threads of a row, at most, that have but one access in flight where they make so many: of the last two that they made
one would be in vain."""
UNROLL_OF_SHIFTED = {1: 2, 2: 1, 4: 2, 8: 4}
"""The same of rows that begin anywhere, by the bytes of an element: the first and the last so many of a thread are
masked, which costs instructions."""
TWO = 2
"""The same of shifted rows that are not simple, or read in halves; and of bytes whose threads need registers."""
UNROLL_OF_LONG_ROWS, LONG_ROWS_FROM = 4, 1 << 17
"""The same of those, but for bytes, of so many bytes and more, or words that get ROW threads: there are few elements to
mask. And of aligned rows that have enough of them, but not of those that get UNROLL."""
PAIR, OF_PAIRS = 2, 8
"""Bytes of elements of which so many threads and more, of as many rows as fill the machine, have no more accesses in
flight than they make."""
MASKED = 16
"""Elements of a step of shifted rows that get a warp or less."""


def in_flight(task: Task, positions: int, vector: int, *, shifted: bool) -> int:
    """Accesses in flight at most of a row with so many threads."""
    if numbers_bytes(task) and vector > 1:
        return _of_numbered(task, positions, vector, shifted=shifted)
    if shifted:
        return _of_shifted(task, positions, vector)
    if vector > 1 and half_accesses.served(task):
        return half_accesses.unroll(task, vector, positions)
    if compares_bytes(task) and positions > THREADS:
        return TWO  # machines that compare no two halves at once need registers to do it
    each = task.geometry.n_reduced // (vector * positions)
    if positions >= (WARP // 2 if task.program.uses_index else WARP) and are_wide(task) and not are_few(task):
        return (UNROLL if task.state_registers > 1 else UNROLL_OF_LONG_ROWS) if each >= UNROLL else 1
    if operations(task.monoid) >= LONG_COMBINE:
        return min(UNROLL, floor2(each)) if positions < WARP else UNROLL
    if task.itemsize == PAIR and vector > 1 and positions >= OF_PAIRS and are_simple(task) and not are_few(task):
        accesses = -(-task.geometry.n_reduced // vector)
        return half_accesses.at_once(-(-accesses // positions), UNROLL_OF_LONG_ROWS)
    most: int = UNROLL_OF_SHORT.get(positions, UNROLL)
    if vector > 1 and vector * task.itemsize < WIDEST:
        most = min(most, TWO if task.itemsize == 1 else UNROLL_OF_LONG_ROWS)
    return 1 if positions <= MOST_OF_SHORT and each in IN_VAIN else most


def _of_shifted(task: Task, positions: int, vector: int) -> int:
    """The same of rows that begin anywhere."""
    accesses = task.geometry.n_reduced // vector
    if task.itemsize > 1 and accesses * vector * task.itemsize >= LONG_ROWS_FROM:
        return UNROLL_OF_LONG_ROWS
    if positions == 1 and accesses % 2:
        return 1  # of two in flight one would be left over
    if positions == ROW and task.itemsize > PAIR:
        return UNROLL_OF_LONG_ROWS
    if positions == WARP and are_words(task):
        return 1
    most = UNROLL_OF_SHIFTED[task.itemsize] if are_simple(task) and not half_accesses.served(task) else TWO
    return most if positions > WARP else max(1, min(most, MASKED // vector))


def _of_numbered(task: Task, positions: int, vector: int, *, shifted: bool) -> int:
    """The same of bytes that are numbered: of aligned ones all at once, or as of long rows if some had one more."""
    if shifted:
        return 1 if are_few(task) and task.program.inputs[0] != BOOL else TWO
    accesses = -(-task.geometry.n_reduced // vector)
    each = -(-accesses // positions)
    return ceil2(each) if each < UNROLL and accesses % (UNROLL_OF_LONG_ROWS * positions) else UNROLL_OF_LONG_ROWS
