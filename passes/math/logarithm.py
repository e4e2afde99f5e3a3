"""log, log2, log10 and log1p.

x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), as in
W. Cody and W. Waite, Software Manual for the Elementary Functions (1980).

pow: x^y = 2^(y log2|x|), with the logarithm and the product as double words; powers of integers by squaring.

Relative to the exponent of the result, which may be as great as the format's bias, the logarithm needs that many bits
more than the format has. Special values are those of C99, Annex F.9.4.4, which NumPy follows.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from ...compiler.ir.build import integer
from ...compiler.ir.mlir import arith, ir, math, scf
from .arithmetic import Builder, Format, Pair, fma
from .exponential import exp2_of
from .unbranched import quotient

_LN2 = {32: (0.693359375, -2.12194440054690583e-4), 64: (0.6931471803691238, 1.9082149292705877e-10)}
"""ln2 cut in two so that every exponent times the first part is exact."""
LOG2E = {32: (1.4426950216293335, 1.925963033500011e-08), 64: (1.4426950408889634, 2.0355273740931033e-17)}
_LOG10E = {32: (0.4342944920063019, -1.0103049952192578e-08), 64: (0.4342944819032518, 1.098319650216765e-17)}
_LOG10_2 = {32: (0.301025390625, 4.605039066518657e-06), 64: (0.3010299956640665, -8.532344317057107e-14)}
"""log10(2) cut in two so that every exponent times the first part is exact."""
_TERMS = {32: 6, 64: 12}


def split(b: Builder, x: Any) -> Pair:
    """f and e of a positive finite x, both as floats."""
    f = b.format
    tiny = b.test(x, "olt", f.least_normal)
    scaled = arith.select(tiny, arith.mulf(x, b.number(2.0 ** (f.mantissa + 1))), x)
    # adding the distance from sqrt(1/2) to 1 carries into the exponent for mantissas above sqrt(2)
    root = _bits_of_root_half(f)
    one = f.bias << f.mantissa
    moved = arith.addi(b.bits(scaled), b.integer(one - root))
    e = arith.subi(arith.shrsi(moved, b.integer(f.mantissa)), b.integer(f.bias))
    e = arith.select(tiny, arith.subi(e, b.integer(f.mantissa + 1)), e)
    low = arith.andi(moved, b.integer((1 << f.mantissa) - 1))
    m = b.value(arith.addi(low, b.integer(root)))
    return arith.subf(m, b.number(1.0)), arith.sitofp(b.type, e)


def _bits_of_root_half(f: Format) -> int:
    """The bits of sqrt(1/2) in the format, rounded down: mantissa floor(sqrt(2) 2^m) with the exponent of 1/2."""
    root = isqrt(2 << (2 * f.mantissa))
    return ((f.bias - 1) << f.mantissa) + root - (1 << f.mantissa)


def _completed(b: Builder, x: Any, value: Any) -> Any:
    """``value`` with what no formula gives: infinity and zero, and NaN below zero."""
    value = b.pick(b.test(x, "oeq", float("inf")), float("inf"), value)
    value = b.pick(b.test(x, "oeq", 0.0), float("-inf"), value)
    return b.pick(b.test(x, "ult", 0.0), float("nan"), value)


def _parts(b: Builder, f: Any) -> tuple[Any, Any, Any]:
    """f^2/2, s and f^2/2 + R(s^2)."""
    above = arith.addf(b.number(2.0), f)
    s = quotient(f, above) if b.format.bits == 32 else arith.divf(f, above)  # f is 0 or 2^-24 at least
    z = arith.mulf(s, s)
    series = b.horner(z, [2.0 / (2 * k + 3) for k in range(_TERMS[b.format.bits])])
    half = arith.mulf(b.number(0.5), arith.mulf(f, f))
    return half, s, arith.addf(half, arith.mulf(z, series))


def _joined(b: Builder, f: Any, e: Any, low: Any) -> Any:
    """log(1 + f) + e (ln2's first part) + low."""
    half, s, series = _parts(b, f)
    correction = fma(s, series, low)
    high = b.number(_LN2[b.format.bits][0])
    return fma(e, high, arith.subf(f, arith.subf(half, correction)))


def log(x: Any) -> Any:
    """The natural logarithm."""
    b = Builder(x.type)
    f, e = split(b, x)
    return _completed(b, x, _joined(b, f, e, arith.mulf(e, b.number(_LN2[b.format.bits][1]))))


def log1p(x: Any) -> Any:
    """log(1 + x): log of the rounded sum u, and what the sum lost, over u."""
    b = Builder(x.type)
    u, lost = b.sum_of(b.number(1.0), x)
    f, e = split(b, u)
    low = fma(e, b.number(_LN2[b.format.bits][1]), arith.divf(lost, u))
    value = _completed(b, u, _joined(b, f, e, low))
    return b.pick(b.test(x, "oeq", 0.0), x, value)


def log2(x: Any) -> Any:
    """The logarithm to base two, exact for its powers: log(1 + f) as a double word, in another base, beside e."""
    b = Builder(x.type)
    f, e = split(b, x)
    scaled, rest = b.product(_double(b, f), b.constant_pair(LOG2E[b.format.bits]))
    total, lost = b.ordered_sum(e, scaled)
    return _completed(b, x, arith.addf(total, arith.addf(lost, rest)))


def log10(x: Any) -> Any:
    """The logarithm to base ten, exact for its powers: as log2, with the exponent times that of 2 as a double word."""
    b = Builder(x.type)
    f, e = split(b, x)
    first, second = _LOG10_2[b.format.bits]
    scaled, rest = b.product(_double(b, f), b.constant_pair(_LOG10E[b.format.bits]))
    total, lost = b.ordered_sum(arith.mulf(e, b.number(first)), scaled)
    return _completed(b, x, arith.addf(total, arith.addf(lost, fma(e, b.number(second), rest))))


def _double(b: Builder, f: Any) -> Pair:
    """The logarithm of 1 + f as a double word."""
    half, s, series = _parts(b, f)
    half_low = fma(arith.mulf(b.number(0.5), f), f, arith.negf(half))
    high, low = b.ordered_sum(f, arith.negf(half))
    return high, arith.addf(low, fma(s, series, arith.negf(half_low)))


_TWO_THIRDS = {32: (0.6666666865348816, -1.9868215517249155e-08), 64: (0.6666666666666666, 3.700743415417188e-17)}
_POWER_TERMS = {32: 5, 64: 11}
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
    series = b.horner(z[0], [2.0 / (2 * k + 5) for k in range(_POWER_TERMS[b.format.bits])])
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
