"""Lowers states in tagged words: 64 bits, of which the lower half is of a state, and the upper half says what it is.

A state of several words is there when all of its words are of one kind: an aggregate that is being replaced by a prefix
is neither. Accesses are relaxed atomics of the device.

```mlir before
func.func @pass_on(%words: !llvm.ptr<1>, %at: i32, %on: i1) -> i32 {
  %kind, %state = "fold.seen"(%words, %at) : (!llvm.ptr<1>, i32) -> (i32, f32)
  "fold.leave"(%words, %at, %on, %state) {kind = 2} : (!llvm.ptr<1>, i32, i1, f32) -> ()
  return %kind : i32
}
```

```mlir after
func.func @pass_on(%words: !llvm.ptr<1>, %at: i32, %on: i1) -> i32 {
  %0 = llvm.getelementptr %words[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
  %1 = llvm.load %0 atomic syncscope("device") monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  %c32_i64 = arith.constant 32 : i64
  %2 = arith.shrui %1, %c32_i64 : i64
  %3 = arith.trunci %2 : i64 to i32
  %4 = arith.trunci %1 : i64 to i32
  %5 = arith.bitcast %4 : i32 to f32
  scf.if %on {
    %c8589934592_i64 = arith.constant 8589934592 : i64
    %6 = arith.bitcast %5 : f32 to i32
    %7 = arith.extui %6 : i32 to i64
    %8 = arith.ori %7, %c8589934592_i64 : i64
    %9 = llvm.getelementptr %words[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
    llvm.store %8, %9 atomic syncscope("device") monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
  }
  return %3 : i32
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import address, i32, integer, word_type
from ..compiler.ir.combine import pack, unpack
from ..compiler.ir.dialect.base import int_attr, values
from ..compiler.ir.mlir import arith, ir, llvm, scf

DEVICE = "device"


def _leave(op: Any) -> list[Any]:
    words, at, on, state = op.operands
    branch, long = scf.IfOp(on), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(branch.then_block):
        kind = integer(long, int_attr(op, "kind") << 32)
        for i, piece in enumerate(_pieces(unpack(state))):
            word = arith.ori(arith.extui(long, piece), kind)
            where = address(words, arith.addi(at, integer(at.type, i)) if i else at, long)
            llvm.store(word, where, ordering=llvm.AtomicOrdering.monotonic, syncscope=DEVICE, alignment=8)
        scf.YieldOp([])
    return []


def _seen(op: Any) -> list[Any]:
    words, at = op.operands
    types, long, order = values(op.results[1].type), ir.IntegerType.get_signless(64), llvm.AtomicOrdering.monotonic
    kinds, pieces = [], []
    for i in range(sum(-(-int(t.width) // 32) for t in types)):
        where = address(words, arith.addi(at, integer(at.type, i)) if i else at, long)
        found = llvm.load(long, where, ordering=order, syncscope=DEVICE, alignment=8)
        kinds.append(arith.trunci(word_type(), arith.shrui(found, integer(long, 32))))
        pieces.append(arith.trunci(word_type(), found))
    kind = kinds[0]
    for other in kinds[1:]:
        alike = arith.cmpi(arith.CmpIPredicate.eq, kind, other)
        kind = arith.select(alike, kind, i32(0))
    return [kind, pack(_states(pieces, types))]


def _pieces(state: Sequence[Any]) -> list[Any]:
    """The values of a state in pieces of 32 bits."""
    found, word = [], word_type()
    for v in state:
        bits = int(v.type.width)
        plain = ir.IntegerType.get_signless(bits)
        x = v if isinstance(v.type, ir.IntegerType) else arith.bitcast(plain, v)
        if bits <= 32:
            found.append(x if bits == 32 else arith.extui(word, x))
        else:
            found += [arith.trunci(word, x), arith.trunci(word, arith.shrui(x, integer(plain, 32)))]
    return found


def _states(pieces: Sequence[Any], types: Sequence[Any]) -> list[Any]:
    """The values of a state that these pieces are."""
    found, rest = [], list(pieces)
    for t in types:
        bits = int(t.width)
        plain = ir.IntegerType.get_signless(bits)
        x = rest.pop(0)
        if bits > 32:
            high = arith.shli(arith.extui(plain, rest.pop(0)), integer(plain, 32))
            x = arith.ori(arith.extui(plain, x), high)
        elif bits < 32:
            x = arith.trunci(plain, x)
        found.append(x if isinstance(t, ir.IntegerType) else arith.bitcast(t, x))
    return found


LOWERED = {"fold.leave": _leave, "fold.seen": _seen}
PASS = lowering("lower-tagged-states", LOWERED, "leave states for other CTAs in tagged words")
