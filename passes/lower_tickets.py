"""Lowers tickets and the counters between CTAs: one thread of a CTA counts, and barriers tell the others.

- ``fold.ticket``: ``atom.inc`` wraps to zero at the last ticket, so the counter is ready for the next launch.
- ``fold.share``: a word of shared memory, and a barrier behind it. What a CTA does between two of these ops has another
  barrier, so that all threads have read the word before it is written again.
- ``fold.arrive``: a barrier, an ``atom.inc`` that releases what all threads of the CTA wrote before it, and acquires
  what the CTAs that arrived before released. Whether it was the last one goes through a word of shared memory.
- ``fold.signal``: a barrier, and an ``atom.inc`` that releases what all threads of the CTA wrote before it.
- ``fold.await``: one thread reads the counter, with acquire order, until it has the signal, and sleeps between two
  reads. Then it counts the wait. A barrier follows.

A counter goes from zero to ``count`` with those that arrive, one further with the signal of the last of them, and on
with ``count`` waits, the last of which sets it to zero. Where ``all`` signal, none arrives. Where CTAs arrive
``alone``, one warp of each does so without a barrier, none signals or waits, and the last of them sets the counter to
zero. So it does where they arrive ``once``, all threads of each.

```mlir before
func.func @wait(%counters: !llvm.ptr<1>, %number: i32, %count: i32) {
  "fold.await"(%counters, %number, %count) : (!llvm.ptr<1>, i32, i32) -> ()
  func.return
}
```

```mlir after
func.func @wait(%counters: !llvm.ptr<1>, %number: i32, %count: i32) {
  %thread = gpu.thread_id x
  %word = arith.index_cast %thread : index to i32
  %zero = arith.constant 0 : i32
  %leads = arith.cmpi eq, %word, %zero : i32
  scf.if %leads {
    %cell = llvm.getelementptr %counters[%number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    scf.while : () -> () {
      %seen = llvm.load %cell atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
      %waits = arith.cmpi ule, %seen, %count : i32
      scf.condition(%waits)
    } do {
      %pause = arith.constant 64 : i32
      nvvm.nanosleep %pause
      scf.yield
    }
    %two = arith.constant 2 : i32
    %last = arith.muli %count, %two : i32
    %old = llvm.atomicrmw uinc_wrap %cell, %last syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr<1>, i32
  }
  gpu.barrier
  func.return
}
```
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import (
    address,
    as_word,
    barrier,
    i32,
    load,
    shared_buffer,
    store,
    when,
    word_type,
)
from ..compiler.ir.lane_exchange import lane_id, of_lane
from ..compiler.ir.mlir import arith, gpu, ir, llvm, nvvm, scf

DEVICE = "device"
PAUSE = 64
"""Nanoseconds that a thread sleeps at most between two reads of a counter."""


def _ticket(op: Any) -> list[Any]:
    counter, count = op.operands
    branch = scf.IfOp(_is_first_thread(), [word_type()], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        last = arith.subi(as_word(count), i32(1))
        scf.YieldOp([_increment(counter, last, llvm.AtomicOrdering.monotonic)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([i32(0)])
    return [_resized(branch.results[0], op.results[0].type)]


def _share(op: Any) -> list[Any]:
    (number,) = op.operands
    return [_resized(_shared(op, lambda: as_word(number)), op.results[0].type)]


def _shared(op: Any, make: Callable[[], Any]) -> Any:
    """A word that the first thread of the CTA makes, in all of its threads."""
    shared = shared_buffer(op, "ticket", 1, word_type())
    _first_thread(lambda: store(make(), shared, i32(0)))
    barrier()
    return load(shared, i32(0), word_type())


def _arrive(op: Any) -> list[Any]:
    counters, number, count = op.operands
    if "alone" in op.attributes:
        return _arrive_alone(op)

    def arrive() -> Any:
        cell = address(counters, number, word_type())
        last = arith.subi(as_word(count), i32(1)) if "once" in op.attributes else _last(count)
        return _increment(cell, last, llvm.AtomicOrdering.acq_rel)

    barrier()
    before = _shared(op, arrive)
    return [arith.cmpi(arith.CmpIPredicate.eq, before, arith.subi(as_word(count), i32(1)))]


def _arrive_alone(op: Any) -> list[Any]:
    """The first lane of the warp counts, and tells the others whether its CTA is the last one."""
    counters, number, count = op.operands
    last, lane = arith.subi(as_word(count), i32(1)), lane_id()
    branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, lane, i32(0)), [word_type()], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        cell = address(counters, number, word_type())
        scf.YieldOp([_increment(cell, last, llvm.AtomicOrdering.acq_rel)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([i32(0)])
    before = of_lane(branch.results[0], i32(0))
    nvvm.bar_warp_sync(i32(-1))  # by which the others acquire, too
    return [arith.cmpi(arith.CmpIPredicate.eq, before, last)]


def _signal(op: Any) -> list[Any]:
    counters, number, count = op.operands
    all_signal = "all" in op.attributes

    def signal() -> None:
        cell = address(counters, number, word_type())
        _increment(cell, _last(count, all_signal=all_signal), llvm.AtomicOrdering.release)

    barrier()
    _first_thread(signal)
    return []


def _await(op: Any) -> list[Any]:
    counters, number, count = op.operands

    all_signal = "all" in op.attributes

    def wait() -> None:
        cell = address(counters, number, word_type())
        _spin(cell, arith.subi(as_word(count), i32(1)) if all_signal else as_word(count))
        _increment(cell, _last(count, all_signal=all_signal), llvm.AtomicOrdering.monotonic)

    _first_thread(wait)
    barrier()
    return []


def _first_thread(make: Callable[[], Any]) -> None:
    """What the first thread of the CTA does."""
    with when(_is_first_thread()):
        make()


def _is_first_thread() -> Any:
    thread = arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
    return arith.cmpi(arith.CmpIPredicate.eq, thread, i32(0))


def _spin(cell: Any, count: Any) -> None:
    """Reads a counter until it is more than ``count``."""
    loop = scf.WhileOp([], [])
    with ir.InsertionPoint(loop.before.blocks.append()):
        order = llvm.AtomicOrdering.acquire
        seen = llvm.load(word_type(), cell, ordering=order, syncscope=DEVICE, alignment=4)
        scf.ConditionOp(arith.cmpi(arith.CmpIPredicate.ule, seen, count), [])
    with ir.InsertionPoint(loop.after.blocks.append()):
        nvvm.nanosleep(i32(PAUSE))
        scf.YieldOp([])


def _last(count: Any, *, all_signal: bool = False) -> Any:
    """The value after which a counter wraps: ``count`` CTAs arrive, one signals, or ``all_signal``; ``count`` wait."""
    twice = arith.muli(as_word(count), i32(2))
    return arith.subi(twice, i32(1)) if all_signal else twice


def _increment(cell: Any, last: Any, order: Any) -> Any:
    """Adds one to a counter, which wraps to zero after ``last``; gives what it was."""
    return llvm.atomicrmw(llvm.AtomicBinOp.uinc_wrap, cell, last, order, syncscope=DEVICE, alignment=4)


def _resized(word: Any, t: Any) -> Any:
    return word if word.type == t else arith.extui(t, word)


LOWERED = {
    "fold.ticket": _ticket, "fold.share": _share, "fold.arrive": _arrive, "fold.signal": _signal, "fold.await": _await,
}  # fmt: skip
PASS = lowering("lower-tickets", LOWERED, "take work by tickets, and wait for work with smaller ones")
