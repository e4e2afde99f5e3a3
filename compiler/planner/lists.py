"""Rows whose fold keeps lists, such as the k least elements, by warps that have one list.

An element that is not below the last one of the list costs a comparison (``passes/words/bounded_lists.py``). A warp
inserts k elements in each doubling of those that it has seen, so it should see many: a row has one warp where rows are
many.
"""

from __future__ import annotations

from ..plan.launch import Launch
from ..plan.plan import Plan
from ..target import WARP
from . import sittings
from .table import threshold
from .task import Task

ACCESSES = threshold(1, "accesses of a lane for each element of a list", sittings.BOUNDS)
"""With fewer, most accesses have an element that is inserted."""
LEAST = threshold(6, "accesses of a lane", sittings.BOUNDS)
"""With fewer, nearly all have one, however short lists are."""
ENDS = threshold(4, "accesses of a lane", sittings.BOUNDS)
"""So many more are needed where rows begin anywhere: code of its own makes those at the ends."""
SINGLE = threshold(8, "elements", sittings.BOUNDS)
"""So many count as an access where elements are read one by one."""
UNROLL = threshold(4, "accesses", sittings.BOUNDS)
"""A lane has these in flight: each is inserted by code of its own."""
THREADS = threshold(1024, "threads of an SM", sittings.BOUNDS)
"""So many share few rows."""


def have_bounds(task: Task, plan: Plan, run: Launch) -> bool:
    """Whether a warp has one list."""
    if (plan.fast, plan.lanes, plan.cta) != ("reduced", WARP, "shuffle") or not _are_of_keys(task):
        return False
    return _are_enough(task, min(run.chunk, task.geometry.n_reduced), plan.positions, plan.vector)


def are_of_warps(task: Task, vector: int) -> bool:
    """Whether a warp has a row that is read by ``vector`` elements at a time, and one list."""
    return not task.has_few_results and are_long(task, vector)


def most_in_flight(task: Task, vector: int, most: int) -> int:
    """Accesses of ``vector`` elements that a lane has in flight: ``most`` where warps have no list."""
    return UNROLL if are_long(task, vector) else most


def are_long(task: Task, vector: int) -> bool:
    """Whether rows have accesses of ``vector`` elements enough for a list of a warp."""
    g = task.geometry
    lanes = g.n_kept * WARP if not task.has_few_results else task.machine * THREADS
    return _are_of_keys(task) and _are_enough(task, g.n_reduced * g.n_kept, lanes, vector)


def _are_enough(task: Task, elements: int, lanes: int, vector: int) -> bool:
    """Whether a lane makes accesses enough where ``lanes`` share so many elements."""
    each = elements // (lanes * (vector if vector > 1 else SINGLE))
    ends = ENDS if vector > 1 and "shifted" in task.accesses("reduced", vector) else 0
    return each >= max(LEAST + ends, ACCESSES * len(task.monoid.state))


def _are_of_keys(task: Task) -> bool:
    """Whether states are lists of integers, to which an element gives one, and lanes find the least of theirs."""
    if not (task.folds_lists and task.target.has_redux and task.monoid.state[0].is_integer):
        return False
    own, *others = task.program.reduces[0].args
    return own.op != "const" and all(e.op == "const" and e.value == e.dtype.highest for e in others)
