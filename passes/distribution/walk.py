"""The walk: how a thread goes through the elements of its results.

A walk is made of a place, which says where the thread begins, and a reader, which says what an access holds. This file
has what a walk must offer, and the ordinary walk: along the reduced axis, interleaved or in pieces. Walks that differ
from it in their place alone (padded rows, staggered columns) are the ordinary walk from another place.

The walk over blocks: a thread reads all elements of its results at once, and combines those of each result.

There is no loop. The elementwise code is that of single accesses, and which elements of an access belong to which
result is known here.

The walk by runs: a warp reads one run of its results after another, each as a row of its own.

A thread's accesses lie along the run that its warp has reached, by the number of its lane alone, and the dims that
number the runs are kept dims to them. Long runs are cut into pieces, so that several warps share one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

from ...compiler.ir.anchored import met
from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.combine import pack, unpack, with_shape
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.plan.layout import layout_of
from ...compiler.planner.alignment import WIDEST
from .kernel import Kernel, load_attributes
from .meeting import Partials, RowPartials, meet_in_cluster, meet_in_cta
from .place import Place, Tile, existing, name, numbers_of_cta
from .reader import Access, Reader, access, extent, makes_lists_of_warps, numbering, reduce_span, sizes, span_of


@dataclass(frozen=True, eq=False)
class Walk(ABC):
    """How a thread goes through the elements of its results: the first round of a kernel.

    Attributes:
        tile, place: the results of the CTA, and the thread's place while it reads.
        count: how many elements a result has in all, where the program uses that.
        partials: where the states go if other CTAs have elements of the same results.
    """

    tile: Tile
    place: Place
    count: Any
    partials: Partials

    @property
    def kernel(self) -> Kernel:
        return self.tile.kernel

    @abstractmethod
    def first_round(self) -> tuple[Any, Place]:
        """The state of all elements that the CTA or the cluster has of the thread's results, and its place then."""


class Chunk(NamedTuple):
    """The elements of a result that a CTA owns.

    Attributes:
        first, limit: the first one, and the one after the last.
        length: how many there are at most.
        origin: the element that has the number 0; None where it is element 0.
    """

    first: Any
    limit: Any
    length: Any
    origin: Any = None


def chunk_of(kernel: Kernel, count: Any, length: Any, *, always: bool = False) -> Chunk:
    """The chunk of the CTA, if CTAs share ``count`` elements, or pieces of runs, in chunks of ``length``.

    By the plan CTAs share them where states meet in a cluster or the grid; or ``always``, where nothing meets.
    """
    if kernel.plan.finish == "cta" and kernel.plan.cluster == 1 and not always:
        return Chunk(kernel.number(0), count, length)
    number = numbers_of_cta(kernel)[1] if always else kernel.id(gpu.block_id(gpu.Dimension.y))
    first = arith.muli(number, length)
    limit = arith.minsi(arith.addi(first, length), count)
    name(first=first, limit=limit)
    return Chunk(first, limit, length)


def ragged_row(kernel: Kernel, place: Place) -> tuple[Chunk, Any]:
    """The elements of the thread's ragged row, and how many of the caller's elements that row has."""
    entry = partial(_entry, kernel, place)
    first, limit = entry("row_begin"), entry("row_end")
    length = arith.subi(limit, first)
    origin = entry("row_origin") if kernel.indexed else None
    return Chunk(first, limit, length, origin), entry("row_count") if kernel.counted else None


def _entry(kernel: Kernel, place: Place, role: str) -> Any:
    """What the array ``role`` says of the thread's ragged row; of the last row, where the thread has none."""
    dims = range(kernel.facts.kept_rank)
    kept = arith.minsi(place.kept, arith.subi(kernel.arg("n_kept"), kernel.number(1)))
    layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("row_stride", 0, dims)
    attributes = load_attributes(len(dims), 0, "kept", "strided")
    operands = [kernel.arg(role), kept, kernel.number(0), *layout]
    return kernel.make("fold.load", kernel.index, operands, attributes, 1)


@dataclass(frozen=True, eq=False)
class ElementWalk(Walk):
    """The walk along the reduced axis.

    Attributes:
        chunk: the elements that the CTA owns.
        copies: for each input its copy in shared memory and where the thread's elements begin there; or nothing.
    """

    chunk: Chunk
    copies: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, tile: Tile, place: Place, copies: Sequence[Sequence[Any]] = ()) -> ElementWalk:
        """The walk of a thread from its place."""
        kernel = tile.kernel
        if kernel.facts.ragged:
            chunk, count = ragged_row(kernel, place)
        else:
            chunk, count = chunk_of(kernel, kernel.arg("n_reduced"), kernel.arg("chunk")), kernel.arg("count")
        copies = copies or [()] * len(kernel.inputs)
        return cls(tile, place, count, RowPartials(tile), chunk, copies)

    def first_round(self) -> tuple[Any, Place]:
        kernel, plan, chunk, place = self.kernel, self.kernel.plan, self.chunk, self.place
        span = span_of(kernel, place, plan, chunk.first, chunk.limit, chunk.length)
        numbers = numbering(kernel, lambda r: r if chunk.origin is None else arith.subi(r, chunk.origin))
        if plan.meets_in_steps:  # all lanes take part, also those without results
            place = replace(place, start=existing(kernel, place))
        accesses = [access(self.tile.row, place, i, copy) for i, copy in enumerate(self.copies)]
        reader = Reader(kernel, self.count, accesses, numbers)
        warps = makes_lists_of_warps(kernel, plan)
        known = [name for name, is_so in (("warp", warps), ("together", plan.reads == "together")) if is_so]
        state = reduce_span(kernel, plan, span, plan.unroll, plan.vector, reader.sources, known)
        if plan.cluster > 1:
            return meet_in_cluster(self.tile, state, place, warps=warps), place
        return meet_in_cta(self.tile, state, place, warps=warps)


class BlockWalk(Walk):
    """The walk of a thread over blocks."""

    @classmethod
    def of(cls, tile: Tile, place: Place) -> BlockWalk:
        """The walk of a thread from its place."""
        return cls(tile, place, tile.kernel.arg("count"), RowPartials(tile))

    def first_round(self) -> tuple[Any, Place]:
        kernel, plan, inputs = self.kernel, self.kernel.plan, self.kernel.inputs
        elements, columns = kernel.facts.block
        first, total = (arith.muli(x, kernel.number(elements)) for x in (self.place.kept, self.tile.row.columns))
        each = WIDEST // bytes_of(memory_type(element(inputs[0].type)))
        read = [self._accesses(i, x, each, first, total) for i, x in enumerate(inputs)]
        reader = Reader(kernel, self.count)
        values = []
        for own in zip(*read, strict=True):
            memo = dict(zip(inputs, own, strict=True))
            values.append(pack([reader.fragment(v, each, memo) for v in kernel.sources]))
        state = state_type([with_shape(t, plan.vector) for t in kernel.states])
        attributes = {"elements": elements, "columns": columns}
        return kernel.stage("fold.block_reduce", [state], values, attributes).results[0], self.place

    def _accesses(self, operand: int, x: Any, each: int, first: Any, total: Any) -> list[Any]:
        """The accesses, of ``each`` elements, that hold the thread's elements of an input."""
        kernel = self.kernel
        types = [with_shape(element(x.type), each)] * (kernel.plan.vector * kernel.facts.block[0] // each)
        return list(kernel.make_op("fold.block_load", types, [self.tile.row.starts[operand], first, total], {}).results)


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
