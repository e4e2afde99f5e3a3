"""The walk by periods: narrow rows without gaps are one row, which all threads of a CTA read side by side.

A thread's place is one in a period, and a thread owns a result, the column of its number, only when the rows of the
period have met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...compiler.ir.build import bytes_of
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith, gpu
from ...compiler.plan.rounds import second_plan
from .kernel import Kernel, load_attributes
from .place import Place, Row, Tile, lead_of
from .reader import Access, Numbering, Reader, Span, reduce_span
from .walk import Chunk, Walk, chunk_of

WORDS = 16
"""Registers for the partial states that a thread has in flight in the second round."""


def period_place(kernel: Kernel) -> tuple[Tile, Place]:
    """The columns of the CTA, and the thread's place in a period."""
    plan, rank = kernel.plan, kernel.facts.kept_rank
    thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
    tile = kernel.id(gpu.block_id(gpu.Dimension.x))
    columns = kernel.arg("n_kept") if rank == 1 else kernel.arg("kept_size", 0, rank - 1)
    period = arith.muli(kernel.arg("period_rows"), columns)
    slot = arith.muli(thread, kernel.number(plan.vector))
    first = arith.muli(tile, columns)
    kept = arith.addi(first, thread)
    in_range, owner = kernel.less(slot, period), kernel.less(thread, columns)
    starts = tuple(kernel.arg("input", i) for i in range(len(kernel.inputs)))
    place = Place(plan, None, None, thread, slot, kept, in_range, owner, first)
    return Tile(Row(kernel, columns, None, (), starts), first, period), place


@dataclass(frozen=True, eq=False)
class PeriodWalk(Walk):
    """The walk of a thread by periods. Elements are counted through all rows.

    Attributes:
        chunk: the elements that the CTA owns.
    """

    chunk: Chunk

    @classmethod
    def of(cls, tile: Tile, place: Place) -> PeriodWalk:
        """The walk of a thread from its place."""
        kernel, columns = tile.kernel, tile.row.columns
        elements = arith.muli(kernel.arg("n_reduced"), columns)
        if kernel.facts.gapped:
            elements = arith.subi(elements, kernel.arg("gap"))
        chunk = chunk_of(kernel, elements, arith.muli(kernel.arg("chunk"), columns))
        return cls(tile, place, kernel.arg("count"), PeriodPartials(tile), chunk)

    def first_round(self) -> tuple[Any, Place]:
        kernel, plan, place = self.kernel, self.kernel.plan, self.place
        t = element(kernel.inputs[0].type)
        lead = lead_of(kernel, t, kernel.arg("input", 0), self.tile.first, _layout(kernel, 0))
        read = self._reader().sources
        state = _round(self.tile, place, self.chunk.first, self.chunk.limit, lead, plan.unroll, read)
        return state, _written(self.tile, place) if plan.finish == "cta" else place

    def _reader(self) -> Reader:
        """The reader of the rows of a tile, as of one row: its elements have the numbers of their rows."""
        kernel, facts, one = self.kernel, self.kernel.facts, self.kernel.number(1)
        attributes = load_attributes(facts.kept_rank, 1, "reduced", "period")
        accesses = [
            Access(kernel.arg("input", i), self.tile.first, [*_layout(kernel, i), one], attributes)
            for i in range(len(kernel.inputs))
        ]
        if not kernel.indexed:
            return Reader(kernel, self.count, accesses)
        stride = kernel.arg("index_stride", 0, facts.reduced_rank - 1)
        layout = [self.tile.row.columns, stride, kernel.number(0)]
        numbers = Numbering(lambda r: r, layout, {"kept_rank": 0, "reduced_rank": 2, "axis": "reduced"})
        return Reader(kernel, self.count, accesses, numbers)


@dataclass(frozen=True, eq=False)
class PeriodPartials:
    """Partial states by tile, part and column."""

    tile: Tile

    def cell(self, place: Place, parts: Any, /) -> tuple[Any, Any]:
        return arith.addi(arith.muli(parts, self.tile.first), place.position), self.tile.row.columns

    def leaves(self, place: Place) -> Any:
        return place.owner

    def second_round(self, place: Place, parts: Any) -> tuple[Any, Place]:
        kernel, plan, states = self.tile.kernel, self.tile.kernel.plan, self.tile.kernel.states
        one, zero = kernel.number(1), kernel.number(0)
        start = arith.muli(parts, self.tile.first)
        lead = arith.andi(start, kernel.number(plan.vector - 1))
        attributes = load_attributes(1, 1, "reduced", "coherent")

        def read(r: Any) -> list[Any]:
            layouts = [[kernel.arg("partial", i), start, r, one, one] for i in range(len(states))]
            return [
                kernel.make("fold.load", t, operands, attributes, plan.vector)
                for t, operands in zip(states, layouts, strict=True)
            ]

        words = plan.vector * sum(-(-bytes_of(t) // 4) for t in states)
        unroll = max(1, min(second_plan(plan).unroll, WORDS // words))
        limit = arith.muli(parts, self.tile.row.columns)
        state = _round(self.tile, place, zero, limit, lead, unroll, read)
        return state, _written(self.tile, place)


def _round(tile: Tile, place: Place, first: Any, limit: Any, lead: Any, unroll: int, read: Any) -> Any:
    """Reduces the elements in [first, limit) of a row that begins ``lead`` elements past a boundary."""
    kernel, plan = tile.kernel, tile.kernel.plan
    begin = arith.addi(arith.subi(first, lead), place.slot)
    end = arith.select(place.in_range, limit, arith.subi(first, kernel.number(plan.vector)))
    own = reduce_span(kernel, plan, Span(begin, end, first, 1, tile.width), unroll, plan.vector, read)
    operands = [place.position, place.in_range, own, kernel.arg("period_rows"), tile.row.columns, lead]
    types = [state_type(kernel.states)]
    return kernel.stage("fold.period_reduce", types, operands, {"threads": plan.threads}).results[0]


def _written(tile: Tile, place: Place) -> Place:
    """The place of a thread that owns no column of a gap."""
    kernel = tile.kernel
    if not kernel.facts.gapped:
        return place
    with kernel.function.location:
        columns = arith.subi(tile.row.columns, kernel.arg("gap"))
        return replace(place, owner=arith.andi(place.owner, kernel.less(place.position, columns)))


def _layout(kernel: Kernel, operand: int) -> list[Any]:
    """Sizes and strides of the kept dims."""
    dims = range(kernel.facts.kept_rank)
    return kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", operand, dims)
