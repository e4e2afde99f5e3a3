"""Lowers the lane stage of a scan: lanes take states of lanes below by ``shfl.sync.up``, in log2(lanes) steps.

In the step of distance d a lane combines the state of the lane d below, on the left, with its own: then it has that of
twice as many lanes (Kogge and Stone). What comes before a lane is the state that the lane below has in the end.

Two lanes:

```mlir before
func.func @scan(%lane: i32, %mine: f32) -> (f32, f32) {
  %before, %total = "fold.warp_scan"(%lane, %mine) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 2, stride = 1} : (i32, f32) -> (f32, f32)
  return %before, %total : f32, f32
}
```

```mlir after
func.func @scan(%lane: i32, %mine: f32) -> (f32, f32) {
  %c1 = arith.constant 1 : i32
  %warp_1 = arith.constant 32 : i32
  %below, %in_1 = gpu.shuffle up %mine, %c1, %warp_1 : f32
  %both = arith.addf %below, %mine : f32
  %one = arith.constant 1 : i32
  %follows = arith.cmpi sge, %lane, %one : i32
  %so_far = arith.select %follows, %both, %mine : f32
  %c1_0 = arith.constant 1 : i32
  %warp_2 = arith.constant 32 : i32
  %before, %in_2 = gpu.shuffle up %so_far, %c1_0, %warp_2 : f32
  %id = gpu.lane_id
  %word = arith.index_cast %id : index to i32
  %bits = arith.constant 1 : i32
  %last = arith.ori %word, %bits : i32
  %warp_3 = arith.constant 32 : i32
  %total, %in_3 = gpu.shuffle idx %so_far, %last, %warp_3 : f32
  return %before, %total : f32, f32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import i32, integer
from ..compiler.ir.combine import combine, pack, unpack
from ..compiler.ir.dialect.base import int_attr
from ..compiler.ir.lane_exchange import from_below, lane_id, of_lane
from ..compiler.ir.mlir import arith


def _lowered(op: Any) -> list[Any]:
    lane, state = op.operands
    lanes, stride = int_attr(op, "lanes"), int_attr(op, "stride")
    found = unpack(state)
    for distance in (1 << k for k in range(lanes.bit_length() - 1)):
        below = [from_below(v, i32(distance * stride)) for v in found]
        both = combine(op.regions[0], below, found)
        follows = arith.cmpi(arith.CmpIPredicate.sge, lane, integer(lane.type, distance))
        found = [arith.select(follows, x, y) for x, y in zip(both, found, strict=True)]
    earlier = [from_below(v, i32(stride)) for v in found]
    last = arith.ori(lane_id(), i32((lanes - 1) * stride))
    return [pack(earlier), pack([of_lane(v, last) for v in found])]


PASS = lowering("lower-warp-scan", {"fold.warp_scan": _lowered}, "scan the lanes of each warp by shuffles", stage=True)
