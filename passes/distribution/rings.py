"""Rings of places in shared memory that warps fill and empty in turn, and the barriers on which they wait for it.

A barrier of a place (*mbarrier*) turns with so many arrivals, and the bytes that an arrival has announced. A warp goes
round the ring with a ``Turn``, the number of the place and the parity of the round, and waits for the turn of a barrier
in that round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...compiler.ir.build import address, i32, load, shared_buffer, store, word_type
from ...compiler.ir.mlir import arith, gpu, ir, llvm, nvvm, scf

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
        branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, thread, i32(0)))
        with ir.InsertionPoint(branch.then_block):
            for name, count in arrivals.items():
                for place in range(places):
                    nvvm.mbarrier_init(address(found[name], i32(place), long), i32(count))
            scf.YieldOp([])
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
