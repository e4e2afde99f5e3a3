"""The place of a thread in staggered warps: each warp begins its rows at the boundary before the CTA's columns.

A thread's accesses begin ``lead`` elements before its columns, and where warps meet they shift their states by as much.
The last lane that reads owns no columns: it reads what of its neighbour's columns lies in its access.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith
from .kernel import Kernel
from .place import Digits, Place, Tile, name, row_of_cta
from .row import Row, tiles_of_row


def staggered_place(kernel: Kernel) -> tuple[Tile, Place]:
    """The columns of the CTA, and the place of a thread while it reads; CTAs have as many columns each."""
    vector, digits = kernel.plan.vector, Digits.of(kernel, kernel.plan)
    row, number = row_of_cta(kernel)
    width = _width(row)
    first = arith.muli(number, width)
    name(tile=number, first_kept=first)
    place = Place.of(kernel, digits, arith.addi(first, digits.slot), row.columns)
    lead = _lead(row, first, place.position)
    start = arith.subi(place.kept, lead)
    reads = kernel.less(place.slot, arith.addi(width, kernel.number(vector)))
    in_range = arith.andi(reads, kernel.less(start, row.columns))
    return Tile(row, first, width), replace(place, in_range=in_range, start=start, lead=lead)


def _width(row: Row) -> Any:
    """The columns of a CTA, in whole accesses."""
    kernel, vector = row.kernel, row.kernel.plan.vector
    tiles = tiles_of_row(kernel)
    accesses = arith.divui(arith.addi(row.columns, kernel.number(vector - 1)), kernel.number(vector))
    each = arith.divui(arith.addi(accesses, arith.subi(tiles, kernel.number(1))), tiles)
    return kernel.scaled(each, vector)


def _lead(row: Row, first: Any, position: Any) -> Any:
    """How many elements after a boundary the CTA's columns begin, in all rows that the thread reads."""
    kernel, facts = row.kernel, row.kernel.facts
    size = bytes_of(memory_type(element(kernel.inputs[0].type)))
    attributes = {"kept_rank": 1, "reduced_rank": 0, "lanes": kernel.plan.vector, "bytes": size}
    operands = [row.starts[0], first, kernel.arg("kept_stride", 0, facts.kept_rank - 1)]
    of_first = kernel.make("fold.lead", first.type, operands, attributes, 1)
    rows = arith.muli(position, kernel.arg("reduced_stride", 0, facts.reduced_rank - 1))
    return arith.andi(arith.addi(of_first, rows), kernel.number(kernel.plan.vector - 1))
