"""The steps of a thread's walk: how far apart its accesses lie, and the loop, or the branch, around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.ir.build import integer
from ...compiler.ir.dialect.base import int_attr
from ...compiler.ir.mlir import arith, ir, scf

HEAVY = 12
"""Operations of a combine from which on it goes by a loop where it is done several times: its code would take longer to
compile than it saves time."""
Step = Callable[[list[Any], list[Any]], list[Any]]
"""What a step makes of a state and of where its accesses begin: the next state."""


def short(combine: Any) -> bool:
    """Whether a combine takes so few operations that several copies of it do no harm."""
    ops = [o.operation.name for o in combine.blocks[0].operations]
    return len(ops) < HEAVY and not any(name.startswith("math.exp") for name in ops)


def apart(op: Any, count: int) -> Any:
    """The distance of ``count`` accesses of a ``fold.thread_reduce``, at the insertion point.

    A number, or so many times the period that the kernel is told.
    """
    distance = integer(op.operands[0].type, count * int_attr(op, "step"))
    return arith.muli(op.operands[3], distance) if len(op.operands) > 3 else distance


def walked(op: Any, first: list[Any], step: Step) -> list[Any]:
    """The state after the walk of a ``fold.thread_reduce`` that begins with ``first``."""
    begin, end = list(op.operands)[:2]
    unroll = int_attr(op, "unroll")

    def made(state: list[Any], r: Any) -> None:
        scf.YieldOp(step(state, [arith.addi(r, apart(op, u)) if u else r for u in range(unroll)]))

    if "once" not in op.attributes:
        loop = scf.ForOp(begin, end, apart(op, unroll), first)
        with ir.InsertionPoint(loop.body):
            made(list(loop.inner_iter_args), loop.induction_variable)
        return list(loop.results)
    branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, begin, end), [v.type for v in first], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        made(first, begin)
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp(first)
    return list(branch.results)
