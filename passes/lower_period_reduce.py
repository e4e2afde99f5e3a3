"""Where a period ends: the threads of a CTA leave the states of its places in shared memory, and its rows meet there.

In rounds: of so many rows an eighth is left after each, rounded up. A thread takes a place of one of these, and
combines with its state those of the places that lie so many rows on, again and again; the next row on the right. No
other thread reads or writes these places in that round, and a barrier ends it. In the end one row is left, in which the
first column lies ``lead`` places on, and the columns before it follow the last one.

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
  llvm.mlir.global internal @rows_0() {addr_space = 3 : i32, alignment = 16} : !llvm.array<128 x f32>
  gpu.func @join(%thread: i32, %on: i1, %mine: vector<2xf32>, %rows: i32, %columns: i32, %lead: i32, %out: !llvm.ptr<1>)
      kernel {
    %states = llvm.mlir.addressof @rows_0 : !llvm.ptr<3>
    scf.if %on {
      %each = arith.constant 2 : i32
      %own = arith.muli %thread, %each : i32
      %where = llvm.getelementptr %states[%own] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      llvm.store %mine, %where {alignment = 8} : vector<2xf32>, !llvm.ptr<3>
    }
    gpu.barrier
    %one_row = scf.while (%many = %rows) : (i32) -> i32 {
      %one = arith.constant 1 : i32
      %again = arith.cmpi sgt, %many, %one : i32
      scf.condition(%again) %many : i32
    } do {
    ^bb0(%many: i32):
      %seven = arith.constant 7 : i32
      %up = arith.addi %many, %seven : i32
      %three = arith.constant 3 : i32
      %few = arith.shrui %up, %three : i32
      %left = arith.muli %few, %columns : i32
      %places = arith.muli %many, %columns : i32
      %threads = arith.constant 64 : i32
      scf.for %place = %thread to %left step %threads : i32 {
        %first = arith.addi %place, %left : i32
        %from = llvm.getelementptr %states[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state = llvm.load %from {alignment = 4} : !llvm.ptr<3> -> f32
        %all = scf.for %other = %first to %places step %left iter_args(%so_far = %state) -> (f32) : i32 {
          %there = llvm.getelementptr %states[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
          %next = llvm.load %there {alignment = 4} : !llvm.ptr<3> -> f32
          %sum = arith.addf %so_far, %next : f32
          scf.yield %sum : f32
        }
        %to = llvm.getelementptr %states[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        llvm.store %all, %to {alignment = 4} : f32, !llvm.ptr<3>
      }
      gpu.barrier
      scf.yield %few : i32
    }
    %zeroth = arith.remui %lead, %columns : i32
    %one_less = arith.constant 1 : i32
    %last = arith.subi %columns, %one_less : i32
    %number = arith.minsi %thread, %last : i32
    %far = arith.addi %zeroth, %number : i32
    %beyond = arith.cmpi sgt, %far, %last : i32
    %round = arith.subi %far, %columns : i32
    %at = arith.select %beyond, %round, %far : i32
    %found = llvm.getelementptr %states[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %column = llvm.load %found {alignment = 4} : !llvm.ptr<3> -> f32
    llvm.store %column, %out : f32, !llvm.ptr<1>
    gpu.return
  }
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
        self.buffers = _buffers(op, self.threads * self.lanes, self.types, buffers)

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


def _buffers(op: Any, places: int, types: Sequence[Any], known: dict[Any, list[Any]]) -> list[Any]:
    """A shared array for each value of the state, or those that the kernel has already."""
    kernel = enclosing(op, "gpu.func")
    if kernel in known:
        return [llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<3>"), name).result for name in known[kernel]]
    made = [shared_buffer(op, "rows", places, t) for t in types]
    known[kernel] = [buffer.owner.attributes["global_name"] for buffer in made]
    return made


PASS = Pass("lower-period-reduce", _run, ("fold.period_reduce",), "combine the rows of a period in shared memory")
