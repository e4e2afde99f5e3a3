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

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import (
    address,
    before,
    dynamic_shared,
    enclosing,
    find_each,
    i32,
    integer,
    kernel_module,
    load,
    replace,
    store,
    word_type,
    zeros,
)
from ..compiler.ir.combine import elements, fragment, splat, width, with_shape
from ..compiler.ir.dialect.access import ACCESS_BYTES
from ..compiler.ir.dialect.base import bool_attr, element, int_attr, str_attr
from ..compiler.ir.dialect.residency import HELD_ACCESS, slot_bytes
from ..compiler.ir.mlir import arith, gpu, ir, nvvm, scf
from .access.element_accesses import is_readable, lower_element_load
from .access.offsets import offset
from .access.peeling import after

OPS = ("fold.hold", "fold.slots", "fold.arrived", "fold.held")
FUNCTIONS = ("gpu.func", "func.func")
LAYOUT = 6
"""Operands of a hold before its layout."""
UNROLLED = 8
"""Slots that straight-line code fills; a loop fills the others, as many at a time."""
AT_A_TIME = 4
"""Accesses that a loop over those of a row copies at a time."""
LEAST_ASYNC = 4
"""Bytes that a ``cp.async`` copies at least."""


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
            hold = _Hold(op, int_attr(op, "start") if "start" in op.attributes else sizes.get(kernel, 0))
            hold.copy()
            replace(op, [hold.place])
        sizes[kernel] = max(hold.end_of_slots, sizes.get(kernel, 0))
    for op in found["fold.slots"]:
        kernel = enclosing(op, *FUNCTIONS)
        with before(op):
            own = _Slots(op, op.operands[0], sizes.get(kernel, 0))
            replace(op, [own.place])
        sizes[kernel] = own.end_of_slots
    for op in found["fold.held"]:
        with before(op):
            replace(op, [_held(op)])
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
                pending = pending or _is_async(op)
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


def _is_async(op: Any) -> bool:
    """Whether ``cp.async`` can copy the accesses of a hold."""
    vector, nbytes = int_attr(op, "vector"), int_attr(op, "vector") * int_attr(op, "item")
    side_by_side = str_attr(op, "access", HELD_ACCESS) in ("aligned", "shifted") or vector == 1
    return target_of(kernel_module(op)).has_async_copies and side_by_side and nbytes >= LEAST_ASYNC


def _held(op: Any) -> Any:
    """The access in a slot."""
    t, (slots, number) = op.results[0].type, op.operands
    parts, each = _parts(slot_bytes(t))
    threads = int_attr(op, "threads")
    of_part = with_shape(element(t), width(t) // parts)
    first = _moved(slots, number, _pitch(op, parts * each))
    read = [load(_moved(first, p, each * threads), i32(0), of_part) for p in range(parts)]
    return read[0] if parts == 1 else fragment([x for part in read for x in elements(part)])


def _pitch(op: Any, nbytes: int) -> int:
    """Bytes from a slot of a thread to its next one, if a slot has ``nbytes``."""
    return int_attr(op, "pitch") if "pitch" in op.attributes else nbytes * int_attr(op, "threads")


def _parts(nbytes: int) -> tuple[int, int]:
    """How many parts an access of ``nbytes`` is copied in, and the bytes of a part."""
    each = min(nbytes, ACCESS_BYTES)
    return nbytes // each, each


def _moved(pointer: Any, count: Any, nbytes: int) -> Any:
    """The pointer moved by ``count`` times as many bytes; a count known now may be an int."""
    if isinstance(count, int):
        distance = i32(count * nbytes) if count * nbytes else None
    else:
        distance = arith.muli(count, integer(count.type, nbytes))
    return pointer if distance is None else address(pointer, distance, ir.IntegerType.get_signless(8))


class _Slots:
    """The slots of a thread, which begin at the byte ``start``.

    Attributes:
        place: the address of the thread's first slot.
        end_of_slots: bytes of dynamic shared memory up to the end of these slots.
    """

    def __init__(self, op: Any, thread: Any, start: int) -> None:
        self.op = op
        self.slots, self.threads, self.vector, self.item = (
            int_attr(op, name) for name in ("slots", "threads", "vector", "item")
        )
        self.parts, self.each = _parts(self.vector * self.item)
        self.pitch = _pitch(op, self.parts * self.each)
        self.place = _moved(_moved(dynamic_shared(op), 1, start), thread, self.each)
        self.end_of_slots = start + self.slots * self.threads * self.vector * self.item


class _Hold(_Slots):
    """The slots of one hold."""

    def __init__(self, op: Any, start: int) -> None:
        self.base, self.kept, self.begin, self.first, self.end, thread = list(op.operands)[:LAYOUT]
        self.access, self.whole = str_attr(op, "access", HELD_ACCESS), bool_attr(op, "whole")
        self.walked, self.is_inside = "walked" in op.attributes, False
        super().__init__(op, thread, start)
        self.step, self.index = int_attr(op, "step"), self.begin.type
        self.scalar = ir.IntegerType.get_signless(8 * self.item)

    def number(self, value: int) -> Any:
        return integer(self.index, value)

    def copy(self) -> None:
        """Fills all slots."""
        if _is_async(self.op):
            if self.access == "shifted":  # the first access of an empty row begins before its end, too
                some = arith.cmpi(arith.CmpIPredicate.slt, self.first, self.end)
                self.end = arith.select(some, self.end, self.begin)
            if self.access == "shifted" and "start" in self.op.attributes and not self.walked:
                self.copy_inside_or_not()
            else:
                self.each_slot(self.copy_async)
        else:
            self.if_some(lambda: self.each_slot(self.copy_loaded))

    def copy_inside_or_not(self) -> None:
        """Copies whole accesses where all around the row can be read, so that none needs to know how much of it is."""
        last = arith.addi(self.begin, self.number((self.slots - 1) * self.step))
        readable = self.op.operands[len(self.op.operands) - 1]
        low, high = (offset(self.op, self.kept, r, LAYOUT) for r in (self.begin, last))
        early = arith.cmpi(arith.CmpIPredicate.sge, low, self.number(0))
        behind = arith.addi(high, self.number(self.vector))
        branch = scf.IfOp(arith.andi(early, arith.cmpi(arith.CmpIPredicate.sle, behind, readable)), has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self.is_inside = True
            self.each_slot(lambda k, r, _: self.copy_parts(k, r, offset(self.op, self.kept, r, LAYOUT)))
            self.is_inside = False
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self.each_slot(self.copy_async)
            scf.YieldOp([])

    def if_some(self, write: Callable[[], None]) -> None:
        """Does ``write`` where the row has elements."""
        branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, self.first, self.end))
        with ir.InsertionPoint(branch.then_block):
            write()
            scf.YieldOp([])

    def each_slot(self, write: Callable[[Any, Any, bool], None]) -> None:
        """Calls ``write`` with the number of each slot, the index of its access, and whether that is the first one."""
        if self.walked:
            self.each_access(write)
            return
        straight = (self.slots - 1) % UNROLLED + 1
        for k in range(straight):
            write(k, arith.addi(self.begin, self.number(k * self.step)) if k else self.begin, not k)
        if straight == self.slots:
            return
        loop = scf.ForOp(self.number(straight), self.number(self.slots), self.number(UNROLLED))
        with ir.InsertionPoint(loop.body):
            for u in range(UNROLLED):
                k = arith.addi(loop.induction_variable, self.number(u))
                write(k, arith.addi(self.begin, arith.muli(k, self.number(self.step))), False)
            scf.YieldOp([])

    def each_access(self, write: Callable[[Any, Any, bool], None]) -> None:
        """Calls ``write`` as ``each_slot`` does, for the accesses that begin before the end of the row."""
        branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.slt, self.begin, self.end))
        with ir.InsertionPoint(branch.then_block):
            write(0, self.begin, True)
            scf.YieldOp([])
        begin = arith.addi(self.begin, self.number(self.step))
        group = AT_A_TIME * self.step
        limit = arith.subi(self.end, self.number(group - self.step))
        self.walk(begin, limit, AT_A_TIME, write)
        self.walk(after(begin, limit, group), self.end, 1, write)

    def walk(self, begin: Any, end: Any, each: int, write: Callable[[Any, Any, bool], None]) -> None:
        """Calls ``write`` in a loop over groups of ``each`` accesses, for those that begin before ``end``."""
        loop = scf.ForOp(begin, end, self.number(each * self.step))
        with ir.InsertionPoint(loop.body):
            far = arith.subi(loop.induction_variable, self.begin)
            number = arith.shrui(far, self.number(self.step.bit_length() - 1))
            for u in range(each):
                k, r = number, loop.induction_variable
                if u:
                    k, r = arith.addi(k, self.number(u)), arith.addi(r, self.number(u * self.step))
                write(k, r, False)
            scf.YieldOp([])

    def parts_of_slot(self, k: Any) -> list[Any]:
        """The addresses of the parts of slot ``k``."""
        first = _moved(self.place, k, self.pitch)
        return [_moved(first, p, self.each * self.threads) for p in range(self.parts)]

    def copy_async(self, k: Any, r: Any, is_first: bool) -> None:
        """Copies an access by ``cp.async``, unless it begins before the row and what lies there cannot be read."""
        at = offset(self.op, self.kept, r, LAYOUT)
        if not (is_first and self.access == "shifted"):
            return self.copy_parts(k, r, at)
        early = arith.cmpi(arith.CmpIPredicate.slt, r, self.first)
        beside = is_readable(at, self.vector, self.op.operands[len(self.op.operands) - 1])
        early = arith.andi(early, arith.xori(beside, integer(beside.type, 1)))
        branch = scf.IfOp(early, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self.if_some(lambda: self.copy_loaded(k, r, is_first))
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self.copy_parts(k, r, at)
            scf.YieldOp([])
        return None

    def copy_parts(self, k: Any, r: Any, at: Any) -> None:
        """Copies the access at ``r``, whose offset in the array is ``at``, by ``cp.async``."""
        cache = nvvm.LoadCacheModifierKind.CG if self.each == ACCESS_BYTES else nvvm.LoadCacheModifierKind.CA
        for p, to in enumerate(self.parts_of_slot(k)):
            part = arith.addi(at, self.number(p * self.vector // self.parts)) if p else at
            source = address(self.base, part, self.scalar)
            nvvm.cp_async_shared_global(to, source, self.each, cache, cp_size=self.bytes_read(r, p))

    def bytes_read(self, r: Any, part: int) -> Any:
        """How many bytes of a part of the access at ``r`` are read, an i32; None for all of them."""
        if self.whole:
            return None
        if self.access != "shifted" or self.is_inside:
            exists = arith.cmpi(arith.CmpIPredicate.slt, r, self.end)
            return arith.select(exists, i32(self.each), i32(0))
        length = self.vector // self.parts
        left = arith.subi(arith.subi(self.end, r), self.number(part * length))
        count = arith.minsi(arith.maxsi(left, self.number(0)), self.number(length))
        return arith.muli(_as_word(count), i32(self.item))

    def copy_loaded(self, k: Any, r: Any, is_first: bool) -> None:  # noqa: ARG002
        """Copies an access by loads and stores."""
        own = {name: self.op.attributes[name] for name in ("kept_rank", "reduced_rank", "axis", "access")}
        operands = [self.base, self.kept, r, self.first, self.end, *list(self.op.operands)[LAYOUT:]]
        loaded = ir.Operation.create("fold.element_load", [with_shape(self.scalar, self.vector)], operands, own)
        found = loaded.result
        if "zeros" in self.op.attributes:
            found = arith.select(self.live(r), found, zeros(found.type))
        scalars, length = elements(found), self.vector // self.parts
        for p, to in enumerate(self.parts_of_slot(k)):
            part = fragment(scalars[p * length : (p + 1) * length]) if self.parts > 1 else found
            store(part, to, i32(0))
        lower_element_load(loaded)

    def live(self, r: Any) -> Any:
        """Which elements of the access at ``r`` lie in the row."""
        at = fragment([arith.addi(r, self.number(k)) for k in range(self.vector)])
        low = arith.cmpi(arith.CmpIPredicate.sge, at, splat(self.first, self.vector))
        return arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, at, splat(self.end, self.vector)))


def _as_word(x: Any) -> Any:
    """An index as an i32."""
    return x if x.type == word_type() else arith.trunci(word_type(), x)


PASS = Pass(
    "lower-residency",
    _run,
    OPS,
    "copy what waits into slots of shared memory, and read it there",
)
