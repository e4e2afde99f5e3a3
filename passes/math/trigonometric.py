"""sin, cos and tan, on scalars: x = n pi/2 + r with |r| <= pi/4, r a double word, then polynomials chosen by n mod 4.

Up to 2^(bits of the mantissa - 4), n times pi/2, cut into three numbers, is taken off: the first step is exact, since
both sides are multiples of one power of two and the difference is below one (Cody and Waite). Beyond, x is a whole
number m times 2^e, and of its product with 2/pi only the bits that are left modulo four are computed: M. Payne and
R. Hanek, "Radian reduction for trigonometric functions", SIGNUM 18 (1983). No argument is less exact than another.
The polynomials interpolate at Chebyshev nodes.

atan, atan2, asin and acos: the angle of a point, from the quotient of its lesser coordinate by the greater one.

With q that quotient, atan(q) = pi/4 + atan((q - 1) / (q + 1)) for q above tan(pi/8) leaves t with |t| <= tan(pi/8), for
which atan(t) = t + t^3 P(t^2), P fitted at Chebyshev nodes. The quotient is corrected by its remainder (T. J. Dekker,
Numerische Mathematik 18, 1971), and the multiple of pi/4 to which it is added is a double word. So what rounds is the
last sum. asin and acos are the angles of points on the unit circle: 1 - x^2 = (1 - x) (1 + x) loses nothing.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import address
from ...compiler.ir.mlir import arith, ir, llvm, math, scf
from .arithmetic import Builder, Pair, fma, intrinsic, symbol_table, symbols

_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = {
    32: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    64: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
_SIN = {
    32: [-0.1666666666362283, 0.008333331785217696, -0.00019840038872556747, 2.724378140946123e-06],
    64: [
        -0.16666666666666666, 0.008333333333333331, -0.00019841269841264567, 2.7557319218954762e-06,
        -2.505210610025599e-08, 1.6058510875319195e-10, -7.585486485235938e-13,
    ],
}  # fmt: skip
"""(sin(r) - r) / r^3 as a polynomial in r^2."""
_COS = {
    32: [0.04166665453632113, -0.0013888279330556918, 2.4542871110870263e-05],
    64: [
        0.041666666666666664, -0.0013888888888887241, 2.480158729853226e-05, -2.7557317151858866e-07,
        2.0876121534608454e-09, -1.1380868171449914e-11,
    ],
}  # fmt: skip
"""(cos(r) - 1 + r^2 / 2) / r^4 as a polynomial in r^2."""
_TABLE_BITS = {32: 320, 64: 1280}
"""Bits of 2/pi: those that the greatest exponent leaves, and three words more."""
_LEADING = 64
"""Zeros before them, for the least exponent."""


def sin(x: Any) -> Any:
    """The sine."""
    return _function(x, 0)


def cos(x: Any) -> Any:
    """The cosine, the sine a quarter of a turn on."""
    return _function(x, 1)


def tan(x: Any) -> Any:
    """The tangent: sine by cosine, each as a double word."""
    b = Builder(x.type)
    n, *r = _reduced(b, x)
    z = arith.mulf(r[0], r[0])
    half = arith.mulf(b.number(0.5), z)
    sine, cosine = b.ordered_sum(*_sine(b, r, z, half)), b.ordered_sum(*_cosine(b, r, z, half))
    odd = _bit(b, n, 0)
    above = [arith.select(odd, arith.negf(c), s) for s, c in zip(sine, cosine, strict=True)]
    below = [arith.select(odd, s, c) for s, c in zip(sine, cosine, strict=True)]
    q = arith.divf(above[0], below[0])
    rest = arith.addf(fma(arith.negf(q), below[0], above[0]), fma(arith.negf(q), below[1], above[1]))
    value = arith.addf(q, arith.divf(rest, below[0]))
    itself = arith.subf(x, x)  # NaN for infinity, too
    value = b.pick(b.test(itself, "uno", itself), float("nan"), value)
    return b.pick(b.test(math.absf(x), "olt", 2.0 ** -(b.format.mantissa // 2 + 2)), x, value)  # and the sign of zero


def _function(x: Any, quarters: int) -> Any:
    b = Builder(x.type)
    n, r, low = _reduced(b, x)
    n = arith.addi(n, b.integer(quarters))
    sine, cosine = _polynomials(b, (r, low))
    value = arith.select(_bit(b, n, 0), cosine, sine)
    value = arith.select(_bit(b, n, 1), arith.negf(value), value)
    itself = arith.subf(x, x)  # NaN for infinity, too
    value = b.pick(b.test(itself, "uno", itself), float("nan"), value)
    return value if quarters else b.pick(b.test(x, "oeq", 0.0), x, value)  # the sign of zero


def _reduced(b: Builder, x: Any) -> Any:
    """n and the two words of r."""
    small = b.test(math.absf(x), "olt", 2.0 ** (b.format.mantissa - 4))
    branch = scf.IfOp(small, [b.int, b.type, b.type], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp(list(_subtracted(b, x)))
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp(list(_multiplied(b, x)))
    return branch.results


def _bit(b: Builder, n: Any, place: int) -> Any:
    return arith.cmpi(arith.CmpIPredicate.ne, arith.andi(n, b.integer(1 << place)), b.integer(0))


def _polynomials(b: Builder, r: Pair) -> Pair:
    """sin and cos of a double word up to pi/4."""
    z = arith.mulf(r[0], r[0])
    half = arith.mulf(b.number(0.5), z)
    sine = arith.addf(*_sine(b, r, z, half))
    return sine, arith.addf(*_cosine(b, r, z, half))


def _sine(b: Builder, r: Pair, z: Any, half: Any) -> Pair:
    """The sine as a sum of two; ``z`` is the square of r, and ``half`` a half of it."""
    high, low = r
    cubic = arith.mulf(arith.mulf(high, z), b.horner(z, _SIN[b.format.bits]))
    return high, arith.addf(cubic, fma(arith.negf(half), low, low))


def _cosine(b: Builder, r: Pair, z: Any, half: Any) -> Pair:
    """The cosine as a sum of two."""
    high, low = r
    one, lost = b.ordered_sum(b.number(1.0), arith.negf(half))
    tail = arith.mulf(arith.mulf(z, z), b.horner(z, _COS[b.format.bits]))
    return one, arith.addf(lost, fma(arith.negf(high), low, tail))


def _subtracted(b: Builder, x: Any) -> tuple[Any, Any, Any]:
    """n and r for a small x."""
    first, second, third = _HALF_PI[b.format.bits]
    n_float, n = b.nearest(x, _TWO_OVER_PI)
    left = fma(n_float, b.number(-first), x)
    product, product_low = b.product_of(n_float, b.number(-second))
    high, low = b.sum_of(left, product)
    return n, high, fma(n_float, b.number(-third), arith.addf(low, product_low))


def _multiplied(b: Builder, x: Any) -> tuple[Any, Any, Any]:
    """n modulo 4 and r for a great x, from the bits of x times 2/pi."""
    f = b.format
    bits = b.bits(math.absf(x))
    fraction = arith.andi(bits, b.integer((1 << f.mantissa) - 1))
    m = arith.ori(fraction, b.integer(1 << f.mantissa))
    # bit i behind the point of 2/pi counts m 2^(e - i): multiples of four go
    e = arith.subi(arith.shrui(bits, b.integer(f.mantissa)), b.integer(f.bias + f.mantissa))
    window = _window(b, arith.addi(e, b.integer(_LEADING - 2)))
    high, low = _product(m, window)
    # two bits before the point; the fraction behind it is rounded to the nearest whole by its highest bit
    n = arith.shrui(high, b.integer(f.bits - 2))
    part = intrinsic(b.int, "llvm.fshl", high, low, b.integer(2)), arith.shli(low, b.integer(2))
    upper = arith.shrsi(part[0], b.integer(f.bits - 1))
    n = arith.subi(n, upper)
    r = _scaled(b, arith.xori(part[0], upper), arith.xori(part[1], upper))
    # the sign of x turns n and r
    negative = arith.shrsi(b.bits(x), b.integer(f.bits - 1))
    n = arith.subi(arith.xori(n, negative), negative)
    flip = arith.cmpi(arith.CmpIPredicate.ne, upper, negative)
    return n, *(arith.select(flip, arith.negf(v), v) for v in r)


def _window(b: Builder, at: Any) -> list[Any]:
    """Three words of the table, from bit ``at`` on."""
    f = b.format
    index = arith.shrui(at, b.integer(f.bits.bit_length() - 1))
    shift = arith.andi(at, b.integer(f.bits - 1))
    base = _table(b)
    words = [llvm.load(b.int, address(base, arith.addi(index, b.integer(k)), b.int)) for k in range(4)]
    return [intrinsic(b.int, "llvm.fshl", words[k], words[k + 1], shift) for k in range(3)]


def _product(m: Any, words: list[Any]) -> Pair:
    """The upper two of the three lowest words of m times a number of three words."""
    _, carried = arith.mului_extended(m, words[2])
    middle, upper = arith.mului_extended(m, words[1])
    low = arith.addi(middle, carried)
    carry = arith.extui(low.type, arith.cmpi(arith.CmpIPredicate.ult, low, carried))
    return arith.addi(arith.addi(arith.muli(m, words[0]), upper), carry), low


def _scaled(b: Builder, high: Any, low: Any) -> Pair:
    """The fraction of these two words times pi/2, as a double word."""
    f = b.format
    zeros = intrinsic(b.int, "llvm.ctlz", high, arith.constant(ir.IntegerType.get_signless(1), 0))
    word = intrinsic(b.int, "llvm.fshl", high, low, zeros)
    spare = (1 << (f.bits - f.mantissa - 1)) - 1  # what the format cannot hold of a word goes to the second number
    upper = arith.uitofp(b.type, arith.andi(word, b.integer(~spare)))
    lower = arith.uitofp(b.type, arith.andi(word, b.integer(spare)))
    scale = b.power_of_two(arith.subi(b.integer(-f.bits), zeros))
    number = arith.mulf(upper, scale), arith.mulf(lower, scale)
    return b.product(number, b.constant_pair(_HALF_PI[f.bits][:2]))


def _table(b: Builder) -> Any:
    """The address of 2/pi in words, the highest first, in constant memory of the module at the insertion point."""
    bits, total = b.format.bits, _TABLE_BITS[b.format.bits]
    number = _two_over_pi(total)
    words = [number >> (total - bits * (k + 1)) & ((1 << bits) - 1) for k in range(-_LEADING // bits, total // bits)]
    body, symbol = symbol_table(ir.InsertionPoint.current.block.owner), f"two_over_pi_{bits}"
    if symbol not in symbols(body):
        signed = [w - (1 << bits) if w >> (bits - 1) else w for w in words]
        t = ir.RankedTensorType.get([len(words)], b.int)
        value = ir.DenseElementsAttr.get([ir.IntegerAttr.get(b.int, w) for w in signed], t)
        array = ir.Type.parse(f"!llvm.array<{len(words)} x i{bits}>")
        linkage = ir.Attribute.parse("#llvm.linkage<internal>")
        with ir.InsertionPoint.at_block_begin(body):
            llvm.GlobalOp(array, symbol, linkage, constant=True, value=value, addr_space=4)
    return llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<4>"), ir.FlatSymbolRefAttr.get(symbol)).result


def _two_over_pi(bits: int) -> int:
    """2/pi times 2^bits, rounded down: pi = 16 arctan(1/5) - 4 arctan(1/239) (J. Machin, 1706)."""
    one = 1 << (bits + 64)
    pi = 16 * _arctan_of_inverse(5, one) - 4 * _arctan_of_inverse(239, one)
    return (one << (bits + 1)) // pi


def _arctan_of_inverse(x: int, one: int) -> int:
    """arctan(1/x) times ``one``."""
    total, term, k = 0, one // x, 1
    while term:
        total += term // k if k % 4 == 1 else -(term // k)
        term //= x * x
        k += 2
    return total


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
    small, big = _scaled_angle(b, arith.minimumf(rise, run), arith.maximumf(rise, run))
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


def _scaled_angle(b: Builder, small: Any, big: Any) -> Pair:
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
