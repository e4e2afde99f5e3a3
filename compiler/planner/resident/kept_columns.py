"""Columns that threads keep in registers."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan.plan import Plan
from ...plan.tiles import SECTOR
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import Table, threshold
from ..task import Notes, Task
from .accesses import elements_of
from .columns import (
    NARROW,
    SEVERAL,
    THREADS,
    WIDTH_IN_LINES,
    are_lines,
    are_words,
    held_of,
    items_of,
    lanes_kept_of,
    most_ctas,
    vector_of,
)
from .overlapping_columns import OVERLAPPED, explain, sector_of

WIDTHS = Table("bytes of a row of the tile", "CTAs of a cluster, at most", sittings.RESIDENT_COLUMNS, (
    (32, 8), (64, 8), (128, 4), (256, 1),
))  # fmt: skip
"""A tile is as wide as it may be if its columns, in clusters of at most these CTAs, leave each thread KEPT elements."""
OVERLAPPING_WORDS = threshold((128, 8), "bytes of a row of the tile, CTAs of a cluster", sittings.STRIPS_AGAIN)
"""The most of a tile of single words that overlaps: a narrower one would have no room for that."""
PAIRS = threshold(2, "elements of an access", sittings.STRIPS_AGAIN)
"""Columns of halves in which rows begin at such pairs are kept so, and overlap."""
PAIRS_WIDTH = threshold(128, "bytes of a row of the tile", sittings.STRIPS_AGAIN)
"""Of such columns."""
PAIRS_LENGTHS = threshold(
    ((257, 384, 1), (448, 512, 2), (896, 1504, 4), (1792, 2048, 8)),
    "least and most elements of a column, CTAs of a cluster",
    sittings.STRIPS_AGAIN,
)
"""Such columns are kept in clusters of so many CTAs. Of other lengths a thread would keep too many or too few."""
FILLED = threshold(0.9, "part of the last wave of clusters", sittings.STRIPS_AGAIN)
"""See ``fills``."""
NARROW_WIDTH = threshold(64, "bytes of a row of the tile", sittings.RESIDENT_COLUMNS)
"""The most in a cluster, where accesses have several elements of fewer than 16 bytes."""
KEPT = threshold(64, "elements that a thread keeps", sittings.RESIDENT_ROWS)
"""The most, so that an SM holds two CTAs of THREADS."""
KEPT_OF_SEVERAL = threshold(96, "elements of several arrays that a thread keeps", sittings.GRADIENTS)
"""Beyond, a CTA has twice THREADS."""
LEAST = threshold(8, "accesses of a thread", sittings.RESIDENT_ROWS)
"""More warps share a column only if each makes this many accesses."""
OF_SEVERAL = threshold(1.75, "accesses of a thread for each element of an access", sittings.SHORT_COLUMNS)
"""Lanes share a short column only if fewer of them would make more, where phases have SEVERAL values in their states:
what is computed for a column then takes as long as reading some of its elements."""
OF_FEW = threshold(0.875, "accesses of a thread for each element of an access", sittings.SHORT_COLUMNS)
"""The same where they have fewer."""
FILLING = threshold(64, "threads per SM", sittings.SHORT_COLUMNS)
"""More lanes share a column where there are not so many."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that threads keep in registers; None where they are too long for that."""
    vector, n = vector_of(task), task.geometry.n_reduced
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    for width, ctas in reversed(WIDTHS.rows):
        lanes_kept = lanes_kept_of(task, int(width) // item, vector)
        cluster = ceil2(ceil(held_of(n, lanes_kept, THREADS, 1) * vector / KEPT))
        narrow = 1 < vector < WIDEST // item and width > NARROW_WIDTH
        wide = width > WIDTH_IN_LINES and vector * item >= WIDEST and are_lines(task)
        overlapping = vector == 1 and are_words(task.program) and width == OVERLAPPING_WORDS[0] and sector_of(task) > 0
        most = 1 if narrow or wide else OVERLAPPING_WORDS[1] if overlapping else ctas
        if cluster <= min(most, most_ctas(task)):
            break
    else:
        notes.rejected.append(
            ("resident=registers", f"{n} elements a column are too many for {most_ctas(task)} CTA(s)")
        )
        return None
    warps, overlap = THREADS // WARP, sector_of(task) if item == WORD else 0
    single = vector == 1 and overlap > 0
    if cluster == 2 and not single:
        warps, cluster = 2 * warps, 1
    inputs = sum(i < len(task.program.inputs) for i in elements_of(task))
    if warps * WARP == THREADS and held_of(n, lanes_kept, THREADS, cluster) * vector * inputs > KEPT_OF_SEVERAL:
        warps *= 2
    while warps > 1 and held_of(n, lanes_kept, warps * WARP // 2, cluster) <= LEAST:
        warps //= 2
    if warps == cluster == 1 and not (task.program.side or task.program.section):
        lanes_kept = _beside(task, lanes_kept, vector)
    held = held_of(n, lanes_kept, warps * WARP, cluster)
    notes.because(f"{warps} warp(s) of a CTA keep {held} access(es) of a row each", "held", "warps")
    if lanes_kept * vector > task.geometry.columns:
        notes.because(f"{WARP // lanes_kept} lane(s) share a short column, and others have further ones", "lanes")
    found = Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, warps, max(1, 4 // warps), cluster=cluster,
        resident="registers", held=held,
    )  # fmt: skip
    if 0 < overlap <= found.slots // OVERLAPPED and task.geometry.columns > found.slots:
        explain(notes, overlap)
        found = replace(found, overlap=overlap)
    return found


def of_pairs(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of one array of halves that overlap and are read by pairs; None where others are faster."""
    n, overlap = task.geometry.n_reduced, sector_of(task)
    if items_of(task.program) != [NARROW] or REDUCED in task.program.input_spaces or task.is_portable:
        return None
    cluster = next((ctas for least, most, ctas in PAIRS_LENGTHS if least <= n <= most), 0)
    if not overlap or vector_of(task) != PAIRS or not 1 <= cluster <= most_ctas(task):
        return None
    lanes_kept, warps = PAIRS_WIDTH // NARROW // PAIRS, THREADS // WARP
    held = held_of(n, lanes_kept, THREADS, cluster)
    found = Plan(
        "kept", "interleaved", PAIRS, 1, WARP // lanes_kept, warps, 1, cluster=cluster, resident="registers",
        held=held, overlap=overlap,
    )  # fmt: skip
    if task.geometry.columns <= found.slots:
        return None
    notes.because(f"{warps} warp(s) of a CTA keep {held} access(es) of a row each", "held", "warps")
    explain(notes, overlap)
    return found


def fills(task: Task, plan: Plan) -> bool:
    """Whether clusters of two CTAs an SM leave few SMs without work in the last wave."""
    waves = ceil(task.geometry.n_kept / plan.own) * plan.cluster / (2 * task.machine)
    return waves >= FILLED * ceil(waves)


def _beside(task: Task, lanes_kept: int, vector: int) -> int:
    """The lanes beside each other of a warp that keeps short columns: ``lanes_kept``, or more that have further ones.

    Lanes that share a column each compute what is computed for it, and combine their states of all columns of an
    access. So they are few, but read whole sectors, and fill the machine.
    """
    g, rows, inputs = task.geometry, elements_of(task), len(task.program.inputs)
    item, arrays = max(task.operand_type(i).itemsize for i in rows), sum(i < inputs for i in rows)
    most = vector * (OF_SEVERAL if len(task.program.states) >= SEVERAL else OF_FEW)
    while lanes_kept < WARP:
        lanes = WARP // lanes_kept // 2
        each = ceil(g.n_reduced / lanes)
        kept = each <= most and (arrays == 1 or each * vector * arrays <= KEPT_OF_SEVERAL)
        whole = lanes * g.columns * item >= SECTOR
        if not kept or not whole or g.n_kept // vector * lanes < FILLING * task.machine:
            break
        lanes_kept *= 2
    return lanes_kept
