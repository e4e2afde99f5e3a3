"""Rows whose elements follow each other: how many threads, and CTAs of a cluster, share one."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan.fields import LARGEST
from ...plan.plan import Plan
from ...program.bit_arrays import WORD
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD as WORD_BYTES
from ..powers_of_two import ceil2
from ..table import Table, threshold
from ..task import Notes, Task
from . import shared_rows
from .accesses import MOST, ROW_THREADS, accesses, elements_of, has_bits, vector_of, writes_bits

HELD = threshold(6, "accesses of a row that a thread keeps", sittings.RESIDENT_ROWS)
"""A row gets as few threads, a power of two, as keep it in this many accesses each."""
IN_A_WARP = threshold(128, "accesses of a row", sittings.RESIDENT_ROWS)
"""Up to here rows of the widest accesses have up to a warp of threads each: its threads need no barrier."""
KEPT_IN_A_WARP = threshold(3, "accesses of a row that a thread keeps", sittings.SHORT_ROWS)
"""Such a row gets as few threads as keep it in this many accesses each: what a row costs is then paid by fewer."""
SIDE_BY_SIDE = threshold(4, "threads of a row", sittings.SHORT_ROWS)
"""The least for that: fewer threads read less than 64 bytes side by side."""
NEARLY = threshold(2 / 3, "times as many lanes", sittings.SHORT_ROWS)
"""Lanes of a row of an odd number of accesses that would fill so many keep two each, if there are eight or more."""
READ_ALONE = threshold(24, "elements of a row", sittings.SHORT_ROWS)
"""Up to here a thread reads a row by single elements if nothing is written for each of them."""
NARROW_RUNS = threshold(2, "bytes of an element", sittings.GROUPED_ROWS)
"""Rows in runs of such elements, each read singly, do not wait in shared memory or in the L2 cache: they are cut."""
WALKING = threshold(512, "threads of a row in a CTA", sittings.RESIDENT_ROWS)
"""The threads that walk a row in memory again and again."""
CTA_THREADS = threshold(128, "threads of a CTA", sittings.RESIDENT_ROWS)
"""A CTA has this many threads if its rows have fewer."""
MOST_WARPS = LARGEST["warps"]
FILLING = threshold(256, "threads per SM", sittings.RESIDENT_ROWS)
"""Rows that do not give the machine this many threads get more threads each."""
WIDE = threshold(512, "threads of a row in a CTA", sittings.WIDE_ROWS)
"""So many keep a longer row in registers, where a CTA of its own has an SM, and few SMs are without one."""
WIDE_ROWS = threshold(0.75, "rows per SM", sittings.WIDE_ROWS)
"""From here to one row per SM. Fewer rows have several SMs each, and so clusters."""
SOME_ROWS = threshold(0.35, "rows per SM", sittings.WIDE_ROWS)
"""From here on if a thread keeps HELD accesses at most: clusters gain less, and meet through other SMs."""
SHARED_FROM = threshold(2048, "accesses of a row", sittings.ROWS_IN_PAIRS)
"""Longer rows of narrow elements that begin anywhere wait in shared memory: threads that keep nine accesses each, of
which the ends cut two, have too many registers."""
READ_FROM = threshold(1500, "elements of a row", sittings.ROWS_IN_PAIRS)
"""From here on rows of words that begin anywhere wait in shared memory where nothing is written for their elements."""
READ_BY_MORE = threshold(3000, "elements of a row", sittings.ROWS_IN_PAIRS)
"""From here on eight warps share such a row; four share shorter ones."""
MANY_ROWS = threshold(4, "rows per SM", sittings.ROWS_IN_PAIRS)
"""Fewer rows wait in registers: a copy takes longer than what it saves."""
SINGLY_FROM = threshold(1500, "elements of a row", sittings.SINGLY)
"""From here on rows of words that begin anywhere are read by single elements, which no end cuts, where two arrays
are read and one is written: with more arrays a thread lacks the registers."""
SINGLY = Table("elements of a row", "threads of a row", sittings.SINGLY, ((2048, 128), (8192, 256)))
"""The threads that share such a row; longer ones are read by accesses of several elements."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of rows that wait on chip; None where they are too long for a cluster."""
    vector = vector_of(task, "reduced")
    threads = _reading_singly(task, vector)
    if threads:
        return _kept(1, task.geometry.n_reduced, threads, notes)
    count = count_of(task, vector)
    if sizes := _in_shared_memory(task, vector, count):
        found = shared_rows.plan(task, vector, count, notes, sizes)
        if found:
            return found
    if count <= ROW_THREADS * MOST:
        return _kept(vector, count, _threads(task, count), notes)
    if _has_an_sm(task, vector, count):
        return _kept(vector, count, WIDE, notes)
    each = ceil(count / ROW_THREADS)
    notes.rejected.append(("resident=registers", f"{each} accesses in each of {ROW_THREADS} threads: at most {MOST}"))
    return shared_rows.plan(task, vector, count, notes)


def _reading_singly(task: Task, vector: int) -> int:
    """The threads of a row whose accesses are of single words, since longer ones are cut at both ends; else 0."""
    own, inputs, n = elements_of(task), len(task.program.inputs), task.geometry.n_reduced
    words = all(task.operand_type(i).itemsize == WORD_BYTES for i in own) and not has_bits(task)
    two_to_one = [i < inputs for i in own] == [True, True, False] and not task.few and not task.is_portable
    if not words or not two_to_one or n < SINGLY_FROM or "shifted" not in accesses(task, "reduced", vector):
        return 0
    threads = SINGLY.at(n) or 0
    return threads if task.geometry.n_kept * threads >= FILLING * task.machine else 0


def _in_shared_memory(task: Task, vector: int, count: int) -> tuple[int, ...]:
    """The warps to choose from of a CTA whose row of ``count`` accesses begins anywhere; none where registers hold it.

    A copy does not care where a row begins, and the registers of its accesses are free while they are under way.
    """
    own, narrow, program = elements_of(task), vector * NARROW_RUNS >= WIDEST, task.program
    if task.is_portable or task.few or has_bits(task) or task.geometry.n_kept < MANY_ROWS * task.machine:
        return ()
    if program.side or program.section or sum(i < len(program.inputs) for i in own) != 1:
        return ()
    if len(task.geometry.reduced) > 1 or "shifted" not in accesses(task, "reduced", vector):
        return ()
    if narrow and SHARED_FROM < count <= ROW_THREADS * MOST:
        return (ROW_THREADS // WARP,)
    reads = len(own) == 1 and vector * task.operand_type(own[0]).itemsize == WIDEST
    if reads and not narrow and task.geometry.n_reduced >= READ_FROM and count <= ROW_THREADS * MOST:
        return (ROW_THREADS // WARP if task.geometry.n_reduced >= READ_BY_MORE else ROW_THREADS // WARP // 2,)
    return ()


def _kept(vector: int, count: int, threads: int, notes: Notes) -> Plan:
    """The plan of ``threads`` threads that keep a row in registers."""
    held = ceil(count / threads)
    lanes = min(threads, WARP)
    warps = threads // lanes
    notes.because(f"a row waits in registers: {held} access(es) in each of {threads} thread(s)", "held", "resident")
    return Plan(
        "reduced", "interleaved", vector, 1, lanes, warps, max(1, CTA_THREADS // (WARP * warps)),
        resident="registers", held=held,
    )  # fmt: skip


def are_narrow_runs(task: Task) -> bool:
    """Whether a row lies in runs of narrow elements that are read singly: longer ones are cut at the grid."""
    item = min(task.operand_type(i).itemsize for i in elements_of(task))
    return item <= NARROW_RUNS and shared_rows.are_runs(task, vector_of(task, "reduced"))


def walked_plan(task: Task) -> Plan:
    """The plan of rows that are too long to wait on chip: the threads of a CTA walk one in memory in each phase."""
    return Plan("reduced", "interleaved", vector_of(task, "reduced"), 1, WARP, WALKING // WARP, 1, resident="memory")


def portable_plan(task: Task, notes: Notes, *, by_columns: bool) -> Plan | None:
    """The plan of rows of this length and type, wherever they lie; None where they are too long for a CTA.

    The threads of a row combine their states as a tree over their positions, whatever lanes and warps these are. So
    where neighbouring rows lie side by side, neighbouring lanes take neighbouring rows, and the bits are the same.
    """
    found = plan(task, notes)
    if found is None or not by_columns or found.resident == "shared":
        return found
    threads = found.positions
    lanes = max(1, threads // MOST_WARPS)
    warps = threads // lanes
    notes.because("lanes lie along the rows, whose elements lie apart", "lanes", "warps")
    return replace(found, lanes=lanes, warps=warps, warps_kept=max(1, CTA_THREADS // (WARP * warps)))


def count_of(task: Task, vector: int) -> int:
    """Accesses that cover a row, which may begin up to an access less an element early, but not beside bits."""
    early = "shifted" in accesses(task, "reduced", vector) and not writes_bits(task)
    return max(1, ceil((task.geometry.n_reduced + (vector - 1) * early) / vector))


def _threads(task: Task, count: int) -> int:
    """The threads that share a row of ``count`` accesses in registers.

    Accesses that begin anywhere are cut at both ends of a row, and narrow ones fill no lane: with fewer threads there
    are fewer of either.
    """
    vector = vector_of(task, "reduced")
    wide = max(task.operand_type(i).itemsize for i in elements_of(task)) * vector >= WIDEST
    aligned = "shifted" not in accesses(task, "reduced", vector) and wide
    in_a_warp = aligned and count <= IN_A_WARP
    if in_a_warp:
        threads = min(WARP, ceil2(count))
        if len([i for i in elements_of(task) if i < len(task.program.inputs)]) == 1 and not task.is_portable:
            threads = min(threads, _sharing(count))
    else:
        threads = 1 if is_read_alone(task) else ceil2(ceil(count / HELD))
    if not task.is_portable and (in_a_warp or count > WARP):
        while threads < min(ROW_THREADS, count) and task.geometry.n_kept * threads < FILLING * task.machine:
            threads *= 2
    return max(min(threads, ROW_THREADS), lanes_of_word(task, vector))


def _sharing(count: int) -> int:
    """The lanes of a row of ``count`` accesses of one array that keep several each, so that fewer pay what a row costs.

    Rows of several arrays are bound by memory. Of rows that nearly fill as many lanes and are no whole sectors, an
    access of a few lanes reads sectors that the next one needs again: these have twice as many.
    """
    if count % 2 and count >= NEARLY * ceil2(count):
        return max(2 * SIDE_BY_SIDE, ceil2(count) // 2)
    return max(SIDE_BY_SIDE, ceil2(ceil(count / KEPT_IN_A_WARP)))


def is_read_alone(task: Task) -> bool:
    """Whether each thread reads a short row of its own by single elements, and no result has elements of rows."""
    g, writes = task.geometry, any(o.space & REDUCED for o in task.program.outputs)
    fills = g.n_kept >= FILLING * task.machine
    return not (task.is_portable or writes) and g.n_reduced <= READ_ALONE and fills


def _has_an_sm(task: Task, vector: int, count: int) -> bool:
    """Whether each row of ``count`` accesses has an SM for WIDE threads, and is of one array, in aligned accesses."""
    least, most = (SOME_ROWS, HELD) if count <= WIDE * HELD else (WIDE_ROWS, MOST)
    alone = least * task.machine <= task.geometry.n_kept <= task.machine and count <= WIDE * most
    if not alone or task.is_portable or sum(i < len(task.program.inputs) for i in elements_of(task)) != 1:
        return False
    found = accesses(task, "reduced", vector)
    return all(found[i] == "aligned" for i in elements_of(task))


def lanes_of_word(task: Task, vector: int) -> int:
    """The lanes that a row has at least: those that put a word of bits together, if a result is one of bits.

    A row without a fold that is shorter than a word has so many that each makes one access.
    """
    if not writes_bits(task):
        return 1
    return min(WORD // vector, WORD if task.program.reduces else ceil2(count_of(task, vector)))
