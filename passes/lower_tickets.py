"""Lowers tickets and the counters between CTAs: one thread of a CTA counts, and barriers tell the others.

- ``fold.ticket``: ``atom.inc`` wraps to zero at the last ticket, so the counter is ready for the next launch.
- ``fold.share``: a word of shared memory between two barriers. The first one lets all threads read the word, and what
  else is in shared memory, before it is written again.
- ``fold.signal``: a barrier, and an ``atom.inc`` that releases what all threads of the CTA wrote before it.
- ``fold.await``: one thread reads the counter, with acquire order, until it has all signals, and sleeps between two
  reads. Then it counts the wait: the counter goes from zero to ``count`` with the signals, and on to twice ``count``
  with the waits, where it wraps to zero. A barrier follows.

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
      %waits = arith.cmpi ult, %seen, %count : i32
      scf.condition(%waits)
    } do {
      %pause = arith.constant 64 : i32
      nvvm.nanosleep %pause
      scf.yield
    }
    %two = arith.constant 2 : i32
    %all = arith.muli %count, %two : i32
    %one = arith.constant 1 : i32
    %last = arith.subi %all, %one : i32
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

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import address, barrier, before, find_each, i32, load, replace, shared_buffer, store, word_type
from ..compiler.ir.mlir import arith, gpu, ir, llvm, nvvm, scf

DEVICE = "device"
PAUSE = 64
"""Nanoseconds that a thread sleeps at most between two reads of a counter."""


def _run(module: Any) -> None:
    found = find_each(module, LOWERED)
    for name, lower in LOWERED.items():
        for op in found[name]:
            with before(op):
                replace(op, lower(op))


def _ticket(op: Any) -> list[Any]:
    counter, count = op.operands
    branch = scf.IfOp(_is_first_thread(), [word_type()], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        last = arith.subi(_word(count), i32(1))
        scf.YieldOp([_increment(counter, last, llvm.AtomicOrdering.monotonic)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([i32(0)])
    return [_resized(branch.results[0], op.results[0].type)]


def _share(op: Any) -> list[Any]:
    (number,) = op.operands
    shared = shared_buffer(op, "ticket", 1, word_type())
    barrier()
    _first_thread(lambda: store(_word(number), shared, i32(0)))
    barrier()
    return [_resized(load(shared, i32(0), word_type()), op.results[0].type)]


def _signal(op: Any) -> list[Any]:
    counters, number, count = op.operands
    barrier()
    _first_thread(lambda: _increment(address(counters, number, word_type()), _last(count), llvm.AtomicOrdering.release))
    return []


def _await(op: Any) -> list[Any]:
    counters, number, count = op.operands

    def wait() -> None:
        cell = address(counters, number, word_type())
        _spin(cell, _word(count))
        _increment(cell, _last(count), llvm.AtomicOrdering.monotonic)

    _first_thread(wait)
    barrier()
    return []


def _first_thread(make: Callable[[], Any]) -> None:
    """What the first thread of the CTA does."""
    branch = scf.IfOp(_is_first_thread())
    with ir.InsertionPoint(branch.then_block):
        make()
        scf.YieldOp([])


def _is_first_thread() -> Any:
    thread = arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
    return arith.cmpi(arith.CmpIPredicate.eq, thread, i32(0))


def _spin(cell: Any, count: Any) -> None:
    """Reads a counter until it is at least ``count``."""
    loop = scf.WhileOp([], [])
    with ir.InsertionPoint(loop.before.blocks.append()):
        order = llvm.AtomicOrdering.acquire
        seen = llvm.load(word_type(), cell, ordering=order, syncscope=DEVICE, alignment=4)
        scf.ConditionOp(arith.cmpi(arith.CmpIPredicate.ult, seen, count), [])
    with ir.InsertionPoint(loop.after.blocks.append()):
        nvvm.nanosleep(i32(PAUSE))
        scf.YieldOp([])


def _last(count: Any) -> Any:
    """The value at which a counter wraps: as many CTAs signal it as wait for it."""
    return arith.subi(arith.muli(_word(count), i32(2)), i32(1))


def _increment(cell: Any, last: Any, order: Any) -> Any:
    """Adds one to a counter, which wraps to zero after ``last``; gives what it was."""
    return llvm.atomicrmw(llvm.AtomicBinOp.uinc_wrap, cell, last, order, syncscope=DEVICE, alignment=4)


def _word(x: Any) -> Any:
    return x if x.type == word_type() else arith.trunci(word_type(), x)


def _resized(word: Any, t: Any) -> Any:
    return word if word.type == t else arith.extui(t, word)


LOWERED = {"fold.ticket": _ticket, "fold.share": _share, "fold.signal": _signal, "fold.await": _await}
PASS = Pass("lower-tickets", _run, tuple(LOWERED), "take work by tickets, and wait for work with smaller ones")
