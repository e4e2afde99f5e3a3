"""Parts of inputs that lie across the other arrays: the threads of a CTA exchange them in shared memory.

Threads copy them by accesses along the input, from a boundary in each of its rows on. After a barrier a thread reads
the elements of its own accesses there, which are along the results.

Inputs of bits that lie across the other arrays: the threads of a CTA exchange them in shared memory.

Each warp reads words of 32 columns, which are squares of bits, and turns them: its lanes then have words of a row each.
They are left in the row of a tile, where a thread finds the bits of its accesses after a barrier.

Results of bits that lie across the other arrays: the threads of a CTA exchange them in shared memory.

A thread has bits of neighbouring columns in each of its rows, and leaves them in the row of a tile. After a barrier
each warp turns squares of 32 rows and columns, so that its lanes have words of bits of a column each. These are left in
a second tile, in the order of columns, from which neighbouring threads write neighbouring bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ....compiler.ir.build import address, bytes_of, if_then, memory_type, when
from ....compiler.ir.combine import fragment, width
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, llvm, scf
from ....compiler.plan import tiles
from ....compiler.planner.alignment import WIDEST
from ....compiler.program.bit_arrays import BYTE, WORD
from ....compiler.target import WARP
from ..kernel import load_attributes
from ..reader import extent
from .row_accesses import RowAccesses, wide


def start_of(row: RowAccesses, operand: int) -> int:
    """Where what a CTA exchanges of an operand begins in shared memory."""
    kernel = row.kernel
    items = [bytes_of(memory_type(element(v.type))) for v in kernel.inputs]
    return tiles.exchange_starts(kernel.plan, kernel.facts.access, kernel.facts.stores, items)[0][operand]


def reserved(row: RowAccesses, operand: int) -> Any:
    """The address of what a CTA exchanges of an operand of bits."""
    kernel, pointer = row.kernel, ir.Type.parse("!llvm.ptr<3>")
    inputs = len(kernel.inputs)
    base = kernel.arg("input", operand) if operand < inputs else kernel.arg("output", operand - inputs)
    how = {"item": 1, "bytes": WIDEST, "dynamic": start_of(row, operand)}
    return kernel.make_op("fold.tile_reserve", [pointer, kernel.index], [base, kernel.number(0)], how).results[0]


@dataclass(frozen=True, eq=False)
class Part:
    """The part of one input, in rows of its own: those are the columns of the results.

    Attributes:
        row: the thread's accesses.
        operand, item: the input, and the bytes of an element.
        base, stride: where it begins for the row of results, and the distance from one of its rows to the next.
        tile: the part in shared memory.
    """

    row: RowAccesses
    operand: int
    item: int
    base: Any
    stride: Any
    tile: Any

    @classmethod
    def copied(cls, row: RowAccesses, operand: int) -> Part:
        """A part that is being copied."""
        kernel, plan, columns = row.kernel, row.kernel.plan, row.columns
        assert columns is not None
        t = element(kernel.inputs[operand].type)
        item, (parts, length) = bytes_of(memory_type(t)), tiles.exchanged_parts(plan, kernel.facts.stores)
        early = tiles.early(plan, kernel.facts.stores)
        base = columns.row.start(kernel.arg("input", operand), operand, t)
        stride = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
        first = arith.subi(arith.subi(row.place.kept, row.place.slot), kernel.number(early))
        readable = arith.subi(extent(kernel, operand), columns.row.before(operand))
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        operands = [base, first, columns.row.columns, row.chunk.first, row.chunk.limit, stride, readable, thread]
        how = {"item": item, "parts": parts, "length": length, "skew": plan.vector, "threads": plan.threads}
        how |= {"dynamic": start_of(row, operand)}
        tile = kernel.make_op("fold.tile_rows", [ir.Type.parse("!llvm.ptr<3>")], operands, how).results[0]
        return cls(row, operand, item, base, stride, tile)

    def fragments(self) -> list[Any]:
        """The fragment of each access of the thread, after a barrier."""
        kernel, plan = self.row.kernel, self.row.kernel.plan
        t = element(kernel.inputs[self.operand].type)
        starts = [self._start(k, t) for k in range(plan.vector)]
        attributes, zero = load_attributes(1, 1, "reduced", "tile_strided"), kernel.number(0)

        def at(k: int, j: int) -> Any:
            place = [zero, kernel.number(j * plan.positions), zero, kernel.number(1), zero]
            return kernel.make("fold.load", t, [starts[k], *place], attributes, 1)

        return [fragment([at(k, j) for k in range(plan.vector)]) for j in range(plan.held)]

    def _start(self, k: int, t: Any) -> Any:
        """The address of the element of column ``k`` of the thread's accesses in the first of these.

        Beside the results it is that of the nearest one, so that what is read was written.
        """
        kernel, plan, columns = self.row.kernel, self.row.kernel.plan, self.row.columns
        assert columns is not None
        last = arith.subi(columns.row.columns, kernel.number(1))
        column = arith.addi(columns.first, kernel.number(k)) if k else columns.first
        column = arith.maxsi(arith.minsi(column, last), kernel.number(0))
        part = arith.addi(
            arith.subi(arith.addi(column, self.row.place.slot), self.row.place.kept),
            kernel.number(tiles.early(plan, kernel.facts.stores)),
        )
        lanes = {"lanes": WIDEST // self.item, "bytes": self.item, "kept_rank": 1, "reduced_rank": 0}
        begin = address(self.base, self.row.chunk.first, t)
        lead = kernel.make("fold.lead", kernel.index, [begin, column, self.stride], lanes, 1)
        pitch = tiles.parts_pitch(plan.held * plan.positions, self.item)
        nbytes = arith.addi(
            arith.muli(part, kernel.number(pitch)), kernel.scaled(kernel.divide(part, plan.vector), WIDEST)
        )
        place = arith.addi(lead, arith.subi(self.row.begin, self.row.chunk.first))
        nbytes = kernel.scaled(place, self.item, nbytes)
        return address(self.tile, nbytes, ir.IntegerType.get_signless(8))


class ReadBits:
    """The bits of one input: they are being read."""

    def __init__(self, row: RowAccesses, operand: int) -> None:
        assert row.columns is not None
        self.row, self.kernel, self.columns, self.operand = row, row.kernel, row.columns, operand
        kernel, plan = row.kernel, row.kernel.plan
        self.word, self.byte = (ir.IntegerType.get_signless(n) for n in (WORD, BYTE))
        self.pitch, self.tile = tiles.read_bits_pitch(plan), reserved(row, operand)
        first = arith.subi(row.place.kept, row.place.slot)
        self.first = arith.subi(first, kernel.number(2 * plan.vector))
        self._read()

    def _read(self) -> None:
        """Reads and turns the squares of the CTA, one after another by each warp."""
        kernel, plan = self.kernel, self.kernel.plan
        down = plan.held * plan.positions // WORD
        beside, warps = ceil((plan.slots + 2 * plan.vector) / WORD), plan.threads // WARP
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        warp, lane = kernel.divide(thread, WARP), kernel.modulo(thread, WARP)
        for turn in range(ceil(down * beside / warps)):
            square = arith.addi(warp, kernel.number(turn * warps))
            row, column = kernel.modulo(square, down), kernel.divide(square, down)
            with when(kernel.less(column, kernel.number(beside))):
                self._read_square(row, column, lane)

    def _read_square(self, row: Any, column: Any, lane: Any) -> None:
        """Reads the square in row and column ``row`` and ``column`` of all squares."""
        kernel = self.kernel
        r = arith.addi(self.row.chunk.first, kernel.scaled(row, WORD))
        index = arith.addi(self.first, kernel.scaled(column, WORD, lane))
        exists = arith.andi(
            arith.cmpi(arith.CmpIPredicate.sge, index, kernel.number(0)), kernel.less(index, self.columns.row.columns)
        )
        limit = arith.select(exists, self.row.chunk.limit, kernel.number(0))
        at = arith.addi(arith.muli(index, kernel.arg("kept_stride", self.operand, 0)), r)
        place = arith.shrsi(at, kernel.number(BYTE.bit_length() - 1))
        base, word = address(kernel.arg("input", self.operand), place, self.byte), arith.constant(self.word, 0)
        for k in range(WORD // BYTE):
            branch = scf.IfOp(kernel.less(arith.addi(r, kernel.number(k * BYTE)), limit), [self.byte], has_else=True)
            with ir.InsertionPoint(branch.then_block):
                scf.YieldOp([llvm.load(self.byte, address(base, kernel.number(k), self.byte), alignment=1)])
            with ir.InsertionPoint(branch.else_block):
                scf.YieldOp([arith.constant(self.byte, 0)])
            own = arith.extui(self.word, branch.results[0])
            word = arith.ori(word, arith.shli(own, arith.constant(self.word, k * BYTE)) if k else own)
        turned = kernel.make_op("fold.bit_transpose", [self.word], [word], {}).results[0]
        of_row = arith.addi(kernel.scaled(row, WORD), lane)
        to = arith.addi(kernel.scaled(of_row, self.pitch), column)
        llvm.store(turned, address(self.tile, to, self.word), alignment=WORD // BYTE)

    def fragments(self) -> list[Any]:
        """The fragment of each access of the thread, after a barrier."""
        kernel, plan = self.kernel, self.kernel.plan
        first = arith.subi(self.columns.first, self.first)
        place = kernel.divide(first, WORD)
        last = kernel.number(ceil((plan.slots + 2 * plan.vector) / WORD) - 1)
        ends = place, arith.minsi(arith.addi(place, kernel.number(1)), last)
        shift = first if first.type == self.word else arith.trunci(self.word, first)
        begin, truth = arith.subi(self.row.begin, self.row.chunk.first), ir.IntegerType.get_signless(1)
        found = []
        for j in range(plan.held):
            r = kernel.scaled(arith.addi(begin, kernel.number(j * plan.positions)), self.pitch)
            low, high = (
                llvm.load(self.word, address(self.tile, arith.addi(r, end), self.word), alignment=WORD // BYTE)
                for end in ends
            )
            bits = llvm.intr_fshr(high, low, shift)
            own = [arith.shrui(bits, arith.constant(self.word, k)) if k else bits for k in range(plan.vector)]
            found.append(fragment([arith.trunci(truth, bit) for bit in own]))
        return found


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
