"""The walk: how a thread goes through the elements of its results.

A walk is made of a place, which says where the thread begins, and a reader, which says what an access holds. This file
has what a walk must offer, and the ordinary walk: along the reduced axis, interleaved or in pieces. Walks that differ
from it in their place alone (padded rows, staggered columns) are the ordinary walk from another place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from ...compiler.ir.mlir import arith, gpu
from .kernel import Kernel, load_attributes
from .meeting import meet_in_cluster, meet_in_cta
from .partials import Partials, RowPartials
from .place import Place, Tile, existing, name, numbers_of_cta
from .reader import Reader, access, numbering
from .span import makes_lists_of_warps, reduce_span, span_of


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
