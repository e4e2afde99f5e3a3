"""Ragged rows: pieces of one axis, each with an end of its own; how long ones are cut, and which plan serves them.

One kernel gives every row the same number of threads: as many as cost all rows together least. Rows that would still
hold up the rest are cut into pieces, whose states are the rows of one more kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import error
from ..lazy import lazy
from ..plan.abi import Facts
from ..plan.plan import STATIC_SHARED, Plan, check
from ..program.numeric import Array
from ..space.geometry import Dim, Geometry
from ..target import WARP
from . import choose as planner
from .alignment import ceil2
from .choose import INDEX_LIMIT
from .split import THREADS
from .task import Task

SHORT = 1024
"""Lengths below this are told apart when rows are counted."""
WAVES = 2
"""Times the threads of pieces fill the machine, so that a late one costs half the time at most."""
LOADS = 16
"""Elements a thread of a piece should have at least: pieces cost a state each, and one more kernel."""
PATIENCE = 4
"""Pieces that a row must have to be cut: shorter ones end before a second kernel would have begun."""
THREAD = {"reduced": 4, "kept": 16}
"""What a thread costs its row before it has read anything, in elements that the memory delivers meanwhile: finding the
row and joining the lanes, or, where these lie along the kept axis, mostly warps. Measured on an H200, as are the next
three."""
LAUNCH = 5_000_000
"""What one more kernel costs, in such elements."""
FAR = {"reduced": 16, "kept": 256}
"""Elements a thread may walk before it slows the row down: along the reduced axis, since its neighbours then read other
sectors; lanes that lie along the kept axis share sectors anyway, but leave too few rows in flight."""
SLOW = 2
"""How much one thread alone slows such a row down, in times that its elements take; several threads share it."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that follow each other on one axis.

    Attributes:
        bounds: row k is made of the elements from ``bounds[k]`` up to ``bounds[k + 1]``; one entry more than rows.
        origin: for each row the element that has the number 0.
        count: for each row how many elements the caller reduces.
    """

    bounds: Array
    origin: Array
    count: Array

    @classmethod
    def of(cls, bounds: Array) -> Rows:
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

    def cut(self, limit: int) -> tuple[Rows, Rows]:
        """Pieces of at most ``limit`` elements, in order, and the same rows made of the pieces' states.

        An empty row has no piece: it is an empty row of states.
        """
        pieces = -(-self.lengths // limit)
        first = np.concatenate([[0], np.cumsum(pieces)])
        row = np.repeat(np.arange(len(self)), pieces)
        begin = self.bounds[row] + (np.arange(first[-1]) - first[row]) * limit
        bounds = np.append(begin, self.bounds[-1])
        return Rows(bounds, self.origin[row], self.count[row]), Rows(first, first[:-1], self.count)


@dataclass(frozen=True)
class Threads:
    """How many threads a row should get, a power of two, for lanes that lie along either axis.

    It is all that planning knows of the rows, so that calls share a few kernels.
    """

    reduced: int
    kept: int

    @classmethod
    def of(cls, rows: Rows, others: int, room: int) -> Threads:
        """The best for ``rows``, each of which stands for ``others`` results, on a machine of ``room`` threads."""
        threads = 1 << np.arange(THREADS.bit_length())
        cuts = np.array([_cuts(rows.longest, rows.elements * others, int(n), room) for n in threads])
        counts, sums = (others * a for a in _classes(rows.lengths))
        best = [_cost(counts, sums, threads, cuts, axis).argmin() for axis in ("reduced", "kept")]
        return cls(*(int(threads[b]) for b in best))


def _classes(lengths: Array) -> tuple[Array, Array]:
    """Rows and their elements, by the length of the row; lengths from SHORT on by powers of two."""
    short = np.bincount(np.minimum(lengths, SHORT), minlength=SHORT)[:SHORT]
    long = lengths[lengths >= SHORT]
    power = np.frexp(long)[1]
    counts = np.concatenate([short, np.bincount(power)])
    return counts, np.concatenate([short * np.arange(SHORT), np.bincount(power, long)])


def _cost(counts: Array, sums: Array, threads: Array, cuts: Array, axis: str) -> Array:
    """What classes of ``counts`` rows, with ``sums`` elements together, cost for each choice of threads a row.

    Rows too short to be cut are rows of every kernel.
    """
    n = threads[:, None]
    slow = np.where(sums > FAR[axis] * n * counts, SLOW / n, 0)
    found: Array = LAUNCH * cuts + (1 + cuts) * THREAD[axis] * threads * counts.sum() + (sums * (1 + slow)).sum(1)
    return found


def _cuts(longest: int, elements: int, threads: int, room: int) -> int:
    """How often the longest of rows of so many elements is cut, the states of its pieces included."""
    limit = _piece(threads, elements, room)
    return 0 if longest <= PATIENCE * limit else 1 + _cuts(-(-longest // limit), elements // limit, threads, room)


def _piece(threads: int, elements: int, room: int) -> int:
    """Elements of a piece for so many threads: pieces fill the machine, but leave every thread enough to do."""
    return ceil2(max(LOADS * threads, elements * threads // (WAVES * room)))


def plan(task: Task, wanted: Threads, options: str = "") -> Plan:
    """The plan for rows of which each wants so many threads; ``task`` has their geometry, with the whole axis.

    Raises:
        PlanError: WF402 to WF413 when ``options`` ask for what cannot be served.
        ArgumentError: WF146 when they ask for what rows cannot have.
    """
    row = replace(task, geometry=_one_row(task.geometry))
    chosen = planner.choose(row, split=False).plan
    threads = wanted.kept if chosen.fast == "kept" else wanted.reduced
    across = ceil2(row.geometry.n_kept) if chosen.fast == "kept" else 1
    lanes = min(threads, max(1, WARP // across))
    warps = min(THREADS // WARP, threads // lanes)
    found = replace(chosen, lanes=lanes, warps=warps, warps_kept=THREADS // WARP // warps, tile_bytes=0)
    while found.shared_bytes(task.state_bytes) > STATIC_SHARED:
        found = replace(found, warps=found.warps // 2)
    return _checked(task, found.with_options(options))


def _one_row(g: Geometry) -> Geometry:
    """The geometry of one row alone, without strides of 1, for rows are read by single elements."""

    def apart(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return tuple(replace(d, strides=tuple(2 * s for s in d.strides)) for d in dims if not d.row_stride)

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
    if found.walk == "interleaved" and not task.monoid.commutative:
        raise error("WF409", name=task.monoid.name, walk=found.walk)
    return found


def cut_at(found: Plan, rows: Rows, others: int, room: int) -> int | None:
    """The most elements of a piece of ``rows`` under a plan, a power of two; None where no row is worth a cut.

    Each row stands for ``others`` results; the machine has ``room`` for so many threads.
    """
    limit = max(_piece(found.positions, rows.elements * others, room), found.tile)
    return limit if rows.longest > PATIENCE * limit else None


def is_wide(rows: Rows) -> bool:
    """Whether a kernel over ``rows`` needs 64 bits for what it is told of them."""
    return int(rows.count.max(initial=0)) >= INDEX_LIMIT


def facts(task: Task, found: Plan, *, wide: bool) -> Facts:
    """What the kernel must know of the geometry, which is that of no row; ``wide`` as ``is_wide`` says."""
    own = planner.facts(task, found)
    bits, kept = 64 if wide else own.index_bits, max(1, len(task.geometry.kept))
    return replace(own, kept_rank=kept, reduced_rank=1, index_bits=bits, ragged=True, places=False)
