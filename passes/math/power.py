"""pow: x^y = 2^(y log2|x|), with the logarithm and the product as double words; powers of integers by squaring.

Relative to the exponent of the result, which may be as great as the format's bias, the logarithm needs that many bits
more than the format has. Special values are those of C99, Annex F.9.4.4, which NumPy follows.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import integer
from ...compiler.ir.mlir import arith, ir, math, scf
from .arithmetic import Builder, Pair, fma
from .exponential import exp2_of
from .logarithm import LOG2E, split

_TWO_THIRDS = {32: (0.6666666865348816, -1.9868215517249155e-08), 64: (0.6666666666666666, 3.700743415417188e-17)}
_TERMS = {32: 5, 64: 11}
_LARGE = {32: 300.0, 64: 2200.0}
"""Exponents of two of this magnitude are far out of range."""


def power(x: Any, y: Any) -> Any:
    """x to the power of y."""
    b = Builder(x.type)
    size = math.absf(x)
    return _with_special_values(b, x, y, _exponential(b, y, size, _log2(b, size)))


def _log2(b: Builder, x: Any) -> Pair:
    """log2 of a positive finite x: with s = f / (2 + f), log(1 + f) = 2 s + s^3 (2/3 + s^2 R(s^2))."""
    f, e = split(b, x)
    below, below_low = b.ordered_sum(b.number(2.0), f)
    s = arith.divf(f, below)
    left = fma(arith.negf(s), below, f)
    s_low = arith.divf(fma(arith.negf(s), below_low, left), below)
    z = b.product((s, s_low), (s, s_low))
    series = b.horner(z[0], [2.0 / (2 * k + 5) for k in range(_TERMS[b.format.bits])])
    tail, tail_low = b.product(z, (series, b.number(0.0)))
    third = b.constant_pair(_TWO_THIRDS[b.format.bits])
    inner, lost = b.ordered_sum(third[0], tail)
    cubic = b.product((s, s_low), b.product(z, (inner, arith.addf(lost, arith.addf(third[1], tail_low)))))
    high, lost = b.ordered_sum(arith.addf(s, s), cubic[0])
    low = arith.addf(lost, arith.addf(arith.addf(s_low, s_low), cubic[1]))
    scaled, rest = b.product((high, low), b.constant_pair(LOG2E[b.format.bits]))
    total, lost = b.ordered_sum(e, scaled)
    return total, arith.addf(lost, rest)


def _exponential(b: Builder, y: Any, size: Any, logarithm: Pair) -> Any:
    """2^(y log2(size)), also for a size of zero or infinity."""
    infinite = b.test(size, "oeq", float("inf"))
    high = b.pick(infinite, float("inf"), b.pick(b.test(size, "oeq", 0.0), float("-inf"), logarithm[0]))
    product = arith.mulf(y, high)
    low = fma(y, logarithm[1], fma(y, high, arith.negf(product)))
    # beyond the range the second word may be NaN, and changes nothing
    inside = b.test(math.absf(product), "olt", _LARGE[b.format.bits])
    return exp2_of(b, product, b.pick(inside, low, 0.0))


def _with_special_values(b: Builder, x: Any, y: Any, value: Any) -> Any:
    """The power of |x| with the sign of that of x, and what holds for 1, 0, infinity and NaN."""
    whole = b.test(math.floor(y), "oeq", y)
    halved = arith.mulf(y, b.number(0.5))
    odd = arith.andi(whole, b.test(math.floor(halved), "one", halved))
    negative = arith.cmpi(arith.CmpIPredicate.slt, b.bits(x), b.integer(0))
    value = b.pick(arith.andi(negative, odd), arith.negf(value), value)
    below = arith.andi(b.test(x, "olt", 0.0), b.test(x, "ogt", float("-inf")))
    undefined = arith.ori(arith.andi(below, b.test(math.floor(y), "one", y)), b.test(x, "uno", y))
    value = b.pick(undefined, float("nan"), value)
    unit = arith.andi(b.test(math.absf(x), "oeq", 1.0), b.test(math.absf(y), "oeq", float("inf")))
    one = arith.ori(arith.ori(b.test(x, "oeq", 1.0), b.test(y, "oeq", 0.0)), unit)
    return b.pick(one, 1.0, value)


def integer_power(x: Any, n: Any) -> Any:
    """x^n modulo the width, both signed; for a negative n the quotient 1 / x^-n, rounded to zero, and 0 for x = 0."""
    t = x.type
    zero, one, minus_one = integer(t, 0), integer(t, 1), integer(t, -1)
    loop = scf.WhileOp([t, t, t], [x, n, one])
    before, after = (region.blocks.append(t, t, t) for region in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        more = arith.cmpi(arith.CmpIPredicate.ne, before.arguments[1], zero)
        scf.ConditionOp(more, list(before.arguments))
    with ir.InsertionPoint(after):
        base, left, product = after.arguments
        odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(left, one), zero)
        product = arith.select(odd, arith.muli(product, base), product)
        scf.YieldOp([arith.muli(base, base), arith.shrui(left, one), product])
    equal, less = arith.CmpIPredicate.eq, arith.CmpIPredicate.slt
    unit = arith.ori(arith.cmpi(equal, x, one), arith.cmpi(equal, x, minus_one))
    vanishes = arith.andi(arith.cmpi(less, n, zero), arith.xori(unit, integer(unit.type, -1)))
    return arith.select(vanishes, zero, loop.results[2])
