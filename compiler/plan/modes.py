"""A layout as a list of modes, and the formula that finds an element from the numbers of the levels.

The formula is written once, for any kind of number: ``INTEGERS`` evaluates it on Python's integers and NumPy's arrays;
``passes/distribution`` evaluates it on values of the kernel. ``layout.py`` says which modes the layout of a plan has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod
from typing import Any, Literal, NamedTuple

from .arithmetic import Arithmetic

Level = Literal["vector", "lane", "warp", "step", "turn", "cluster", "grid_y", "grid_x"]
"""What is numbered: the elements of an access, the lanes of a warp, the warps of a CTA, a thread's accesses, the turns
of a loop around them, the CTAs of a cluster, and the grid's clusters along y and CTAs along x."""
Axis = Literal["reduced", "piece", "kept", "flat"]
"""What digits count along: the elements of a result, the pieces of a result's runs, results, and where narrow rows are
read as one, the elements of all rows and columns of a CTA."""
Unit = Literal["", "chunk", "piece", "pitch", "results", "period", "columns"]
"""A stride's factor that only the launch knows; none where the stride is a number of the plan."""
SHARED_AXES: tuple[Axis, ...] = ("reduced", "piece")
"""Threads that differ in digits along these alone share their results."""

PIECE = 32
"""The most accesses that a lane makes to one *piece* of a run. A piece has at most 16 KiB of 16-byte accesses, so many
warps share a long run, and the masks at both ends of a piece cost little."""


class Mode(NamedTuple):
    """One digit of a level's number.

    Attributes:
        level: the level whose number it is a digit of.
        extent: the values of the digit, a power of two; None where only the launch knows how many there are.
        axis: what the digit counts along.
        stride: the distance along the axis between neighbouring values of the digit.
        unit: what the stride is a multiple of.
    """

    level: Level
    extent: int | None
    axis: Axis
    stride: int
    unit: Unit = ""


class Rows(NamedTuple):
    """Results as rows of *places*, by which threads are counted: a row has at least as many places as results.

    Attributes:
        unit: the places of a row are a multiple of this.
        early: the most places that lie before the first result of a row.
    """

    unit: int
    early: int = 0

    def units(self, columns: Any, arithmetic: Arithmetic) -> Any:
        """The units of a row of ``columns`` results."""
        return arithmetic.ceil(arithmetic.add(columns, arithmetic.number(self.early)), self.unit)

    def places(self, columns: Any, arithmetic: Arithmetic) -> Any:
        """The places of a row of ``columns`` results."""
        return arithmetic.rounded(arithmetic.add(columns, arithmetic.number(self.early)), self.unit)


Digits = dict[tuple[Level, Axis], Any]


@dataclass(frozen=True)
class Layout:
    """Which element each thread owns.

    Attributes:
        modes: the digits; those of a level from the least significant one on, and so those along an axis.
        rows: the rows of results, where a CTA does not go on from one to the next: whole CTAs. Padded rows are whole
            accesses, the first of which may begin before the row; there CTAs do go on.
    """

    modes: tuple[Mode, ...]
    rows: Rows

    def mode(self, level: Level, axis: Axis) -> Mode:
        """The digit of a level along an axis.

        Raises:
            KeyError: the level has no digit along the axis.
        """
        for m in self.modes:
            if (m.level, m.axis) == (level, axis):
                return m
        raise KeyError((level, axis))

    # --- the formula --------------------------------------------------------------------------------------------------
    def digits(self, numbers: Mapping[Level, Any], arithmetic: Arithmetic) -> Digits:
        """The digits of each level's number; the last one of a level is what the others leave of the number."""
        found: Digits = {}
        for level, number in numbers.items():
            *minor, major = [m for m in self.modes if m.level == level]
            for m in minor:
                assert m.extent is not None
                if m.extent & (m.extent - 1):  # as many warps as there are: no digit follows that is not 0
                    found[level, m.axis], number = number, arithmetic.number(0)
                    continue
                found[level, m.axis] = arithmetic.modulo(number, m.extent)
                number = arithmetic.divide(number, m.extent)
            found[level, major.axis] = number
        return found

    def position(self, digits: Digits, arithmetic: Arithmetic) -> Any:
        """A thread's number among the threads of its CTA that share its results, from its lane's and warp's digits."""
        within: list[Mode] = []
        stride = 1
        for m in self.modes:
            if m.level in ("lane", "warp") and m.axis in SHARED_AXES and m.extent is not None:
                within.append(m._replace(stride=stride, unit=""))
                stride *= m.extent
        return _nested(within, digits, arithmetic)

    def offset(
        self, axis: Axis, digits: Digits, arithmetic: Arithmetic, sizes: Mapping[Unit, Any] | None = None
    ) -> Any:
        """How far from the axis' begin the element is that has these digits.

        Levels without digits count as number 0. ``sizes`` are the units of the strides that only the launch knows.
        """
        here = [m for m in self.modes if m.axis == axis and (m.level, axis) in digits]
        total: Any = None
        for unit, group in groupby(reversed(here), key=lambda m: m.unit):
            value = _nested(list(group)[::-1], digits, arithmetic)
            if unit:
                value = arithmetic.multiply(value, (sizes or {})[unit])
            total = value if total is None else arithmetic.add(total, value)
        if total is None:
            raise KeyError(axis)
        return total

    def place(
        self, numbers: Mapping[Level, Any], arithmetic: Arithmetic, sizes: Mapping[Unit, Any] | None = None
    ) -> dict[Axis, Any]:
        """How far from the begin of each axis the element is that the levels with these numbers own.

        Args:
            numbers: of each level, such as the lane's in its warp. A level that is left out has the number 0.
            arithmetic: the operations on the numbers.
            sizes: the units of the strides that only the launch knows.
        """
        digits = self.digits(numbers, arithmetic)
        axes = dict.fromkeys(axis for _, axis in digits)
        return {axis: self.offset(axis, digits, arithmetic, sizes) for axis in axes}

    def start(self, position: Any, arithmetic: Arithmetic, sizes: Mapping[Unit, Any] | None = None) -> Any:
        """How far from the first element the thread starts that has this position along the reduced axis."""
        apart = self.mode("lane", "reduced")
        found = arithmetic.scaled(position, apart.stride)
        return arithmetic.multiply(found, (sizes or {})[apart.unit]) if apart.unit else found

    def pitch(self, columns: Any, tiles: Any, arithmetic: Arithmetic) -> Any:
        """The results of each CTA, in whole accesses, where ``tiles`` of them share a row of ``columns``."""
        vector = self.extent("vector", "kept")
        each = arithmetic.ceil(arithmetic.ceil(columns, vector), tiles)
        return arithmetic.scaled(each, vector)

    def piece(self, length: Any, arithmetic: Arithmetic) -> Any:
        """What each owner has of ``length`` elements, or pieces of runs: whole steps of lanes that meet so."""
        mine = [m for m in self.modes if m.unit == "piece"]
        owners, before = prod(m.extent or 1 for m in mine), self.modes.index(mine[0])
        up = arithmetic.add(length, arithmetic.number(owners - 1)) if owners > 1 else length
        each = arithmetic.divide(up, owners)
        steps = [m.stride for m in self.modes[:before] if m.level == "step" and m.axis == mine[0].axis]
        return arithmetic.rounded(each, steps[0]) if steps and steps[0] > 1 else each

    def pieces(self, length: Any, arithmetic: Arithmetic) -> tuple[Any, Any]:
        """The pieces of a run of ``length`` elements, and the elements of a piece, whole steps; the last has fewer."""
        count = arithmetic.at_least(arithmetic.ceil(length, self.step * PIECE), 1)
        return count, arithmetic.rounded(arithmetic.ceil(length, count), self.step)

    # --- what the modes say -------------------------------------------------------------------------------------------
    def along(self, *axes: Axis) -> tuple[Mode, ...]:
        """The digits that count along these axes."""
        return tuple(m for m in self.modes if m.axis in axes)

    def extent(self, level: Level, *axes: Axis) -> int:
        """How many numbers of a level differ in their digits along the axes; unknown extents count as 1."""
        found = 1
        for m in self.modes:
            found *= m.extent or 1 if m.level == level and m.axis in axes else 1
        return found

    def distance(self, level: Level, axis: Axis) -> int:
        """How far apart the numbers of a level are that are neighbours along an axis: the distance of a shuffle."""
        found = 1
        for m in self.modes:
            if m.level == level:
                if m.axis == axis:
                    return found
                found *= m.extent or 1
        raise KeyError((level, axis))

    def span(self, axis: Axis) -> int:
        """How far along an axis the threads of a CTA reach with one access each."""
        return self.extent("vector", axis) * self.extent("lane", axis) * self.extent("warp", axis)

    def shared(self, level: Level) -> int:
        """How many numbers of a level share a result."""
        return self.extent(level, *SHARED_AXES)

    @cached_property
    def chunked(self) -> Axis:
        """The axis along which the CTAs that share results are."""
        return next(m.axis for m in self.modes if m.level == "grid_y")

    @cached_property
    def loops(self) -> tuple[Axis, ...]:
        """What a thread's loops for one result count along, the innermost first."""
        return tuple(m.axis for m in self.modes if m.level in ("step", "turn") and m.axis != "kept")

    @cached_property
    def step(self) -> int:
        """The distance between a thread's accesses to elements."""
        return self.mode("step", "reduced").stride

    @cached_property
    def ordered(self) -> bool:
        """Whether the elements of a thread, or of a warp, follow each other, and those of the next one follow them."""
        levels = [m.level for m in self.along(*SHARED_AXES)]
        return "step" in levels and any(level in ("lane", "warp") for level in levels[levels.index("step") :])


def _nested(modes: list[Mode], digits: Digits, arithmetic: Arithmetic) -> Any:
    """The sum of the modes' digits times their strides, each of which is a multiple of the one before."""
    outer, *rest = reversed(modes)
    value, stride = digits[outer.level, outer.axis], outer.stride
    for m in rest:
        value, stride = arithmetic.scaled(value, stride // m.stride, digits[m.level, m.axis]), m.stride
    return arithmetic.scaled(value, stride)
