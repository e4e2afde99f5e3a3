"""A scan of rows: every element gets the state of those up to it.

The elements of a row follow each other in *chunks*, each of one CTA, and a chunk in *segments*, each of one warp. Where
lanes lie along the row, a segment is one access of all lanes after another; else each lane has elements of its own,
and the next lane those behind them. Every level gives what comes before its parts, and the state of all of them: the
elements of an access, lanes, the accesses of a segment, the warps of a chunk, the chunks of a row. What comes before
an access is what comes before its chunk, then before its warp, and then before it in the segment. Nothing but elements
is combined: there is no identity at the beginning of a row.

Where a row has several chunks, CTAs take theirs by tickets, which go through the first chunks of all rows, then the
second ones, and so on. So a CTA waits for earlier tickets alone, and if there are many rows, for none. The last CTA of
a row clears the words in which its chunks left their states.

Scans of columns by CTAs that keep them: a CTA goes through rows of an array of columns, a tile at a time.

A tile has some rows of all columns, which are one run of memory. It is copied to shared memory, and each lane scans a
stretch of a column there. Threads keep what comes before the next tile in registers.

Where arrays are many, a CTA has all rows of one, and none waits for another. Else a CTA has a part of the rows, by a
ticket, and goes through it twice: from its end to its beginning, for the states of its columns, which it leaves for
others, and then, once it knows those of the parts before, as it lies: the L2 cache has what was read last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ...compiler.ir.build import repeat, when, word_type
from ...compiler.ir.combine import combine, pack
from ...compiler.ir.dialect.base import state_type
from ...compiler.ir.mlir import arith, gpu, ir, llvm, scf
from .kernel import Kernel
from .looks import Before, chosen
from .place import Digits, Place, Row, Tile, existing, first_place, place_in_tile
from .resident.row_tiles import TileRing, fetch_rows, row_tiles
from .scan_row import ScanRow
from .scan_work import Work, clear_own_words, look_back


def distribute_scan(kernel: Kernel) -> None:
    """Writes the body of a kernel that scans rows."""
    assert kernel.scan is not None
    work = Work.of(kernel)
    with (row_tiles if kernel.plan.tile_bytes else partial(_in_place, work=work))(kernel) as (tile, place, tiles):
        _scan_row(kernel, work, ScanRow.of(kernel, work, tile, place, tiles=tiles))


@contextmanager
def _in_place(kernel: Kernel, work: Work) -> Iterator[tuple[Tile, Place, Mapping[int, Sequence[Any]]]]:
    """The rows of the CTA and the place of a thread whose elements are read, and written, where they are."""
    digits = Digits.of(kernel, kernel.plan)
    tile, place = place_in_tile(Row.at(kernel, None), work.tile, digits)
    yield tile, replace(place, start=existing(kernel, place)), {}


def _scan_row(kernel: Kernel, work: Work, row: ScanRow) -> None:
    """Reads the elements of a thread, scans them, and writes the results."""
    assert kernel.scan is not None
    row.load()
    with kernel.scan.reduce.location:
        row.scan()
    if row.row.reused:
        gpu.barrier()  # all threads have read what they need of the tiles in which results are going to lie
    if work.parts is not None:  # before the results are on their way, for which the release would wait
        clear_own_words(kernel, work)
    row.store()


def distribute_scan_walk(kernel: Kernel) -> None:
    """Writes the body of a kernel whose CTAs keep columns, and walk along them."""
    zero, count = kernel.number(0), kernel.ceil(kernel.arg("n_reduced"), kernel.arg("chunk"))
    if kernel.facts.once:
        _Part(kernel, kernel.id(gpu.block_id(gpu.Dimension.x)), zero, count).scan(_nothing(kernel))
        return
    work = Work.of_parts(kernel)
    each = kernel.ceil(count, work.parts)
    first = arith.muli(work.part, each)
    part = _Part(kernel, work.tile, first, arith.minsi(arith.addi(first, each), count))
    with kernel.of_scan.reduce.location:
        before = part.before(work)
    clear_own_words(kernel, work)
    part.scan(before)


Step = Callable[[Any, Sequence[Any], ScanRow], Sequence[Any]]
"""A step of a walk: of the number of a tile, the state, and the row of a thread there; it gives the state behind it."""


class _Part(NamedTuple):
    """Tiles of an array of columns.

    Attributes:
        kernel: the kernel.
        array: the number of the array.
        first, end: the number of the first tile, and the one after the last.
    """

    kernel: Kernel
    array: Any
    first: Any
    end: Any

    def before(self, work: Work) -> Sequence[Any]:
        """What comes before the part in the column of a thread. It leaves the states of its own columns for others."""
        kernel = self.kernel.of_scan
        last = arith.cmpi(arith.CmpIPredicate.eq, arith.addi(work.part, kernel.number(1)), work.parts)
        asked = self if kernel.plan.tiles > 1 else self._replace(end=arith.select(last, self.first, self.end))
        total = asked._total()  # nobody asks for that of the last one, whose tiles wait in a ring all the same
        place, t = first_place(self.kernel)[1], state_type(kernel.states)
        buffers = [ir.Type.parse("!llvm.ptr<3>")] * len(total)
        operands = [kernel.number(0), place.slot, kernel.is_first(place.lane), pack(total)]
        how = {"rows": 1, "slots": kernel.plan.slots}
        left = list(kernel.make_op("fold.shared_store", buffers, operands, how).results)
        thread = arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
        return look_back(self.kernel, work, thread).of_warps(place.slot, left, t)

    def _total(self) -> Sequence[Any]:
        """The state of the part, from its last tile to its first."""
        kernel = self.kernel

        def step(number: Any, later: Sequence[Any], row: ScanRow) -> Sequence[Any]:
            own = row.segment()
            some = arith.cmpi(arith.CmpIPredicate.ne, arith.addi(number, kernel.number(1)), self.end)
            return chosen(some, combine(kernel.of_scan.combine, own, later), own)

        return self._walked(_nothing(kernel), step, writes=False)

    def scan(self, before: Sequence[Any]) -> None:
        """Scans the part, before which in each column there is ``before``."""

        def step(number: Any, earlier: Sequence[Any], row: ScanRow) -> Sequence[Any]:
            some = arith.cmpi(arith.CmpIPredicate.ne, number, self.kernel.number(0))
            after = row.scan(Before(earlier, some))
            if row.row.reused:
                gpu.barrier()  # all threads have read what they need of the tile in which results are going to lie
            row.store()
            return after

        self._walked(before, step, writes=True)

    def _walked(
        self, first: Sequence[Any], step: Callable[[Any, Sequence[Any], ScanRow], Sequence[Any]], *, writes: bool
    ) -> Sequence[Any]:
        """The state after a walk of ``step``: of the number of each tile, the state, and the row of a thread there.

        A walk that ``writes`` nothing goes from the last tile to the first.
        """
        if self.kernel.plan.tiles > 1:
            return self._ring(first, step, writes=writes)
        kernel, one = self.kernel, self.kernel.number(1)
        loop = scf.ForOp(self.first, self.end, one, list(first))
        with ir.InsertionPoint(loop.body):
            at = loop.induction_variable
            number = at if writes else arith.subi(arith.addi(self.first, arith.subi(self.end, at)), one)
            work = Work(self.array, number)
            later = work._replace(part=arith.addi(number, one) if writes else arith.subi(number, one))
            with when(kernel.less(arith.addi(at, one), self.end)):
                fetch_rows(kernel, later.chunk(kernel), self.array)
            with row_tiles(kernel, work.chunk(kernel), self.array, writes=writes) as (tile, place, tiles):
                row = ScanRow.of(kernel, work, tile, place, tiles=tiles)
                row.load()
                with row.kernel.reduce.location:
                    after = step(number, list(loop.inner_iter_args), row)
            if writes:
                gpu.barrier()  # the tile is written before the next one takes its place
            scf.YieldOp(list(after))
        return list(loop.results)

    def _ring(self, first: Sequence[Any], step: Step, *, writes: bool) -> Sequence[Any]:
        """The same, where tiles are copied to a ring of places while those before them are scanned.

        A walk back leaves the first tiles of the part in the ring, and one that follows goes round it the other way.
        """
        kernel, one = self.kernel, self.kernel.number(1)
        ring, held = TileRing(kernel, self.array), writes and not kernel.facts.once
        tiles, count = kernel.plan.tiles, arith.subi(self.end, self.first)

        def number_of(at: Any) -> Any:
            return at if writes else arith.subi(arith.addi(self.first, arith.subi(self.end, at)), one)

        def place_of(at: Any) -> Any:
            gone = arith.subi(at, self.first)
            return kernel.modulo(arith.subi(arith.subi(count, one), gone) if held else gone, tiles)

        def copy(at: Any, exists: Any) -> None:
            number = arith.select(exists, number_of(at), self.first)
            ring.copy(Work(self.array, number).chunk(kernel), place_of(at), exists)

        if not held:
            with repeat(self.first, arith.addi(self.first, kernel.number(tiles - 1)), one) as i:
                copy(i, kernel.less(i, self.end))
        loop = scf.ForOp(self.first, self.end, one, list(first))
        with ir.InsertionPoint(loop.body):
            at = loop.induction_variable
            ring.arrived()
            later = arith.addi(at, kernel.number(tiles - 1))
            exists = kernel.less(later, self.end)
            copy(later, arith.andi(exists, kernel.less(self.first, at)) if held else exists)
            number = number_of(at)
            work = Work(self.array, number)
            with ring.tile(work.chunk(kernel), place_of(at), writes=writes) as (tile, place, found):
                row = ScanRow.of(kernel, work, tile, place, tiles=found)
                row.load()
                with row.kernel.reduce.location:
                    after = step(number, list(loop.inner_iter_args), row)
            scf.YieldOp(list(after))
        return list(loop.results)


def _nothing(kernel: Kernel) -> list[Any]:
    """No state."""
    return [llvm.mlir_undef(t) for t in kernel.of_scan.states]
