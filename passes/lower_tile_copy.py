"""Lowers the copy of a CTA's tile: the run of memory with the elements of its results goes to shared memory.

The copy consists of aligned accesses of 16 bytes, up to four of them in flight a thread, from the boundary before the
run to the boundary after it. An access that would leave the array's memory is copied element by element; there is at
most one at each end. A run of no elements is not touched, wherever it begins. If the copy is read ``beyond`` its end,
zeros follow it. If the run is the CTA's ``own``, an access that would leave the run is copied element by element, and
the others go by ``cp.async`` on targets that have it: a thread waits for those of all copies behind the last one.

A copy to one of several places is a group of its own, for which threads wait at a ``fold.tile_arrived``.

A ``fold.tile_rows`` has such a run in each row (``access/tile_buffers.py``). Accesses of one part are beside each
other; threads wait for their own ones at the ``fold.arrived``.

Threads find an element by its index in the array. The op returns address 0 of shared memory and the origin, which is
the index of the element that would lie there: element i lies (i - origin) elements behind it.

256 threads copy up to 4 KiB of f32, which is one access each:

```mlir before
gpu.module @device {
  func.func @into_shared(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32)
      -> (!llvm.ptr<3>, i32) {
    %copy, %origin = "fold.tile_copy"(%x, %begin, %length, %extent, %thread) {item = 4, bytes = 4096, threads = 256}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> (!llvm.ptr<3>, i32)
    return %copy, %origin : !llvm.ptr<3>, i32
  }
}
```

```mlir after
gpu.module @device {
  llvm.mlir.global internal @tile_0() {addr_space = 3 : i32, alignment = 16} : !llvm.array<1024 x i32>
  func.func @into_shared(%x: !llvm.ptr<1>, %begin: i32, %length: i32, %extent: i32, %thread: i32)
      -> (!llvm.ptr<3>, i32) {
    %behind = arith.addi %begin, %length : i32
    %end = arith.minsi %behind, %extent : i32
    %start = llvm.getelementptr %x[%begin] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %wide = llvm.ptrtoint %start : !llvm.ptr<1> to i64
    %place = arith.trunci %wide : i64 to i32
    %c15 = arith.constant 15 : i32
    %bytes = arith.andi %place, %c15 : i32
    %c2 = arith.constant 2 : i32
    %elements = arith.shrui %bytes, %c2 : i32
    %some = arith.cmpi slt, %begin, %end : i32
    %c0 = arith.constant 0 : i32
    %lead = arith.select %some, %elements, %c0 : i32
    %origin = arith.subi %begin, %lead : i32
    %copy = llvm.mlir.addressof @tile_0 : !llvm.ptr<3>
    %log = arith.constant 2 : i32
    %span = arith.subi %end, %origin : i32
    %c3 = arith.constant 3 : i32
    %up = arith.addi %span, %c3 : i32
    %count = arith.shrui %up, %log : i32
    %whole = arith.shli %count, %log : i32
    %after = arith.addi %origin, %whole : i32
    %zero = arith.constant 0 : i32
    %early = arith.cmpi slt, %origin, %zero : i32
    %late = arith.cmpi sgt, %after, %extent : i32
    %first = arith.extui %early : i1 to i32
    %beyond = arith.extui %late : i1 to i32
    %last = arith.subi %count, %beyond : i32
    %source = llvm.getelementptr %x[%origin] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %c1 = arith.constant 1 : i32
    %greatest = arith.subi %last, %c1 : i32
    %own = arith.addi %first, %thread : i32
    %step = arith.constant 256 : i32
    scf.for %access = %own to %last step %step : i32 {
      %inside = arith.minsi %access, %greatest : i32
      %from = llvm.getelementptr %source[%inside] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
      %read = llvm.load %from invariant {alignment = 16} : !llvm.ptr<1> -> vector<4xi32>
      %there = arith.cmpi slt, %access, %last : i32
      scf.if %there {
        %to = llvm.getelementptr %copy[%access] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
        llvm.store %read, %to {alignment = 16} : vector<4xi32>, !llvm.ptr<3>
      }
    }
    %few = arith.constant 4 : i32
    %of_first = arith.cmpi slt, %thread, %few : i32
    %copies_first = arith.andi %early, %of_first : i1
    scf.if %copies_first {
      %at = arith.addi %origin, %thread : i32
      %one = arith.constant 1 : i32
      %final = arith.subi %end, %one : i32
      %below = arith.minsi %at, %final : i32
      %nearest = arith.maxsi %below, %begin : i32
      %from = llvm.getelementptr %x[%nearest] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %read = llvm.load %from invariant {alignment = 4} : !llvm.ptr<1> -> i32
      %index = arith.subi %at, %origin : i32
      %to = llvm.getelementptr %copy[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      llvm.store %read, %to {alignment = 4} : i32, !llvm.ptr<3>
    }
    %each = arith.constant 4 : i32
    %final_access = arith.subi %after, %each : i32
    %few_too = arith.constant 4 : i32
    %of_last = arith.cmpi slt, %thread, %few_too : i32
    %copies_last = arith.andi %late, %of_last : i1
    scf.if %copies_last {
      %at = arith.addi %final_access, %thread : i32
      %one = arith.constant 1 : i32
      %final = arith.subi %end, %one : i32
      %below = arith.minsi %at, %final : i32
      %nearest = arith.maxsi %below, %begin : i32
      %from = llvm.getelementptr %x[%nearest] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %read = llvm.load %from invariant {alignment = 4} : !llvm.ptr<1> -> i32
      %index = arith.subi %at, %origin : i32
      %to = llvm.getelementptr %copy[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      llvm.store %read, %to {alignment = 4} : i32, !llvm.ptr<3>
    }
    %place_of_copy = llvm.ptrtoint %copy : !llvm.ptr<3> to i32
    %log_of_item = arith.constant 2 : i32
    %before_it = arith.shrui %place_of_copy, %log_of_item : i32
    %shared = llvm.mlir.zero : !llvm.ptr<3>
    %origin_in_it = arith.subi %origin, %before_it : i32
    return %shared, %origin_in_it : !llvm.ptr<3>, i32
  }
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import (
    address,
    before,
    enclosing,
    find_each,
    integer,
    kernel_module,
    load,
    repeat,
    replace,
    store,
    when,
    word_type,
)
from ..compiler.ir.dialect.base import bool_attr, int_attr
from ..compiler.ir.mlir import arith, ir, llvm, nvvm
from .access.tile_buffers import ACCESS, Parts, past_boundary, tile_buffer

IN_FLIGHT = 4
"""At most this many accesses are in flight a thread: 256 threads copy 16 KiB at a time."""


OPS = ("fold.tile_copy", "fold.tile_rows")
ARRIVED, TILE_ARRIVED = "fold.arrived", "fold.tile_arrived"
FUNCTIONS = ("gpu.func", "func.func")


def _run(module: Any) -> None:
    found = find_each(module, (*OPS, ARRIVED, TILE_ARRIVED))
    waiting = {enclosing(op, *FUNCTIONS) for op in found["fold.tile_rows"] if Parts(op).is_async}
    for op in found["fold.tile_rows"]:
        replace(op, [Parts(op).copy()])
    for op in found[ARRIVED]:
        if enclosing(op, *FUNCTIONS) in waiting:
            with before(op):
                nvvm.cp_async_wait_group(0)
    for op in found[TILE_ARRIVED]:
        with before(op):
            if target_of(kernel_module(op)).has_async_copies:
                nvvm.cp_async_wait_group(int_attr(op, "later"))
            replace(op, [])
    ops = found["fold.tile_copy"]
    last = {op.operation.block: number for number, op in enumerate(ops) if _is_async(op) and not _has_place(op)}
    for number, op in enumerate(ops):
        with before(op):
            values = _Copy(op).run()
            if _has_place(op) and _is_async(op):
                nvvm.cp_async_commit_group()
            elif number in last.values():
                nvvm.cp_async_commit_group()
                nvvm.cp_async_wait_group(0)
            replace(op, values)


def _is_own(op: Any) -> bool:
    """Whether a copy reads nothing beside the run."""
    return "own" in op.attributes and bool_attr(op, "own")


def _has_place(op: Any) -> bool:
    """Whether a copy goes to one of several places: the CTA waits for it later."""
    return len(op.operands) > 5


def _is_async(op: Any) -> bool:
    """Whether the accesses of a copy go by ``cp.async``."""
    return _is_own(op) and target_of(kernel_module(op)).has_async_copies


class _Copy:
    """One copy. Elements are counted in the array, accesses from the one that holds the first element of the run."""

    def __init__(self, op: Any) -> None:
        self.base, self.begin, length, self.extent, self.thread = list(op.operands)[:5]
        self.item, self.threads, self.index = int_attr(op, "item"), int_attr(op, "threads"), self.begin.type
        self.element = ir.IntegerType.get_signless(8 * self.item)
        self.each, size = ACCESS // self.item, int_attr(op, "bytes")
        self.in_flight = min(IN_FLIGHT, -(-size // (ACCESS * self.threads)))
        self.beyond = int_attr(op, "beyond") if "beyond" in op.attributes else 0
        self.end = arith.minsi(arith.addi(self.begin, length), self.extent)
        self.origin = arith.subi(self.begin, self._lead())
        self.vector = ir.VectorType.get([ACCESS // 4], word_type())
        self.own, self.is_async = _is_own(op), _is_async(op)
        self.copy = tile_buffer(op, "tile", *list(op.operands)[5:])

    def number(self, value: int) -> Any:
        """A constant of the type of an index."""
        return integer(self.index, value)

    def _lead(self) -> Any:
        """Elements from the boundary of ``ACCESS`` bytes before the run to the run; 0 for a run of no elements."""
        lead = past_boundary(self.base, self.begin, self.item)
        return arith.select(arith.cmpi(arith.CmpIPredicate.slt, self.begin, self.end), lead, self.number(0))

    def run(self) -> list[Any]:
        """The buffer and the origin of the copy."""
        log = self.number(self.each.bit_length() - 1)
        span = arith.subi(self.end, self.origin)
        count = arith.shrui(arith.addi(span, self.number(self.each - 1)), log)
        after = arith.addi(self.origin, arith.shli(count, log))
        lowest, highest = (self.begin, self.end) if self.own else (self.number(0), self.extent)
        early = arith.cmpi(arith.CmpIPredicate.slt, self.origin, lowest)
        late = arith.cmpi(arith.CmpIPredicate.sgt, after, highest)
        copy = self.accesses_async if self.is_async else self.accesses
        copy(arith.extui(self.index, early), arith.subi(count, arith.extui(self.index, late)))
        if self.beyond:
            self.zeros(count)
        self.elements(early, self.origin)
        self.elements(late, arith.subi(after, self.number(self.each)))
        return self.result()

    def result(self) -> list[Any]:
        """Address 0 of shared memory, and the index of the element that would lie there.

        The origin is a number that a thread keeps. ptxas would compute the address of the copy anew for every result.
        """
        shared = self.copy.type
        before_copy = arith.shrui(llvm.ptrtoint(self.index, self.copy), self.number(self.item.bit_length() - 1))
        return [llvm.mlir_zero(shared), arith.subi(self.origin, before_copy)]

    def accesses(self, first: Any, last: Any) -> None:
        """Copies the accesses from ``first`` up to ``last``; all loads of a step come before its stores."""
        source = address(self.base, self.origin, self.element)
        greatest = arith.subi(last, self.number(1))
        with repeat(arith.addi(first, self.thread), last, self.number(self.threads * self.in_flight)) as v:
            numbers = [arith.addi(v, self.number(u * self.threads)) if u else v for u in range(self.in_flight)]
            read = [self.access(source, arith.minsi(p, greatest)) for p in numbers]
            for p, x in zip(numbers, read, strict=True):
                with when(arith.cmpi(arith.CmpIPredicate.slt, p, last)):
                    llvm.store(x, address(self.copy, p, self.vector), alignment=ACCESS)

    def accesses_async(self, first: Any, last: Any) -> None:
        """Copies the accesses from ``first`` up to ``last`` by ``cp.async``."""
        source = address(self.base, self.origin, self.element)
        with repeat(arith.addi(first, self.thread), last, self.number(self.threads)) as p:
            to, at = address(self.copy, p, self.vector), address(source, p, self.vector)
            nvvm.cp_async_shared_global(to, at, ACCESS, nvvm.LoadCacheModifierKind.CG)

    def access(self, source: Any, index: Any) -> Any:
        """The access number ``index`` of the run that begins at ``source``."""
        return llvm.load(self.vector, address(source, index, self.vector), alignment=ACCESS, invariant=True)

    def zeros(self, first: Any) -> None:
        """Writes zeros to the accesses from ``first`` on, one access a thread."""
        few = arith.cmpi(arith.CmpIPredicate.slt, self.thread, self.number(self.beyond // ACCESS))
        with when(few):
            at = address(self.copy, arith.addi(first, self.thread), self.vector)
            zero = ir.DenseElementsAttr.get_splat(self.vector, ir.IntegerAttr.get(self.vector.element_type, 0))
            llvm.store(arith.constant(self.vector, zero), at, alignment=ACCESS)

    def elements(self, on: Any, start: Any) -> None:
        """Copies the elements of the access that begins at ``start``, one a thread.

        Elements outside the run are replaced by the nearest one of the run.
        """
        one_of_them = arith.cmpi(arith.CmpIPredicate.slt, self.thread, self.number(self.each))
        with when(arith.andi(on, one_of_them)):
            at = arith.addi(start, self.thread)
            nearest = arith.maxsi(arith.minsi(at, arith.subi(self.end, self.number(1))), self.begin)
            x = load(self.base, nearest, self.element, invariant=True)
            store(x, self.copy, arith.subi(at, self.origin))


PASS = Pass("lower-tile-copy", _run, (*OPS, TILE_ARRIVED), "copy what a CTA reduces into shared memory")
