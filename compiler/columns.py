"""Columns: the lanes of a warp lie along the kept axis. A warp walks short ones, all warps of a CTA share long ones."""

from __future__ import annotations

from dataclasses import replace

from .access import WIDEST, ceil2, large, planned, ranks
from .atomic import operation
from .limits import FEW, IN_FLIGHT, STATE_LIMIT, kind, unroll_of, vector_of, widest_of
from .plan import Plan
from .split import THREADS
from .target import WARP
from .task import Notes, Task

LANES_KEPT = {"wide": 8, "single": WARP}
"""Lanes along the kept axis where warps share the reduced one: they read 128 bytes in a row."""
NARROW = {"wide": ((2, 2), (4, 4)), "single": ((8, 4),)}
"""(accesses, lanes): kept axes of up to so many accesses get so many lanes, where the reduced axis is long."""
BYTES_IN_FLIGHT = 32
"""Elements of a byte that a thread has in flight at most, where it has a state for each of an access."""
SHORT = 256
"""Elements of the reduced axis that a thread walks alone, when lanes lie along the kept axis and fill the machine."""
WRITTEN = 2
"""Times the bytes of a result that its elements take, up to which a thread reads no more results than the WIDEST bytes
hold: such results are a third of the traffic or more, and neighbouring lanes write them side by side."""
FEW_ROWS, HALF = 16, 8
"""Rows at most of which columns that begin anywhere are taken in accesses of so many bytes, of which most lie in one of
the two aligned accesses: there are too few rows to hide what taking them out costs. Bytes always are."""
WRITES = 32
"""Bytes of results side by side that a thread writes at most, where it walks alone."""


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of columns, of which neighbouring lanes read neighbours."""
    g = task.geometry
    widest = widest_of(task, STATE_LIMIT // 2)
    widest = _widest_of_short(task, widest) if _is_short(task, widest) else widest
    vector = vector_of(task, "kept", widest, notes)
    unroll, accesses = unroll_of(task, "kept", vector), -(-g.n_kept // vector)
    if task.itemsize == 1 < vector and "unaligned" not in planned(task, "kept", vector):
        unroll = min(unroll, BYTES_IN_FLIGHT // vector)
    few_lanes = next((lanes for most, lanes in NARROW[kind(vector)] if accesses <= most), WARP)
    narrow = few_lanes < WARP and max(ranks(g)) <= (3 if vector == 1 else 1)
    lanes_kept, warps = LANES_KEPT[kind(vector)], THREADS // WARP
    if _is_short(task, vector):
        lanes_kept, warps = WARP, 1
        unroll = min(unroll, max(1, ceil2(g.n_reduced) // 2)) if large(g) else unroll  # what is not there is read, too
    elif narrow and g.n_reduced >= 2 * unroll * THREADS // few_lanes:
        lanes_kept = few_lanes
    results = f"{lanes_kept * vector} result(s) a warp, {warps} warp(s) share the reduced axis"
    notes.because(results, "fast", "vector", "lanes", "warps")
    return Plan("kept", "interleaved", vector, unroll, WARP // lanes_kept, warps, THREADS // WARP // warps)


def _is_written(task: Task) -> bool:
    """Whether results are so large a part of the traffic, and so many, that writing them decides the time."""
    g, side_by_side = task.geometry, WIDEST // task.result_bytes
    return _is_short(task, side_by_side) and g.n_reduced * task.itemsize <= WRITTEN * task.result_bytes


def _is_short(task: Task, vector: int) -> bool:
    """Whether a thread walks the reduced axis alone, since results of so many each fill the machine."""
    g = task.geometry
    many = -(-g.n_kept // max(1, vector)) >= FEW * task.machine * WARP
    return many and g.n_reduced <= SHORT and max(ranks(g)) <= 3


def wide(task: Task, found: Plan) -> Plan:
    """``found`` with the widest accesses, as along the reduced axis; while bytes are added, no states are in flight."""
    vector = widest_of(task, STATE_LIMIT)
    unroll = IN_FLIGHT // (vector * task.itemsize)
    bytes_added = task.itemsize == 1 and operation(task.monoid) == "add"
    return replace(found, vector=vector, unroll=unroll if bytes_added else min(unroll, unroll_of(task, "kept", vector)))


def _widest_of_short(task: Task, widest: int) -> int:
    """The same where a thread walks a few rows alone: it has as many results as it writes well."""
    half, few = HALF // task.itemsize, task.geometry.n_reduced <= FEW_ROWS
    if _is_written(task):
        return min(widest, WIDEST // task.result_bytes)
    if task.itemsize == 1 or (few and "unaligned" in planned(task, "kept", widest)):
        widest = min(widest, max(1, half))
    side_by_side = min(widest, max(1, WRITES // task.result_bytes))
    return side_by_side if few or planned(task, "kept", side_by_side) == {"aligned"} else widest
