"""Lowers the warp stage of a scan: every thread combines the states that warps left in shared memory, in order.

What it has when it comes to the state of its own warp is what comes before that.

Two warps:

```mlir before
func.func @scan(%warp: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> (f32, f32) {
  %before, %total = "fold.interwarp_scan"(%warp, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 2, slots = 1} : (i32, i32, !llvm.ptr<3>) -> (f32, f32)
  return %before, %total : f32, f32
}
```

```mlir after
func.func @scan(%warp: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> (f32, f32) {
  %row_0 = arith.constant 0 : i32
  %slots_0 = arith.constant 1 : i32
  %start_0 = arith.muli %row_0, %slots_0 : i32
  %at_0 = arith.addi %start_0, %slot : i32
  %where_0 = llvm.getelementptr %buffer[%at_0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %state_0 = llvm.load %where_0 {alignment = 4} : !llvm.ptr<3> -> f32
  %row_1 = arith.constant 1 : i32
  %slots_1 = arith.constant 1 : i32
  %start_1 = arith.muli %row_1, %slots_1 : i32
  %at_1 = arith.addi %start_1, %slot : i32
  %where_1 = llvm.getelementptr %buffer[%at_1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %state_1 = llvm.load %where_1 {alignment = 4} : !llvm.ptr<3> -> f32
  %total = arith.addf %state_0, %state_1 : f32
  return %state_0, %total : f32, f32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import integer
from ..compiler.ir.combine import combine, pack
from ..compiler.ir.dialect.base import int_attr, values
from ..compiler.ir.mlir import arith
from .access.state_buffers import StateBuffers


def _lowered(op: Any) -> list[Any]:
    warp, slot, *buffers = op.operands
    states = StateBuffers(buffers, values(op.results[0].type), int_attr(op, "slots"), slot)
    read = [states.load(integer(warp.type, i)) for i in range(int_attr(op, "rows"))]
    total = earlier = read[0]
    for i, own in enumerate(read[1:], 1):
        if i > 1:
            here = arith.cmpi(arith.CmpIPredicate.eq, warp, integer(warp.type, i))
            earlier = [arith.select(here, x, y) for x, y in zip(total, earlier, strict=True)]
        total = combine(op.regions[0], total, own)
    return [pack(earlier), pack(total)]


PASS = lowering(
    "lower-interwarp-scan", {"fold.interwarp_scan": _lowered}, "scan the states of a CTA's warps", stage=True
)
