"""The loop of a thread over its accesses: the distance between them, and the loop or the branch around a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.ir.build import integer
from ...compiler.ir.dialect.base import int_attr
from ...compiler.ir.mlir import arith, ir, scf

HEAVY = 12
"""A combine of this many operations or more is not unrolled: its copies would take longer to compile than they save."""
Step = Callable[[list[Any], list[Any]], list[Any]]
"""A function from the state and the indices of a step's accesses to the next state."""


def short(combine: Any) -> bool:
    """Whether a combine has so few operations that it may be unrolled."""
    ops = [o.operation.name for o in combine.blocks[0].operations]
    return len(ops) < HEAVY and not any(name.startswith("math.exp") for name in ops)


def apart(op: Any, count: int) -> Any:
    """The distance of ``count`` accesses of a ``fold.thread_reduce``, in elements, as a value at the insertion point.

    It is a constant, or a multiple of the period, which is an argument of the kernel.
    """
    distance = integer(op.operands[0].type, count * int_attr(op, "step"))
    return arith.muli(op.operands[3], distance) if len(op.operands) > 3 else distance


def last_access(limit: Any, lanes: int) -> Any:
    """The index of the row's last access of ``lanes`` elements that starts before ``limit``."""
    t = limit.type
    return arith.andi(arith.subi(limit, integer(t, 1)), integer(t, -lanes))


def walked(op: Any, first: list[Any], step: Step) -> list[Any]:
    """The state after the loop of a ``fold.thread_reduce`` that begins with the state ``first``."""
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


def combines_lanes(op: Any) -> bool:
    """Whether a walk ends with the elements of its accesses combined into one result.

    This loop may do it, or a later one of its chain.
    """
    while op.results[0].type == op.operands[2].type:
        users = [use.owner for use in op.results[0].uses]
        if len(users) != 1 or users[0].name != "fold.thread_reduce":
            return False
        op = users[0]
    return True
