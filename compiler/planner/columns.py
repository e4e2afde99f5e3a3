"""Columns: the lanes of a warp lie along the kept axis. A warp walks short ones, all warps of a CTA share long ones."""

from __future__ import annotations

from dataclasses import replace

from ..plan.plan import Plan
from ..program.analysis.cost import operations
from ..space.geometry import Geometry
from ..target import WARP
from .alignment import WIDEST, ceil2, is_cut, large, planned, ranks
from .limits import (
    FEW,
    IN_FLIGHT,
    LONG_COMBINE,
    STATE_LIMIT,
    UNROLL,
    UNROLL_BEFORE_WIDTH,
    adds_bytes,
    calm,
    compares_bytes,
    floor2,
    joins_truths,
    kind,
    unroll_of,
    vector_of,
    widest_of,
)
from .split import THREADS
from .task import Notes, Task

LINE, ACROSS = 128, 16
"""Bytes that the lanes along the kept axis read in a row where warps share the reduced one; and the lanes at least
where rows do not begin at such a boundary, so that fewer lines are read twice."""
LONG_ROWS = {1: 1 << 13, 2: 1 << 16}
"""Bytes of a row, by those of an element, from which on a whole warp reads one, half an access a lane."""
SEVERAL = 3
"""Registers of a state from which on a thread has half as many results."""
NARROW = {"wide": ((2, 2), (4, 4)), "single": ((8, 4),)}
"""(accesses, lanes): kept axes of up to so many accesses get so many lanes, where the reduced axis is long."""
BYTES_IN_FLIGHT, ADDED = 32, 4
"""Elements of a byte that a thread has in flight at most, where it has a state for each of an access; and accesses, of
those that are added: those of four rows are taken apart together."""
HEAVY, HEAVY_ELEMENTS, HEAVY_STATES, HEAVY_CODE = 1 << 24, 8, 24, 256
"""Bytes of an array from which on elements that take much work are taken up in a way of their own; of these at most so
many an access, that so many registers hold, and operations of combines in an unrolled step: the more there is to do for
an element, the more of them must be under way."""
HEAVY_LANES, HEAVY_TILES = {1: 16, 2: 16, 4: WARP, 8: WARP}, 4
"""Lanes along the kept axis then, by the bytes of an element; fewer where there are not so many tiles of them, or where
more than an eighth would have no column."""
SHORT = 256
"""Elements of the reduced axis that a thread walks alone, when lanes lie along the kept axis and fill the machine."""
CROWD, CROWDED, SHARING = 32, 4, 2
"""Bytes of a row of a middle axis at most, and its rows at least, where lanes lie along so many rows that follow each
other that there would be few of them: elements of an access then, and the warps that share the reduced axis."""
WRITTEN = 2
"""Times the bytes of a result that its elements take, up to which a thread reads no more results than the WIDEST bytes
hold, or WRITES: such results are a third of the traffic or more, and neighbouring lanes write them side by side."""
FEW_ROWS, HALF = 16, 8
"""Rows at most for which a thread has no more results than it writes well; and bytes of an access to bytes, of which
more would be more to take apart than to read."""
ANYWHERE = {2: (3, 1), 4: (0, 1)}
"""(rows, accesses), by the bytes of an element: of up to so many rows that begin anywhere a thread has so many accesses
in flight, each of which is two; twice as many of up to FEW_ROWS, and of more those of UNROLL_BEFORE_WIDTH."""
TWO_OF_TRUTHS = 48
"""Rows of truth values that begin anywhere up to which a thread has two accesses in flight; of more one."""
MANY_ROWS, OF_ADDED, OF_PAIRS, OF_MANY = 64, 4, 2, 2
"""Rows of added bytes that begin anywhere from which on a thread reads as many as others do; of fewer it has no more
results than it writes well, OF_ADDED of them, or OF_PAIRS where these are aligned; and accesses in flight of more rows
than are read at once."""
FEWEST = 5
"""Rows of bytes from which on it is worth to take them out of such accesses, though their results are then more than a
thread writes well."""
FEW_TRUTHS = 3
"""Rows of a middle axis of truth values up to which a thread reads whole aligned accesses."""
BUSY = 3 / 4
"""Part of the lanes of a row, and of the warps of its CTAs, that have something to read, where no access goes on in the
next row."""
WORD = 4
"""Bytes of an element from which on a thread that walks three rows has one access in flight: there are enough threads.
"""
WRITES, LONG_RESULT = 32, 8
"""Bytes of results side by side that a thread writes at most, where it walks alone; and of one of which it has so many
though writing them decides the time: two lanes write theirs together (``passes/access/pairs.py``), and read wider."""


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of columns, of which neighbouring lanes read neighbours."""
    g = task.geometry
    widest = widest_of(task, registers(task))
    if is_short(task, widest):
        widest = _widest_of_short(task, widest)
    elif _has_long_rows(task):
        widest = min(widest, HALF // task.itemsize)
    vector = _within_row(task, vector_of(task, "kept", widest, notes), notes)
    unroll, accesses = unroll_of(task, "kept", vector), -(-g.n_kept // vector)
    alone = is_short(task, vector)
    if task.itemsize == 1 < vector and (alone or "unaligned" not in planned(task, "kept", vector)):
        unroll = min(unroll, BYTES_IN_FLIGHT // vector, ADDED if adds_bytes(task) and vector > OF_PAIRS else unroll)
    few_lanes = next((lanes for most, lanes in NARROW[kind(vector)] if accesses <= most), WARP)
    narrow = few_lanes < WARP and max(ranks(g)) <= (3 if vector == 1 else 1)
    lanes_kept, warps = _lanes_kept(task, vector), THREADS // WARP
    if alone:
        lanes_kept, warps = WARP, SHARING if _is_crowded(g, task.itemsize) else 1
        unroll = min(unroll, _in_flight(task, vector)) if large(g) else unroll
    elif is_heavy(task, vector):
        vector, unroll, lanes_kept = _heavy(task, vector, unroll)
        words = f"{vector} element(s) an access, {unroll} of them in flight: an element takes much work"
        notes.forget({"vector"})
        notes.because(words, "vector", "unroll")
    elif narrow and g.n_reduced >= 2 * unroll * THREADS // few_lanes:
        lanes_kept = few_lanes
    results = f"{lanes_kept * vector} {'column' if g.after else 'result'}(s) a warp"
    notes.because(f"{results}, {warps} warp(s) share the reduced axis", "fast", "vector", "lanes", "warps")
    warps_kept = _warps_kept(task, vector, lanes_kept, THREADS // WARP // warps)
    return Plan("kept", "interleaved", vector, unroll, WARP // lanes_kept, warps, warps_kept)


def _within_row(task: Task, vector: int, notes: Notes) -> int:
    """``vector``, or where a row of several cuts it so many elements that most lanes have some, or single ones.

    So it is in large arrays: kernels for others have more dims than these, which would cost more than is gained.
    """
    if not is_cut(task, vector):
        return vector
    if is_short(task, vector) and not _pays_by_row(task):
        return 1
    widths = [vector >> k for k in range(vector.bit_length() - 1)] if large(task.geometry) else []
    found = max((n for n in widths if is_cut(task, n) and not _is_idle(task, n)), default=1)
    if found < vector:
        notes.rejected.append((f"vector={vector}", f"rows of {task.geometry.columns} results do not fill lanes"))
    return found


def _pays_by_row(task: Task) -> bool:
    """Whether a thread that walks rows alone gains by vectors that are cut there, and whose results lie anywhere.

    Single words of many rows fill sectors as well; of few rows of bytes the results are most of what there is to do.
    """
    few = task.geometry.n_reduced <= FEW_ROWS
    if task.itemsize == 1:
        return not few or joins_truths(task)
    return few or task.itemsize < 4


def _is_idle(task: Task, vector: int) -> bool:
    """Whether too many lanes have none of the accesses of a row."""
    lanes = WARP if is_short(task, vector) else _lanes_kept(task, vector)
    accesses = -(-task.geometry.columns // vector)
    return -(-accesses // lanes) * lanes * BUSY > accesses


def _warps_kept(task: Task, vector: int, lanes: int, most: int) -> int:
    """Warps of a CTA along the kept axis, of so many lanes: fewer where a row would leave many of them idle."""
    if not is_cut(task, vector):
        return most
    warps = -(-task.geometry.columns // (vector * lanes))
    while most > 1 and -(-warps // most) * most * BUSY > warps:
        most //= 2
    return most


def is_heavy(task: Task, vector: int) -> bool:
    """Whether an array is large, and its elements take so much work in aligned accesses that nothing else matters."""
    g = task.geometry
    words = adds_bytes(task) or joins_truths(task) or (compares_bytes(task) and vector < HALF)
    light = words or (task.state_registers == 1 and task.itemsize > 1)
    much = not light and (task.itemsize <= 2 or operations(task.monoid) >= LONG_COMBINE)
    big = g.n_kept * g.n_reduced * task.itemsize >= HEAVY and not _has_long_rows(task)
    return much and big and vector > 1 and planned(task, "kept", vector) == {"aligned"}


def _heavy(task: Task, vector: int, unroll: int) -> tuple[int, int, int]:
    """(elements of an access, accesses in flight, lanes along the kept axis) of such columns."""
    by_state = floor2(HEAVY_STATES // task.state_registers)
    wide = max(vector, min(WIDEST // task.itemsize, HEAVY_ELEMENTS, by_state))
    vector = min(HEAVY_ELEMENTS, wide if planned(task, "kept", wide) == {"aligned"} else vector)
    more = min(UNROLL, floor2(HEAVY_CODE // operations(task.monoid)))
    return vector, max(unroll, more), _heavy_lanes(task, -(-task.geometry.n_kept // vector), _lanes_kept(task, vector))


def _heavy_lanes(task: Task, accesses: int, few: int) -> int:
    """The same lanes, of so many accesses in a row; no fewer than ``few``, which others have, but if some are idle."""
    lanes, least = HEAVY_LANES[task.itemsize], min(few, ceil2(accesses))
    while lanes > least and (lanes * HEAVY_TILES > accesses or -(-accesses // lanes) * lanes * 8 > accesses * 9):
        lanes //= 2
    return lanes


def registers(task: Task) -> int:
    """Registers of states that a thread may hold."""
    return STATE_LIMIT // (4 if task.state_registers >= SEVERAL else 2)


def _has_long_rows(task: Task) -> bool:
    """Whether rows of narrow elements are so long that there are few CTAs, or one, for the reduced axis of each."""
    kept = task.geometry.kept
    nbytes = kept[-1].size * task.itemsize if kept else 0
    return nbytes >= LONG_ROWS.get(task.itemsize, nbytes + 1) and large(task.geometry)


def _in_flight(task: Task, vector: int) -> int:
    """Accesses in flight at most of a thread that walks so few rows alone: what is left over is read all the same."""
    rows = task.geometry.n_reduced
    if adds_bytes(task) and vector == OF_PAIRS:
        return ceil2(rows) if rows <= UNROLL else OF_MANY
    if adds_bytes(task) and vector == OF_ADDED and "unaligned" in planned(task, "kept", vector):
        return ADDED if rows <= FEW_ROWS else OF_MANY
    if "unaligned" not in planned(task, "kept", vector) or (task.itemsize == 1 and not joins_truths(task)):
        return _in_flight_of_aligned(task, rows)
    if joins_truths(task):
        return 2 if rows <= TWO_OF_TRUTHS else 1
    fewest, each = ANYWHERE[task.itemsize]
    return each if rows <= fewest else 2 * each if rows <= FEW_ROWS else UNROLL_BEFORE_WIDTH


def _in_flight_of_aligned(task: Task, rows: int) -> int:
    """The same of aligned accesses: fewer where the rows left over would be more than half a step."""
    if _are_few_truths(task):
        return 1
    if rows <= 3:
        return 1 if task.itemsize >= WORD else max(1, ceil2(rows))
    half = ceil2(rows) // 2
    return half if adds_bytes(task) or 2 * rows > 3 * half else half // 2


def _are_few_truths(task: Task) -> bool:
    """Whether a thread has results of a whole access of few rows of truth values: their words are results as well."""
    g = task.geometry
    return joins_truths(task) and g.n_reduced <= (FEW_ROWS if len(g.kept) == 1 else FEW_TRUTHS)


def _is_crowded(g: Geometry, item: int) -> bool:
    """Whether several rows of a middle axis lie within a line or so, and each result has some of them."""
    return len(g.kept) > 1 and g.kept[-1].size * item <= CROWD and g.n_reduced >= CROWD


def _are_beside(g: Geometry, inputs: int) -> bool:
    """Whether neighbouring results lie side by side."""
    return set(g.kept[-1].strides[inputs:]) <= {1}


def _lanes_kept(task: Task, vector: int) -> int:
    """Lanes along the kept axis where warps share the reduced one."""
    g = task.geometry
    if vector == 1 or _has_long_rows(task):
        return WARP
    pitches = [abs(d.strides[0]) * task.itemsize for d in g.reduced]
    across = large(g) and any(pitch % LINE and pitch > 2 * LINE for pitch in pitches)
    return min(WARP, max(ACROSS if across else 1, LINE // (vector * task.itemsize)))


def _is_written(task: Task) -> bool:
    """Whether results are so large a part of the traffic, and so many, that writing them decides the time."""
    g, side_by_side = task.geometry, WIDEST // task.result_bytes
    return is_short(task, side_by_side) and g.n_reduced * task.itemsize <= WRITTEN * task.result_bytes


def is_short(task: Task, vector: int) -> bool:
    """Whether a thread walks the reduced axis alone, since results of so many each fill the machine."""
    g = task.geometry
    many = -(-g.n_kept // max(1, vector)) >= FEW * task.machine * WARP
    return many and g.n_reduced <= SHORT and max(ranks(g)) <= 3


def wide(task: Task, found: Plan) -> Plan:
    """``found`` with the widest accesses, as along the reduced axis; while bytes are added, no states are in flight."""
    vector = calm(task, widest_of(task, STATE_LIMIT), task.state_registers)
    if task.itemsize == 1 and task.state_registers > 1:
        vector = min(vector, widest_of(task, STATE_LIMIT // 2))
    unroll = IN_FLIGHT // (vector * task.itemsize)
    if not adds_bytes(task):
        unroll = min(unroll, unroll_of(task, "kept", vector))
    return replace(found, vector=vector, unroll=unroll)


def _widest_of_short(task: Task, widest: int) -> int:
    """The same where a thread walks a few rows alone: it has as many results as it writes well."""
    g = task.geometry
    half, few = HALF // task.itemsize, g.n_reduced <= FEW_ROWS
    if "unaligned" in planned(task, "kept", widest) and not _is_crowded(g, task.itemsize):
        if task.itemsize > 1 or joins_truths(task):
            return widest
        pairs, words = (planned(task, "kept", n) == {"aligned"} for n in (2, WRITES // task.result_bytes))
        if adds_bytes(task) and not words:
            return min(widest, half if g.n_reduced >= MANY_ROWS else OF_PAIRS if pairs else OF_ADDED)
        if g.n_reduced >= FEWEST and not pairs and not words:
            return min(widest, half)
    if _are_few_truths(task) and planned(task, "kept", widest) == {"aligned"}:
        return widest
    if _is_written(task):
        written = WRITES if task.result_bytes == LONG_RESULT else WIDEST
        return min(widest, written // task.result_bytes, max(half, 2) if g.n_reduced > 1 else widest)
    if not _are_beside(g, len(task.program.inputs)) and planned(task, "kept", widest) == {"aligned"}:
        return widest
    if task.itemsize == 1:
        widest = min(widest, half)
    if _is_crowded(g, task.itemsize):
        return min(widest, CROWDED)
    side_by_side = min(widest, max(1, WRITES // task.result_bytes))
    return side_by_side if few or planned(task, "kept", side_by_side) == {"aligned"} else widest
