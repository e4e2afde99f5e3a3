"""Lowers the first level of a scan: the elements of an access are combined one after another.

An access of two elements, the first of which may lie before the row:

```mlir before
func.func @scan(%begins: i32, %mine: vector<2xf32>) -> vector<2xf32> {
  %prefixes = "fold.thread_scan"(%begins, %mine) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) : (i32, vector<2xf32>) -> vector<2xf32>
  return %prefixes : vector<2xf32>
}
```

```mlir after
func.func @scan(%begins: i32, %mine: vector<2xf32>) -> vector<2xf32> {
  %first = vector.extract %mine[0] : f32 from vector<2xf32>
  %second = vector.extract %mine[1] : f32 from vector<2xf32>
  %one = arith.constant 1 : i32
  %follows = arith.cmpi slt, %begins, %one : i32
  %both = arith.addf %first, %second : f32
  %own = arith.select %follows, %both, %second : f32
  %prefixes = vector.from_elements %first, %own : vector<2xf32>
  return %prefixes : vector<2xf32>
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import integer
from ..compiler.ir.combine import combine, elements, fragment, pack, unpack
from ..compiler.ir.mlir import arith


def _lowered(op: Any) -> list[Any]:
    begins, state = op.operands
    first, *others = zip(*(elements(v) for v in unpack(state)), strict=True)
    found = [list(first)]
    for k, own in enumerate(others, 1):
        follows = arith.cmpi(arith.CmpIPredicate.slt, begins, integer(begins.type, k))
        both = combine(op.regions[0], found[-1], list(own))
        found.append([arith.select(follows, x, y) for x, y in zip(both, own, strict=True)])
    return [pack([fragment(list(column)) for column in zip(*found, strict=True)])]


PASS = lowering("lower-thread-scan", {"fold.thread_scan": _lowered}, "scan the elements of each access", stage=True)
