"""Runs: rows of several reduced dims, read run by run.

The elements of a result lie in *runs*, one for each index of all reduced dims but the innermost: the rows of an image
that is cut out of another, a channel's pixels in every image of a batch. Each is read as a row is, from the boundary
before it on, wherever it begins. The lanes of a warp lie along one run, and the warps that share a result take one run
after another; long ones are cut into pieces. So a thread divides once a piece to know where it lies, and not once an
access.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.launch import piece, pieces
from ...plan.plan import Access, Plan
from ...space.geometry import Geometry
from ...target import WARP
from ..alignment import WIDEST, large, planned, ranks
from ..alignment import access as access_to_rows
from ..limits import adds_bytes, calm_widest, floor2, in_words, joins_truths
from ..split import THREADS
from ..task import Notes, Task
from .short_runs import MANY, Run, are_pairs, short

MOST_DIMS = 3
"""Dims of each kind at most: of more, elements are read one by one."""
WANTED = f"several reduced dims that are not one run of memory, {MOST_DIMS} of each kind at most"
LONG: dict[str | int, tuple[Run, ...]] = {
    "truths": (
        Run(383, 8, 4, 2), Run(600, 8, 4, 4), Run(767, 8, 8, 2), Run(2500, 8, 8, 4), Run(3000, 16, 8, 4),
        Run(9500, 16, 8, 2), Run(20000, 16, 16, 2),
    ),
    "added": (
        Run(600, 8, 8, 2), Run(1000, 8, 16, 2), Run(1800, 8, 8, 2), Run(5000, 8, 16, 2), Run(20000, 16, 32, 1),
    ),
    1: (Run(1000, 8, 8, 1), Run(7000, 16, 8, 1), Run(20000, 16, 16, 1)),
    2: (Run(768, 8, 4, 4), Run(2500, 8, 8, 4), Run(4500, 8, 16, 4)),
    4: (Run(64, 4, 4, 2), Run(200, 4, 16, 2)),
    8: (Run(64, 2, 8, 2),),
}  # fmt: skip
"""How longer runs are read than the short ones of bytes: of truth values, of bytes that are added, and of others by the
bytes of an element. All that is in flight is masked at both ends of a run, and of a piece of one."""
LONGER: tuple[dict[str | int, int], int] = {"added": 2}, 4
"""Accesses in flight of a warp that reads a still longer run: of bytes that are added, and of others."""
NARROW, OF_NARROW = 4, 600
"""Bytes of aligned accesses, at most, that are so narrow that runs of so many elements and more are better off."""
SHORTEST, IN_WORDS, PAIRS = {1: 22, 2: 150}, 14, 30
"""Elements of a run from which on it is worth what masking its ends costs, by their bytes, of bytes that are taken up
by the word, and of pairs of bytes in few runs. Wider ones lie in whole sectors when neighbours read them one by one."""
TINY, FEW = range(5, 11), 16
"""Such bytes of so few runs that a thread which reads all of these alone is faster, too; and how many runs are few."""
ALONE = 24
"""Warps an SM that results must fill to have one each: others are shared by the warps of a CTA, if they have runs for
these. A warp waits for each run, so that there must be many."""
RUNS_A_WARP = 3
"""Runs that each warp of a CTA must have where its warps share MANY short ones, since they meet for each result."""


def as_rows(g: Geometry) -> Geometry | None:
    """The runs of all results as results of their own; None where a result has but one."""
    if len(g.reduced) < 2:
        return None
    return replace(g, kept=(*g.kept, *g.reduced[:-1]), reduced=g.reduced[-1:])


def plan(task: Task, flat: Plan, notes: Notes) -> Plan:
    """A plan that reads run by run, where ``flat`` would read single narrow elements of runs that are not short."""
    if not task.geometry.reduced or _is_wide(task, flat) or not _pays(task):
        return flat
    found = fitted(task, flat)
    if found.vector == 1 or not large(task.geometry) or not serves(task, found) or not task.monoid.commutative:
        return flat
    runs, length = task.geometry.runs, task.geometry.reduced[-1].size
    notes.forget({"vector", "lanes", "warps", "unroll"})
    words = f"a result's elements lie in {runs} runs of {length}: {found.lanes} thread(s) read one"
    notes.because(f"{words}, {found.vector} element(s) an access", "walk", "vector", "lanes", "unroll")
    cut = f", cut into pieces of {piece(found, length)}" if pieces(found, length) > 1 else ""
    notes.because(f"{found.warps} warp(s) of a CTA take the runs of a result in turn{cut}", "warps")
    notes.rejected.append(("walk=interleaved", "runs that begin anywhere would be read by single elements"))
    return found


def _is_wide(task: Task, flat: Plan) -> bool:
    """Whether the accesses of ``flat`` are wide enough to do without runs."""
    long = task.geometry.reduced[-1].size >= OF_NARROW
    return flat.vector > 1 and (flat.vector * task.itemsize > NARROW or task.itemsize > 2 or not long)


def _pays(task: Task) -> bool:
    """Whether runs are so long that it pays to mask their ends."""
    g = task.geometry
    length = g.reduced[-1].size
    if in_words(task):
        return length >= IN_WORDS or (length in TINY and g.runs <= FEW)
    return length >= (PAIRS if are_pairs(task) else SHORTEST.get(task.itemsize, length + 1))


def fitted(task: Task, flat: Plan) -> Plan:
    """``flat`` with lanes along runs: of many results those of a warp, of few those of all warps of a CTA."""
    g = task.geometry
    length, warps = g.reduced[-1].size if g.reduced else 1, THREADS // WARP
    brief = short(task, length)
    run = brief or _long(task, length)
    vector = run.vector if serves(task, replace(flat, vector=run.vector)) else 1
    found = Plan("reduced", "runs", vector, run.unroll, run.lanes, 1, warps)
    few = g.n_kept * run.lanes < ALONE * task.machine * WARP
    together = (few and g.runs * pieces(found, length) >= warps) or (brief is not None and g.runs >= MANY)
    if brief and not few:
        warps = min(warps, floor2(g.runs // RUNS_A_WARP))
    return replace(found, warps=warps, warps_kept=1) if together else found


def _long(task: Task, length: int) -> Run:
    """How others are read."""
    item = task.itemsize
    of = "truths" if joins_truths(task) else "added" if adds_bytes(task) else item
    few, others = LONGER
    longer = Run(length, WIDEST // item, WARP, few.get(of, others))
    run = next((run for run in LONG[of] if length <= run.most), longer)
    vector = min(run.vector, calm_widest(task))
    return run._replace(vector=vector, unroll=floor2(min(run.unroll, length // (vector * run.lanes))))


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
