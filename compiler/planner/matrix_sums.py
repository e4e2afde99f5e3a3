"""Sums by the tensor cores (``meet=mma``): which sums, plans and targets they are for.

The planner takes them nowhere by itself: memory limits these sums, and they are as fast by shuffles
(docs/log/instructions.md). A plan may ask for them.
"""

from __future__ import annotations

from ..dtypes import BF16, F16, F32, DType
from ..errors import error
from ..plan.plan import QUAD, Plan
from ..program.analysis.atomic import operation
from ..program.graph import Expr
from .layouts.tiled import WORD
from .task import Task

HALVES = (F16, BF16)
"""Elements of 16 bits that the tensor cores add to f32."""


def check(task: Task, plan: Plan) -> None:
    """Refuses ``meet=mma`` where the tensor cores cannot add the elements.

    Raises:
        PlanError: WF433 for what is no sum of elements of 8 or 16 bits, WF434 for a target without the instruction,
            WF435 for a portable result, WF436 for other fields that the plan would have to have.
    """
    if plan.meet != "mma":
        return
    t = _added(task)
    if t is None:
        raise error("WF433", name=task.program.name)
    if not task.target.has_matrix_sums:
        raise error("WF434", arch=task.target.arch)
    if task.is_portable:
        raise error("WF435", name=task.program.name)
    lanes, vector = QUAD if t in HALVES else 1, WORD // t.itemsize
    for key, holds, expected in (
        ("fast", plan.fast == "reduced", "reduced"),
        ("walk", plan.walk == "interleaved", "interleaved"),
        ("tile_bytes", not plan.tile_bytes, "0"),
        ("cta", plan.cta == "shuffle", "shuffle"),
        ("lanes", plan.lanes >= lanes, f"{lanes} or more, which share a row of {t.name}"),
        ("vector", plan.vector >= vector, f"{vector} or more, which fill a word"),
    ):
        if not holds:
            raise error("WF436", meet=plan.meet, key=key, value=getattr(plan, key), expected=expected)


def _added(task: Task) -> DType | None:
    """The type of the elements, if they are added as the tensor cores can."""
    (reduce,) = task.program.reduces
    if operation(task.monoid) != "add":
        return None
    (total,), (v, *_) = task.monoid.state, reduce.args
    while v.op == "where" and _is_zero(v.args[2]):
        v = v.args[1]
    if v.op != "cast":
        return None
    source = v.args[0]
    if total == F32:
        return source.dtype if source.dtype in HALVES else None
    if source.op == "ne" and _is_zero(source.args[1]):
        source = source.args[0]
    is_byte = source.dtype.itemsize == 1 and not source.dtype.is_float and source.op == "input"
    return source.dtype if total.is_integer and total.bits in (32, 64) and is_byte else None


def _is_zero(v: Expr) -> bool:
    return v.op == "const" and v.value == 0
