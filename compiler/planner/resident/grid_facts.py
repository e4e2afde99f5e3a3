"""What of rows that the grid shares waits, and the CTAs that share them."""

from __future__ import annotations

from math import ceil

from ...plan.fields import MOST_HELD
from ...plan.launch import Launch
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ...plan.shared_memory import shared_bytes
from ...program.analysis.cost import COST
from ...program.graph import ELEMENT, REDUCED, Program, walk
from .. import sittings
from ..alignment import WIDEST
from ..table import threshold
from ..task import Task
from .accesses import accesses, elements_of, inputs_of, vector_of
from .rows import count_of

LIGHT = threshold(12, "instructions of an element", sittings.GRID_ROWS)
"""The most of a result that take few."""
NARROW = threshold(2, "bytes of an element", sittings.GRID_ROWS)
"""So narrow are they."""
LONG_LIGHT = threshold(96 << 20, "bytes of all rows", sittings.LIGHT_IN_GRID)
"""From here on the L2 cache is told to keep a part of light rows with weights."""
FEW_STATES = threshold(8, "bytes of states", sittings.GRID_ROWS)
"""Of all folds of a row together."""


def bytes_of(task: Task) -> int:
    """The bytes of the inputs that wait."""
    each = sum(task.operand_type(i).itemsize for i in waiting_elements(task))
    return (task.geometry.n_kept * task.geometry.n_reduced - task.geometry.gap) * each


def weights_of(task: Task) -> int:
    """The bytes of inputs that lie along the row alone."""
    inputs = zip(task.program.inputs, task.program.input_spaces, strict=True)
    return task.geometry.n_reduced * sum(t.itemsize for t, space in inputs if space == REDUCED)


def instructions(program: Program) -> int:
    """The instructions of the results of an element, roughly."""
    made = walk(tuple(o for o in program.outputs if o.space & REDUCED))
    return sum(COST.get(e.op, 1) for e in made if e.space == ELEMENT and e.op not in ("input", "const", "cast"))


def waiting(program: Program) -> frozenset[int]:
    """The inputs that several walks along a row read."""
    results = tuple(o for o in program.outputs if o.space & REDUCED)
    walks = [*(e.args for e in program.reduces), results]
    read = [inputs_of(roots) for roots in walks]
    return frozenset(i for i in range(len(program.inputs)) if sum(i in own for own in read) > 1)


def waiting_elements(task: Task) -> list[int]:
    """Those of the inputs that vary along the whole row: an array that is spread along it needs no place to wait."""
    own = waiting(task.program)
    return [i for i in elements_of(task) if i in own]


def is_narrow(task: Task) -> bool:
    """Whether an array has elements that are widened."""
    return min(task.operand_type(i).itemsize for i in elements_of(task)) <= NARROW


def has_few_states(task: Task) -> bool:
    """Whether the states of all folds of a row have few bytes."""
    return sum(t.itemsize for t in task.program.states) <= FEW_STATES


def is_long_and_light(task: Task) -> bool:
    """Whether rows are so long that the L2 cache is told to keep a part, while their elements take few instructions.

    They are aligned rows with weights of as many bytes at most, such as an RMS norm's, and states of few bytes.
    """
    weights = weights_of(task) * task.geometry.n_kept
    found = accesses(task, "reduced", vector_of(task, "reduced"))
    aligned = all(found[i] == "aligned" for i in elements_of(task))
    few = len(waiting_elements(task)) == 1 and has_few_states(task) and instructions(task.program) <= LIGHT
    return aligned and few and 0 < weights <= bytes_of(task) and bytes_of(task) >= LONG_LIGHT


def are_whole(task: Task, plan: Plan) -> bool:
    """Whether all arrays with elements of rows have accesses of WIDEST bytes.

    Copies of fewer bytes, which the end of a row cuts inside a word, were not measured: they are inputs of narrow
    elements beside wider ones, such as masks.
    """
    return all(plan.vector * task.operand_type(i).itemsize >= WIDEST for i in elements_of(task))


def access_bytes(task: Task, plan: Plan) -> int:
    """The bytes of an access to all inputs that wait."""
    return plan.vector * sum(task.operand_type(i).itemsize for i in waiting_elements(task))


def room(task: Task, plan: Plan, limit: int) -> int:
    """The accesses of a thread that wait in shared memory: as many as ``limit`` bytes of its CTA have room for."""
    beside, each = (
        shared_bytes(plan, sum(t.itemsize for t in task.program.states)),
        plan.threads * access_bytes(task, plan),
    )
    return min(MOST_HELD, (limit - beside) // each) if each else 0


def ctas(task: Task) -> int:
    """The CTAs that run at a time: one an SM."""
    return task.sms


def length_of(task: Task, plan: Plan) -> int:
    """The elements that CTAs share of a row, with those before it where accesses begin there."""
    return count_of(task, plan.vector) * plan.vector if plan.fast == "reduced" else max(1, task.geometry.n_reduced)


def launch(task: Task, plan: Plan) -> Launch:
    """The grid: a CTA an SM, of which each tile of rows has equally many."""
    span = layout_of(plan).span("reduced")
    length, tiles = length_of(task, plan), ceil(task.geometry.n_kept / plan.slots)
    parts = max(1, ctas(task) // max(1, tiles))
    chunk = ceil(ceil(length / parts) / span) * span
    return Launch(tiles, ceil(length / chunk), chunk)


def filled(task: Task, plan: Plan) -> float:
    """The part of all CTAs that have work, whole CTAs counted: each row has equally many, and one may lack a row."""
    return task.geometry.n_kept / plan.slots * launch(task, plan).split / ctas(task)
