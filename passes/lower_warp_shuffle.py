"""Lowers the lane stage: lanes of a warp exchange states by ``shfl.sync`` and combine them, in log2(lanes) steps.

Two combines have a hardware short cut. An ``or`` or ``and`` of single bits is a ballot and a comparison. An operation
on 32-bit integers over the whole warp is one ``redux.sync``, where the target has it.

Four lanes in two steps:

```mlir before
func.func @warp(%mine: f32) -> f32 {
  %ours = "fold.warp_reduce"(%mine) ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {lanes = 4, stride = 1, ordered = false} : (f32) -> f32
  return %ours : f32
}
```

```mlir after
func.func @warp(%mine: f32) -> f32 {
  %c1 = arith.constant 1 : i32
  %warp_1 = arith.constant 32 : i32
  %neighbour, %in_1 = gpu.shuffle xor %mine, %c1, %warp_1 : f32
  %two = arith.addf %mine, %neighbour : f32
  %c2 = arith.constant 2 : i32
  %warp_2 = arith.constant 32 : i32
  %next_pair, %in_2 = gpu.shuffle xor %two, %c2, %warp_2 : f32
  %four = arith.addf %two, %next_pair : f32
  return %four : f32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import i32, kernel_module
from ..compiler.ir.combine import elements, fragment, pack, single_op, unpack
from ..compiler.ir.dialect.base import bool_attr, element, int_attr
from ..compiler.ir.lane_exchange import butterfly, lane_id
from ..compiler.ir.mlir import arith, nvvm
from ..compiler.target import WARP

REDUX = {
    "arith.addi": "add", "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor",
    "arith.maxsi": "max", "arith.minsi": "min", "arith.maxui": "umax", "arith.minui": "umin",
}  # fmt: skip
"""Combines that ``redux.sync`` computes on 32-bit integers."""
PREDICATES = ("arith.ori", "arith.andi")
"""Combines that a ballot computes on truth values."""


def _lowered(op: Any) -> list[Any]:
    region, state = op.regions[0], op.operands[0]
    lanes, stride = int_attr(op, "lanes"), int_attr(op, "stride")
    kind, scalar = single_op(region), str(element(state.type))
    if kind in PREDICATES and scalar == "i1":
        result = fragment([_ballot(x, kind, lanes, stride) for x in elements(state)])
    elif kind in REDUX and scalar == "i32" and lanes == WARP and target_of(kernel_module(op)).has_redux:
        result = fragment([_redux(x, REDUX[kind]) for x in elements(state)])
    else:
        result = pack(butterfly(region, unpack(state), lanes, stride, ordered=bool_attr(op, "ordered")))
    return [result]


def _redux(x: Any, kind: str) -> Any:
    return nvvm.redux_sync(x, getattr(nvvm.ReductionKind, kind.upper()), i32(-1))


def _ballot(x: Any, kind: str, lanes: int, stride: int) -> Any:
    """Whether any lane (for ``or``) or every lane (for ``and``) of this lane's group has a true ``x``."""
    votes = nvvm.vote_sync(i32(-1), x, nvvm.VoteSyncKind.ballot)
    group = i32(sum(1 << (i * stride) for i in range(lanes)) - (1 << 32 if lanes == WARP else 0))
    if lanes < WARP:
        own = arith.subi(lane_id(), arith.andi(lane_id(), i32((lanes - 1) * stride)))
        group = arith.shli(group, own)
    if kind == "arith.ori":
        return arith.cmpi(arith.CmpIPredicate.ne, arith.andi(votes, group), i32(0))
    return arith.cmpi(arith.CmpIPredicate.eq, arith.andi(votes, group), group)


PASS = lowering(
    "lower-warp-shuffle", {"fold.warp_reduce": _lowered}, "combine the lanes of each warp by shuffles", stage=True
)
