"""Ragged rows: pieces of one axis, each with an end of its own; how long ones are cut, and which plan serves them.

One kernel gives every row the same number of threads. Short rows must not pay for long ones, so threads follow the
typical row, and rows that would hold up the rest are cut into pieces, whose states are rows of one more kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import planner
from .abi import Facts
from .errors import error
from .geometry import Geometry
from .numeric import Array
from .plan import STATIC_SHARED, Plan, check
from .planner import INDEX_LIMIT, THREADS, Task
from .target import WARP

SECTOR = 32
"""Bytes that memory delivers at least: fewer neighbouring lanes in a long row would waste some of them."""
WAVES = 2
"""Times the threads of pieces fill the machine, so that a late one costs half the time at most."""
LOADS = 16
"""Elements a thread of a piece should have at least: pieces cost a state each, and one more kernel."""
PATIENCE = 4
"""Pieces that a row must have to be cut: shorter ones end before a second kernel would have begun."""
THREADS_OF = {"reduced": ((4, 1), (256, 8), (1024, WARP)), "kept": ((32, 1), (256, 8), (1024, WARP))}
"""(elements, threads): rows up to so long get so many threads, longer ones a CTA. 8 lanes of 4-byte elements read a
sector; lanes that lie along the kept axis share sectors anyway. Few classes mean few kernels."""
SAMPLE = 4096
"""Rows that are looked at to know the typical one."""


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

    @property
    def lengths(self) -> Array:
        """The elements of each row."""
        return np.diff(self.bounds)

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
class Extent:
    """What planning needs to know of rows, in powers of two, so that calls that differ a little share a kernel.

    Attributes:
        typical: elements of the row that threads are chosen for.
        longest: elements of the longest.
    """

    typical: int
    longest: int

    @classmethod
    def of(cls, rows: Rows, others: int, itemsize: int, room: int) -> Extent:
        """The extent of ``rows``, each of which stands for ``others`` results.

        The median row is typical. Longer ones have a say as far as it costs the others nothing: up to a sector, and
        while the machine has ``room`` for the threads of all rows at once.
        """
        lengths = rows.lengths
        longest = int(lengths.max(initial=1))
        sample = lengths[:: max(1, len(rows) // SAMPLE)]
        median = int(np.median(sample)) if len(sample) else 1
        free = max(SECTOR // itemsize, room // max(1, len(rows) * others))
        return cls(_ceil2(max(median, min(longest, free))), _ceil2(longest))


def plan(task: Task, extent: Extent, options: str = "") -> Plan:
    """The plan for rows of ``extent``; ``task`` has their geometry, in which the reduced dim is the whole axis.

    Raises:
        PlanError: WF402 to WF409 when ``options`` ask for what cannot be served.
        ArgumentError: WF146 when they ask for what rows cannot have.
    """
    row = replace(task, geometry=_one_row(task.geometry, extent.longest))
    chosen = planner.choose(row, "vector=1", split=False).plan
    threads = next((n for elements, n in THREADS_OF[chosen.fast] if extent.typical <= elements), THREADS)
    across = _ceil2(row.geometry.n_kept) if chosen.fast == "kept" else 1
    lanes = min(threads, max(1, WARP // across))
    warps = min(THREADS // WARP, threads // lanes)
    unroll = min(chosen.unroll, max(1, extent.longest // (lanes * warps)))
    found = replace(chosen, unroll=unroll, lanes=lanes, warps=warps, warps_kept=THREADS // WARP // warps)
    while found.shared_bytes(task.state_bytes) > STATIC_SHARED:
        found = replace(found, warps=found.warps // 2)
    return _checked(task, found.with_options(options))


def _one_row(g: Geometry, longest: int) -> Geometry:
    """The geometry of one row alone, of the length of the longest."""
    kept = tuple(d for d in g.kept if not d.row_stride)
    return replace(g, kept=kept, reduced=tuple(replace(d, size=longest) for d in g.reduced))


def _checked(task: Task, found: Plan) -> Plan:
    check(found, task.target, task.state_bytes)
    for key, value, wanted in (("vector", found.vector, 1), ("finish", found.finish, "cta")):
        if value != wanted:
            raise error("WF146", key=key, value=value)
    if found.walk == "interleaved" and not task.monoid.commutative:
        raise error("WF409", name=task.monoid.name)
    return found


def cut_at(found: Plan, rows: Rows, others: int, room: int) -> int | None:
    """The most elements of a piece of ``rows`` under a plan, a power of two; None where no row is worth a cut.

    Pieces fill the machine, which has ``room`` for so many threads, but leave every thread enough to do.
    """
    elements = int(rows.bounds[-1] - rows.bounds[0]) * others
    filling = elements * found.positions // (WAVES * room)
    limit = _ceil2(max(LOADS * found.positions, found.tile, filling))
    return limit if int(rows.lengths.max(initial=0)) > PATIENCE * limit else None


def is_wide(rows: Rows) -> bool:
    """Whether a kernel over ``rows`` needs 64 bits for what it is told of them."""
    return int(rows.count.max(initial=0)) >= INDEX_LIMIT


def facts(task: Task, found: Plan, *, wide: bool) -> Facts:
    """What the kernel must know of the geometry; ``wide`` as ``is_wide`` says."""
    own = planner.facts(task, found)
    return replace(own, index_bits=64 if wide else own.index_bits, ragged=True)


def _ceil2(n: int) -> int:
    """The least power of two not below ``n``."""
    return 1 << max(0, n - 1).bit_length()
