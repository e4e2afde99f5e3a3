"""Lowers the CTA stage without shuffles: all positions leave their states in a buffer, where rounds combine them.

The buffer has the shape [rows][slots], with a row for each position, and there is one buffer for each value of the
state. It lies in shared memory, or in global memory if the op has scratch operands. In every round the working threads
take a branch, and a barrier follows. The method says which threads work, and at which distance:

- ``serial``: position 0 combines one row after another.
- ``interleaved``: distances 1, 2, 4, ...; positions that are multiples of twice the distance work.
- ``sequential``: distances rows/2, rows/4, ..., 1; positions below the distance work. If order counts, a position
  leaves its state in the row whose number is its own with the bits reversed, so that rows that meet hold neighbours.
- ``warp_sync``: as ``sequential``, until the remaining positions lie in one warp. Then only that warp goes on, with
  warp barriers.
- ``unrolled``: as ``warp_sync``, with distances that are compile-time constants.

Thread 0 combines the states of four threads:

```mlir before
gpu.module @device {
  func.func @meet(%position: i32, %slot: i32, %mine: f32) -> f32 {
    %ours = "fold.cta_reduce"(%position, %slot, %mine) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {method = "serial", rows = 4, lanes = 4, slots = 1, ordered = false} : (i32, i32, f32) -> f32
    return %ours : f32
  }
}
```

```mlir after
gpu.module @device {
  llvm.mlir.global internal @states_0() {addr_space = 3 : i32, alignment = 16} : !llvm.array<4 x f32>
  func.func @meet(%position: i32, %slot: i32, %mine: f32) -> f32 {
    %buffer = llvm.mlir.addressof @states_0 : !llvm.ptr<3>
    %slots_0 = arith.constant 1 : i32
    %row_0 = arith.muli %position, %slots_0 : i32
    %at_0 = arith.addi %row_0, %slot : i32
    %where_0 = llvm.getelementptr %buffer[%at_0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %mine, %where_0 {alignment = 4} : f32, !llvm.ptr<3>
    gpu.barrier
    %zero = arith.constant 0 : i32
    %leads = arith.cmpi eq, %position, %zero : i32
    scf.if %leads {
      %first = arith.constant 0 : i32
      %slots_1 = arith.constant 1 : i32
      %row_1 = arith.muli %first, %slots_1 : i32
      %at_1 = arith.addi %row_1, %slot : i32
      %where_1 = llvm.getelementptr %buffer[%at_1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %left = llvm.load %where_1 {alignment = 4} : !llvm.ptr<3> -> f32
      %next = arith.constant 1 : i32
      %rows = arith.constant 4 : i32
      %step = arith.constant 1 : i32
      %all = scf.for %i = %next to %rows step %step iter_args(%so_far = %left) -> (f32) : i32 {
        %slots_2 = arith.constant 1 : i32
        %row_2 = arith.muli %i, %slots_2 : i32
        %at_2 = arith.addi %row_2, %slot : i32
        %where_2 = llvm.getelementptr %buffer[%at_2] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
        %right = llvm.load %where_2 {alignment = 4} : !llvm.ptr<3> -> f32
        %both = arith.addf %so_far, %right : f32
        scf.yield %both : f32
      }
      %into = arith.constant 0 : i32
      %slots_3 = arith.constant 1 : i32
      %row_3 = arith.muli %into, %slots_3 : i32
      %at_3 = arith.addi %row_3, %slot : i32
      %where_3 = llvm.getelementptr %buffer[%at_3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      llvm.store %all, %where_3 {alignment = 4} : f32, !llvm.ptr<3>
    }
    gpu.barrier
    %from = arith.constant 0 : i32
    %slots_4 = arith.constant 1 : i32
    %row_4 = arith.muli %from, %slots_4 : i32
    %at_4 = arith.addi %row_4, %slot : i32
    %where_4 = llvm.getelementptr %buffer[%at_4] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %ours = llvm.load %where_4 {alignment = 4} : !llvm.ptr<3> -> f32
    return %ours : f32
  }
}
```
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import address, barrier, i32, integer, repeat, shared_buffer, when
from ..compiler.ir.combine import combine, pack, unpack
from ..compiler.ir.dialect.base import bool_attr, element, int_attr, str_attr
from ..compiler.ir.dialect.stages import METHODS
from ..compiler.ir.mlir import arith, gpu, ir, llvm, nvvm, scf
from .access.state_buffers import StateBuffers

IN_ONE_WARP = ("warp_sync", "unrolled")
"""Methods whose last rounds one warp does alone."""


class _CtaReduction:
    """The states of a CTA's positions in memory, and the rounds that combine them."""

    def __init__(self, op: Any) -> None:
        self.region, self.method = op.regions[0], str_attr(op, "method", METHODS)
        self.rows, self.lanes, slots = (int_attr(op, name) for name in ("rows", "lanes", "slots"))
        self.position, slot, state, *scratch = op.operands
        self.own, self.index = unpack(state), self.position.type
        self.types = [v.type for v in self.own]
        cells, scalars = self.rows * slots, [element(t) for t in self.types]
        if scratch:
            buffers = [_slice(p, cells, t) for p, t in zip(scratch, scalars, strict=True)]
        else:
            buffers = [shared_buffer(op, "states", cells, t) for t in scalars]
        self.states = StateBuffers(buffers, self.types, slots, slot)
        self.reverses = bool_attr(op, "ordered") and self.method not in ("serial", "interleaved")

    def run(self) -> list[Any]:
        """The combined state, in the threads of position 0 at least."""
        self.states.store(self.reversed(self.position) if self.reverses else self.position, self.own)
        barrier()
        if self.method == "serial":
            self.serial()
        elif self.method == "interleaved":
            self.interleaved()
        else:
            last = self.lanes if self.method in IN_ONE_WARP else 1
            self.halving(self.rows, last, barrier)
            if last > 1:
                return self.one_warp(last)
        return self.states.load(self.number(0))

    # --- the methods ------------------------------------------------------------------------------------------------
    def serial(self) -> None:
        with when(arith.cmpi(arith.CmpIPredicate.eq, self.position, self.number(0))):
            first = self.states.load(self.number(0))
            loop = scf.ForOp(self.number(1), self.number(self.rows), self.number(1), first)
            with ir.InsertionPoint(loop.body):
                scf.YieldOp(combine(self.region, list(loop.inner_iter_args), self.states.load(loop.induction_variable)))
            self.states.store(self.number(0), list(loop.results))
        barrier()

    def interleaved(self) -> None:
        def round_(step: Any) -> None:
            distance = arith.shli(self.number(1), step)
            below = arith.subi(arith.shli(distance, self.number(1)), self.number(1))
            rest = arith.andi(self.position, below)
            self.take(distance, arith.cmpi(arith.CmpIPredicate.eq, rest, self.number(0)))
            barrier()

        self.loop(self.rows, round_)

    def halving(self, rows: int, last: int, wait: Callable[[], None]) -> None:
        """The rounds that reduce ``rows`` states to ``last``."""

        def round_(distance: Any) -> None:
            self.take(distance, arith.cmpi(arith.CmpIPredicate.ult, self.position, distance))
            wait()

        if self.method != "unrolled":
            half = self.number(rows // 2)
            return self.loop(rows // last, lambda step: round_(arith.shrui(half, step)))
        while rows > last:
            rows //= 2
            round_(self.number(rows))
        return None

    def one_warp(self, rows: int) -> list[Any]:
        """The rounds of the first warp; other warps are done, and keep their states."""
        first = arith.cmpi(arith.CmpIPredicate.ult, self.position, self.number(rows))
        branch = scf.IfOp(first, self.types, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self.halving(rows, 1, _wait_for_warp)
            scf.YieldOp(self.states.load(self.number(0)))
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(self.own)
        return list(branch.results)

    def take(self, distance: Any, on: Any) -> None:
        """Threads whose flag ``on`` is set combine their row with the row at ``distance``."""
        with when(on):
            left, right = self.states.load(self.position), self.states.load(arith.addi(self.position, distance))
            self.states.store(self.position, combine(self.region, left, right))

    # --- building -----------------------------------------------------------------------------------------------------
    def loop(self, rows: int, round_: Callable[[Any], None]) -> None:
        """A loop over the rounds that reduce ``rows`` states to one; ``round_`` gets the number of the round."""
        with repeat(self.number(0), self.number(rows.bit_length() - 1), self.number(1)) as i:
            round_(i)

    def reversed(self, row: Any) -> Any:
        """The number of a row with its bits reversed."""
        bits = self.rows.bit_length() - 1
        return arith.shrui(llvm.intr_bitreverse(row), self.number(self.index.width - bits))

    def number(self, value: int) -> Any:
        return integer(self.index, value)


def _slice(scratch: Any, cells: int, t: Any) -> Any:
    """The address of this CTA's part of ``scratch``, which has ``cells`` elements for each CTA."""
    wide = ir.IntegerType.get_signless(64)
    x, y, width = gpu.block_id(gpu.Dimension.x), gpu.block_id(gpu.Dimension.y), gpu.grid_dim(gpu.Dimension.x)
    cta = arith.addi(arith.muli(arith.index_cast(wide, y), arith.index_cast(wide, width)), arith.index_cast(wide, x))
    return address(scratch, arith.muli(cta, integer(wide, cells)), t)


def _wait_for_warp() -> None:
    nvvm.bar_warp_sync(i32(-1))


PASS = lowering(
    "lower-cta-reduce", {"fold.cta_reduce": lambda op: [pack(_CtaReduction(op).run())]},
    "combine the states of a CTA's threads in memory", stage=True,
)  # fmt: skip
