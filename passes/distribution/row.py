"""The row of results that a CTA works on.

Where tiles go by row, a CTA knows the indices of the outer kept dims, and its results are columns of that row: arrays
begin where the row does. Else all results are one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...compiler.ir.build import address
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, gpu
from ...compiler.plan import tiles
from ...compiler.plan.layout import layout_of
from .kernel import Kernel


def columns_of(kernel: Kernel) -> Any:
    """The results of a row."""
    facts = kernel.facts
    return kernel.arg("kept_size", 0, facts.kept_rank - 1) if facts.by_row else kernel.arg("n_kept")


def tiles_of_row(kernel: Kernel) -> Any:
    """The CTAs along the kept axis that work on one row."""
    if not kernel.facts.by_row:
        return kernel.id(gpu.grid_dim(gpu.Dimension.x))
    if kernel.plan.exchanges:
        early = tiles.early(kernel.plan, kernel.facts.stores)
        return kernel.ceil(arith.addi(columns_of(kernel), kernel.number(early)), kernel.plan.own)
    return layout_of(kernel.plan).rows.units(columns_of(kernel), kernel)


@dataclass(frozen=True, eq=False)
class Row:
    """A row of results.

    Attributes:
        kernel: the kernel that computes them.
        columns: the results of a row.
        number: the number of the row; None where all results are one row.
        outer: the row's index along each outer kept dim.
        starts: for each input, where its elements of the row begin.
    """

    kernel: Kernel
    columns: Any
    number: Any
    outer: tuple[Any, ...]
    starts: tuple[Any, ...]

    @classmethod
    def at(cls, kernel: Kernel, number: Any) -> Row:
        """The row with a number, or the one row that all results are."""
        outer = _outer(kernel, number) if kernel.facts.by_row else ()
        inputs = enumerate(kernel.inputs)
        starts = tuple(_start(kernel, outer, kernel.arg("input", i), i, element(x.type)) for i, x in inputs)
        return cls(kernel, columns_of(kernel), number, outer, starts)

    def start(self, base: Any, operand: int, t: Any) -> Any:
        """Where the row's elements, of the type ``t``, begin in the array of an operand that begins at ``base``."""
        return _start(self.kernel, self.outer, base, operand, t)

    def before(self, operand: int) -> Any:
        """How many elements lie from the first one of an operand to the row's."""
        return _offset(self.kernel, self.outer, operand)

    def beside(self, operand: int) -> list[Any]:
        """How many elements of an input, whose rows follow each other, lie before the row's begin, and how many after.

        The latter are counted from where the row begins to where the last row does.
        """
        kernel = self.kernel
        if not kernel.facts.by_row:
            return [kernel.number(0), kernel.number(0)]
        last = _outer(kernel, arith.subi(self.count(), kernel.number(1)))
        before = self.before(operand)
        return [before, arith.subi(_offset(kernel, last, operand), before)]

    def count(self) -> Any:
        """How many rows there are."""
        return arith.divui(self.kernel.arg("n_kept"), self.columns)

    @property
    def kept_dims(self) -> range:
        """The kept dims that the index of a result goes through: of a row of several dims the innermost."""
        facts = self.kernel.facts
        return range(facts.kept_rank - 1 if facts.by_row else 0, facts.kept_rank)


def _outer(kernel: Kernel, row: Any) -> tuple[Any, ...]:
    """The index of a row along each outer kept dim."""
    found: list[Any] = []
    for d in reversed(range(1, kernel.facts.kept_rank - 1)):
        row, index = kernel.divided(row, kernel.arg("kept_size", 0, d))
        found.insert(0, index)
    return (row, *found)


def _start(kernel: Kernel, outer: tuple[Any, ...], base: Any, operand: int, t: Any) -> Any:
    return address(base, _offset(kernel, outer, operand), t) if kernel.facts.by_row else base


def _offset(kernel: Kernel, outer: tuple[Any, ...], operand: int) -> Any:
    """How far a row lies from the first one in the array of an operand, in elements."""
    found = kernel.number(0)
    for d, index in enumerate(outer):
        found = arith.addi(found, arith.muli(index, kernel.arg("kept_stride", operand, d)))
    return found
