"""Rows: threads that share a row, along the reduced axis, and what each of them reads at once.

How many threads a row gets says ``threads.py``, how many accesses each has in flight ``unroll.py``; both ask
``kinds.py`` what rows these are.
"""

from __future__ import annotations

from ...dtypes import BOOL
from ...plan.plan import Plan
from ...program.analysis.cost import lifted, operations
from ...target import WARP
from ..alignment import large, planned, ranks
from ..limits import (
    LONGER_COMBINE,
    STATE_LIMIT,
    calm_widest,
    in_words,
    joins_truths,
    numbers_bytes,
    ranked,
    unroll_of,
    vector_of,
    widest_of,
)
from ..split import THREADS, clustered
from ..task import Notes, Task
from . import half_accesses
from .half_accesses import HALF, ROW
from .kinds import are_few
from .threads import in_waves, threads_of
from .unroll import in_flight

SEVERAL_ROWS = (32, 2)
"""Rows of truth values that begin anywhere from which on CTAs that share one have ROW threads, and how many an SM get
CTAs of their own. Where accesses have HALF their bytes, since no others are aligned, CTAs have twice THREADS: there are
as many accesses again, but no more CTAs that must meet. So have those whose threads need few registers (``_is_light``):
fewer CTAs then meet, of which as many are resident."""
LIFTED = 1
"""Operations that make of an element what is combined, at most, where states are light."""


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of rows, of which neighbouring lanes read neighbours."""
    vector = vector_of(task, "reduced", _widest(task), notes)
    shifted = vector > 1 and "shifted" in planned(task, "reduced", vector)
    positions = threads_of(task, vector)
    if positions == THREADS and large(task.geometry) and are_few(task) and ranks(task.geometry)[1] == 1:
        positions = _threads_that_share(task, vector, shifted=shifted)
    if positions <= WARP and task.itemsize == 4 and operations(task.monoid) >= LONGER_COMBINE:
        positions = in_waves(task, positions)
    most = in_flight(task, positions, vector, shifted=shifted)
    unroll = most if numbers_bytes(task) and vector > 1 else min(unroll_of(task, "reduced", vector), most)
    step = THREADS * vector * unroll
    if positions == THREADS and not shifted and _are_waited_for(task, step):
        positions, unroll = 2 * THREADS, unroll if task.geometry.n_reduced > step else max(1, unroll // 2)
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
        return min(widest, HALF) if shifted and not are_few(task) else widest
    widest = calm_widest(task)
    return min(widest, HALF // task.itemsize) if half_accesses.served(task) else widest


def _threads_that_share(task: Task, vector: int, *, shifted: bool) -> int:
    """Threads of a CTA where several share a long row."""
    if shifted:
        few, many = SEVERAL_ROWS
        return ROW if joins_truths(task) and few <= task.geometry.n_kept < many * task.machine else THREADS
    half = vector * task.itemsize == HALF and not numbers_bytes(task)
    return 2 * THREADS if vector > 1 and (half or _is_light(task)) else THREADS


def _are_waited_for(task: Task, step: int) -> bool:
    """Whether rows are so few that each has an SM, and of half a ``step`` of THREADS to two.

    Twice as many threads then read it in one step, of half as many accesses each; a second step would wait again.
    """
    once = step < 2 * task.geometry.n_reduced <= 4 * step
    alone = task.geometry.n_kept <= task.machine and ranks(task.geometry)[1] == 1
    return once and alone and _is_light(task)


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
