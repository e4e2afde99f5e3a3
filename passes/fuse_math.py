"""Joins ops whose operands are known once loops are unrolled: products with sums, and conversions with loads.

A ``math.fma`` with ``fastmath<contract>``, one factor of which is 1, takes the factors of a product that nothing else
uses. f32 values of bf16 elements that were loaded two to a word are taken straight from the word. Bytes are added and
subtracted four at a time, and so are those selected whose mask comparisons of bytes, or bits of a word, make.

```mlir before
func.func @contracted(%a: f32, %b: f32, %c: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %product = arith.mulf %a, %b : f32
  %sum = math.fma %one, %product, %c fastmath<contract> : f32
  return %sum : f32
}
```

```mlir after
func.func @contracted(%a: f32, %b: f32, %c: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %product = arith.mulf %a, %b : f32
  %sum = llvm.call_intrinsic "llvm.fma"(%a, %b, %c) : (f32, f32, f32) -> f32
  return %sum : f32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import before, find_each, replace, word_type
from ..compiler.ir.combine import elements, fragment, interleaved, width, with_shape
from ..compiler.ir.dialect.base import element
from ..compiler.ir.mlir import arith, ir, vector
from ..compiler.ir.uniform_fragments import known
from .expand_math import is_contracted
from .math.arithmetic import Builder, intrinsic, module_around
from .words import packed_bytes


def _run(module: Any) -> None:
    found = find_each(module, ("math.fma", "arith.extf", "arith.trunci", "arith.select"))
    for op in found["math.fma"]:
        with before(op):
            replace(op, [_fma(op)])
    for op in found["arith.extf"]:
        with before(op):
            _widened(op)
    for op in found["arith.trunci"]:
        with before(op):
            packed_bytes.pack_sum(op)
    for op in found["arith.select"]:
        with before(op):
            packed_bytes.pack_select(op)


def _fma(op: Any) -> Any:
    """The instructions for a * b + c."""
    operands = _contracted(*op.operands) if is_contracted(op) else list(op.operands)
    return arith.addf(*operands) if len(operands) == 2 else intrinsic(op.results[0].type, "llvm.fma", *operands)


def _contracted(a: Any, b: Any, c: Any) -> list[Any]:
    """The operands (a, b, c) of a * b + c; if one factor is 1 and the other a product, the factors of that product."""
    if 1.0 not in (known(a), known(b)):
        return [a, b, c]
    product = b if known(a) == 1.0 else a
    alone = not isinstance(product, ir.BlockArgument) and len(list(product.uses)) == 1
    return [*product.owner.operands, c] if alone and product.owner.name == "arith.mulf" else [product, c]


def _widened(op: Any) -> None:
    """The f32 values of bf16 elements that were loaded two to a word, each taken straight from its word.

    A bf16 is the upper half of the f32 with the same value.
    """
    (x,), t = op.operands, op.results[0].type
    is_half = isinstance(element(x.type), ir.BF16Type) and isinstance(element(t), ir.F32Type)
    words = _words(x) if is_half else None
    if words is None:
        return
    b = Builder(with_shape(element(t), width(words.type)))
    halves = arith.shli(words, b.integer(16)), arith.andi(words, b.integer(-1 << 16))
    low, high = map(b.value, halves)
    if target_of(module_around(op)).has_float_pairs:  # LLVM finds pairs in elements, and not behind a shuffle
        replace(op, [fragment([e for pair in zip(elements(low), elements(high), strict=True) for e in pair])])
    else:
        replace(op, [interleaved(low, high)])


def _words(x: Any) -> Any:
    """The 32-bit words from which the 16-bit elements of ``x`` were loaded; none if they were not loaded as words."""
    lanes = width(x.type)
    if lanes % 2 or isinstance(x, ir.BlockArgument):
        return None
    if x.owner.name == "llvm.load":
        words = vector.bitcast(ir.VectorType.get([lanes // 2], word_type()), x)
    elif x.owner.name == "vector.bitcast" and element(x.owner.operands[0].type) == word_type():
        words = x.owner.operands[0]
    else:
        return None
    return words if lanes > 2 else vector.extract(words, [], [0])


PASS = Pass("fuse-math", _run, ("math.fma",), "fuse products with sums, and conversions with loads")
