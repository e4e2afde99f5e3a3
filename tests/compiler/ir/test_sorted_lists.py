"""Which combines put an element into a sorted list."""

from __future__ import annotations

import pytest

import warpfold as wf
from warpfold.compiler.ir.dialect import load
from warpfold.compiler.ir.mlir import ir
from warpfold.compiler.ir.sorted_lists import inserts

TWO = "%a: i32, %b: i32, %c: i32, %d: i32"
LOWER = "%x = arith.minsi %a, %d : i32\n%y = arith.minsi %b, %c : i32\n%p = arith.minsi %x, %y : i32"
COMBINES = {
    "minima and maxima": (f"{LOWER}\n%q = arith.maxsi %x, %y : i32", True),
    "what minima leave": (f"{LOWER}\n%t = arith.xori %y, %x : i32\n%q = arith.xori %p, %t : i32", True),
    "not sorted": (f"{LOWER}\n%q = arith.maxsi %a, %c : i32", False),
    "the greatest two": (f"{LOWER}\n%q = arith.maxsi %b, %d : i32", False),
    "another difference": (f"{LOWER}\n%t = arith.xori %a, %x : i32\n%q = arith.xori %p, %t : i32", False),
    "sums": (f"{LOWER}\n%q = arith.addi %x, %y : i32", False),
    "the first two": ("%p = arith.minsi %a, %a : i32\n%q = arith.minsi %b, %b : i32", False),
}


@pytest.mark.parametrize("name", COMBINES)
def test_a_combine_is_tried_on_zeros_and_ones(name: str) -> None:
    code, expected = COMBINES[name]
    state = "tuple<i32, i32>"
    text = f"""func.func @f(%v: {state}) {{
      %r = "fold.warp_reduce"(%v) ({{
      ^bb0({TWO}):
        {code}
        %s = builtin.unrealized_conversion_cast %p, %q : i32, i32 to {state}
        "fold.yield"(%s) : ({state}) -> ()
      }}) {{lanes = 32, stride = 1, ordered = true}} : ({state}) -> {state}
      return
    }}"""
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse(text)
        op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
        assert inserts(op.regions[0]) is expected


@pytest.mark.parametrize("k", [4, 7])
def test_the_lists_of_topk(k: int) -> None:
    """A warp that has a long row is told to its stage; lanes that have columns, and warps of short rows, are not."""
    for shape, axis, expected in (((4096, 32000), 1, True), ((4096, 32000), 0, False), ((8192, 500), 1, False)):
        stages = wf.topk.compile((shape, "f32"), axis=axis, k=k).stages
        assert ("warp = true" in stages[1].ir) is expected
