"""The width of accesses, and how many of them a thread has in flight, as registers and code leave room for.

Rows and columns, whose lanes lie along one axis or the other, ask here; ``Task`` says what the layout allows.
"""

from __future__ import annotations

from dataclasses import replace

from ..plan.fields import Axis
from ..plan.plan import STATIC_SHARED, Plan
from ..plan.shared_memory import shared_bytes
from . import lists, sittings
from .alignment import WIDEST
from .powers_of_two import floor2, halvings
from .table import Sitting, threshold
from .task import Notes, Task

CTA_THREADS = threshold(256, "threads", sittings.FIRST_PLANS)
"""A CTA has these: eight warps hide latency, and eight such CTAs fill an SM of 2048 threads."""
BYTES_IN_FLIGHT = threshold(64, "bytes", sittings.PLAIN_READS)
"""A thread has these in flight: 1024 resident threads then have 64 KiB under way, twice what latency times bandwidth
asks for, and more only makes the code longer."""
BYTES_IN_FLIGHT_OF_SEVERAL_DIMS = threshold(128, "bytes", sittings.FEW_COLUMNS)
"""A thread along columns has these in flight where an address takes divisions, unless tiles go by row."""
STATE_REGISTERS = threshold(32, "registers", sittings.WIDE_STATES)
"""A thread of a row holds states of at most these: room for 16 bytes of any type that widens to a 64-bit sum."""
VALUE_REGISTERS = threshold(64, "registers", sittings.WIDE_STATES)
"""A thread has values in flight of at most these, so that it takes about 128 with addresses, and nothing spills."""
WIDENED_REGISTERS = threshold(2 * VALUE_REGISTERS, "registers", sittings.FIFTEEN_THOUSAND)
"""Replaces VALUE_REGISTERS where bytes share a value of their state, or one element of a step is widened alone."""
STEP_COMBINES = threshold(160, "instructions", sittings.ROW_LENGTHS)
"""An unrolled step combines with at most these for each element of an access: more compile slowly and leave the
instruction cache."""
STEP_LIFTS = threshold(512, "instructions", Sitting("2026-11-25", "d36c561"))
"""An unrolled step makes what is combined with at most these for an element of an access: they hide latency alone."""
LIST_REGISTERS = threshold(128, "registers", sittings.LISTS)
"""A thread of a row holds lists of at most these, one for each element of an access."""
LIST_BYTES_IN_FLIGHT = threshold(128, "bytes", sittings.LISTS)
"""A thread that folds lists has these in flight: of more elements a step makes lists before they meet the state's."""
WIDE_KEY = threshold(2, "registers", sittings.LISTS_OF_PAIRS)
"""Of longer keys as many are in flight as lists of twice LIST_REGISTERS take elements: else these spill."""
UNROLL = threshold(8, "accesses", sittings.ONE_WARP)
"""A thread has at most these in flight."""
UNROLL_BEFORE_WIDTH = threshold(4, "accesses", sittings.SIXTY_THOUSAND)
"""These in flight are worth more than an access twice as wide, where states take several registers."""
ALIGNED_BYTES: dict[Axis, int] = threshold(
    {"reduced": 8, "kept": 4}, "bytes of an access, by axis", sittings.SIXTY_THOUSAND
)
"""An aligned access of these is preferred to a wider one that begins anywhere. Rows of several dims count as kept."""
SHIFTED_ACCESSES = threshold(
    {1: 2, 2: 5, 4: 12, 8: 48}, "accesses of a row, by bytes of an element", sittings.SIXTY_THOUSAND
)
"""From here on a row is read from the boundary before it: the masks at its ends cost as much as a few single
elements."""
SHIFTED_ELEMENTS_OF_LONG = threshold(
    {1: 2000, 2: 100_000, 4: 100_000, 8: 20_000}, "elements of a row, by bytes of an element", sittings.LONG_COMBINES
)
"""Replaces SHIFTED_ACCESSES for long combines, since what is masked is combined all the same."""
SHIFTED_ELEMENTS_OF_VERY_LONG = threshold(
    {1: 400, 2: 400, 4: 1200, 8: 1200}, "elements of a row, by bytes of an element", sittings.LONG_BYTES
)
"""Replaces SHIFTED_ACCESSES for very long combines."""


def vector_of(task: Task, axis: Axis, widest: int, notes: Notes) -> int:
    """Elements of an access along ``axis``: the most that are aligned up to ``widest``; else ``widest``, or one."""
    many_dims = max(task.ranks) > 3
    vector = 1 if many_dims else _aligned(task, axis, widest) or _anywhere(task, axis, widest)
    if vector < widest:
        why = "so many dims are read by single elements" if many_dims else "the layout gives no aligned run so long"
        notes.rejected.append((f"vector={widest}", why))
    words = ", ".join(sorted(task.accesses(axis, vector))) if vector > 1 else "single elements"
    notes.because(f"{vector} element(s) an access ({vector * task.itemsize} bytes, {words})", "fast", "vector")
    return vector


def _aligned(task: Task, axis: Axis, widest: int) -> int:
    """Elements of the widest aligned access of ALIGNED_BYTES at least; 0 where the layout has none."""
    several = axis == "reduced" and task.ranks[1] > 1
    least = ALIGNED_BYTES["kept" if several else axis]
    return next((n for n in halvings(widest) if n * task.itemsize >= least and task.is_aligned(axis, n)), 0)


def _anywhere(task: Task, axis: Axis, widest: int) -> int:
    """Elements of an access that begins anywhere: ``widest``, or one where it does not pay."""
    kinds = task.accesses(axis, widest)
    short = "shifted" in kinds and task.geometry.n_reduced < _least_shifted(task, widest)
    return 1 if short or "strided" in kinds else widest


def _least_shifted(task: Task, widest: int) -> int:
    """Elements of a row from which on it is read from the boundary before it, ``widest`` of them an access."""
    if task.folds_lists and lists.are_long(task, widest):
        return 0  # few elements are combined
    if task.has_very_long_combine:
        return SHIFTED_ELEMENTS_OF_VERY_LONG[task.itemsize]
    if task.has_long_combine:
        return SHIFTED_ELEMENTS_OF_LONG[task.itemsize]
    return SHIFTED_ACCESSES[task.itemsize] * widest


def widest_of(task: Task, registers: int) -> int:
    """Elements of an access of WIDEST bytes, or as many as ``registers`` hold states of."""
    return max(1, min(WIDEST // task.itemsize, floor2(registers // task.state_registers)))


def narrowed(task: Task, vector: int, registers: int) -> int:
    """``vector``, halved until UNROLL_BEFORE_WIDTH accesses may be in flight, down to accesses of 8 bytes.

    Args:
        task: what to reduce. Bytes that are added have one state for all, so that their accesses stay wide.
        vector: elements of an access.
        registers: what an element in flight takes.
    """
    if task.adds_bytes:
        return vector
    least = ALIGNED_BYTES["reduced"]
    while vector * registers * UNROLL_BEFORE_WIDTH > VALUE_REGISTERS and vector * task.itemsize > least:
        vector //= 2
    return vector


def widest_of_row(task: Task) -> int:
    """Elements of the widest access along the reduced axis of which UNROLL_BEFORE_WIDTH may be in flight."""
    if task.folds_lists:
        return widest_of(task, LIST_REGISTERS)
    return narrowed(task, widest_of(task, STATE_REGISTERS), _registers_in_flight(task))


def _registers_in_flight(task: Task) -> int:
    """Registers that an element in flight takes.

    What all elements of an access share counts once, but not in small arrays: these have too few threads anyway.
    """
    return task.element_registers if task.is_large else task.state_registers


def unroll_of(task: Task, axis: Axis, vector: int) -> int:
    """Accesses in flight: BYTES_IN_FLIGHT, at most UNROLL, and no more values at once than registers allow."""
    if task.folds_lists:
        by_lists = VALUE_REGISTERS // (vector * task.own_registers)
        if task.own_registers > WIDE_KEY and axis == "reduced":
            by_lists = min(by_lists, 2 * LIST_REGISTERS // (vector * task.state_registers))
        return max(1, min(UNROLL, floor2(LIST_BYTES_IN_FLIGHT // (vector * task.itemsize)), floor2(by_lists)))
    several = axis == "kept" and task.ranks != (1, 1) and not task.is_cut(vector)
    by_bytes = (BYTES_IN_FLIGHT_OF_SEVERAL_DIMS if several else BYTES_IN_FLIGHT) // (vector * task.itemsize)
    shares = task.itemsize == 1 and bool(task.program.shared)
    values = WIDENED_REGISTERS if shares or task.is_keyed(axis) else VALUE_REGISTERS
    by_state = values // (vector * _registers_in_flight(task))
    by_code = min(STEP_COMBINES // task.combine_cost, STEP_LIFTS // max(1, task.lift_cost))
    return max(1, min(UNROLL, floor2(by_bytes), floor2(by_state), floor2(by_code)))


def fitting(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` with as many warps along the reduced axis as shared memory has room for, whatever the finish."""
    wanted = plan
    while plan.warps > 1 and shared_bytes(replace(plan, finish="last_block"), task.state_bytes) > STATIC_SHARED:
        plan = replace(plan, warps=plan.warps // 2)
    if plan != wanted:
        notes.rejected.append((f"warps={wanted.warps}", f"states of {task.state_bytes} bytes do not fit shared memory"))
    return plan
