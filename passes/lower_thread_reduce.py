"""The register stage: a thread's own elements, combined in a loop; in a branch, where there is one step at most.

Each step runs the body ``unroll`` times, so that all its loads are in flight, combines the fragments as a tree, and
folds the tree's root into the running state; with ``chain`` it folds one fragment after another into it. With ``once``
the step is a branch, taken if the walk has one, and else the state stays as it is. A scalar result folds the state's
vector at the end, neighbours first. Bytes are added as words (``words/packed_bytes.py``), narrow elements compared two
at a time (``words/extremes.py``), and of numbered ones the first of the least is found among words of two
(``words/ranked.py``). Where states have sums that are seen from an anchor, all of a step come together at once
(``compiler/program/analysis/anchors.py``), those of one result under one anchor (``words/anchored.py``). Blocks that
lie side by side in a thread's registers need no loop (``access/blocks.py``).

A value of the state that is the same for all elements of the vector, since nothing that differs between them has a part
in it, is a scalar in the loop: Welford's count, and with it the division by it.

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

from functools import partial, reduce
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.anchored import Anchored, anchored
from ..compiler.ir.build import before, find, replace
from ..compiler.ir.combine import clone_block, combine, horizontal, pack, splat, tree, unpack, width
from ..compiler.ir.uniform import independent, uniform
from .access.blocks import lower_reduce
from .access.steps import walked
from .words.anchored import OneAnchor, shares
from .words.extremes import lower as lower_extremes
from .words.packed_bytes import lower as lower_bytes
from .words.ranked import lower as lower_ranked


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_reduce"):
        _lower(op)
    for op in find(module, "fold.block_reduce"):
        lower_reduce(op)


def _lower(op: Any) -> None:
    init = op.operands[2]
    body, region = op.regions
    with before(op):
        lanes, even = width(unpack(init)[0].type), _even(op)
        if state := lower_bytes(op) or lower_extremes(op) or lower_ranked(op):
            return replace(op, state)
        found = anchored(region)
        one = OneAnchor(op, found) if found and found.linear and shares(op) else None
        join = one.join if one else partial(_joined, found, region)

        def step(state: list[Any], starts: list[Any]) -> list[Any]:
            fragments = [_scalars(clone_block(body.blocks[0], [start], 1), even) for start in starts]
            return reduce(join, [[f] for f in fragments] if "chain" in op.attributes else [fragments], state)

        state = walked(op, one.first() if one else _scalars(unpack(init), even), step)
        if one:
            state = one.last(state)
        elif op.results[0].type != init.type:
            state = horizontal(region, state, lanes)
        else:
            state = [splat(v, lanes) for v in state]
        return replace(op, [pack(state)])


def _joined(found: Anchored | None, region: Any, state: list[Any], fragments: list[list[Any]]) -> list[Any]:
    """The state with some fragments, element by element."""
    if found:
        return found.joined([state, *fragments])
    return combine(region, state, tree(region, [partial(list, f) for f in fragments]))


def _even(op: Any) -> set[int]:
    """Which values of the state are equal in all elements of the fragments, and stay so."""
    body, region = op.regions
    values = [x for v in list(body.blocks[0].operations)[-1].operands for x in unpack(v)]
    pairs = zip(unpack(op.operands[2]), values, strict=True)
    return independent(region, {k for k, pair in enumerate(pairs) if all(uniform(v) is not None for v in pair)})


def _scalars(state: list[Any], even: set[int]) -> list[Any]:
    """The state with one scalar in place of each of the ``even`` values."""
    makers = [uniform(v) if k in even else None for k, v in enumerate(state)]
    return [v if make is None else make() for v, make in zip(state, makers, strict=True)]


PASS = Pass(
    "lower-thread-reduce", _run, ("fold.thread_reduce", "fold.block_reduce"),
    "combine each thread's own elements in registers",
)  # fmt: skip
