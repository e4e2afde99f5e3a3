"""The elements of a chunk of a scan in shared memory: where they wait, and how they are copied there in bulk."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple

from ...compiler.ir.build import address, as_word, bytes_of, dynamic_shared, i32, integer, load, memory_type
from ...compiler.ir.combine import backwards, width
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.plan.fields import IN_BULK
from ..access.offsets import coordinates
from .kernel import Kernel
from .place import Place
from .resident.row_starts import is_shifted, lead_of_row
from .rings import Ring, Turn
from .scan_work import Work


class StagedChunk(NamedTuple):
    """Where the elements of a chunk wait in shared memory.

    Attributes:
        first, limit: the index of the first element that has room, and of the one after the chunk's last.
        places: for each input that waits there the address at which its elements begin.
        reversed: the inputs whose rows lie in memory from the last element on.
        columns, slot: of columns that lie side by side how many there are, and the thread's first one.
    """

    first: Any
    limit: Any
    places: Mapping[int, Any]
    reversed: frozenset[int]
    columns: int = 1
    slot: Any = None

    @classmethod
    def of(cls, kernel: Kernel, turn: Turn, work: Work, place: Place) -> StagedChunk:
        """The elements of a chunk in a place of the ring; those of shifted rows begin early."""
        chunk = work.chunk(kernel)
        first, limit = chunk.first, chunk.limit
        if is_shifted(kernel):
            first = arith.subi(first, lead_of_row(kernel, place))
            limit = arith.minsi(arith.addi(first, chunk.length), limit)
        byte, places, start = ir.IntegerType.get_signless(8), dict[int, Any](), 0
        base, sizes = dynamic_shared(kernel.entry), _sizes(kernel)
        for i, size in sizes.items():
            at = arith.addi(arith.muli(turn.place, i32(sum(sizes.values()))), i32(start))
            places[i], start = address(base, at, byte), start + size
        reverse = frozenset(i for i in places if kernel.facts.access[i] == "reversed")
        return cls(first, limit, places, reverse, kernel.plan.slots, place.slot)

    def read(self, operand: int, t: Any, at: Any) -> Any:
        """The access of an input at ``at``, a fragment of type ``t``."""
        if operand not in self.reversed:
            index = arith.subi(at, self.first)
            if self.columns > 1:
                index = arith.addi(arith.muli(index, integer(at.type, self.columns)), self.slot)
            return load(self.places[operand], index, t)
        behind = arith.addi(at, integer(at.type, width(t)))
        return backwards(load(self.places[operand], arith.subi(self.limit, behind), t))


def copy_chunk(kernel: Kernel, ring: Ring, turn: Turn, work: Work, place: Place) -> None:
    """Begins to copy the elements of a chunk to its place in the ring: whole accesses of them."""
    each, columns = kernel.plan.vector_reduced, kernel.plan.slots
    vector = kernel.number(each)
    staged = StagedChunk.of(kernel, turn, work, place)
    early = kernel.less(staged.first, kernel.number(0))
    begin = arith.select(early, arith.addi(staged.first, vector), staged.first)
    length = kernel.scaled(arith.divui(arith.subi(staged.limit, staged.first), vector), each)
    length = arith.maxsi(arith.subi(arith.addi(staged.first, length), begin), kernel.number(0))
    word = as_word(kernel.scaled(length, columns))
    types = {i: element(kernel.inputs[i].type) for i in staged.places}
    sizes = {i: arith.muli(word, i32(bytes_of(memory_type(t)))) for i, t in types.items()}
    ring.arrive("full", turn, reduce(arith.addi, sizes.values()))
    branch = scf.IfOp(kernel.less(kernel.number(0), length))
    with ir.InsertionPoint(branch.then_block):
        for i, to in staged.places.items():
            first = arith.subi(kernel.number(1), staged.limit) if i in staged.reversed else begin
            first = arith.addi(_start(kernel, i, kernel.scaled(work.tile, columns)), kernel.scaled(first, columns))
            source = address(kernel.arg("input", i), first, types[i])
            room = address(to, kernel.scaled(arith.subi(begin, staged.first), columns), types[i])
            ring.copy("full", turn, room, source, sizes[i])
        scf.YieldOp([])


def _sizes(kernel: Kernel) -> dict[int, int]:
    """The bytes of a chunk of each input that waits in shared memory."""
    length = kernel.plan.threads * kernel.plan.vector * kernel.plan.held
    own = zip(kernel.inputs, kernel.facts.access, strict=True)
    return {i: length * bytes_of(memory_type(element(v.type))) for i, (v, kind) in enumerate(own) if kind in IN_BULK}


def _start(kernel: Kernel, operand: int, kept: Any) -> Any:
    """Where row ``kept`` of an input begins."""
    rank = kernel.facts.kept_rank
    places = coordinates(kept, kernel.dims("kept_size", 0, range(1, rank)), rank)
    total = kernel.number(0)
    for at, stride in zip(places, kernel.dims("kept_stride", operand, range(rank)), strict=True):
        total = arith.addi(total, arith.muli(at, stride))
    return total
