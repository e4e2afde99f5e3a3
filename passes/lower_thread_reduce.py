"""Lowers the register stage: each thread combines its own elements, in a loop or, for one step, in a branch.

Each step runs the body ``unroll`` times, so that all its loads are in flight, combines the fragments as a tree, and
folds the root of the tree into the running state. With ``chain`` the step folds one fragment after another into the
state instead. With ``joined`` the elements of a fragment are combined first, and then neighbouring lanes join theirs,
in order. With ``once`` the step is a branch: a thread without a step keeps its state. If the result is a scalar,
the elements of the state's vector are combined at the end, neighbours first.

Some combines have a faster form, which other files recognise and write:

- sums of bytes and truth values, four in a word (``words/byte_reductions.py``);
- extremes of narrow elements, two in a register (``words/extremes.py``);
- the first of the least elements, argmin (``words/narrow_argmin.py``);
- states with sums relative to an anchor (``compiler/program/analysis/anchors.py``): the states of a step are joined at
  once, and the elements of one result share an anchor (``words/shared_anchor.py``);
- sorted lists of the least elements, of which the lanes of a warp know a bound (``words/bounded_lists.py``);
- sums of elements of 8 and 16 bits over several lanes, by the tensor cores (``words/matrix_sums.py``);
- short rows that a thread holds in its registers, which need no loop (``access/blocks.py``).

A value of the state that is equal in all elements of the vector is a scalar in the loop. Welford's count is one, and so
is the division by it.

Two accesses in flight, each of two elements:

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

from collections.abc import Callable, Sequence, Set
from functools import partial, reduce
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.anchored import Anchored, anchored
from ..compiler.ir.build import before, find, i32, replace
from ..compiler.ir.combine import (
    Combine,
    Formula,
    clone,
    clone_block,
    combine,
    horizontal,
    pack,
    splat,
    tree,
    unpack,
    width,
)
from ..compiler.ir.dialect.base import element, int_attr
from ..compiler.ir.lane_exchange import gathered
from ..compiler.ir.uniform_fragments import independent, uniform
from ..compiler.ir.unrolled_loops import REPEATED, rolled, unrolled
from .access.blocks import lower_reduce
from .access.thread_loop import combines_lanes, walked
from .words.bounded_lists import lower as lower_lists
from .words.byte_reductions import lower as lower_bytes
from .words.extremes import lower as lower_extremes
from .words.matrix_sums import lower as lower_sums
from .words.narrow_argmin import lower as lower_argmin
from .words.shared_anchor import SharedAnchor

Join = Callable[[list[Any], list[Any]], list[Any]]
"""A function from a state and fragments to the state combined with them."""


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_reduce"):
        _lower(op)
    for op in find(module, "fold.block_reduce"):
        lower_reduce(op)


def _lower(op: Any) -> None:
    init = op.operands[2]
    body, region = op.regions
    with before(op):
        lanes = width(unpack(init)[0].type)
        if "summed" in op.attributes:
            return replace(op, [lower_sums(op)])
        joins = "joined" in op.attributes
        if not joins and (state := lower_bytes(op) or lower_extremes(op) or lower_argmin(op) or lower_lists(op)):
            return replace(op, [pack(state)])
        read = Combine.of(region)
        even, found = frozenset() if joins else _even(op, read.formula), anchored(read)
        shared = SharedAnchor(op, found) if found and found.linear and not joins and combines_lanes(op) else None
        join = shared.join if shared else partial(_joined, found, region)

        def step(state: list[Any], starts: list[Any]) -> list[Any]:
            if "rolled" in op.attributes:
                return _one_by_one(body.blocks[0], starts, even, join, state)
            fragments = _fragments(body.blocks[0], starts, even)
            groups = [[f] for f in fragments] if "chain" in op.attributes else [fragments]
            if joins:
                groups = [[_of_lanes(region, group, int_attr(op, "joined"))] for group in groups]
            return reduce(join, groups, state)

        state = walked(op, shared.first() if shared else _scalars(unpack(init), even), step)
        if shared:
            state = shared.last(state)
        elif op.results[0].type != init.type:
            state = horizontal(region, state, lanes)
        else:
            state = [splat(v, lanes) for v in state]
        return replace(op, [pack(state)])


def _fragments(block: Any, starts: Sequence[Any], even: Set[int]) -> list[list[Any]]:
    """What the accesses at ``starts`` give; of several they are written once, in a loop that is unrolled later."""

    def turn(_: Any, own: Sequence[Any], so_far: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
        return _scalars(clone_block(block, own, 1), even), so_far

    if len(starts) < REPEATED:
        return [turn(None, [start], ())[0] for start in starts]
    given = [x.type for v in list(block.operations)[-1].operands for x in unpack(v)]
    types = [element(t) if k in even else t for k, t in enumerate(given)]
    return unrolled([[start] for start in starts], types, turn, [i32(0), i32(len(starts)), i32(1)])[0]


def _of_lanes(region: Any, fragments: list[list[Any]], lanes: int) -> list[Any]:
    """The elements of several accesses of ``lanes`` neighbouring lanes combined, in order: one state, which all get."""
    states = [horizontal(region, f, max(width(v.type) for v in f)) for f in fragments]
    return gathered(region, states, lanes)


def _one_by_one(block: Any, starts: Sequence[Any], even: Set[int], join: Join, state: list[Any]) -> list[Any]:
    """The state combined with what the accesses at ``starts`` give: all are read before a loop combines them."""
    *ops, last = [o.operation for o in block.operations]
    loads = [o for o in ops if o.name == "llvm.load"]
    before = around(loads, ops)
    found = []
    for start in starts:
        mapping = {block.arguments[0]: start}
        clone(before, mapping, 1)
        found.append([start, *(mapping[o.results[0]] for o in loads)])

    def turn(_: Any, own: Sequence[Any], so_far: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
        mapping = dict(zip([block.arguments[0], *(o.results[0] for o in loads)], own, strict=True))
        clone([o for o in ops if o not in loads], mapping, 1)
        made = [mapping.get(x, x) for v in last.operands for x in unpack(v)]
        return [], join(list(so_far), [_scalars(made, even)])

    _, (_, state) = rolled(found, [], turn, [i32(0), i32(len(starts)), i32(1)], state)
    return state


def around(ends: Sequence[Any], ops: Sequence[Any]) -> list[Any]:
    """Those of ``ops``, in order, from which the results of ``ends`` follow, and these."""
    found, own = list[Any](), {r: o for o in ops for r in o.results}
    waiting = list(ends)
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.append(op)
            waiting += [own[v] for v in op.operands if v in own]
    return [o for o in ops if o in found]


def _joined(found: Anchored | None, region: Any, state: list[Any], fragments: list[list[Any]]) -> list[Any]:
    """The state combined with some fragments, element by element."""
    if found:
        return found.joined([state, *fragments])
    return combine(region, state, tree(region, [partial(list, f) for f in fragments]))


def _even(op: Any, formula: Formula) -> frozenset[int]:
    """The indices of the values of the state that are equal in all elements of the fragments, and stay so."""
    values = [x for v in list(op.regions[0].blocks[0].operations)[-1].operands for x in unpack(v)]
    pairs = zip(unpack(op.operands[2]), values, strict=True)
    alike = (k for k, pair in enumerate(pairs) if all(uniform(v) is not None for v in pair))
    return independent(formula, frozenset(alike))


def _scalars(state: list[Any], even: Set[int]) -> list[Any]:
    """The state with a scalar in place of each value whose index is in ``even``."""
    makers = [uniform(v) if k in even else None for k, v in enumerate(state)]
    return [v if make is None else make() for v, make in zip(state, makers, strict=True)]


PASS = Pass(
    "lower-thread-reduce", _run, ("fold.thread_reduce", "fold.block_reduce"),
    "combine each thread's own elements in registers", stage=True, makes=("fold.matrix_reduce",),
)  # fmt: skip
