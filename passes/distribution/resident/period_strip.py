"""The strip of a wide row that a CTA has: which columns of the array lie in it, and where their states are.

Columns of the array come again after a period, so a strip that is longer than one has columns twice. Where several
threads of a CTA share the columns of a strip, it is shorter, and has each column once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ....compiler.ir.mlir import arith
from ..kernel import Kernel
from ..place import Place, Tile

MANY_IN_FLIGHT = 16
"""States of a column that a thread reads at a time, where it has the column alone."""
IN_FLIGHT = 5
"""The same of a lane: a warp has those of 160 CTAs, more than there are SMs, at once."""


@dataclass(frozen=True, eq=False)
class PeriodStrip:
    """The strip of a CTA.

    Attributes:
        kernel, tile, place: the kernel, the strip of the CTA, and the thread's place in it.
        number, tiles: the number of the strip, and how many there are.
        part, parts: the part of the wide rows that the CTA has, and how many there are.
    """

    kernel: Kernel
    tile: Tile
    place: Place
    number: Any
    tiles: Any
    part: Any
    parts: Any

    @cached_property
    def period(self) -> Any:
        return self.kernel.arg("period")

    @cached_property
    def run(self) -> Any:
        return self.kernel.arg("run")

    @cached_property
    def columns(self) -> Any:
        """The columns of the array."""
        return arith.divui(self.period, self.run)

    @property
    def once(self) -> bool:
        """Whether a strip has no column twice, so that a thread can combine the states of one alone."""
        return self.kernel.facts.narrow

    @cached_property
    def before(self) -> Any:
        """The elements of the first period that lie before the strip."""
        return arith.remui(self.tile.first, self.period)

    @cached_property
    def length(self) -> Any:
        """The elements of the strip: the last one has fewer."""
        left = arith.subi(self.kernel.arg("n_kept"), self.tile.first)
        return arith.minsi(left, self.kernel.number(self.kernel.plan.slots))

    @cached_property
    def first(self) -> Any:
        """The first column of the strip."""
        return arith.divui(self.before, self.run)

    @cached_property
    def own(self) -> Any:
        """The columns that have elements in the strip: they follow each other, and behind the last one is the first."""
        last = arith.subi(arith.addi(self.before, self.length), self.kernel.number(1))
        count = arith.subi(arith.divui(last, self.run), arith.subi(self.first, self.kernel.number(1)))
        return arith.minsi(count, self.columns)

    @cached_property
    def numbers(self) -> list[Any]:
        """For each element of an access the number of its column among those of the strip."""
        kernel, last = self.kernel, arith.subi(self.own, self.kernel.number(1))
        found = []
        for j in range(kernel.plan.vector):
            at = kernel.scaled(self.place.slot, 1, kernel.number(j)) if j else self.place.slot
            number = arith.divui(arith.addi(self.before, at), self.run)
            number = arith.remui(arith.subi(number, self.first), self.columns)
            found.append(arith.minsi(number, last))  # a thread beyond the last strip has none
        return found

    def column(self, number: Any) -> Any:
        """The column of the array that is number ``number`` of the strip, or behind those."""
        return arith.remui(arith.addi(self.first, number), self.columns)

    # --- where states are -----------------------------------------------------------------------------------------
    @property
    def in_flight(self) -> int:
        """States of a column that a thread reads at a time."""
        return MANY_IN_FLIGHT if self.once else IN_FLIGHT

    @cached_property
    def abreast(self) -> Any:
        """The periods that lie abreast."""
        return arith.divui(self.kernel.arg("n_kept"), self.period)

    @cached_property
    def states_of_column(self) -> Any:
        """The states that CTAs leave of a column: each one, or for each part one of each of the periods abreast."""
        return arith.muli(self.parts, self.abreast) if self.once else arith.muli(self.parts, self.tiles)

    def cell(self, number: Any) -> Any:
        """Where the CTA leaves its state of column ``number`` of the strip."""
        if not self.once:
            return self.cell_of(self.column(number), arith.addi(arith.muli(self.part, self.tiles), self.number))
        period = arith.divui(arith.addi(self.tile.first, number), self.period)
        return self.cell_of(self.column(number), arith.addi(arith.muli(self.part, self.abreast), period))

    def cell_of(self, column: Any, state: Any) -> Any:
        """Where a state is: those of a column lie side by side, or those of a CTA if threads have columns."""
        if self.once:
            return arith.addi(arith.muli(state, self.columns), column)
        return arith.addi(arith.muli(column, self.states_of_column), state)
