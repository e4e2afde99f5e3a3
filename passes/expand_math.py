"""Replaces the math functions that no instruction computes accurately by arithmetic that does.

Functions on f32 and f64 become range reduction and a polynomial in fused multiply-adds: within 2 ulp, and with the same
bits on every machine. No op is left that would become a call of a library that is not linked. The folder ``math`` holds
the methods, with their sources. Short code takes the place of the op; long code becomes a function of the module, which
is called for each element.

An op on f32 with ``fastmath<afn>`` becomes the instruction that approximates it; on f64 there is none. A quotient with
``fastmath<arcp>`` is one of counts, 1 to 2^64: it is rounded as a division, without the branches of one.

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
  %above = llvm.call_intrinsic "llvm.maximum"(%x, %lowest) : (f32, f32) -> f32
  %highest = arith.constant 1.0e+02 : f32
  %within = llvm.call_intrinsic "llvm.minimum"(%above, %highest) : (f32, f32) -> f32
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
  %c6 = arith.constant 0.0013814540026 : f32
  %c5 = arith.constant 0.0083687451126 : f32
  %p5 = llvm.call_intrinsic "llvm.fma"(%c6, %r, %c5) : (f32, f32, f32) -> f32
  %c4 = arith.constant 0.041668390787 : f32
  %p4 = llvm.call_intrinsic "llvm.fma"(%p5, %r, %c4) : (f32, f32, f32) -> f32
  %c3 = arith.constant 0.16666520399 : f32
  %p3 = llvm.call_intrinsic "llvm.fma"(%p4, %r, %c3) : (f32, f32, f32) -> f32
  %c2 = arith.constant 0.49999993436 : f32
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

from collections.abc import Callable
from importlib import import_module
from itertools import chain
from math import isnan
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.errors import error
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import before, find_any, find_each, replace
from ..compiler.ir.combine import elements, fragment
from ..compiler.ir.dialect.base import element
from ..compiler.ir.mlir import arith, ir, llvm
from ..compiler.ir.uniform_fragments import known
from ..compiler.program.function_table import TABLE, Function
from .math.arithmetic import Builder, call_of, intrinsic, module_around
from .math.byte_floats import encode
from .math.logarithm import integer_power
from .math.unbranched import divide_by_counts, is_unbranched, reciprocal_root, remainder

Expand = Callable[..., Any]


def _expansion(row: Function) -> Expand:
    """The function of ``math/`` that expands a function of the table."""
    file, name = row.expansion.split(".")
    return getattr(import_module(f".math.{file}", __package__), name)  # type: ignore[no-any-return]


_EXPANDED = [row for row in TABLE if not row.expansion.startswith("llvm.")]
_SHORT: dict[str, Expand] = {row.op: _expansion(row) for row in _EXPANDED if row.inline}
_LONG: dict[str, Expand] = {
    **{row.op: _expansion(row) for row in _EXPANDED if not row.inline},
    "math.ipowi": integer_power, "arith.remf": remainder,
}  # fmt: skip
"""Functions that are too long to inline: they are called for each scalar."""
_INTRINSICS = {
    **{row.op: row.expansion for row in TABLE if row not in _EXPANDED},
    "math.absf": "llvm.fabs", "math.fma": "llvm.fma", "math.floor": "llvm.floor", "math.ceil": "llvm.ceil",
    "math.trunc": "llvm.trunc", "math.roundeven": "llvm.rint", "math.ctpop": "llvm.ctpop",
    "arith.minimumf": "llvm.minimum", "arith.maximumf": "llvm.maximum",
}  # fmt: skip
"""Functions that one instruction computes exactly. They are lowered here, since upstream's conversion for NVIDIA GPUs
would turn them into calls of a library that nothing links, and upstream's expansion of minimumf takes -0 and +0 as
equal."""
_FAST = {row.op: row.fast for row in TABLE if row.fast}
"""Instructions that approximate a function of f32. LLVM has no name for the one of tanh: it uses it when afn is set.
Those of exponentials flush results below 2^-126 to zero: without that they take four instructions in place of one."""
ENCODE = "fold.encode"
_LOG2E, _LN2 = 1.4426950408889634, 0.6931471805599453


def _is_fast(op: Any) -> bool:
    """Whether ``op`` may be, and can be, approximated."""
    if op.name not in _FAST or "fastmath" not in op.attributes:
        return False
    wanted = "afn" in str(op.attributes["fastmath"]) and element(op.operands[0].type).width == 32
    return wanted and (op.name != "math.tanh" or _has_tanh(op))


def _has_tanh(op: Any) -> bool:
    """Whether the target has the instruction that approximates tanh, which came with PTX 7.0."""
    return target_of(module_around(op)).ptx >= 70


def _approximated(op: Any) -> Any:
    """The approximation of ``op``, element by element; exp and log use the instructions for base two."""
    flags = ir.Attribute.parse("#llvm.fastmath<afn>")

    def one(x: Any) -> Any:
        b = Builder(x.type)
        x = arith.mulf(x, b.number(_LOG2E)) if op.name == "math.exp" else x
        y = llvm.call_intrinsic(x.type, _FAST[op.name], [x], [], [], fastmath_flags=flags)
        return arith.mulf(y, b.number(_LN2)) if op.name == "math.log" else y

    return fragment([one(x) for x in elements(op.operands[0])])


def _expanded(op: Any) -> Any:
    """The value that replaces ``op``."""
    operands, scalar = list(op.operands), element(op.operands[0].type)
    if scalar.width not in (32, 64):
        raise error("WF321", stage="expand-math", op=op.name, dtype=str(scalar))
    if _is_fast(op):
        return _approximated(op)
    if op.name == "math.rsqrt" and scalar.width == 32 and is_unbranched(op):
        return reciprocal_root(*operands)
    if op.name in _SHORT:
        return _SHORT[op.name](*operands)
    return call_of(op.name.partition(".")[2], _LONG[op.name], operands)


def _intrinsic(op: Any) -> Any:
    """The instruction for ``op``, or two instructions where it takes so many."""
    t, operands = op.results[0].type, list(op.operands)
    bound = known(operands[1]) if op.name in _PREDICATE and element(t).width == 64 else None
    if bound and not isnan(bound):
        above = arith.cmpf(_PREDICATE[op.name], *operands)  # with a NaN, too
        return arith.select(above, *operands)
    return intrinsic(t, _INTRINSICS[op.name], *operands)


_PREDICATE = {"arith.maximumf": arith.CmpFPredicate.UGT, "arith.minimumf": arith.CmpFPredicate.ULT}
"""Comparisons for which the first operand is the result, if the second is a constant other than zero and NaN. One
comparison then suffices, where LLVM also checks for NaN and, in f64, for the signs of zeros."""


def _run(module: Any) -> None:
    found = find_each(module, ["arith.divf", ENCODE, *_SHORT, *_LONG])
    divide_by_counts(found.pop("arith.divf"))
    for op in found.pop(ENCODE):
        with before(op):
            replace(op, [encode(op)])
    for op in chain.from_iterable(found.values()):
        with before(op):
            replace(op, [_expanded(op)])
    for op in find_any(module, _INTRINSICS):
        if not is_contracted(op):
            with before(op):
                replace(op, [_approximated(op) if _is_fast(op) else _intrinsic(op)])


def is_contracted(op: Any) -> bool:
    """Whether ``op`` is a product and a sum that may take the factors of a product before it: ``fuse-math`` does so."""
    return op.name == "math.fma" and "contract" in str(op.attributes["fastmath"])


PASS = Pass(
    "expand-math",
    _run,
    (ENCODE, *_SHORT, *_LONG, *(_INTRINSICS.keys() - {"math.fma"})),
    "expand math functions into arithmetic",
)
