"""Blocks of a CTA whose elements its threads exchange in shared memory, since they lie across those of other arrays.

The block has the results of the CTA as columns, and the elements that it owns of each row. Neighbouring threads read
neighbouring elements of a column in the array, and write them beside each other into shared memory. After a barrier a
thread reads the elements of its own accesses, which are along the results.
"""

from __future__ import annotations

from typing import Any

from ....compiler.ir.build import address, bytes_of, memory_type
from ....compiler.ir.combine import fragment
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir
from ....compiler.plan import tiles
from ..kernel import load_attributes
from .row_accesses import RowAccesses, after_layout, layout_of_operand, wide


def exchanged(row: RowAccesses) -> dict[int, Block]:
    """The blocks of the inputs that the threads of a CTA exchange: all of their elements are being read."""
    found: dict[int, Block] = {}
    for operand, access in enumerate(row.kernel.facts.access):
        if access == "exchanged":
            found[operand] = Block(row, operand, sum(block.nbytes for block in found.values()))
    return found


def load_along_columns(row: RowAccesses, operand: int, t: Any, r: Any) -> Any:
    """The elements of an input in the access of row ``r`` that begins anywhere: the row is along the kept axis."""
    kernel = row.kernel
    existing = arith.minsi(r, arith.subi(row.chunk.limit, kernel.number(1)))
    operands = [row.pointer("input", operand), existing, *_columns(row), *_turned_layout(row, operand)]
    operands += after_layout(kernel, operand)
    attributes = load_attributes(1, 1, "reduced", "unaligned")
    return kernel.make("fold.element_load", t, operands, attributes, kernel.plan.vector)


def store_along_columns(row: RowAccesses, number: int, value: Any, r: Any) -> None:
    """Writes a result in the access of row ``r`` that begins anywhere, together with lanes beside the thread's."""
    kernel, operand = row.kernel, len(row.kernel.inputs) + number
    here = kernel.less(r, row.chunk.limit)  # a lane beyond all columns writes the first ones of the first lane
    operands = [wide(value, kernel.plan.vector), row.pointer("output", number), r, *_columns(row), here]
    attributes = load_attributes(1, 1, "reduced", "unaligned")
    attributes |= {"whole": False, "neighbours": kernel.plan.lanes_kept}
    kernel.make_op("fold.element_store", [], [*operands, *_turned_layout(row, operand)], attributes)


def _columns(row: RowAccesses) -> list[Any]:
    """The first column of the thread's accesses, and the bounds of all columns."""
    kernel = row.kernel
    return [row.place.kept, kernel.number(0), kernel.arg("n_kept")]


def _turned_layout(row: RowAccesses, operand: int) -> list[Any]:
    """The strides of an operand of two dims: those of its columns come last."""
    return [row.kernel.arg("reduced_stride", operand, 0), row.kernel.arg("kept_stride", operand, 0)]


class Block:
    """The block of one input.

    Attributes:
        nbytes: the bytes of shared memory that it has.
        copied: the elements that the thread copies.
    """

    def __init__(self, row: RowAccesses, operand: int, start: int) -> None:
        self.row, self.kernel, self.operand = row, row.kernel, operand
        kernel, plan = row.kernel, row.kernel.plan
        self.type = element(kernel.inputs[operand].type)
        item = bytes_of(memory_type(self.type))
        self.length, self.pitch = plan.held * plan.positions, tiles.exchange_pitch(plan, item)
        self.nbytes = tiles.exchange_bytes(plan, item)
        types, zero = [ir.Type.parse("!llvm.ptr<3>"), kernel.index], kernel.number(0)
        how = {"item": item, "bytes": self.nbytes, "dynamic": start}
        operands = [kernel.arg("input", operand), zero]
        self.tile, self.origin = kernel.make_op("fold.tile_reserve", types, operands, how).results
        self.copied = self._read()

    def _own(self) -> tuple[Any, Any, list[tuple[int, int]]]:
        """The column and the row of the first element that the thread copies, and the distances of all from there."""
        kernel, plan = self.kernel, self.kernel.plan
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        apart = [divmod(first, self.length) for first in range(0, plan.slots * self.length, plan.threads)]
        return kernel.divide(thread, self.length), kernel.modulo(thread, self.length), apart

    def _read(self) -> list[Any]:
        """The elements that the thread copies; beyond the array these are the last ones."""
        kernel, place, chunk = self.kernel, self.row.place, self.row.chunk
        one, facts = kernel.number(1), kernel.facts
        last, behind = arith.subi(kernel.arg("n_kept"), one), arith.subi(chunk.limit, one)
        attributes = load_attributes(facts.kept_rank, facts.reduced_rank, "reduced", "strided")
        layout = layout_of_operand(kernel, self.operand)
        column, r, apart = self._own()
        first, begin = arith.addi(arith.subi(place.kept, place.slot), column), arith.addi(chunk.first, r)
        found = []
        for columns, rows in apart:
            kept = arith.minsi(arith.addi(first, kernel.number(columns)), last)
            reduced = arith.minsi(arith.addi(begin, kernel.number(rows)), behind)
            operands = [self.row.pointer("input", self.operand), kept, reduced, *layout]
            found.append(kernel.make("fold.load", self.type, operands, attributes, 1))
        return found

    def write(self) -> None:
        """Writes the elements that the thread copies into shared memory."""
        kernel, (column, r, apart) = self.kernel, self._own()
        first, attributes = self._from(column, r), self._attributes() | {"whole": True}
        for value, place in zip(self.copied, apart, strict=True):
            bounds = [kernel.number(0), kernel.number(self.length), kernel.yes()]
            operands = [value, first, *map(kernel.number, place), *bounds, *self._layout()]
            kernel.make_op("fold.element_store", [], operands, attributes)

    def fragments(self) -> list[Any]:
        """The fragment of each access of the thread, after a barrier."""
        kernel, plan = self.kernel, self.kernel.plan
        first = self._from(self.row.place.slot, arith.subi(self.row.begin, self.row.chunk.first))

        def at(column: int, r: int) -> Any:
            operands = [first, kernel.number(column), kernel.number(r), *self._layout()]
            return kernel.make("fold.load", self.type, operands, self._attributes(), 1)

        return [fragment([at(k, j) for k in range(plan.vector)]) for j in range(plan.held)]

    def _from(self, column: Any, r: Any) -> Any:
        """The address of an element of the block, from which others are at constant distances."""
        at = arith.addi(arith.muli(column, self.kernel.number(self.pitch)), r)
        return address(self.tile, arith.subi(at, self.origin), self.type)

    def _attributes(self) -> dict[str, Any]:
        return load_attributes(1, 1, "reduced", "tile_strided")

    def _layout(self) -> list[Any]:
        """The strides of the block, and the number of its first element."""
        return [self.kernel.number(self.pitch), self.kernel.number(1), self.kernel.number(0)]
