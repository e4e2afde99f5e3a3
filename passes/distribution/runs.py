"""The walk by runs: a warp reads one run of its results after another, each as a row of its own.

A thread's accesses lie along the run that its warp has reached, by the number of its lane alone, and the dims that
number the runs are kept dims to them. Long runs are cut into pieces, so that several warps share one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ...compiler.ir.anchored import met
from ...compiler.ir.combine import pack, unpack
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.plan.layout import layout_of
from .kernel import load_attributes
from .meeting import meet_in_cta
from .partials import RowPartials
from .place import Place, Tile, existing
from .reader import Access, Reader, extent, numbering, sizes
from .span import reduce_span, span_of
from .walk import Chunk, Walk, chunk_of


@dataclass(frozen=True, eq=False)
class RunWalk(Walk):
    """The walk of a thread by runs.

    Attributes:
        sizes: the sizes of the reduced dims; runs lie along the innermost.
        runs: the runs of a result.
        cut: the pieces of a run, and the elements of a piece; None where runs are not cut.
        chunk: the pieces that the CTA owns, of all pieces of a result.
    """

    sizes: list[Any]
    runs: Any
    cut: tuple[Any, Any] | None
    chunk: Chunk

    @classmethod
    def of(cls, tile: Tile, place: Place) -> RunWalk:
        """The walk of a thread from its place."""
        kernel = tile.kernel
        extents = sizes(kernel, "reduced")
        runs = count = reduce(arith.muli, extents[:-1])
        cut = layout_of(kernel.plan).pieces(extents[-1], kernel) if kernel.facts.pieces else None
        if cut is not None:
            count = arith.muli(runs, cut[0])
        chunk = chunk_of(kernel, count, kernel.arg("chunk"))
        return cls(tile, place, kernel.arg("count"), RowPartials(tile), extents, runs, cut, chunk)

    def first_round(self) -> tuple[Any, Place]:
        """Reduces the CTA's pieces."""
        kernel = self.kernel
        extents = {i: extent(kernel, i) for i, kind in enumerate(kernel.facts.access) if kind == "shifted"}
        begin, limit = self._of_warp()
        step = layout_of(kernel.plan).mode("turn", "piece").stride
        loop = scf.ForOp(begin, limit, kernel.number(step), kernel.neutral(1))
        with ir.InsertionPoint(loop.body):
            run, first, end = self._piece(loop.induction_variable)
            own = unpack(self._of_piece(self._reader(run, extents), first, end))
            scf.YieldOp(met(kernel.combine, list(loop.inner_iter_args), own))
        return meet_in_cta(self.tile, pack(list(loop.results)), self.place)

    def _of_warp(self) -> tuple[Any, Any]:
        """The first piece of a warp and the end of its pieces: each one by one of as many as warps, or one stretch."""
        kernel, chunk = self.kernel, self.chunk
        if not kernel.plan.meets_in_steps:
            return arith.addi(chunk.first, self.place.warp), chunk.limit
        each = layout_of(kernel.plan).piece(chunk.length, kernel)
        begin = arith.addi(chunk.first, arith.muli(self.place.warp, each))
        return begin, arith.minsi(chunk.limit, arith.addi(begin, each))

    def _piece(self, number: Any) -> tuple[Any, Any, Any]:
        """The run that a piece is of, and the elements of that run that are the piece's: the first, and the end."""
        length = self.sizes[-1]
        if self.cut is None:
            return number, self.kernel.number(0), length
        pieces, each = self.cut
        run, k = self.kernel.divided(number, pieces)
        first = arith.minsi(arith.muli(k, each), length)
        return run, first, arith.minsi(arith.addi(first, each), length)

    def _of_piece(self, reader: Reader, first: Any, end: Any) -> Any:
        """What the thread's elements of a piece combine to."""
        kernel, plan = self.kernel, self.kernel.plan
        alone = replace(plan, warps=1) if plan.meets_in_steps else plan
        span = span_of(kernel, replace(self.place, position=self.place.lane), alone, first, end, end)
        return reduce_span(kernel, plan, span, plan.unroll, plan.vector, reader.sources)

    def _reader(self, run: Any, extents: dict[int, Any]) -> Reader:
        """The reader of a run: as a row, which results and runs together number."""
        kernel, facts = self.kernel, self.kernel.facts
        kept, reduced = range(facts.kept_rank), range(facts.reduced_rank)
        kept_of = existing(kernel, self.place) if kernel.plan.meets_in_steps else self.place.kept
        number = arith.addi(arith.muli(kept_of, self.runs), run)
        accesses = []
        for i, kind in enumerate(facts.access):
            layout = kernel.dims("kept_size", 0, kept[1:]) + self.sizes[:-1]
            layout += kernel.dims("kept_stride", i, kept) + kernel.dims("reduced_stride", i, reduced)
            layout += [extents[i]] if i in extents else []
            attributes = load_attributes(len(kept) + len(reduced) - 1, 1, "reduced", kind)
            accesses.append(Access(kernel.arg("input", i), number, layout, attributes))
        numbers = numbering(kernel, lambda r: arith.addi(arith.muli(run, self.sizes[-1]), r))
        return Reader(kernel, self.count, accesses, numbers)
