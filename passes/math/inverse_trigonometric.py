"""atan, atan2, asin and acos: the angle of a point, from the quotient of its lesser coordinate by the greater one.

With q that quotient, atan(q) = pi/4 + atan((q - 1) / (q + 1)) for q above tan(pi/8) leaves t with |t| <= tan(pi/8), for
which atan(t) = t + t^3 P(t^2), P fitted at Chebyshev nodes. The quotient is corrected by its remainder (T. J. Dekker,
Numerische Mathematik 18, 1971), and the multiple of pi/4 to which it is added is a double word. So what rounds is the
last sum. asin and acos are the angles of points on the unit circle: 1 - x^2 = (1 - x) (1 + x) loses nothing.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.mlir import arith, math
from .arithmetic import Builder, Pair, fma, intrinsic

_TAN = 0.41421356237309503
"""The tangent of pi/8."""
_ATAN = {
    32: [-0.3333333134651184, 0.19999539852142334, -0.14263926446437836, 0.10743415355682373, -0.064508818089962],
    64: [
        -0.3333333333333333, 0.19999999999999804, -0.1428571428565958, 0.11111111105131119, -0.09090908752290591,
        0.07692296340047557, -0.06666424257540567, 0.05878921776625797, -0.05230401099058019, 0.04551350736874263,
        -0.03456432733540151, 0.01627884915138577,
    ],
}  # fmt: skip
"""(atan(t) - t) / t^3 as a polynomial in t^2."""
_PI = {
    32: {1: (0.7853981852531433, -2.1855694143368964e-08), 2: (1.5707963705062866, -4.371138828673793e-08),
         3: (2.356194496154785, -5.962440319251527e-09), 4: (3.1415927410125732, -8.742277657347586e-08)},
    64: {1: (0.7853981633974483, 3.061616997868383e-17), 2: (1.5707963267948966, 6.123233995736766e-17),
         3: (2.356194490192345, 9.184850993605148e-17), 4: (3.141592653589793, 1.2246467991473532e-16)},
}  # fmt: skip
"""Multiples of pi/4."""
_SCALE = {32: 2.0**64, 64: 2.0**512}
"""Points with a coordinate of this magnitude or more, or below its inverse, are scaled by it towards one."""


def atan(x: Any) -> Any:
    """The inverse of the tangent."""
    b = Builder(x.type)
    return atan2(x, b.number(1.0))


def asin(x: Any) -> Any:
    """The inverse of the sine."""
    return atan2(x, _other(x))


def acos(x: Any) -> Any:
    """The inverse of the cosine."""
    return atan2(_other(x), x)


def _other(x: Any) -> Any:
    """The other coordinate of a point on the unit circle; NaN where there is none."""
    b = Builder(x.type)
    one = b.number(1.0)
    return intrinsic(b.type, "llvm.sqrt", arith.mulf(arith.subf(one, x), arith.addf(one, x)))


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), from -pi to pi; of zeros and infinities as C99 has it, Annex F.9.1.4."""
    b = Builder(x.type)
    rise, run = math.absf(y), math.absf(x)
    small, big = _scaled(b, arith.minimumf(rise, run), arith.maximumf(rise, run))
    far = b.test(small, "ogt", arith.mulf(big, b.number(_TAN)))
    t, low = _quotient(b, *_sum_and_difference(b, far, small, big))
    steep, left = b.test(rise, "ogt", run), arith.cmpi(arith.CmpIPredicate.slt, b.bits(x), b.integer(0))
    turned = arith.xori(steep, left)  # each of the two mirrors the angle
    z = arith.mulf(t, t)
    low = arith.addf(low, arith.mulf(arith.mulf(t, z), b.horner(z, _ATAN[b.format.bits])))
    t, low = (arith.select(turned, arith.negf(v), v) for v in (t, low))
    base = _multiple(b, far, steep, left)
    total, lost = b.ordered_sum(base[0], t)
    return b.with_sign(math.absf(arith.addf(total, arith.addf(lost, arith.addf(low, base[1])))), y)


def _scaled(b: Builder, small: Any, big: Any) -> Pair:
    """Both coordinates times a power of two, so that sums stay finite and remainders are held; infinity is one."""
    factor = _SCALE[b.format.bits]
    infinite, finite = b.test(big, "oeq", float("inf")), b.test(small, "olt", float("inf"))
    small = b.pick(infinite, b.pick(finite, 0.0, 1.0), small)
    big = b.pick(infinite, 1.0, big)
    scale = b.pick(b.test(big, "ogt", factor), 1.0 / factor, 1.0)
    scale = b.pick(b.test(big, "olt", 1.0 / factor), factor, scale)
    return arith.mulf(small, scale), arith.mulf(big, scale)


def _sum_and_difference(b: Builder, far: Any, small: Any, big: Any) -> tuple[Pair, Pair]:
    """The dividend and the divisor, as double words: the coordinates, or their difference and their sum."""
    zero = b.number(0.0)
    minus, minus_low = b.ordered_sum(big, arith.negf(small))
    plus, plus_low = b.ordered_sum(big, small)
    above = arith.select(far, arith.negf(minus), small), arith.select(far, arith.negf(minus_low), zero)
    return above, (arith.select(far, plus, big), arith.select(far, plus_low, zero))


def _quotient(b: Builder, above: Pair, below: Pair) -> Pair:
    """above / below as a double word, except where it is so small that its remainder may underflow; 0 / 0 is 0."""
    divisor = b.pick(b.test(below[0], "oeq", 0.0), 1.0, below[0])
    q = arith.divf(above[0], divisor)
    rest = arith.addf(fma(arith.negf(q), divisor, above[0]), fma(arith.negf(q), below[1], above[1]))
    tiny = b.test(math.absf(q), "olt", 2.0 ** -(b.format.mantissa // 2 + 4))
    return q, b.pick(tiny, 0.0, arith.divf(rest, divisor))


def _multiple(b: Builder, far: Any, steep: Any, left: Any) -> Pair:
    """The multiple of pi/4 from which the angle of the quotient is counted."""
    pi = _PI[b.format.bits]

    def chosen(part: int) -> Any:
        near_axis = b.pick(steep, pi[2][part], b.pick(left, pi[4][part], 0.0))
        diagonal = b.pick(left, pi[3][part], pi[1][part])
        return arith.select(far, diagonal, near_axis)

    return chosen(0), chosen(1)
