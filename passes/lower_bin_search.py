"""Lowers ``fold.bin_of``: which bin an element lies in.

Bins that are about as wide: a product says how many bins lie before the element. It is off by a few roundings of its
own; so where it is that close to an edge, beyond the bins or not a number, the edges decide, of which few elements load
two. Other bins are searched: each step halves those that are left.

```mlir before
func.func @search(%x: f32, %lower: !llvm.ptr<1>, %upper: !llvm.ptr<1>, %f: f32, %l: f32, %s: f32, %n: i32) -> i32 {
  %index = "fold.bin_of"(%x, %lower, %upper, %f, %l, %s, %n) {uniform = false, steps = 1}
    : (f32, !llvm.ptr<1>, !llvm.ptr<1>, f32, f32, f32, i32) -> i32
  return %index : i32
}
```

```mlir after
func.func @search(%x: f32, %lower: !llvm.ptr<1>, %upper: !llvm.ptr<1>, %f: f32, %l: f32, %s: f32, %n: i32) -> i32 {
  %one = arith.constant 1 : i32
  %most = arith.subi %n, %one : i32
  %zero = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  %next = arith.addi %zero, %step : i32
  %there = arith.minsi %next, %most : i32
  %back = arith.constant -1 : i32
  %before = arith.addi %there, %back : i32
  %least = arith.constant 0 : i32
  %last = arith.maxsi %before, %least : i32
  %cell = llvm.getelementptr %upper[%last] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %edge = llvm.load %cell invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  %above = arith.cmpf oge, %x, %edge : f32
  %found = arith.select %above, %there, %zero : i32
  %begun = arith.cmpf oge, %x, %f : f32
  %ended = arith.cmpf ole, %x, %l : f32
  %inside = arith.andi %begun, %ended : i1
  %none = arith.constant -1 : i32
  %index = arith.select %inside, %found, %none : i32
  return %index : i32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import as_word, i32, load, word_type
from ..compiler.ir.combine import elements, fragment
from ..compiler.ir.dialect.base import bool_attr, int_attr
from ..compiler.ir.mlir import arith, ir, llvm, scf

ROUNDINGS = 16
"""A product is off by fewer roundings than these."""
DIGITS = {"f32": 24, "f64": 53}
TOWARDS_ZERO = {"f32": "llvm.nvvm.f2i.rz", "f64": "llvm.nvvm.d2i.rz"}
"""The conversions to an i32 that round towards zero, by element type."""


def _lowered(op: Any) -> list[Any]:
    x, *known = op.operands
    find_bin = _guessed if bool_attr(op, "uniform") else _searched
    return [fragment([find_bin(op, v, *known) for v in elements(x)])]


def _guessed(_: Any, x: Any, lower: Any, upper: Any, first: Any, last: Any, scale: Any, limit: Any) -> Any:
    """The bin of an element among bins that are about as wide.

    The conversion to an i32 saturates, and makes 0 of NaN. Such an element is not within one bin of the number that it
    gets, so the edges decide.
    """
    t, most = x.type, arith.subi(as_word(limit), i32(1))
    place = arith.mulf(arith.subf(x, first), scale)
    number = llvm.call_intrinsic(word_type(), TOWARDS_ZERO[str(t)], [place], [], [])
    off = arith.subf(place, arith.sitofp(t, number))
    margin = arith.mulf(arith.sitofp(t, as_word(limit)), _real(t, ROUNDINGS * 2.0 ** -DIGITS[str(t)]))
    sure = arith.andi(_compare("ogt", off, margin), _compare("olt", off, arith.subf(_real(t, 1.0), margin)))
    sure = arith.andi(sure, arith.cmpi(arith.CmpIPredicate.ult, number, as_word(limit)))
    branch = scf.IfOp(sure, [word_type()], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([number])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([_beside_an_edge(x, lower, upper, first, last, number, most)])
    return branch.results[0]


def _beside_an_edge(x: Any, lower: Any, upper: Any, first: Any, last: Any, number: Any, most: Any) -> Any:
    """The bin of an element that may lie in those beside ``number``, or in none."""
    t, number = x.type, arith.minsi(arith.maxsi(number, i32(0)), most)
    branch = scf.IfOp(_is_inside(x, first, last), [word_type()], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        below = _compare("olt", x, load(lower, number, t, invariant=True))
        above = _compare("oge", x, load(upper, number, t, invariant=True))
        moved = arith.select(below, i32(-1), arith.select(above, i32(1), i32(0)))
        scf.YieldOp([arith.minsi(arith.maxsi(arith.addi(number, moved), i32(0)), most)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([i32(-1)])
    return branch.results[0]


def _searched(op: Any, x: Any, _: Any, upper: Any, first: Any, last: Any, __: Any, limit: Any) -> Any:
    """The bin of an element: how many upper edges but the last are not above it."""
    t, most, found = x.type, arith.subi(as_word(limit), i32(1)), i32(0)
    for step in reversed(range(int_attr(op, "steps"))):
        there = arith.minsi(arith.addi(found, i32(1 << step)), most)
        edge = load(upper, arith.maxsi(arith.addi(there, i32(-1)), i32(0)), t, invariant=True)
        found = arith.select(_compare("oge", x, edge), there, found)
    return arith.select(_is_inside(x, first, last), found, i32(-1))


def _is_inside(x: Any, first: Any, last: Any) -> Any:
    """Whether an element lies between the outermost edges."""
    return arith.andi(_compare("oge", x, first), _compare("ole", x, last))


def _compare(how: str, a: Any, b: Any) -> Any:
    return arith.cmpf(getattr(arith.CmpFPredicate, how.upper()), a, b)


def _real(t: Any, value: float) -> Any:
    return arith.constant(t, ir.FloatAttr.get(t, value))


PASS = lowering("lower-bin-search", {"fold.bin_of": _lowered}, "find the bins of elements")
