"""How a thread reads and writes a block whose rows lie across its own: along them, transposed in its registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....compiler.ir.build import address
from ....compiler.ir.combine import elements, fragment
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, scf
from ....compiler.plan.fields import OF_BITS
from ....compiler.program.bit_arrays import BYTE, WORD
from ..kernel import load_attributes
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
    branch = scf.IfOp(arith.andi(ends, row.place.in_range))
    with ir.InsertionPoint(branch.then_block):
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
        scf.YieldOp([])


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
