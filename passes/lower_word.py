"""Lowers words, an element's rank above its number, to the arithmetic of ``compiler/program/words.py``.

The first of the greatest integers has the least word. What does not depend on the number is written before the number
is, unless a word before has the same one: so the register of an element is free before its number takes one. Shifts by
constants, which ``elementwise`` defines for any amount, are folded at the end:

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

from collections.abc import Mapping, Sequence
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.dtypes import F32, I32, U8, U32
from ..compiler.ir.build import before, find, replace
from ..compiler.ir.combine import constant, width, with_shape
from ..compiler.ir.dialect.base import bool_attr, element, int_attr
from ..compiler.ir.elementwise import Shape, attribute, elementwise
from ..compiler.program.graph import SCALAR, Expr, walk
from ..compiler.program.symbols import Sym
from ..compiler.program.words import formula

_SIGNED, _UNSIGNED = {"i8": U8, "i32": I32, "f32": F32}, {"i8": U8, "i32": U32}
"""The types of elements by those of operands, which have no sign."""


def written(op: Any, first: Any = None) -> Any:
    """The word ``op`` as arithmetic; what does not depend on the number goes before the op ``first``."""
    x, number = op.operands
    t = (_UNSIGNED if bool_attr(op, "unsigned") else _SIGNED)[str(element(x.type))]
    params = [Expr("param", (), t, SCALAR, i) for i, t in enumerate((t, I32))]
    word = formula(Sym(params[0]), Sym(params[1]), bool_attr(op, "falls"), int_attr(op, "bits")).expr
    found = dict(zip((e.digest for e in params), (x, number), strict=True))
    nodes, lanes = list(walk((word,))), width(op.results[0].type)
    with before(first or op):
        _write([e for e in nodes if e.op != "param" and params[1] not in walk((e,))], found, lanes)
    with before(op):
        _write([e for e in nodes if e.digest not in found], found, lanes)
    replace(op, [found[word.digest]])
    return found[word.digest]


def _write(nodes: Sequence[Expr], found: dict[str, Any], lanes: int) -> None:
    """Writes arithmetic on fragments of ``lanes`` elements; ``found`` has the values of its nodes."""
    shape = Shape(lambda t: with_shape(t, lanes), lambda value, t: constant(attribute(value, t), lanes))
    for e in nodes:
        made = shape.splat(e.value, e.dtype) if e.op == "const" else None
        found[e.digest] = made or elementwise(e, [found[a.digest] for a in e.args], shape)


def _run(module: Any) -> None:
    numbers, blocks = set[Any](), dict[Any, dict[Any, int]]()
    for op in find(module, "fold.word"):
        x, number = op.operands
        if op.block not in blocks:
            blocks[op.block] = {r: i for i, o in enumerate(op.block.operations) for r in o.results}
        written(op, None if number in numbers else _first(number, x, blocks[op.block]))
        numbers.add(number)


def _first(number: Any, x: Any, places: Mapping[Any, int]) -> Any:
    """The first op after ``x`` from whose results the number follows; None without one. ``places`` are of a block."""
    own, waiting = dict[Any, int](), [number]
    while waiting:
        v = waiting.pop()
        if v not in own and places.get(v, -1) > places.get(x, -1):
            own[v] = places[v]
            waiting += v.owner.operands
    return min(own, key=own.__getitem__).owner.operation if own else None


PASS = Pass("lower-word", _run, ("fold.word",), "make words of ranks and numbers")
