"""Which thread owns which element, enumerated from the plan's layout; checks that every element has one owner."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from warpfold.compiler.plan.arithmetic import INTEGERS
from warpfold.compiler.plan.checks import in_steps
from warpfold.compiler.plan.launch import Launch, tiles_of
from warpfold.compiler.plan.layout import layout_of
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.target import WARP


class Thread(NamedTuple):
    """A thread of the grid: its CTA along x, its CTA along y, and its number in the CTA, or the numbers of several."""

    tile: int
    part: int
    number: Any

    def at(self, plan: Plan, **sizes: int) -> dict[Any, int]:
        """How far the thread's first element is from the beginning of each axis, for the sizes of a launch."""
        part, rank = divmod(self.part, plan.cluster)
        numbers: dict[Any, int] = {"lane": self.number % WARP, "warp": self.number // WARP}
        numbers |= {"cluster": rank, "grid_y": part, "grid_x": self.tile}
        known = {m.level for m in layout_of(plan).modes}
        every: Any = {"chunk": 0, "piece": 0, "pitch": 0, "results": plan.slots, "columns": 0} | sizes
        return layout_of(plan).place({k: v for k, v in numbers.items() if k in known}, INTEGERS, every)


def kept_index(plan: Plan, thread: Thread) -> Any:
    """The first result of a thread, counted in its row; an array for several threads."""
    return thread.at(plan)["kept"]


def position(plan: Plan, thread: Thread) -> Any:
    """A thread's number among those of its CTA that share its results; an array for several threads."""
    layout = layout_of(plan)
    digits = layout.digits({"lane": thread.number % WARP, "warp": thread.number // WARP}, INTEGERS)
    return layout.position(digits, INTEGERS)


def reduced_range(plan: Plan, run: Launch, thread: Thread, n_reduced: int, lead: int = 0) -> tuple[int, int, int]:
    """(begin, end, step) of a thread's accesses; elements are counted from the first one of its CTA.

    Accesses to a row that begins ``lead`` elements after a boundary begin ``lead`` elements earlier.
    """
    layout = layout_of(plan)
    each = layout.piece(run.chunk, INTEGERS) if layout.ordered else 0
    begin = thread.at(plan, chunk=run.chunk, piece=each)["reduced"]
    end = min((thread.part + 1) * run.chunk, n_reduced)
    if layout.ordered:
        return begin - lead, min(first_of(plan, run, thread) + each, end), layout.step
    return begin - lead, end, layout.mode("step", "reduced").stride


def first_of(plan: Plan, run: Launch, thread: Thread) -> int:
    """The first element of a thread, or of a warp whose lanes meet in steps; of its CTA, where threads interleave."""
    if not layout_of(plan).ordered:
        return thread.part * run.chunk
    each = layout_of(plan).piece(run.chunk, INTEGERS)
    at = thread._replace(number=thread.number // WARP * WARP) if plan.meets_in_steps else thread
    return at.at(plan, chunk=run.chunk, piece=each)["reduced"]


def runs_of(plan: Plan, run: Launch, thread: Thread, count: int) -> range:
    """The pieces of its result's ``count`` runs that a thread's warp reads."""
    each = layout_of(plan).piece(run.chunk, INTEGERS) if plan.meets_in_steps else run.chunk
    begin = thread.at(plan, chunk=run.chunk, piece=each)["piece"]
    end = min((thread.part + 1) * run.chunk, count, begin + each)
    return range(begin, end, layout_of(plan).mode("turn", "piece").stride)


def staggered_columns(plan: Plan, thread: Thread, row: int) -> tuple[int, int]:
    """(begin, end) of the columns that a thread of a staggered warp owns.

    All CTAs have the same number of columns, in whole accesses; threads beyond them own none.
    """
    pitch = layout_of(plan).pitch(row, tiles_of(plan, row), INTEGERS)
    begin = thread.at(plan, pitch=pitch)["kept"]
    return begin, min(begin + plan.vector, row) if begin < (thread.tile + 1) * pitch else begin


def padded_columns(plan: Plan, thread: Thread, row: int, lead: int) -> tuple[int, int, int]:
    """(number, begin, end) of a thread's padded row, and of its own results there, which begin ``lead`` early."""
    number, at = divmod(kept_index(plan, thread), layout_of(plan).rows.places(row, INTEGERS))
    return number, max(0, at - lead), min(at - lead + plan.vector, row)


def period_range(
    plan: Plan, run: Launch, thread: Thread, columns: int, n_reduced: int, lead: int
) -> tuple[int, int, int]:
    """(begin, end, step) of a thread's accesses to its CTA's rows, counted through all rows.

    Threads beyond a period have no accesses.
    """
    chunk, period = run.chunk * columns, run.rows * columns
    begin = thread.at(plan, chunk=chunk)["flat"]
    first, end = thread.part * chunk, min((thread.part + 1) * chunk, n_reduced * columns)
    return begin - lead, end if begin - first < period else first - plan.vector, period


@st.composite
def plans(draw: st.DrawFn, most_threads: int = 1024) -> Plan:
    """Plans of the ordinary walks with any extents."""
    power = lambda most: st.sampled_from([1 << k for k in range(most.bit_length())])  # noqa: E731
    plan = Plan(
        fast=draw(st.sampled_from(["reduced", "kept"])),
        walk=draw(st.sampled_from(["interleaved", "blocked"])),
        vector=draw(power(16)),
        unroll=draw(power(8)),
        lanes=draw(power(32)),
        warps=draw(power(8)),
        warps_kept=draw(power(4)),
        cluster=draw(st.sampled_from([1, 1, 2, 8])),
        cta=draw(
            st.sampled_from(["shuffle", "shuffle", "serial", "interleaved", "sequential", "warp_sync", "unrolled"])
        ),
        finish=draw(st.sampled_from(["cta", "last_block", "two_kernels"])),
    )
    if plan.cta != "shuffle":
        plan = replace(plan, exchange=draw(st.sampled_from(["shared", "global"])))
    if plan.finish != "cta":
        plan = replace(plan, coarsening=draw(st.sampled_from([0, plan.unroll, 16])))
    if plan.lies_in_warps:
        plan = replace(plan, tile_bytes=draw(st.sampled_from([0, 1024, 32768])))
    steps = replace(plan, meet="steps")
    if plan.walk == "blocked" and steps == in_steps(steps):
        plan = draw(st.sampled_from([plan, steps]))
    assume(plan.threads <= most_threads)
    assume(plan.walk != "blocked" or plan.vector_reduced == 1 or plan.meets_in_steps)
    return plan


@lru_cache(maxsize=4096)
def _threads(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """The first result (in the first tile) and the position of every thread of a CTA."""
    every = Thread(0, 0, np.arange(plan.threads))  # all at once: one by one they took most of the tests' time
    return _each(plan, kept_index(plan, every)), _each(plan, position(plan, every))


def _each(plan: Plan, values: Any) -> np.ndarray:
    """A value for each thread of a CTA, of an array of them or of one for all."""
    return np.broadcast_to(values, (plan.threads,))


def check_threads(plan: Plan) -> None:
    """Every pair of a CTA's slot and a position belongs to one thread, and tiles follow each other.

    Staggered warps are left out, because their columns depend on the launch.
    """
    kept, where = _threads(plan)
    if plan.walk == "staggered":
        return
    slots = (kept[:, None] + np.arange(plan.vector_kept)).ravel()
    pairs = slots * plan.positions + np.repeat(where, plan.vector_kept)
    assert np.array_equal(np.sort(pairs), np.arange(plan.slots * plan.positions))
    for thread in (0, plan.threads - 1):
        moved = kept_index(plan, Thread(3, 0, thread)) - kept_index(plan, Thread(0, 0, thread))
        assert moved == 3 * plan.slots


def check_launch(
    plan: Plan, run: Launch, n_kept: int, n_reduced: int, results: int | None = None, row: int = 0
) -> None:
    """The grid covers both axes, and every CTA, or cluster of CTAs, has work if there is any.

    Args:
        plan: the plan.
        run: its launch.
        n_kept: the results.
        n_reduced: the elements of a result, or its pieces where the plan walks by runs.
        results: the results of a CTA; None for its slots.
        row: the results of a row, which those of a CTA are in; 0 where all results are one row.
    """
    each, row = plan.slots if results is None else results, row or n_kept
    tiles = run.tiles // (n_kept // row) if n_kept else 0
    assert run.chunk > 0
    step = plan.tile // plan.unroll if plan.meets_in_steps else plan.tile
    assert run.chunk % (plan.warps if plan.walk == "runs" else step) == 0
    assert run.split >= 1
    assert run.split % plan.cluster == 0
    assert run.split * run.chunk >= n_reduced
    assert run.split == plan.cluster or (run.split - plan.cluster) * run.chunk < n_reduced
    assert run.tiles == tiles * (n_kept // max(1, row))
    assert tiles * each >= row
    assert (tiles - 1) * each < row or run.tiles == n_kept == 0
    assert run.split == plan.cluster or plan.finish != "cta"
    if plan.walk == "staggered":
        check_columns_of_staggered(plan, row)


def check_run(plan: Plan, run: Launch, runs: int, number: int) -> None:
    """One warp of one CTA reads a piece, and each of its elements belongs to one lane, wherever the piece begins."""
    parts = {0, number // run.chunk, run.split - 1}
    places = [Thread(0, part, warp * WARP) for part in parts for warp in range(plan.warps)]
    assert sum(number in runs_of(plan, run, place, runs) for place in places) == 1
    row = replace(plan, walk="interleaved", warps=1)
    whole = Launch(1, 1, -(-run.length // row.tile) * row.tile)
    for lead in range(plan.vector):
        for element in {0, run.length // 2, run.length - 1}:
            assert owners(row, whole, run.length, element, lead) == 1


def check_columns_of_staggered(plan: Plan, row: int) -> None:
    """In every warp each column of a row has one owner, and every tile has columns."""
    count = np.zeros((plan.warps, row), dtype=np.int64)
    for tile in range(tiles_of(plan, row)):
        for thread in range(plan.threads):
            begin, end = staggered_columns(plan, Thread(tile, 0, thread), row)
            assert begin % plan.vector == 0
            count[position(plan, Thread(tile, 0, thread)), begin : max(begin, end)] += 1
        assert staggered_columns(plan, Thread(tile, 0, 0), row)[0] < row
    assert (count == 1).all()


def check_rows_of_results(plan: Plan, run: Launch, n_kept: int, row: int) -> None:
    """Each result has one owner for each position, and a thread's results are in one row."""
    count = np.zeros(n_kept, dtype=np.int64)
    for tile in range(run.tiles):
        number, within = divmod(tile, tiles_of(plan, row))
        begins = _each(plan, kept_index(plan, Thread(within, 0, np.arange(plan.threads)))).tolist()
        for thread, begin in enumerate(begins):
            mine = range(begin, min(begin + plan.vector_kept, row))
            if plan.walk == "staggered":
                mine = range(*staggered_columns(plan, Thread(within, 0, thread), row))
            count[[number * row + column for column in mine]] += 1
    assert (count == plan.positions).all()


def check_padded(plan: Plan, run: Launch, rows: int, row: int, leads: list[int]) -> None:
    """Each result has one owner; an owner's results are in one row and begin at a boundary or with the row."""
    count = np.zeros((rows, row), dtype=np.int64)
    for tile in range(run.tiles):
        for thread in range(plan.threads):
            number, begin, end = padded_columns(plan, Thread(tile, 0, thread), row, 0)
            if number >= rows:
                continue
            number, begin, end = padded_columns(plan, Thread(tile, 0, thread), row, leads[number])
            assert end - begin <= plan.vector
            assert begin >= end or begin == 0 or (begin + leads[number]) % plan.vector == 0
            count[number, begin : max(begin, end)] += 1
    assert (count == 1).all()


def check_tiles(plan: Plan, tiles: int, results: int, n_kept: int) -> None:
    """Each of ``tiles`` CTAs has ``results`` results of its own, each owned once for every position."""
    stride, threads = layout_of(plan).mode("turn", "kept").stride, np.arange(plan.threads)
    owned = [
        kept
        for tile in range(tiles)
        for first in _each(plan, Thread(tile, 0, threads).at(plan, results=results)["kept"]).tolist()
        for kept in range(first, min((tile + 1) * results, n_kept), stride)
    ]
    assert np.array_equal(np.sort(owned), np.repeat(np.arange(n_kept), plan.positions))


def owned(plan: Plan, run: Launch, part: int, n_reduced: int, lead: int = 0) -> list[np.ndarray]:
    """For each position of a CTA, the elements that its accesses cover, in the order of the walk."""
    _, where = _threads(plan)
    thread = np.empty(plan.positions, dtype=np.int64)
    thread[where[::-1]] = np.arange(plan.threads)[::-1]
    end = min((part + 1) * run.chunk, n_reduced)
    found = []
    for at in range(plan.positions):
        place = Thread(0, part, int(thread[at]))
        first = first_of(plan, run, place) if plan.meets_in_steps else part * run.chunk
        begin, stop, step = reduced_range(plan, run, place, n_reduced, lead)
        elements = (np.arange(begin, stop, step)[:, None] + np.arange(plan.vector_reduced)).ravel()
        found.append(elements[(elements >= first) & (elements < min(stop, end))])
    return found


def check_reduced(plan: Plan, run: Launch, n_reduced: int, lead: int = 0) -> None:
    """Every element belongs to one position of one CTA; blocked threads take all elements in order."""
    parts = [np.concatenate(owned(plan, run, part, n_reduced, lead)) for part in range(run.split)]
    everything = np.concatenate(parts)
    if plan.walk != "blocked" or plan.meets_in_steps:
        everything = np.sort(everything)
    assert np.array_equal(everything, np.arange(n_reduced))


def owners(plan: Plan, run: Launch, n_reduced: int, element: int, lead: int = 0) -> int:
    """How many accesses of all threads cover one element, for axes too long to enumerate."""
    count = 0
    for part in {max(0, element // run.chunk - 1), element // run.chunk, element // run.chunk + 1}:
        first = part * run.chunk
        if part >= run.split or not first <= element < first + run.chunk:
            continue
        for at in range(plan.positions):
            place = _place(plan, part, at)
            begin, end, step = reduced_range(plan, run, place, n_reduced, lead)
            if plan.meets_in_steps and element < first_of(plan, run, place):
                continue
            k = (element - begin) // step
            start = begin + k * step
            count += begin <= start < end and start <= element < min(start + plan.vector_reduced, end)
    return count


def _place(plan: Plan, part: int, at: int) -> Thread:
    """A thread with this position."""
    _, where = _threads(plan)
    return Thread(0, part, int(np.argmax(where == at)))


def brute(plan: Plan, run: Launch, n_kept: int, n_reduced: int, lead: int = 0) -> np.ndarray:
    """How often each element [result][element] is read, counted thread by thread and access by access."""
    count = np.zeros((n_kept, n_reduced), dtype=np.int64)
    for tile in range(run.tiles):
        for part in range(run.split):
            for thread in range(plan.threads):
                place = Thread(tile, part, thread)
                begin, end, step = reduced_range(plan, run, place, n_reduced, lead)
                first = first_of(plan, run, place) if plan.meets_in_steps else part * run.chunk
                for access in range(begin, end, step):
                    for j in range(plan.vector):
                        kept = kept_index(plan, place) + (j if plan.fast == "kept" else 0)
                        at = access + (j if plan.fast == "reduced" else 0)
                        if kept < n_kept and first <= at < end:
                            count[kept, at] += 1
    return count


def check_staggered(plan: Plan, run: Launch, pitch: int, columns: int, n_reduced: int, start: int) -> None:
    """One access reads each element of a tile, and all accesses begin at a boundary.

    Rows of ``columns`` elements are ``pitch`` elements apart; the first begins ``start`` elements after a boundary.
    """
    count = np.zeros((n_reduced, columns), dtype=np.int64)
    for tile in range(tiles_of(plan, columns)):
        mine = [staggered_columns(plan, Thread(tile, 0, lane), columns) for lane in range(WARP)]
        first, last = mine[0][0], max(end for begin, end in mine if begin < end) - 1
        for part in range(run.split):
            for thread in range(plan.threads):
                place = Thread(tile, part, thread)
                lead = (start + first + position(plan, place) * pitch) % plan.vector
                read = np.arange(plan.vector) + staggered_columns(plan, place, columns)[0] - lead
                wanted = read[(read >= first) & (read <= last)]
                for row in range(*reduced_range(plan, run, place, n_reduced)):
                    assert (start + read[0] + row * pitch) % plan.vector == 0
                    count[row, wanted] += 1
    assert (count == 1).all()


def check_periods(plan: Plan, run: Launch, columns: int, n_kept: int, n_reduced: int) -> None:
    """A period has whole rows in whole accesses, and the grid covers both axes."""
    period = run.rows * columns
    assert 0 < period <= plan.threads * plan.vector
    assert period % plan.vector == 0
    assert columns <= plan.slots
    assert run.tiles * columns == n_kept
    assert run.chunk % (run.rows * plan.unroll) == 0
    assert run.split * run.chunk >= n_reduced
    assert run.split == 1 or ((run.split - 1) * run.chunk < n_reduced and plan.finish == "last_block")


def of_periods(plan: Plan, run: Launch, part: int, columns: int, n_reduced: int, lead: int) -> tuple[np.ndarray, ...]:
    """For every thread of a CTA: begin, end and step of its accesses, and the first element of the CTA."""
    ranges = [
        period_range(plan, run, Thread(0, part, thread), columns, n_reduced, lead) for thread in range(plan.threads)
    ]
    begin, end, step = (np.array(x, dtype=object) for x in zip(*ranges, strict=True))
    return begin, end, step, np.full(plan.threads, part * run.chunk * columns, dtype=object)


def period_owners(plan: Plan, run: Launch, columns: int, n_reduced: int, element: int, lead: int) -> int:
    """How many accesses of all threads of a tile cover one element, counted through all its rows."""
    count, guess = 0, element // (run.chunk * columns)
    for part in {max(0, guess - 1), guess, guess + 1} & set(range(run.split)):
        begin, end, step, first = of_periods(plan, run, part, columns, n_reduced, lead)
        start = begin + (element - begin) // step * step
        inside = (begin <= start) & (start < end) & (element < start + plan.vector)
        count += int((inside & (first <= element) & (element < end)).sum())
    return count


def check_columns(plan: Plan, run: Launch, columns: int, n_reduced: int, lead: int) -> None:
    """Every element of a tile is read once, and element j of all accesses of a thread is in the same column."""
    count = np.zeros(n_reduced * columns, dtype=np.int64)
    for part in range(run.split):
        ranges = [period_range(plan, run, Thread(0, part, t), columns, n_reduced, lead) for t in range(plan.threads)]
        for begin, end, step in ranges:
            elements = np.arange(begin, end, step)[:, None] + np.arange(plan.vector)
            assert (elements % columns == elements[:1] % columns).all()
            assert ((elements[:, 0] + lead) % plan.vector == 0).all()
            wanted = elements[(elements >= part * run.chunk * columns) & (elements < end)]
            np.add.at(count, wanted, 1)
    assert (count == 1).all()
