"""Rows whose elements lie apart: neighbouring lanes read neighbouring rows, the columns of a tile."""

from __future__ import annotations

from math import ceil

from ...plan.plan import LARGEST_CLUSTER, Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2
from ..table import Table, threshold
from ..task import Notes, Task
from .accesses import accesses, elements_of

WIDTHS = Table("bytes of a row of the tile", "CTAs of a cluster, at most", sittings.RESIDENT_ROWS, (
    (32, 8), (64, 8), (128, 2), (256, 1),
))  # fmt: skip
"""A tile is as wide as it may be if its columns, in clusters of at most these CTAs, leave each thread KEPT elements."""
KEPT = threshold(64, "elements that a thread keeps", sittings.RESIDENT_ROWS)
"""The most, so that an SM holds two CTAs of THREADS."""
THREADS = threshold(256, "threads of a CTA", sittings.RESIDENT_ROWS)
"""The most threads of a CTA."""
LEAST = threshold(8, "accesses of a thread", sittings.RESIDENT_ROWS)
"""More warps share a column only if each makes this many accesses."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that threads keep in registers; None where they are too long for that."""
    vector, n = vector_of(task), task.geometry.n_reduced
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    most = LARGEST_CLUSTER if task.target.has_clusters and not task.is_portable else 1
    for width, ctas in reversed(WIDTHS.rows):
        lanes_kept = max(1, min(WARP, int(width) // (item * vector), ceil2(ceil(task.geometry.columns / vector))))
        cluster = ceil2(ceil(_held(n, lanes_kept, THREADS, 1) * vector / KEPT))
        if cluster <= min(ctas, most):
            break
    else:
        notes.rejected.append(("resident=registers", f"{n} elements a column are too many for {most} CTA(s)"))
        return None
    warps = THREADS // WARP
    while warps > 1 and _held(n, lanes_kept, warps * WARP // 2, cluster) <= LEAST:
        warps //= 2
    held = _held(n, lanes_kept, warps * WARP, cluster)
    notes.because(f"{warps} warp(s) of a CTA keep {held} access(es) of a row each", "held", "warps")
    return Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, warps, max(1, 4 // warps), cluster=cluster,
        resident="registers", held=held,
    )  # fmt: skip


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
