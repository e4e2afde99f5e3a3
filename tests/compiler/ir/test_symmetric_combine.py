"""Which combines give the same bits for two states in either order."""

from __future__ import annotations

import pytest

from warpfold.compiler.ir.combine import Combine
from warpfold.compiler.ir.dialect import load
from warpfold.compiler.ir.lane_exchange import is_symmetric
from warpfold.compiler.ir.mlir import ir

ONE = "%a: f32, %b: f32"
TWO = "%a: f32, %i: i32, %b: f32, %j: i32"
PAIR = """%s = builtin.unrealized_conversion_cast %x, %k : f32, i32 to tuple<f32, i32>
        "fold.yield"(%s) : (tuple<f32, i32>) -> ()"""
YIELD = '"fold.yield"(%x) : (f32) -> ()'
COMBINES = {
    "a sum": (ONE, f"%x = arith.addf %a, %b : f32\n{YIELD}", True),
    "a maximum": (ONE, f"%x = arith.maximumf %b, %a : f32\n{YIELD}", True),
    "a difference": (ONE, f"%x = arith.subf %a, %b : f32\n{YIELD}", False),
    "a square of a sum": (ONE, f"%t = arith.addf %a, %b : f32\n%x = arith.mulf %t, %t : f32\n{YIELD}", True),
    "the square of a difference": (
        ONE, f"%t = arith.subf %a, %b : f32\n%x = arith.mulf %t, %t : f32\n{YIELD}", False,
    ),
    "products with constants": (
        ONE,
        "%c = arith.constant 3.0 : f32\n%d = arith.constant 3.0 : f32\n%t = arith.mulf %a, %c : f32\n"
        f"%u = arith.mulf %d, %b : f32\n%x = arith.addf %t, %u : f32\n{YIELD}",
        True,
    ),
    "products with different constants": (
        ONE,
        "%c = arith.constant 3.0 : f32\n%d = arith.constant 2.0 : f32\n%t = arith.mulf %a, %c : f32\n"
        f"%u = arith.mulf %d, %b : f32\n%x = arith.addf %t, %u : f32\n{YIELD}",
        False,
    ),
    "the left state": (ONE, '"fold.yield"(%a) : (f32) -> ()', False),
    "a sum and a maximum": (TWO, f"%x = arith.addf %a, %b : f32\n%k = arith.maxsi %j, %i : i32\n{PAIR}", True),
    "a sum and the left number": (
        TWO, f"%x = arith.addf %a, %b : f32\n%z = arith.constant 0 : i32\n%k = arith.addi %i, %z : i32\n{PAIR}", False,
    ),
    "a choice": (
        TWO,
        "%less = arith.cmpf olt, %a, %b : f32\n%x = arith.select %less, %a, %b : f32\n"
        f"%k = arith.select %less, %i, %j : i32\n{PAIR}",
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMBINES)
def test_a_combine_is_symmetric_if_both_orders_are_one_expression(name: str) -> None:
    arguments, code, expected = COMBINES[name]
    state = "f32" if arguments == ONE else "tuple<f32, i32>"
    text = f"""func.func @f(%v: {state}) {{
      %r = "fold.warp_reduce"(%v) ({{
      ^bb0({arguments}):
        {code}
      }}) {{lanes = 32, stride = 1, ordered = true}} : ({state}) -> {state}
      return
    }}"""
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse(text)
        op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
        assert is_symmetric(Combine.of(op.regions[0]).formula) is expected


def test_a_long_combine_takes_no_time() -> None:
    """Each value is used twice, so the expression has 2^200 leaves."""
    lines = ["%v0 = arith.addf %a, %b : f32"]
    lines += [f"%v{k + 1} = arith.mulf %v{k}, %v{k} : f32" for k in range(200)]
    text = f"""func.func @f(%v: f32) {{
      %r = "fold.warp_reduce"(%v) ({{
      ^bb0(%a: f32, %b: f32):
        {chr(10).join(lines)}
        "fold.yield"(%v200) : (f32) -> ()
      }}) {{lanes = 32, stride = 1, ordered = true}} : (f32) -> f32
      return
    }}"""
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse(text)
        op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
        assert is_symmetric(Combine.of(op.regions[0]).formula)
