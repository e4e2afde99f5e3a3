"""Columns whose rows begin between sectors of memory: CTAs overlap, and write whole ones."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan.fields import MOST_HELD
from ...plan.plan import Plan
from ...plan.tiles import SECTOR
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from .accesses import elements_of
from .columns import THREADS, TILE, held_of, most_ctas, vector_of
from .shared_columns import SHARED_LEAST

OVERLAPPING = threshold(
    ((512, 1), (256, 1), (128, 1), (256, 8)), "bytes of a row of the tile, CTAs of a cluster at most", sittings.OVERLAPS
)
"""As LINES, for columns of narrow elements that overlap, in the order of choice. Clusters serve programs without
weights along the columns: in shared memory each phase reads these again."""
MOST_ACROSS = threshold(64, "threads across a tile", sittings.OVERLAPS)
"""A tile of columns that overlap is no wider than the accesses of so many threads."""
OVERLAPPED = threshold(4, "times the columns that CTAs share", sittings.OVERLAPS)
"""A tile has so many at least, or CTAs do not overlap: they would fold too many columns twice."""
WEIGHTED_LENGTH = threshold(256, "elements of a column", sittings.STRIPS_AGAIN)
"""Longer columns with weights are in clusters, whose CTAs do not overlap: all warps of a CTA read the same weights."""
WEIGHTED_CTAS = threshold(16, "CTAs of a cluster for each element of an access", sittings.STRIPS_AGAIN)
"""The least of these: divided by the elements of an access, since a CTA has as many more columns."""
OVERLAP_LEAST = threshold(1 << 22, "elements of an array", sittings.OVERLAPS)
"""In smaller ones CTAs do not overlap."""
OVERLAP_LENGTH = threshold(50, "elements of a column", sittings.OVERLAPS)
"""Nor do they where columns are shorter: a neighbour then writes the rest of a sector at about the same time."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of narrow elements that overlap in shared memory; None where they are too short or long."""
    n, item = task.geometry.n_reduced, max(task.operand_type(i).itemsize for i in elements_of(task))
    inputs = sum(i < len(task.program.inputs) for i in elements_of(task))
    vector, overlap = vector_of(task), sector_of(task)
    if not overlap or not inputs or vector * item < WORD:
        return None
    if REDUCED in task.program.input_spaces and n > WEIGHTED_LENGTH and inputs == 1:
        return _weighted(task, notes, min(vector, WIDEST // item // 2), n)
    for width, ctas in OVERLAPPING:
        cluster, across = ceil2(ceil(n * width * inputs / TILE)), width // item // vector
        if cluster <= min(ctas, most_ctas(task)) and across <= MOST_ACROSS:
            break
    else:
        return None
    if cluster > 1 and REDUCED in task.program.input_spaces:
        return None
    lanes, beside = max(1, WARP // across), max(1, across // WARP)
    warps = THREADS // WARP // beside
    plan = Plan("kept", "interleaved", vector, 1, lanes, warps, beside, cluster=cluster, resident="shared")
    held = held_of(n, 1, plan.positions, cluster)
    if not SHARED_LEAST <= held <= MOST_HELD or task.geometry.columns <= plan.slots // 2:
        return None
    explain(notes, overlap)
    ctas_of = f" of {cluster} CTAs" if cluster > 1 else ""
    notes.because(f"columns wait in shared memory{ctas_of}: {held} access(es) of each thread", "held", "resident")
    return replace(plan, held=held, overlap=overlap)


def _weighted(task: Task, notes: Notes, vector: int, n: int) -> Plan | None:
    """The plan of columns of ``n`` elements with weights, in tiles of whole warps; None where they are too long."""
    nbytes = n * WARP * vector * max(task.operand_type(i).itemsize for i in elements_of(task))
    cluster = max(WEIGHTED_CTAS // vector, ceil2(ceil(nbytes / TILE)))
    plan = Plan("kept", "interleaved", vector, 1, 1, THREADS // WARP, 1, cluster=cluster, resident="shared")
    held = held_of(n, 1, plan.positions, cluster)
    if cluster > most_ctas(task) or held > MOST_HELD or task.geometry.columns <= plan.slots // 2:
        return None
    notes.because(
        f"columns wait in shared memory of {cluster} CTAs: {held} access(es) of each thread", "held", "resident"
    )
    return replace(plan, held=held)


def explain(notes: Notes, overlap: int) -> None:
    """Notes why CTAs overlap."""
    notes.because(
        f"rows begin between sectors of memory: CTAs overlap by {overlap} columns, and write whole ones", "overlap"
    )


def sector_of(task: Task) -> int:
    """The elements of a sector of the results, if CTAs of columns are to overlap by it; else 0.

    They are where rows of results begin between sectors, in arrays that the L2 cache does not hold.
    """
    g = task.geometry
    results = [i for i in elements_of(task) if i >= len(task.program.inputs)]
    items = {i: task.operand_type(i).itemsize for i in results}
    outer = (*g.kept[:-1], *g.reduced)
    between = any(
        task.start(i) % WIDEST or any(d.strides[i] * item % SECTOR for d in outer if d.size > 1)
        for i, item in items.items()
    )
    large = g.n_kept * g.n_reduced >= OVERLAP_LEAST and g.n_reduced >= OVERLAP_LENGTH
    once = not (task.is_portable or task.program.side)  # a side fold takes each element once
    return SECTOR // min(items.values()) if between and large and once else 0


def overlaps(task: Task, plan: Plan) -> list[int]:
    """The results that neighbouring CTAs of ``plan`` may share: as many as a sector has of each array of results."""
    waits = plan.resident in ("registers", "shared") and not plan.tile_bytes
    results = [i for i in elements_of(task) if i >= len(task.program.inputs)]
    if not task.program.reduces or task.program.side or plan.fast != "kept" or not waits or not results:
        return []
    item = min(task.operand_type(i).itemsize for i in results)
    return [n for n in (SECTOR // item, 2 * SECTOR // item) if plan.vector <= n <= plan.slots // 2]
