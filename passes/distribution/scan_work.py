"""The chunk of rows that a CTA of a scan has, by a ticket, and the words in which chunks leave their states."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...compiler.ir.build import address, repeat, when
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, gpu, ir, llvm, scf
from ...compiler.plan.launch import group_of, look_back_lanes
from ...compiler.target import WARP
from .kernel import Kernel
from .look_back import LookBack
from .resident.row_accesses import is_shifted
from .walk import Chunk

LANES = 8
"""Where so many lanes or more look for a row, its words follow each other; else those of a chunk do."""


class Work(NamedTuple):
    """What a CTA does.

    Attributes:
        tile: the number of its rows.
        part, parts: the number of its chunk of them, and how many there are; None where a CTA has whole rows.
        tiles: how many tiles of rows there are; None as well.
    """

    tile: Any
    part: Any = None
    parts: Any = None
    tiles: Any = None

    @classmethod
    def all(cls, kernel: Kernel) -> tuple[Any, Any]:
        """How many tiles of rows there are, and chunks of each."""
        early = kernel.plan.vector - 1 if is_shifted(kernel) else 0
        length = arith.addi(kernel.arg("n_reduced"), kernel.number(early))
        parts = kernel.at_least(kernel.ceil(length, kernel.arg("chunk")), 1)
        return kernel.ceil(kernel.arg("n_kept"), kernel.plan.slots), parts

    @classmethod
    def of(cls, kernel: Kernel) -> Work:
        """The work of this CTA."""
        if kernel.facts.once:
            return cls(kernel.id(gpu.block_id(gpu.Dimension.x)))
        return cls._by_ticket(kernel, *cls.all(kernel))

    @classmethod
    def of_parts(cls, kernel: Kernel) -> Work:
        """The work of a CTA that keeps the columns of an array, and has a part of the rows."""
        tiles = kernel.ceil(kernel.arg("n_kept"), kernel.arg("tile_rows"))
        return cls._by_ticket(kernel, tiles, arith.divui(kernel.id(gpu.grid_dim(gpu.Dimension.x)), tiles))

    @classmethod
    def _by_ticket(cls, kernel: Kernel, tiles: Any, parts: Any) -> Work:
        ticket = kernel.make("fold.ticket", kernel.index, [kernel.arg("counter"), arith.muli(tiles, parts)], {}, 1)
        part, tile = kernel.divided(kernel.make("fold.share", kernel.index, [ticket], {}, 1), tiles)
        return cls(tile, part, parts, tiles)

    def chunk(self, kernel: Kernel) -> Chunk:
        """The elements of rows that the CTA has."""
        length, count = kernel.arg("chunk"), kernel.arg("n_reduced")
        if self.part is None:
            return Chunk(kernel.number(0), count, length)
        first = arith.muli(self.part, length)
        return Chunk(first, arith.minsi(arith.addi(first, length), count), length)


def look_back(kernel: Kernel, work: Work, thread: Any) -> LookBack:
    """How a thread looks back, which has the number ``thread`` among those that do."""
    words, slots = _words_of_state(kernel), kernel.plan.slots
    first = _first_word(kernel, work, work.tile)
    if look_back_lanes(kernel.plan) < LANES:
        pitch, rows = slots * words, kernel.number(words)
    else:
        pitch, rows = words, kernel.scaled(_cells(kernel, work.parts), words)
    here, groups = (arith.addi(first, kernel.scaled(n, pitch)) for n in (work.part, work.parts))
    return LookBack.of(kernel.of_scan, work.part, here, groups, kernel.number(pitch), rows, thread)


def _words_of_state(kernel: Kernel) -> int:
    """The words of 64 bits in which the CTA of a chunk leaves the state of a row."""
    assert kernel.scan is not None or kernel.phases
    types = [element(v.type) for v in (kernel.scan or kernel.phases[0]).sources]
    return sum(-(-int(t.width) // 32) for t in types)


def _words_of_tile(kernel: Kernel, work: Work) -> Any:
    """The words of all chunks and groups of a tile."""
    return kernel.scaled(_cells(kernel, work.parts), kernel.plan.slots * _words_of_state(kernel))


def _first_word(kernel: Kernel, work: Work, tile: Any) -> Any:
    """The number of the first word of a tile: the counters are before those of all."""
    counters = kernel.divide(arith.addi(work.tiles, kernel.number(2)), 2)
    return arith.addi(counters, arith.muli(tile, _words_of_tile(kernel, work)))


def clear_own_words(kernel: Kernel, work: Work) -> None:
    """The CTA that is the last of its tile to have looked back sets the words of all chunks to zero again.

    Its first warp does so, while others write results: all threads have looked back before a barrier.
    """
    number = arith.addi(work.tile, kernel.number(1))
    i1 = ir.IntegerType.get_signless(1)
    thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
    with when(kernel.less(thread, kernel.number(WARP))):
        operands = [kernel.arg("counter"), number, work.parts]
        branch = scf.IfOp(kernel.make_op("fold.arrive", [i1], operands, {"alone": True}).results[0])
        with ir.InsertionPoint(branch.then_block):
            begin = _first_word(kernel, work, work.tile)
            _clear(kernel, begin, thread, _words_of_tile(kernel, work), WARP)
            scf.YieldOp([])


def clear_words(kernel: Kernel, work: Work, thread: Any) -> None:
    """The threads of a CTA set the words of all chunks of all tiles to zero again."""
    count = arith.muli(_words_of_tile(kernel, work), work.tiles)
    _clear(kernel, _first_word(kernel, work, kernel.number(0)), thread, count, kernel.plan.threads)


def _clear(kernel: Kernel, begin: Any, thread: Any, count: Any, threads: int) -> None:
    """So many threads set ``count`` words to zero."""
    long = ir.IntegerType.get_signless(64)
    with repeat(thread, count, kernel.number(threads)) as i:
        at = arith.addi(begin, i)
        zero = arith.constant(long, ir.IntegerAttr.get(long, 0))
        llvm.store(zero, address(kernel.arg("counter"), at, long), alignment=8)


def _cells(kernel: Kernel, parts: Any) -> Any:
    """The states that the chunks of a tile, and their groups, leave for each row."""
    return arith.addi(parts, kernel.ceil(parts, group_of(kernel.plan)))
