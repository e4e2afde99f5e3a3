"""Lowers the end of a period: the threads of a CTA store their states in shared memory and combine them row by row.

The states form rows, with one state a column. Each round reduces ``many`` rows to an eighth of them, rounded up
(``few``). For each state of the first ``few`` rows one thread combines it with the states of the same column ``few``,
``2 * few``, ... rows below, where the lower row is the right operand. No other thread reads or writes these states in
the round, and a barrier ends the round. A thread loads all states of a round at once and masks those beyond the last
row; if the combine is long, it loads them one after another. The rounds end with one row. Its first column is at index
``lead``, and the columns before ``lead`` follow the last one.

The last CTA of a grid does this twice, the second time with the states of all CTAs. The barriers of the grid stage are
between the two, so both use the same memory.

Two states a thread, in a CTA of 64 threads:

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
        %from = llvm.getelementptr %states[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state = llvm.load %from {alignment = 4} : !llvm.ptr<3> -> f32
        %second = arith.addi %place, %left : i32
        %has_second = arith.cmpi slt, %second, %places : i32
        %at_second = arith.select %has_second, %second, %place : i32
        %from_second = llvm.getelementptr %states[%at_second] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state_second = llvm.load %from_second {alignment = 4} : !llvm.ptr<3> -> f32
        %third = arith.addi %second, %left : i32
        %has_third = arith.cmpi slt, %third, %places : i32
        %at_third = arith.select %has_third, %third, %place : i32
        %from_third = llvm.getelementptr %states[%at_third] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state_third = llvm.load %from_third {alignment = 4} : !llvm.ptr<3> -> f32
        %fourth = arith.addi %third, %left : i32
        %has_fourth = arith.cmpi slt, %fourth, %places : i32
        %at_fourth = arith.select %has_fourth, %fourth, %place : i32
        %from_fourth = llvm.getelementptr %states[%at_fourth] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state_fourth = llvm.load %from_fourth {alignment = 4} : !llvm.ptr<3> -> f32
        %fifth = arith.addi %fourth, %left : i32
        %has_fifth = arith.cmpi slt, %fifth, %places : i32
        %at_fifth = arith.select %has_fifth, %fifth, %place : i32
        %from_fifth = llvm.getelementptr %states[%at_fifth] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state_fifth = llvm.load %from_fifth {alignment = 4} : !llvm.ptr<3> -> f32
        %sixth = arith.addi %fifth, %left : i32
        %has_sixth = arith.cmpi slt, %sixth, %places : i32
        %at_sixth = arith.select %has_sixth, %sixth, %place : i32
        %from_sixth = llvm.getelementptr %states[%at_sixth] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state_sixth = llvm.load %from_sixth {alignment = 4} : !llvm.ptr<3> -> f32
        %seventh = arith.addi %sixth, %left : i32
        %has_seventh = arith.cmpi slt, %seventh, %places : i32
        %at_seventh = arith.select %has_seventh, %seventh, %place : i32
        %from_seventh = llvm.getelementptr %states[%at_seventh] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state_seventh = llvm.load %from_seventh {alignment = 4} : !llvm.ptr<3> -> f32
        %eighth = arith.addi %seventh, %left : i32
        %has_eighth = arith.cmpi slt, %eighth, %places : i32
        %at_eighth = arith.select %has_eighth, %eighth, %place : i32
        %from_eighth = llvm.getelementptr %states[%at_eighth] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %state_eighth = llvm.load %from_eighth {alignment = 4} : !llvm.ptr<3> -> f32
        %with_second = arith.addf %state, %state_second : f32
        %up_to_second = arith.select %has_second, %with_second, %state : f32
        %with_third = arith.addf %up_to_second, %state_third : f32
        %up_to_third = arith.select %has_third, %with_third, %up_to_second : f32
        %with_fourth = arith.addf %up_to_third, %state_fourth : f32
        %up_to_fourth = arith.select %has_fourth, %with_fourth, %up_to_third : f32
        %with_fifth = arith.addf %up_to_fourth, %state_fifth : f32
        %up_to_fifth = arith.select %has_fifth, %with_fifth, %up_to_fourth : f32
        %with_sixth = arith.addf %up_to_fifth, %state_sixth : f32
        %up_to_sixth = arith.select %has_sixth, %with_sixth, %up_to_fifth : f32
        %with_seventh = arith.addf %up_to_sixth, %state_seventh : f32
        %up_to_seventh = arith.select %has_seventh, %with_seventh, %up_to_sixth : f32
        %with_eighth = arith.addf %up_to_seventh, %state_eighth : f32
        %up_to_eighth = arith.select %has_eighth, %with_eighth, %up_to_seventh : f32
        %to = llvm.getelementptr %states[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        llvm.store %up_to_eighth, %to {alignment = 4} : f32, !llvm.ptr<3>
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

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.anchored import met
from ..compiler.ir.build import barrier, before, enclosing, find, integer, repeat, replace, shared_buffer, when
from ..compiler.ir.combine import pack, unpack, width
from ..compiler.ir.dialect.base import element, int_attr
from ..compiler.ir.mlir import arith, ir, llvm, scf
from ..compiler.plan.plan import ROWS_A_ROUND
from .access.state_buffers import StateBuffers
from .access.thread_loop import short


def _run(module: Any) -> None:
    buffers: dict[Any, list[Any]] = {}
    for op in find(module, "fold.period_reduce"):
        with before(op):
            replace(op, [pack(_PeriodReduction(op, buffers).run())])


class _PeriodReduction:
    """The states of a period in shared memory, and the rounds that combine its rows.

    ``buffers`` holds the names of the buffers that a kernel has already, by kernel.
    """

    def __init__(self, op: Any, buffers: dict[Any, list[Any]]) -> None:
        self.region, self.threads = op.regions[0], int_attr(op, "threads")
        self.thread, self.on, state, self.rows, self.columns, self.lead = op.operands
        self.own = unpack(state)
        types = [element(v.type) for v in self.own]
        self.lanes, self.index = width(self.own[0].type), self.thread.type
        self.states = StateBuffers(_buffers(op, self.threads * self.lanes, types, buffers), types)

    def run(self) -> list[Any]:
        """The state of the thread's column."""
        with when(self.on):
            self.states.store(arith.muli(self.thread, self.number(self.lanes)), self.own)
        barrier()
        self.rounds()
        first = arith.remui(self.lead, self.columns)
        last = arith.subi(self.columns, self.number(1))
        at = arith.addi(first, arith.minsi(self.thread, last))
        beyond = arith.cmpi(arith.CmpIPredicate.sgt, at, last)
        return self.states.load(arith.select(beyond, arith.subi(at, self.columns), at))

    def rounds(self) -> None:
        """A loop that does rounds until one row is left."""
        loop = scf.WhileOp([self.index], [self.rows])
        condition = loop.before.blocks.append(self.index)
        with ir.InsertionPoint(condition):
            (rows,) = condition.arguments
            scf.ConditionOp(arith.cmpi(arith.CmpIPredicate.sgt, rows, self.number(1)), [rows])
        body = loop.after.blocks.append(self.index)
        with ir.InsertionPoint(body):
            (rows,) = body.arguments
            up = arith.addi(rows, self.number(ROWS_A_ROUND - 1))
            left = arith.shrui(up, self.number(ROWS_A_ROUND.bit_length() - 1))
            self.round(*(arith.muli(count, self.columns) for count in (left, rows)))
            barrier()
            scf.YieldOp([left])

    def round(self, left: Any, count: Any) -> None:
        """Combines ``count`` states to the first ``left``: each with those at multiples of ``left`` after it."""
        with repeat(self.thread, left, self.number(self.threads)) as at:
            combined = self.at_once if short(self.region) else self.one_by_one
            self.states.store(at, combined(at, left, count))

    def at_once(self, at: Any, left: Any, count: Any) -> list[Any]:
        """State ``at`` combined with those at multiples of ``left`` after it, all of which are read at once."""
        state, others, other = self.states.load(at), [], at
        for _ in range(ROWS_A_ROUND - 1):
            other = arith.addi(other, left)
            there = arith.cmpi(arith.CmpIPredicate.slt, other, count)
            others.append((there, self.states.load(arith.select(there, other, at))))
        for there, right in others:
            combined = met(self.region, state, right)
            state = [arith.select(there, new, old) for new, old in zip(combined, state, strict=True)]
        return state

    def one_by_one(self, at: Any, left: Any, count: Any) -> list[Any]:
        """State ``at`` combined with those at multiples of ``left`` after it, read one after another."""
        loop = scf.ForOp(arith.addi(at, left), count, left, self.states.load(at))
        with ir.InsertionPoint(loop.body):
            scf.YieldOp(met(self.region, list(loop.inner_iter_args), self.states.load(loop.induction_variable)))
        return list(loop.results)

    # --- building -----------------------------------------------------------------------------------------------------
    def number(self, value: int) -> Any:
        return integer(self.index, value)


def _buffers(op: Any, count: int, types: Sequence[Any], known: dict[Any, list[Any]]) -> list[Any]:
    """A shared array for each value of the state; the kernel's existing ones if it has some."""
    kernel = enclosing(op, "gpu.func")
    if kernel in known:
        return [llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<3>"), name).result for name in known[kernel]]
    made = [shared_buffer(op, "rows", count, t) for t in types]
    known[kernel] = [buffer.owner.attributes["global_name"] for buffer in made]
    return made


PASS = Pass(
    "lower-period-reduce", _run, ("fold.period_reduce",), "combine the rows of a period in shared memory", stage=True
)
