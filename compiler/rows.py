"""Rows: the lanes of a warp lie along the reduced axis. A thread, a few lanes, a warp, a CTA or a cluster a result."""

from __future__ import annotations

from collections.abc import Sequence

from . import halves
from .access import WIDEST, ceil2, large, planned, ranks
from .cost import lifted, operations
from .dtypes import BOOL
from .halves import HALF, ROW
from .limits import (
    FEW,
    LONG_COMBINE,
    LONGER_COMBINE,
    STATE_LIMIT,
    UNROLL,
    calm_widest,
    compares_bytes,
    floor2,
    in_words,
    joins_truths,
    kind,
    numbers_bytes,
    ranked,
    unroll_of,
    vector_of,
    widest_of,
)
from .plan import Plan
from .split import THREADS, clustered
from .target import WARP
from .task import Notes, Task

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
"""Bytes of elements of which so many threads and more have no more accesses in flight than they make."""
MASKED = 16
"""Elements of a step of shifted rows that get a warp or less."""
THREADS_A_ROW = ((3, 1), (6, 2), (32, 4), (128, 16), (224, WARP), (4096, ROW))
THREADS_A_ROW_OF_PAIRS = (*THREADS_A_ROW[:3], (72, 8), *THREADS_A_ROW[3:])
THREADS_A_ROW_OF_SIMPLE_PAIRS = (*THREADS_A_ROW[:3], (60, 8), (128, 16), (640, WARP), (1600, ROW))
THREADS_A_ROW_OF_WORDS = (*THREADS_A_ROW[:3], (112, 16), (127, WARP), *THREADS_A_ROW[3:])
"""(accesses, threads): rows of so many wide accesses at most get so many threads; longer ones a CTA of THREADS. Rows of
one thread lie side by side, so that a warp reads neighbours anyway; four lanes read 64 bytes in a row; up to a warp
needs no shared memory. An access counts as a wide one is, and of pairs of bytes they have one class more, others where
states are simple (``_are_simple``); so have words (``_are_words``), where of 16 threads some would have a whole step
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
LIFTED = 1
"""Operations that make of an element what is combined, at most, where states are light."""
SEVERAL_ROWS = (32, 2)
"""Rows of truth values that begin anywhere from which on CTAs that share one have ROW threads, and how many an SM get
CTAs of their own. Where accesses have HALF their bytes, since no others are aligned, CTAs have twice THREADS: there are
as many accesses again, but no more CTAs that must meet. So have those whose threads need few registers (``_is_light``):
fewer CTAs then meet, of which as many are resident."""
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


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of rows, of which neighbouring lanes read neighbours."""
    vector = vector_of(task, "reduced", _widest(task), notes)
    shifted = vector > 1 and "shifted" in planned(task, "reduced", vector)
    positions = _threads_a_row(task, vector)
    if positions == THREADS and large(task.geometry) and _few(task) and ranks(task.geometry)[1] == 1:
        positions = _threads_that_share(task, vector, shifted=shifted)
    if positions <= WARP and task.itemsize == 4 and operations(task.monoid) >= LONGER_COMBINE:
        positions = _in_waves(task, positions)
    most = _most(task, positions, vector, shifted=shifted)
    unroll = most if numbers_bytes(task) and vector > 1 else min(unroll_of(task, "reduced", vector), most)
    lanes, warps = min(WARP, positions), max(1, positions // WARP)
    rows = 1 if warps > 1 else THREADS // WARP // (2 if lanes == WARP else 1)
    threads = f"{positions} thread(s) a result, up to {unroll} access(es) in flight each"
    notes.because(threads, "lanes", "warps", "unroll")
    found = Plan("reduced", vector=vector, unroll=unroll, lanes=lanes, warps=warps, warps_kept=rows)
    return clustered(task, found, notes) if positions > ROW and vector > 1 and not shifted else found


def _widest(task: Task) -> int:
    """Elements of an access at most."""
    if numbers_bytes(task):
        widest = widest_of(task, STATE_LIMIT)
        shifted = "shifted" in planned(task, "reduced", widest) and task.program.inputs[0] != BOOL
        return min(widest, HALF) if shifted and not _few(task) else widest
    widest = calm_widest(task)
    return min(widest, HALF // task.itemsize) if halves.served(task) else widest


def _few(task: Task) -> bool:
    """Whether results do not fill the machine at a warp each."""
    return task.geometry.n_kept < FEW * task.machine


def _wide(task: Task) -> bool:
    """Whether states take several registers, of elements that have some of their own, or are numbers beside them."""
    return (task.state_registers > 1 or task.program.uses_index) and task.itemsize > 1


def _are_simple(task: Task) -> bool:
    """Whether states have one value, and nobody asks where an element is."""
    return len(task.monoid.state) == 1 and not task.program.uses_index


def _are_words(task: Task) -> bool:
    """Whether elements are words, and so are states: what such rows take was measured apart from others."""
    return task.itemsize == 4 and task.state_registers == 1 and _are_simple(task)


def _most(task: Task, positions: int, vector: int, *, shifted: bool) -> int:
    """Accesses in flight at most of a row with so many threads."""
    if numbers_bytes(task) and vector > 1:
        return _most_of_numbered(task, positions, vector, shifted=shifted)
    if shifted:
        return _most_of_shifted(task, positions, vector)
    if vector > 1 and halves.served(task):
        return halves.unroll(task, vector, positions)
    if compares_bytes(task) and positions > THREADS:
        return TWO  # machines that compare no two halves at once need registers to do it
    each = task.geometry.n_reduced // (vector * positions)
    if positions >= (WARP // 2 if task.program.uses_index else WARP) and _wide(task) and not _few(task):
        return (UNROLL if task.state_registers > 1 else UNROLL_OF_LONG_ROWS) if each >= UNROLL else 1
    if operations(task.monoid) >= LONG_COMBINE:
        return min(UNROLL, floor2(each)) if positions < WARP else UNROLL
    if task.itemsize == PAIR and positions >= OF_PAIRS and _are_simple(task):
        accesses = -(-task.geometry.n_reduced // vector)
        return halves.at_once(-(-accesses // positions), UNROLL_OF_LONG_ROWS)
    most: int = UNROLL_OF_SHORT.get(positions, UNROLL)
    if vector > 1 and vector * task.itemsize < WIDEST:
        most = min(most, TWO if task.itemsize == 1 else UNROLL_OF_LONG_ROWS)
    return 1 if positions <= MOST_OF_SHORT and each in IN_VAIN else most


def _most_of_shifted(task: Task, positions: int, vector: int) -> int:
    """The same of rows that begin anywhere."""
    accesses = task.geometry.n_reduced // vector
    if task.itemsize > 1 and accesses * vector * task.itemsize >= LONG_ROWS_FROM:
        return UNROLL_OF_LONG_ROWS
    if positions == 1 and accesses % 2:
        return 1  # of two in flight one would be left over
    if positions == ROW and task.itemsize > PAIR:
        return UNROLL_OF_LONG_ROWS
    if positions == WARP and _are_words(task):
        return 1
    most = UNROLL_OF_SHIFTED[task.itemsize] if _are_simple(task) and not halves.served(task) else TWO
    return most if positions > WARP else max(1, min(most, MASKED // vector))


def _most_of_numbered(task: Task, positions: int, vector: int, *, shifted: bool) -> int:
    """The same of bytes that are numbered: of aligned ones all at once, or as of long rows if some had one more."""
    if shifted:
        return 1 if _few(task) and task.program.inputs[0] != BOOL else TWO
    accesses = -(-task.geometry.n_reduced // vector)
    each = -(-accesses // positions)
    return ceil2(each) if each < UNROLL and accesses % (UNROLL_OF_LONG_ROWS * positions) else UNROLL_OF_LONG_ROWS


def _threads_a_row(task: Task, vector: int) -> int:
    """By the number of its accesses, and by whether the results alone fill the machine."""
    g = task.geometry
    accesses, nbytes = -(-g.n_reduced // vector), g.n_reduced * task.itemsize
    if ranks(g)[1] > 1:
        return _threads_of_several_dims(task, accesses)
    if _few(task):
        return _first(THREADS_A_ROW_OF_FEW[kind(vector)], accesses)
    if halves.served(task) and vector * task.itemsize == HALF:
        return halves.threads(task)
    return _first(_steps(task, vector), -(-nbytes // WIDEST) if vector > 1 else accesses)


def _threads_of_several_dims(task: Task, accesses: int) -> int:
    """The same where dims did not merge: an access takes a division, so that threads have work enough."""
    for most, warps, threads in THREADS_OF_SEVERAL_DIMS:
        if accesses <= threads or (accesses <= most and task.geometry.n_kept >= warps * task.machine):
            return threads
    return THREADS if _few(task) else ROW


def _in_waves(task: Task, positions: int) -> int:
    """So many threads of a row, twice as many, or half, so that there are not a few more than are resident."""
    waves = task.geometry.n_kept * positions / (task.machine * RESIDENT_OF_LONGER)
    if not 1 < waves < LITTLE_MORE:
        return positions
    return 2 * positions if positions < WARP else positions // 2


def _threads_that_share(task: Task, vector: int, *, shifted: bool) -> int:
    """Threads of a CTA where several share a long row."""
    if shifted:
        few, many = SEVERAL_ROWS
        return ROW if joins_truths(task) and few <= task.geometry.n_kept < many * task.machine else THREADS
    half = vector * task.itemsize == HALF and not numbers_bytes(task)
    return 2 * THREADS if vector > 1 and (half or _is_light(task)) else THREADS


def _is_light(task: Task) -> bool:
    """Whether all threads of an SM have registers enough for their accesses in flight."""
    (state, *others), t = task.monoid.state, task.program.inputs[0]
    if others:
        return False
    if ranked(task, "reduced"):
        return t.is_float or t.bits == 16
    if lifted(task.program) > LIFTED:
        return False
    if task.itemsize == 1:
        return in_words(task) and not state.is_float
    if state.is_float:
        return state.bits <= max(32, 8 * task.itemsize)
    return 1 < state.bits <= 32 and task.itemsize <= 4


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
    steps = THREADS_A_ROW_OF_WORDS if _are_words(task) else steps
    steps = THREADS_A_ROW_OF_SIMPLE_PAIRS if task.itemsize == PAIR and _are_simple(task) else steps
    if is_long:
        steps = next(found for least, found in reversed(THREADS_A_ROW_OF_LONG.items()) if code >= least)
        steps = THREADS_A_ROW_OF_LONGER.get(task.itemsize, steps) if code >= LONGER_COMBINE else steps
    elif _wide(task):
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
    if _are_simple(task) and (task.itemsize != 4 or _are_words(task)) and task.itemsize in THREADS_OF_SHIFTED:
        return (*short, *THREADS_OF_SHIFTED[task.itemsize])
    return (*short, (MOST_OF_A_WARP[task.itemsize], WARP), (MOST_OF_A_ROW, ROW))
