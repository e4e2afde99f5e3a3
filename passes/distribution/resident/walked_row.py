"""A row that each phase and the results walk in a loop: in memory, or in the slots of the thread in shared memory.

A loop serves rows of any length. In slots, rows that begin anywhere are walked so: the loop masks their ends in code
of its own, before it and behind it, where straight-line code has masks in all accesses that may be the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir
from ....compiler.plan.layout import layout_of
from ...access.unaligned import LEADS
from ..kernel import Kernel
from ..reader import Span, end_in_range, reduce_span
from .row_accesses import RowAccesses, alternating, hold, is_cut, is_shifted, wide
from .row_stores import store_elements, store_rows, where_row_is
from .values import Numbered


@dataclass(frozen=True, eq=False)
class WalkedRow:
    """The accesses of a row that a thread makes once in each phase.

    Attributes:
        row: the thread's accesses.
        span: where they begin and end.
        unroll: accesses in flight in each step of a loop.
        slots: for each input that waits in shared memory its slots there.
    """

    row: RowAccesses
    span: Span
    unroll: int
    slots: Mapping[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: RowAccesses) -> WalkedRow:
        """The row of a thread."""
        plan, first, limit = row.kernel.plan, row.chunk.first, row.chunk.limit
        end = end_in_range(row.kernel, row.place, first, limit, plan.vector_reduced)
        return cls(row.before_loops(), Span(row.begin, end, first, layout_of(plan).step), plan.unroll)

    @classmethod
    def in_slots(cls, row: RowAccesses) -> WalkedRow:
        """The row of a thread whose accesses wait in shared memory."""
        kernel = row.kernel
        slots = {i: hold(row, i, element(kernel.inputs[i].type), walked=True) for i in kernel.facts.waiting}
        span = Span(row.begin, row.chunk.limit, row.chunk.first, layout_of(kernel.plan).step)
        return cls(row, span, kernel.plan.unroll, slots)

    def reduced(self, phase: Kernel) -> Any:
        """The state that the thread's elements combine to."""
        values, plan = self.row.values, phase.plan
        values.prepare(phase.sources)

        def read(r: Any) -> list[Any]:
            return [wide(self._fragment(v, r, {}), plan.vector) for v in phase.sources]

        kernel = self.row.kernel
        known = {"early": is_shifted(kernel), "uncut": not is_cut(kernel), "rolled": kernel.plan.resident == "grid"}
        known["together"] = kernel.plan.waits_in_tile
        names = [name for name, is_so in known.items() if is_so]
        return reduce_span(phase, plan, self.span, self.unroll, plan.vector, read, names)

    def _fragment(self, tensor: Any, r: Any, known: dict[Any, Any]) -> Any:
        """The fragment of a tensor, of the access at ``r``."""
        return self.row.values.fragment(tensor, known, r, lambda i, t: self._load(i, t, r))

    def _load(self, operand: int, t: Any, r: Any) -> Any:
        """The elements of an input in the access at ``r``."""
        if operand not in self.slots:
            load = self.row.load(operand, t, r, whole=True)
            if operand in self.row.kernel.facts.leading:
                load.owner.attributes[LEADS] = ir.UnitAttr.get()
            return load
        kernel, (begin, step) = self.row.kernel, (self.span.begin, self.span.step)
        if self.unroll > 1:  # behind the last access of a group there is no slot
            r = arith.select(kernel.less(r, self.span.end), r, begin)
        number = arith.shrui(arith.subi(r, begin), kernel.number(step.bit_length() - 1), is_exact=True)
        how = {"threads": kernel.plan.threads}
        how |= {k: v for k, v in alternating(self.row, operand).items() if k == "pitch"}
        return kernel.make("fold.held", t, [self.slots[operand], number], how, kernel.plan.vector)

    def store(self) -> None:
        """Writes the results."""
        rows, _ = self.row.values.apart()
        store_rows(self.row, rows)
        self.store_elements()

    def store_elements(self) -> None:
        """Writes the results that have a value for each element."""
        _, elements = self.row.values.apart()
        if elements:
            self.row.values.prepare([result for _, result in elements])
            with where_row_is(self.row, elements) as there:
                replace(self, row=there)._store_in_loop(elements)

    def _store_in_loop(self, elements: Numbered) -> None:
        """Writes results access by access."""
        kernel = self.row.kernel
        attributes = {"step": self.span.step, "unroll": self.unroll}
        attributes |= {"rolled": True} if kernel.plan.resident == "grid" else {}
        ends = [self.span.first, kernel.arg("n_reduced")] if is_shifted(kernel) else []
        op = kernel.make_op("fold.thread_map", [], [self.span.begin, self.span.end, *ends], attributes, regions=1)
        block = op.regions[0].blocks.append(kernel.index)
        (r,) = block.arguments
        with ir.InsertionPoint(block):
            known: dict[Any, Any] = {}
            made = [(number, self._fragment(result, r, known)) for number, result in elements]
            for number, value in made:
                store_elements(self.row, number, value, r, whole=False)
            ir.Operation.create("fold.yield", [], [])
