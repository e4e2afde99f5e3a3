"""Rows that CTAs of the whole grid share all at once: their shared memory holds what it can, the L2 cache the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from ...errors import error
from ...plan.fields import LARGEST, MOST_HELD
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import LINE, WIDEST
from ..layouts import rows_abreast
from ..layouts.gapped_columns import as_read
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from . import columns
from .accesses import accesses, elements_of, vector_of, writes_bits
from .grid_bounds import why_slower
from .grid_facts import (
    LIGHT,
    access_bytes,
    bytes_of,
    ctas,
    filled,
    instructions,
    is_long_and_light,
    is_narrow,
    launch,
    room,
    waiting_elements,
    weights_of,
)

WARPS = threshold(16, "warps of a CTA", sittings.GRID_ROWS)
"""An SM has one CTA, which needs many bytes in flight."""
MANY_WARPS = threshold(32, "warps of a CTA", sittings.LONG_IN_GRID)
"""Replaces WARPS for MANY_BYTES of aligned rows whose elements take many instructions: these overlap better so."""
MANY_BYTES = threshold(36 << 20, "bytes of all rows", sittings.GRID_FILLED)
"""Fewer are slower so."""
KEPT_FROM = threshold(96 << 20, "bytes of all rows", sittings.LONG_IN_GRID)
"""Of so many of these rows the L2 cache is told to keep KEPT_BYTES, since it cannot hold all that is walked again."""
KEPT_BYTES = threshold(32 << 20, "bytes of all rows", sittings.LONG_IN_GRID)
"""More is lost before it is read again."""
LIGHT_KEPT = threshold(38 << 20, "bytes of all rows", sittings.LIGHT_IN_GRID)
"""Replaces KEPT_BYTES for light rows with weights."""
BESIDE_WEIGHTS = threshold(196 << 10, "bytes of shared memory of a CTA", sittings.LIGHT_IN_GRID)
"""The most in which these rows wait: the L1 cache keeps weights in the rest."""
PAIR = threshold(2, "rows of a CTA", sittings.ROWS_IN_PAIRS)
"""Warps of as many rows share a CTA where weights lie along PAIRED_FROM of aligned rows: they read the same columns, so
that weights come from the L2 cache once for all."""
PAIRED_FROM = threshold(48 << 20, "bytes of all rows", sittings.ROWS_IN_PAIRS)
"""Fewer are as fast alone."""
LEAST_ODD = threshold(7, "rows", sittings.ROWS_IN_PAIRS)
"""An odd number of rows has pairs from here on: the last one lacks a row."""
ROWS = threshold((2, 4), "rows of a CTA", sittings.GRID_FILLED)
"""Warps of as many rows share a CTA where that gives FULLER times as many CTAs work: of 24 rows each has 5 of 132 CTAs,
which leaves 12 idle, and two of them have 11."""
FULLER = threshold(1.05, "times the CTAs with work", sittings.GRID_FILLED)
"""A gain of less is lost in the meeting of more CTAs."""
UNROLL = threshold(4, "accesses in flight", sittings.GRID_ROWS)
"""Of a thread that walks what does not wait in shared memory."""
CACHED = threshold(24 << 20, "bytes", sittings.GRID_ROWS)
"""Arrays are large if so many have no room in the shared memory of all SMs: the L2 cache does not hold them all."""
REGISTERS = threshold(64, "registers of a thread", sittings.GRID_ROWS)
"""So many hold elements of large arrays whose elements take few instructions. Straight-line code of many instructions
takes longer to load than it saves."""
NARROW_REGISTERS = threshold(32, "registers of a thread", sittings.GRID_ROWS)
"""The same for elements of NARROW bytes, which are widened."""
OF_COLUMNS = threshold(8, "accesses of a thread", sittings.ROWS_ABREAST)
"""So many of columns of large arrays wait in registers."""
OF_LIGHT_STRIPS = threshold(16, "accesses of a thread", sittings.STRIPS_AGAIN)
"""Replaces OF_COLUMNS in narrow strips of words that take few instructions."""
FEWER = threshold(5, "accesses of a thread", sittings.STRIPS_AGAIN)
"""At most so many fewer wait in shared memory, so that those that a thread walks are whole groups."""
COLUMNS = threshold(4, "columns of a thread", sittings.GRID_ROWS)
"""A thread has a state of each of its columns, in registers."""
WIDTH = threshold(128, "bytes of a row of a strip", sittings.GRID_ROWS)
"""Neighbouring columns of a strip: whole lines of the cache."""
STATES = threshold(512 << 10, "bytes of states", sittings.ROWS_ABREAST)
"""A CTA reads at most these of its columns where rows lie abreast."""


def plan(task: Task, notes: Notes, *, by_columns: bool, cached: bool, asked: bool = False) -> Plan | None:
    """The plan of rows that the grid shares; None where there are too many of them, or where others are faster.

    ``cached`` says whether the L2 cache holds a row. Where rows are ``asked`` to wait so, they do whatever it costs.
    """
    if task.is_portable or writes_bits(task) or not waiting_elements(task):
        return None
    found = _of_columns(task, 0 if asked else _abreast(task)) if by_columns else _of_rows(task)
    task = as_read(task, found)
    found = kept(task, found)
    if not found.held:
        return None
    if not asked and (reason := why_slower(task, found, by_columns=by_columns, cached=cached)):
        notes.rejected.append(("resident=grid", reason))
        return None
    run = launch(task, found)
    if found.abreast:
        notes.because(f"{found.abreast} rows lie abreast, so that strips are whole lines of memory", "abreast")
    notes.because(f"{run.tiles * run.split} CTAs share all rows: what they have no room for is read again", "resident")
    return found


def _abreast(task: Task) -> int:
    """How many rows lie abreast, so that strips are whole lines and most CTAs have one; 0 where rows fill lines.

    Each CTA reads as many states of its columns as there are parts of them and rows abreast.
    """
    columns_of, widest = task.geometry.columns, max(task.operand_type(i).itemsize for i in elements_of(task))
    if columns_of * widest % LINE == 0 or LINE % (columns_of * widest) == 0:
        return 0
    best, found, state = 0, 0, sum(t.itemsize for t in task.program.states)
    for abreast in (1 << k for k in range(1, LARGEST["abreast"].bit_length())):
        tiles, rest = divmod(abreast * columns_of * widest, WIDTH)
        parts = ctas(task) // max(1, tiles)
        plan = _of_columns(task, abreast)
        few = parts * abreast * WIDTH // widest * state <= STATES
        if not rest and few and parts * tiles > best and rows_abreast.serves(task, plan):
            best, found = parts * tiles, abreast
    return found


def _of_rows(task: Task) -> Plan:
    """The plan of rows whose elements follow each other: with so many of a CTA that most CTAs have work."""
    least = PAIR if _are_paired(task) else 1
    vector, numbers = vector_of(task, "reduced"), (least, *(rows for rows in ROWS if rows > least))
    plans = [Plan("reduced", "interleaved", vector, UNROLL, WARP, WARPS // n, n, resident="grid") for n in numbers]
    found = plans[0]
    for plan in plans[1:]:
        found = plan if filled(task, plan) >= FULLER * filled(task, found) else found
    return found


def _are_paired(task: Task) -> bool:
    """Whether two rows share a CTA, and with it their weights."""
    rows, found = task.geometry.n_kept, accesses(task, "reduced", vector_of(task, "reduced"))
    whole = rows % PAIR == 0 or rows >= LEAST_ODD
    aligned = all(found[i] == "aligned" for i in elements_of(task))
    return weights_of(task) > 0 and whole and aligned and bytes_of(task) >= PAIRED_FROM


def _of_columns(task: Task, abreast: int) -> Plan:
    """The plan of rows whose elements lie apart, ``abreast`` or not: a tile is a strip of neighbouring rows."""
    vector = min(columns.vector_of(task), COLUMNS)
    widest = max(task.operand_type(i).itemsize for i in elements_of(task))
    across = ceil(task.geometry.columns * max(1, abreast) / vector)
    lanes_kept = max(1, min(WARP, WIDTH // (widest * vector), ceil2(across)))
    unroll = UNROLL * max(1, WIDEST // (widest * vector))
    return Plan(
        "kept", "interleaved", vector, unroll, WARP // lanes_kept, WARPS, resident="grid", abreast=abreast
    )  # fmt: skip


def kept(task: Task, plan: Plan) -> Plan:
    """``plan`` with as many accesses in shared memory as there is room for, and of large arrays with more on chip."""
    limit, nbytes = task.target.shared_per_cta, bytes_of(task)
    heavy, part = instructions(task.program) > LIGHT, 0
    if plan.fast == "reduced" and "shifted" not in accesses(task, plan.fast, plan.vector):
        if not heavy and nbytes > ctas(task) * limit + CACHED:
            plan = replace(plan, in_registers=_in_registers(task, plan))
        if heavy and nbytes >= MANY_BYTES:
            plan = replace(plan, warps=MANY_WARPS // plan.warps_kept)
        if is_long_and_light(task):
            limit, part = min(limit, BESIDE_WEIGHTS), LIGHT_KEPT
        elif heavy and nbytes >= KEPT_FROM:
            part = KEPT_BYTES
        if part:
            plan = replace(plan, in_cache=part // (ctas(task) * plan.threads * access_bytes(task, plan)))
    if plan.fast == "kept" and nbytes > ctas(task) * limit + CACHED:
        light = not (heavy or is_narrow(task)) and rows_abreast.is_narrow(task.geometry, plan)
        plan = replace(plan, in_registers=OF_LIGHT_STRIPS if light else OF_COLUMNS)
    held = room(task, plan, limit)
    return replace(plan, held=_in_whole_groups(task, replace(plan, held=held)) if plan.fast == "kept" else held)


def _in_whole_groups(task: Task, plan: Plan) -> int:
    """The accesses of a thread in shared memory: as many as ``plan`` has, or some fewer.

    Those that the thread walks are whole groups then, all of whose accesses are in flight at once. One by one each
    takes as long as a group.
    """
    each = launch(task, plan).chunk // layout_of(plan).span("reduced")
    walked = each - plan.in_registers - plan.held
    fewer = -walked % plan.unroll
    return plan.held - fewer if walked > 0 and fewer <= min(FEWER, plan.held - 1) else plan.held


def _in_registers(task: Task, plan: Plan) -> int:
    """The accesses of a thread that wait in registers, in whole groups of those in flight."""
    most = (NARROW_REGISTERS if is_narrow(task) else REGISTERS) // ceil(access_bytes(task, plan) / WORD)
    return min(MOST_HELD, most) // plan.unroll * plan.unroll


def overridden(task: Task, chosen: Plan, wanted: Mapping[str, str]) -> Plan:
    """The plan ``chosen``, of which ``wanted`` are the fields that were asked for.

    Raises:
        PlanError: WF403 where no access waits in shared memory, WF425 for a cluster or portable bits, WF437 for more
            rows than the grid has CTAs for.
    """
    name = task.program.name
    if "cluster" in wanted and chosen.cluster > 1:
        raise error("WF425", name=name, key="cluster", value=chosen.cluster, only=1)
    found = replace(chosen, cluster=1, unroll=chosen.unroll if "unroll" in wanted else UNROLL)
    found = found if "held" in wanted else replace(found, held=room(task, found, task.target.shared_per_cta))
    if not task.geometry.n_reduced:  # there is no access to read in place of those that do not exist
        found = replace(found, in_registers=0)
    if not found.held:
        raise error("WF403", key="held", value=found.held, expected=f"a number from 1 to {MOST_HELD}")
    tiles = ceil(as_read(task, found).geometry.n_kept / found.slots)
    if tiles > ctas(task) or task.is_portable:
        raise error("WF437", name=name, needed=f"{tiles} tile(s) of rows", ctas=ctas(task))
    return found
