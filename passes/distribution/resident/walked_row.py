"""A row that waits in memory: each phase walks it again, in a loop, and so do the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....compiler.ir.mlir import ir
from ....compiler.plan.layout import layout_of
from ..kernel import Kernel
from ..span import Span, end_in_range, reduce_span
from .row_accesses import RowAccesses, wide


@dataclass(frozen=True, eq=False)
class WalkedRow:
    """The accesses of a row that a thread makes once in each phase.

    Attributes:
        row: the thread's accesses.
        span: where they begin and end.
    """

    row: RowAccesses
    span: Span

    @classmethod
    def of(cls, row: RowAccesses) -> WalkedRow:
        """The row of a thread."""
        plan, first, limit = row.kernel.plan, row.chunk.first, row.chunk.limit
        end = end_in_range(row.kernel, row.place, first, limit, plan.vector_reduced)
        return cls(row, Span(row.begin, end, first, layout_of(plan).step))

    def reduced(self, phase: Kernel) -> Any:
        """The state that the thread's elements combine to."""
        values, plan = self.row.values, phase.plan
        values.prepare(phase.sources)

        def read(r: Any) -> list[Any]:
            return [wide(self._fragment(v, r, {}), plan.vector) for v in phase.sources]

        return reduce_span(phase, plan, self.span, plan.unroll, plan.vector, read)

    def _fragment(self, tensor: Any, r: Any, known: dict[Any, Any]) -> Any:
        """The fragment of a tensor, of the access at ``r``."""
        return self.row.values.fragment(tensor, known, r, lambda i, t: self.row.load(i, t, r, whole=True))

    def store(self) -> None:
        """Writes the results."""
        kernel, values = self.row.kernel, self.row.values
        rows, elements = values.apart(kernel.results)
        self.row.store_rows(rows)
        if not elements:
            return
        values.prepare([result for _, result in elements])
        attributes = {"step": self.span.step, "unroll": kernel.plan.unroll}
        op = kernel.make_op("fold.thread_map", [], [self.span.begin, self.span.end], attributes, regions=1)
        block = op.regions[0].blocks.append(kernel.index)
        (r,) = block.arguments
        with ir.InsertionPoint(block):
            known: dict[Any, Any] = {}
            made = [(number, self._fragment(result, r, known)) for number, result in elements]
            for number, value in made:
                self.row.store(number, value, r, whole=False)
            ir.Operation.create("fold.yield", [], [])
