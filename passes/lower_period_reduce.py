"""Where a period ends: the threads of a CTA leave the states of its places in shared memory, and its rows meet there.

In rounds: of so many rows an eighth is left after each, rounded up. A thread takes a place of one of these, and combines
with its state those of the places that lie so many rows on, again and again; the next row on the right. No other thread
reads or writes these places in that round, and a barrier ends it. In the end one row is left. It begins with the column
of the place that the first thread's first element was of: ``lead`` places on is the first column.

The last CTA of a grid meets twice, the second time over the states of all of them. The barriers of the grid stage lie
between, so both use the same memory.

Two places a thread, in a CTA of 64:

```mlir before
gpu.module @device {
  gpu.func @join(%thread: i32, %on: i1, %mine: vector<2xf32>, %rows: i32, %columns: i32, %lead: i32, %out: !llvm.ptr<1>)
      kernel {
    %column = "fold.period_reduce"(%thread, %on, %mine, %rows, %columns, %lead) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {threads = 64} : (i32, i1, vector<2xf32>, i32, i32, i32) -> f32
    llvm.store %column, %out : f32, !llvm.ptr<1>
    gpu.return
  }
}
```

```mlir after
gpu.module @device {
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compiler.build import barrier, before, enclosing, find, integer, load, replace, shared_buffer, store
from ..compiler.combine import combine, pack, unpack, width
from ..compiler.dialect.base import element
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith, ir, llvm, scf
from ..compiler.pipeline import Pass
from ..compiler.plan import ROWS_A_ROUND


def _run(module: Any) -> None:
    buffers: dict[Any, list[Any]] = {}
    for op in find(module, "fold.period_reduce"):
        with before(op):
            replace(op, [pack(_Meeting(op, buffers).run())])


class _Meeting:
    """The threads of a CTA around the states of a period; ``buffers`` are those that kernels have."""

    def __init__(self, op: Any, buffers: dict[Any, list[Any]]) -> None:
        self.region, self.threads = op.regions[0], attribute(op, "threads")
        self.thread, self.on, state, self.rows, self.columns, self.lead = op.operands
        self.own = unpack(state)
        self.types = [element(v.type) for v in self.own]
        self.lanes, self.index = width(self.own[0].type), self.thread.type
        kernel = enclosing(op, "gpu.func")
        if kernel not in buffers:
            made = [shared_buffer(op, "rows", self.threads * self.lanes, t) for t in self.types]
            buffers[kernel] = [b.owner.attributes["global_name"] for b in made]
        self.buffers = [llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<3>"), name).result for name in buffers[kernel]]

    def run(self) -> list[Any]:
        """The state of the thread's column."""
        branch = scf.IfOp(self.on)
        with ir.InsertionPoint(branch.then_block):
            self.store(arith.muli(self.thread, self.number(self.lanes)), self.own)
            scf.YieldOp([])
        barrier()
        self.rounds()
        first = arith.remui(self.lead, self.columns)
        last = arith.subi(self.columns, self.number(1))
        place = arith.addi(first, arith.minsi(self.thread, last))
        beyond = arith.cmpi(arith.CmpIPredicate.sgt, place, last)
        return self.load(arith.select(beyond, arith.subi(place, self.columns), place))

    def rounds(self) -> None:
        """As long as there is more than one row."""
        loop = scf.WhileOp([self.index], [self.rows])
        asked = loop.before.blocks.append(self.index)
        with ir.InsertionPoint(asked):
            (rows,) = asked.arguments
            scf.ConditionOp(arith.cmpi(arith.CmpIPredicate.sgt, rows, self.number(1)), [rows])
        body = loop.after.blocks.append(self.index)
        with ir.InsertionPoint(body):
            (rows,) = body.arguments
            up = arith.addi(rows, self.number(ROWS_A_ROUND - 1))
            left = arith.shrui(up, self.number(ROWS_A_ROUND.bit_length() - 1))
            self.round(*(arith.muli(count, self.columns) for count in (left, rows)))
            barrier()
            scf.YieldOp([left])

    def round(self, left: Any, places: Any) -> None:
        """The first ``left`` of so many places take what lies a multiple of ``left`` on."""
        loop = scf.ForOp(self.thread, left, self.number(self.threads))
        with ir.InsertionPoint(loop.body):
            place = loop.induction_variable
            inner = scf.ForOp(arith.addi(place, left), places, left, self.load(place))
            with ir.InsertionPoint(inner.body):
                scf.YieldOp(combine(self.region, list(inner.inner_iter_args), self.load(inner.induction_variable)))
            self.store(place, list(inner.results))
            scf.YieldOp([])

    # --- building -----------------------------------------------------------------------------------------------------
    def number(self, value: int) -> Any:
        return integer(self.index, value)

    def load(self, place: Any) -> list[Any]:
        return [load(b, place, t) for b, t in zip(self.buffers, self.types, strict=True)]

    def store(self, place: Any, state: Sequence[Any]) -> None:
        for buffer, v in zip(self.buffers, state, strict=True):
            store(v, buffer, place)


PASS = Pass("lower-period-reduce", _run, ("fold.period_reduce",), "combine the rows of a period in shared memory")
