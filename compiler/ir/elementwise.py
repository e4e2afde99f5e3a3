"""Emission of elementwise operations: a graph node becomes ops of arith and math, with NumPy's meaning and no poison.

Where NumPy warns and the machine would trap, wrap at another width or be undefined, a value is defined here: a quotient
or remainder of integers by zero is 0, the least integer divided by -1 wraps, shifts by the width or more (or a negative
number) give 0 or the sign, floats beyond an integer type saturate, and NaN becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..dtypes import BOOL, F32, DType, compute
from ..program.function_table import TABLE
from ..program.graph import Expr
from ..program.numeric import ROUNDS
from ..program.words import word_bits
from .mlir import arith, ir, math


def mlir_type(t: DType) -> Any:
    """The scalar MLIR type of ``t``; integers are signless."""
    if t.is_float:
        return {"f16": ir.F16Type, "bf16": ir.BF16Type, "f32": ir.F32Type, "f64": ir.F64Type}[t.name].get()
    return ir.IntegerType.get_signless(t.bits)


def attribute(value: object, t: DType) -> Any:
    """``value`` as a typed attribute."""
    if t.is_float:
        return ir.FloatAttr.get(mlir_type(t), float(value))  # type: ignore[arg-type]
    bits = int(value) & ((1 << t.bits) - 1)  # type: ignore[call-overload]
    signed = bits - (1 << t.bits) if t.bits > 1 and bits >> (t.bits - 1) else bits
    return ir.IntegerAttr.get(mlir_type(t), -signed if t.bits == 1 else signed)


_FLOAT = {"add": arith.addf, "sub": arith.subf, "mul": arith.mulf, "div": arith.divf, "fma": math.fma,
          "min": arith.minimumf, "max": arith.maximumf, "neg": arith.negf, "abs": math.absf, "floor": math.floor,
          "ceil": math.ceil, "round": math.roundeven}  # fmt: skip
_FUNCTION = {row.name: getattr(math, row.ir or row.name) for row in TABLE}
"""Functions of f32 and f64; half types go through f32."""
_FLAGS = {"fast": arith.FastMathFlags.afn, "counts": arith.FastMathFlags.arcp}
"""What ``expand-math`` reads: a function of f32 to be approximated, a quotient of counts."""
_INT = {"add": arith.addi, "sub": arith.subi, "mul": arith.muli, "and": arith.andi, "or": arith.ori,
        "xor": arith.xori}  # fmt: skip
_SIGNED = {"min": arith.minsi, "max": arith.maxsi}
_UNSIGNED = {"min": arith.minui, "max": arith.maxui}
_COMPARE = {"eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"), "lt": ("olt", "slt", "ult"),
            "le": ("ole", "sle", "ule"), "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge")}  # fmt: skip
_THROUGH_F32 = (*_FUNCTION, "floordiv", "mod")


@dataclass(frozen=True)
class Shape:
    """The shape in which a node is emitted: scalars, or tensors of one space.

    Attributes:
        like: gives a scalar type that shape.
        splat: makes a constant of that shape from a Python number and a dtype.
    """

    like: Callable[[Any], Any]
    splat: Callable[[Any, DType], Any]


def elementwise(e: Expr, args: Sequence[Any], shape: Shape) -> Any:
    """Emits the elementwise node ``e`` on ``args``, its operands, all of the result's shape."""
    op, t = e.op, e.args[-1].dtype
    if op == "where":
        return arith.select(args[0], args[1], args[2])
    if op == "bin":
        uniform, steps = cast("tuple[bool, int]", e.value)
        long = ir.IntegerType.get_signless(64)
        how = {"uniform": ir.BoolAttr.get(uniform), "steps": ir.IntegerAttr.get(long, steps)}
        return ir.Operation.create("fold.bin", [shape.like(mlir_type(e.dtype))], args, how).result
    if op == "scatter":
        how = {"counters": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), e.value)}
        return ir.Operation.create("fold.scatter", [shape.like(mlir_type(e.dtype))], args, how).result
    if op == "word":
        bits = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), word_bits(e))
        flags = {"falls": ir.BoolAttr.get(bool(e.value)), "unsigned": ir.BoolAttr.get(e.args[0].dtype.kind == "uint")}
        return ir.Operation.create("fold.word", [shape.like(mlir_type(e.dtype))], args, {"bits": bits, **flags}).result
    if op == "philox":
        rounds = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ROUNDS)
        words = shape.like(mlir_type(e.dtype))
        return ir.Operation.create("fold.philox", [words], args, {"rounds": rounds}).results[0]
    if op == "cast":
        return _convert(args[0], t, e.dtype, shape)
    if op == "bitcast":
        both_integers = t.is_integer and e.dtype.is_integer  # the same type in MLIR, where integers have no sign
        return args[0] if both_integers else arith.bitcast(shape.like(mlir_type(e.dtype)), args[0])
    if compute(t) != t and (t.is_integer or op in _THROUGH_F32):
        # GPUs compute in 32 bits, and LLVM without its optimiser forgets the sign of narrow operands of a comparison
        wide = _operation(e, compute(t), [_convert(a, t, compute(t), shape) for a in args], shape)
        return wide if e.dtype == BOOL else _convert(wide, compute(t), t, shape)
    return _operation(e, t, args, shape)


def _operation(e: Expr, t: DType, args: Sequence[Any], shape: Shape) -> Any:
    """An operation or comparison on operands that all have the type ``t`` of a whole register."""
    op, splat = e.op, shape.splat
    if op in _COMPARE:
        return _compare(op, t, args[0], args[1])
    if op in _DEFINED:
        return _DEFINED[op](t, *args, splat)
    if t.is_float:
        flags = {"fastmath": _FLAGS[e.value]} if e.value == "counts" or (e.value == "fast" and t == F32) else {}
        return (_FUNCTION.get(op) or _FLOAT[op])(*args, **flags)
    if op == "popcount":
        return math.ctpop(args[0])
    if op == "neg":
        return arith.subi(splat(0, t), args[0])
    if op == "abs":
        return arith.maxsi(args[0], arith.subi(splat(0, t), args[0]))
    return (_INT.get(op) or (_SIGNED if t.kind == "int" else _UNSIGNED)[op])(*args)


def _compare(op: str, t: DType, a: Any, b: Any) -> Any:
    """The comparison ``op`` of two values of type ``t``; with NaN all are false but ``ne``."""
    ordered, signed, unsigned = _COMPARE[op]
    if t.is_float:
        names = ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une"]
        return arith.cmpf(names.index(ordered), a, b)
    predicates = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
    return arith.cmpi(predicates.index(signed if t.kind == "int" else unsigned), a, b)


# --- conversions ---
def _convert(x: Any, source: DType, target: DType, shape: Shape) -> Any:
    """``x`` of type ``source`` as ``target``."""
    t = shape.like(mlir_type(target))
    if source.bits == target.bits == 1:  # a bool and a bit are the same outside of memory
        return x
    if source.is_float and target.is_float:
        if source.bits == target.bits:  # f16 and bf16 meet in f32, which holds both
            wide = arith.extf(shape.like(ir.F32Type.get()), x)
            return arith.truncf(t, wide)
        return (arith.extf if target.bits > source.bits else arith.truncf)(t, x)
    if source.is_float:
        return _to_integer(x, source, target, shape)
    return convert_integer(x, source, target, shape.like)


def convert_integer(x: Any, source: DType, target: DType, like: Callable[[Any], Any]) -> Any:
    """``x`` of an integer type, or bool, as ``target``; ``like`` gives a scalar type the shape of ``x``."""
    t = like(mlir_type(target))
    if target.is_float:
        return (arith.sitofp if source.kind == "int" else arith.uitofp)(t, x)
    if target.bits == source.bits:
        return x
    if target.bits < source.bits:
        return arith.trunci(t, x)
    return (arith.extsi if source.kind == "int" else arith.extui)(t, x)


def _to_integer(x: Any, source: DType, target: DType, shape: Shape) -> Any:
    """The float ``x`` rounded to zero; the nearest bound beyond the range, 0 for NaN."""
    held = compute(source)
    if held != source:
        x = _convert(x, source, held, shape)
    register = compute(target)
    low, high = float(target.lowest), float(target.highest + 1)  # powers of two, which every float type has
    above = _compare("ge", held, x, shape.splat(high, held))
    below = _compare("lt", held, x, shape.splat(low, held))
    number = _compare("eq", held, x, x)
    outside = arith.ori(above, below)
    inside = arith.select(arith.andi(number, _not(outside, shape.splat)), x, shape.splat(0.0, held))
    whole = (arith.fptosi if target.kind == "int" else arith.fptoui)(shape.like(mlir_type(register)), inside)
    bound = arith.select(above, shape.splat(target.highest, register), shape.splat(target.lowest, register))
    return convert_integer(arith.select(outside, bound, whole), register, target, shape.like)


def _not(condition: Any, splat: Callable[[Any, DType], Any]) -> Any:
    return arith.xori(condition, splat(True, BOOL))


# --- operations that the machine leaves open ---
def _left(t: DType, a: Any, places: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """``a << places``."""
    shifted = arith.shli(a, arith.andi(places, splat(t.bits - 1, t)))
    return arith.select(_within(t, places, splat), shifted, splat(0, t))


def _right(t: DType, a: Any, places: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """``a >> places``."""
    if t.kind == "int":
        return arith.shrsi(a, arith.minui(places, splat(t.bits - 1, t)))
    shifted = arith.shrui(a, arith.andi(places, splat(t.bits - 1, t)))
    return arith.select(_within(t, places, splat), shifted, splat(0, t))


def _within(t: DType, places: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """Whether a shift moves by less than the width; a negative number is a great one."""
    return arith.cmpi(arith.CmpIPredicate.ult, places, splat(t.bits, t))


def _quotient(t: DType, a: Any, b: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """``a // b``."""
    if t.is_float:
        return _float_quotient(t, a, b, splat)
    zero = _compare("eq", t, b, splat(0, t))
    if t.kind == "uint":
        return arith.select(zero, splat(0, t), arith.divui(a, arith.select(zero, splat(1, t), b)))
    minus = _compare("eq", t, b, splat(-1, t))
    floor = arith.floordivsi(a, arith.select(arith.ori(zero, minus), splat(1, t), b))
    floor = arith.select(minus, arith.subi(splat(0, t), a), floor)
    return arith.select(zero, splat(0, t), floor)


def _modulo(t: DType, a: Any, b: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """``a % b``, with the sign of ``b``."""
    if t.is_float:
        rest = arith.remf(a, b)
        return arith.select(
            _compare("eq", t, rest, splat(0.0, t)), _zero_like(t, b, splat), _shifted(t, rest, b, splat)
        )
    rest = arith.subi(a, arith.muli(_quotient(t, a, b, splat), b))
    return arith.select(_compare("eq", t, b, splat(0, t)), splat(0, t), rest)


def _shifted(t: DType, rest: Any, b: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """The remainder with the quotient rounded down, from one that was rounded to zero and is not zero."""
    zero = splat(0.0, t)
    apart = arith.xori(_compare("lt", t, rest, zero), _compare("lt", t, b, zero))
    return arith.select(apart, arith.addf(rest, b), rest)


def _zero_like(t: DType, b: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """A zero with the sign of ``b``, a number that is not zero."""
    return arith.select(_compare("lt", t, b, splat(0.0, t)), splat(-0.0, t), splat(0.0, t))


def _float_quotient(t: DType, a: Any, b: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """floor(a / b) from the exact remainder, as NumPy has it: a / b alone could be rounded up to a whole number."""
    zero, one = splat(0.0, t), splat(1.0, t)
    rest, direct = arith.remf(a, b), arith.divf(a, b)
    quotient = arith.divf(arith.subf(a, rest), b)
    differ = arith.xori(_compare("lt", t, rest, zero), _compare("lt", t, b, zero))
    down = arith.andi(_compare("ne", t, rest, zero), differ)
    quotient = arith.select(down, arith.subf(quotient, one), quotient)
    floor = math.floor(quotient)
    floor = arith.select(_compare("gt", t, arith.subf(quotient, floor), splat(0.5, t)), arith.addf(floor, one), floor)
    signed_zero = arith.mulf(zero, direct)  # with the sign of a / b, which is finite then
    floor = arith.select(_compare("eq", t, quotient, zero), signed_zero, floor)
    return arith.select(_compare("eq", t, b, zero), direct, floor)


def _integer_power(t: DType, a: Any, n: Any, splat: Callable[[Any, DType], Any]) -> Any:
    """``a ** n`` of integers, modulo the width."""
    if t.kind == "int":
        return math.ipowi(a, n)
    half = math.ipowi(a, arith.shrui(n, splat(1, t)))  # whose operands are signed
    odd = arith.select(_compare("eq", t, arith.andi(n, splat(1, t)), splat(0, t)), splat(1, t), a)
    return arith.muli(arith.muli(half, half), odd)


_DEFINED: dict[str, Callable[..., Any]] = {
    "shl": _left, "shr": _right, "floordiv": _quotient, "mod": _modulo, "ipow": _integer_power,
}  # fmt: skip
