"""Rows whose elements follow each other: how many threads, and CTAs of a cluster, share one."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan.plan import LARGEST, LARGEST_CLUSTER, Plan
from ...target import WARP
from .. import sittings
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from .accesses import accesses, vector_of

HELD = threshold(4, "accesses of a row that a thread keeps", sittings.RESIDENT_ROWS)
"""A row of more than a warp gets as few threads as keep it in this many accesses each."""
IN_A_WARP = threshold(128, "accesses of a row", sittings.RESIDENT_ROWS)
"""Up to here a row has one warp or less: its threads need no barrier."""
ROW_THREADS = threshold(256, "threads of a row in a CTA", sittings.RESIDENT_ROWS)
"""From here on threads keep more accesses, up to MOST of them, and then CTAs share the row."""
LARGE_CTA = threshold(512, "threads of a row in a CTA", sittings.RESIDENT_ROWS)
"""Rows of up to MOST accesses each of so many threads have a CTA; longer ones a cluster of CTAs of ROW_THREADS."""
HELD_SHIFTED = threshold(6, "accesses of a row that a thread keeps", sittings.RESIDENT_ROWS)
"""Rows that begin anywhere are cut at both ends: with fewer threads a smaller part of the accesses is."""
MOST = threshold(9, "accesses of a row that a thread keeps", sittings.RESIDENT_ROWS)
"""Beyond, SMs hold too few threads to hide the latency of memory."""
LAST_RESORT = threshold(16, "accesses of a row that a thread keeps", sittings.RESIDENT_ROWS)
"""The most where no more CTAs can share a row."""
CTA_THREADS = threshold(128, "threads of a CTA", sittings.RESIDENT_ROWS)
"""A CTA has this many threads if its rows have fewer."""
MOST_WARPS = LARGEST["warps"]
MAPPED = threshold(2, "accesses of a thread", sittings.RESIDENT_ROWS)
"""The accesses in flight of a thread of a program without a fold."""
FILLING = threshold(256, "threads per SM", sittings.RESIDENT_ROWS)
"""Rows that do not give the machine this many threads get more threads each."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of rows that threads keep in registers; None where they are too long for that."""
    vector = vector_of(task, "reduced")
    count = count_of(task, vector)
    threads, cluster = _sharing(task, count)
    held = max(1, ceil(count / (threads * cluster)))
    if held > LAST_RESORT:
        notes.rejected.append(("resident=registers", f"{held} accesses a thread of a cluster of {cluster} CTAs"))
        return None
    lanes = min(threads, WARP)
    warps = threads // lanes
    ctas = f" in {cluster} CTAs" if cluster > 1 else ""
    notes.because(f"{threads * cluster} thread(s){ctas} keep {held} access(es) of a row each", "held", "lanes", "warps")
    return Plan(
        "reduced", "interleaved", vector, 1, lanes, warps, max(1, CTA_THREADS // (WARP * warps)), cluster=cluster,
        resident="registers", held=held,
    )  # fmt: skip


def portable_plan(task: Task, notes: Notes, *, by_columns: bool) -> Plan | None:
    """The plan of rows of this length and type, wherever they lie; None where they are too long for a CTA.

    The threads of a row combine their states as a tree over their positions, whatever lanes and warps these are. So
    where neighbouring rows lie side by side, neighbouring lanes take neighbouring rows, and the bits are the same.
    """
    found = plan(task, notes)
    if found is None or not by_columns:
        return found
    threads = found.positions
    lanes = max(1, threads // MOST_WARPS)
    warps = threads // lanes
    notes.because("lanes lie along the rows, whose elements lie apart", "lanes", "warps")
    return replace(found, lanes=lanes, warps=warps, warps_kept=max(1, CTA_THREADS // (WARP * warps)))


def map_plan(task: Task, notes: Notes) -> Plan:
    """The plan of a program without a fold: rows are cut into parts that CTAs own, since nothing meets."""
    vector = vector_of(task, "reduced")
    count = count_of(task, vector)
    threads = min(ceil2(count), ROW_THREADS)
    held = min(MAPPED, max(1, ceil(count / threads)))
    lanes = min(threads, WARP)
    warps = threads // lanes
    notes.because(f"each thread makes {held} access(es), which nothing joins", "held")
    return Plan(
        "reduced", "interleaved", vector, 1, lanes, warps, max(1, ROW_THREADS // (WARP * warps)),
        resident="registers", held=held,
    )  # fmt: skip


def count_of(task: Task, vector: int) -> int:
    """Accesses that cover a row, which may begin up to an access less an element early."""
    shifted = "shifted" in accesses(task, "reduced", vector)
    return max(1, ceil((task.geometry.n_reduced + (vector - 1) * shifted) / vector))


def _sharing(task: Task, count: int) -> tuple[int, int]:
    """The threads of a CTA, and the CTAs of a cluster, that share a row of ``count`` accesses."""
    threads = min(WARP, ceil2(count)) if count <= IN_A_WARP else ceil2(ceil(count / HELD))
    if "shifted" in accesses(task, "reduced", vector_of(task, "reduced")) and count <= WARP * MOST:
        threads = min(threads, ceil2(ceil(count / HELD_SHIFTED)))
    if not task.is_portable and count > WARP:
        while threads < min(ROW_THREADS, count) and task.geometry.n_kept * threads < FILLING * task.machine:
            threads *= 2
    if count <= ROW_THREADS * MOST:
        return min(threads, ROW_THREADS), 1
    if count <= LARGE_CTA * MOST:
        return LARGE_CTA, 1
    most = LARGEST_CLUSTER if task.target.has_clusters and not task.is_portable else 1
    cluster, threads = 1, ROW_THREADS
    while cluster < most and count > threads * MOST * cluster:
        cluster *= 2
    while threads < task.target.max_threads and count > threads * MOST * cluster:
        threads *= 2
    return threads, cluster
