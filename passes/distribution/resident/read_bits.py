"""Inputs of bits that lie across the other arrays: the threads of a CTA exchange them in shared memory.

Each warp reads words of 32 columns, which are squares of bits, and turns them: its lanes then have words of a row each.
They are left in the row of a tile, where a thread finds the bits of its accesses after a barrier.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from ....compiler.ir.build import address
from ....compiler.ir.combine import fragment
from ....compiler.ir.mlir import arith, gpu, ir, llvm, scf
from ....compiler.plan import tiles
from ....compiler.program.bit_arrays import BYTE, WORD
from ....compiler.target import WARP
from .exchange import reserved
from .row_accesses import RowAccesses


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
            branch = scf.IfOp(kernel.less(column, kernel.number(beside)))
            with ir.InsertionPoint(branch.then_block):
                self._read_square(row, column, lane)
                scf.YieldOp([])

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
