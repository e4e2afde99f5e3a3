"""The last elements of an array that no whole access has: one thread reads and writes them one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.combine import elements, fragment, splat, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith
from ..kernel import Kernel, load_attributes
from .row_accesses import RowAccesses, layout_of_operand, wide
from .row_states import branched
from .values import Numbered


@dataclass(frozen=True, eq=False)
class RowTail:
    """The elements of the last row that an access across rows has only a part of.

    Attributes:
        row: the thread's accesses.
        end: the rows that exist in the last access.
        last: the last element of the row, in which the rows end.
        here: whether they end in the access of the thread.
    """

    row: RowAccesses
    end: Any
    last: Any
    here: Any

    @classmethod
    def of(cls, row: RowAccesses) -> RowTail:
        """The tail of the rows of a thread whose CTA owns a chunk of them."""
        kernel, place = row.kernel, row.place
        end = arith.subi(kernel.arg("n_kept"), kernel.arg("gap"))
        last = arith.subi(kernel.arg("n_reduced"), kernel.number(1))
        begins, ends = kernel.less(place.start, end), arith.addi(place.start, kernel.number(kernel.plan.vector))
        cut = arith.andi(begins, kernel.less(end, ends))
        own = arith.cmpi(arith.CmpIPredicate.sge, last, row.chunk.first)
        own = arith.andi(own, kernel.less(last, arith.addi(row.chunk.first, row.chunk.length)))
        return cls(row, end, last, arith.andi(arith.andi(cut, own), place.owner))

    def reduced(self, phase: Kernel) -> list[Any]:
        """Their states, with the identity for rows that do not exist."""
        vector = phase.plan.vector
        types = [with_shape(t, vector) for t in phase.states]
        self.row.values.prepare(phase.sources)

        def make() -> list[Any]:
            found = self._fragments(phase.sources)
            return [arith.select(self._live(), v, i) for v, i in zip(found, phase.neutral(vector), strict=True)]

        return branched(self.here, types, make, lambda: phase.neutral(vector))

    def store(self, results: Numbered) -> None:
        """Writes the results of these elements."""
        self.row.values.prepare([v for _, v in results])

        def make() -> list[Any]:
            made = self._fragments([v for _, v in results])
            for (number, _), value in zip(results, made, strict=True):
                for j, x in enumerate(elements(value)):
                    self._store(number, j, x)
            return []

        branched(self.here, [], make)

    def _live(self) -> Any:
        """Which elements of the access exist."""
        vector = self.row.kernel.plan.vector
        at = fragment([self._index(j) for j in range(vector)])
        return arith.cmpi(arith.CmpIPredicate.slt, at, splat(self.end, vector))

    def _index(self, j: int) -> Any:
        """The row of element ``j``."""
        kernel = self.row.kernel
        return arith.addi(self.row.place.start, kernel.number(j)) if j else self.row.place.start

    def _fragments(self, tensors: Any) -> list[Any]:
        """The fragments of tensors; those of rows that do not exist have another's elements."""
        values = replace(self.row.values, kept=dict(self.row.values.kept))
        known: dict[Any, Any] = {}
        vector = self.row.kernel.plan.vector
        return [wide(values.fragment(v, known, self.last, self._load), vector) for v in tensors]

    def _load(self, operand: int, t: Any) -> Any:
        """The elements of an input."""
        kernel, facts = self.row.kernel, self.row.kernel.facts
        if facts.access[operand] == "number":
            return kernel.passed(operand, kernel.plan.vector)
        attributes = load_attributes(facts.kept_rank, facts.reduced_rank, "kept", "strided")
        layout, final = layout_of_operand(kernel, operand), arith.subi(self.end, kernel.number(1))
        found = []
        for j in range(kernel.plan.vector):
            at = [self.row.pointer("input", operand), arith.minsi(self._index(j), final), self.last]
            found.append(kernel.make("fold.load", element(t), [*at, *layout], attributes, 1))
        return fragment(found)

    def _store(self, number: int, j: int, value: Any) -> None:
        """Writes element ``j`` of a result, if it exists."""
        kernel, facts = self.row.kernel, self.row.kernel.facts
        on = kernel.less(self._index(j), self.end)
        bounds = [self.last, arith.addi(self.last, kernel.number(1))]
        at = [self.row.pointer("output", number), self._index(j), self.last, *bounds, on]
        attributes = load_attributes(facts.kept_rank, facts.reduced_rank, "kept", "strided") | {"whole": True}
        layout = layout_of_operand(kernel, len(kernel.inputs) + number)
        kernel.make_op("fold.element_store", [], [value, *at, *layout], attributes)
