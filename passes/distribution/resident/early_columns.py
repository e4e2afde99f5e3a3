"""Accesses along results that begin at a boundary in each row, where arrays lie across these.

The columns of a CTA are then other ones in each row: they begin up to a sector of memory earlier. A row may begin
within the first access of its first CTA, and end within one of its last. So memory gets whole sectors, and no thread
writes elements of another one. All accesses of a thread are to rows that begin equally far after a boundary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.build import bytes_of, memory_type
from ....compiler.ir.combine import width, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, vector
from ....compiler.plan import tiles
from ..kernel import Kernel, load_attributes
from ..place import Place
from ..reader import extent
from ..row import Row


@dataclass(frozen=True, eq=False)
class EarlyColumns:
    """The columns of a thread.

    Attributes:
        kernel, row: the kernel, and the row of results in which the columns are.
        limit: the end of the rows that the CTA has.
        first: the first one, which may be negative.
        own: whether no other CTA writes them.
    """

    kernel: Kernel
    row: Row
    limit: Any
    first: Any
    own: Any

    @classmethod
    def of(cls, kernel: Kernel, row: Row, place: Place, begin: Any, limit: Any) -> EarlyColumns:
        """The columns of a thread at its place, whose first access is to row ``begin`` of those before ``limit``."""
        own = kernel.less(place.slot, kernel.number(kernel.plan.own)) if kernel.plan.overlap else kernel.yes()
        found = cls(kernel, row, limit, place.kept, own)
        return replace(found, first=arith.subi(place.kept, found.lead(begin)))

    def lead(self, r: Any) -> Any:
        """By how many elements the columns begin early in row ``r``."""
        kernel = self.kernel
        early = tiles.early(kernel.plan, kernel.facts.stores)
        if not early:
            return kernel.number(0)
        number = kernel.facts.stores.index("shifted")
        operand, t = len(kernel.inputs) + number, element(kernel.results[number].type)
        base = self.row.start(kernel.arg("output", number), operand, t)
        attributes = {"lanes": early + 1, "bytes": bytes_of(memory_type(t))}
        attributes |= {"kept_rank": 1, "reduced_rank": 0}
        stride = kernel.arg("reduced_stride", operand, 0)
        return kernel.make("fold.lead", kernel.index, [base, r, stride], attributes, 1)

    def load(self, operand: int, t: Any, r: Any) -> Any:
        """The elements of an input in row ``r``, or in all rows of one without reduced dims, where ``r`` is None."""
        kernel, kind = self.kernel, self.kernel.facts.access[operand]
        if kind == "number":
            return kernel.passed(operand, kernel.plan.vector)
        base = self.row.start(kernel.arg("input", operand), operand, t)
        at, apart = kernel.number(0), kernel.number(0)
        bounds, kind = self._bounds(), "strided" if kind == "kept" else kind
        if r is not None:
            at = arith.minsi(r, arith.subi(self.limit, kernel.number(1)))
            apart = kernel.arg("reduced_stride", operand, 0)
        beside = []
        if kind in ("shifted", "unaligned"):  # the last row, in place of one beyond, begins elsewhere
            here, at = kernel.less(r, self.limit), r
            bounds[-1], *beside = (
                arith.select(here, n, kernel.number(0)) for n in (bounds[-1], self._readable(operand))
            )
        inner = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
        attributes = load_attributes(1, 1, "reduced", kind)
        operands = [base, at, *bounds, apart, inner, *beside]
        return kernel.make("fold.element_load", t, operands, attributes, kernel.plan.vector)

    def store(self, number: int, value: Any, r: Any) -> None:
        """Writes the elements of a result in row ``r``."""
        kernel, operand = self.kernel, len(self.kernel.inputs) + number
        lanes = kernel.plan.vector
        value = value if width(value.type) == lanes else vector.broadcast(with_shape(value.type, lanes), value)
        base = self.row.start(kernel.arg("output", number), operand, element(value.type))
        layout = [
            kernel.arg("reduced_stride", operand, 0),
            kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1),
        ]
        attributes = load_attributes(1, 1, "reduced", kernel.facts.stores[number]) | {"whole": False}
        here = arith.andi(kernel.less(r, self.limit), self.own)
        operands = [value, base, r, *self._bounds(), here, *layout]
        kernel.make_op("fold.element_store", [], operands, attributes)

    def _bounds(self) -> list[Any]:
        """The first column, and the bounds of those of the row."""
        return [self.first, self.kernel.number(0), self.row.columns]

    def _readable(self, operand: int) -> Any:
        """How many elements of an input from the row's first one on can be read; none if a result takes its place."""
        kernel = self.kernel
        found = arith.subi(extent(kernel, operand), self.row.before(operand))
        return arith.select(kernel.is_replaced(operand), kernel.number(0), found)
