"""Unrolls the loops that stand for straight-line code: ``compiler/ir/unrolled_loops.py`` makes them.

What goes round in such a loop has a name of its own in each turn afterwards.

```mlir before
func.func @squares(%x: f32, %y: f32) -> (f32, f32) {
  %first = arith.constant 0 : i32
  %end = arith.constant 2 : i32
  %step = arith.constant 1 : i32
  %found:2 = scf.for %k = %first to %end step %step iter_args(%own = %x, %next = %y) -> (f32, f32) : i32 {
    %square = arith.mulf %own, %own : f32
    scf.yield %next, %square : f32, f32
  } {fold.unrolled = 2 : i64}
  return %found#0, %found#1 : f32, f32
}
```

```mlir after
func.func @squares(%x: f32, %y: f32) -> (f32, f32) {
  %first = arith.constant 0 : i32
  %end = arith.constant 2 : i32
  %step = arith.constant 1 : i32
  %turns = arith.constant 2 : i32
  %square = arith.mulf %x, %x : f32
  %other = arith.mulf %y, %y : f32
  return %square, %other : f32, f32
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import find
from ..compiler.ir.mlir import ir, transform_interpreter
from ..compiler.ir.unrolled_loops import UNROLLED


def _run(module: Any) -> None:
    for turns in {op.attributes[UNROLLED].value for op in find(module, "scf.for") if UNROLLED in op.attributes}:
        script = ir.Module.parse(_SCRIPT.format(UNROLLED=UNROLLED, turns=turns))
        transform_interpreter.apply_named_sequence(module, script.body.operations[0], script)


_SCRIPT = """
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.readonly}}) {{
    %loops = transform.structured.match attributes {{{UNROLLED} = {turns}}} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %loops {{factor = {turns}}} : !transform.any_op
    transform.yield
  }}
}}
"""
"""MLIR has no pass that unrolls loops of ``scf``, but an op of its transform dialect does."""

PASS = Pass("unroll-loops", _run, (), "unroll loops that stand for straight-line code")
