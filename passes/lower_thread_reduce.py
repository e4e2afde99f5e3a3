"""The register stage: a thread's own elements, combined in a loop.

Each step runs the body ``unroll`` times, so that all its loads are in flight, combines the fragments as a tree, and
folds the tree's root into the running state. A scalar result folds the state's vector at the end, neighbours first.

Two accesses in flight, of two elements each:

```mlir before
func.func @thread(%begin: i32, %end: i32, %x: vector<2xf32>) -> f32 {
  %zeros = arith.constant dense<0.0> : vector<2xf32>
  %state = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    "fold.yield"(%x) : (vector<2xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 64, unroll = 2} : (i32, i32, vector<2xf32>) -> f32
  return %state : f32
}
```

```mlir after
func.func @thread(%begin: i32, %end: i32, %x: vector<2xf32>) -> f32 {
  %zeros = arith.constant dense<0.0> : vector<2xf32>
  %two_steps = arith.constant 128 : i32
  %both = scf.for %r = %begin to %end step %two_steps iter_args(%so_far = %zeros) -> (vector<2xf32>) : i32 {
    %step = arith.constant 64 : i32
    %second = arith.addi %r, %step : i32
    %pair = arith.addf %x, %x : vector<2xf32>
    %sum = arith.addf %so_far, %pair : vector<2xf32>
    scf.yield %sum : vector<2xf32>
  }
  %even = vector.extract %both[0] : f32 from vector<2xf32>
  %odd = vector.extract %both[1] : f32 from vector<2xf32>
  %state = arith.addf %even, %odd : f32
  return %state : f32
}
```
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..compiler.build import before, find, integer, replace
from ..compiler.combine import clone_block, combine, horizontal, pack, tree, unpack
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith, ir, scf
from ..compiler.pipeline import Pass


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_reduce"):
        _lower(op)


def _lower(op: Any) -> None:
    begin, end, init = op.operands
    body, region = op.regions
    step, unroll, t = attribute(op, "step"), attribute(op, "unroll"), begin.type
    with before(op):
        loop = scf.ForOp(begin, end, integer(t, step * unroll), unpack(init))
        with ir.InsertionPoint(loop.body):
            r = loop.induction_variable
            starts = [arith.addi(r, integer(t, u * step)) if u else r for u in range(unroll)]
            fragments = [clone_block(body.blocks[0], [start], 1) for start in starts]
            scf.YieldOp(
                combine(region, list(loop.inner_iter_args), tree(region, [partial(list, f) for f in fragments]))
            )
        state = list(loop.results)
        if op.results[0].type != init.type:
            state = horizontal(region, state)
        replace(op, [pack(state)])


PASS = Pass("lower-thread-reduce", _run, ("fold.thread_reduce",), "combine each thread's own elements in registers")
