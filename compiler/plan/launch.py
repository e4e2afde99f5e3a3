"""The launch of a plan: how many CTAs the grid has along each axis, and how many elements each of them owns."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from ..space.geometry import Geometry
from ..target import WARP
from .arithmetic import INTEGERS
from .layout import layout_of, rows_of_states
from .modes import Rows
from .plan import Plan
from .rounds import second_plan

MOST_ALONG_Y = 65535
"""CTAs that a grid has at most along y, and along z."""


GROUP, LARGE_GROUP = 32, 128
"""Chunks of a row of a scan that leave a state together; the larger number where warps have roles, and a row to look
for: such a look sees about as many chunks as are on the way, and so fewer looks follow each other."""


class Launch(NamedTuple):
    """What one call adds to a plan at run time.

    Attributes:
        tiles: CTAs along the kept axis.
        split: CTAs along the reduced axis, a multiple of the plan's cluster. The last ones of a cluster may have no
            work.
        chunk: elements along the reduced axis, or pieces of runs, that each of these CTAs owns; a multiple of the
            plan's tile, or of a step where lanes meet in steps.
        units: indices along the outermost kept dim that a CTA copies into shared memory; 0 where CTAs copy nothing.
        rows: rows of a period, where the plan walks by periods.
        length: elements in each item that ``chunk`` counts: those of the longest piece, where the plan walks by runs.
        lag: chunks by which CTAs that read a row again follow those that read it first, where rows wait in the L2
            cache.
        ctas: CTAs of the grid, where they take their work by tickets; else 0.
        teams: teams of ``split`` CTAs, where a team takes tile after tile; else 0.
    """

    tiles: int
    split: int
    chunk: int
    units: int = 0
    rows: int = 1
    length: int = 1
    lag: int = 0
    ctas: int = 0
    teams: int = 0

    @property
    def grid(self) -> tuple[int, int, int]:
        """CTAs of the grid along x, y and z; those that share a row along y, and along z where these are too many."""
        if self.ctas:
            return self.ctas, 1, 1
        z = layers(self.split)
        return self.teams or self.tiles, self.split // z, z


def look_back_counters(tiles: int) -> int:
    """The words of 64 bits that the counters of a scan take: one of 32 bits for tickets, and one for each tile."""
    return (2 + tiles) // 2


def lookers(plan: Plan) -> int:
    """The warps that look back, where the warps of a CTA have roles: several of them for several columns."""
    return min(max(1, plan.slots // 2), plan.warps // 4)


def look_back_lanes(plan: Plan) -> int:
    """The lanes that look back for each row of a CTA."""
    threads = WARP * lookers(plan) if plan.has_roles else plan.threads
    return max(1, min(WARP, threads // plan.slots))


def group_of(plan: Plan) -> int:
    """The chunks of a row that leave a state together."""
    return LARGE_GROUP if plan.has_roles and plan.slots == 1 else GROUP


def look_back_cells(plan: Plan, run: Launch) -> int:
    """The states that the chunks of a scan, and their groups, leave in memory."""
    return run.tiles * (run.split + -(-run.split // group_of(plan))) * plan.slots


def layers(split: int) -> int:
    """The CTAs along z of a grid in which ``split`` CTAs, or a few more, share a row."""
    return max(1, -(-split // MOST_ALONG_Y))


def period_rows(plan: Plan, columns: int) -> int:
    """The most rows of ``columns`` elements that a CTA's threads read with one access each; 0 if not even one fits.

    The rows fill whole accesses. So the elements of an access, that many rows further on, are of the same columns.
    """
    whole = plan.vector // gcd(plan.vector, columns)
    return plan.threads * plan.vector // columns // whole * whole


def grain(plan: Plan, row: int) -> int:
    """What the threads of a CTA take of a result at once: see ``shared``.

    Threads take elements, with one access each; or rows of a period, or pieces of runs, one a warp. Only a period
    depends on ``row``, the results of a row of the kept axis.
    """
    layout = layout_of(plan)
    return period_rows(plan, row) if layout.chunked == "flat" else layout.span(layout.chunked)


def pieces(plan: Plan, length: int) -> tuple[int, int]:
    """The pieces of a run of ``length`` elements, and the elements of the longest. Only whole warps read cut runs."""
    layout = layout_of(plan)
    cut = "piece" in layout.loops and plan.lanes == WARP
    count, each = layout.pieces(length, INTEGERS) if cut else (1, length)
    return count, min(each, length)


def shared(plan: Plan, geometry: Geometry) -> int:
    """How much of a result CTAs share: its elements, or the pieces of its runs."""
    if layout_of(plan).chunked != "piece" or not geometry.reduced:
        return geometry.n_reduced
    return geometry.runs * pieces(plan, geometry.reduced[-1].size)[0]


def walks_once(plan: Plan, run: Launch, n_reduced: int) -> bool:
    """Whether no thread makes more accesses than it has in flight: to its elements, and then to partial states."""
    if plan.unroll == 1 or layout_of(plan).loops != ("reduced",) or min(run.chunk, n_reduced) > plan.tile:
        return False
    states = plan.parts(run.split) if plan.finish == "last_block" else 0
    second = second_plan(plan)
    return states <= second.positions * second.unroll


def unrolled(plan: Plan, row: int) -> int:
    """What the threads of a CTA take of a result in one unrolled step; warps take one piece of a run after another."""
    step = grain(plan, row)
    return step if layout_of(plan).chunked == "piece" else step * plan.unroll


def _granularity(plan: Plan, row: int) -> int:
    """What a CTA's part of a result is a multiple of; warps whose lanes meet in steps need not have whole groups."""
    return grain(plan, row) if plan.meets_in_steps else unrolled(plan, row)


def tiles_of(plan: Plan, n_kept: int, row: int = 0) -> int:
    """The CTAs along the kept axis.

    Args:
        plan: the plan.
        n_kept: the results.
        row: the results of a row, beyond which no CTA goes; 0 where all results are one row.
    """
    return -(-_places(layout_of(plan).rows, n_kept, row) // plan.slots)


def cells_of(plan: Plan, n_kept: int, row: int = 0) -> int:
    """The partial states of a part: in each row whole vectors, also where the last one reaches beyond its end."""
    return _places(rows_of_states(plan), n_kept, row)


def _places(rows: Rows, n_kept: int, row: int) -> int:
    """The places of all rows of ``row`` results, or of all results as one row where that is 0."""
    each = row or max(1, n_kept)
    places: int = rows.places(each, INTEGERS)
    return n_kept // each * places


def launch(plan: Plan, n_kept: int, n_reduced: int, split: int = 1, row: int = 0) -> Launch:
    """The grid and the chunk for a reduction.

    Args:
        plan: the plan.
        n_kept: the results.
        n_reduced: what CTAs share of a result, see ``shared``.
        split: CTAs along the reduced axis; there may be fewer, or as many more as fill a cluster.
        row: the results of a row, see ``tiles_of``.
    """
    step, whole = grain(plan, row or n_kept), _granularity(plan, row or n_kept)
    clusters = -(-split // plan.cluster) if plan.finish != "cta" else 1
    chunk = -(-max(1, n_reduced) // (clusters * plan.cluster))
    chunk = -(-chunk // whole) * whole
    clusters = max(1, -(-n_reduced // (chunk * plan.cluster)))
    rows = step if layout_of(plan).chunked == "flat" else 1
    return Launch(tiles_of(plan, n_kept, row), clusters * plan.cluster, chunk, rows=rows)
