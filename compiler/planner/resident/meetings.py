"""How often the CTAs of a cluster meet that share a row, or threads read columns in a tile."""

from __future__ import annotations

from ...plan.plan import Plan
from ...program.graph import REDUCED, walk
from ..task import Task
from . import columns, held
from .accesses import accesses, elements_of


def meets_once(task: Task, plan: Plan | None, wanted: str = "") -> bool:
    """Whether the CTAs of a cluster, or the threads of a tile, by the ``plan`` of rows and options, should meet once.

    Two folds that one monoid holds are one phase then: a meeting takes longer than the instructions that it saves. So
    it is with exponentials relative to a maximum, and with variances of one large array of aligned rows: of small
    ones, and where a loop walks a row or masks cut it, a variance in one pass takes longer. Others were not measured.
    Columns meet once where words are exponentials, and where all threads count as many elements of a variance. Threads
    that read exponentials of columns in a tile do so once for a maximum and the sum.
    """
    found, program = plan.with_options(wanted) if plan and wanted else plan, task.program
    if found is None or found.resident != "shared":
        return False
    if found.waits_in_tile and found.fast == "kept":
        return columns.folds_exponentials(program)
    if found.cluster == 1:
        return False
    if found.fast == "kept":
        return _columns_meet_once(task, found)
    if program.gathered or program.side or program.section:
        return False
    if any(e.op in ("exp", "exp2") for r in program.reduces for e in walk(r.args)):
        return True
    own = [i for i in elements_of(task) if i < len(program.inputs)]
    if task.geometry.n_kept * task.geometry.n_reduced < held.LARGE:
        return False
    return len(own) == len(task.geometry.reduced) == 1 and accesses(task, "reduced", found.vector)[own[0]] == "aligned"


def _columns_meet_once(task: Task, plan: Plan) -> bool:
    """Whether the CTAs of a cluster that hold columns in shared memory meet once.

    Columns of one array of words do, where one monoid holds a maximum and exponentials relative to it, or would; and
    those of one array of which all threads fold as many elements, where it holds a mean and squares, or would.
    """
    program = task.program
    bare = columns.are_words(program) and REDUCED not in program.input_spaces
    return columns.counts_alike(task, plan) or (bare and columns.folds_exponentials(program))
