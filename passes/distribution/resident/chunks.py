"""The chunks of rows that wait in the L2 cache, and the phases of a chunk: folds, and then the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.build import address
from ....compiler.ir.combine import pack, unpack, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, llvm, scf
from ....compiler.plan.layout import rows_of_states
from ..kernel import Kernel, load_attributes
from ..meeting import meet_in_first_warp
from ..place import Digits, Place, Tile, place_in_tile
from ..row import Row
from ..span import reduce_span, span_of
from ..walk import Chunk
from .held_row import HeldRow
from .row_accesses import RowAccesses, is_cut, is_shifted

Make = Callable[[], Sequence[Any]]
"""What writes the ops of a branch, and gives its values."""


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
        types = [with_shape(element(v.type), self.place.plan.vector) for v, _ in accesses]

        def loaded(row: HeldRow) -> list[Any]:
            return [row.fragment(v, j) for v, j in accesses]

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
        phase, i1 = self.chunks.kernel.of(self.phase), ir.IntegerType.get_signless(1)

        def combine() -> list[Any]:
            with phase.reduce.location:
                self.meet(phase, self.combined(phase), phase.number(0))
            self.count("fold.signal", self.phase)
            return []

        def leave() -> list[Any]:
            with phase.reduce.location:
                self.meet(phase, pack(state), self.part)
            _if(self.count("fold.arrive", self.phase, [i1]).results[0], [], combine)
            return []

        self.if_there([], leave)

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
        kernel, values = self.chunks.kernel, self.row.row.values
        if self.phase:
            self.count("fold.await", self.phase - 1)
        for number in range(self.phase):
            before = kernel.of(number)
            with before.reduce.location:
                values.kept.update(zip(before.reduced, self.published(before), strict=True))
        values.prepare(self.wanted)

    def if_there(self, types: Sequence[Any], make: Make, otherwise: Make | None = None) -> list[Any]:
        """What ``make`` gives where the turn has a chunk for the phase, values of ``types``, or else ``otherwise``."""
        return _if(self.there, types, make, otherwise)

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
        return _if(self.inner, types, whole, cut)

    def count(self, op: str, phase: int, types: Sequence[Any] = ()) -> Any:
        """An op on the counter of a phase of these rows. The first counter is that of the tickets."""
        kernel, tiles = self.chunks.kernel, self.chunks.tiles
        number = arith.addi(arith.muli(tiles, kernel.number(phase)), arith.addi(self.number, kernel.number(1)))
        return kernel.make_op(op, list(types), [kernel.arg("counter"), number, self.chunks.parts], {})

    def meet(self, phase: Kernel, state: Any, part: Any) -> None:
        """Joins the states of the threads, and leaves what comes out in the place of the state of chunk ``part``."""
        tile = replace(self.tile, row=replace(self.tile.row, kernel=phase))
        meet_in_first_warp(tile, state, self.place, lambda met: self.leave(phase, unpack(met), part))

    def leave(self, phase: Kernel, state: list[Any], part: Any) -> None:
        """Stores a state in the place of that of chunk ``part``."""
        at = arith.muli(part, self.pitch())
        for pointer, value in zip(self.partials(phase), state, strict=True):
            begin = address(pointer, at, element(value.type))
            operands = [value, begin, self.place.kept, self.place.owner, phase.number(1)]
            attributes = {"kept_rank": 1, "reduced_rank": 0, "vector": phase.plan.vector_kept > 1}
            phase.make_op("fold.store", [], operands, attributes)

    def combined(self, phase: Kernel) -> Any:
        """What a thread makes of the states of the chunks of the row."""
        plan, parts = phase.plan.second, self.chunks.parts
        span = span_of(phase, self.place, plan, phase.number(0), parts, parts)

        def read(r: Any) -> list[Any]:
            return self.states(phase, self.place.kept, r)

        return reduce_span(phase, plan, span, plan.unroll, plan.vector_kept, read)

    def published(self, phase: Kernel) -> list[Any]:
        """The state of the whole row, which lies in the place of that of its first chunk."""
        return self.states(phase, self.place.start, phase.number(0))

    def states(self, phase: Kernel, kept: Any, part: Any) -> list[Any]:
        """What lies in the place of the states of chunk ``part``, of the rows from ``kept`` on."""
        operands, attributes = [kept, part, phase.number(1), self.pitch()], load_attributes(1, 1, "kept", "coherent")
        return [
            phase.make("fold.load", t, [pointer, *operands], attributes, phase.plan.vector_kept)
            for pointer, t in zip(self.partials(phase), phase.states, strict=True)
        ]

    def partials(self, phase: Kernel) -> list[Any]:
        """The arrays of the states of a phase: those of all phases follow each other."""
        before = sum(len(p.sources) for p in phase.phases[: phase.phase])
        return [phase.arg("partial", before + i) for i in range(len(phase.states))]

    def pitch(self) -> Any:
        """The states of all rows for one chunk of each."""
        kernel = self.chunks.kernel
        return rows_of_states(kernel.plan).places(kernel.arg("n_kept"), kernel)


def _if(condition: Any, types: Sequence[Any], make: Make, otherwise: Make | None = None) -> list[Any]:
    """What ``make`` gives in a branch for a condition, values of ``types``; in one for the opposite ``otherwise``."""
    branch = scf.IfOp(condition, types, has_else=otherwise is not None)
    blocks = [(branch.then_block, make), *([(branch.else_block, otherwise)] if otherwise else [])]
    for block, own in blocks:
        with ir.InsertionPoint(block):
            scf.YieldOp(own())
    return list(branch.results)
