"""The way into shared memory: a CTA copies the run of memory that holds the elements of its results.

The copy is made of aligned accesses of 16 bytes, up to four of them in flight a thread, from the boundary before the
run to the one after it. Those that would leave the array's memory, at most one at each of its ends, are copied element
by element.

A CTA of 256 threads copies rows of f32:

```mlir before
gpu.module @device {
  func.func @into_shared(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32) -> i32 {
    %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 1024, threads = 256}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    return %origin : i32
  }
}
```

```mlir after
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.build import address, before, find, integer, load, replace, shared_buffer, store
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith, ir, llvm, scf
from ..compiler.pipeline import Pass

ACCESS = 16
"""Bytes of an access, and what its address is a multiple of."""
IN_FLIGHT = 4
"""Accesses in flight a thread: 256 threads copy 16 KiB in one go."""


def _run(module: Any) -> None:
    for op in find(module, "fold.tile_copy"):
        with before(op):
            replace(op, _Copy(op).run())


class _Copy:
    """One copy. Indices count elements, and accesses from the one that holds the first element."""

    def __init__(self, op: Any) -> None:
        self.base, self.begin, length, self.extent, self.thread = op.operands
        self.item, self.threads, self.index = attribute(op, "item"), attribute(op, "threads"), self.begin.type
        self.element = ir.IntegerType.get_signless(8 * self.item)
        self.each = ACCESS // self.item
        self.end = arith.minsi(arith.addi(self.begin, length), self.extent)
        self.origin = arith.subi(self.begin, self._lead())
        word = ir.IntegerType.get_signless(32)
        self.vector = ir.VectorType.get([ACCESS // 4], word)
        self.copy = shared_buffer(op, "tile", attribute(op, "bytes") // 4, word)

    def number(self, value: int) -> Any:
        return integer(self.index, value)

    def _lead(self) -> Any:
        """How many elements the run begins after a boundary of ``ACCESS`` bytes."""
        i64 = ir.IntegerType.get_signless(64)
        start = llvm.ptrtoint(i64, address(self.base, self.begin, self.element))
        place = arith.trunci(ir.IntegerType.get_signless(32), start)
        within = arith.andi(place, integer(place.type, ACCESS - 1))
        lead = arith.shrui(within, integer(place.type, self.item.bit_length() - 1))
        return lead if self.index.width == 32 else arith.extui(self.index, lead)

    def run(self) -> list[Any]:
        """The copy and its origin."""
        each, span = self.number(self.each), arith.subi(self.end, self.origin)
        log = self.number(self.each.bit_length() - 1)
        count = arith.shrui(arith.addi(span, self.number(self.each - 1)), log)
        zero = self.number(0)
        early = arith.cmpi(arith.CmpIPredicate.slt, self.origin, zero)
        after = arith.addi(self.origin, arith.muli(count, each))
        late = arith.cmpi(arith.CmpIPredicate.sgt, after, self.extent)
        first = arith.extui(self.index, early)
        last = arith.subi(count, arith.extui(self.index, late))
        self.accesses(first, last)
        self.elements(early, self.origin)
        self.elements(late, arith.subi(after, each))
        return [self.copy, self.origin]

    def accesses(self, first: Any, last: Any) -> None:
        """Copies the accesses from ``first`` to ``last``."""
        source = address(self.base, self.origin, self.element)
        greatest = arith.subi(last, self.number(1))
        loop = scf.ForOp(arith.addi(first, self.thread), last, self.number(self.threads * IN_FLIGHT))
        with ir.InsertionPoint(loop.body):
            v = loop.induction_variable
            places = [arith.addi(v, self.number(u * self.threads)) if u else v for u in range(IN_FLIGHT)]
            read = [load(source, self.word(arith.minsi(p, greatest)), self.vector, invariant=True) for p in places]
            for p, x in zip(places, read, strict=True):
                there = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, p, last))
                with ir.InsertionPoint(there.then_block):
                    store(x, self.copy, self.word(p))
                    scf.YieldOp([])
            scf.YieldOp([])

    def word(self, access: Any) -> Any:
        return arith.muli(access, self.number(ACCESS // 4))

    def elements(self, on: Any, start: Any) -> None:
        """Copies the elements of the access that begins at ``start``, a thread each; in place of others the nearest."""
        one_of_them = arith.cmpi(arith.CmpIPredicate.slt, self.thread, self.number(self.each))
        branch = scf.IfOp(arith.andi(on, one_of_them))
        with ir.InsertionPoint(branch.then_block):
            at = arith.addi(start, self.thread)
            nearest = arith.maxsi(arith.minsi(at, arith.subi(self.end, self.number(1))), self.begin)
            x = load(self.base, nearest, self.element, invariant=True)
            store(x, self.copy, arith.subi(at, self.origin))
            scf.YieldOp([])


PASS = Pass("lower-tile-copy", _run, ("fold.tile_copy",), "copy what a CTA reduces into shared memory")
