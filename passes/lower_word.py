"""Lowers words, an element's rank above its number, to the arithmetic of ``compiler/program/words.py``.

The first of the greatest integers has the least word. What does not depend on the number is written where the element
is known, unless a word before has the same number: so an element's register is free before the number takes one. Shifts
by constants, which ``elementwise`` defines for any amount, are folded at the end:

```mlir before
func.func @word(%x: i32, %number: i32) -> i64 {
  %word = "fold.word"(%x, %number) {bits = 32, falls = true, unsigned = false} : (i32, i32) -> i64
  return %word : i64
}
```

```mlir after
func.func @word(%x: i32, %number: i32) -> i64 {
  %ones = arith.constant -1 : i32
  %rank = arith.xori %x, %ones : i32
  %wide = arith.extsi %rank : i32 to i64
  %c32 = arith.constant 32 : i64
  %c63 = arith.constant 63 : i64
  %by = arith.andi %c32, %c63 : i64
  %shifted = arith.shli %wide, %by : i64
  %c64 = arith.constant 64 : i64
  %defined = arith.cmpi ult, %c32, %c64 : i64
  %zero = arith.constant 0 : i64
  %high = arith.select %defined, %shifted, %zero : i64
  %low = arith.extui %number : i32 to i64
  %word = arith.ori %high, %low : i64
  return %word : i64
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.dtypes import F32, I32, U8, U32
from ..compiler.ir.build import before, find, replace
from ..compiler.ir.combine import constant, width, with_shape
from ..compiler.ir.dialect.base import bool_attr, element, int_attr
from ..compiler.ir.elementwise import Shape, attribute, elementwise
from ..compiler.ir.mlir import ir
from ..compiler.program.graph import SCALAR, Expr, walk
from ..compiler.program.symbols import Sym
from ..compiler.program.words import formula

_SIGNED, _UNSIGNED = {"i8": U8, "i32": I32, "f32": F32}, {"i8": U8, "i32": U32}
"""The types of elements by those of operands, which have no sign."""


def _lower(op: Any, numbers: set[Any]) -> None:
    """Writes the arithmetic of a word: what does not depend on the number comes before ``numbers`` of its own."""
    x, number = op.operands
    t = (_UNSIGNED if bool_attr(op, "unsigned") else _SIGNED)[str(element(x.type))]
    params = [Expr("param", (), t, SCALAR, i) for i, t in enumerate((t, I32))]
    word = formula(Sym(params[0]), Sym(params[1]), bool_attr(op, "falls"), int_attr(op, "bits")).expr
    found = dict(zip((e.digest for e in params), (x, number), strict=True))
    early = [e for e in walk((word,)) if e.op != "param" and params[1] not in walk((e,))]
    late = isinstance(x, ir.BlockArgument) or bool(x.owner.regions) or number in numbers
    with before(op) if late else ir.InsertionPoint.after(x.owner), op.location:
        _write(early, found, width(op.results[0].type))
    with before(op):
        _write([e for e in walk((word,)) if e.digest not in found], found, width(op.results[0].type))
    numbers.add(number)
    replace(op, [found[word.digest]])


def _write(nodes: Sequence[Expr], found: dict[str, Any], lanes: int) -> None:
    """Writes arithmetic on fragments of ``lanes`` elements; ``found`` has the values of its nodes."""
    shape = Shape(lambda t: with_shape(t, lanes), lambda value, t: constant(attribute(value, t), lanes))
    for e in nodes:
        made = shape.splat(e.value, e.dtype) if e.op == "const" else None
        found[e.digest] = made or elementwise(e, [found[a.digest] for a in e.args], shape)


def _run(module: Any) -> None:
    numbers = set[Any]()  # of the words before
    for op in find(module, "fold.word"):
        _lower(op, numbers)


PASS = Pass("lower-word", _run, ("fold.word",), "make words of ranks and numbers")
