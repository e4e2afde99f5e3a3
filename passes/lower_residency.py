"""Lowers rows that wait in shared memory: the copies of a thread's accesses into its slots, and the reads of slots.

A copy is a ``cp.async`` of 4, 8 or 16 bytes, two for an access of 32 bytes. It reads only the bytes in front of the
end of the row and writes zeros behind them, so an access that the end cuts, or one beyond the end, needs no branch. The
thread waits for all its copies where it first reads a slot. There is no barrier where no other thread reads them.

Some accesses take another way: their elements are loaded, and the fragment is stored in the slot.

- An access that begins before the row. It is the first one of a thread, since rows begin at the boundary before. It is
  read as a whole, though, where it lies in the array and no thread writes what lies before the row.
- Accesses to single elements of 1 or 2 bytes, or to several elements that lie apart or begin anywhere.
- All accesses on targets that have no ``cp.async``.

With ``pitch`` the slots of several holds alternate: it is the distance of one slot of a thread from its next one.

With ``walked`` a thread copies the accesses that begin before the end of the row, in a loop, and has as many slots as
the launch gives it.

Where threads read slots of each other, ``fold.arrived`` waits for the copies of all of them: each waits for its own
ones, and then at a barrier. ``fold.slots`` are slots that nothing is copied into.

The slots of all holds of a kernel lie one behind another in dynamic shared memory, of which the launch says the size.
With ``start`` they lie from that byte on, so that holds fill the same slots in turn, as in a loop in which each turn
reads the slots first, and then has them filled for the next one.

Two accesses of four elements in a CTA of 32 threads:

```mlir before
gpu.module @device {
  func.func @wait(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %thread: i32, %n: i32, %one: i32)
      -> vector<4xf32> {
    %slots = "fold.hold"(%x, %row, %begin, %first, %end, %thread, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", step = 128, slots = 2, threads = 32,
       vector = 4, item = 4, whole = false} : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>
    %number = arith.constant 1 : i32
    %second = "fold.held"(%slots, %number) {threads = 32} : (!llvm.ptr<3>, i32) -> vector<4xf32>
    return %second : vector<4xf32>
  }
}
```

```mlir after
gpu.module @device {
  llvm.mlir.global external @held_0() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
  func.func @wait(%x: !llvm.ptr<1>, %row: i32, %begin: i32, %first: i32, %end: i32, %thread: i32, %n: i32, %one: i32)
      -> vector<4xf32> {
    %shared = llvm.mlir.addressof @held_0 : !llvm.ptr<3>
    %c16 = arith.constant 16 : i32
    %before = arith.muli %thread, %c16 : i32
    %slot_0 = llvm.getelementptr %shared[%before] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %row_0 = arith.muli %row, %n : i32
    %at_0 = arith.addi %row_0, %begin : i32
    %from_0 = llvm.getelementptr %x[%at_0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %exists_0 = arith.cmpi slt, %begin, %end : i32
    %all_0 = arith.constant 16 : i32
    %none_0 = arith.constant 0 : i32
    %bytes_0 = arith.select %exists_0, %all_0, %none_0 : i32
    nvvm.cp.async.shared.global %slot_0, %from_0, 16, cache = cg, %bytes_0 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    %step = arith.constant 128 : i32
    %next = arith.addi %begin, %step : i32
    %row_1 = arith.muli %row, %n : i32
    %at_1 = arith.addi %row_1, %next : i32
    %c512 = arith.constant 512 : i32
    %slot_1 = llvm.getelementptr %slot_0[%c512] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %from_1 = llvm.getelementptr %x[%at_1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %exists_1 = arith.cmpi slt, %next, %end : i32
    %all_1 = arith.constant 16 : i32
    %none_1 = arith.constant 0 : i32
    %bytes_1 = arith.select %exists_1, %all_1, %none_1 : i32
    nvvm.cp.async.shared.global %slot_1, %from_1, 16, cache = cg, %bytes_1 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    %number = arith.constant 1 : i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    %slot_bytes = arith.constant 512 : i32
    %distance = arith.muli %number, %slot_bytes : i32
    %slot = llvm.getelementptr %slot_0[%distance] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %c0 = arith.constant 0 : i32
    %where = llvm.getelementptr %slot[%c0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %second = llvm.load %where {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    return %second : vector<4xf32>
  }
}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import before, enclosing, find_each, replace
from ..compiler.ir.dialect.base import int_attr
from ..compiler.ir.mlir import gpu, nvvm
from .access.slots import Hold, Slots, held, is_async

OPS = ("fold.hold", "fold.slots", "fold.arrived", "fold.held")
FUNCTIONS = ("gpu.func", "func.func")


def _run(module: Any) -> None:
    found = find_each(module, OPS)
    holds = found["fold.hold"]
    reading = set(chain.from_iterable(map(_around, (*found["fold.held"], *found["fold.arrived"]))))
    for block in {op.operation.block: None for op in holds}:
        _wait(block, reading)
    sizes: dict[Any, int] = {}
    for op in holds:
        kernel = enclosing(op, *FUNCTIONS)
        with before(op):
            hold = Hold(op, int_attr(op, "start") if "start" in op.attributes else sizes.get(kernel, 0))
            hold.copy()
            replace(op, [hold.place])
        sizes[kernel] = max(hold.end_of_slots, sizes.get(kernel, 0))
    for op in found["fold.slots"]:
        kernel = enclosing(op, *FUNCTIONS)
        with before(op):
            own = Slots(op, op.operands[0], sizes.get(kernel, 0))
            replace(op, [own.place])
        sizes[kernel] = own.end_of_slots
    for op in found["fold.held"]:
        with before(op):
            replace(op, [held(op)])
    for op in found["fold.arrived"]:
        with before(op):
            gpu.barrier()
            replace(op, [])


def _around(op: Any) -> Iterator[Any]:
    """An op, and those that it is in."""
    while op is not None:
        yield op.operation
        op = op.operation.parent


def _wait(block: Any, reading: set[Any]) -> None:
    """Waits for the copies of a block's holds before the first op that reads a slot, or that one is in.

    In a loop that is also before those that read what the turn before had copied.
    """
    pending, later, first = False, False, None
    for op in [o.operation for o in block.operations]:
        if op.name == "fold.hold":
            if "later" in op.attributes:  # not to be waited for in this turn
                first, later = first or op, True
            else:
                pending = pending or is_async(op)
        elif op in reading:
            first = first or op
            if pending:
                _wait_before(op)
            pending = False
    if (pending or later) and first and block.owner.name == "scf.for":
        _wait_before(first)
        _wait_before(_next_of(block.owner))  # before anything else fills these slots


def _next_of(op: Any) -> Any:
    """The op that follows one."""
    ops = [o.operation for o in op.operation.block.operations]
    return ops[ops.index(op.operation) + 1]


def _wait_before(op: Any) -> None:
    """Waits for all copies before an op."""
    with before(op):
        nvvm.cp_async_commit_group()
        nvvm.cp_async_wait_group(0)


PASS = Pass(
    "lower-residency",
    _run,
    OPS,
    "copy what waits into slots of shared memory, and read it there",
)
