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
WANTED = f"several reduced dims that are not one run of memory, {MOST_DIMS} of each kind at most"
LANES = {1: ((1100, 4), (4500, 16)), 2: ((768, 4), (2500, 8), (4500, 16)), 4: ((64, 4), (200, 16)), 8: ((64, 8),)}
"""(elements, lanes), by the bytes of an element: runs of so many at most get so many lanes; longer ones a warp."""
LANES_OF_TRUTHS, HALF = ((600, 4), (4500, 8)), 8
"""The same of truth values, of which an access takes so many bytes: more are more to mask than to join."""
SHORTEST = {1: 40, 2: 150}
SHORTEST_OF_TRUTHS = 100
"""Elements of a run from which on it is worth what masking its ends costs, by their bytes. Wider ones lie in whole
sectors when neighbours read them one by one."""


def as_rows(g: Geometry) -> Geometry | None:
    """The runs of all results as results of their own; None where a result has but one."""
    if len(g.reduced) < 2:
        return None
    return replace(g, kept=(*g.kept, *g.reduced[:-1]), reduced=g.reduced[-1:])


def plan(task: Task, flat: Plan, notes: Notes) -> Plan:
    """A plan that reads run by run, where ``flat`` would read single narrow elements of runs that are not short."""
    least = SHORTEST_OF_TRUTHS if joins_truths(task) else SHORTEST.get(task.itemsize)
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
    """``flat`` with lanes along runs; the warps of a CTA share a result's, if there is one for each."""
    g = task.geometry
    length = g.reduced[-1].size if g.reduced else 1
    vector = calm(task, widest_of(task, STATE_LIMIT))
    vector = min(vector, HALF) if joins_truths(task) else vector
    vector = vector if serves(task, replace(flat, vector=vector)) else 1
    table = LANES_OF_TRUTHS if joins_truths(task) else LANES[task.itemsize]
    lanes = next((lanes for most, lanes in table if length <= most), WARP)
    unroll = min(DEEP, floor2(length // (vector * lanes)))
    warps = THREADS // WARP
    shared, beside = (warps, 1) if g.runs >= warps else (1, warps)
    return Plan("reduced", "runs", vector, unroll, lanes, shared, beside)


def serves(task: Task, plan: Plan) -> bool:
    """Whether a result's elements lie in several runs, and accesses of ``plan`` can read them."""
    g = as_rows(task.geometry)
    if g is None or max(ranks(task.geometry)) > MOST_DIMS:
        return False
    return plan.vector == 1 or "strided" not in planned(replace(task, geometry=g), "reduced", plan.vector, rows=True)


def access(task: Task, operand: int, plan: Plan) -> Access:
    """How an input's runs are read."""
    g = as_rows(task.geometry)
    if g is None or plan.vector == 1:
        return "strided"
    return access_to_rows(replace(task, geometry=g), operand, "reduced", plan.vector, rows=True)
