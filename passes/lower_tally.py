"""Lowers scattered sums: counters of a CTA in shared memory, and the atomics to them and to those of the grid.

Integers are added, so the bits of a sum do not depend on the order of the atomics.

- ``fold.counters``: a buffer that all threads clear, and a barrier.
- ``fold.tally``: for each element a branch with an atomic of the CTA, or of the grid if the counters lie there.
- ``fold.spill``: a barrier; then each thread adds up the copies of some counters, and adds what is not zero to those of
  the grid.

```mlir before
func.func @add(%value: i32, %index: i32, %live: i1, %buffer: !llvm.ptr<3>, %start: i32, %limit: i32) -> i64 {
  %zero = "fold.tally"(%value, %index, %live, %buffer, %start, %limit)
    : (i32, i32, i1, !llvm.ptr<3>, i32, i32) -> i64
  return %zero : i64
}
```

```mlir after
func.func @add(%value: i32, %index: i32, %live: i1, %buffer: !llvm.ptr<3>, %start: i32, %limit: i32) -> i64 {
  %inside = arith.cmpi ult, %index, %limit : i32
  %counts = arith.andi %live, %inside : i1
  scf.if %counts {
    %at = arith.addi %start, %index : i32
    %cell = llvm.getelementptr %buffer[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %old = llvm.atomicrmw add %cell, %value syncscope("block") monotonic {alignment = 4 : i64} : !llvm.ptr<3>, i32
  }
  %zero = arith.constant 0 : i64
  return %zero : i64
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import (
    address,
    as_word,
    barrier,
    bytes_of,
    i32,
    integer,
    load,
    repeat,
    shared_buffer,
    store,
    when,
    word_type,
)
from ..compiler.ir.combine import constant, elements
from ..compiler.ir.dialect.base import SHARED, int_attr
from ..compiler.ir.mlir import arith, gpu, ir, llvm

CTA, DEVICE = "block", "device"


def _counters(op: Any) -> list[Any]:
    t, count = _type(op), int_attr(op, "count") * int_attr(op, "copies")
    buffer = shared_buffer(op, "counters", count, t)

    def clear(number: Any) -> None:
        store(integer(t, 0), buffer, number)

    _each(i32(count), clear)
    barrier()
    return [buffer]


def _tally(op: Any) -> list[Any]:
    values, indices, lives = (elements(v) for v in list(op.operands)[:3])
    buffer, start, limit = list(op.operands)[3:]
    start, limit = as_word(start), as_word(limit)
    for value, index, live in zip(values, indices, lives, strict=True):
        inside = arith.cmpi(arith.CmpIPredicate.ult, index, limit)
        with when(arith.andi(live, inside)):
            _add(value, buffer, arith.addi(start, index))
    t = op.results[0].type
    return [constant(_zero(t), 1) if not isinstance(t, ir.VectorType) else arith.constant(t, _zero(t))]


def _zero(t: Any) -> Any:
    if isinstance(t, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(t, ir.IntegerAttr.get(t.element_type, 0))
    return ir.IntegerAttr.get(t, 0)


def _spill(op: Any) -> list[Any]:
    buffer, cells, limit = op.operands
    t, count = _type(op), int_attr(op, "count")
    long = ir.IntegerType.get_signless(64)

    def add(number: Any) -> None:
        places = [arith.addi(number, i32(count * c)) if c else number for c in range(int_attr(op, "copies"))]
        total = None
        for place in places:
            own = load(buffer, place, t)
            total = own if total is None else arith.addi(total, own)
        with when(arith.cmpi(arith.CmpIPredicate.ne, total, integer(t, 0))):
            _add(total if t == long else arith.extui(long, total), cells, number)

    barrier()
    _each(as_word(limit), add)
    return []


def _each(count: Any, make: Any) -> None:
    """What ``make`` makes for each number below ``count``, shared by the threads of the CTA."""
    thread, threads = (arith.index_cast(word_type(), of(gpu.Dimension.x)) for of in (gpu.thread_id, gpu.block_dim))
    with repeat(thread, count, threads) as i:
        make(i)


def _add(value: Any, base: Any, index: Any) -> None:
    """An atomic addition to an array of integers."""
    scope = CTA if str(base.type) == SHARED else DEVICE
    if scope == DEVICE and value.type == word_type():
        value = arith.extui(ir.IntegerType.get_signless(64), value)
    cell, order = address(base, index, value.type), llvm.AtomicOrdering.monotonic
    llvm.atomicrmw(llvm.AtomicBinOp.add, cell, value, order, syncscope=scope, alignment=bytes_of(value.type))


def _type(op: Any) -> Any:
    return ir.IntegerType.get_signless(int_attr(op, "bits"))


LOWERED = {"fold.counters": _counters, "fold.tally": _tally, "fold.spill": _spill}
"""What lowers each op: it returns what takes the place of its results."""
PASS = lowering("lower-tally", LOWERED, "add elements to counters, and those to the grid's")
