"""sin, cos and tan, on scalars: x = n pi/2 + r with |r| <= pi/4, r a double word, then polynomials chosen by n mod 4.

Up to 2^(bits of the mantissa - 4), n times pi/2, cut into three numbers, is taken off: the first step is exact, since
both sides are multiples of one power of two and the difference is below one (Cody and Waite). Beyond, x is a whole
number m times 2^e, and of its product with 2/pi only the bits that are left modulo four are computed: M. Payne and
R. Hanek, "Radian reduction for trigonometric functions", SIGNUM 18 (1983). No argument is less exact than another.
The polynomials interpolate at Chebyshev nodes.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import address
from ...compiler.ir.mlir import arith, ir, llvm, math, scf
from .arithmetic import Builder, Pair, fma, intrinsic
from .module_symbols import symbol_table, symbols

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
