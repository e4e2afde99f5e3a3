"""Who owns which element: the grid and the chunk of a call, and from them the elements of each thread.

The functions here are the one definition: ``passes/distribution/walk.py`` and the walks beside it emit exactly
these formulas, and the property tests check that they cover every element once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

from ..space.geometry import Geometry
from ..target import WARP
from .plan import Plan

PIECE = 32
"""Accesses of each lane of a warp to a *piece* of a run, at most: 16 KiB of whole accesses, so that many warps share
long runs, and masks at both ends cost little."""


@dataclass(frozen=True)
class Launch:
    """What one call adds to a plan at run time.

    Attributes:
        tiles: CTAs along the kept axis.
        split: CTAs along the reduced axis, a multiple of the plan's cluster; the last of a cluster may have no work.
        chunk: elements along the reduced axis, or pieces of runs, each of those CTAs owns; a multiple of the plan's
            tile.
        units: indices along the outermost kept dim that a CTA copies into shared memory; 0 where none does.
        rows: those of a period, where the plan walks so.
        length: elements of each of what ``chunk`` counts: of the longest piece, where the plan walks by runs.
    """

    tiles: int
    split: int
    chunk: int
    units: int = 0
    rows: int = 1
    length: int = 1


def period_rows(plan: Plan, columns: int) -> int:
    """The most rows of so many columns that the threads of a CTA read at once in whole accesses; 0 if there are none.

    A multiple of as many rows as it takes to fill accesses: then the elements of an access, so many rows on, are of the
    same columns.
    """
    whole = plan.vector // gcd(plan.vector, columns)
    return plan.threads * plan.vector // columns // whole * whole


def grain(plan: Plan, row: int) -> tuple[int, int]:
    """Results that a CTA works on, and what of ``shared`` its threads read with an access each, or a piece a warp.

    ``row`` are the results of a row of the kept axis, which only a period asks for.
    """
    if plan.walk == "period":
        return row, period_rows(plan, row)
    if plan.walk == "runs":
        return plan.slots, plan.warps
    return plan.slots, plan.positions * plan.vector_reduced


def pieces(plan: Plan, length: int) -> int:
    """Pieces of a run of so many elements, if a warp has it; runs of which a warp has several are short."""
    cut = plan.walk == "runs" and plan.lanes == WARP
    return max(1, -(-length // (plan.step * PIECE))) if cut else 1


def piece(plan: Plan, length: int) -> int:
    """Elements of a piece of such a run, which are all as long but for the last one, in whole steps of a warp."""
    count = pieces(plan, length)
    each = -(-length // count)
    return -(-each // plan.step) * plan.step if count > 1 else length


def shared(plan: Plan, geometry: Geometry) -> int:
    """What of a result CTAs share: its elements, or the pieces of the runs that these lie in."""
    if plan.walk != "runs" or not geometry.reduced:
        return geometry.n_reduced
    return geometry.runs * pieces(plan, geometry.reduced[-1].size)


def walks_once(plan: Plan, run: Launch, n_reduced: int) -> bool:
    """Whether no thread makes more accesses than it has in flight: to its elements, and then to partial states."""
    if plan.unroll == 1 or plan.walk in ("period", "runs", "whole") or min(run.chunk, n_reduced) > plan.tile:
        return False
    states = plan.parts(run.split) if plan.finish == "last_block" else 0
    return states <= plan.second.positions * plan.second.unroll


def unrolled(plan: Plan, row: int) -> int:
    """What of it the threads of a CTA take in one unrolled step."""
    step = grain(plan, row)[1]
    return step if plan.walk == "runs" else step * plan.unroll


def tiles_of(plan: Plan, n_kept: int, row: int = 0) -> int:
    """CTAs along the kept axis: each has results of one row of so many; where that is 0, all results are one row."""
    each = row or max(1, n_kept)
    if plan.walk == "padded":
        return -(-(n_kept // each * padded(plan.vector, each)) // plan.slots)
    return n_kept // each * -(-each // grain(plan, each)[0])


def padded(vector: int, row: int) -> int:
    """Places of a row of so many results, in whole accesses, of which the first may begin before the row does."""
    return -(-(row + vector - 1) // vector) * vector


def cells_of(plan: Plan, n_kept: int, row: int = 0) -> int:
    """Partial states of a part: in each row whole vectors, also where the last one reaches beyond its end."""
    each, width = row or max(1, n_kept), plan.second.vector_kept
    return n_kept // each * -(-each // width) * width


def launch(plan: Plan, n_kept: int, n_reduced: int, split: int = 1, row: int = 0) -> Launch:
    """Grid and chunk for a reduction of these sizes, with about ``split`` CTAs along the reduced axis.

    ``row`` is that of ``tiles_of``, ``n_reduced`` what ``shared`` says.
    """
    step, whole = grain(plan, row or n_kept)[1], unrolled(plan, row or n_kept)
    clusters = -(-split // plan.cluster) if plan.finish != "cta" else 1
    chunk = -(-max(1, n_reduced) // (clusters * plan.cluster))
    chunk = -(-chunk // whole) * whole
    clusters = max(1, -(-n_reduced // (chunk * plan.cluster)))
    rows = step if plan.walk == "period" else 1
    return Launch(tiles_of(plan, n_kept, row), clusters * plan.cluster, chunk, rows=rows)


class Place(NamedTuple):
    """A thread's place in the grid: CTA along kept, CTA along reduced, thread number in the CTA."""

    tile: int
    part: int
    thread: int


def in_row(plan: Plan, place: Place, row: int) -> tuple[int, Place]:
    """The number of a thread's row, where tiles go by rows of so many results, and its place as of that row alone."""
    number, tile = divmod(place.tile, tiles_of(plan, row))
    return number, place._replace(tile=tile)


def kept_index(plan: Plan, place: Place) -> int:
    """The first kept index of a thread in its row; it owns ``vector_kept`` of them from there."""
    lane, warp = place.thread % WARP, place.thread // WARP
    lane_kept = lane // plan.lanes if plan.fast == "reduced" else lane % plan.lanes_kept
    warp_kept = warp // plan.warps
    return ((place.tile * plan.warps_kept + warp_kept) * plan.lanes_kept + lane_kept) * plan.vector_kept


def staggered_columns(plan: Plan, place: Place, row: int) -> tuple[int, int]:
    """(begin, end) of the columns that a thread of a staggered warp owns; its accesses begin up to a vector earlier.

    All CTAs of a row have as many columns, in whole accesses. The lanes behind these own none; the first of them reads
    what of the last column its neighbour does not.
    """
    slot = place.thread % WARP * plan.vector
    vectors = -(-row // plan.vector)
    pitch = -(-vectors // tiles_of(plan, row)) * plan.vector
    begin = place.tile * pitch + slot
    return begin, min(begin + plan.vector, row) if slot < pitch else begin


def padded_columns(plan: Plan, place: Place, row: int, lead: int) -> tuple[int, int, int]:
    """(number, begin, end) of a thread's padded row of so many results, and of those that are its own there.

    They begin so far before its place as the row begins after a boundary, its ``lead``.
    """
    number, at = divmod(kept_index(plan, place), padded(plan.vector, row))
    return number, max(0, at - lead), min(at - lead + plan.vector, row)


def kept_in_tile(plan: Plan, place: Place, results: int, n_kept: int) -> range:
    """The kept indices of a thread whose CTA copies the elements of ``results`` results: one in each turn."""
    first = place.tile * results
    begin = first + kept_index(plan, place._replace(tile=0))
    return range(begin, min(first + results, n_kept), plan.slots)


def position(plan: Plan, place: Place) -> int:
    """A thread's position along the reduced axis within its CTA, from 0."""
    lane, warp = place.thread % WARP, place.thread // WARP
    lane_reduced = lane % plan.lanes if plan.fast == "reduced" else lane // plan.lanes_kept
    return (warp % plan.warps) * plan.lanes + lane_reduced


def reduced_range(plan: Plan, run: Launch, place: Place, n_reduced: int, lead: int = 0) -> tuple[int, int, int]:
    """(begin, end, step) of a thread's accesses; each covers ``vector_reduced`` elements, clipped to [first, end).

    ``first`` is the chunk's start. With a ``lead`` (how far the row's start lies past a boundary, in
    elements) accesses start that much earlier, so that all of them are aligned.
    """
    first = place.part * run.chunk
    end = min(first + run.chunk, n_reduced)
    if plan.walk != "blocked":
        return first - lead + position(plan, place) * plan.vector_reduced, end, plan.step
    piece = -(-run.chunk // plan.positions)
    begin = first + position(plan, place) * piece
    return begin, min(begin + piece, end), 1


def runs_of(plan: Plan, run: Launch, place: Place, count: int) -> range:
    """The pieces of the runs of its result, of ``count`` in all, that a thread reads: its warp's."""
    first = place.part * run.chunk
    return range(first + place.thread // WARP % plan.warps, min(first + run.chunk, count), plan.warps)


def in_run(plan: Plan, number: int, length: int) -> tuple[int, int, int]:
    """(run, begin, end) of a piece: the number of its run, of so many elements, and its elements there."""
    of, k = divmod(number, pieces(plan, length))
    size = piece(plan, length)
    return of, min(k * size, length), min((k + 1) * size, length)


def period_range(
    plan: Plan, run: Launch, place: Place, columns: int, n_reduced: int, lead: int
) -> tuple[int, int, int]:
    """(begin, end, step) of a thread's accesses to the elements of its CTA's rows, counted through all rows.

    As of a row of ``n_reduced * columns`` elements whose start lies ``lead`` past a boundary; clipped to the chunk's.
    """
    first = place.part * run.chunk * columns
    end = min(first + run.chunk * columns, n_reduced * columns)
    slot, period = place.thread * plan.vector, run.rows * columns
    return first - lead + slot, end if slot < period else first - plan.vector, period
