"""The remainder of a division with a quotient rounded to zero (C's fmod), which is always exact.

While the dividend is not less than the divisor, a multiple of it that has at most two bits less than the mantissa is
taken off: that difference is exact, and takes that many bits off the exponent.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.mlir import arith, ir, math, scf
from .arithmetic import Builder, fma


def remainder(x: Any, y: Any) -> Any:
    """x - y trunc(x / y); NaN when x is infinite or y is zero. Scalars only."""
    b = Builder(x.type)
    size, divisor = math.absf(x), math.absf(y)
    defined = arith.andi(b.test(size, "olt", float("inf")), b.test(divisor, "ogt", 0.0))
    divisor = b.pick(defined, divisor, 1.0)
    loop = scf.WhileOp([b.type], [b.pick(defined, size, 0.0)])
    before, after = (region.blocks.append(b.type) for region in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        scf.ConditionOp(b.test(before.arguments[0], "oge", divisor), [before.arguments[0]])
    with ir.InsertionPoint(after):
        scf.YieldOp([_step(b, after.arguments[0], divisor)])
    return b.pick(defined, b.with_sign(loop.results[0], x), float("nan"))


def _step(b: Builder, left: Any, divisor: Any) -> Any:
    """``left`` less a multiple of the divisor."""
    excess = arith.subi(arith.subi(_exponent(b, left), _exponent(b, divisor)), b.integer(b.format.mantissa - 2))
    excess = arith.minsi(arith.maxsi(excess, b.integer(0)), b.integer(2 * b.format.bias))  # what two factors can be
    multiple = b.scaled(divisor, excess)
    quotient = math.trunc(arith.divf(left, multiple))
    rest = fma(arith.negf(quotient), multiple, left)
    return b.pick(b.test(rest, "olt", 0.0), arith.addf(rest, multiple), rest)  # a quotient that was rounded up


def _exponent(b: Builder, x: Any) -> Any:
    """floor(log2(x)) of a positive finite x."""
    f = b.format
    tiny = b.test(x, "olt", f.least_normal)
    normal = b.pick(tiny, arith.mulf(x, b.number(2.0 ** (f.mantissa + 1))), x)
    field = arith.shrui(b.bits(normal), b.integer(f.mantissa))
    return arith.subi(field, arith.select(tiny, b.integer(f.bias + f.mantissa + 1), b.integer(f.bias)))
