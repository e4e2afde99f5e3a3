"""Rows that are too long to wait on chip wait in the L2 cache: chunks of a row are read again while it holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from ...errors import error
from ...plan.launch import Launch
from ...plan.layout import layout_of
from ...plan.plan import LARGEST, MOST_HELD, Plan
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from . import columns
from .accesses import accesses, elements_of, vector_of
from .rows import count_of

HELD = threshold(8, "accesses of a thread", sittings.CACHED_ROWS)
"""A chunk is what the threads of a CTA read with this many accesses each."""
THREADS = threshold(256, "threads of a CTA", sittings.CACHED_ROWS)
"""Several CTAs fit an SM: one waits while others read, fold and write."""
WIDTH = threshold(128, "bytes of a row of a strip", sittings.CACHED_ROWS)
"""Neighbouring columns of a strip: whole lines of the cache."""
MOST_STATES = threshold(1, "bytes of states for each byte of a chunk", sittings.CACHED_ROWS)
"""Each chunk of a row reads the states of all of them: long columns, whose rows lie in one strip, are cut instead."""
ROW_BYTES = threshold(16 << 20, "bytes of a row", sittings.CACHED_ROWS)
"""Of a row, or of the rows of a strip: the most that the cache holds for the phase that follows, beside what is
written."""
THREADS_PER_SM = threshold(1024, "threads per SM", sittings.CACHED_ROWS)
"""CTAs of the grid have this many threads in all; each takes chunks until none is left."""
NARROW = threshold(2, "bytes of an element", sittings.CACHED_ROWS)
"""Chunks of elements of so few bytes that begin between boundaries are slower than kernels of their own."""
AHEAD = threshold(1, "times the CTAs of a phase", sittings.CACHED_ROWS)
"""A phase follows the one before it by the chunks of a row and so many more, so that CTAs seldom wait."""


def plan(task: Task, notes: Notes, *, by_columns: bool, asked: bool = False) -> Plan | None:
    """The plan of rows that wait in the L2 cache; None where a row is too long for it, or where a cut is faster.

    The tree of a portable plan follows from the length and the type of a row. Where rows are ``asked`` to wait, they do
    whatever it costs.
    """
    inputs = [i for i in elements_of(task) if i < len(task.program.inputs)]
    if not inputs:
        return None
    if not (asked or task.is_portable) and (reason := _slow(task, by_columns=by_columns)):
        notes.rejected.append(("resident=l2", reason))
        return None
    found = _of_columns(task) if by_columns and not task.is_portable else _of_rows(task, by_columns=by_columns)
    chunk = found.held * layout_of(found).span("reduced")
    rows = found.slots if found.fast == "kept" else 1
    each = rows * sum(task.operand_type(i).itemsize for i in inputs)
    nbytes, states = task.geometry.n_reduced * each, rows * sum(t.itemsize for t in task.program.states)
    if nbytes > ROW_BYTES:
        notes.rejected.append(("resident=l2", f"{nbytes} bytes of {rows} row(s): at most {ROW_BYTES}"))
        return None
    if ceil(task.geometry.n_reduced / chunk) * states > MOST_STATES * chunk * each:
        notes.rejected.append(("resident=l2", f"the states of chunks of {chunk} elements have more bytes than a chunk"))
        return None
    notes.because(f"a row waits in the L2 cache: CTAs take chunks of {chunk} elements by tickets", "held", "resident")
    return found


def _slow(task: Task, *, by_columns: bool) -> str:
    """Why kernels of their own are faster; empty if they are not.

    On an H100 64 rows of 64 MiB in all took 98 to 108 us in a layer norm with weights, cut 76 to 77, and 96 us in a
    softmax of bf16 rows of an odd length, cut 81.
    """
    if REDUCED in task.program.input_spaces:
        return "rows with weights are faster in kernels of their own"
    if by_columns:
        return ""
    halves = {i for i in elements_of(task) if task.operand_type(i).itemsize <= NARROW}
    found = accesses(task, "reduced", vector_of(task, "reduced"))
    shifted = any(found[i] == "shifted" for i in halves)
    return "halves that begin between boundaries are faster in kernels of their own" if shifted else ""


def _of_rows(task: Task, *, by_columns: bool) -> Plan:
    """The plan of rows whose elements follow each other, or of portable bits."""
    lanes = max(1, THREADS // LARGEST["warps"]) if by_columns else WARP
    vector = vector_of(task, "reduced")
    return Plan("reduced", "interleaved", vector, 1, lanes, THREADS // lanes, resident="l2", held=HELD)


def _of_columns(task: Task) -> Plan:
    """The plan of rows whose elements lie apart: a chunk is a strip of neighbouring rows."""
    vector = columns.vector_of(task)
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    lanes_kept = max(1, min(WARP, WIDTH // (item * vector), ceil2(ceil(task.geometry.columns / vector))))
    return Plan("kept", "interleaved", vector, 1, WARP // lanes_kept, THREADS // WARP, resident="l2", held=HELD)


def overridden(task: Task, chosen: Plan, wanted: Mapping[str, str]) -> Plan:
    """The plan ``chosen``, of which ``wanted`` are the fields that were asked for.

    Raises:
        PlanError: WF403 for a chunk of no accesses, WF425 for a cluster.
    """
    if "held" in wanted and not chosen.held:
        raise error("WF403", key="held", value=chosen.held, expected=f"a number from 1 to {MOST_HELD}")
    if "cluster" in wanted and chosen.cluster > 1:
        raise error("WF425", name=task.program.name, key="cluster", value=chosen.cluster, only=1)
    return replace(chosen, cluster=1, held=chosen.held if "held" in wanted else HELD)


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: CTAs that fill the machine, each of which takes one phase of one chunk after another."""
    g, phases = task.geometry, 1 + len(task.program.reduces)
    chunk = layout_of(plan).span("reduced") * plan.held
    length = count_of(task, plan.vector) * plan.vector if plan.fast == "reduced" else g.n_reduced
    tiles, parts = -(-g.n_kept // plan.slots), max(1, -(-length // chunk))
    ctas = min(phases * tiles * parts, ceil(task.machine * THREADS_PER_SM / plan.threads))
    lag = parts + min(int(ctas * AHEAD / phases), tiles * parts)
    return Launch(tiles, parts, chunk, lag=lag, ctas=ctas)


def tickets(task: Task, run: Launch) -> int:
    """The tickets of a launch, with those that tell its CTAs that no work is left."""
    phases = 1 + len(task.program.reduces)
    return phases * (run.tiles * run.split + (phases - 1) * run.lag) + run.ctas
