"""The first half of the warp stage: one lane of each group leaves its warp's state in shared memory.

A buffer per value of the state, [rows][slots], so that neighbouring results lie in neighbouring banks; a barrier
makes the states visible to the whole CTA.
"""

from __future__ import annotations

from typing import Any

from ..compiler.build import barrier, before, find, integer, replace, shared_buffer, store
from ..compiler.combine import elements, unpack
from ..compiler.dialect.base import element
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith, ir, scf
from ..compiler.pipeline import Pass


def _run(module: Any) -> None:
    for op in find(module, "fold.shared_store"):
        _lower(op)


def _lower(op: Any) -> None:
    row, slot, on, state = op.operands
    rows, slots, t = attribute(op, "rows"), attribute(op, "slots"), row.type
    with before(op):
        values = unpack(state)
        buffers = [shared_buffer(op, "partials", rows * slots, element(v.type)) for v in values]
        branch = scf.IfOp(on)
        with ir.InsertionPoint(branch.then_block):
            start = arith.addi(arith.muli(row, integer(t, slots)), slot)
            for buffer, v in zip(buffers, values, strict=True):
                for j, x in enumerate(elements(v)):
                    store(x, buffer, arith.addi(start, integer(t, j)))
            scf.YieldOp([])
        barrier()
        replace(op, buffers)


PASS = Pass("lower-shared-store", _run, ("fold.shared_store",), "leave each warp's state in shared memory")
