"""The place of a thread in staggered warps: each warp begins its rows at the boundary before the CTA's columns.

A thread's accesses begin ``lead`` elements before its columns, and where warps meet they shift their states by as much.
The last lane that reads owns no columns: it reads what of its neighbour's columns lies in its access.
"""

from __future__ import annotations

from dataclasses import replace

from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith
from ...compiler.plan.layout import layout_of
from .kernel import Kernel
from .place import Digits, Place, Tile, lead_of, name, row_of_cta
from .row import tiles_of_row


def staggered_place(kernel: Kernel) -> tuple[Tile, Place]:
    """The columns of the CTA, and the place of a thread while it reads; CTAs have as many columns each."""
    vector, digits = kernel.plan.vector, Digits.of(kernel, kernel.plan)
    row, number = row_of_cta(kernel)
    width = layout_of(kernel.plan).pitch(row.columns, tiles_of_row(kernel), kernel)
    tile = Tile(row, arith.muli(number, width), width)
    name(tile=number, first_kept=tile.first)
    place = tile.place_at(digits)
    stride = kernel.arg("kept_stride", 0, kernel.facts.kept_rank - 1)
    apart = kernel.arg("reduced_stride", 0, kernel.facts.reduced_rank - 1)
    lead = lead_of(kernel, element(kernel.inputs[0].type), row.starts[0], tile.first, [stride])
    lead = kernel.modulo(arith.addi(lead, arith.muli(place.position, apart)), vector)
    start = arith.subi(place.kept, lead)
    reads = kernel.less(place.slot, arith.addi(width, kernel.number(vector)))
    in_range = arith.andi(reads, kernel.less(start, row.columns))
    return tile, replace(place, in_range=in_range, start=start, lead=lead)
