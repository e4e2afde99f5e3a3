"""Rows whose elements lie apart: neighbouring lanes read neighbouring rows, the columns of a tile."""

from __future__ import annotations

from math import ceil

from ...plan.plan import LARGEST_CLUSTER, MOST_HELD, Plan
from ...target import WARP
from .. import sittings
from ..alignment import LINE, WIDEST
from ..powers_of_two import ceil2
from ..table import Table, threshold
from ..task import Notes, Task
from .accesses import accesses, elements_of

WIDTHS = Table("bytes of a row of the tile", "CTAs of a cluster, at most", sittings.RESIDENT_COLUMNS, (
    (32, 8), (64, 8), (128, 4), (256, 1),
))  # fmt: skip
"""A tile is as wide as it may be if its columns, in clusters of at most these CTAs, leave each thread KEPT elements."""
NARROW_WIDTH = threshold(64, "bytes of a row of the tile", sittings.RESIDENT_COLUMNS)
"""The most in a cluster, where accesses have several elements of fewer than 16 bytes."""
WIDTH_IN_LINES = threshold(64, "bytes of a row of the tile", sittings.RESIDENT_COLUMNS)
"""The most for columns that a CTA of THREADS does not keep in twice the width, where rows are whole lines of the L2
cache and each SM has a tile: the cache reads a line for two tiles, and half as many states cross a cluster."""
KEPT = threshold(64, "elements that a thread keeps", sittings.RESIDENT_ROWS)
"""The most, so that an SM holds two CTAs of THREADS."""
THREADS = threshold(256, "threads of a CTA", sittings.RESIDENT_ROWS)
"""The most threads of a CTA; two CTAs of a cluster become one of twice as many."""
LEAST = threshold(8, "accesses of a thread", sittings.RESIDENT_ROWS)
"""More warps share a column only if each makes this many accesses."""
NARROW = threshold(2, "bytes of an element", sittings.RESIDENT_COLUMNS)
"""Such elements wait in shared memory: in registers they take as much room as what is computed of them."""
LINES = Table("bytes of a row of the tile in shared memory", "CTAs of a cluster, at most", sittings.RESIDENT_COLUMNS, (
    (64, 8), (128, 1),
))  # fmt: skip
"""As WIDTHS, where the columns leave each CTA TILE bytes."""
TILE = threshold(64 * 1024, "bytes of a tile in shared memory", sittings.RESIDENT_COLUMNS)
"""So an SM holds three CTAs."""
SHARED_LEAST = threshold(5, "accesses of a thread", sittings.RESIDENT_COLUMNS)
"""Shorter columns wait in registers."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that wait on chip; None where they are too long for that."""
    found = None
    if max(task.operand_type(i).itemsize for i in elements_of(task)) <= NARROW:
        found = _shared(task, notes)
    return found or _kept(task, notes)


def _shared(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that wait in shared memory; None where they are too short or too long."""
    n, item = task.geometry.n_reduced, max(task.operand_type(i).itemsize for i in elements_of(task))
    inputs = sum(i < len(task.program.inputs) for i in elements_of(task))
    for width, ctas in reversed(LINES.rows):
        cluster = ceil2(ceil(n * width * inputs / TILE))
        if cluster <= min(ctas, _most_ctas(task)):
            break
    else:
        notes.rejected.append(("resident=shared", f"{n} elements a column are too many for {_most_ctas(task)} CTA(s)"))
        return None
    widest = WIDEST // item
    vector = min(vector_of(task), widest // (2 if cluster > 1 else 1))  # fewer states cross a cluster
    if vector < (widest if cluster == 1 else widest // 2) or not inputs:
        return None
    lanes_kept = _lanes_kept(task, int(width) // item, vector)
    held = _held(n, lanes_kept, THREADS, cluster)
    if not SHARED_LEAST <= held <= MOST_HELD:
        return None
    ctas_of = f" of {cluster} CTAs" if cluster > 1 else ""
    notes.because(f"columns wait in shared memory{ctas_of}: {held} access(es) of each thread", "held", "resident")
    return Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, THREADS // WARP, 1, cluster=cluster,
        resident="shared", held=held,
    )  # fmt: skip


def _kept(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that threads keep in registers; None where they are too long for that."""
    vector, n = vector_of(task), task.geometry.n_reduced
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    for width, ctas in reversed(WIDTHS.rows):
        lanes_kept = _lanes_kept(task, int(width) // item, vector)
        cluster = ceil2(ceil(_held(n, lanes_kept, THREADS, 1) * vector / KEPT))
        narrow = 1 < vector < WIDEST // item and width > NARROW_WIDTH
        wide = width > WIDTH_IN_LINES and vector * item >= WIDEST and _are_lines(task)
        if cluster <= min(1 if narrow or wide else ctas, _most_ctas(task)):
            break
    else:
        notes.rejected.append(
            ("resident=registers", f"{n} elements a column are too many for {_most_ctas(task)} CTA(s)")
        )
        return None
    warps = THREADS // WARP
    if cluster == 2:
        warps, cluster = 2 * warps, 1
    while warps > 1 and _held(n, lanes_kept, warps * WARP // 2, cluster) <= LEAST:
        warps //= 2
    held = _held(n, lanes_kept, warps * WARP, cluster)
    notes.because(f"{warps} warp(s) of a CTA keep {held} access(es) of a row each", "held", "warps")
    return Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, warps, max(1, 4 // warps), cluster=cluster,
        resident="registers", held=held,
    )  # fmt: skip


def _most_ctas(task: Task) -> int:
    """The most CTAs that share a column."""
    return LARGEST_CLUSTER if task.target.has_clusters and not task.is_portable else 1


def _are_lines(task: Task) -> bool:
    """Whether what lies between the rows of tiles is whole lines of the L2 cache, and each SM has a tile."""
    g, rows = task.geometry, elements_of(task)
    items, outer = {i: task.operand_type(i).itemsize for i in rows}, (*g.kept[:-1], *g.reduced)
    fills = g.n_kept * max(items.values()) >= WIDTH_IN_LINES * task.machine
    return fills and all(d.strides[i] * items[i] % LINE == 0 for i in rows for d in outer)


def _lanes_kept(task: Task, columns: int, vector: int) -> int:
    """The lanes beside each other that read the columns of a tile, or all columns if they are fewer."""
    return max(1, min(WARP, columns // vector, ceil2(ceil(task.geometry.columns / vector))))


def _held(n: int, lanes_kept: int, threads: int, cluster: int) -> int:
    """The accesses of a thread to a column of ``n`` elements."""
    return max(1, ceil(n / (threads // lanes_kept * cluster)))


def vector_of(task: Task) -> int:
    """Neighbouring columns of a thread: as many as an access holds, where every array has them side by side."""
    rows = elements_of(task)
    vector = max(1, WIDEST // max(task.operand_type(i).itemsize for i in rows))
    while vector > 1:
        found = accesses(task, "kept", vector)
        if all(found[i] in ("aligned", "bits") for i in rows):
            break
        vector //= 2
    return vector
