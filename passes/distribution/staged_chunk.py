"""The elements of a chunk of a scan in shared memory: where they wait, and how they are copied there in bulk.

Rings of places in shared memory that warps fill and empty in turn, and the barriers on which they wait for it.

A barrier of a place (*mbarrier*) turns with so many arrivals, and the bytes that an arrival has announced. A warp goes
round the ring with a ``Turn``, the number of the place and the parity of the round, and waits for the turn of a barrier
in that round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from ...compiler.ir.build import (
    address,
    as_word,
    bytes_of,
    dynamic_shared,
    i32,
    integer,
    load,
    memory_type,
    shared_buffer,
    store,
    when,
    word_type,
)
from ...compiler.ir.combine import backwards, width
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, gpu, ir, llvm, nvvm, scf
from ...compiler.plan.fields import IN_BULK
from ..access.offsets import coordinates
from .kernel import Kernel
from .place import Place
from .resident.row_accesses import is_shifted, lead_of_row
from .scan_work import Work

BARRIER = 8
"""Bytes of a barrier."""


class Turn(NamedTuple):
    """A place of a ring in one round.

    Attributes:
        place: the number of the place, an i32.
        parity: of the round, an i32.
    """

    place: Any
    parity: Any

    @classmethod
    def first(cls) -> Turn:
        return cls(i32(0), i32(0))

    def next(self, places: int) -> Turn:
        """The place behind this one."""
        on = arith.addi(self.place, i32(1))
        over = arith.cmpi(arith.CmpIPredicate.eq, on, i32(places))
        turned = arith.xori(self.parity, arith.extui(word_type(), over))
        return Turn(arith.select(over, i32(0), on), turned)

    @property
    def before(self) -> Turn:
        """The same place in the round before: of the first round, one that is over."""
        return Turn(self.place, arith.xori(self.parity, i32(1)))


@dataclass(frozen=True, eq=False)
class Ring:
    """The barriers of a ring.

    Attributes:
        places: how many places it has.
        barriers: by the name of what has happened to a place, the address of the first place's barrier.
    """

    places: int
    barriers: Mapping[str, Any]

    @classmethod
    def of(cls, kernel: Any, places: int, arrivals: Mapping[str, int]) -> Ring:
        """A ring of so many places, whose barriers expect so many ``arrivals`` each. The CTA waits until it is made."""
        long = ir.IntegerType.get_signless(8 * BARRIER)
        found = {name: shared_buffer(kernel, name, places, long) for name in arrivals}
        thread = arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
        with when(arith.cmpi(arith.CmpIPredicate.eq, thread, i32(0))):
            for name, count in arrivals.items():
                for place in range(places):
                    nvvm.mbarrier_init(address(found[name], i32(place), long), i32(count))
        gpu.barrier()
        return cls(places, found)

    def _at(self, name: str, turn: Turn) -> Any:
        return address(self.barriers[name], turn.place, ir.IntegerType.get_signless(8 * BARRIER))

    def wait(self, name: str, turn: Turn) -> None:
        """Waits until it has happened to the place in this round."""
        barrier, i1 = self._at(name, turn), ir.IntegerType.get_signless(1)
        loop = scf.WhileOp([], [])
        with ir.InsertionPoint(loop.before.blocks.append()):
            done = nvvm.mbarrier_try_wait(barrier, turn.parity)
            scf.ConditionOp(arith.xori(done, arith.constant(i1, ir.IntegerAttr.get(i1, 1))), [])
        with ir.InsertionPoint(loop.after.blocks.append()):
            scf.YieldOp([])

    def arrive(self, name: str, turn: Turn, nbytes: Any = None) -> None:
        """Says that it has happened, by one thread; ``nbytes`` are to come before the barrier turns."""
        if nbytes is None:
            nvvm.mbarrier_arrive(self._at(name, turn))
        else:
            nvvm.mbarrier_arrive_expect_tx(self._at(name, turn), nbytes)

    def copy(self, name: str, turn: Turn, to: Any, source: Any, nbytes: Any) -> None:
        """Begins to copy bytes of global memory, a multiple of 16, which the barrier awaits."""
        of_cluster = llvm.addrspacecast(ir.Type.parse("!llvm.ptr<7>"), to)  # its own CTA's part
        nvvm.cp_async_bulk_shared_cluster_global(of_cluster, source, self._at(name, turn), nbytes)

    def each(self, name: str, take: Callable[[Turn], tuple[Any, Sequence[Any]]], work: Callable[..., None]) -> Turn:
        """Goes round the ring: waits for ``name``, and does ``work`` while there is some; gives the turn without.

        ``take`` gives whether there is work, and what it is, once the wait is over.
        """
        word = word_type()
        loop = scf.WhileOp([word, word, word], list(Turn.first()))
        before = loop.before.blocks.append(word, word)
        with ir.InsertionPoint(before):
            turn = Turn(*before.arguments)
            self.wait(name, turn)
            some, found = take(turn)
            scf.ConditionOp(some, [*turn, *found])
        body = loop.after.blocks.append(word, word, word)
        with ir.InsertionPoint(body):
            place, parity, *found = body.arguments
            work(Turn(place, parity), *found)
            scf.YieldOp(list(Turn(place, parity).next(self.places)))
        return Turn(*list(loop.results)[:2])


def leave_word(x: Any, buffer: Any, turn: Turn) -> None:
    """Puts an i32 in a buffer of a word for each place."""
    store(x, buffer, turn.place)


def word_of(buffer: Any, turn: Turn) -> Any:
    """The word of a place."""
    return load(buffer, turn.place, word_type())


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
    with when(kernel.less(kernel.number(0), length)):
        for i, to in staged.places.items():
            first = arith.subi(kernel.number(1), staged.limit) if i in staged.reversed else begin
            first = arith.addi(_start(kernel, i, kernel.scaled(work.tile, columns)), kernel.scaled(first, columns))
            source = address(kernel.arg("input", i), first, types[i])
            room = address(to, kernel.scaled(arith.subi(begin, staged.first), columns), types[i])
            ring.copy("full", turn, room, source, sizes[i])


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
