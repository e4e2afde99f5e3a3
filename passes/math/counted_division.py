"""Quotients of f32 by a count, such as means: products with its reciprocal, which all rows of a thread share.

For a count n, r = 1 / n is rounded once, q = x r is within 2 ulp of x / n, e = q n - x is what it has too much, times
n, and q - e r is rounded once. For counts up to 2^21 and quotients from 2^-126 on this is x / n, as a division rounds
it: the quotient is no closer to the middle of two floats than e r is to e / n (P. Markstein, "Computation of elementary
functions on the IBM RISC System/6000 processor", 1990). Beyond these it is within 1 ulp. A q that is infinite or NaN is
the quotient.

A division branches for operands that have no reciprocal, and has instructions that few lanes run at a time. Three of
them took a quarter of the time of a layer norm of rows of three.

A count that is divided by another has a reciprocal of its own (``unbranched.py``), of f32 and of f64.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ...compiler.ir.build import before, replace
from ...compiler.ir.combine import splat, width
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir
from .arithmetic import Builder, intrinsic
from .unbranched import FUNCTIONS, is_unbranched, quotient, reciprocal

EXACT = ("arith.extsi", "arith.extui", "arith.muli")
"""Ops by which counts are made of arguments of the kernel."""
LOOPS = ("scf.for", "scf.while")


def divide_by_counts(found: Iterable[Any]) -> None:
    """Replaces those of some divisions that are by a count, where there are several by one count, or one in a loop.

    A division of one count by another, which has ``fastmath<arcp>``, is replaced wherever it is.
    """
    alike: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for op in found:
        if "arcp" in str(op.attributes["fastmath"]) and element(op.operands[0].type).width >= 32:
            with before(op):
                replace(op, [quotient(*op.operands)])
            continue
        divisor = _scalar(op.operands[1])
        if made_of := _arguments(divisor):
            alike[made_of].append((op, divisor))
    reciprocals: dict[Any, Any] = {}
    for divisions in alike.values():
        if len(divisions) > 1 or _is_in_loop(divisions[0][0]):
            for op, divisor in divisions:
                if divisor not in reciprocals:
                    reciprocals[divisor] = _reciprocal(divisor)
                replace(op, [_quotient(op, divisor, reciprocals[divisor])])


def _scalar(divisor: Any) -> Any:
    """The scalar that all elements of a divisor are; itself if they may differ."""
    op = _made_by(divisor)
    return op.operands[0] if op and op.name == "vector.broadcast" else divisor


def _arguments(divisor: Any) -> str:
    """The arguments of a kernel of which a count was made, before it was converted to f32; else nothing."""
    op = _made_by(divisor)
    is_count = op and op.name == "arith.sitofp" and divisor.type == ir.F32Type.get()
    return _factors(op.operands[0]) if is_count else ""


def _factors(value: Any) -> str:
    op = _made_by(value)
    if op:
        own = [_factors(x) for x in op.operands] if op.name in EXACT else [""]
        return "*".join(own) if all(own) else ""
    return f"argument {value.arg_number}" if value.owner.owner.operation.name in FUNCTIONS else ""


def _made_by(value: Any) -> Any:
    """The operation of which ``value`` is a result; None for the argument of a block."""
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation


def _is_in_loop(op: Any) -> bool:
    while op.operation.name not in (*FUNCTIONS, *LOOPS):
        op = op.operation.parent
    return op.operation.name in LOOPS


def _reciprocal(n: Any) -> Any:
    """1 / n of the count ``n``, from where the count is known: it does not depend on elements."""
    b = Builder(n.type)
    with ir.InsertionPoint.after(n.owner), n.owner.location:
        if not is_unbranched(n.owner):
            return arith.divf(b.number(1.0), n)
        return b.pick(b.test(n, "oeq", 0.0), float("inf"), reciprocal(n))


def _quotient(op: Any, n: Any, r: Any) -> Any:
    """What takes the place of the division ``op`` by the scalar ``n``, with the reciprocal ``r``."""
    x, t = op.operands[0], op.results[0].type
    with before(op):
        b, r, n = Builder(t), splat(r, width(t)), splat(n, width(t))
        q = arith.mulf(x, r)
        excess = intrinsic(t, "llvm.fma", q, n, arith.negf(x))  # +0 of a zero of either sign, which so keeps its sign
        better = intrinsic(t, "llvm.fma", arith.negf(excess), r, q)
        return b.pick(b.test(intrinsic(t, "llvm.fabs", q), "olt", float("inf")), better, q)
