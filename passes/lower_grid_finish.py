"""Lowers the grid stage: the CTAs that share results combine their states.

``two_kernels`` and ``last_block`` store states in the array [parts][n_kept] of partials. With ``last_block`` every CTA
then takes a ticket from the counter of its tile. ``atom.inc`` wraps to zero at the last ticket, so the counter is ready
for the next launch. The barriers around the ticket and its memory order (acquire and release) make all partials visible
to the last CTA: no thread needs a fence of its own.
``atomic`` combines into [n_kept] cells, which the launch has set to the identity.

The shortest of the three, ``atomic``:

```mlir before
func.func @meet(%part: i32, %parts: i32, %kept: i32, %n_kept: i32, %on: i1, %mine: i32, %cells: !llvm.ptr<1>) {
  "fold.grid_finish"(%part, %parts, %kept, %n_kept, %on, %mine, %cells) ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    "fold.yield"(%c) : (i32) -> ()
  }, {
    "fold.yield"() : () -> ()
  }) {finish = "atomic"} : (i32, i32, i32, i32, i1, i32, !llvm.ptr<1>) -> ()
  func.return
}
```

```mlir after
func.func @meet(%part: i32, %parts: i32, %kept: i32, %n_kept: i32, %on: i1, %mine: i32, %cells: !llvm.ptr<1>) {
  scf.if %on {
    %c0 = arith.constant 0 : i32
    %at = arith.addi %kept, %c0 : i32
    %where = llvm.getelementptr %cells[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %old = llvm.atomicrmw add %where, %mine syncscope("device") monotonic {alignment = 4} : !llvm.ptr<1>, i32
  }
  func.return
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.errors import error
from ..compiler.ir.build import (
    address,
    barrier,
    bytes_of,
    i32,
    integer,
    shared_buffer,
    store,
    when,
    word_type,
)
from ..compiler.ir.combine import elements, single_op, unpack
from ..compiler.ir.dialect.base import str_attr
from ..compiler.ir.dialect.grid import GRID_FINISHES
from ..compiler.ir.mlir import arith, gpu, ir, llvm, scf

ATOMICS = {
    "arith.addi": "add", "arith.andi": "_and", "arith.ori": "_or", "arith.xori": "_xor",
    "arith.addf": "fadd", "arith.maxsi": "max", "arith.minsi": "min", "arith.maxui": "umax", "arith.minui": "umin",
}  # fmt: skip
"""Combines for which the hardware has an atomic. The result of a float sum depends on their order: the planner chooses
``atomic`` for it only if its bits need not be fixed."""
DEVICE = "device"


def _lowered(op: Any) -> list[Any]:
    part, parts, kept, n_kept, on, state, *pointers = op.operands
    finish = str_attr(op, "finish", GRID_FINISHES)
    values = unpack(state)
    with when(on):
        start = kept if finish == "atomic" else arith.addi(arith.muli(part, n_kept), kept)
        for pointer, v in zip(pointers, values, strict=False):
            _atomic(op, v, pointer, start) if finish == "atomic" else store(v, pointer, start)
    if finish == "last_block":
        _last_block(op, pointers[-1], parts)
    return []


def _atomic(op: Any, v: Any, pointer: Any, start: Any) -> None:
    name = single_op(op.regions[0])
    if name not in ATOMICS:
        what = f"an atomic of {name}" if name else "an atomic of several operations"
        raise error("WF321", stage="lower-grid-finish", op=what, dtype=str(v.type))
    kind = getattr(llvm.AtomicBinOp, ATOMICS[name])
    for j, x in enumerate(elements(v)):
        cell = address(pointer, arith.addi(start, integer(start.type, j)), x.type)
        llvm.atomicrmw(kind, cell, x, llvm.AtomicOrdering.monotonic, syncscope=DEVICE, alignment=bytes_of(x.type))


def _last_block(op: Any, counters: Any, parts: Any) -> None:
    """Runs the region ``last`` in the CTA that takes the last ticket of its tile."""
    word = word_type()
    barrier()
    flag = shared_buffer(op, "ticket", 1, word)
    leader = arith.cmpi(arith.CmpIPredicate.eq, arith.index_cast(word, gpu.thread_id(gpu.Dimension.x)), i32(0))
    limit = arith.subi(_word(parts), i32(1))
    with when(leader):
        tile = arith.index_cast(word, gpu.block_id(gpu.Dimension.x))
        cell = address(counters, tile, word)
        ticket = llvm.atomicrmw(
            llvm.AtomicBinOp.uinc_wrap, cell, limit, llvm.AtomicOrdering.acq_rel, syncscope=DEVICE, alignment=4
        )
        store(ticket, flag, i32(0))
    barrier()
    ticket = llvm.load(word, address(flag, i32(0), word), alignment=4)
    last = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, ticket, limit))
    with ir.InsertionPoint(last.then_block):
        end = scf.YieldOp([])
    for inner in [o.operation for o in op.regions[1].blocks[0].operations]:
        if inner.name != "fold.yield":
            inner.move_before(end.operation)


def _word(x: Any) -> Any:
    word = word_type()
    return x if x.type == word else arith.trunci(word, x)


PASS = lowering(
    "lower-grid-finish", {"fold.grid_finish": _lowered}, "bring the CTAs of the grid together",
    stage=True, also=("fold.yield",),
)  # fmt: skip
