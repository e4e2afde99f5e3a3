"""Replaces the math functions that no instruction computes accurately by arithmetic that does.

``math.exp`` and ``math.log`` on f32 and f64 become range reduction and a polynomial in fused multiply-adds, within
1 ulp, the same bits on every machine. Nothing is left that would become a call of a library that is not linked.

exp: x = n ln2 + r with n an integer and |r| <= ln2 / 2, exp(x) = 2^n P(r), P the Taylor polynomial (its error is
below half an ulp at that degree); 2^n is applied in two halves, so that subnormal results round once. log:
x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), as in
W. Cody and W. Waite, Software Manual for the Elementary Functions (1980).

exp on f32:

```mlir before
func.func @exponential(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}
```

```mlir after
func.func @exponential(%x: f32) -> f32 {
  %lowest = arith.constant -1.1e+02 : f32
  %above = arith.maximumf %x, %lowest : f32
  %highest = arith.constant 1.0e+02 : f32
  %within = arith.minimumf %above, %highest : f32
  %magic = arith.constant 0x4B400000 : f32
  %log2e = arith.constant 1.44269502 : f32
  %shifted = llvm.call_intrinsic "llvm.fma"(%within, %log2e, %magic) : (f32, f32, f32) -> f32
  %n_float = arith.subf %shifted, %magic : f32
  %shifted_bits = arith.bitcast %shifted : f32 to i32
  %magic_bits = arith.bitcast %magic : f32 to i32
  %n = arith.subi %shifted_bits, %magic_bits : i32
  %ln2_high = arith.constant -0.693359375 : f32
  %r_high = llvm.call_intrinsic "llvm.fma"(%n_float, %ln2_high, %within) : (f32, f32, f32) -> f32
  %ln2_low = arith.constant 2.12194442E-4 : f32
  %r = llvm.call_intrinsic "llvm.fma"(%n_float, %ln2_low, %r_high) : (f32, f32, f32) -> f32
  %c7 = arith.constant 1.98412701E-4 : f32
  %c6 = arith.constant 0.00138888892 : f32
  %p6 = llvm.call_intrinsic "llvm.fma"(%c7, %r, %c6) : (f32, f32, f32) -> f32
  %c5 = arith.constant 0.00833333377 : f32
  %p5 = llvm.call_intrinsic "llvm.fma"(%p6, %r, %c5) : (f32, f32, f32) -> f32
  %c4 = arith.constant 0.0416666679 : f32
  %p4 = llvm.call_intrinsic "llvm.fma"(%p5, %r, %c4) : (f32, f32, f32) -> f32
  %c3 = arith.constant 0.166666672 : f32
  %p3 = llvm.call_intrinsic "llvm.fma"(%p4, %r, %c3) : (f32, f32, f32) -> f32
  %c2 = arith.constant 0.5 : f32
  %p2 = llvm.call_intrinsic "llvm.fma"(%p3, %r, %c2) : (f32, f32, f32) -> f32
  %c1 = arith.constant 1.0 : f32
  %p1 = llvm.call_intrinsic "llvm.fma"(%p2, %r, %c1) : (f32, f32, f32) -> f32
  %c0 = arith.constant 1.0 : f32
  %p = llvm.call_intrinsic "llvm.fma"(%p1, %r, %c0) : (f32, f32, f32) -> f32
  %one = arith.constant 1 : i32
  %half = arith.shrsi %n, %one : i32
  %bias_0 = arith.constant 127 : i32
  %exponent_0 = arith.addi %half, %bias_0 : i32
  %mantissa_0 = arith.constant 23 : i32
  %bits_0 = arith.shli %exponent_0, %mantissa_0 : i32
  %power_0 = arith.bitcast %bits_0 : i32 to f32
  %scaled = arith.mulf %p, %power_0 : f32
  %other_half = arith.subi %n, %half : i32
  %bias_1 = arith.constant 127 : i32
  %exponent_1 = arith.addi %other_half, %bias_1 : i32
  %mantissa_1 = arith.constant 23 : i32
  %bits_1 = arith.shli %exponent_1, %mantissa_1 : i32
  %power_1 = arith.bitcast %bits_1 : i32 to f32
  %y = arith.mulf %scaled, %power_1 : f32
  return %y : f32
}
```
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, isqrt
from typing import Any

from ..compiler.build import before, find, replace
from ..compiler.combine import width, with_shape
from ..compiler.dialect.base import element
from ..compiler.errors import error
from ..compiler.mlir import arith, ir, llvm, math
from ..compiler.pipeline import Pass


@dataclass(frozen=True)
class Format:
    """A float format's numbers: widths in bits, ln2 cut in two so that n times the first part is exact."""

    bits: int
    mantissa: int
    ln2_high: float
    ln2_low: float
    exp_terms: int
    log_terms: int
    exp_low: float
    exp_high: float

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.mantissa - 2)) - 1


F32 = Format(32, 23, 0.693359375, -2.12194440054690583e-4, 8, 6, -110.0, 100.0)
F64 = Format(64, 52, 0.6931471803691238, 1.9082149292705877e-10, 14, 12, -760.0, 720.0)
LOG2E = 1.4426950408889634


class _Builder:
    """Arithmetic on fragments of one format at the insertion point."""

    def __init__(self, t: Any) -> None:
        self.scalar, self.lanes = element(t), width(t)
        self.format = F32 if self.scalar.width == 32 else F64
        self.type = t
        self.int_scalar = ir.IntegerType.get_signless(self.format.bits)
        self.int = with_shape(self.int_scalar, self.lanes)

    def number(self, value: float) -> Any:
        return self._constant(self.type, ir.FloatAttr.get(self.scalar, value))

    def integer(self, value: int) -> Any:
        return self._constant(self.int, ir.IntegerAttr.get(self.int_scalar, value))

    def _constant(self, t: Any, attribute: Any) -> Any:
        return arith.constant(t, attribute if self.lanes == 1 else ir.DenseElementsAttr.get_splat(t, attribute))

    def horner(self, x: Any, coefficients: list[float]) -> Any:
        """c0 + x (c1 + x (c2 + ...)), each step one fused multiply-add."""
        value = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = math.fma(value, x, self.number(c))
        return value

    def power_of_two(self, n: Any) -> Any:
        """2^n for n in the normal range."""
        biased = arith.addi(n, self.integer(self.format.bias))
        return arith.bitcast(self.type, arith.shli(biased, self.integer(self.format.mantissa)))


def _exp(x: Any) -> Any:
    b = _Builder(x.type)
    f = b.format
    x = arith.minimumf(arith.maximumf(x, b.number(f.exp_low)), b.number(f.exp_high))
    magic = b.number(1.5 * 2.0**f.mantissa)  # adding it leaves the rounded integer in the low mantissa bits
    shifted = math.fma(x, b.number(LOG2E), magic)
    n_float = arith.subf(shifted, magic)
    n = arith.subi(arith.bitcast(b.int, shifted), arith.bitcast(b.int, magic))
    r = math.fma(n_float, b.number(-f.ln2_high), x)
    r = math.fma(n_float, b.number(-f.ln2_low), r)
    p = b.horner(r, [1.0 / factorial(k) for k in range(f.exp_terms)])
    half = arith.shrsi(n, b.integer(1))
    return arith.mulf(arith.mulf(p, b.power_of_two(half)), b.power_of_two(arith.subi(n, half)))


def _log(x: Any) -> Any:
    b = _Builder(x.type)
    f = b.format
    tiny = arith.cmpf(arith.CmpFPredicate.OLT, x, b.number(2.0 ** (1 - f.bias)))
    scaled = arith.select(tiny, arith.mulf(x, b.number(2.0 ** (f.mantissa + 1))), x)
    bits = arith.bitcast(b.int, scaled)
    # adding the distance from sqrt(1/2) to 1 carries into the exponent for mantissas above sqrt(2)
    root = _bits_of_root_half(f)
    one = f.bias << f.mantissa
    moved = arith.addi(bits, b.integer(one - root))
    e = arith.subi(arith.shrsi(moved, b.integer(f.mantissa)), b.integer(f.bias))
    e = arith.select(tiny, arith.subi(e, b.integer(f.mantissa + 1)), e)
    low = arith.andi(moved, b.integer((1 << f.mantissa) - 1))
    m = arith.bitcast(b.type, arith.addi(low, b.integer(root)))
    value = _log_of(b, arith.subf(m, b.number(1.0)), arith.sitofp(b.type, e))
    zero, inf = b.number(0.0), b.number(float("inf"))
    value = arith.select(arith.cmpf(arith.CmpFPredicate.OEQ, x, inf), inf, value)
    value = arith.select(arith.cmpf(arith.CmpFPredicate.OEQ, x, zero), b.number(float("-inf")), value)
    bad = arith.cmpf(arith.CmpFPredicate.ULT, x, zero)
    return arith.select(bad, b.number(float("nan")), value)


def _log_of(b: _Builder, f: Any, e: Any) -> Any:
    """log((1 + f) 2^e) for 1 + f near 1."""
    s = arith.divf(f, arith.addf(b.number(2.0), f))
    z = arith.mulf(s, s)
    series = b.horner(z, [2.0 / (2 * k + 3) for k in range(b.format.log_terms)])
    half = arith.mulf(b.number(0.5), arith.mulf(f, f))
    correction = math.fma(s, arith.addf(half, arith.mulf(z, series)), arith.mulf(e, b.number(b.format.ln2_low)))
    return math.fma(e, b.number(b.format.ln2_high), arith.subf(f, arith.subf(half, correction)))


def _bits_of_root_half(f: Format) -> int:
    """The bits of sqrt(1/2) in the format, rounded down: mantissa floor(sqrt(2) 2^m) with the exponent of 1/2."""
    root = isqrt(2 << (2 * f.mantissa))
    return ((f.bias - 1) << f.mantissa) + root - (1 << f.mantissa)


_EXPANSIONS = {"math.exp": _exp, "math.log": _log}
_INTRINSICS = {
    "math.absf": "llvm.fabs", "math.sqrt": "llvm.sqrt", "math.fma": "llvm.fma",
    "math.floor": "llvm.floor", "math.ceil": "llvm.ceil",
}  # fmt: skip
"""Functions that one instruction computes exactly. Named here, since upstream's conversion for NVIDIA GPUs would turn
them into calls of a library that nothing links."""


def _run(module: Any) -> None:
    for name, expand in _EXPANSIONS.items():
        for op in find(module, name):
            x = op.operands[0]
            if element(x.type).width not in (32, 64):
                raise error("WF321", stage="expand-math", op=name, dtype=str(element(x.type)))
            with before(op):
                replace(op, [expand(x)])
    for name, intrinsic in _INTRINSICS.items():
        for op in find(module, name):
            with before(op):
                t = op.results[0].type
                replace(op, [llvm.call_intrinsic(t, intrinsic, list(op.operands), [], [])])


PASS = Pass("expand-math", _run, (*_EXPANSIONS, *_INTRINSICS), "expand exp and log into arithmetic")
