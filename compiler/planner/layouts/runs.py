"""Runs: rows of several reduced dims, read run by run.

The elements of a result lie in *runs*, one for each index of all reduced dims but the innermost: the rows of an image
that is cut out of another, a channel's pixels in every image of a batch. Each is read as a row is, from the boundary
before it on, wherever it begins. The lanes of a warp lie along one run, and the warps that share a result take one run
after another; long runs are cut into pieces. A thread then divides once a piece to find its address, and not once an
access.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.fields import Access
from ...plan.launch import pieces
from ...plan.plan import Plan
from ...space.geometry import Geometry
from ...target import WARP
from .. import sittings
from ..alignment import HALF, WIDEST
from ..limits import CTA_THREADS, widest_of_row
from ..powers_of_two import floor2
from ..table import Table, threshold
from ..task import Notes, Task
from .short_runs import BOUND, CHOICE, MANY_RUNS, Reading, are_many, are_pairs, is_large, short

MOST_DIMS = 3
"""The most dims of each kind: of more, elements are read one by one."""
NEEDS = f"several reduced dims that are not one run of memory, {MOST_DIMS} of each kind at most"
"""What a layout must be, in the words of an error."""
TRUTHS = Table(
    BOUND,
    CHOICE,
    sittings.BLOCKS,
    (
        (383, Reading(8, 4, 2)), (600, Reading(8, 4, 4)), (767, Reading(8, 8, 2)), (2500, Reading(8, 8, 4)),
        (3000, Reading(16, 8, 4)), (9500, Reading(16, 8, 2)), (20000, Reading(16, 16, 2)),
    ),
)  # fmt: skip
"""Truth values. All that is in flight is masked at both ends of a run, and of a piece of one."""
ADDED = Table(
    BOUND,
    CHOICE,
    sittings.ONE_STEP,
    (
        (600, Reading(8, 8, 2)), (1000, Reading(8, 16, 2)), (1800, Reading(8, 8, 2)), (5000, Reading(8, 16, 2)),
        (20000, Reading(16, 32, 1)),
    ),
)  # fmt: skip
"""Bytes that are added."""
OTHER_BYTES = Table(
    BOUND, CHOICE, sittings.BLOCKS, ((1000, Reading(8, 8, 1)), (7000, Reading(16, 8, 1)), (20000, Reading(16, 16, 1)))
)
"""Other bytes."""
PAIRS = Table(
    BOUND, CHOICE, sittings.BLOCKS, ((768, Reading(8, 4, 4)), (2500, Reading(8, 8, 4)), (4500, Reading(8, 16, 4)))
)
"""2-byte elements."""
DISTANT_PAIRS = Table(BOUND, CHOICE, sittings.NEAR_THE_GATE, ((600, Reading(4, 8, 2)),))
"""Replaces PAIRS where are_many holds, a state has one register and a combine is short: what is masked at the ends of a
run is less of accesses of 8 bytes."""
RUNS_OF_MANY = threshold(256, "runs of a result", sittings.BESIDE_PERIODS)
"""From here on a warp reads each run of pairs that PAIRS_OF_MANY has, for such states, in arrays of CROP_BYTES."""
PAIRS_OF_MANY = threshold(range(651, 2501), "elements of a run", sittings.BESIDE_PERIODS)
"""These are read by accesses of 8 bytes, two in flight."""
PAIRS_OF_FEW = Table(BOUND, CHOICE, sittings.BY_HAND, ((340, Reading(8, 4, 4)), (1100, Reading(8, 16, 2))))
"""Replaces PAIRS where a result has fewer than MANY_RUNS, and a state one register."""
WORDS = Table(BOUND, CHOICE, sittings.BLOCKS, ((64, Reading(4, 4, 2)), (200, Reading(4, 16, 2))))
"""4-byte elements."""
DOUBLES = Table(BOUND, CHOICE, sittings.BLOCKS, ((64, Reading(2, 8, 2)),))
"""8-byte elements."""
TABLES = {1: OTHER_BYTES, 2: PAIRS, 4: WORDS, 8: DOUBLES}
UNROLL_OF_LONGEST = threshold(4, "accesses in flight", sittings.GAPS)
"""Runs beyond the tables are read by a warp with these, by 16 bytes at a time."""
UNROLL_OF_LONGEST_ADDED = threshold(2, "accesses in flight", sittings.GAPS)
"""Replaces UNROLL_OF_LONGEST for bytes that are added."""
NARROW_ACCESS_BYTES = threshold(4, "bytes of an access", sittings.BLOCKS)
"""Up to here aligned accesses are so narrow that long runs are better read run by run."""
LONG_RUN = threshold(600, "elements of a run", sittings.BLOCKS)
"""From here on runs are better read run by run than by aligned accesses of NARROW_ACCESS_BYTES."""
SHORTEST_RUN = threshold({1: 22, 2: 150}, "elements of a run, by bytes of an element", sittings.PAIR_RUNS)
"""From here on a run is worth the masks at its ends; neighbours read wider elements one by one in whole sectors."""
SHORTEST_RUN_OF_WORDS = threshold(14, "elements of a run", sittings.PAIR_RUNS)
"""Replaces SHORTEST_RUN for bytes that are combined by the word."""
SHORTEST_RUN_OF_PAIRS = threshold(30, "elements of a run", sittings.PAIR_RUNS)
"""Replaces SHORTEST_RUN for 2-byte elements in few runs."""
TINY_RUNS = threshold(range(5, 11), "elements of a run", sittings.PADDED)
"""A thread reads all of a result's runs of these bytes alone, if they are at most FEW_RUNS."""
FEW_RUNS = threshold(16, "runs of a result", sittings.PADDED)
"""Up to here one thread reads all tiny runs of a result."""
WARPS_PER_SM = threshold(24, "warps per SM", sittings.RUNS)
"""From here on results have a warp each; fewer share the warps of a CTA, since a warp waits for each run."""
RUNS_OF_WARP = threshold(3, "runs of a warp", sittings.SHORT_PAIRS)
"""Each warp of a CTA has at least these where warps share MANY_RUNS short ones, since they meet for each result."""


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
    if found.vector == 1 or not task.is_large or not serves(task, found):
        return flat
    runs, length = task.geometry.runs, task.geometry.reduced[-1].size
    notes.forget({"vector", "lanes", "warps", "unroll"})
    words = f"a result's elements lie in {runs} runs of {length}: {found.lanes} thread(s) read one"
    notes.because(f"{words}, {found.vector} element(s) an access", "walk", "vector", "lanes", "unroll")
    count, each = pieces(found, length)
    cut = f", cut into pieces of {each}" if count > 1 else ""
    notes.because(f"{found.warps} warp(s) of a CTA take the runs of a result in turn{cut}", "warps")
    notes.rejected.append(("walk=interleaved", "runs that begin anywhere would be read by single elements"))
    return found


def _is_wide(task: Task, flat: Plan) -> bool:
    """Whether the accesses of ``flat`` are wide enough to do without runs."""
    long = task.geometry.reduced[-1].size >= LONG_RUN
    return flat.vector > 1 and (flat.vector * task.itemsize > NARROW_ACCESS_BYTES or task.itemsize > 2 or not long)


def _pays(task: Task) -> bool:
    """Whether runs are so long that it pays to mask their ends."""
    g = task.geometry
    length = g.reduced[-1].size
    if task.combines_words:
        return length >= SHORTEST_RUN_OF_WORDS or (length in TINY_RUNS and g.runs <= FEW_RUNS)
    return length >= (SHORTEST_RUN_OF_PAIRS if are_pairs(task) else SHORTEST_RUN.get(task.itemsize, length + 1))


def fitted(task: Task, flat: Plan) -> Plan:
    """``flat`` with lanes along runs: of many results those of a warp, of few those of all warps of a CTA."""
    g = task.geometry
    length, warps = g.reduced[-1].size if g.reduced else 1, CTA_THREADS // WARP
    brief = short(task, length)
    vector, lanes, unroll = brief or _long(task, length)
    vector = vector if serves(task, replace(flat, vector=vector)) else 1
    found = Plan("reduced", "runs", vector, unroll, lanes, 1, warps)
    few = g.n_kept * lanes < WARPS_PER_SM * task.machine * WARP
    together = (few and g.runs * pieces(found, length)[0] >= warps) or (brief is not None and g.runs >= MANY_RUNS)
    if brief and not few:
        warps = min(warps, floor2(g.runs // RUNS_OF_WARP))
    return replace(found, warps=warps, warps_kept=1) if together else found


def _long(task: Task, length: int) -> Reading:
    """How runs that are not short are read."""
    table = TRUTHS if task.joins_truths else ADDED if task.adds_bytes else TABLES[task.itemsize]
    unroll = UNROLL_OF_LONGEST_ADDED if task.adds_bytes else UNROLL_OF_LONGEST
    light = task.itemsize == 2 and task.state_registers == 1 and not task.has_long_combine
    many = task.geometry.runs >= RUNS_OF_MANY and is_large(task) and not task.is_portable
    if light and many and length in PAIRS_OF_MANY:
        return Reading(HALF // task.itemsize, WARP, 2)
    if light and are_many(task):
        table = DISTANT_PAIRS if length <= DISTANT_PAIRS.last else table
    elif are_pairs(task) and length <= PAIRS_OF_FEW.last:
        table = PAIRS_OF_FEW
    found = table.at(length) or Reading(WIDEST // task.itemsize, WARP, unroll)
    vector = min(found.vector, widest_of_row(task))
    return found._replace(vector=vector, unroll=floor2(min(found.unroll, length // (vector * found.lanes))))


def serves(task: Task, plan: Plan) -> bool:
    """Whether a result's elements lie in several runs, and accesses of ``plan`` can read them."""
    rows = _rows(task)
    if rows is None or max(task.ranks) > MOST_DIMS:
        return False
    return plan.vector == 1 or "strided" not in rows.accesses("reduced", plan.vector, runs=True)


def access(task: Task, operand: int, plan: Plan) -> Access:
    """How an input's runs are read."""
    rows = _rows(task)
    assert rows is not None  # or the walk would not serve
    return rows.access(operand, "reduced", plan.vector, runs=True)


def _rows(task: Task) -> Task | None:
    """``task`` with its runs as results of their own."""
    g = as_rows(task.geometry)
    return None if g is None else replace(task, geometry=g)
