"""Rows: the lanes of a warp lie along the reduced axis. A thread, a few lanes, a warp, a CTA or a cluster a result."""

from __future__ import annotations

from .access import WIDEST, planned, ranks
from .cost import operations
from .limits import FEW, STATE_LIMIT, UNROLL, kind, unroll_of, vector_of, widest_of
from .plan import Plan
from .split import THREADS, clustered
from .target import WARP
from .task import Notes, Task

UNROLL_OF_SHORT = {1: 1, 2: 2, 4: 2, 8: 2}
"""The same for rows that get so few threads: more would find nothing to read."""
UNROLL_OF_SHIFTED = 2
"""The same for rows that begin anywhere: the first and the last so many of a thread are masked, which costs
instructions."""
MASKED = 8
"""Elements of such a step of rows that get a warp or less."""
ROW = 128
"""Threads of a row that one CTA of four warps reads in a few steps."""
THREADS_A_ROW = ((5, 1), (32, 4), (128, 16), (224, WARP), (4096, ROW))
"""(accesses, threads): rows of so many wide accesses at most get so many threads; longer ones a CTA of THREADS. Rows of
one thread lie side by side, so that a warp reads neighbours anyway; four lanes read 64 bytes in a row; up to a warp
needs no shared memory."""
LONG_COMBINE = 16
"""Operations that join the elements of an access, from which on threads of a row have more accesses each: else they
would spend their time on what they do once, which is to join these and to meet."""
THREADS_A_ROW_OF_LONG = {1: ((5, 1), (32, 4), (512, 16), (4096, WARP)), LONG_COMBINE: ((32, 4), (256, 8), (4096, WARP))}
"""THREADS_A_ROW where that is so, by the operations of one combine."""
THREADS_OF_BYTES = ((64, 1), (192, 4), (800, 8))
"""(bytes, threads): rows that are read by single elements get so many threads up to so many bytes; others a warp."""
WARP_TO = 1024
"""Elements up to which a row that is read one by one gets a warp and no more."""
THREADS_A_ROW_OF_FEW = {"wide": ((2, 1), (4, 4), (64, WARP)), "single": ((4, 1), (16, 4), (64, WARP))}
"""The same where results are few."""
LANES_OF_SEVERAL_DIMS = 8
"""Lanes of a row, unless it gets a CTA, where dims did not merge: a compromise, so that such layouts have few plans."""
FOUR, ONE = 8, 0.75
"""Accesses for each element of one: such rows of fewer get four threads or one, so that few of the elements that these
read are masked; longer ones, up to MOST_OF_A_WARP accesses, get a warp."""
MOST_OF_A_WARP = 1024


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of rows, of which neighbouring lanes read neighbours."""
    vector = vector_of(task, "reduced", widest_of(task, STATE_LIMIT), notes)
    positions = _threads_a_row(task, vector)
    shifted = vector > 1 and "shifted" in planned(task, "reduced", vector)
    unroll = min(unroll_of(task, "reduced", vector), _most(positions, vector, shifted=shifted))
    lanes, warps = min(WARP, positions), max(1, positions // WARP)
    rows = 1 if warps > 1 else THREADS // WARP // (2 if lanes == WARP else 1)
    threads = f"{positions} thread(s) a result, up to {unroll} access(es) in flight each"
    notes.because(threads, "lanes", "warps", "unroll")
    found = Plan("reduced", vector=vector, unroll=unroll, lanes=lanes, warps=warps, warps_kept=rows)
    return clustered(task, found, notes) if positions > ROW and vector > 1 and not shifted else found


def _most(positions: int, vector: int, *, shifted: bool) -> int:
    """Accesses in flight at most of a row with so many threads."""
    if shifted:
        many = positions > WARP or (vector == WIDEST and positions == WARP // 2)
        return UNROLL_OF_SHIFTED if many else max(1, MASKED // vector)
    return UNROLL_OF_SHORT.get(positions, UNROLL)


def _threads_a_row(task: Task, vector: int) -> int:
    """By the number of its accesses, and by whether the results alone fill the machine."""
    g = task.geometry
    accesses, few = -(-g.n_reduced // vector), g.n_kept < FEW * task.machine
    if ranks(g)[1] > 1:
        several = accesses <= (LANES_OF_SEVERAL_DIMS if few else THREADS)
        return LANES_OF_SEVERAL_DIMS if several else THREADS
    steps: tuple[tuple[float, int], ...] = THREADS_A_ROW
    code = operations(task.monoid)
    is_long = code * vector >= LONG_COMBINE
    if is_long:
        steps = next(found for least, found in reversed(THREADS_A_ROW_OF_LONG.items()) if code >= least)
    if few:
        steps = THREADS_A_ROW_OF_FEW[kind(vector)]
    elif vector == 1:
        steps = (*((nbytes / task.itemsize, threads) for nbytes, threads in THREADS_OF_BYTES), (WARP_TO, WARP))
    elif "shifted" in planned(task, "reduced", vector):
        half = ((MOST_OF_A_WARP, WARP // 2),) if vector == WIDEST else ()  # bytes, of which an access holds more
        most = steps[-1][0] if is_long else MOST_OF_A_WARP
        steps = ((ONE * vector, 1), (FOUR * vector, 4), *half, (most, WARP))
    return next((threads for most, threads in steps if accesses <= most), THREADS)
