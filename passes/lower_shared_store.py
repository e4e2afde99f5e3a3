"""Lowers the first half of the warp stage: one lane of each group stores the state of its warp in shared memory.

There is one buffer [rows][slots] for each value of the state, so that neighbouring results lie in neighbouring banks. A
barrier makes the states visible to the whole CTA. Fragments are stored as vectors, or, with ``{apart}``, element by
element.

Eight warps, two results a CTA:

```mlir before
gpu.module @device {
  func.func @leave(%warp: i32, %slot: i32, %first_lane: i1, %mine: f32) -> !llvm.ptr<3> {
    %buffer = "fold.shared_store"(%warp, %slot, %first_lane, %mine) {rows = 8, slots = 2}
      : (i32, i32, i1, f32) -> !llvm.ptr<3>
    return %buffer : !llvm.ptr<3>
  }
}
```

```mlir after
gpu.module @device {
  llvm.mlir.global internal @partials_0() {addr_space = 3 : i32, alignment = 16} : !llvm.array<16 x f32>
  func.func @leave(%warp: i32, %slot: i32, %first_lane: i1, %mine: f32) -> !llvm.ptr<3> {
    %buffer = llvm.mlir.addressof @partials_0 : !llvm.ptr<3>
    scf.if %first_lane {
      %slots = arith.constant 2 : i32
      %row = arith.muli %warp, %slots : i32
      %at = arith.addi %row, %slot : i32
      %where = llvm.getelementptr %buffer[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      llvm.store %mine, %where {alignment = 4} : f32, !llvm.ptr<3>
    }
    gpu.barrier
    return %buffer : !llvm.ptr<3>
  }
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import barrier, integer, shared_buffer, store, when
from ..compiler.ir.combine import elements, unpack
from ..compiler.ir.dialect.base import element, int_attr
from ..compiler.ir.mlir import arith, ir
from ..compiler.ir.uniform_fragments import constant


def _lowered(op: Any) -> list[Any]:
    row, slot, on, state = op.operands
    rows, slots, t = int_attr(op, "rows"), int_attr(op, "slots"), row.type
    values = unpack(state)
    buffers = [shared_buffer(op, "partials", rows * slots, element(v.type)) for v in values]
    with when(on):
        start = arith.addi(arith.muli(row, integer(t, slots)), slot)
        for buffer, v in zip(buffers, values, strict=True):
            if constant(v) is None:
                _leave(v, buffer, start, apart="apart" in op.attributes)
    barrier()
    _say_constants(op, values)
    return buffers


def _say_constants(op: Any, values: Sequence[Any]) -> None:
    """Notes at the ops that take states which of their values are constants of the kernel."""
    found = {str(i): number for i, v in enumerate(values) if (number := constant(v)) is not None}
    numbers = {i: ir.FloatAttr.get(ir.F64Type.get(), float(number)) for i, number in found.items()}
    for use in op.results[0].uses:
        if numbers and use.owner.name == "fold.interwarp_accumulate":
            use.owner.attributes["constants"] = ir.DictAttr.get(numbers)


def _leave(v: Any, buffer: Any, start: Any, *, apart: bool) -> None:
    """Stores a value as a vector; with ``apart`` by elements, since ``start`` may be no multiple of their number."""
    if not apart:
        store(v, buffer, start)
        return
    for j, x in enumerate(elements(v)):
        store(x, buffer, arith.addi(start, integer(start.type, j)))


PASS = lowering(
    "lower-shared-store", {"fold.shared_store": _lowered}, "leave each warp's state in shared memory", stage=True
)
