"""Rows that go through a tile of shared memory: a CTA copies its rows there, and writes results from there.

The rows of a CTA are one run of memory in each array, wherever rows begin and in whatever order their elements lie. All
threads copy the run by whole aligned accesses, and write that of a result in the same way. In between a thread reads
and writes single elements of the tile. Each array has a part of the tile. A run is read as a whole before any of it is
written, so a result may lie where an input does. Where warps share a row, a result lies in the tile of an input, too.

Where lanes lie along the rows, neighbouring ones take rows that are ``Plan.warps_kept`` apart, for which the planner
has the rows of a warp begin at different banks. Otherwise they take neighbouring rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from ....compiler.ir.build import address, bytes_of, memory_type, repeat
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, nvvm
from ....compiler.plan import tiles
from ....compiler.plan.fields import IN_TILE
from ....compiler.planner.alignment import WIDEST
from ...access.offsets import coordinates
from ..kernel import Kernel
from ..place import Place, Tile, first_place
from ..walk import Chunk, chunk_of

LINE = 128
"""Bytes of a line of the cache."""


@contextmanager
def row_tiles(
    kernel: Kernel, chunk: Chunk | None = None, number: Any = None, *, writes: bool = True
) -> Iterator[tuple[Tile, Place, Mapping[int, Sequence[Any]]]]:
    """A loop over the rows of a thread: its body is made inside.

    It gives the results of the CTA, the place of the thread, and for each operand with a tile where this is, and its
    origin. Warps that share a row have one each, as all threads have in a large tile or where rows are kept, and no
    loop. Tiles have the elements of a ``chunk`` of rows, by default all of them, or the equal part that a CTA of a
    cluster has. The rows are those with a ``number``, by default that of the CTA. Where nothing ``writes``, results
    have no tiles.
    """
    tile, place = first_place(kernel)
    first, end = _rows_of(kernel, number)
    runs = _Runs(kernel, first, end, chunk)
    found = runs.tiles(writes=writes)
    gpu.barrier()
    if kernel.plan.warps > 1 or kernel.plan.is_large_tile or kernel.plan.keeps_columns:
        yield tile, _placed(kernel, place, arith.addi(first, place.slot), end), found
    else:
        alone = kernel.plan.lanes == 1
        begin = arith.addi(first, place.slot) if alone else first
        with repeat(begin, end, kernel.number(kernel.plan.slots)) as kept:
            if alone:
                yes = kernel.yes()
                yield tile, replace(place, kept=kept, start=kept, in_range=yes, owner=yes), found
            else:
                yield tile, _placed(kernel, place, arith.addi(kept, place.slot), end), found
    gpu.barrier()
    if writes:
        runs.write(found)


class TileRing:
    """Places of shared memory to which a CTA copies the rows of one chunk after another, before it works on them."""

    def __init__(self, kernel: Kernel, number: Any) -> None:
        self.kernel = kernel
        self.rows = _rows_of(kernel, number)
        self.own = [i for i in buffers_of(kernel).own if i < len(kernel.inputs)]

    def _runs(self, chunk: Chunk) -> _Runs:
        return _Runs(self.kernel, *self.rows, chunk)

    def copy(self, chunk: Chunk, place: Any, exists: Any) -> None:
        """Begins to copy a chunk to a place, if it ``exists``."""
        self._runs(chunk).copy_to(self.own, place, exists)

    def arrived(self) -> None:
        """Waits until a tile is there for all threads, behind which all other places are on their way."""
        kernel = self.kernel
        kernel.make_op("fold.tile_arrived", [], [], {"later": len(self.own) * (kernel.plan.tiles - 2)})
        gpu.barrier()

    @contextmanager
    def tile(
        self, chunk: Chunk, place: Any, *, writes: bool
    ) -> Iterator[tuple[Tile, Place, Mapping[int, Sequence[Any]]]]:
        """The rows of a chunk that is there for all threads, as in ``row_tiles``."""
        kernel, runs = self.kernel, self._runs(chunk)
        found = runs.placed(place, writes=writes)
        if writes:
            runs.reuse(found)
        tile, own = first_place(kernel)
        yield tile, _placed(kernel, own, arith.addi(self.rows[0], own.slot), self.rows[1]), found
        if writes:
            gpu.barrier()
            runs.write(found)


def fetch_rows(kernel: Kernel, chunk: Chunk, number: Any = None) -> None:
    """Has the L2 cache read the elements of a chunk of rows, which are copied to a tile later."""
    _Runs(kernel, *_rows_of(kernel, number), chunk).fetch()


def _rows_of(kernel: Kernel, number: Any) -> tuple[Any, Any]:
    """The first of the rows with a number, by default that of the CTA, and the one after the last."""
    rows = kernel.arg("tile_rows")
    first = arith.muli(kernel.id(gpu.block_id(gpu.Dimension.x)) if number is None else number, rows)
    return first, arith.minsi(arith.addi(first, rows), kernel.arg("n_kept"))


def _placed(kernel: Kernel, place: Place, kept: Any, end: Any) -> Place:
    """The place of a thread with row ``kept``, if that lies before ``end``; else it reads the last row."""
    last = arith.subi(end, kernel.number(1))
    found = replace(Place.of(kernel, place.digits, kept, end), start=arith.minsi(kept, last))
    if place.rank is None:
        return found
    return replace(found, rank=place.rank, owner=arith.andi(found.owner, kernel.is_first(place.rank)))


def buffers_of(kernel: Kernel) -> tiles.RowBuffers:
    """The buffers of a kernel's tile."""
    inputs, names = len(kernel.inputs), (*kernel.facts.access, *kernel.facts.stores)
    own = [i for i, access in enumerate(names) if access in IN_TILE]
    items = [bytes_of(memory_type(element(v.type))) for v in (*kernel.inputs, *kernel.results)]
    return tiles.RowBuffers(kernel.plan, items, [i for i in own if i < inputs], [i for i in own if i >= inputs])


def row_offset(kernel: Kernel, row: Any, operand: int) -> Any:
    """Where row number ``row`` begins in an operand, in elements from its first row."""
    kept = range(kernel.facts.kept_rank)
    places = coordinates(row, kernel.dims("kept_size", 0, kept[1:]), len(kept))
    strides = kernel.dims("kept_stride", operand, kept)
    return reduce(arith.addi, (arith.muli(*pair) for pair in zip(places, strides, strict=True)))


class _Run(NamedTuple):
    """The elements of a CTA's rows in one array: the first one, and how many there are, with gaps."""

    begin: Any
    length: Any


class _Runs:
    """The elements of a CTA's rows, which are a run of memory in each array that has a tile."""

    def __init__(self, kernel: Kernel, first: Any, end: Any, chunk: Chunk | None) -> None:
        self.kernel, self.chunk = kernel, chunk
        self.rows = first, arith.subi(end, kernel.number(1))
        self.thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        self.buffers = buffers_of(kernel)
        self.found = {i: self._run_of(i) for i in (*self.buffers.own, *self.buffers.reused)}

    def _run_of(self, operand: int) -> _Run:
        """The elements from the first one of the first row to the last one of the last row.

        A scan may go along rows in reverse. No other stride is negative.
        """
        kernel, reduced = self.kernel, range(self.kernel.facts.reduced_rank)
        begin, last = (row_offset(kernel, row, operand) for row in self.rows)
        one = kernel.number(1)
        if kernel.plan.cluster > 1:  # whose CTAs have equal parts of each row: the last ones may have no elements
            (stride,) = kernel.dims("reduced_stride", operand, reduced)
            chunk = chunk_of(kernel, kernel.arg("n_reduced"), kernel.arg("chunk"))
            last = arith.addi(last, arith.muli(arith.subi(chunk.limit, one), stride))
            begin = arith.addi(begin, arith.muli(chunk.first, stride))
            return _Run(begin, kernel.at_least(arith.addi(arith.subi(last, begin), one), 0))
        if self.chunk is not None:
            (stride,) = kernel.dims("reduced_stride", operand, reduced)
            ends = [arith.muli(at, stride) for at in (self.chunk.first, arith.subi(self.chunk.limit, one))]
            begin, last = arith.addi(begin, arith.minsi(*ends)), arith.addi(last, arith.maxsi(*ends))
            return _Run(begin, arith.addi(arith.subi(last, begin), one))
        sizes = kernel.dims("reduced_size", 0, reduced[1:])
        outer = reduce(arith.divui, sizes, kernel.arg("n_reduced"))
        for size, stride in zip([outer, *sizes], kernel.dims("reduced_stride", operand, reduced), strict=True):
            if kernel.plan.is_chain:
                back, stride = (at_most(stride, kernel.number(0)) for at_most in (arith.minsi, arith.maxsi))
                begin = arith.addi(begin, arith.muli(arith.subi(size, one), back))
            last = arith.addi(last, arith.muli(arith.subi(size, one), stride))
        return _Run(begin, arith.addi(arith.subi(last, begin), one))

    def fetch(self) -> None:
        """Has the L2 cache read the lines of inputs that are copied."""
        for i in (i for i in self.buffers.own if i < len(self.kernel.inputs)):
            begin, length = self.found[i]
            each = LINE // self.buffers.items[i]
            with repeat(
                self.thread, self.kernel.ceil(length, each), self.kernel.number(self.kernel.plan.threads)
            ) as turn:
                at = arith.addi(begin, self.kernel.scaled(turn, each))
                item = element(self.kernel.inputs[i].type)
                nvvm.prefetch(address(self._array(i), at, memory_type(item)), cache_level=nvvm.PrefetchCacheLevel.L2)

    def tiles(self, *, writes: bool) -> dict[int, Sequence[Any]]:
        """The tile of each operand that has one, and its origin: inputs are copied, and results written if asked."""
        kernel, inputs = self.kernel, len(self.kernel.inputs)
        types = [ir.Type.parse("!llvm.ptr<3>"), kernel.index]
        found: dict[int, Sequence[Any]] = {}
        for i in (i for i in self.buffers.own if writes or i < inputs):
            room = {"item": self.buffers.items[i], "bytes": self.buffers.nbytes(i)}
            if kernel.plan.is_large_tile:
                room["dynamic"] = self.buffers.start(i)
            begin, length = self.found[i]
            if i < inputs:
                operands = [self._array(i), begin, length, arith.addi(begin, length), self.thread]
                how = room | {"threads": kernel.plan.threads, "own": True}
                found[i] = list(kernel.make_op("fold.tile_copy", types, operands, how).results)
            else:
                found[i] = list(kernel.make_op("fold.tile_reserve", types, [self._array(i), begin], room).results)
        if writes:
            self.reuse(found)
        return found

    def reuse(self, found: dict[int, Sequence[Any]]) -> None:
        """Adds the results that lie where an input does."""
        for i, other in self.buffers.reused.items():
            tile, origin = found[other]
            moved = arith.subi(self._boundary(i), self._boundary(other))
            found[i] = [tile, arith.addi(origin, moved)]

    def placed(self, place: Any, *, writes: bool) -> dict[int, Sequence[Any]]:
        """The tile of each operand with its own one, and its origin: inputs are in a ``place`` of a ring."""
        kernel, inputs = self.kernel, len(self.kernel.inputs)
        types, found = [ir.Type.parse("!llvm.ptr<3>"), kernel.index], dict[int, Sequence[Any]]()
        for i in (i for i in self.buffers.own if writes or i < inputs):
            operands = [self._array(i), self.found[i].begin, *([place] if i < inputs else [])]
            found[i] = list(kernel.make_op("fold.tile_reserve", types, operands, self._room(i)).results)
        return found

    def _room(self, operand: int) -> dict[str, int]:
        """Where the places of a ring of an operand are."""
        room = {"item": self.buffers.items[operand], "bytes": self.buffers.nbytes(operand)}
        return room | {"dynamic": self.buffers.start(operand) * self.kernel.plan.tiles}

    def copy_to(self, own: Sequence[int], place: Any, exists: Any) -> None:
        """Begins to copy inputs to a place of a ring, if there is a chunk."""
        kernel, zero = self.kernel, self.kernel.number(0)
        types = [ir.Type.parse("!llvm.ptr<3>"), kernel.index]
        for i in own:
            begin, length = self.found[i]
            length = arith.select(exists, length, zero)
            how = self._room(i) | {"threads": kernel.plan.threads, "own": True}
            operands = [self._array(i), begin, length, arith.addi(begin, length), self.thread, place]
            kernel.make_op("fold.tile_copy", types, operands, how)

    def _array(self, operand: int) -> Any:
        """Where the array of an operand begins."""
        inputs = len(self.kernel.inputs)
        role, number = ("input", operand) if operand < inputs else ("output", operand - inputs)
        return self.kernel.arg(role, number)

    def _boundary(self, operand: int) -> Any:
        """The element at the boundary before the run in the array of an operand."""
        kernel, item, begin = self.kernel, self.buffers.items[operand], self.found[operand].begin
        attributes = {"lanes": WIDEST // item, "bytes": item, "kept_rank": 1, "reduced_rank": 0}
        operands = [self._array(operand), begin, kernel.number(1)]
        return arith.subi(begin, kernel.make("fold.lead", kernel.index, operands, attributes, 1))

    def write(self, tiles: Mapping[int, Sequence[Any]]) -> None:
        """Writes the results that have a tile."""
        kernel, inputs = self.kernel, len(self.kernel.inputs)
        for i in (i for i in tiles if i >= inputs):
            operands = [*tiles[i], self._array(i), *self.found[i], self.thread]
            how = {"item": self.buffers.items[i], "threads": kernel.plan.threads}
            kernel.make_op("fold.tile_write", [], operands, how)
