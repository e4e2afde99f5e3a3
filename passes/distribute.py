"""Hands the elements of a tensor program out to threads: who owns what, and which stages that asks for.

Reads a ``func.func`` on tensors with its plan and facts; writes a ``gpu.func`` over fragments: a ``fold.thread_reduce``
with the elementwise code in its body, then one stage op for every level of the plan whose extent along the reduced
axis is more than one, then the results. The formulas are those of ``compiler/plan/launch.py``.

A sum over rows, a warp a row:

```mlir before
func.func @row_sum(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 2, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v6"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  %sum = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return %sum : tensor<?xf32>
}
```

```mlir after
gpu.module @row_sum_module {
  gpu.func @row_sum(%x: !llvm.ptr<1>, %out: !llvm.ptr<1>, %n_kept: i32, %n_reduced: i32, %chunk: i32, %count: i32,
                    %stride_kept: i32, %stride_reduced: i32, %stride_out: i32)
      kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %thread = arith.index_cast %tid : index to i32
    %c31 = arith.constant 31 : i32
    %in_warp = arith.andi %thread, %c31 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %thread, %c5 : i32
    %c31_0 = arith.constant 31 : i32
    %lane = arith.andi %in_warp, %c31_0 : i32
    %c5_0 = arith.constant 5 : i32
    %lane_kept = arith.shrui %in_warp, %c5_0 : i32
    %row = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %before_row = arith.muli %row, %c32 : i32
    %position = arith.addi %before_row, %lane : i32
    %slot = arith.addi %warp, %lane_kept : i32
    %bid = gpu.block_id x
    %tile = arith.index_cast %bid : index to i32
    %kept = arith.addi %tile, %slot : i32
    %in_range = arith.cmpi slt, %kept, %n_kept : i32
    %c0 = arith.constant 0 : i32
    %leads = arith.cmpi eq, %position, %c0 : i32
    %owner = arith.andi %in_range, %leads : i1
    %first = arith.constant 0 : i32
    %begin = arith.addi %first, %position : i32
    %end = arith.select %in_range, %n_reduced, %first : i32
    %zero = arith.constant 0.0 : f32
    %mine = "fold.thread_reduce"(%begin, %end, %zero) ({
    ^bb0(%r: i32):
      %element = "fold.load"(%x, %kept, %r, %stride_kept, %stride_reduced)
        {access = "strided", axis = "reduced", kept_rank = 1, reduced_rank = 1}
        : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
      %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> i1
      %neutral = arith.constant 0.0 : f32
      %counted = arith.select %live, %element, %neutral : f32
      "fold.yield"(%counted) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {step = 32, unroll = 2} : (i32, i32, f32) -> f32
    %ours = "fold.warp_reduce"(%mine) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {lanes = 32, ordered = false, stride = 1} : (f32) -> f32
    "fold.store"(%ours, %out, %kept, %owner, %stride_out) {kept_rank = 1, reduced_rank = 0, vector = false}
      : (f32, !llvm.ptr<1>, i32, i1, i32) -> ()
    gpu.return
  }
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import Pass, op_names
from ..compiler.ir import attributes
from .distribution.blocks import WholeDistributor
from .distribution.padded_rows import PaddedDistributor
from .distribution.periods import PeriodDistributor
from .distribution.runs import RunsDistributor
from .distribution.staggered_columns import StaggeredDistributor
from .distribution.walk import Distributor

WALKS = {
    "padded": PaddedDistributor, "period": PeriodDistributor, "runs": RunsDistributor,
    "staggered": StaggeredDistributor, "whole": WholeDistributor,
}  # fmt: skip
"""Walks with a way of their own."""


PROGRAM = ("fold.reduce", "fold.broadcast", "fold.iota", "fold.count")
"""The ops of a tensor program."""


def _run(module: Any) -> None:
    for op in [o.operation for o in module.regions[0].blocks[0].operations]:
        if op.name == "func.func" and (attributes.PLAN in op.attributes or _is_program(op)):
            plan, _ = attributes.read(op)
            WALKS.get(plan.walk, Distributor)(op).run(module)
            op.erase()


def _is_program(function: Any) -> bool:
    """Whether a function has what distribute is to remove: then its plan is missing."""
    return not op_names(function).keys().isdisjoint(PROGRAM)


PASS = Pass("distribute", _run, PROGRAM, "hand elements out to threads")
