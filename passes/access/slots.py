"""The slots of shared memory in which accesses of threads wait: where they lie, and reads of them.

Copies of the accesses of a thread into its slots in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.ir.attributes import target_of
from ...compiler.ir.build import (
    address,
    as_word,
    dynamic_shared,
    i32,
    if_then,
    integer,
    kernel_module,
    load,
    repeat,
    store,
    zeros,
)
from ...compiler.ir.combine import elements, fragment, splat, width, with_shape
from ...compiler.ir.dialect.access import ACCESS_BYTES, slot_bytes
from ...compiler.ir.dialect.base import bool_attr, element, int_attr, str_attr
from ...compiler.ir.dialect.shared import HELD_ACCESS
from ...compiler.ir.mlir import arith, ir, nvvm, scf
from ...compiler.ir.unrolled_loops import REPEATED, unroll_later
from .element_loads import is_readable, lower_element_load
from .offsets import offset
from .peeling import after


class Slots:
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
        self.place = moved(moved(dynamic_shared(op), 1, start), thread, self.each)
        self.end_of_slots = start + self.slots * self.threads * self.vector * self.item


def held(op: Any) -> Any:
    """The access in a slot."""
    t, (slots, number) = op.results[0].type, op.operands
    parts, each = _parts(slot_bytes(t))
    threads = int_attr(op, "threads")
    of_part = with_shape(element(t), width(t) // parts)
    first = moved(slots, number, _pitch(op, parts * each))
    read = [load(moved(first, p, each * threads), i32(0), of_part) for p in range(parts)]
    return read[0] if parts == 1 else fragment([x for part in read for x in elements(part)])


def _pitch(op: Any, nbytes: int) -> int:
    """Bytes from a slot of a thread to its next one, if a slot has ``nbytes``."""
    return int_attr(op, "pitch") if "pitch" in op.attributes else nbytes * int_attr(op, "threads")


def _parts(nbytes: int) -> tuple[int, int]:
    """How many parts an access of ``nbytes`` is copied in, and the bytes of a part."""
    each = min(nbytes, ACCESS_BYTES)
    return nbytes // each, each


def moved(pointer: Any, count: Any, nbytes: int) -> Any:
    """The pointer moved by ``count`` times as many bytes; a count known now may be an int."""
    if isinstance(count, int):
        distance = i32(count * nbytes) if count * nbytes else None
    else:
        distance = arith.muli(count, integer(count.type, nbytes))
    return pointer if distance is None else address(pointer, distance, ir.IntegerType.get_signless(8))


LAYOUT = 6
"""Operands of a hold before its layout."""
UNROLLED = 8
"""Slots that straight-line code fills by ``cp.async``; a loop fills the others, as many at a time."""
AT_A_TIME = 4
"""Accesses that a loop over those of a row copies at a time, and accesses of which each element is loaded."""
LEAST_ASYNC = 4
"""Bytes that a ``cp.async`` copies at least."""


class Hold(Slots):
    """The slots of one hold."""

    def __init__(self, op: Any, start: int) -> None:
        self.base, self.kept, self.begin, self.first, self.end, thread = list(op.operands)[:LAYOUT]
        self.access, self.whole = str_attr(op, "access", HELD_ACCESS), bool_attr(op, "whole")
        self.walked, self.is_inside = "walked" in op.attributes, False
        self.turns = 1 if "once" in op.attributes else UNROLLED
        super().__init__(op, thread, start)
        self.step, self.index = int_attr(op, "step"), self.begin.type
        self.scalar = ir.IntegerType.get_signless(8 * self.item)

    def number(self, value: int) -> Any:
        return integer(self.index, value)

    def copy(self) -> None:
        """Fills all slots."""
        if is_async(self.op):
            if self.access == "shifted":  # the first access of an empty row begins before its end, too
                some = arith.cmpi(arith.CmpIPredicate.slt, self.first, self.end)
                self.end = arith.select(some, self.end, self.begin)
            if self.access == "shifted" and "start" in self.op.attributes and not self.walked:
                self.copy_inside_or_not()
            else:
                self.each_slot(self.copy_async, self.turns)
        else:
            self.if_some(lambda: self.each_slot(self.copy_loaded, AT_A_TIME))

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
            self.each_slot(lambda k, r, _: self.copy_parts(k, r, offset(self.op, self.kept, r, LAYOUT)), self.turns)
            self.is_inside = False
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self.each_slot(self.copy_async, 1)  # few CTAs come here
            scf.YieldOp([])

    def if_some(self, write: Callable[[], None]) -> None:
        """Does ``write`` where the row has elements."""
        if_then(arith.cmpi(arith.CmpIPredicate.slt, self.first, self.end), write)

    def each_slot(self, write: Callable[[Any, Any, bool], None], turns: int) -> None:
        """Calls ``write`` with the number of each slot, the index of its access, and whether that is the first one.

        Straight-line code does so for as many ``turns`` at a time.
        """
        if self.walked:
            self.each_access(write)
            return
        write(0, self.begin, True)
        straight = (self.slots - 1) % turns + 1
        self.each_between(1, straight, straight - 1, write)
        self.each_between(straight, self.slots, turns, write)

    def each_between(self, first: int, end: int, turns: int, write: Callable[[Any, Any, bool], None]) -> None:
        """Calls ``write`` for slots from ``first`` on, in a loop that has so many ``turns`` in one."""
        if end - first < REPEATED:
            for k in range(first, end):
                write(k, arith.addi(self.begin, self.number(k * self.step)), False)
            return
        loop = scf.ForOp(self.number(first), self.number(end), self.number(1))
        with ir.InsertionPoint(loop.body):
            k = loop.induction_variable
            write(k, arith.addi(self.begin, arith.muli(k, self.number(self.step))), False)
            scf.YieldOp([])
        if turns > 1:
            unroll_later(loop, turns)

    def each_access(self, write: Callable[[Any, Any, bool], None]) -> None:
        """Calls ``write`` as ``each_slot`` does, for the accesses that begin before the end of the row.

        Groups of them are whole but for the ends of the row: it begins in the first access of one thread.
        """
        begin, group, whole = self.begin, AT_A_TIME * self.step, self.whole
        if self.access == "shifted":
            cut = arith.cmpi(arith.CmpIPredicate.slt, begin, self.first)
            some = arith.cmpi(arith.CmpIPredicate.slt, begin, self.end)
            if_then(arith.andi(cut, some), lambda: write(0, self.begin, True))
            begin = arith.select(cut, arith.addi(begin, self.number(self.step)), begin)
        limit = arith.subi(self.end, self.number(group - self.step + self.vector - 1))
        self.whole = True
        self.walk(begin, limit, AT_A_TIME, write)
        self.whole = whole
        self.walk(after(begin, limit, group), self.end, 1, write)

    def walk(self, begin: Any, end: Any, each: int, write: Callable[[Any, Any, bool], None]) -> None:
        """Calls ``write`` in a loop over groups of ``each`` accesses, for those that begin before ``end``."""
        with repeat(begin, end, self.number(each * self.step)) as i:
            far = arith.subi(i, self.begin)
            number = arith.shrui(far, self.number(self.step.bit_length() - 1), is_exact=True)
            for u in range(each):
                k, r = number, i
                if u:
                    k, r = arith.addi(k, self.number(u)), arith.addi(r, self.number(u * self.step))
                write(k, r, False)

    def parts_of_slot(self, k: Any) -> list[Any]:
        """The addresses of the parts of slot ``k``."""
        first = moved(self.place, k, self.pitch)
        return [moved(first, p, self.each * self.threads) for p in range(self.parts)]

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
        return arith.muli(as_word(count), i32(self.item))

    def copy_loaded(self, k: Any, r: Any, is_first: bool) -> None:
        """Copies an access by loads and stores. No later one than the first of a thread begins before the row."""
        own = {name: self.op.attributes[name] for name in ("kept_rank", "reduced_rank", "axis", "access")}
        operands = [self.base, self.kept, r, self.first if is_first else r, self.end, *list(self.op.operands)[LAYOUT:]]
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


def is_async(op: Any) -> bool:
    """Whether ``cp.async`` can copy the accesses of a hold."""
    vector, nbytes = int_attr(op, "vector"), int_attr(op, "vector") * int_attr(op, "item")
    side_by_side = str_attr(op, "access", HELD_ACCESS) in ("aligned", "shifted") or vector == 1
    return target_of(kernel_module(op)).has_async_copies and side_by_side and nbytes >= LEAST_ASYNC
