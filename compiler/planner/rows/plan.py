"""Rows: neighbouring threads share a row, along the reduced axis, and read neighbours.

``threads.py`` chooses the threads of a row, and ``unroll.py`` the accesses that each has in flight.
"""

from __future__ import annotations

from dataclasses import replace

from ...dtypes import BOOL
from ...plan.plan import Plan
from ...target import WARP
from .. import lists, sittings
from ..alignment import HALF
from ..limits import CTA_THREADS, STATE_REGISTERS, unroll_of, vector_of, widest_of, widest_of_row
from ..powers_of_two import ceil2
from ..split import clustered
from ..table import Sitting, threshold
from ..task import Notes, Task
from . import half_accesses
from .groups import groups
from .half_accesses import FOUR_WARPS
from .threads import in_waves, threads_of
from .unroll import in_flight

SHARED_TRUTH_ROWS = threshold(32, "rows", sittings.FIFTEEN_THOUSAND)
"""From here on CTAs that share a row of truth values that begins anywhere have four warps."""
SHARED_TRUTH_ROWS_PER_SM = threshold(2, "rows per SM", sittings.FIFTEEN_THOUSAND)
"""From here on such rows of truth values get a CTA of 256 threads of their own."""
WIDE_CTA_THREADS = threshold(2 * CTA_THREADS, "threads", sittings.SIXTEEN_WARPS)
"""A CTA that shares a long aligned row has these where accesses have HALF their bytes or states are light: fewer CTAs
then meet."""
STEP_WITH_BITS = threshold(0.875, "of a step's elements", sittings.BITS_IN_REDUCTIONS)
"""A row with bits of at least these is read in one step."""
UNROLL_OF_A_WARP = threshold(4, "accesses in flight", sittings.WIDE_CTAS)
"""From here on CTAs of one warp have enough in flight, although an SM holds only half as many of these warps."""
WAVES_OF_A_WARP = threshold(4, "waves of CTAs", sittings.WIDE_CTAS)
"""From here on a last wave of few rows that have a CTA each does not matter."""
LIGHT_LIFT = threshold(1, "instructions", Sitting("2026-11-24", "77e3862", "Two in a register, and CTAs of 16 warps"))
"""States are light up to here, where so many make of an element what is combined."""


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of rows."""
    vector = vector_of(task, "reduced", _widest(task), notes)
    if read := groups(task, vector):
        return _in_groups(task, Plan("reduced", vector=vector, reads="together"), *read, notes)
    shifted = vector > 1 and "shifted" in task.accesses("reduced", vector)
    positions = threads_of(task, vector)
    if positions == CTA_THREADS and task.is_large and task.has_few_results and task.ranks[1] == 1:
        positions = _threads_that_share(task, vector, shifted=shifted)
    if task.reads_bits and task.is_aligned("reduced", vector):
        positions = _in_one_step(task, positions, vector)
    if positions <= WARP and task.itemsize == 4 and task.has_very_long_combine:
        positions = in_waves(task, positions)
    most = in_flight(task, positions, vector, shifted=shifted)
    unroll = most if task.ranks_bytes and vector > 1 else min(unroll_of(task, "reduced", vector), most)
    unroll = lists.most_in_flight(task, vector, unroll) if task.folds_lists else unroll
    step = CTA_THREADS * vector * unroll
    if positions == CTA_THREADS and not shifted and _are_waited_for(task, step):
        positions, unroll = WIDE_CTA_THREADS, unroll if task.geometry.n_reduced > step else max(1, unroll // 2)
    lanes, warps = min(WARP, positions), max(1, positions // WARP)
    rows = 1 if warps > 1 or (not shifted and _has_its_cta(task, lanes, vector, unroll)) else _rows_of_a_cta(lanes)
    threads = f"{positions} thread(s) a result, up to {unroll} access(es) in flight each"
    notes.because(threads, "lanes", "warps", "unroll")
    found = Plan("reduced", vector=vector, unroll=unroll, lanes=lanes, warps=warps, warps_kept=rows)
    return clustered(task, found, notes) if positions > FOUR_WARPS and vector > 1 and not shifted else found


def _in_groups(task: Task, plan: Plan, threads: int, unroll: int, notes: Notes) -> Plan:
    """``plan`` of rows that are read in groups of ``unroll`` accesses by each of ``threads``."""
    notes.because(f"{threads} thread(s) a result, in groups of {unroll} access(es) each", "lanes", "warps", "unroll")
    notes.because("what is left of a row is one more group: all of its exponentials have one anchor", "reads")
    warps, alone = threads // WARP, threads > WARP or _has_its_cta(task, threads, plan.vector, unroll)
    rows = 1 if alone else _rows_of_a_cta(threads)
    return replace(plan, unroll=unroll, lanes=WARP, warps=warps, warps_kept=rows)


def _rows_of_a_cta(lanes: int) -> int:
    """Warps of a CTA, where each has rows of its own that ``lanes`` read."""
    return CTA_THREADS // WARP // (2 if lanes == WARP else 1)


def _has_its_cta(task: Task, lanes: int, vector: int, unroll: int) -> bool:
    """Whether an aligned row of much work that a warp reads has a CTA: the next row then begins as soon as it ends."""
    many = lanes == WARP and unroll >= UNROLL_OF_A_WARP and vector > 1
    waves = task.geometry.n_kept / (task.machine * task.target.ctas_per_sm)
    return many and waves >= WAVES_OF_A_WARP and task.ranks[1] == 1 and task.has_wide_state


def _in_one_step(task: Task, positions: int, vector: int) -> int:
    """``positions`` threads of a row with bits, or more, up to a warp, if a step of these is little more.

    In a last step elements outside of the row and bits are masked one by one.
    """
    step, n = vector * unroll_of(task, "reduced", vector), task.geometry.n_reduced
    found = ceil2(-(-n // step))
    return max(positions, found) if found <= WARP and n >= STEP_WITH_BITS * found * step else positions


def _widest(task: Task) -> int:
    """Elements of an access at most."""
    if task.ranks_bytes:
        widest = widest_of(task, STATE_REGISTERS)
        shifted = "shifted" in task.accesses("reduced", widest) and task.program.inputs[0] != BOOL
        return min(widest, HALF) if shifted and not task.has_few_results else widest
    widest = widest_of_row(task)
    return min(widest, HALF // task.itemsize) if half_accesses.serves(task) else widest


def _threads_that_share(task: Task, vector: int, *, shifted: bool) -> int:
    """Threads of a CTA where several share a long row."""
    if shifted:
        several = SHARED_TRUTH_ROWS <= task.geometry.n_kept < SHARED_TRUTH_ROWS_PER_SM * task.machine
        return FOUR_WARPS if task.joins_truths and several else CTA_THREADS
    half = vector * task.itemsize == HALF and not task.ranks_bytes
    return WIDE_CTA_THREADS if vector > 1 and (half or _is_light(task)) else CTA_THREADS


def _are_waited_for(task: Task, step: int) -> bool:
    """Whether rows are so few that each has an SM, and are of half a ``step`` of CTA_THREADS to two.

    Twice as many threads then read a row in one step, with half as many accesses each; a second step would wait again.
    """
    once = step < 2 * task.geometry.n_reduced <= 4 * step
    alone = task.geometry.n_kept <= task.machine and task.ranks[1] == 1
    return once and alone and _is_light(task)


def _is_light(task: Task) -> bool:
    """Whether all threads of an SM have registers enough for their accesses in flight."""
    (state, *others), t = task.monoid.state, task.program.inputs[0]
    if others:
        return False
    if task.is_ranked("reduced"):
        return t.is_float or t.bits == 16
    if task.lift_cost > LIGHT_LIFT:
        return False
    if task.itemsize == 1:
        return task.combines_words and not state.is_float
    if state.is_float:
        return state.bits <= max(32, 8 * task.itemsize)
    return 1 < state.bits <= 32 and task.itemsize <= 4
