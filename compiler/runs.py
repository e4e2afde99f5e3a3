"""Runs: rows of several reduced dims, read run by run.

The elements of a result lie in *runs*, one for each index of all reduced dims but the innermost: the rows of an image
that is cut out of another, a channel's pixels in every image of a batch. Each is read as a row is, from the boundary
before it on, wherever it begins. The lanes of a warp lie along one run, and the warps that share a result take one run
after another. So a thread divides once a run to know where it lies, and not once an access.
"""

from __future__ import annotations

from dataclasses import replace

from .access import access as access_to_rows
from .access import large, planned, ranks
from .geometry import Geometry
from .limits import DEEP, STATE_LIMIT, calm, floor2, joins_truths, widest_of
from .plan import Access, Plan
from .split import THREADS
from .target import WARP
from .task import Notes, Task

MOST_DIMS = 3
"""Dims of each kind at most: of more, elements are read one by one."""
WANTED = f"several reduced dims that are not one run of memory, {MOST_DIMS} of each kind at most"
LANES = {
    1: ((60, 1), (88, 2), (300, 4), (600, 8), (2500, 16)), 2: ((768, 4), (2500, 8), (4500, 16)),
    4: ((64, 4), (200, 16)), 8: ((64, 8),),
}  # fmt: skip
"""(elements, lanes), by the bytes of an element: runs of so many at most get so many lanes; longer ones a warp."""
LANES_OF_TRUTHS = ((60, 1), (88, 2), (600, 4), (4500, 8))
"""The same of truth values."""
HALF, HALVES, HALVES_OF_TRUTHS = 8, 300, 4500
"""Bytes of an access to bytes, of which more are more to mask, in runs of at most so many, and of so many truth values;
longer ones by WIDEST."""
STEPS, LONG_OF_TRUTHS = 8, 12
"""Accesses of a lane to a run of bytes for each of those in flight, DEEP at most, since so many are masked at both its
ends; and to one that is read by halves, from which on DEEP of them are, and half as many before."""
SHORTEST = {1: 30, 2: 150}
"""Elements of a run from which on it is worth what masking its ends costs, by their bytes. Wider ones lie in whole
sectors when neighbours read them one by one."""
ALONE = 24
"""Warps an SM that results must fill to have one each: others are shared by the warps of a CTA, if they have runs for
these. A warp waits for each run, so that there must be many."""


def as_rows(g: Geometry) -> Geometry | None:
    """The runs of all results as results of their own; None where a result has but one."""
    if len(g.reduced) < 2:
        return None
    return replace(g, kept=(*g.kept, *g.reduced[:-1]), reduced=g.reduced[-1:])


def plan(task: Task, flat: Plan, notes: Notes) -> Plan:
    """A plan that reads run by run, where ``flat`` would read single narrow elements of runs that are not short."""
    least = SHORTEST.get(task.itemsize)
    if flat.vector > 1 or least is None or not task.geometry.reduced or task.geometry.reduced[-1].size < least:
        return flat
    found = fitted(task, flat)
    if found.vector == 1 or not large(task.geometry) or not serves(task, found) or not task.monoid.commutative:
        return flat
    runs, length = task.geometry.runs, task.geometry.reduced[-1].size
    notes.forget({"vector", "lanes", "warps", "unroll"})
    words = f"a result's elements lie in {runs} runs of {length}: {found.lanes} thread(s) read one"
    notes.because(f"{words}, {found.vector} element(s) an access", "walk", "vector", "lanes", "unroll")
    notes.because(f"{found.warps} warp(s) of a CTA take the runs of a result in turn", "warps")
    notes.rejected.append(("walk=interleaved", "runs that begin anywhere would be read by single elements"))
    return found


def fitted(task: Task, flat: Plan) -> Plan:
    """``flat`` with lanes along runs: of many results those of a warp, of few those of all warps of a CTA."""
    g = task.geometry
    length = g.reduced[-1].size if g.reduced else 1
    widest = calm(task, widest_of(task, STATE_LIMIT))
    truths = joins_truths(task)
    halves = task.itemsize == 1 and length <= (HALVES_OF_TRUTHS if truths else HALVES)
    widest = min(widest, HALF) if halves else widest
    vector = widest if serves(task, replace(flat, vector=widest)) else 1
    table = LANES_OF_TRUTHS if truths else LANES[task.itemsize]
    lanes, warps = next((lanes for most, lanes in table if length <= most), WARP), THREADS // WARP
    each = length // (vector * lanes)
    if halves:
        most = DEEP if each >= LONG_OF_TRUTHS else DEEP // 2
    else:
        most = min(DEEP, each // STEPS) if task.itemsize == 1 else DEEP
    shared = g.runs >= warps and g.n_kept * lanes < ALONE * task.machine * WARP
    extents = (warps, 1) if shared else (1, warps)
    return Plan("reduced", "runs", vector, floor2(min(most, each)), lanes, *extents)


def serves(task: Task, plan: Plan) -> bool:
    """Whether a result's elements lie in several runs, and accesses of ``plan`` can read them."""
    g = as_rows(task.geometry)
    if g is None or max(ranks(task.geometry)) > MOST_DIMS:
        return False
    return plan.vector == 1 or "strided" not in planned(replace(task, geometry=g), "reduced", plan.vector, rows=True)


def access(task: Task, operand: int, plan: Plan) -> Access:
    """How an input's runs are read."""
    g = as_rows(task.geometry)
    assert g is not None  # or the walk would not serve
    return access_to_rows(replace(task, geometry=g), operand, "reduced", plan.vector, rows=True)
