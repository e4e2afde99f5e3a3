"""The phases of a kernel that reads its rows again: folds whose results all threads of a row use, then the results.

The threads that share a row own the same elements in every phase. So elements that wait in registers need no exchange:
an access is a value of the kernel, which later phases use. After each fold the stages give the state to all threads of
the row, and the elementwise code goes on with it.

Work by tickets: rows that wait in the L2 cache, shared by the CTAs of the grid.

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

The chunks of rows that wait in the L2 cache, and the phases of a chunk: folds, and then the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ....compiler.ir.build import bytes_of, i32, memory_type
from ....compiler.ir.combine import unpack, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, llvm, nvvm, scf
from ....compiler.planner.alignment import LINE
from ..kernel import Kernel
from ..meeting import meet_in_cluster, meet_in_cta
from ..place import Digits, Place, Row, Tile, existing, first_place, place_in_tile
from ..walk import Chunk
from .grid_row import distribute_over_grid
from .held_row import HeldRow
from .row_accesses import RowAccesses, is_cut, is_shifted
from .row_states import Make, RowStates, branched
from .row_stores import each_access
from .row_tiles import row_tiles
from .values import fetched_first
from .walked_row import WalkedRow


@dataclass(frozen=True, eq=False)
class Chunks:
    """The chunks of all rows.

    Attributes:
        kernel: the kernel.
        digits: the digits of the thread.
        parts: the chunks of a row.
        tiles: the tiles of rows.
        count: the chunks of all tiles.
    """

    kernel: Kernel
    digits: Digits
    parts: Any
    tiles: Any
    count: Any

    @classmethod
    def of(cls, kernel: Kernel) -> Chunks:
        """The chunks of a kernel."""
        early = kernel.plan.vector - 1 if is_shifted(kernel) else 0
        length = arith.addi(kernel.arg("n_reduced"), kernel.number(early)) if early else kernel.arg("n_reduced")
        parts = kernel.at_least(kernel.ceil(length, kernel.arg("chunk")), 1)
        tiles = kernel.ceil(kernel.arg("n_kept"), kernel.plan.slots)
        return cls(kernel, Digits.of(kernel, kernel.plan), parts, tiles, arith.muli(tiles, parts))

    @property
    def phases(self) -> int:
        """How many phases there are, with the last one, which writes."""
        return 1 + len(self.kernel.phases)

    def is_inner(self, part: Any) -> Any:
        """Whether no end of the row cuts chunk ``part``; None where no chunk is cut."""
        kernel, length = self.kernel, self.kernel.arg("chunk")
        if kernel.facts.full:
            return None
        end = arith.muli(arith.addi(part, kernel.number(1)), length)
        inner = arith.cmpi(arith.CmpIPredicate.sle, end, kernel.arg("n_reduced"))
        return arith.andi(inner, kernel.less(kernel.number(0), part)) if is_shifted(kernel) else inner


@dataclass(frozen=True, eq=False)
class ChunkWork:
    """One phase of a chunk.

    Attributes:
        chunks: the chunks of all rows.
        phase: the number of the phase.
        there: whether the turn has a chunk for the phase: at either end of the rows it has none.
        number: the number of the tile of rows.
        part: the number of the chunk in its rows.
        tile, place: the tile, and the thread's place in it.
        row: the thread's accesses to the chunk.
        inner: whether no end of the row cuts the chunk; None where that is known of all chunks.
    """

    chunks: Chunks
    phase: int
    there: Any
    number: Any
    part: Any
    tile: Tile
    place: Place
    row: HeldRow
    inner: Any

    @classmethod
    def of(cls, chunks: Chunks, phase: int, turn: Any) -> ChunkWork:
        """Phase ``phase`` of a turn."""
        kernel, zero = chunks.kernel, chunks.kernel.number(0)
        number = arith.subi(turn, arith.muli(kernel.number(phase), kernel.arg("lag")))
        there = arith.cmpi(arith.CmpIPredicate.sge, number, zero)
        there = arith.andi(there, kernel.less(number, chunks.count))
        tile_number, part = kernel.divided(arith.select(there, number, zero), chunks.parts)
        tile, place = place_in_tile(Row.at(kernel, None), tile_number, chunks.digits)
        last = arith.subi(kernel.arg("n_kept"), kernel.number(kernel.plan.vector_kept))
        place = replace(place, start=arith.minsi(place.kept, last))
        first, length = arith.muli(part, kernel.arg("chunk")), kernel.arg("chunk")
        chunk = Chunk(first, arith.minsi(arith.addi(first, length), kernel.arg("n_reduced")), length)
        accesses = RowAccesses.of(kernel, place, {}, chunk)
        row = HeldRow.of(accesses.cached("evict_last" if phase < len(kernel.phases) else "evict_first"))
        return cls(chunks, phase, there, tile_number, part, tile, place, row, chunks.is_inner(part))

    def load(self) -> None:
        """Reads the elements of the chunk."""
        waiting = self.chunks.kernel.facts.waiting
        inputs = [v for v in self.row.inputs_of(self.wanted) if ir.BlockArgument(v).arg_number in waiting]
        accesses = [(v, j) for v in inputs for j in range(len(self.row.starts))]
        types_of = {v: with_shape(element(v.type), self.place.plan.vector) for v in inputs}
        types = [types_of[v] for v, _ in accesses]

        def loaded(row: HeldRow) -> list[Any]:
            return [x for v in inputs for (x,) in each_access(row, [v], [types_of[v]], partial(_fragment_of, v))]

        found = self.if_there(types, lambda: self.accessed(types, loaded), lambda: [llvm.mlir_undef(t) for t in types])
        for (v, j), fragment in zip(accesses, found, strict=True):
            self.row.fragments[j][v] = fragment

    @property
    def wanted(self) -> Sequence[Any]:
        """The tensors whose elements the phase needs."""
        kernel = self.chunks.kernel
        return kernel.results if self.phase == len(kernel.phases) else kernel.of(self.phase).sources

    def reduced(self) -> list[Any]:
        """The state of the thread's elements."""
        phase = self.chunks.kernel.of(self.phase)
        types = [with_shape(t, phase.plan.vector_kept) for t in phase.states]

        def reduced() -> list[Any]:
            self.know()
            with phase.reduce.location:
                return self.chosen(types, lambda row: unpack(row.reduced(phase)))

        return self.if_there(types, reduced, lambda: [llvm.mlir_undef(t) for t in types])

    def finish(self, state: list[Any]) -> None:
        """Leaves the state of the chunk; the last CTA to do so combines those of the row."""

        def leave() -> list[Any]:
            self.states.leave(self.phase, state)
            return []

        self.if_there([], leave)

    @property
    def states(self) -> RowStates:
        """The states of the chunks of these rows."""
        chunks = self.chunks
        return RowStates(chunks.kernel, chunks.tiles, chunks.parts, self.number, self.part, self.tile, self.place)

    def write(self, take: Callable[[], Any]) -> Any:
        """Writes the results, those of rows with the first chunk; gives the ticket that it takes while it computes."""
        kernel = self.chunks.kernel
        owner = arith.andi(self.place.owner, kernel.is_first(self.part))
        row = replace(self.row, row=replace(self.row.row, place=replace(self.place, owner=owner)))

        def store(own: HeldRow) -> list[Any]:
            own.store()
            return []

        def written() -> list[Any]:
            self.know()
            following = take()
            replace(self, row=row).accessed([], store)
            return [following]

        return self.if_there([kernel.index], written, lambda: [take()])[0]

    def know(self) -> None:
        """Waits for the states of the rows from the phases before, and makes what all accesses need of them."""
        values = self.row.row.values
        if self.phase:
            self.states.wait(self.phase - 1)
        for number in range(self.phase):
            values.kept.update(self.states.published(number))
        values.prepare(self.wanted)

    def if_there(self, types: Sequence[Any], make: Make, otherwise: Make | None = None) -> list[Any]:
        """What ``make`` gives where the turn has a chunk for the phase, values of ``types``, or else ``otherwise``."""
        return branched(self.there, types, make, otherwise)

    def accessed(self, types: Sequence[Any], make: Callable[[HeldRow], Sequence[Any]]) -> list[Any]:
        """What ``make``, which reads or writes, gives of the row: masks are cheap where no end of it cuts an access."""
        kernel = self.chunks.kernel
        cut = kernel.plan.vector_reduced > 1 and is_cut(kernel)
        return self.chosen(types, make) if cut else list(make(self.row))

    def chosen(self, types: Sequence[Any], make: Callable[[HeldRow], Sequence[Any]]) -> list[Any]:
        """What ``make`` gives of the row, values of ``types``: a chunk that no end of the row cuts needs no masks."""
        if self.inner is None:
            return list(make(self.row))
        whole, cut = (lambda w=w: make(self.row.apart(whole=w)) for w in (True, False))
        return branched(self.inner, types, whole, cut)


def _fragment_of(v: Any, row: HeldRow, j: int) -> list[Any]:
    """The fragment of a tensor in an access."""
    return [row.fragment(v, j)]


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


SHARED_BY_CTAS = {"l2": distribute_by_tickets, "grid": distribute_over_grid}
"""For each residency of rows that CTAs share through memory what writes the body of the kernel."""
ROWS: dict[str, Any] = {"registers": HeldRow.of, "shared": HeldRow.of, "memory": WalkedRow.of}
"""For each residency what makes the row of a thread, if no loop walks its slots."""


def distribute_phases(kernel: Kernel) -> None:
    """Writes the body of a kernel that reads its rows again."""
    if kernel.plan.resident in SHARED_BY_CTAS:
        SHARED_BY_CTAS[kernel.plan.resident](kernel)
        return
    places = row_tiles if kernel.plan.tile_bytes else _in_place
    with places(kernel) as (tile, place, tiles):
        accesses = RowAccesses.of(kernel, place, tiles, results=tile.row)
        if _reads_parts_of_lines(kernel):
            accesses = accesses.by_lines()
        if kernel.facts.streams:
            accesses = accesses.cached("evict_first", _varying(kernel))
        row = _row_of(kernel)(accesses)
        fold_phases(kernel, tile, place, row)
        row.store()


def fold_phases(kernel: Kernel, tile: Tile, place: Place, row: Any, *, again: bool = False) -> None:
    """Folds a row, phase after phase: what the phases leave is known of the row then.

    Where the code runs ``again`` for another row, a single phase needs a second barrier, or a warp would leave its
    state for that row before all have read those of this one.
    """
    values = row.row.values
    fetched = fetched_first(values)
    values.prepare(fetched)
    for number in range(len(kernel.phases)):
        phase = kernel.of(number)
        with phase.reduce.location:
            state = row.reduced(phase)
            if again and len(kernel.phases) == 1 and place.plan.warps > 1:
                gpu.barrier()
            state = _met(replace(tile, row=replace(tile.row, kernel=phase)), state, place)
        values.kept.update(zip(phase.reduced, state, strict=True))
    written = fetched or kernel.plan.waits_in_tile  # where results go, other lanes have read
    if written and kernel.plan.warps == 1:
        nvvm.bar_warp_sync(i32(-1))  # between the warps of a row the stages have barriers


def _row_of(kernel: Kernel) -> Callable[[RowAccesses], HeldRow | WalkedRow]:
    """What makes the row of a thread."""
    if kernel.facts.walked:
        return WalkedRow.in_slots
    return WalkedRow.of if kernel.plan.waits_in_tile else ROWS[kernel.plan.resident]


def _varying(kernel: Kernel) -> list[int]:
    """The inputs with an element for each of a result's, and not one for a row or a column."""
    rank = kernel.facts.kept_rank + kernel.facts.reduced_rank
    return [i for i, x in enumerate(kernel.inputs) if x.type.rank == rank]


def _reads_parts_of_lines(kernel: Kernel) -> bool:
    """Whether a CTA that keeps columns reads parts of lines of the L2 cache, of which neighbours read the rest."""
    plan = kernel.plan
    rows = plan.fast == "reduced" and plan.fragments != "matrix"
    if rows or plan.resident == "memory" or plan.tile_bytes:
        return False
    return any(
        kernel.facts.access[i] not in ("aligned", "matrix")
        or plan.slots * bytes_of(memory_type(element(kernel.inputs[i].type))) < LINE
        for i in kernel.facts.waiting
    )


@contextmanager
def _in_place(kernel: Kernel) -> Iterator[tuple[Tile, Place, Mapping[int, Sequence[Any]]]]:
    """The results of the CTA and the place of a thread whose elements are read, and written, where they are."""
    tile, place = first_place(kernel)
    yield tile, replace(place, start=existing(kernel, place)), {}


def _met(tile: Tile, state: Any, place: Place) -> Sequence[Any]:
    """The values of the state of the whole row, in each of its threads."""
    if place.plan.cluster > 1:
        return unpack(meet_in_cluster(tile, state, place, everywhere=True))
    return unpack(meet_in_cta(tile, state, place)[0])
