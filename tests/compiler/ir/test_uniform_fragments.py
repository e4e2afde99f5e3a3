"""Which fragments are one scalar, and which values of a state do not depend on elements."""

from __future__ import annotations

from typing import Any

import pytest

from warpfold.compiler.ir.combine import Combine
from warpfold.compiler.ir.dialect import load
from warpfold.compiler.ir.mlir import ir
from warpfold.compiler.ir.uniform_fragments import independent, uniform

PROGRAM = """
func.func @values(%x: f32, %v: vector<4xf32>) {
  %same = vector.broadcast %x : f32 to vector<4xf32>
  %two = arith.constant dense<2.0> : vector<4xf32>
  %other = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
  %sum = arith.addf %same, %two : vector<4xf32>
  %mixed = arith.addf %same, %v : vector<4xf32>
  %all = arith.constant dense<true> : vector<4xi1>
  %picked = arith.select %all, %two, %sum : vector<4xi1>, vector<4xf32>
  return
}
"""


def values(module: Any) -> dict[str, Any]:
    """The results of the program by their names, in their order in it."""
    block = module.body.operations[0].regions[0].blocks[0]
    names = ("same", "two", "other", "sum", "mixed", "all", "picked")
    return dict(zip(names, [o.operation.results[0] for o in list(block.operations)[:-1]], strict=True))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("same", None), ("two", "arith.constant"), ("sum", "arith.addf"), ("picked", "arith.select")],
)
def test_equal_elements_are_computed_as_one_scalar(name: str, expected: str | None) -> None:
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse(PROGRAM)
        v = values(module)[name]
        make = uniform(v)
        assert make is not None
        with ir.InsertionPoint(v.owner):
            found = make()
        assert str(found.type) == "f32"
        assert isinstance(found, ir.BlockArgument) if expected is None else found.owner.name == expected


@pytest.mark.parametrize("name", ["other", "mixed"])
def test_elements_that_may_differ_stay_separate(name: str) -> None:
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse(PROGRAM)
        assert uniform(values(module)[name]) is None


def stage(body: str) -> str:
    """A stage over states of three values whose combine has this body; the body calls its results a, b and c."""
    return f"""
    func.func @f(%begin: i32, %first: tuple<f32, f32, f32>) -> tuple<f32, f32, f32> {{
      %r = "fold.thread_reduce"(%begin, %begin, %first) ({{
      ^bb0(%i: i32):
        "fold.yield"(%first) : (tuple<f32, f32, f32>) -> ()
      }}, {{
      ^bb0(%n: f32, %m: f32, %k: f32, %o: f32, %p: f32, %l: f32):
        {body}
        %s = builtin.unrealized_conversion_cast %a, %b, %c : f32, f32, f32 to tuple<f32, f32, f32>
        "fold.yield"(%s) : (tuple<f32, f32, f32>) -> ()
      }}) {{step = 1, unroll = 1}} : (i32, i32, tuple<f32, f32, f32>) -> tuple<f32, f32, f32>
      return %r : tuple<f32, f32, f32>
    }}"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [({0, 1, 2}, {0, 1, 2}), ({0}, {0}), ({0, 2}, {0}), ({1, 2}, {1}), ({2}, set()), (set(), set())],
)
def test_a_value_is_independent_if_all_its_operands_are(asked: set[int], expected: set[int]) -> None:
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        body = """%a = arith.addf %n, %o : f32
        %b = arith.addf %m, %p : f32
        %d = arith.mulf %n, %p : f32
        %c = arith.addf %d, %l : f32"""
        module = ir.Module.parse(stage(body))
        op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
        assert independent(Combine.of(op.regions[1]).formula, frozenset(asked)) == expected
