"""Teams of CTAs that take tile after tile of rows: the CTAs of a team hold the rows of a tile, each its part of them.

All accesses of a thread to the part of its CTA wait in its slots of shared memory. The teams take tiles in turn: team
g of n takes tiles g, g + n, g + 2 n, ... The CTAs of an SM belong to different teams, so that one reads while another
waits for the state of its rows.

CTAs of a team wait for each other, so all CTAs of the grid must run at a time: the launch is a cooperative one. A
counter and the states of a tile belong to that tile, so nothing is written again in a launch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....compiler.ir.combine import unpack
from ....compiler.ir.mlir import arith, gpu, ir, scf
from ..kernel import Kernel
from ..place import Digits, existing, place_in_tile
from ..row import Row
from ..walk import Chunk
from .held_row import HeldRow
from .row_accesses import RowAccesses
from .row_states import RowStates
from .walked_row import WalkedRow


def distribute_over_teams(kernel: Kernel) -> None:
    """Writes the body of a kernel whose teams of CTAs take tile after tile."""
    digits = Digits.of(kernel, kernel.plan)
    team, teams = (kernel.id(of(gpu.Dimension.x)) for of in (gpu.block_id, gpu.grid_dim))
    tiles = kernel.ceil(kernel.arg("n_kept"), kernel.plan.slots)
    loop = scf.ForOp(team, tiles, teams)
    with ir.InsertionPoint(loop.body):
        _take(kernel, digits, tiles, loop.induction_variable)
        scf.YieldOp([])


def _take(kernel: Kernel, digits: Digits, tiles: Any, number: Any) -> None:
    """Folds the rows of tile ``number`` of ``tiles``, and writes the results."""
    part, parts = (kernel.id(of(gpu.Dimension.y)) for of in (gpu.block_id, gpu.grid_dim))
    tile, place = place_in_tile(Row.at(kernel, None), number, digits)
    place = replace(place, start=existing(kernel, place))
    row = _held(RowAccesses.of(kernel, place, {}, _own(kernel, part)))
    states = RowStates(kernel, tiles, parts, number, part, tile, place, together=True)
    states.fold(row.row.values, lambda phase: unpack(row.reduced(phase)))
    owner = arith.andi(place.owner, kernel.is_first(part))
    replace(row, row=replace(row.row, place=replace(place, owner=owner))).store()
    if kernel.plan.fragments == "matrix":
        gpu.barrier()  # warps have read what other threads copied, before these copy the next tile


def _held(accesses: RowAccesses) -> HeldRow | WalkedRow:
    """The row of a thread, whose elements are on the way to its slots.

    Straight-line code reads slots faster than a loop where no access needs a mask.
    """
    kernel = accesses.kernel
    straight = kernel.facts.full or kernel.plan.fragments == "matrix"
    return HeldRow.of(accesses) if straight else WalkedRow.in_slots(accesses)


def _own(kernel: Kernel, part: Any) -> Chunk:
    """The elements of ``part`` of a row."""
    length = kernel.arg("chunk")
    first = arith.muli(part, length)
    return Chunk(first, arith.minsi(arith.addi(first, length), kernel.arg("n_reduced")), length)
