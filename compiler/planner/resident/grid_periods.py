"""Columns that the grid shares with any number of rows abreast: accesses go on from one column in the next.

They are few columns of long arrays, and channels of small images. A thread reads whole accesses, wherever columns begin
and end, and a CTA leaves a state of each column. Of many columns a CTA has a strip of less than a row, which several
threads of it share, and leaves a state of those alone.
"""

from __future__ import annotations

from math import ceil

from ...plan.plan import Plan
from ...plan.tiles import SECTOR
from ...target import PORTABLE_CLUSTER
from .. import sittings
from ..alignment import LINE, WIDEST
from ..layouts import rows_abreast
from ..layouts.tiled import WORD
from ..table import threshold
from ..task import Notes, Task
from . import columns, grid, grid_bounds, grid_facts, kept_columns, l2
from .accesses import accesses, elements_of, has_bits
from .grid import COLUMNS, UNROLL, WARPS, kept

STRIPS = threshold((1, 2, 4, 8, 16), "warps along a row", sittings.NARROW_STRIPS)
"""In the order of choice: the other warps share their columns. A narrow strip has fewer states for each column, since
fewer rows lie abreast. Columns of words of which registers hold tiles that overlap are as fast there."""
STRIPS_OF_WORDS = threshold((2, 4, 8, 1, 16), "warps along a row", sittings.NARROW_STRIPS)
"""The same of words, of which the narrowest strips are slower."""
FILLED = threshold(0.75, "CTAs per SM", sittings.NARROW_STRIPS)
"""The least that have work of these: kernels that read columns twice take longer than fewer CTAs."""
MOST = threshold(128 << 20, "bytes of all rows", sittings.PERIODS_ABREAST)
"""Of more the L2 cache and the shared memory hold too small a part."""
LONG = threshold(160 << 10, "bytes of a row", sittings.PERIODS_ABREAST)
"""Shorter rows that are runs in each image are faster in clusters, unless there are MANY_BYTES."""
MANY_BYTES = threshold(60 << 20, "bytes of all rows", sittings.PERIODS_ABREAST)
"""From here on shorter rows, and FEW columns of whole accesses, are read so as well."""
FEW = threshold(28, "columns", sittings.PERIODS_ABREAST)
"""Up to so many are read so even if each row is whole accesses, where there are MANY_BYTES."""
FEW_HALVES = threshold(16, "columns", sittings.PERIODS_ABREAST)
"""More, in rows of half accesses, lie abreast in these, but for MANY_HALVES and bytes."""
MANY_HALVES = threshold(48 << 20, "bytes of all rows", sittings.PERIODS_ABREAST)
"""From here on accesses of half the width take longer."""
LEAST_ACCESS = threshold(8, "bytes of an access", sittings.PERIODS_ABREAST)
"""Of the widest elements: arrays of bytes alone would have smaller ones, and take longer to compute."""
LEAST_OF_SECTORS = threshold(
    {2: 8 << 20, 4: 12 << 20}, "bytes of all rows, by bytes of an element", sittings.STRIPS_AGAIN
)
"""The least of narrow strips where no clusters hold columns, or tiles whose rows are one sector."""
LEAST_IN_CLUSTERS = threshold(12 << 20, "bytes of all rows", sittings.STRIPS_AGAIN)
"""The least of narrow strips of halves where clusters of SHARING CTAs hold columns."""
SHARING = threshold(4, "CTAs of a cluster", sittings.STRIPS_AGAIN)
"""See LEAST_IN_CLUSTERS."""
WAITING = threshold(0.25, "part of the bytes of all rows", sittings.PERIODS_ABREAST)
"""So many wait on chip at least."""
WAITING_OF_STRIPS = threshold(0.2, "part of the bytes of all rows", sittings.STRIPS_AGAIN)
"""The same of narrow strips."""
STATES = threshold(256 << 10, "bytes of states", sittings.PERIODS_ABREAST)
"""The most that a CTA reads: for each of its columns a state of every CTA."""
STATES_OF_STRIPS = threshold(384 << 10, "bytes of states", sittings.STRIPS_AGAIN)
"""The same of narrow strips in which threads have columns alone."""
IN_CLUSTERS = threshold(400 << 10, "bytes of a row", sittings.PERIODS_ABREAST)
"""Shorter rows of runs are as fast in clusters, if a CTA reads more states than PART of the bytes of its elements."""
PART = threshold(1 / 6, "bytes of states for each byte of elements", sittings.PERIODS_ABREAST)
"""See IN_CLUSTERS."""
LARGE_PART = threshold(1 / 3, "bytes of states for each byte of elements", sittings.PERIODS_ABREAST)
"""The same for longer rows of runs."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of which a CTA has several in an access of its threads; None where others are faster."""
    if task.is_portable or has_bits(task) or not task.program.reduces or not grid_facts.waiting_elements(task):
        return None
    widest = max(task.operand_type(i).itemsize for i in elements_of(task))
    vector = min(WIDEST // widest, COLUMNS)
    unroll = UNROLL * max(1, WIDEST // (widest * vector))
    reason, held = "", kept_columns.plan(task, Notes())
    clusters = None if held and l2.takes(task, held) else held
    strips = STRIPS if grid_facts.is_narrow(task) else STRIPS_OF_WORDS
    overlaps = _overlap(task, held)
    for strip in strips:
        found = Plan("kept", "interleaved", vector, unroll, 1, WARPS // strip, strip, resident="grid", abreast=1)
        alone = rows_abreast.is_narrow(task.geometry, found)
        if alone and (overlaps or (found.positions == 1 and columns.vector_of(task) > 1)):
            continue
        wide = rows_abreast.as_read(task, found) if rows_abreast.serves(task, found) else None
        if wide is None or _are_whole(wide, vector):
            continue
        found = kept(wide, found)
        halves = "" if alone and clusters is None else _why_halves(task)
        reason = halves or _why_slower(wide, found, clusters) if found.held else ""
        if found.held and not reason:
            break
    else:
        notes.rejected += [("abreast", reason)] if reason else []
        return None
    run = grid_facts.launch(wide, found)
    notes.because(
        f"a wide row of {wide.geometry.n_kept} elements has whole periods: accesses go on from one column in the next",
        "abreast",
    )
    notes.because(f"{run.tiles * run.split} CTAs share all rows: what they have no room for is read again", "resident")
    return found


def _overlap(task: Task, held: Plan | None) -> bool:
    """Whether columns that overlap in registers, maybe by the plan ``held``, are as fast as narrow strips."""
    if grid_facts.is_narrow(task):
        return kept_columns.of_pairs(task, Notes()) is not None
    most = held is not None and held.cluster == PORTABLE_CLUSTER
    return held is not None and held.overlap > 0 and (not most or kept_columns.fills(task, held))


def _are_whole(task: Task, vector: int) -> bool:
    """Whether rows, or runs of a column, are whole accesses, and as fast where no access goes on in the next one.

    FEW columns of MANY_BYTES are not, unless they are words, and a row is one sector or more, of which a line has a
    whole number.
    """
    g = task.geometry
    if g.run > 1 or g.period % vector:
        return g.run % vector == 0
    row = g.period * max(task.operand_type(i).itemsize for i in elements_of(task))
    apart = grid_facts.is_narrow(task) or row < SECTOR or LINE % row > 0
    return not apart or g.period > FEW or grid_facts.bytes_of(task) < MANY_BYTES


def _why_halves(task: Task) -> str:
    """Why rows that lie abreast in half accesses are faster; empty if they are not."""
    g, waiting = task.geometry, grid_facts.waiting_elements(task)
    bytes_alone = max(task.operand_type(i).itemsize for i in waiting) == 1
    if bytes_alone or columns.vector_of(task) * 2 != COLUMNS or g.columns <= FEW_HALVES:
        return ""
    abreast = grid_facts.bytes_of(task) < MANY_HALVES and grid.plan(task, Notes(), by_columns=True, cached=True)
    return f"rows of {g.columns} columns lie abreast in half accesses" if abreast else ""


def _least(task: Task, plan: Plan, held: Plan | None) -> int:
    """The least bytes of all rows for which strips are faster than clusters, which keep columns by ``held``."""
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    narrow, strips = grid_facts.is_narrow(task), rows_abreast.is_narrow(task.geometry, plan)
    several = sum(t.itemsize for t in task.program.states) > WORD
    if strips and (held is None or (held.slots * item <= SECTOR and (several or not narrow))):
        return LEAST_OF_SECTORS[columns.NARROW if narrow else WORD]
    if strips and narrow and held and held.cluster >= SHARING:
        return LEAST_IN_CLUSTERS
    return grid_bounds.LEAST_OTHERS if narrow else grid_bounds.LEAST_COMPUTED


def _why_slower(task: Task, plan: Plan, held: Plan | None) -> str:
    """Why another plan is faster; empty if none is."""
    rows = elements_of(task)
    narrow = grid_facts.is_narrow(task)
    if max(task.operand_type(i).itemsize for i in rows) > WORD:
        return "wider elements were not measured"
    found = accesses(task, plan.fast, plan.vector)
    if {found[i] for i in rows} != {"aligned"}:
        return "arrays that begin anywhere are faster otherwise"
    access = plan.vector * max(task.operand_type(i).itemsize for i in rows)
    if access < LEAST_ACCESS:
        return f"accesses of {access} bytes take longer to compute than a second read takes"
    heavy = grid_facts.instructions(task.program) > grid_facts.LIGHT
    if narrow and heavy and not grid_facts.has_few_states(task):
        return "narrow elements of columns compute for longer than a second read takes"
    nbytes, least = grid_facts.bytes_of(task), _least(task, plan, held)
    if not least <= nbytes <= MOST:
        return f"{nbytes} bytes of all rows: {least} to {MOST} are faster so"
    waiting = (plan.held + plan.in_registers) * plan.threads * grid_facts.ctas(task)
    waiting *= grid_facts.access_bytes(task, plan)
    if waiting < (WAITING_OF_STRIPS if rows_abreast.is_narrow(task.geometry, plan) else WAITING) * nbytes:
        return f"{waiting} of {nbytes} bytes would wait on chip"
    return _why_few(task, plan, nbytes)


def _why_few(task: Task, plan: Plan, nbytes: int) -> str:
    """Why others are faster than few CTAs, many states and short rows; empty if none are."""
    g, run, ctas = task.geometry, grid_facts.launch(task, plan), grid_facts.ctas(task)
    narrow = rows_abreast.is_narrow(g, plan)
    used = g.n_kept / plan.slots * run.split / ctas
    if used < (FILLED if narrow else grid_bounds.FILLED):
        return f"{used:.0%} of {ctas} CTAs would have work"
    own = min(g.period // g.run, ceil(plan.slots / g.run) + 1)
    each = plan.slots * g.n_kept // g.period if narrow else own * run.tiles
    states = each * run.split * sum(t.itemsize for t in task.program.states)
    if states > (STATES_OF_STRIPS if narrow and plan.positions == 1 else STATES):
        return f"each CTA would read {states} bytes of states"
    if g.run == 1 or nbytes >= MANY_BYTES:
        return ""
    rows = g.period // g.run
    if nbytes < LONG * rows:
        return f"{nbytes} bytes of {rows} rows are few: clusters hold them"
    most = (PART if nbytes < IN_CLUSTERS * rows else LARGE_PART) * nbytes / ctas
    return f"each CTA would read {states} bytes of states, and clusters hold a row" if states > most else ""
