"""Float arithmetic at the insertion point, written once for f32 and f64: what the expansions of functions are made of.

A *double word* is an unevaluated sum of two numbers, the second below half an ulp of the first: T. J. Dekker, "A
floating-point technique for extending the available precision", Numerische Mathematik 18 (1971).

Functions and tables that expansions add to the module of the code that uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...compiler.ir.combine import elements, fragment, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, llvm

Pair = tuple[Any, Any]
"""A double word."""


@dataclass(frozen=True)
class Format:
    """A float format's widths in bits; ``mantissa`` does not count the hidden bit."""

    bits: int
    mantissa: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @property
    def least_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


F32, F64 = Format(32, 23), Format(64, 52)


class Builder:
    """Arithmetic on fragments of the type ``t``, f32 or f64."""

    def __init__(self, t: Any) -> None:
        self.scalar, self.lanes = element(t), width(t)
        self.format = F32 if self.scalar.width == 32 else F64
        self.type = t
        self.int_scalar = ir.IntegerType.get_signless(self.format.bits)
        self.int = with_shape(self.int_scalar, self.lanes)

    # --- constants ---
    def number(self, value: float) -> Any:
        return self._constant(self.type, ir.FloatAttr.get(self.scalar, value))

    def integer(self, value: int) -> Any:
        """The integer with the low bits of ``value``."""
        signed = (value + (1 << (self.format.bits - 1))) % (1 << self.format.bits) - (1 << (self.format.bits - 1))
        return self._constant(self.int, ir.IntegerAttr.get(self.int_scalar, signed))

    def _constant(self, t: Any, attribute: Any) -> Any:
        return arith.constant(t, attribute if self.lanes == 1 else ir.DenseElementsAttr.get_splat(t, attribute))

    # --- bits ---
    def bits(self, x: Any) -> Any:
        return arith.bitcast(self.int, x)

    def value(self, bits: Any) -> Any:
        return arith.bitcast(self.type, bits)

    def power_of_two(self, n: Any) -> Any:
        """2^n for n in the normal range."""
        biased = arith.addi(n, self.integer(self.format.bias))
        return self.value(arith.shli(biased, self.integer(self.format.mantissa)))

    def scaled(self, x: Any, n: Any) -> Any:
        """x 2^n, rounded once: 2^n is applied in two halves, so that no factor leaves the range of the format."""
        half = arith.shrsi(n, self.integer(1))
        return arith.mulf(arith.mulf(x, self.power_of_two(half)), self.power_of_two(arith.subi(n, half)))

    def with_sign(self, magnitude: Any, x: Any) -> Any:
        """A magnitude without sign bit, with the sign bit of ``x``."""
        sign = arith.andi(self.bits(x), self.integer(1 << (self.format.bits - 1)))
        return self.value(arith.ori(self.bits(magnitude), sign))

    # --- tests ---
    def test(self, x: Any, predicate: str, bound: Any) -> Any:
        """A comparison by its name in arith (``olt``: less, false with NaN), with a number or a value."""
        other = self.number(bound) if isinstance(bound, float) else bound
        return arith.cmpf(getattr(arith.CmpFPredicate, predicate.upper()), x, other)

    def pick(self, condition: Any, a: Any, b: Any) -> Any:
        """``a`` where the condition holds, else ``b``; Python floats are numbers of the format."""
        a, b = (self.number(v) if isinstance(v, float) else v for v in (a, b))
        return arith.select(condition, a, b)

    # --- arithmetic ---
    def horner(self, x: Any, coefficients: list[float]) -> Any:
        """c0 + x (c1 + x (c2 + ...)), each step one fused multiply-add."""
        value = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = fma(value, x, self.number(c))
        return value

    def nearest(self, x: Any, factor: Any) -> Pair:
        """The integer nearest to ``x * factor`` as a float and as an integer, for magnitudes below 2^(mantissa - 1).

        The factor is a Python float or a value.
        """
        magic = self.number(1.5 * 2.0**self.format.mantissa)  # adding it leaves the rounded integer in the low bits
        by = self.number(factor) if isinstance(factor, float) else factor
        shifted = arith.addf(x, magic) if factor == 1.0 else fma(x, by, magic)
        return arith.subf(shifted, magic), arith.subi(self.bits(shifted), self.bits(magic))

    def sum_of(self, a: Any, b: Any) -> Pair:
        """a + b as a double word, whichever is greater (D. Knuth)."""
        total = arith.addf(a, b)
        part = arith.subf(total, a)
        return total, arith.addf(arith.subf(a, arith.subf(total, part)), arith.subf(b, part))

    def ordered_sum(self, a: Any, b: Any) -> Pair:
        """a + b as a double word, for |a| >= |b| or a = 0."""
        total = arith.addf(a, b)
        return total, arith.subf(b, arith.subf(total, a))

    def product_of(self, a: Any, b: Any) -> Pair:
        """a b as a double word."""
        product = arith.mulf(a, b)
        return product, fma(a, b, arith.negf(product))

    def product(self, a: Pair, b: Pair) -> Pair:
        """The product of two double words, the second word of which has an error of a few of its ulps."""
        high, low = self.product_of(a[0], b[0])
        return high, arith.addf(low, fma(a[0], b[1], arith.mulf(a[1], b[0])))

    def constant_pair(self, value: tuple[float, float]) -> Pair:
        return self.number(value[0]), self.number(value[1])


def intrinsic(t: Any, name: str, *operands: Any) -> Any:
    """A call of an LLVM intrinsic with a result of type ``t``."""
    how = _called(ir.Context.current, name, len(operands))
    return ir.Operation.create("llvm.call_intrinsic", [t], operands, how).result


@lru_cache(256)
def _called(_: Any, name: str, count: int) -> dict[str, Any]:
    """The attributes of a call of an intrinsic with so many operands, in a context."""
    segments, none = (ir.DenseI32ArrayAttr.get(n) for n in ([count, 0], []))
    return {"intrin": ir.StringAttr.get(name), "operandSegmentSizes": segments, "op_bundle_sizes": none}


def fma(a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once: the instruction itself, since an op in between would take as long again."""
    return intrinsic(a.type, "llvm.fma", a, b, c)


def module_around(op: Any) -> Any:
    """The module around ``op`` that is compiled as a whole."""
    outer = op.operation
    while outer.name not in ("gpu.module", "builtin.module"):
        outer = outer.parent.operation
    return outer


def symbol_table(op: Any) -> Any:
    """The block of the module around ``op``."""
    return module_around(op).regions[0].blocks[0]


def symbols(body: Any) -> set[str]:
    """The names of the symbols defined in a block."""
    operations = [o.operation for o in body.operations]
    return {ir.StringAttr(o.attributes["sym_name"]).value for o in operations if "sym_name" in o.attributes}


def call_of(name: str, expand: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Calls of the function ``name`` for each element of the operands, which are fragments of one type.

    Its body is what ``expand`` gives for scalars. It is written once a module, however often it is used: code that is
    long would otherwise be copied for every element that a thread has in flight.
    """
    body = symbol_table(ir.InsertionPoint.current.block.owner)
    parts = [elements(x) for x in operands]
    t = parts[0][0].type
    symbol = f"__fold_{name}_{t}"
    if symbol not in symbols(body):
        _define(body, symbol, expand, [t] * len(operands))
    return fragment([_call(symbol, list(values)) for values in zip(*parts, strict=True)])


def _define(body: Any, symbol: str, expand: Callable[..., Any], types: list[Any]) -> None:
    signature = ir.Type.parse(f"!llvm.func<{types[0]} ({', '.join(str(t) for t in types)})>")
    with ir.InsertionPoint.at_block_begin(body):
        function = llvm.LLVMFuncOp(
            symbol, ir.TypeAttr.get(signature), linkage=ir.Attribute.parse("#llvm.linkage<internal>")
        )
    block = function.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        llvm.ReturnOp(arg=expand(*block.arguments))


def _call(symbol: str, operands: list[Any]) -> Any:
    return llvm.CallOp(operands[0].type, operands, [], [], callee=ir.FlatSymbolRefAttr.get(symbol)).result
