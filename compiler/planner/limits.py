"""What registers, code and the machine leave room for: the width of accesses, how many are in flight, the warps.

``alignment.py`` says what the layout allows; rows and columns, whose lanes lie along the one axis or the other, ask
here how much of that a thread takes at once.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..plan.plan import STATIC_SHARED, Axis, Plan
from ..program.analysis.atomic import operation
from ..program.analysis.cost import lifted, operations
from .alignment import WIDEST, is_cut, large, planned, ranks
from .task import Notes, Task

IN_FLIGHT = 64
"""Bytes one thread should have in flight: with 1024 resident threads an SM then has 64 KiB under way, twice what
latency times bandwidth asks for (about 35 KiB on an H200). More only makes the code longer."""
IN_FLIGHT_OF_SEVERAL_DIMS = 128
"""The same where an address takes divisions, which wait less with more of them under way; by row none does."""
STATE_LIMIT = 32
"""Registers of accumulator a thread may hold: room for 16 bytes of any element type that widens to a 64-bit sum. Along
the kept axis, where all stages carry them, half as many."""
VALUES_LIMIT = 64
"""Registers of values a thread may have in flight beside them: with the addresses that makes at most 128 or so, and
nothing spills."""
WIDENED_LIMIT = 2 * VALUES_LIMIT
"""The same of bytes that are widened when they are combined: where a value is one for all elements of a step, so that
the more of these there are, the less it costs; or where one of a step is widened alone, as of numbered ones."""
CODE_LIMIT = 160
"""Operations of combines an unrolled step may hold for one element: more take long to compile and fall out of the
instruction cache. Where counts are known, as in the tree of a step, much of a combine folds away."""
LIFT_LIMIT = 512
"""Operations that make elements of what is read, in an unrolled step, for one element of an access: so many hide the
wait for memory by themselves, and more only take long to compile."""
UNROLL = 8
"""Accesses in flight at most."""
UNROLL_BEFORE_WIDTH = 4
"""Accesses in flight of states of several registers that are worth more than an access twice as wide."""
FEW = 8
"""Warps per SM that fill the machine. Where results at a warp each are fewer, each gets more threads."""
NARROWEST: dict[Axis, int] = {"reduced": 8, "kept": 4}
"""Bytes of an aligned access for which a wider one that begins anywhere is given up; along one reduced axis, whose ends
alone are masked then, it must be wider itself."""
SHIFTED = {1: 2, 2: 5, 4: 12, 8: 48}
"""Accesses that a row must have, by the bytes of an element, before it is read in vectors from the boundary before it:
the masks at both its ends cost as much as reading a few elements one by one. Loads of four bytes and more by neighbours
fill whole sectors anyway."""


LONG_COMBINE, LONGER_COMBINE = 16, 20
"""Operations of a combine from which on it is long: threads would spend their time on what they do once; and of one
that costs so much that there is little to gain from how elements are read."""
KEYED = {1: 16, 2: 256}
"""Elements of a result, by their bytes, from which on along the kept axis words are made of the chosen ones alone."""
SHIFTED_OF_LONG = {
    LONG_COMBINE: {1: 2000, 2: 100_000, 4: 100_000, 8: 20_000}, LONGER_COMBINE: {1: 400, 2: 400, 4: 1200, 8: 1200},
}  # fmt: skip
"""Elements that such a row must have, by the operations of a combine and the bytes of an element: what is masked is
combined all the same."""


def vector_of(task: Task, axis: Axis, widest: int, notes: Notes) -> int:
    """Elements of an access along ``axis``: the ``widest`` that are aligned; if none, the ``widest``, or one."""
    many_dims = max(ranks(task.geometry)) > 3
    vector = 1 if many_dims else _aligned(task, axis, widest) or _anyhow(task, axis, widest)
    if vector < widest:
        why = "so many dims are read by single elements" if many_dims else "the layout gives no aligned run so long"
        notes.rejected.append((f"vector={widest}", why))
    words = ", ".join(sorted(planned(task, axis, vector))) if vector > 1 else "single elements"
    notes.because(f"{vector} element(s) an access ({vector * task.itemsize} bytes, {words})", "fast", "vector")
    return vector


def _aligned(task: Task, axis: Axis, widest: int) -> int:
    """Elements of the widest aligned access, of NARROWEST bytes at least; 0 where the layout has none."""
    widths = [widest >> k for k in range(widest.bit_length() - 1)]
    several = axis == "reduced" and ranks(task.geometry)[1] > 1
    least = NARROWEST["kept" if several else axis]
    found = [n for n in widths if n * task.itemsize >= least and planned(task, axis, n) == {"aligned"}]
    return max(found, default=0)


def _anyhow(task: Task, axis: Axis, widest: int) -> int:
    """Elements of an access that begins anywhere: the ``widest``, or one where it does not pay."""
    kinds = planned(task, axis, widest)
    short = "shifted" in kinds and task.geometry.n_reduced < _least(task, widest)
    return 1 if short or "strided" in kinds else widest


def _least(task: Task, widest: int) -> int:
    """Elements of a row from which on it is read from the boundary before it, ``widest`` of them an access."""
    code = operations(task.monoid)
    long = [least[task.itemsize] for most, least in SHIFTED_OF_LONG.items() if code >= most]
    return long[-1] if long else SHIFTED[task.itemsize] * widest


def widest_of(task: Task, registers: int) -> int:
    """Elements of an access of WIDEST bytes, or as many as so many registers have states for."""
    return max(1, min(WIDEST // task.itemsize, floor2(registers // task.state_registers)))


def calm(task: Task, vector: int, registers: int) -> int:
    """``vector``, or half of it and so on, so that UNROLL_BEFORE_WIDTH accesses may be in flight, of 8 bytes at least.

    An element then takes so many registers.

    Bytes that are added have one state for all.
    """
    if adds_bytes(task):
        return vector
    while vector * registers * UNROLL_BEFORE_WIDTH > VALUES_LIMIT and vector * task.itemsize > NARROWEST["reduced"]:
        vector //= 2
    return vector


def calm_widest(task: Task) -> int:
    """Elements of the widest access along the reduced axis of which UNROLL_BEFORE_WIDTH may be in flight."""
    return calm(task, widest_of(task, STATE_LIMIT), registers_in_flight(task))


def registers_in_flight(task: Task) -> int:
    """Registers that an element in flight takes.

    What all elements of an access share counts once, but in small arrays: there it is the threads that are few.
    """
    return task.element_registers if large(task.geometry) else task.state_registers


def adds_bytes(task: Task) -> bool:
    """Whether elements are bytes that are added: those of a word are, together."""
    return task.itemsize == 1 and operation(task.monoid) == "add"


def joins_truths(task: Task) -> bool:
    """Whether a result is whether any element of a byte is true, or all are: those of a word are joined together."""
    return task.itemsize == 1 and operation(task.monoid) in ("and", "or")


def compares_bytes(task: Task) -> bool:
    """Whether elements are bytes of which the extreme is taken: those of a word are compared two at a time."""
    return task.itemsize == 1 and operation(task.monoid) in ("min", "max") and not task.program.uses_index


def in_words(task: Task) -> bool:
    """Whether elements are bytes, and those of a word are taken up at once."""
    return adds_bytes(task) or joins_truths(task) or compares_bytes(task)


def ranked(task: Task, axis: str) -> bool:
    """Whether the least word is wanted that elements make with their numbers, by lanes along ``axis``.

    One of a step alone is made then, if the numbers go up along the walk, or down (``passes/words/narrow_argmin.py``).
    """
    asked = task.program.uses_index and operation(task.monoid) == "min"
    many = axis == "reduced" or task.geometry.n_reduced >= KEYED.get(task.itemsize, math.inf)
    return asked and many and bool(task.geometry.numbers)


def keyed(task: Task, axis: str) -> bool:
    """The same of elements so narrow that they have keys."""
    return task.itemsize in KEYED and ranked(task, axis)


def numbers_bytes(task: Task) -> bool:
    """The same of bytes."""
    return task.itemsize == 1 and keyed(task, "reduced")


def unroll_of(task: Task, axis: Axis, vector: int) -> int:
    """Accesses in flight: IN_FLIGHT bytes, at most UNROLL, and no more values at once than registers allow."""
    several = axis == "kept" and ranks(task.geometry) != (1, 1) and not is_cut(task, vector)
    by_bytes = (IN_FLIGHT_OF_SEVERAL_DIMS if several else IN_FLIGHT) // (vector * task.itemsize)
    shares = task.itemsize == 1 and bool(task.program.shared)
    values = WIDENED_LIMIT if shares or keyed(task, axis) else VALUES_LIMIT
    by_state = values // (vector * registers_in_flight(task))
    by_code = min(CODE_LIMIT // operations(task.monoid), LIFT_LIMIT // max(1, lifted(task.program)))
    return max(1, min(UNROLL, floor2(by_bytes), floor2(by_state), floor2(by_code)))


def kind(vector: int) -> str:
    """By which of two tables the threads of a result are counted."""
    return "wide" if vector > 1 else "single"


def fitting(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` with as many warps along the reduced axis as shared memory has room for, whatever the finish."""
    wanted = plan
    while plan.warps > 1 and replace(plan, finish="last_block").shared_bytes(task.state_bytes) > STATIC_SHARED:
        plan = replace(plan, warps=plan.warps // 2)
    if plan != wanted:
        notes.rejected.append((f"warps={wanted.warps}", f"states of {task.state_bytes} bytes do not fit shared memory"))
    return plan


def floor2(n: int) -> int:
    """The greatest power of two not above ``n``, at least 1."""
    return 1 << max(0, n.bit_length() - 1)
