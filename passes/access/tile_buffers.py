"""Where a tile lies: in an array of static shared memory, or in dynamic shared memory, where an SM has more of it.

Where elements lie relative to the boundaries of the widest accesses.

Copies of parts of rows into shared memory, each from the boundary at or before it.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.attributes import target_of
from ...compiler.ir.build import (
    address,
    before,
    dynamic_shared,
    i32,
    integer,
    kernel_module,
    load,
    repeat,
    shared_buffer,
    store,
    when,
    word_type,
)
from ...compiler.ir.dialect.base import int_attr
from ...compiler.ir.mlir import arith, ir, llvm, nvvm, scf
from ...compiler.plan.tiles import parts_pitch

ACCESS = 16
"""The size and the alignment of the widest access, in bytes."""


def past_boundary(base: Any, index: Any, item: int) -> Any:
    """Elements of ``item`` bytes from the boundary of ``ACCESS`` bytes before element ``index`` of an array to it.

    The array begins at ``base``, at a multiple of ``item`` bytes. What is found has the type of ``index``.
    """
    start = llvm.ptrtoint(ir.IntegerType.get_signless(64), address(base, index, ir.IntegerType.get_signless(8 * item)))
    low = arith.trunci(word_type(), start)
    within = arith.andi(low, integer(low.type, ACCESS - 1))
    found = arith.shrui(within, integer(low.type, item.bit_length() - 1))
    return found if index.type.width == 32 else arith.extui(index.type, found)


def tile_buffer(op: Any, name: str, place: Any = None) -> Any:
    """The address of the tile of ``op``: of a new array ``name``, or behind ``dynamic`` bytes of dynamic memory.

    There, tiles may have several places, of ``bytes`` each.
    """
    if place is not None:
        words = arith.muli(place, integer(place.type, int_attr(op, "bytes") // 4))
        words = arith.addi(words, integer(place.type, int_attr(op, "dynamic") // 4))
        return address(dynamic_shared(op), words, word_type())
    if "dynamic" not in op.attributes:
        return shared_buffer(op, name, int_attr(op, "bytes") // 4, word_type())
    start = int_attr(op, "dynamic") // 4
    return address(dynamic_shared(op), i32(start), word_type()) if start else dynamic_shared(op)


class Parts:
    """The parts of one ``fold.tile_rows``. Elements are counted from the array's first one."""

    def __init__(self, op: Any) -> None:
        self.op = op
        self.base, self.first, self.count, self.begin, self.end, self.stride, self.extent, self.thread = op.operands
        self.item, self.threads, self.index = int_attr(op, "item"), int_attr(op, "threads"), self.begin.type
        self.parts, self.length, self.skew = (int_attr(op, name) for name in ("parts", "length", "skew"))
        self.each, self.scalar = ACCESS // self.item, ir.IntegerType.get_signless(8 * self.item)
        self.is_async = target_of(kernel_module(op)).has_async_copies

    def number(self, value: int) -> Any:
        """A constant of the type of an index."""
        return integer(self.index, value)

    def copy(self) -> Any:
        """Copies the parts, the accesses of one beside each other; gives the tile."""
        with before(self.op):
            tile = tile_buffer(self.op, "tile")
            accesses = self.length // self.each + 1
            left = arith.subi(self.end, self.begin)
            with repeat(self.thread, self.number(self.parts * accesses), self.number(self.threads)) as i:
                part = arith.divui(i, self.number(accesses))
                access = arith.subi(i, arith.muli(part, self.number(accesses)))
                row = arith.addi(self.first, part)
                with when(arith.cmpi(arith.CmpIPredicate.ult, row, self.count)):
                    self.access(tile, part, row, access, left)
            if self.is_async:
                nvvm.cp_async_commit_group()
        return tile

    def access(self, tile: Any, part: Any, row: Any, access: Any, left: Any) -> None:
        """Copies an access of a part: at once, or by single elements where it leaves the array."""
        at = arith.addi(arith.muli(row, self.stride), self.begin)
        lead = past_boundary(self.base, at, self.item)
        before_it = arith.muli(access, self.number(self.each))
        start = arith.addi(arith.subi(at, lead), before_it)
        to = self.place(tile, part, access)
        wanted = arith.cmpi(arith.CmpIPredicate.slt, before_it, arith.addi(lead, left))
        low = arith.cmpi(arith.CmpIPredicate.sge, start, self.number(0))
        after = arith.addi(start, self.number(self.each))
        inside = arith.andi(low, arith.cmpi(arith.CmpIPredicate.sle, after, self.extent))
        if self.is_async:  # an access that is not wanted is one of no bytes, and zeros are written
            inside = arith.ori(inside, arith.xori(wanted, integer(wanted.type, 1)))
        else:
            inside = arith.andi(inside, wanted)
        branch = scf.IfOp(inside, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self.at_once(to, start, wanted)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self.apart(to, start, wanted)
            scf.YieldOp([])

    def place(self, tile: Any, part: Any, access: Any) -> Any:
        """The address of an access of a part in the tile."""
        skewed = arith.shrui(part, self.number(self.skew.bit_length() - 1))
        accesses = arith.addi(arith.muli(part, self.number(parts_pitch(self.length, self.item) // ACCESS)), skewed)
        nbytes = arith.muli(arith.addi(accesses, access), self.number(ACCESS))
        return address(tile, nbytes, ir.IntegerType.get_signless(8))

    def at_once(self, to: Any, start: Any, wanted: Any) -> None:
        """Copies an access that lies in the array if it is ``wanted``."""
        source = address(self.base, start, self.scalar)
        if self.is_async:
            nbytes = arith.select(wanted, i32(ACCESS), i32(0))
            nvvm.cp_async_shared_global(to, source, ACCESS, nvvm.LoadCacheModifierKind.CG, cp_size=nbytes)
            return
        words = ir.VectorType.get([ACCESS // 4], word_type())
        llvm.store(llvm.load(words, source, alignment=ACCESS), to, alignment=ACCESS)

    def apart(self, to: Any, start: Any, wanted: Any) -> None:
        """Copies those elements of an access that are in the array, and zeros for others."""
        with repeat(self.number(0), self.number(self.each), self.number(1)) as k:
            at = arith.addi(start, k)
            there = arith.andi(wanted, arith.cmpi(arith.CmpIPredicate.ult, at, self.extent))
            branch = scf.IfOp(there, [self.scalar], has_else=True)
            with ir.InsertionPoint(branch.then_block):
                scf.YieldOp([load(self.base, at, self.scalar)])
            with ir.InsertionPoint(branch.else_block):
                scf.YieldOp([integer(self.scalar, 0)])
            store(branch.results[0], to, k)
