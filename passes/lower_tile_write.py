"""Lowers the way of results through shared memory: the room for a run of an array, and the writing of the run.

The run lies in the tile as it does in the array, relative to boundaries of 16 bytes. All threads write the accesses of
16 bytes that lie in the run as a whole. Elements in front of the first one, and behind the last one, are written one by
one, so nothing beside the run is touched.

Threads find an element by its index in the array. The room is given as address 0 of shared memory and the index of the
element that would lie there, as in ``lower_tile_copy.py``.

32 threads write up to 1 KiB of f32:

```mlir before
gpu.module @device {
  func.func @from_shared(%y: !llvm.ptr<1>, %begin: i32, %length: i32, %thread: i32) {
    %tile, %origin = "fold.tile_reserve"(%y, %begin) {item = 4, bytes = 1024}
      : (!llvm.ptr<1>, i32) -> (!llvm.ptr<3>, i32)
    gpu.barrier
    "fold.tile_write"(%tile, %origin, %y, %begin, %length, %thread) {item = 4, threads = 32}
      : (!llvm.ptr<3>, i32, !llvm.ptr<1>, i32, i32, i32) -> ()
    func.return
  }
}
```

```mlir after
gpu.module @device {
  llvm.mlir.global internal @results_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x i32>
  func.func @from_shared(%y: !llvm.ptr<1>, %begin: i32, %length: i32, %thread: i32) {
    %room = llvm.mlir.addressof @results_0 : !llvm.ptr<3>
    %address_of_room = llvm.ptrtoint %room : !llvm.ptr<3> to i32
    %c2_i32 = arith.constant 2 : i32
    %before_room = arith.shrui %address_of_room, %c2_i32 : i32
    %start = llvm.getelementptr %y[%begin] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %wide = llvm.ptrtoint %start : !llvm.ptr<1> to i64
    %place = arith.trunci %wide : i64 to i32
    %c15_i32 = arith.constant 15 : i32
    %bytes = arith.andi %place, %c15_i32 : i32
    %c2_i32_0 = arith.constant 2 : i32
    %lead = arith.shrui %bytes, %c2_i32_0 : i32
    %tile = llvm.mlir.zero : !llvm.ptr<3>
    %boundary = arith.subi %begin, %lead : i32
    %origin = arith.subi %boundary, %before_room : i32
    gpu.barrier
    %c3_i32 = arith.constant 3 : i32
    %start_again = llvm.getelementptr %y[%begin] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %wide_again = llvm.ptrtoint %start_again : !llvm.ptr<1> to i64
    %place_again = arith.trunci %wide_again : i64 to i32
    %c15_i32_1 = arith.constant 15 : i32
    %bytes_again = arith.andi %place_again, %c15_i32_1 : i32
    %c2_i32_2 = arith.constant 2 : i32
    %lead_again = arith.shrui %bytes_again, %c2_i32_2 : i32
    %c0_i32 = arith.constant 0 : i32
    %up = arith.subi %c0_i32, %lead_again : i32
    %to_boundary = arith.andi %up, %c3_i32 : i32
    %front = arith.minsi %to_boundary, %length : i32
    %left = arith.subi %length, %front : i32
    %c2_i32_3 = arith.constant 2 : i32
    %count = arith.shrui %left, %c2_i32_3 : i32
    %first = arith.addi %begin, %front : i32
    %left_again = arith.subi %length, %front : i32
    %rest = arith.andi %left_again, %c3_i32 : i32
    %of_front = arith.cmpi slt, %thread, %front : i32
    scf.if %of_front {
      %at = arith.addi %begin, %thread : i32
      %in_tile = arith.subi %at, %origin : i32
      %where = llvm.getelementptr %tile[%in_tile] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %read = llvm.load %where {alignment = 4 : i64} : !llvm.ptr<3> -> i32
      %written = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %read, %written {alignment = 4 : i64} : i32, !llvm.ptr<1>
    }
    %end = arith.addi %begin, %length : i32
    %behind = arith.subi %end, %rest : i32
    %of_rest = arith.cmpi slt, %thread, %rest : i32
    scf.if %of_rest {
      %at = arith.addi %behind, %thread : i32
      %in_tile = arith.subi %at, %origin : i32
      %where = llvm.getelementptr %tile[%in_tile] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %read = llvm.load %where {alignment = 4 : i64} : !llvm.ptr<3> -> i32
      %written = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %read, %written {alignment = 4 : i64} : i32, !llvm.ptr<1>
    }
    %index = arith.subi %first, %origin : i32
    %from = llvm.getelementptr %tile[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %to = llvm.getelementptr %y[%first] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %c32_i32 = arith.constant 32 : i32
    scf.for %access = %thread to %count step %c32_i32  : i32 {
      %at = llvm.getelementptr %from[%access] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
      %in_tile = llvm.load %at {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
      %where = llvm.getelementptr %to[%access] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
      llvm.store %in_tile, %where {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    }

    func.return
  }
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.build import address, integer, load, repeat, store, when, word_type
from ..compiler.ir.dialect.base import int_attr
from ..compiler.ir.mlir import arith, ir, llvm
from .access.tile_buffers import ACCESS, past_boundary, tile_buffer


def _reserved(op: Any) -> list[Any]:
    """Address 0 of shared memory, and the index of the element that would lie there."""
    base, begin, *place = op.operands
    item = int_attr(op, "item")
    tile = tile_buffer(op, "results", *place)
    before_tile = arith.shrui(llvm.ptrtoint(begin.type, tile), integer(begin.type, item.bit_length() - 1))
    lead = past_boundary(base, begin, item)
    return [llvm.mlir_zero(tile.type), arith.subi(arith.subi(begin, lead), before_tile)]


class _Write:
    """The writing of one run. Elements are counted in the array."""

    def __init__(self, op: Any) -> None:
        self.tile, self.origin, self.base, self.begin, self.length, self.thread = op.operands
        self.item, self.threads, self.index = int_attr(op, "item"), int_attr(op, "threads"), self.begin.type
        self.element = ir.IntegerType.get_signless(8 * self.item)
        self.vector = ir.VectorType.get([ACCESS // 4], word_type())
        self.each = ACCESS // self.item

    def number(self, value: int) -> Any:
        """A constant of the type of an index."""
        return integer(self.index, value)

    def run(self) -> list[Any]:
        """Writes the elements in front of the first whole access, the accesses, and the elements that are left."""
        mask = self.number(self.each - 1)
        lead = past_boundary(self.base, self.begin, self.item)
        front = arith.minsi(arith.andi(arith.subi(self.number(0), lead), mask), self.length)
        count = arith.shrui(arith.subi(self.length, front), self.number(self.each.bit_length() - 1))
        first = arith.addi(self.begin, front)
        behind = arith.andi(arith.subi(self.length, front), mask)
        if self.each > 1:
            self.elements(self.begin, front)
            self.elements(arith.subi(arith.addi(self.begin, self.length), behind), behind)
        self.accesses(first, count)
        return []

    def elements(self, first: Any, count: Any) -> None:
        """Writes ``count`` elements from ``first`` on, fewer than an access has; one a thread."""
        with when(arith.cmpi(arith.CmpIPredicate.slt, self.thread, count)):
            at = arith.addi(first, self.thread)
            store(load(self.tile, arith.subi(at, self.origin), self.element), self.base, at)

    def accesses(self, first: Any, count: Any) -> None:
        """Writes ``count`` accesses from element ``first`` on."""
        source = address(self.tile, arith.subi(first, self.origin), self.element)
        to = address(self.base, first, self.element)
        with repeat(self.thread, count, self.number(self.threads)) as p:
            x = llvm.load(self.vector, address(source, p, self.vector), alignment=ACCESS)
            llvm.store(x, address(to, p, self.vector), alignment=ACCESS)


LOWERED = {"fold.tile_reserve": _reserved, "fold.tile_write": lambda op: _Write(op).run()}
PASS = lowering("lower-tile-write", LOWERED, "write results that wait in shared memory by whole accesses")
