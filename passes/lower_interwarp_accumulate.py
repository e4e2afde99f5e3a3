"""Lowers the second half of the warp stage: lanes load the states that warps left in shared memory, and combine them.

Lane l takes the n = max(rows / lanes, 1) rows from l * n on, combines them as a tree, and a butterfly combines the
lanes. With more lanes than rows every group of ``rows`` lanes does the same work, so all threads have the result. Where
the states of all rows are at most two accesses, in kernels whose rows wait in registers, every lane reads and combines
them all instead, in the order of that butterfly: shuffles are latency, which rows of few elements have nothing to hide.

Four rows for two lanes: each lane combines two rows, and one shuffle combines the lanes.

```mlir before
func.func @join(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 {
  %ours = "fold.interwarp_accumulate"(%lane, %slot, %buffer) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {rows = 4, slots = 1, lanes = 2, stride = 1, ordered = false} : (i32, i32, !llvm.ptr<3>) -> f32
  return %ours : f32
}
```

```mlir after
func.func @join(%lane: i32, %slot: i32, %buffer: !llvm.ptr<3>) -> f32 {
  %c1 = arith.constant 1 : i32
  %group = arith.andi %lane, %c1 : i32
  %each = arith.constant 2 : i32
  %own = arith.muli %group, %each : i32
  %c0 = arith.constant 0 : i32
  %row_0 = arith.addi %own, %c0 : i32
  %slots_0 = arith.constant 1 : i32
  %start_0 = arith.muli %row_0, %slots_0 : i32
  %at_0 = arith.addi %start_0, %slot : i32
  %where_0 = llvm.getelementptr %buffer[%at_0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %state_0 = llvm.load %where_0 {alignment = 4} : !llvm.ptr<3> -> f32
  %next = arith.constant 1 : i32
  %row_1 = arith.addi %own, %next : i32
  %slots_1 = arith.constant 1 : i32
  %start_1 = arith.muli %row_1, %slots_1 : i32
  %at_1 = arith.addi %start_1, %slot : i32
  %where_1 = llvm.getelementptr %buffer[%at_1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %state_1 = llvm.load %where_1 {alignment = 4} : !llvm.ptr<3> -> f32
  %mine = arith.addf %state_0, %state_1 : f32
  %distance = arith.constant 1 : i32
  %warp = arith.constant 32 : i32
  %other, %in = gpu.shuffle xor %mine, %distance, %warp : f32
  %ours = arith.addf %mine, %other : f32
  return %ours : f32
}
```
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.anchored import joined
from ..compiler.ir.build import bytes_of, integer
from ..compiler.ir.combine import horizontal, pack, width
from ..compiler.ir.dialect.base import bool_attr, int_attr, values
from ..compiler.ir.lane_exchange import butterfly, is_short
from ..compiler.ir.mlir import arith
from ..compiler.ir.uniform_fragments import splat
from .access.state_buffers import StateBuffers
from .math.unbranched import is_unbranched

WORD, ACCESS = 4, 16
"""Bytes of the narrowest state that is read with others, and of the widest access."""


def _lowered(op: Any) -> list[Any]:
    lane, slot, *buffers = op.operands
    rows, lanes, t = int_attr(op, "rows"), int_attr(op, "lanes"), lane.type
    groups = min(rows, lanes)
    each = rows // groups
    noted = op.attributes.get("constants", ())
    constants = {int(named.name): named.attr.value for named in noted}
    states = StateBuffers(buffers, values(op.results[0].type), int_attr(op, "slots"), slot)
    if groups == rows and _fit_in_accesses(op, states):
        found = [_given(constants, k, v) for k, v in enumerate(states.load_all(rows))]
        return [pack(horizontal(op.regions[0], found, rows))]
    own = arith.muli(arith.andi(lane, integer(t, groups - 1)), integer(t, each))

    def row(i: int) -> list[Any]:
        found = states.load(arith.addi(own, integer(t, i)))
        return [_given(constants, k, v) for k, v in enumerate(found)]

    state = joined(op.regions[0], [partial(row, i) for i in range(each)])
    stride = int_attr(op, "stride")
    return [pack(butterfly(op.regions[0], state, groups, stride, ordered=bool_attr(op, "ordered")))]


def _fit_in_accesses(op: Any, states: StateBuffers) -> bool:
    """Whether each lane may read the states of all rows: neighbours, in that order, of few bytes, shortly combined."""
    alone = states.slots == 1 and bool_attr(op, "ordered") and is_unbranched(op)
    if not alone or any(width(t) > 1 for t in states.types):
        return False
    sizes = [bytes_of(t) for t in states.types]
    return min(sizes) >= WORD and max(sizes) * int_attr(op, "rows") <= 2 * ACCESS and is_short(op.regions[0])


def _given(constants: dict[int, Any], k: int, v: Any) -> Any:
    """Value ``k`` of states, a scalar or a fragment; the constant that it is known to be."""
    return splat(constants[k], v.type) if k in constants else v


PASS = lowering(
    "lower-interwarp-accumulate",
    {"fold.interwarp_accumulate": _lowered},
    "combine the states of a CTA's warps",
    stage=True,
)
