"""The plan of a program that reads its rows again: how many threads share a row, and its residency.

The residency of a row is where it waits for the next phase: in registers, in shared memory, or in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from ...plan.abi import Facts
from ...plan.launch import Launch
from ...plan.layout import layout_of
from ...plan.plan import Plan, check
from ...space.geometry import Dim
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers import ceil2, halvings
from ..table import threshold
from ..task import Choice, Notes, Task
from .accesses import accesses, elements_of

HELD = threshold(8, "accesses of a row that a thread keeps", sittings.FIRST_PLANS)
"""A row gets as few threads as keep it in this many accesses each: each more needs a longer meeting."""
CTA_THREADS = threshold(128, "threads of a CTA", sittings.FIRST_PLANS)
"""A CTA has this many threads if its rows have fewer."""
ROW_THREADS = threshold(256, "threads of a row in a CTA", sittings.FIRST_PLANS)
"""A row that needs more threads is shared by the CTAs of a cluster, where there are clusters."""
INDEX_LIMIT = 2**31 - 2**24


def choose(task: Task, wanted: str = "") -> Choice:
    """The plan of a program that reads rows again, or folds nothing.

    Raises:
        PlanError: WF403 and others where ``wanted`` asks for what cannot be served.
    """
    notes = Notes()
    plan = _columns(task, notes) if _is_by_columns(task) else _rows(task, notes)
    if wanted:
        plan = plan.with_options(wanted)
    check(plan, task.target, 0)
    facts = _facts(task, plan)
    return Choice(plan, facts, _launch(task, plan), [reason for reason, _ in notes.reasons], notes.rejected)


def _is_by_columns(task: Task) -> bool:
    """Whether neighbouring lanes read neighbouring rows: the elements of a row lie apart."""
    g, lead = task.geometry, elements_of(task)[0]

    def least(dims: Sequence[Dim]) -> float:
        return min((abs(d.strides[lead]) for d in dims if d.strides[lead]), default=float("inf"))

    return bool(g.kept) and least(g.kept) < least(g.reduced)


def _vector(task: Task, axis: str) -> int:
    """Elements of an access: the most for which all arrays of rows are accessed at once."""
    rows = elements_of(task)
    widest = WIDEST // max(
        task.operand_type(i).itemsize for i in rows if i < len(task.program.inputs) or len(rows) == 1
    )
    for vector in halvings(widest):
        found = accesses(task, axis, vector)
        if all(found[i] in ("aligned", "shifted") for i in rows):
            return vector
    return 1


def _rows(task: Task, notes: Notes) -> Plan:
    """The plan of rows whose elements follow each other."""
    vector, n = _vector(task, "reduced"), task.geometry.n_reduced
    shifted = "shifted" in accesses(task, "reduced", vector)
    count = max(1, ceil((n + (vector - 1) * shifted) / vector))
    threads = min(ceil2(max(1, ceil(count / HELD))), 1024)
    held = max(1, ceil(count / threads))
    lanes = min(threads, WARP)
    warps = threads // lanes
    warps_kept = max(1, CTA_THREADS // (WARP * warps))
    notes.because(f"{threads} thread(s) keep {held} access(es) of a row each", "held", "lanes", "warps")
    return Plan(
        "reduced", "interleaved", vector, 1, lanes, warps, warps_kept, resident="registers", held=held,
    )  # fmt: skip


def _columns(task: Task, notes: Notes) -> Plan:
    """The plan of rows whose elements lie apart: lanes read neighbouring rows."""
    vector, n = 1, task.geometry.n_reduced
    warps = min(32, ceil2(max(1, ceil(n / 16))))
    held = max(1, ceil(n / warps))
    notes.because(f"{warps} warp(s) keep {held} access(es) of a row each", "held", "warps")
    return Plan("kept", "interleaved", vector, 1, 1, warps, max(1, 4 // warps), resident="registers", held=held)


def _facts(task: Task, plan: Plan) -> Facts:
    """What the kernel must know of the arrays."""
    g, found, inputs = task.geometry, accesses(task, plan.fast, plan.vector), len(task.program.inputs)
    reach = max((abs(bound) for i in range(len(g.offsets)) for bound in g.span(i)), default=0)
    slots = max(g.n_kept, g.n_reduced) + plan.slots + plan.held * plan.positions * plan.vector
    covered = plan.held * plan.positions * plan.vector_reduced * plan.cluster
    return Facts(
        *task.ranks,
        32 if max(reach, slots, g.n_kept * g.n_reduced) < INDEX_LIMIT else 64,
        found[:inputs],
        store_vector=False,
        stores=found[inputs:],
        full=covered == g.n_reduced and "shifted" not in found,
    )


def _launch(task: Task, plan: Plan) -> Launch:
    """The grid: as many CTAs as the rows need, and the CTAs of a cluster along the row."""
    g = task.geometry
    chunk = layout_of(plan).span("reduced") * plan.held if plan.cluster > 1 else max(1, g.n_reduced)
    return Launch(-(-g.n_kept // plan.slots), plan.cluster, chunk)
