"""Columns: the lanes of a warp lie along the kept axis. A warp walks short ones, all warps of a CTA share long ones."""

from __future__ import annotations

from dataclasses import replace

from ..plan.plan import Plan
from ..target import WARP
from . import column_lanes, sittings
from .alignment import HALF, WIDEST
from .limits import (
    BYTES_IN_FLIGHT,
    CTA_THREADS,
    STATE_REGISTERS,
    UNROLL,
    UNROLL_BEFORE_WIDTH,
    narrowed,
    unroll_of,
    vector_of,
    widest_of,
)
from .powers_of_two import ceil2, floor2, halvings
from .table import Sitting, threshold
from .task import Notes, Task

# --- lanes and warps of a crowded axis ---
CROWDED_ROW_BYTES = threshold(32, "bytes of a row of a middle axis", sittings.SIXTY_THOUSAND)
"""Up to here lanes lie along so many rows that there are few of them, which is crowded."""
CROWDED_ROWS = threshold(32, "rows of a middle axis", sittings.SIXTY_THOUSAND)
"""From here on short rows of a middle axis are crowded."""
CROWDED_RESULTS = threshold(4, "elements of an access", sittings.SIXTY_THOUSAND)
"""A thread of a crowded middle axis has at most these results."""
CROWDED_WARPS = threshold(2, "warps", sittings.SIXTY_THOUSAND)
"""These share the reduced axis of a crowded middle axis."""

# --- results of a thread, and accesses in flight ---
SEVERAL_REGISTERS = threshold(3, "registers of a state", sittings.SIXTY_THOUSAND)
"""From here on a thread has half as many results."""
BYTES_ELEMENTS_IN_FLIGHT = threshold(32, "elements", sittings.ADDED_BYTES)
"""A thread has at most these bytes in flight, where each column of an access has a state."""
ADDED_IN_FLIGHT = threshold(4, "accesses in flight", sittings.ADDED_BYTES)
"""A thread has at most these of bytes that are added: the bytes of four rows are taken apart together."""
LARGE_RESULTS = threshold(2, "bytes of a result's elements for each byte of it", sittings.COPIES)
"""Up to here results are a third of the traffic or more, and a thread has only as many as it writes side by side."""
FEW_ROWS_AT_MOST = threshold(16, "rows", Sitting("2026-11-22", "a377ef5", "Columns and short results"))
"""Up to here rows are few, and a thread has no more results than it writes well."""
RESULT_BYTES_OF_THREAD = threshold(32, "bytes", sittings.WHOLE_SECTORS)
"""A thread that walks alone writes at most these results side by side."""
PAIRED_RESULT_BYTES = threshold(8, "bytes of a result", sittings.WHOLE_SECTORS)
"""A thread has RESULT_BYTES_OF_THREAD of such results even where writing decides the time: two lanes write theirs
together (`passes/access/stores.py`)."""
ONE_IN_FLIGHT_ITEM = threshold(4, "bytes of an element", sittings.OTHER_PLANS)
"""From here on a thread that walks up to three rows has one access in flight: there are enough threads."""
ONE_IN_FLIGHT_ROWS = threshold({2: 3, 4: 0}, "rows, by bytes of an element", sittings.FEW_ROWS)
"""Up to here a thread has one access in flight of rows that begin anywhere, each of which costs two; two up to
FEW_ROWS_AT_MOST, and UNROLL_BEFORE_WIDTH beyond."""
TWO_IN_FLIGHT_TRUTH_ROWS = threshold(48, "rows", sittings.PADDED)
"""Up to here a thread has two accesses in flight of truth values that begin anywhere, and one beyond."""
TRUTH_ROWS = threshold(3, "rows of a middle axis", sittings.PADDED)
"""Up to here a thread reads truth values by whole aligned accesses, as it does up to FEW_ROWS_AT_MOST of others."""
UNALIGNED_BYTE_ROWS = threshold(5, "rows", sittings.FEW_ROWS)
"""From here on bytes are taken out of accesses that begin anywhere, though a thread then has more results than it
writes well."""
ADDED_MANY_ROWS = threshold(64, "rows", sittings.FIFTEEN_THOUSAND)
"""From here on a thread reads as many added bytes that begin anywhere as it does of others."""
ADDED_RESULTS = threshold(4, "elements of an access", sittings.FIFTEEN_THOUSAND)
"""A thread has these results of fewer rows of added bytes that begin anywhere: no more than it writes well."""
ADDED_ALIGNED_RESULTS = threshold(2, "elements of an access", sittings.FIFTEEN_THOUSAND)
"""Replaces ADDED_RESULTS where pairs of bytes are aligned."""
ADDED_IN_FLIGHT_OF_MANY = threshold(2, "accesses in flight", sittings.FIFTEEN_THOUSAND)
"""A thread has these of more rows of added bytes than are read at once."""

NARROW_ARRAYS = threshold(2, "bytes of an element", sittings.GRADIENTS)
"""Where each element is made of such ones of several arrays, a thread holds as many states as of one register each:
narrower accesses would be of less than 8 bytes."""

# --- elements that take much work ---
HEAVY_BYTES = threshold(1 << 24, "bytes of an array", sittings.HEAVY_COLUMNS)
"""From here on elements that take much work decide the plan: the more work, the more of them must be under way."""
HEAVY_ELEMENTS = threshold(8, "elements of an access", sittings.HEAVY_COLUMNS)
"""A thread reads at most these of heavy elements."""
HEAVY_REGISTERS = threshold(24, "registers", sittings.HEAVY_COLUMNS)
"""States of the elements of a heavy access take at most these."""
HEAVY_COMBINES = threshold(256, "instructions", sittings.HEAVY_COLUMNS)
"""An unrolled step of heavy elements combines with at most these for each element of an access."""


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of columns, of which neighbouring lanes read neighbours."""
    g = task.geometry
    vector = _within_row(task, vector_of(task, "kept", _widest(task), notes), notes)
    alone = column_lanes.is_short(task, vector)
    unroll = _unroll(task, vector, alone=alone)
    lanes_kept, warps = column_lanes.lanes_kept(task, vector), CTA_THREADS // WARP
    few_lanes = column_lanes.few_lanes(task, vector)
    if alone:
        lanes_kept, warps = WARP, CROWDED_WARPS if _is_crowded(task) else 1
    elif is_heavy(task, vector):
        vector, unroll, lanes_kept = _heavy(task, vector, unroll)
        words = f"{vector} element(s) an access, {unroll} of them in flight: an element takes much work"
        notes.forget({"vector"})
        notes.because(words, "vector", "unroll")
    elif few_lanes and g.n_reduced >= 2 * unroll * CTA_THREADS // few_lanes:
        lanes_kept = few_lanes
    elif vector > 1 and column_lanes.has_narrow_lines(task):
        lanes_kept, warps = column_lanes.lanes_of_narrow(task, vector), column_lanes.NARROW_ROW_WARPS
    elif vector > 1 and column_lanes.has_whole_lines(task):
        lanes_kept = min(WARP, 2 * lanes_kept)
    results = f"{lanes_kept * vector} {'column' if g.after else 'result'}(s) a warp"
    notes.because(f"{results}, {warps} warp(s) share the reduced axis", "fast", "vector", "lanes", "warps")
    warps_kept = column_lanes.warps_kept(task, vector, lanes_kept, max(1, CTA_THREADS // WARP // warps))
    return Plan("kept", "interleaved", vector, unroll, WARP // lanes_kept, warps, warps_kept)


def registers(task: Task) -> int:
    """Registers of states that a thread may hold."""
    several = task.state_registers >= SEVERAL_REGISTERS and not _reads_narrow_arrays(task)
    return STATE_REGISTERS // (4 if several else 2)


def _reads_narrow_arrays(task: Task) -> bool:
    """Whether each element is made of narrow ones of several arrays."""
    g = task.geometry
    dims = (g.kept, g.reduced)
    inputs = range(len(task.program.inputs))
    arrays = [i for i in inputs if all(any(d.strides[i] for d in own) for own in dims)]
    return len(arrays) > 1 and all(task.program.inputs[i].itemsize <= NARROW_ARRAYS for i in arrays)


def is_heavy(task: Task, vector: int) -> bool:
    """Whether an array is large, and its elements take so much work in aligned accesses that nothing else matters."""
    g = task.geometry
    words = task.adds_bytes or task.joins_truths or (task.compares_bytes and vector < HALF)
    light = words or (task.state_registers == 1 and task.itemsize > 1)
    much = not light and (task.itemsize <= 2 or task.has_long_combine)
    big = g.n_kept * g.n_reduced * task.itemsize >= HEAVY_BYTES and not column_lanes.has_long_rows(task)
    return much and big and vector > 1 and task.is_aligned("kept", vector)


def wide(task: Task, found: Plan) -> Plan:
    """``found`` with the widest accesses, as along the reduced axis; while bytes are added, no states are in flight."""
    vector = narrowed(task, widest_of(task, STATE_REGISTERS), task.state_registers)
    if task.itemsize == 1 and task.state_registers > 1:
        vector = min(vector, widest_of(task, STATE_REGISTERS // 2))
    unroll = BYTES_IN_FLIGHT // (vector * task.itemsize)
    if not task.adds_bytes:
        unroll = min(unroll, unroll_of(task, "kept", vector))
    return replace(found, vector=vector, unroll=unroll)


# --- the width of an access ---
def _widest(task: Task) -> int:
    """Elements of an access at most."""
    widest = widest_of(task, registers(task))
    if column_lanes.is_short(task, widest):
        return _widest_of_short(task, widest)
    return min(widest, HALF // task.itemsize) if column_lanes.has_long_rows(task) else widest


def _widest_of_short(task: Task, widest: int) -> int:
    """Elements of an access at most, where a thread walks few rows alone and has as many results as it writes well."""
    rows, half = task.geometry.n_reduced, HALF // task.itemsize
    crowded = _is_crowded(task)
    if "unaligned" in task.accesses("kept", widest) and not crowded:
        found = _widest_of_unaligned(task, widest)
        if found:
            return found
    aligned = task.is_aligned("kept", widest)
    if _are_few_truths(task) and aligned:
        return widest
    if _is_written(task):
        written = RESULT_BYTES_OF_THREAD if task.result_bytes == PAIRED_RESULT_BYTES else WIDEST
        return min(widest, written // task.result_bytes, max(half, 2) if rows > 1 else widest)
    if not _writes_neighbours(task) and aligned:
        return widest
    if task.itemsize == 1:
        widest = min(widest, half)
    if crowded:
        return min(widest, CROWDED_RESULTS)
    written = min(widest, max(1, RESULT_BYTES_OF_THREAD // task.result_bytes))
    return written if rows <= FEW_ROWS_AT_MOST or task.is_aligned("kept", written) else widest


def _widest_of_unaligned(task: Task, widest: int) -> int:
    """Elements of an access at most, where rows begin anywhere; 0 where they are read like others."""
    rows, half = task.geometry.n_reduced, HALF // task.itemsize
    if task.itemsize > 1 or task.joins_truths:
        return widest
    pairs, words = (task.is_aligned("kept", n) for n in (2, RESULT_BYTES_OF_THREAD // task.result_bytes))
    if task.adds_bytes and not words:
        few = ADDED_ALIGNED_RESULTS if pairs else ADDED_RESULTS
        return min(widest, half if rows >= ADDED_MANY_ROWS else few)
    return min(widest, half) if rows >= UNALIGNED_BYTE_ROWS and not pairs and not words else 0


def _within_row(task: Task, vector: int, notes: Notes) -> int:
    """``vector``; where the ends of rows cut it, fewer elements, so that most lanes have some, or single ones.

    Only large arrays are read so: kernels for others have more dims, which would cost more than is gained.
    """
    if not task.is_cut(vector):
        return vector
    if column_lanes.is_short(task, vector) and not _pays_by_row(task):
        return 1
    widths = halvings(vector) if task.is_large else []
    found = next((n for n in widths if task.is_cut(n) and not column_lanes.is_idle(task, n)), 1)
    if found < vector:
        notes.rejected.append((f"vector={vector}", f"rows of {task.geometry.columns} results do not fill lanes"))
    return found


def _pays_by_row(task: Task) -> bool:
    """Whether a thread that walks rows alone gains by vectors that are cut there, and whose results lie anywhere.

    Single words of many rows fill sectors as well; of few rows of bytes the results are most of what there is to do.
    """
    few = task.geometry.n_reduced <= FEW_ROWS_AT_MOST
    if task.itemsize == 1:
        return not few or task.joins_truths
    return few or task.itemsize < 4


def _is_written(task: Task) -> bool:
    """Whether results are so large a part of the traffic, and so many, that writing them decides the time."""
    nbytes = task.geometry.n_reduced * task.itemsize
    return column_lanes.is_short(task, WIDEST // task.result_bytes) and nbytes <= LARGE_RESULTS * task.result_bytes


def _writes_neighbours(task: Task) -> bool:
    """Whether neighbouring results lie side by side."""
    return set(task.geometry.kept[-1].strides[len(task.program.inputs) :]) <= {1}


def _are_few_truths(task: Task) -> bool:
    """Whether rows of truth values are so few that a thread has results of a whole access: words are results then."""
    g = task.geometry
    return task.joins_truths and g.n_reduced <= (FEW_ROWS_AT_MOST if len(g.kept) == 1 else TRUTH_ROWS)


# --- accesses in flight ---
def _unroll(task: Task, vector: int, *, alone: bool) -> int:
    """Accesses in flight of a thread."""
    unroll = unroll_of(task, "kept", vector)
    if task.itemsize == 1 < vector and (alone or "unaligned" not in task.accesses("kept", vector)):
        added = task.adds_bytes and vector > ADDED_ALIGNED_RESULTS
        unroll = min(unroll, BYTES_ELEMENTS_IN_FLIGHT // vector, ADDED_IN_FLIGHT if added else unroll)
    return min(unroll, _in_flight_alone(task, vector)) if alone and task.is_large else unroll


def _in_flight_alone(task: Task, vector: int) -> int:
    """Accesses in flight at most of a thread that walks the rows alone: what is left over is read all the same."""
    rows, unaligned = task.geometry.n_reduced, "unaligned" in task.accesses("kept", vector)
    if task.adds_bytes and vector == ADDED_ALIGNED_RESULTS:
        return ceil2(rows) if rows <= UNROLL else ADDED_IN_FLIGHT_OF_MANY
    if task.adds_bytes and vector == ADDED_RESULTS and unaligned:
        return ADDED_IN_FLIGHT if rows <= FEW_ROWS_AT_MOST else ADDED_IN_FLIGHT_OF_MANY
    if not unaligned or (task.itemsize == 1 and not task.joins_truths):
        return _in_flight_of_aligned(task, rows)
    if task.joins_truths:
        return 2 if rows <= TWO_IN_FLIGHT_TRUTH_ROWS else 1
    if rows <= ONE_IN_FLIGHT_ROWS[task.itemsize]:
        return 1
    return 2 if rows <= FEW_ROWS_AT_MOST else UNROLL_BEFORE_WIDTH


def _in_flight_of_aligned(task: Task, rows: int) -> int:
    """Accesses in flight of aligned rows: fewer where the rows left over would be more than half a step."""
    if _are_few_truths(task):
        return 1
    if rows <= 3:
        return 1 if task.itemsize >= ONE_IN_FLIGHT_ITEM else max(1, ceil2(rows))
    half = ceil2(rows) // 2
    return half if task.adds_bytes or 2 * rows > 3 * half else half // 2


def _heavy(task: Task, vector: int, unroll: int) -> tuple[int, int, int]:
    """(elements of an access, accesses in flight, lanes along the kept axis) of heavy columns."""
    by_state = floor2(HEAVY_REGISTERS // task.state_registers)
    wide = max(vector, min(WIDEST // task.itemsize, HEAVY_ELEMENTS, by_state))
    vector = min(HEAVY_ELEMENTS, wide if task.is_aligned("kept", wide) else vector)
    more = min(UNROLL, floor2(HEAVY_COMBINES // task.combine_cost))
    return vector, max(unroll, more), column_lanes.heavy_lanes(task, vector)


def _is_crowded(task: Task) -> bool:
    """Whether several rows of a middle axis lie within a line or so, and each result has some of them."""
    g = task.geometry
    return len(g.kept) > 1 and g.kept[-1].size * task.itemsize <= CROWDED_ROW_BYTES and g.n_reduced >= CROWDED_ROWS
