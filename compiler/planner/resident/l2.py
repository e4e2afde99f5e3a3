"""Rows that are too long to wait on chip wait in the L2 cache: chunks of a row are read again while it holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from ...dtypes import BIT
from ...errors import error
from ...plan.fields import LARGEST, MOST_HELD
from ...plan.launch import Launch
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from . import columns
from .accesses import accesses, elements_of, vector_of
from .rows import count_of
from .shared_columns import is_in_lines

HELD = threshold(8, "accesses of a thread", sittings.CACHED_ROWS)
"""A chunk is what the threads of a CTA read with this many accesses each, to all arrays of elements together: registers
hold these. Where bits are portable it is to each array."""
EVEN = threshold(7, "accesses of a thread", sittings.BATCH_NORM)
"""Replaces HELD where these chunks divide a row, and others do not: no end of the row cuts one."""
THREADS = threshold(256, "threads of a CTA", sittings.CACHED_ROWS)
"""Several CTAs fit an SM: one waits while others read, fold and write."""
PAIR = threshold(2, "rows of a CTA", sittings.PAIRS)
"""Rows of narrow elements that have weights: warps of two rows read the same ones, the later warps in the L1 cache."""
PAIR_BYTES = threshold(4 << 20, "bytes of rows", sittings.PAIRS)
"""Of PAIR rows together, at most: nothing longer was measured."""
WIDTH = threshold(128, "bytes of a row of a strip", sittings.CACHED_ROWS)
"""Neighbouring columns of a strip: whole lines of the cache."""
COLUMNS = threshold(4, "columns of a thread", sittings.TURNS)
"""A thread has a state of each of its columns, in registers: narrow elements have accesses of less than 16 bytes."""
MOST_STATES = threshold(1.5, "bytes of states for each byte of a chunk", sittings.TURNS)
"""A CTA combines the states of all chunks of a row: long columns, whose rows lie in one strip, are cut instead."""
FILLED = threshold(2, "turns of each CTA", sittings.TURNS)
"""Columns of fewer chunks stay in clusters."""
CLUSTER = threshold(4, "CTAs of a cluster", sittings.TURNS)
"""Columns that need larger clusters wait in the L2 cache if their elements have at most NARROW bytes, or if they are in
tiles of TILE bytes; those that are read by single elements are cut."""
NARROW = threshold(2, "bytes of an element", sittings.TURNS)
"""A thread computes with such elements in words, of which it has registers for half as many."""
TILE = threshold(32, "bytes of a row of a tile", sittings.TURNS)
"""Of columns of up to 4 bytes an element; nothing wider was measured."""
SMALL_TILE = threshold(52 << 10, "bytes of a tile in shared memory", sittings.COLUMNS_ONCE)
"""An SM holds four such, and clusters of them are faster than chunks that do not divide a column."""
ROW_BYTES = threshold(16 << 20, "bytes of a row", sittings.CACHED_ROWS)
"""Of a row, or of the rows of a strip, and of weights: the most that the cache holds for the phase that follows, beside
what is written."""
THREADS_PER_SM = threshold(512, "threads per SM", sittings.TURNS)
"""CTAs of the grid have this many threads in all; each takes chunks until none is left."""
AHEAD = threshold(0.75, "times the CTAs", sittings.TURNS)
"""A phase follows the one before it by the chunks of a row and so many more, so that CTAs seldom wait."""
ANYWHERE_AHEAD = threshold(0.5, "times the CTAs", sittings.FOLLOWING)
"""Replaces AHEAD for rows that begin anywhere and are folded once, which follow by FOLLOWING at least."""
FOLLOWING = threshold(12 << 20, "bytes of rows", sittings.FOLLOWING)
"""By fewer CTAs wait for each other, and of more the cache has lost some when they are read again."""


def plan(task: Task, notes: Notes, *, by_columns: bool, asked: bool = False) -> Plan | None:
    """The plan of rows that wait in the L2 cache; None where a row is too long for it, or where a cut is faster.

    The tree of a portable plan follows from the length and the type of a row. Where rows are ``asked`` to wait, they do
    whatever it costs.
    """
    inputs = [i for i in elements_of(task) if i < len(task.program.inputs)]
    if not inputs:
        return None
    found = _of_columns(task) if by_columns and not task.is_portable else _of_rows(task, by_columns=by_columns)
    reason = "" if asked else _too_long(task, found, inputs)
    if not (asked or task.is_portable):
        reason = reason or _slow(task, found, inputs, by_columns=by_columns)
    if reason:
        notes.rejected.append(("resident=l2", reason))
        return None
    chunk = found.held * layout_of(found).span("reduced")
    notes.because(f"a row waits in the L2 cache: CTAs take chunks of {chunk} elements by tickets", "held", "resident")
    return found


def _too_long(task: Task, plan: Plan, inputs: Sequence[int]) -> str:
    """Why the cache does not hold rows of ``inputs``; empty if it does."""
    chunk = plan.held * layout_of(plan).span("reduced")
    rows = plan.slots if plan.fast == "kept" else 1
    each = rows * sum(task.operand_type(i).itemsize for i in inputs)
    nbytes, states = task.geometry.n_reduced * each, rows * sum(t.itemsize for t in task.program.states)
    if nbytes > ROW_BYTES:
        return f"{nbytes} bytes of {rows} row(s): at most {ROW_BYTES}"
    if ceil(task.geometry.n_reduced / chunk) * states > MOST_STATES * chunk * each:
        return f"the states of chunks of {chunk} elements have too many bytes"
    return ""


def _slow(task: Task, plan: Plan, inputs: Sequence[int], *, by_columns: bool) -> str:
    """Why kernels of their own are faster; empty if they are not.

    On an H100 columns of 8191 elements took 1.8 to 2.1 times as long, since each of their accesses is one element, and
    bf16 rows of an odd length with weights 1.3 times.
    """
    if by_columns and not _is_whole(task):
        return "columns that are read by less than whole accesses are faster in kernels of their own"
    weights = [i for i, space in enumerate(task.program.input_spaces) if space == REDUCED and i not in inputs]
    found = accesses(task, plan.fast, plan.vector)
    if weights and (by_columns or any(found[i] != "aligned" for i in weights)):
        return "rows whose weights are read by single elements are faster in kernels of their own"
    return _too_long(task, plan, [*inputs, *weights])


def _widest(task: Task) -> int:
    """The bytes of the widest element of rows."""
    return max(task.operand_type(i).itemsize for i in elements_of(task))


def takes(task: Task, plan: Plan) -> bool:
    """Whether columns are faster in chunks, or cut, than by the ``plan`` of a cluster that keeps them."""
    item, n = _widest(task), task.geometry.n_kept * task.geometry.n_reduced
    fills = n * item >= FILLED * HELD * THREADS * WIDEST * _ctas(task, THREADS)
    narrow = _is_whole(task) and (item <= NARROW or plan.slots * item <= TILE)
    slow = narrow or columns.vector_of(task) == 1
    large = plan.cluster > CLUSTER and not plan.overlap
    return fills and slow and item <= WORD and large and not _are_held_faster(task, plan)


def _are_held_faster(task: Task, plan: Plan) -> bool:
    """Whether large clusters hold columns in shared memory that are slower in chunks."""
    if plan.resident != "shared" or sum(i < len(task.program.inputs) for i in elements_of(task)) > 1:
        return False
    if columns.counts_alike(task, plan) or is_in_lines(plan):
        return True
    chunked = _of_columns(task)
    cut = task.geometry.n_reduced % (chunked.held * layout_of(chunked).span("reduced")) > 0
    nbytes = plan.held * plan.threads * plan.vector * _widest(task)
    return cut and nbytes <= SMALL_TILE and REDUCED not in task.program.input_spaces


def _is_whole(task: Task) -> bool:
    """Whether columns are read by whole accesses."""
    return columns.vector_of(task) * _widest(task) >= WIDEST


def _of_rows(task: Task, *, by_columns: bool) -> Plan:
    """The plan of rows whose elements follow each other, or of portable bits."""
    lanes = max(1, THREADS // LARGEST["warps"]) if by_columns else WARP
    vector = vector_of(task, "reduced")
    arrays = [i for i in elements_of(task) if i < len(task.program.inputs) and task.operand_type(i) != BIT]
    held = HELD if task.is_portable else max(1, HELD // ceil2(len(arrays)))
    if held == HELD and not task.is_portable and not task.few:
        held = _dividing(task, vector) or HELD
    plan = Plan("reduced", "interleaved", vector, 1, lanes, THREADS // lanes, resident="l2", held=held)
    if by_columns or task.is_portable or task.few or not _are_paired(task, plan):
        return plan
    return replace(plan, warps=plan.warps // PAIR, warps_kept=PAIR)


def divides(task: Task) -> bool:
    """Whether no end of a row of one array cuts a chunk."""
    vector = vector_of(task, "reduced")
    return "shifted" not in accesses(task, "reduced", vector) and _dividing(task, vector) > 0


def _dividing(task: Task, vector: int) -> int:
    """The accesses of a thread to chunks that divide a row of one array; 0 if none do."""
    return next((h for h in (HELD, EVEN) if task.geometry.n_reduced % (h * THREADS * vector) == 0), 0)


def _are_paired(task: Task, plan: Plan) -> bool:
    """Whether a CTA takes chunks of several rows at a time, which have the same weights; no end of a row cuts one."""
    inputs = [i for i in elements_of(task) if i < len(task.program.inputs)]
    n, weighted = task.geometry.n_reduced, REDUCED in task.program.input_spaces
    whole = n % (plan.held * layout_of(plan).span("reduced") // PAIR) == 0
    nbytes = PAIR * n * sum(task.operand_type(i).itemsize for i in inputs)
    return weighted and whole and len(inputs) == 1 and _widest(task) <= NARROW and nbytes <= PAIR_BYTES


def _of_columns(task: Task) -> Plan:
    """The plan of rows whose elements lie apart: a chunk is a strip of neighbouring rows."""
    vector = min(columns.vector_of(task), COLUMNS)
    lanes = WARP if task.few else ceil2(ceil(task.geometry.columns / vector))
    lanes_kept = max(1, min(WARP, WIDTH // (_widest(task) * vector), lanes))
    plan = Plan("kept", "interleaved", vector, 1, WARP // lanes_kept, THREADS // WARP, resident="l2")
    return replace(plan, held=_held(task, plan))


def _held(task: Task, plan: Plan) -> int:
    """The accesses of a thread to a chunk: more, where they are narrower than those that its columns have."""
    return HELD * (max(1, columns.vector_of(task) // plan.vector) if plan.fast == "kept" else 1)


def overridden(task: Task, chosen: Plan, wanted: Mapping[str, str]) -> Plan:
    """The plan ``chosen``, of which ``wanted`` are the fields that were asked for.

    Raises:
        PlanError: WF403 for a chunk of no accesses, WF425 for a cluster.
    """
    if "held" in wanted and not chosen.held:
        raise error("WF403", key="held", value=chosen.held, expected=f"a number from 1 to {MOST_HELD}")
    if "cluster" in wanted and chosen.cluster > 1:
        raise error("WF425", name=task.program.name, key="cluster", value=chosen.cluster, only=1)
    return replace(chosen, cluster=1, held=chosen.held if "held" in wanted else _held(task, chosen))


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: CTAs that fill the machine, each of which takes one phase of one chunk after another."""
    g = task.geometry
    chunk = layout_of(plan).span("reduced") * plan.held
    length = count_of(task, plan.vector) * plan.vector if plan.fast == "reduced" else g.n_reduced
    tiles, parts = -(-g.n_kept // plan.slots), max(1, -(-length // chunk))
    ctas = min(tiles * parts, _ctas(task, plan.threads))
    lag = min(_lag(task, plan, parts, ctas, chunk), tiles * parts)
    return Launch(tiles, parts, chunk, lag=lag, ctas=ctas)


def _lag(task: Task, plan: Plan, parts: int, ctas: int, chunk: int) -> int:
    """The chunks by which a phase follows the one before it: more than the ``parts`` of a row.

    Aligned and portable rows, columns, and rows of several folds were not timed with FOLLOWING.
    """
    inputs = [i for i in elements_of(task) if i < len(task.program.inputs)]
    found = accesses(task, plan.fast, plan.vector)
    anywhere = plan.fast == "reduced" and any(found[i] == "shifted" for i in inputs)
    if not anywhere or len(task.program.reduces) > 1 or task.is_portable:
        return parts + int(ctas * AHEAD)
    nbytes = plan.slots * chunk * sum(task.operand_type(i).itemsize for i in inputs)
    return max(parts + int(ctas * ANYWHERE_AHEAD), FOLLOWING // nbytes)


def _ctas(task: Task, threads: int) -> int:
    """The CTAs of so many threads that fill the machine."""
    return ceil(task.machine * THREADS_PER_SM / threads)


def tickets(task: Task, run: Launch) -> int:
    """The tickets of a launch, with those that tell its CTAs that no work is left."""
    return run.tiles * run.split + len(task.program.reduces) * run.lag + run.ctas
