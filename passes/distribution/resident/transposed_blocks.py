"""How a thread reads and writes a block whose rows lie across its own: along them, transposed in its registers.

A tile whose rows lie along the kept axis, and which warps read, and write, in turned blocks.

Threads copy 16 bytes of a row at a time into their slots, which are the tile. A warp then reads ROWS rows of its eight
columns by one ``fold.matrix_load``: each lane gets neighbouring elements of a column. Results of such arrays go the
other way, into the place of an input's elements, and threads write what is in their slots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....compiler.ir.build import address, when
from ....compiler.ir.combine import elements, fragment
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir
from ....compiler.plan.fields import OF_BITS
from ....compiler.plan.shared_memory import HALF
from ....compiler.plan.tiles import COLUMNS, ROWS, moves
from ....compiler.program.bit_arrays import BYTE, WORD
from ....compiler.target import WARP
from ..kernel import Kernel, load_attributes
from .row_accesses import RowAccesses, layout_of_operand, wide
from .row_tiles import row_offset


def load_transposed(row: RowAccesses, operand: int, t: Any) -> list[Any]:
    """The fragments of an input in each access of a block, which is read along the rows and transposed."""
    kernel, plan = row.kernel, row.kernel.plan
    layout, attributes = _along_rows(row, operand, kernel.facts.access[operand])
    if kernel.facts.access[operand] == "whole":
        parts = [
            kernel.make("fold.load", t, [*_part(row, "input", operand, t, j), *layout], attributes, plan.vector)
            for j in range(plan.held)
        ]
        own = [x for part in parts for x in elements(part)]
        return [fragment(own[j :: plan.held]) for j in range(plan.held)]
    rows = []
    for k in range(plan.vector):
        at = [_in_row(row, "input", operand, operand, t, k), row.place.start, row.begin]
        rows.append(kernel.make("fold.load", t, [*at, *layout], attributes, plan.held))
    return _transposed(rows)


def store_transposed(row: RowAccesses, number: int, values: Sequence[Any]) -> None:
    """Writes a result along the rows, if ``values`` are its fragments in each access of a block."""
    kernel, plan, operand = row.kernel, row.kernel.plan, len(row.kernel.inputs) + number
    layout, attributes = _along_rows(row, operand, kernel.facts.stores[number])
    values = [wide(value, plan.vector) for value in values]
    bounds = [row.chunk.first, row.chunk.limit, row.place.in_range]
    if kernel.facts.stores[number] in OF_BITS:
        _store_bytes(row, number, _transposed(values))
        return
    if kernel.facts.stores[number] == "whole":
        own = [x for column in zip(*map(elements, values), strict=True) for x in column]
        for j in range(plan.held):
            part = fragment(own[j * plan.vector : (j + 1) * plan.vector])
            at = _part(row, "output", number, element(part.type), j)
            kernel.make_op("fold.element_store", [], [part, *at, *bounds, *layout], attributes | {"whole": True})
        return
    for k, own in enumerate(_transposed(values)):
        at = [_in_row(row, "output", number, operand, element(own.type), k), row.place.start, row.begin]
        kernel.make_op("fold.element_store", [], [own, *at, *bounds, *layout], attributes | {"whole": True})


def _store_bytes(row: RowAccesses, number: int, rows: Sequence[Any]) -> None:
    """Writes the bytes of a block's ``rows`` of truth values, and zeros up to the end of the last word."""
    kernel, operand, held = row.kernel, len(row.kernel.inputs) + number, row.kernel.plan.held
    layout, attributes = _along_rows(row, operand, kernel.facts.stores[number])
    word, truth = ir.IntegerType.get_signless(WORD), ir.IntegerType.get_signless(1)
    pointers = [_in_row(row, "output", number, operand, truth, k) for k in range(len(rows))]

    def write(byte: Any, pointer: Any, r: Any, on: Any) -> None:
        operands = [byte, pointer, row.place.start, r, row.chunk.first, row.chunk.limit, on, *layout]
        kernel.make_op("fold.element_store", [], operands, attributes | {"whole": True, "own": held})

    for pointer, values in zip(pointers, rows, strict=True):
        byte = kernel.make_op("fold.ballot", [word], [values], {"word": "byte"}).results[0]
        write(byte, pointer, row.begin, row.place.in_range)
    _fill_words(row, operand, pointers, write)


def _fill_words(
    row: RowAccesses, operand: int, pointers: Sequence[Any], write: Callable[[Any, Any, Any, Any], None]
) -> None:
    """Writes zeros from the end of each row up to that of its last word.

    That is the word of the last row; or of each row, where all begin with a word.
    """
    kernel, held = row.kernel, row.kernel.plan.held
    behind = arith.addi(row.begin, kernel.number(held))
    ends = arith.cmpi(arith.CmpIPredicate.eq, behind, kernel.arg("n_reduced"))
    with when(arith.andi(ends, row.place.in_range)):
        none, total = kernel.number(0), arith.muli(kernel.arg("n_kept"), kernel.arg("n_reduced"))
        stride = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
        at = arith.addi(row_offset(kernel, row.place.start, operand), behind)
        apart = arith.cmpi(arith.CmpIPredicate.eq, arith.andi(stride, kernel.number(WORD - 1)), none)
        for k, pointer in enumerate(pointers):
            here = arith.addi(at, arith.muli(stride, kernel.number(k))) if k else at
            last = arith.ori(apart, arith.cmpi(arith.CmpIPredicate.eq, here, total))
            filled = arith.andi(here, kernel.number(WORD - 1))
            for left in range(WORD // held - 1, 0, -1):
                some = arith.cmpi(arith.CmpIPredicate.sge, filled, kernel.number(held))
                some = arith.andi(some, arith.cmpi(arith.CmpIPredicate.sle, filled, kernel.number(WORD - held * left)))
                r = arith.addi(behind, kernel.number(held * (left - 1)))
                write(arith.constant(ir.IntegerType.get_signless(WORD), 0), pointer, r, arith.andi(last, some))


def _part(row: RowAccesses, role: str, number: int, t: Any, j: int) -> list[Any]:
    """Where access ``j`` begins to a block whose elements follow each other: a pointer, and both indices."""
    kernel, ahead = row.kernel, row.kernel.number(j * row.kernel.plan.vector)
    return [address(kernel.arg(role, number), ahead, t), row.place.start, row.begin]


def _along_rows(row: RowAccesses, operand: int, access: str) -> tuple[list[Any], dict[str, Any]]:
    """The layout and the attributes of an access along the rows."""
    facts, own = row.kernel.facts, "bits" if access in OF_BITS else "aligned"
    attributes = load_attributes(facts.kept_rank, facts.reduced_rank, "reduced", own)
    return layout_of_operand(row.kernel, operand), attributes


def _in_row(row: RowAccesses, role: str, number: int, operand: int, t: Any, k: int) -> Any:
    """The pointer from which an element of row ``k`` of a block is as far as one of row 0 is from the array.

    Rows of bits begin with a byte.
    """
    kernel, array = row.kernel, row.kernel.arg(role, number)
    stride = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
    ahead = arith.muli(stride, kernel.number(k))
    if (*kernel.facts.access, *kernel.facts.stores)[operand] in OF_BITS:
        byte = ir.IntegerType.get_signless(BYTE)
        t, ahead = byte, arith.shrsi(ahead, kernel.number(BYTE.bit_length() - 1))
    return address(array, ahead, t) if k else array


def _transposed(rows: Sequence[Any]) -> list[Any]:
    """The columns of fragments that are the rows of a block."""
    return [fragment(list(column)) for column in zip(*(elements(row) for row in rows), strict=True)]


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
