"""Lowers loads of elements at indices along one more axis of an array: each becomes a branch around a load.

An index may lie beside the axis. Nothing is read then, and the element is 0. The pass comes after the loops of threads
are made, since the bodies of these are copied op by op.

The element of each row at the row's index:

```mlir before
func.func @gather(%x: !llvm.ptr<1>, %row: i32, %index: i64, %size: i32, %stride: i32, %pitch: i32) -> f32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %element = "fold.gather_load"(%x, %row, %zero, %zero, %one, %index, %size, %stride, %pitch)
    {kept_rank = 1, reduced_rank = 0, axis = "kept"}
    : (!llvm.ptr<1>, i32, i32, i32, i32, i64, i32, i32, i32) -> f32
  return %element : f32
}
```

```mlir after
func.func @gather(%x: !llvm.ptr<1>, %row: i32, %index: i64, %size: i32, %stride: i32, %pitch: i32) -> f32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.muli %row, %pitch : i32
  %wide = arith.extsi %size : i32 to i64
  %exists = arith.cmpi ult, %index, %wide : i64
  %element = scf.if %exists -> (f32) {
    %narrow = arith.trunci %index : i64 to i32
    %along = arith.muli %narrow, %stride : i32
    %place = arith.addi %start, %along : i32
    %where = llvm.getelementptr %x[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %found = llvm.load %where {alignment = 4} : !llvm.ptr<1> -> f32
    scf.yield %found : f32
  } else {
    %none = arith.constant 0.0 : f32
    scf.yield %none : f32
  }
  return %element : f32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import integer, load
from ..compiler.ir.combine import elements, fragment
from ..compiler.ir.dialect.base import element, int_attr, str_attr
from ..compiler.ir.mlir import arith, ir, scf
from .access.element_loads import clamped
from .access.offsets import offset

LAYOUT = 8
"""Operands before the layout."""


def _lowered(op: Any) -> list[Any]:
    """Lowers one op to a branch for each element of its fragment."""
    base, kept, reduced, first, end, indices, size, stride = list(op.operands)[:LAYOUT]
    t, along = element(op.results[0].type), str_attr(op, "axis", ("kept", "reduced"))
    found = []
    for j, index in enumerate(elements(indices)):
        k = arith.addi(kept, integer(kept.type, j)) if along == "kept" and j else kept
        r = arith.addi(reduced, integer(reduced.type, j)) if along == "reduced" and j else reduced
        place = offset(op, k, clamped(r, first, end) if int_attr(op, "reduced_rank") else r, LAYOUT)
        found.append(_element(base, place, index, size, stride, t))
    return [fragment(found)]


def _element(base: Any, place: Any, index: Any, size: Any, stride: Any, t: Any) -> Any:
    """The element that lies ``index`` strides behind ``place``, or 0 where there is no such index."""
    wide = size if size.type == index.type else arith.extsi(index.type, size)
    exists = arith.cmpi(arith.CmpIPredicate.ult, index, wide)  # a negative index is a great one
    branch = scf.IfOp(exists, [t], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        narrow = index if index.type == stride.type else arith.trunci(stride.type, index)
        scf.YieldOp([load(base, arith.addi(place, arith.muli(narrow, stride)), t)])
    with ir.InsertionPoint(branch.else_block):
        none = ir.FloatAttr.get(t, 0.0) if isinstance(t, ir.FloatType) else ir.IntegerAttr.get(t, 0)
        scf.YieldOp([arith.constant(t, none)])
    return branch.results[0]


PASS = lowering("lower-gather", {"fold.gather_load": _lowered}, "read elements at indices that exist")
