"""A tile whose rows lie along the kept axis, and which warps read, and write, in turned blocks.

Threads copy 16 bytes of a row at a time into their slots, which are the tile. A warp then reads ROWS rows of its eight
columns by one ``fold.matrix_load``: each lane gets neighbouring elements of a column. Results of such arrays go the
other way, into the place of an input's elements, and threads write what is in their slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....compiler.ir.build import address
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir
from ....compiler.plan.shared_memory import HALF
from ....compiler.plan.tiles import COLUMNS, ROWS, moves
from ....compiler.target import WARP
from ..kernel import Kernel, load_attributes
from .row_accesses import RowAccesses, layout_of_operand, wide


@dataclass(frozen=True, eq=False)
class MatrixTile:
    """The tile of a CTA.

    Attributes:
        row: the thread's accesses to its row.
        kept, in_range: the first of the columns that the thread copies, and whether it exists.
        begin: the first row that it copies.
        slot: where its first slot lies among those of all threads.
        named: the index of the first element of the row that the lane names, in the first access.
        places: the thread's first slot of each array that is in the tile, and where those of all threads begin.
    """

    row: RowAccesses
    kept: Any
    in_range: Any
    begin: Any
    slot: Any
    named: Any
    places: dict[tuple[str, int], tuple[Any, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, row: RowAccesses) -> MatrixTile:
        """The tile of the CTA of a thread that accesses a row."""
        kernel, place, across = row.kernel, row.place, row.kernel.plan.warps_kept
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        first = arith.subi(place.kept, place.slot)
        kept = kernel.scaled(kernel.modulo(thread, across), COLUMNS, first)
        last = arith.subi(kernel.arg("n_kept"), kernel.number(COLUMNS))
        in_range = kernel.less(kept, kernel.arg("n_kept"))
        begin = arith.addi(row.chunk.first, kernel.divide(thread, across))
        slot = _placed(kernel, thread, across)
        here = kernel.scaled(place.warp, ROWS, _named(kernel, kernel.modulo(thread, WARP)))
        of_row = kernel.scaled(here, across, kernel.divide(place.slot, COLUMNS))
        named = kernel.scaled(_placed(kernel, of_row, across), COLUMNS)
        return cls(row, arith.minsi(kept, last), in_range, begin, slot, named)

    @property
    def step(self) -> int:
        """Rows from one access of a thread to its next one."""
        return ROWS * self.row.kernel.plan.warps

    def _slots(self) -> dict[str, Any]:
        """What slots are like."""
        plan = self.row.kernel.plan
        return {"slots": plan.held, "threads": plan.threads, "vector": COLUMNS, "item": HALF}

    def hold(self, operand: int) -> Any:
        """Copies the rows of an input into the tile."""
        kernel, row = self.row.kernel, self.row
        found = load_attributes(kernel.facts.kept_rank, kernel.facts.reduced_rank, "kept", "aligned")
        found |= self._slots() | {"step": self.step, "whole": kernel.facts.full}
        operands = [row.pointer("input", operand), self.kept, self.begin, row.chunk.first, row.chunk.limit, self.slot]
        operands += layout_of_operand(kernel, operand)
        place = kernel.make_op("fold.hold", [ir.Type.parse("!llvm.ptr<3>")], operands, found).results[0]
        self.places["input", operand] = place, self._first(place, element(kernel.inputs[operand].type))
        return place

    def reserve(self, types: Mapping[int, Any]) -> None:
        """Makes room for results, by their types of elements: where an input is, or in slots of their own."""
        free = list(self.places.values())
        for number, t in types.items():
            if free:
                self.places["output", number] = free.pop(0)
                continue
            pointer = ir.Type.parse("!llvm.ptr<3>")
            place = self.row.kernel.make_op("fold.slots", [pointer], [self.slot], self._slots()).results[0]
            self.places["output", number] = place, self._first(place, t)

    def _first(self, place: Any, t: Any) -> Any:
        """The first slot of all threads, if the thread's first one is at ``place``."""
        return address(place, arith.muli(self.slot, self.row.kernel.number(-COLUMNS)), t)

    def arrive(self) -> None:
        """Waits for the rows that all threads copy."""
        self.row.kernel.make_op("fold.arrived", [], [], {})

    def load(self, operand: int, t: Any, j: Any) -> Any:
        """The elements of an input in access number ``j``."""
        at = self._at("input", operand, j)
        return self.row.kernel.make("fold.matrix_load", t, at, {"blocks": 4, "transposed": True}, COLUMNS)

    def put(self, number: int, value: Any, j: Any) -> None:
        """Puts the elements of a result in access number ``j`` where an input's were that the warp has read."""
        operands = [wide(value, COLUMNS), *self._at("output", number, j)]
        self.row.kernel.make_op("fold.matrix_store", [], operands, {"blocks": 4, "transposed": True})

    def _at(self, role: str, number: int, j: Any) -> list[Any]:
        """Where the row begins that the lane names in access number ``j``."""
        kernel, (_, base) = self.row.kernel, self.places[role, number]
        return [base, kernel.scaled(j, kernel.plan.threads * COLUMNS, self.named)]

    def write(self, types: Mapping[int, Any]) -> None:
        """Writes the results that are in the tile, which have these types of elements."""
        kernel, row = self.row.kernel, self.row
        if not types:
            return
        gpu.barrier()
        found = load_attributes(kernel.facts.kept_rank, kernel.facts.reduced_rank, "kept", "aligned")
        found |= {"whole": kernel.facts.full}
        for (number, t), k in ((item, k) for item in types.items() for k in range(kernel.plan.held)):
            slots = [self.places["output", number][0], kernel.number(k)]
            value = kernel.make("fold.held", t, slots, {"threads": kernel.plan.threads}, COLUMNS)
            at = arith.addi(self.begin, kernel.number(k * self.step)) if k else self.begin
            bounds = [row.chunk.first, row.chunk.limit, self.in_range]
            layout = layout_of_operand(kernel, len(kernel.inputs) + number)
            operands = [value, row.pointer("output", number), self.kept, at, *bounds, *layout]
            kernel.make_op("fold.element_store", [], operands, found)


def _placed(kernel: Kernel, slot: Any, across: int) -> Any:
    """Where a slot of the tile lies."""
    found = slot
    for source, to in moves(across):
        bit = kernel.modulo(kernel.divide(slot, 1 << source), 2)
        found = arith.xori(found, kernel.scaled(bit, 1 << to))
    return found


def _named(kernel: Kernel, lane: Any) -> Any:
    """The row, of ROWS, that a lane names, as ``compiler/plan/tiles.py`` has it."""
    row = kernel.modulo(lane, COLUMNS)
    pair = kernel.scaled(kernel.divide(row, 2), COLUMNS, kernel.modulo(row, 2))
    return arith.addi(pair, kernel.scaled(kernel.divide(lane, COLUMNS), 2))
