"""Ragged rows: segments of one axis, each with an end of its own; where long ones are cut, and which plan serves them.

One kernel gives every row the same number of threads, the one that costs all rows together least. Rows that would still
hold up the rest are cut into parts, and the states of the parts are the rows of one more kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import error
from ..lazy import lazy
from ..plan.checks import check
from ..plan.facts import INDEX_LIMIT, Facts
from ..plan.plan import STATIC_SHARED, Plan
from ..plan.shared_memory import shared_bytes
from ..program.numeric import Array
from ..space.geometry import Dim, Geometry
from ..target import WARP
from . import choose as planner
from . import in_order, sittings
from .limits import CTA_THREADS
from .options import named
from .powers_of_two import ceil2
from .table import Sitting, threshold
from .task import Task

SHORT_LENGTHS = threshold(1024, "elements of a row", sittings.RAGGED)
"""Below, each length is counted by itself; longer ones are counted by powers of two."""
WAVES = threshold(2, "times the threads of the machine", sittings.SEGMENTS)
"""The threads of all parts together: with two waves a late part costs at most half the time."""
THREAD_ELEMENTS = threshold(16, "elements of a thread", sittings.SEGMENTS)
"""A thread of a part reads at least these: each part costs a state, and all of them one more kernel."""
PARTS_OF_ROW = threshold(4, "parts of a row", sittings.SEGMENTS)
"""A row must have more than these to be cut: shorter ones end before a second kernel would have begun."""
THREAD_COST = threshold(
    {"reduced": 4, "kept": 16}, "elements that the memory delivers meanwhile, by axis", Sitting("2026-11-21", "00092d2")
)
"""What a thread costs its row before it reads anything: finding the row, and joining lanes, or along the kept axis
mostly warps."""
LAUNCH_COST = threshold(5_000_000, "elements that the memory delivers meanwhile", sittings.RAGGED)
"""What one more kernel costs."""
FAR = threshold({"reduced": 16, "kept": 256}, "elements of a thread, by axis", sittings.RAGGED)
"""Beyond, a thread slows its row down: neighbours along the reduced axis read other sectors, and lanes along the kept
axis, which share sectors, leave too few rows in flight."""
SLOWDOWN = threshold(2, "times that the elements take", sittings.RAGGED)
"""What one thread alone slows such a row down; several threads share it."""


@dataclass(frozen=True, eq=False)
class RaggedRows:
    """Rows of different lengths that follow each other on one axis.

    Attributes:
        bounds: row k is made of the elements from ``bounds[k]`` up to ``bounds[k + 1]``; one entry more than rows.
        origin: for each row the element that has the number 0.
        count: for each row how many elements the caller reduces.
    """

    bounds: Array
    origin: Array
    count: Array

    @classmethod
    def of(cls, bounds: Array) -> RaggedRows:
        """The caller's segments."""
        return cls(bounds, bounds[:-1], np.diff(bounds))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @lazy
    def lengths(self) -> Array:
        """The elements of each row."""
        return np.diff(self.bounds)

    @lazy
    def longest(self) -> int:
        """The elements of the longest row."""
        return int(self.lengths.max(initial=0))

    @property
    def elements(self) -> int:
        """The elements of all rows."""
        return int(self.bounds[-1] - self.bounds[0])

    def cut(self, limit: int) -> tuple[RaggedRows, RaggedRows]:
        """Parts of at most ``limit`` elements, in order, and the same rows made of the parts' states.

        An empty row has no part: it becomes an empty row of states.
        """
        parts = -(-self.lengths // limit)
        first = np.concatenate([[0], np.cumsum(parts)])
        row = np.repeat(np.arange(len(self)), parts)
        begin = self.bounds[row] + (np.arange(first[-1]) - first[row]) * limit
        bounds = np.append(begin, self.bounds[-1])
        return RaggedRows(bounds, self.origin[row], self.count[row]), RaggedRows(first, first[:-1], self.count)


@dataclass(frozen=True)
class Threads:
    """How many threads a row should get, a power of two: once for lanes along the reduced axis, once for the kept axis.

    Planning learns nothing else about the rows, so that calls share a few kernels.
    """

    reduced: int
    kept: int

    @classmethod
    def of(cls, rows: RaggedRows, others: int, room: int) -> Threads:
        """The best for ``rows``, each of which stands for ``others`` results, on a machine of ``room`` threads."""
        threads = 1 << np.arange(CTA_THREADS.bit_length())
        cuts = np.array([_cuts(rows.longest, rows.elements * others, int(n), room) for n in threads])
        counts, sums = (others * a for a in _classes(rows.lengths))
        best = [_cost(counts, sums, threads, cuts, axis).argmin() for axis in ("reduced", "kept")]
        return cls(*(int(threads[b]) for b in best))


def _classes(lengths: Array) -> tuple[Array, Array]:
    """Rows and their elements, by the length of the row; lengths from SHORT_LENGTHS on by powers of two."""
    short = np.bincount(np.minimum(lengths, SHORT_LENGTHS), minlength=SHORT_LENGTHS)[:SHORT_LENGTHS]
    long = lengths[lengths >= SHORT_LENGTHS]
    power = np.frexp(long)[1]
    counts = np.concatenate([short, np.bincount(power)])
    return counts, np.concatenate([short * np.arange(SHORT_LENGTHS), np.bincount(power, long)])


def _cost(counts: Array, sums: Array, threads: Array, cuts: Array, axis: str) -> Array:
    """The cost of classes of ``counts`` rows, with ``sums`` elements in all, for each choice of threads a row.

    Rows too short to be cut are rows of every kernel.
    """
    n = threads[:, None]
    slow = np.where(sums > FAR[axis] * n * counts, SLOWDOWN / n, 0)
    found: Array = (
        LAUNCH_COST * cuts + (1 + cuts) * THREAD_COST[axis] * threads * counts.sum() + (sums * (1 + slow)).sum(1)
    )
    return found


def _cuts(longest: int, elements: int, threads: int, room: int) -> int:
    """How often the longest row and the rows of its parts' states are cut; ``elements`` are those of all rows."""
    limit = _part_limit(threads, elements, room)
    return 0 if longest <= PARTS_OF_ROW * limit else 1 + _cuts(-(-longest // limit), elements // limit, threads, room)


def _part_limit(threads: int, elements: int, room: int) -> int:
    """The most elements of a part with ``threads``: parts fill the machine, but leave every thread enough to do."""
    return ceil2(max(THREAD_ELEMENTS * threads, elements * threads // (WAVES * room)))


def plan(task: Task, wanted: Threads, options: str = "") -> Plan:
    """The plan for rows that want ``wanted`` threads each; ``task`` has their geometry, with the whole axis.

    Raises:
        PlanError: WF402 to WF413 when ``options`` ask for what cannot be served.
        ArgumentError: WF146 when they ask for what rows cannot have.
    """
    row = replace(task, geometry=_one_row(task.geometry))
    chosen = planner.choose(row, split=False).plan
    threads = wanted.kept if chosen.fast == "kept" else wanted.reduced
    across = ceil2(row.geometry.n_kept) if chosen.fast == "kept" else 1
    lanes = min(threads, max(1, WARP // across))
    warps = min(CTA_THREADS // WARP, threads // lanes)
    found = replace(chosen, lanes=lanes, warps=warps, warps_kept=CTA_THREADS // WARP // warps, tile_bytes=0)
    while shared_bytes(found, task.state_bytes) > STATIC_SHARED:
        found = replace(found, warps=found.warps // 2)
    found = found.with_options(options)
    if found.lanes < WARP and found.meets_in_steps:  # rows of a warp that end apart would make different steps
        if "meet" in named(options):
            raise error("WF146", key="meet", value=found.meet)
        found = replace(found, meet="")
    return _checked(task, in_order.giving_way(found, named(options)))


def _one_row(g: Geometry) -> Geometry:
    """The geometry of one row alone, without strides of 1, since rows are read by single elements."""

    def apart(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return tuple(d._replace(strides=tuple(2 * s for s in d.strides)) for d in dims if not d.row_stride)

    return replace(g, kept=apart(g.kept), reduced=apart(g.reduced))


def _checked(task: Task, found: Plan) -> Plan:
    for key, value, wanted in (
        ("fast", found.fast, "kept" if found.fast == "kept" else "reduced"),
        ("vector", found.vector, 1),
        ("tile_bytes", found.tile_bytes, 0),
        ("cluster", found.cluster, 1),
        ("finish", found.finish, "cta"),
        ("walk", found.walk, "blocked" if found.walk == "blocked" else "interleaved"),
    ):
        if value != wanted:
            raise error("WF146", key=key, value=value)
    check(found, task.target, task.state_bytes)
    if not found.keeps_order and not task.monoid.commutative:
        raise error("WF409", name=task.monoid.name, walk=found.walk)
    return found


def cut_at(found: Plan, rows: RaggedRows, others: int, room: int) -> int | None:
    """The most elements of a part of ``rows`` under a plan, a power of two; None where no row is worth a cut.

    Each row stands for ``others`` results; the machine holds ``room`` threads.
    """
    limit = max(_part_limit(found.positions, rows.elements * others, room), found.tile)
    return limit if rows.longest > PARTS_OF_ROW * limit else None


def is_wide(rows: RaggedRows) -> bool:
    """Whether a kernel over ``rows`` needs 64 bits for their offsets."""
    return int(rows.count.max(initial=0)) >= INDEX_LIMIT


def facts(task: Task, found: Plan, *, wide: bool) -> Facts:
    """The facts of the geometry that the kernel must know; ``wide`` as ``is_wide`` says."""
    own = planner.facts(task, found)
    bits, kept = 64 if wide else own.index_bits, max(1, len(task.geometry.kept))
    return replace(own, kept_rank=kept, reduced_rank=1, index_bits=bits, ragged=True, places=False)
