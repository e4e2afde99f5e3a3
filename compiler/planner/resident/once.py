"""Rows that a CTA folds once and then gathers from, such as those of a cross entropy: they wait nowhere.

A reduction would be as fast, but a map that gathers would have to follow. On an H100 that takes 5 us more.
"""

from __future__ import annotations

from ...plan.plan import Plan
from ...program.graph import ELEMENT, REDUCED, walk
from ...target import WARP
from ..task import Notes, Task
from .accesses import MOST, ROW_THREADS, accesses, has_bits, is_by_columns, vector_of
from .rows import count_of


def serves(task: Task) -> bool:
    """Whether a CTA can fold each row as fast as a reduction does, and then make the results, which are of rows alone.

    Rows are read by whole accesses, and are too long for the registers of a CTA. What the folds need is not gathered.
    """
    program = task.program
    if task.is_portable or has_bits(task) or any(o.space & REDUCED for o in program.outputs):
        return False
    if not program.gathered or not program.reduces or any(e.op == "gather" for e in walk(program.reduces)):
        return False
    own = [i for i, space in enumerate(program.input_spaces) if space == ELEMENT and i not in program.gathered]
    if not own or is_by_columns(task) or len(task.geometry.reduced) > 1:
        return False
    vector = vector_of(task, "reduced")
    found = accesses(task, "reduced", vector, waits=False)
    return all(found[i] == "aligned" for i in own) and count_of(task, vector) > ROW_THREADS * MOST


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of rows that a CTA folds once."""
    notes.because("a row is folded once by a CTA, which then gathers: no map has to follow", "resident")
    return Plan("reduced", "interleaved", vector_of(task, "reduced"), 4, WARP, 8, 1, resident="memory")
