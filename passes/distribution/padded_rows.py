"""The place of a thread that walks padded rows: its results lie in one row, and begin at a boundary of the results.

Rows are padded to whole accesses, and threads are counted through them. A thread's first result is as far before its
place in the row as the row of results begins after a boundary, so the first thread of a row may begin before it.
"""

from __future__ import annotations

from dataclasses import replace

from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, gpu
from ...compiler.plan.layout import layout_of
from .kernel import Kernel
from .place import Digits, Place, Tile, lead_of
from .row import Row, columns_of


def padded_place(kernel: Kernel) -> tuple[Tile, Place]:
    """The results of the thread's row, and its place there."""
    plan, digits = kernel.plan, Digits.of(kernel, kernel.plan)
    tile = kernel.id(gpu.block_id(gpu.Dimension.x))
    accesses = layout_of(plan).rows.units(columns_of(kernel), kernel)
    number = kernel.scaled(tile, plan.slots, digits.slot)
    number, before = kernel.divided(number, kernel.scaled(accesses, plan.vector))
    row, t = Row.at(kernel, number), element(kernel.results[0].type)
    base = row.start(kernel.arg("output", 0), len(kernel.inputs), t)
    lead = lead_of(kernel, t, base, kernel.number(0), [kernel.number(1)])
    place = Place.of(kernel, digits, arith.subi(before, lead), row.columns)
    exists = kernel.less(number, row.count())
    in_range, owner = arith.andi(place.in_range, exists), arith.andi(place.owner, exists)
    return Tile(row, kernel.number(0)), replace(place, in_range=in_range, owner=owner)
