"""The register stage: a thread's own elements, combined in a loop.

Each step runs the body ``unroll`` times, so that all its loads are in flight, combines the fragments as a tree, and
folds the tree's root into the running state. A scalar result folds the state's vector at the end, neighbours first.
"""

from __future__ import annotations

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
            scf.YieldOp(combine(region, list(loop.inner_iter_args), tree(region, fragments)))
        state = list(loop.results)
        if op.results[0].type != init.type:
            state = horizontal(region, state)
        replace(op, [pack(state)])


PASS = Pass("lower-thread-reduce", _run, ("fold.thread_reduce",), "combine each thread's own elements in registers")
