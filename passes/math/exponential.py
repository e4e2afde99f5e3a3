"""exp, exp2, expm1, sinh, cosh and tanh.

exp: x = n ln2 + r with n an integer and |r| <= ln2 / 2, exp(x) = 2^n P(r). P begins with 1 + r. For f32 it is of
degree 6 and has the least relative error, 2^-28; for f64 of degree 11, fitted at Chebyshev nodes, with 2^-55.8. exp2 is
the same with r = x - n, which is exact; of a product x nothing is rounded before that. Range reduction with ln2 cut in
two, so that n times the first part is exact: W. Cody and W. Waite, Software Manual for the Elementary Functions (1980).
Where the code around an exponential bounds its argument, so that the result is a normal number, it is not bounded
again, and 2^n is one factor.

sinh and cosh are h - 1 / (4 h) and h + 1 / (4 h), with h half of exp(|x|), which is finite as long as they are; sinh
near zero is x + x^3 S(x^2), S fitted at Chebyshev nodes.

tanh near zero is x + x^3 T(x^2), T fitted at Chebyshev nodes; beyond, 1 - 2 / (exp(2x) + 1) loses nothing.

Bounds of a float that follow from the ops that compute it, such as a clamp; the value may still be NaN.

erf: near zero x + x P(x^2); beyond, 1 - exp(Q(x)), where Q fits the logarithm of 1 - erf.

The polynomials are the project's own: P interpolates at Chebyshev nodes, Q is a least-squares fit weighted by 1 - erf,
since that is what an error of Q is multiplied by.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf, isnan
from math import log as _log
from typing import Any

from ...compiler.ir.emit import AT_MOST_ZERO
from ...compiler.ir.mlir import arith, ir, math
from ...compiler.postorder import postorder
from .arithmetic import Builder, fma

Bounds = tuple[float, float]


def bounds(x: Any) -> Bounds:
    """The least and the greatest number that ``x``, a fragment of floats, can be."""
    memo: dict[Any, Bounds] = {}
    for v in postorder([x], _sources):
        if sources := _sources(v):
            low, high = zip(*(memo[y] for y in sources), strict=True)
            memo[v] = _FROM[v.owner.name](low, high)
        elif not isinstance(v, ir.BlockArgument) and v.owner.name == "arith.constant":
            memo[v] = _of_constant(v.owner.attributes["value"])
        elif not isinstance(v, ir.BlockArgument) and AT_MOST_ZERO in v.owner.attributes:
            memo[v] = -inf, 0.0
        else:
            memo[v] = -inf, inf
    return memo[x]


def _sources(x: Any) -> list[Any]:
    """The values whose bounds decide those of ``x``."""
    if isinstance(x, ir.BlockArgument) or x.owner.name not in _FROM:
        return []
    return list(x.owner.operands)[-2:]


def _of_constant(attribute: Any) -> Bounds:
    if isinstance(attribute, ir.FloatAttr):
        return attribute.value, attribute.value
    values = list(ir.DenseFPElementsAttr(attribute))
    return min(values), max(values)


def _of_product(low: tuple[float, ...], high: tuple[float, ...]) -> Bounds:
    found = [a * b for a in (low[0], high[0]) for b in (low[1], high[1])]
    return (-inf, inf) if any(map(isnan, found)) else (min(found), max(found))


_FROM: dict[str, Callable[[tuple[float, ...], tuple[float, ...]], Bounds]] = {
    "vector.broadcast": lambda low, high: (low[0], high[0]),
    "arith.negf": lambda low, high: (-high[0], -low[0]),
    "arith.mulf": _of_product,
    "math.absf": lambda low, high: (max(0.0, low[0], -high[0]), max(-low[0], high[0])),
    "arith.maximumf": lambda low, high: (max(low), max(high)),
    "arith.minimumf": lambda low, high: (min(low), min(high)),
    "arith.select": lambda low, high: (min(low), max(high)),
}
"""For each op, the bounds of its result from the least and the greatest numbers of its last two operands."""


_LOG2E = 1.4426950408889634
_LN2 = {32: (0.693359375, -2.12194440054690583e-4), 64: (0.6931471803691238, 1.9082149292705877e-10)}
_TERMS = {32: 8, 64: 14}
_EXP = {
    32: [1.0, 1.0, 0.49999994, 0.16666521, 0.04166839, 0.008368745, 0.001381454],
    64: [
        1.0, 1.0, 0.5000000000000001, 0.16666666666666669, 0.041666666666624164, 0.008333333333330065,
        0.0013888888917196719, 0.00019841269863040545, 2.4801521322368692e-05, 2.7557268480310024e-06,
        2.762007587998348e-07, 2.510037583256132e-08,
    ],
}  # fmt: skip
"""The coefficients of P, from the constant on."""
_NORMAL = {32: (-87.0, 88.0), 64: (-708.0, 709.0)}
"""Between these arguments exp is a normal number."""
_EXP_RANGE = {32: (-110.0, 100.0), 64: (-760.0, 720.0)}
"""An argument outside these bounds has the result of the bound: zero or infinity."""
_SHIFT = {32: 64, 64: 512}
_FAR_BELOW = {32: 40.0, 64: 350.0}
"""Up to this argument 2^(n + _SHIFT) is a normal number."""
_EXP2_NORMAL = {32: (-126.0, 127.0), 64: (-1022.0, 1023.0)}
_EXP2_RANGE = {32: (-160.0, 140.0), 64: (-1100.0, 1030.0)}
_EXPM1_RANGE = {32: (-30.0, 89.0), 64: (-60.0, 710.0)}
_SINH = {
    32: [0.1666666716337204, 0.008333339355885983, 0.00019838099251501262, 2.8063057015970116e-06],
    64: [
        0.16666666666666666, 0.008333333333333333, 0.00019841269841269773, 2.7557319224040475e-06,
        2.5052108364015145e-08, 1.6059048403212478e-10, 7.646624821127206e-13, 2.84454304526893e-15,
    ],
}  # fmt: skip
"""(sinh(x) - x) / x^3 as a polynomial in x^2, for x up to 1."""
_TANH_RANGE = {32: 10.0, 64: 20.0}
"""From here on tanh is one."""
_TANH_SMALL = 0.55
_TANH = {
    32: [
        -0.33333333294954137, 0.1333332418591519, -0.05396469612817426, 0.02181840370577729, -0.008526140804281013,
        0.002526109195335942,
    ],
    64: [
        -0.3333333333333333, 0.1333333333333331, -0.05396825396822027, 0.021869488534068168, -0.008863235462984688,
        0.0035921267673025663, -0.0014558190700396025, 0.0005899051200674843, -0.00023847198564355907,
        9.454941758935152e-05, -3.3718010044053525e-05, 7.872519584876026e-06,
    ],
}  # fmt: skip
"""(tanh(x) - x) / x^3 as a polynomial in x^2, for x up to 0.55."""


def _clamped(b: Builder, x: Any, bounds: tuple[float, float]) -> Any:
    """``x`` within bounds; NaN stays."""
    return arith.minimumf(arith.maximumf(x, b.number(bounds[0])), b.number(bounds[1]))


def _reduced(b: Builder, x: Any) -> tuple[Any, Any]:
    """n and r with x = n ln2 + r."""
    n_float, n = b.nearest(x, _LOG2E)
    high, low = _LN2[b.format.bits]
    r = fma(n_float, b.number(-high), x)
    return n, fma(n_float, b.number(-low), r)


def exp(x: Any) -> Any:
    """The exponential."""
    b = Builder(x.type)
    bits = b.format.bits
    (least, most), (low, high) = _NORMAL[bits], bounds(x)
    normal = least <= low and high <= most
    if not normal and high <= _FAR_BELOW[bits]:
        return _exp_far_below(b, x)
    n, r = _reduced(b, x if normal else _clamped(b, x, _EXP_RANGE[bits]))
    value = b.horner(r, _EXP[bits])
    return arith.mulf(value, b.power_of_two(n)) if normal else b.scaled(value, n)


def _exp_far_below(b: Builder, x: Any) -> Any:
    """The exponential of an argument that may be far below zero, but is never large: two factors, one of them constant.

    n is counted from so far below that 2^n is a normal number, and comes out of the rounding addition as its bits.
    """
    shift = _SHIFT[b.format.bits]
    x = arith.maximumf(x, b.number(_EXP_RANGE[b.format.bits][0]))
    magic = b.number(1.5 * 2.0**b.format.mantissa + shift + b.format.bias)
    shifted = fma(x, b.number(_LOG2E), magic)
    n_float = arith.subf(shifted, magic)
    high, low = _LN2[b.format.bits]
    r = fma(n_float, b.number(-low), fma(n_float, b.number(-high), x))
    power = b.value(arith.shli(b.bits(shifted), b.integer(b.format.mantissa)))
    return arith.mulf(arith.mulf(b.horner(r, _EXP[b.format.bits]), power), b.number(2.0**-shift))


def exp2(x: Any) -> Any:
    """Two to the power of x; exact for integers."""
    b = Builder(x.type)
    (least, most), (low, high) = _EXP2_NORMAL[b.format.bits], bounds(x)
    if low < least or high > most:
        return exp2_of(b, x, None)
    if isinstance(x, ir.BlockArgument) or x.owner.name != "arith.mulf":
        n_float, n = b.nearest(x, 1.0)
        r = arith.subf(x, n_float)
    else:
        y, factor = x.owner.operands
        n_float, n = b.nearest(y, factor)
        r = fma(y, factor, arith.negf(n_float))
    return arith.mulf(b.horner(r, _exp2_terms(b)), b.power_of_two(n))


def exp2_of(b: Builder, x: Any, low: Any) -> Any:
    """2^(x + low), for a ``low`` far below one that is zero where x lies out of range."""
    x = _clamped(b, x, _EXP2_RANGE[b.format.bits])
    n_float, n = b.nearest(x, 1.0)
    r = arith.subf(x, n_float)
    r = r if low is None else arith.addf(r, low)
    return b.scaled(b.horner(r, _exp2_terms(b)), n)


def _exp2_terms(b: Builder) -> list[float]:
    """The polynomial of 2^r, from the constant on."""
    return [_log(2.0) ** k * c for k, c in enumerate(_EXP[b.format.bits])]


def expm1(x: Any) -> Any:
    """exp(x) - 1: with q = exp(r) - 1, it is 2^n q + (2^n - 1), of which the last part is nearly exact."""
    b = Builder(x.type)
    n, r = _reduced(b, _clamped(b, x, _EXPM1_RANGE[b.format.bits]))
    series = b.horner(r, [1.0 / factorial(k + 2) for k in range(_TERMS[b.format.bits] - 1)])
    q = fma(arith.mulf(r, r), series, r)
    # of all terms half, since 2^n itself may be too great
    power = b.power_of_two(arith.subi(n, b.integer(1)))
    halved = fma(power, q, arith.subf(power, b.number(0.5)))
    value = arith.addf(halved, halved)
    tiny = b.test(math.absf(x), "olt", 2.0 ** -(b.format.mantissa + 2))
    return b.pick(tiny, x, value)  # halving loses a bit of a subnormal, and the sign of zero


def _half(b: Builder, x: Any) -> tuple[Any, Any]:
    """Half of exp(x), and half of exp(-x), for x of at least 0."""
    n, r = _reduced(b, _clamped(b, x, _EXP_RANGE[b.format.bits]))
    half = b.scaled(b.horner(r, _EXP[b.format.bits]), arith.subi(n, b.integer(1)))
    return half, arith.divf(b.number(0.25), half)


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    b = Builder(x.type)
    size = math.absf(x)
    z = arith.mulf(size, size)
    near = fma(arith.mulf(size, z), b.horner(z, _SINH[b.format.bits]), size)
    half, inverse = _half(b, size)
    return b.with_sign(b.pick(b.test(size, "olt", 1.0), near, arith.subf(half, inverse)), x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    b = Builder(x.type)
    half, inverse = _half(b, math.absf(x))
    return arith.addf(half, inverse)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    b = Builder(x.type)
    size = math.absf(x)
    z = arith.mulf(size, size)
    near = fma(arith.mulf(size, z), b.horner(z, _TANH[b.format.bits]), size)
    bounded = arith.minimumf(size, b.number(_TANH_RANGE[b.format.bits]))
    above = arith.addf(exp(arith.addf(bounded, bounded)), b.number(1.0))
    far = arith.subf(b.number(1.0), arith.divf(b.number(2.0), above))
    return b.with_sign(b.pick(b.test(size, "olt", _TANH_SMALL), near, far), x)


_SMALL = 0.9
_RANGE = {32: 4.0, 64: 6.0}
"""From here on erf is one."""
_NEAR = {
    32: [
        0.12837916678922237, -0.37612635193967825, 0.11283718049593898, -0.02686066479113085, 0.005204226693752301,
        -0.0008179632180888265, 8.529401322836862e-05,
    ],
    64: [
        0.1283791670955126, -0.37612638903183754, 0.112837916709551, -0.026866170645124077, 0.005223977625340751,
        -0.000854832701490715, 0.00012055332519432235, -1.4925633568608262e-05, 1.646169615878246e-06,
        -1.635866756067073e-07, 1.4723494823392752e-08, -1.1652473945294949e-09, 6.495025610302581e-11,
    ],
}  # fmt: skip
"""erf(x) / x - 1 as a polynomial in x^2, for x up to 0.9."""
_CENTRE = 1.0
_FAR = {
    32: [
        -1.8496055096797033, -2.638967504710311, -0.8431073502448406, -0.04156186034479146, 0.010042445341741585,
        -0.0020073032252569457, 0.0002870057130299832, -2.117903107164078e-05,
    ],
    64: [
        -1.8496055099332482, -2.6389675142347913, -0.8431072563584868, -0.041561098046532095, 0.010033825434574022,
        -0.0019779030218638966, 0.00023732469625715528, 2.6270477623758453e-05, -2.714153109871721e-05,
        9.578368883758579e-06, -2.0203359775168696e-06, 1.0457912132287873e-07, 1.2563527818944713e-07,
        -6.757168261498654e-08, 2.133324552455174e-08, -4.8132081229009055e-09, 7.889324163339965e-10,
        -8.981005576330456e-11, 6.355781393936757e-12, -2.102206847332258e-13,
    ],
}  # fmt: skip
"""log(1 - erf(x)) as a polynomial in x - 1, for x from 0.9 to where erf is one."""


def erf(x: Any) -> Any:
    """The error function."""
    b = Builder(x.type)
    size = math.absf(x)
    near = fma(size, b.horner(arith.mulf(size, size), _NEAR[b.format.bits]), size)
    bounded = arith.minimumf(size, b.number(_RANGE[b.format.bits]))
    rest = exp(b.horner(arith.subf(bounded, b.number(_CENTRE)), _FAR[b.format.bits]))
    far = arith.subf(b.number(1.0), rest)
    return b.with_sign(b.pick(b.test(size, "olt", _SMALL), near, far), x)
