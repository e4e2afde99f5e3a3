"""Results of bits that lie across the other arrays: the threads of a CTA exchange them in shared memory.

A thread has bits of neighbouring columns in each of its rows, and leaves them in the row of a tile. After a barrier
each warp turns squares of 32 rows and columns, so that its lanes have words of bits of a column each. These are left in
a second tile, in the order of columns, from which neighbouring threads write neighbouring bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from ....compiler.ir.build import address, if_then
from ....compiler.ir.combine import width
from ....compiler.ir.mlir import arith, gpu, ir, llvm
from ....compiler.plan import tiles
from ....compiler.program.bit_arrays import BYTE, WORD
from ....compiler.target import WARP
from .exchange import reserved
from .row_accesses import RowAccesses, wide

BYTES = WORD // BYTE


def store_bits(row: RowAccesses, results: Sequence[tuple[int, Sequence[Any]]]) -> None:
    """Writes the results of bits that CTAs exchange, by their numbers: the fragments of all accesses."""
    for number, masks in results:
        ExchangedBits(row, number).store(masks)


class ExchangedBits:
    """The bits of one result.

    Attributes:
        row, kernel, columns: the thread's accesses, the kernel, and the thread's columns.
        number, stride: the number of the result, and the distance of the bits of neighbouring columns.
        length: the rows of the CTA.
        pitch: words from one row of the first tile to the next.
        masks, turned: where the tiles begin.
    """

    def __init__(self, row: RowAccesses, number: int) -> None:
        assert row.columns is not None
        self.row, self.kernel, self.columns, self.number = row, row.kernel, row.columns, number
        kernel, plan = row.kernel, row.kernel.plan
        operand = len(kernel.inputs) + number
        self.stride = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
        self.length, self.pitch = plan.held * plan.positions, tiles.mask_pitch(plan)
        self.word, self.byte = (ir.IntegerType.get_signless(n) for n in (WORD, BYTE))
        self.thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        self.masks = reserved(row, operand)
        self.turned = self._at(self.masks, kernel.number(BYTES * self.pitch * self.length))

    def store(self, masks: Sequence[Any]) -> None:
        """Writes the bits of all accesses of the thread."""
        for j, mask in enumerate(masks):
            self._leave(wide(mask, self.kernel.plan.vector), j)
        gpu.barrier()
        self._turn()
        gpu.barrier()
        self._write()
        self._pad()

    def _leave(self, mask: Any, j: int) -> None:
        """Leaves the bits of access ``j`` in the tile: bytes of their own, or words of neighbouring lanes."""
        kernel, slot, lanes = self.kernel, self.row.place.slot, width(mask.type)
        own, how = (lanes, {"word": "byte"}) if lanes >= BYTE else (WORD, {})
        word = kernel.make_op("fold.ballot", [self.word], [mask], how).results[0]
        r = arith.addi(arith.subi(self.row.begin, self.row.chunk.first), kernel.number(j * kernel.plan.positions))
        at = kernel.scaled(kernel.divide(slot, own), own // BYTE, kernel.scaled(r, BYTES * self.pitch))
        value = word if own == WORD else arith.trunci(ir.IntegerType.get_signless(own), word)
        first = kernel.is_first(kernel.modulo(slot, own))
        if_then(first, lambda: llvm.store(value, self._at(self.masks, at), alignment=own // BYTE))

    def _turn(self) -> None:
        """Turns the squares of the CTA, one after another by each warp."""
        kernel, plan = self.kernel, self.kernel.plan
        down, beside, warps = self.length // WORD, ceil(plan.own / WORD), plan.threads // WARP
        warp, lane = kernel.divide(self.thread, WARP), kernel.modulo(self.thread, WARP)
        for turn in range(ceil(down * beside / warps)):
            square = arith.addi(warp, kernel.number(turn * warps))
            row, column = kernel.modulo(square, down), kernel.divide(square, down)

            def turn_one(row: Any = row, column: Any = column) -> None:
                self._turn_square(row, column, lane)

            if_then(kernel.less(column, kernel.number(beside)), turn_one)

    def _turn_square(self, row: Any, column: Any, lane: Any) -> None:
        """Turns the square in row and column ``row`` and ``column`` of all squares."""
        kernel = self.kernel
        r = kernel.scaled(row, WORD, lane)
        of_array = arith.addi(r, self.row.chunk.first)
        first = kernel.scaled(column, WORD, self.columns.lead(of_array))
        place, last = kernel.divide(first, WORD), kernel.number(kernel.plan.slots // WORD - 1)
        of_row = kernel.scaled(r, self.pitch)
        ends = place, arith.minsi(arith.addi(place, kernel.number(1)), last)
        low, high = (self._word(self.masks, arith.addi(of_row, end)) for end in ends)
        found = llvm.intr_fshr(high, low, first if first.type == self.word else arith.trunci(self.word, first))
        exists = kernel.less(of_array, self.row.chunk.limit)
        found = arith.select(exists, found, arith.constant(self.word, 0))
        turned = kernel.make_op("fold.bit_transpose", [self.word], [found], {}).results[0]
        to = kernel.scaled(kernel.scaled(column, WORD, lane), self.length // WORD, row)
        llvm.store(turned, self._at(self.turned, kernel.scaled(to, BYTES)), alignment=BYTES)

    def _write(self) -> None:
        """Writes the bytes of the CTA's columns, those of a column by neighbouring threads."""
        kernel, each = self.kernel, self.length // BYTE
        left = kernel.ceil(arith.subi(self.row.chunk.limit, self.row.chunk.first), BYTE)

        def write(number: Any, column: Any, k: Any) -> None:
            at = kernel.scaled(k, BYTE, arith.addi(arith.muli(column, self.stride), self.row.chunk.first))
            value = llvm.load(self.byte, self._at(self.turned, number), alignment=1)
            if_then(kernel.less(k, left), lambda: llvm.store(value, self._bits(at), alignment=1))

        self._each_byte(each, write)

    def _pad(self) -> None:
        """Writes zeros from the end of a row of bits up to that of its last word.

        That is the word of the last row; or of each row, where all begin with a word.
        """
        kernel, n = self.kernel, self.kernel.arg("n_reduced")
        apart = kernel.is_first(kernel.modulo(self.stride, WORD))

        def pad(_: Any, column: Any, k: Any) -> None:
            end = arith.addi(arith.muli(column, self.stride), n)
            last = arith.cmpi(arith.CmpIPredicate.eq, arith.addi(column, kernel.number(1)), self.columns.row.columns)
            at = kernel.scaled(arith.addi(kernel.ceil(end, BYTE), k), BYTE)
            inside = kernel.less(at, kernel.scaled(kernel.ceil(end, WORD), WORD))
            zero = arith.constant(self.byte, 0)
            here = arith.andi(arith.ori(apart, last), inside)
            if_then(here, lambda: llvm.store(zero, self._bits(at), alignment=1))

        ends = arith.cmpi(arith.CmpIPredicate.eq, self.row.chunk.limit, n)
        if_then(ends, lambda: self._each_byte(BYTES, pad))

    def _each_byte(self, each: int, write: Callable[[Any, Any, Any], None]) -> None:
        """Calls ``write`` with the number of each of so many bytes a column, the column, and its number in there."""
        kernel, plan = self.kernel, self.kernel.plan
        first = arith.subi(self.row.place.kept, self.row.place.slot)
        own = arith.minsi(arith.addi(first, kernel.number(plan.own)), self.columns.row.columns)
        for turn in range(ceil(plan.own * each / plan.threads)):
            number = arith.addi(self.thread, kernel.number(turn * plan.threads))
            column, k = arith.addi(first, kernel.divide(number, each)), kernel.modulo(number, each)

            def write_one(number: Any = number, column: Any = column, k: Any = k) -> None:
                write(number, column, k)

            if_then(kernel.less(column, own), write_one)

    def _word(self, base: Any, number: Any) -> Any:
        """The word number ``number`` from an address on."""
        return llvm.load(self.word, address(base, number, self.word), alignment=BYTES)

    def _at(self, base: Any, nbytes: Any) -> Any:
        """The address so many bytes behind another one."""
        return address(base, nbytes, self.byte)

    def _bits(self, at: Any) -> Any:
        """The address of bit ``at``, the first one of a byte."""
        return self._at(self.kernel.arg("output", self.number), self.kernel.divide(at, BYTE))
