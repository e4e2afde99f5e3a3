"""Parts of inputs that lie across the other arrays: the threads of a CTA exchange them in shared memory.

Threads copy them by accesses along the input, from a boundary in each of its rows on. After a barrier a thread reads
the elements of its own accesses there, which are along the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....compiler.ir.build import address, bytes_of, memory_type
from ....compiler.ir.combine import fragment
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir
from ....compiler.plan import tiles
from ....compiler.planner.alignment import WIDEST
from ..kernel import load_attributes
from ..reader import extent
from .row_accesses import RowAccesses


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
