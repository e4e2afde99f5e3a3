"""Work by tickets: rows that wait in the L2 cache, shared by the CTAs of the grid.

A row is divided into *chunks*, which are numbered through all rows. A phase of a chunk folds its elements and leaves
their state for the others, or writes the results. Ticket number t is a *turn*: the first phase of chunk t, the next one
of chunk ``t - lag``, and so on. So each phase follows ``lag`` chunks behind the one before it, which is more than a row
has: the first phase has loaded a row into the cache shortly before the others read it, and CTAs seldom wait. A CTA has
the elements of its next phase under way while the threads of the one before meet.

CTAs take tickets until none is left, each while they compute for the one before. A CTA waits only for smaller tickets,
and finishes its own in order. So the smallest ticket that is not done is always being worked on, and the kernel ends
even if one CTA runs at a time.

The CTA that is the last to fold a chunk of a row combines the states of all of them, in the order of the chunks, and
leaves the state of the row in the place of the first one. So the bits do not depend on who that is, and a later phase
reads one state, however many chunks a row has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....compiler.ir.mlir import arith, gpu, ir, scf
from ..kernel import Kernel
from .chunks import Chunks, ChunkWork


@dataclass(frozen=True, eq=False)
class Tickets:
    """The tickets of a kernel.

    Attributes:
        chunks: the chunks that CTAs share.
        count: the tickets.
        limit: the tickets that are taken: each CTA takes one more, which says that none is left.
    """

    chunks: Chunks
    count: Any
    limit: Any

    @classmethod
    def of(cls, kernel: Kernel) -> Tickets:
        """The tickets of a kernel."""
        chunks = Chunks.of(kernel)
        count = arith.addi(chunks.count, arith.muli(kernel.arg("lag"), kernel.number(chunks.phases - 1)))
        return cls(chunks, count, arith.addi(count, kernel.id(gpu.grid_dim(gpu.Dimension.x))))

    def take(self) -> Any:
        """The next ticket, which the first thread of the CTA knows."""
        kernel = self.chunks.kernel
        return kernel.make("fold.ticket", kernel.index, [kernel.arg("counter"), self.limit], {}, 1)

    def share(self, ticket: Any) -> Any:
        """A ticket, for all threads of the CTA."""
        return self.chunks.kernel.make("fold.share", self.chunks.kernel.index, [ticket], {}, 1)

    def work(self, turn: Any) -> Any:
        """Does the phases of a turn, and takes the next ticket."""
        first, *others = (ChunkWork.of(self.chunks, phase, turn) for phase in range(self.chunks.phases))
        first.load()
        before = first
        for chunk in others:
            state = before.reduced()
            chunk.load()
            before.finish(state)
            before = chunk
        return before.write(self.take)


def distribute_by_tickets(kernel: Kernel) -> None:
    """Writes the body of a kernel whose CTAs share rows in the L2 cache."""
    tickets = Tickets.of(kernel)
    loop = scf.WhileOp([kernel.index], [tickets.share(tickets.take())])
    before, body = (part.blocks.append(kernel.index) for part in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        (ticket,) = before.arguments
        scf.ConditionOp(kernel.less(ticket, tickets.count), [ticket])
    with ir.InsertionPoint(body):
        (ticket,) = body.arguments
        scf.YieldOp([tickets.share(tickets.work(ticket))])
