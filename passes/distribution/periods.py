"""The walk by periods, as code: narrow rows without gaps are one row, which all threads of a CTA read side by side.

What differs from the distributor otherwise: a thread's place is one in a period, and only when the rows of the period
have met does it own a result, the column of its number. The formulas are those of ``period_range`` in
``compiler/plan/launch.py``.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith, gpu
from .walk import Distributor

WORDS = 16
"""Registers for the partial states that a thread has in flight in the second round."""


class PeriodDistributor(Distributor):
    """Distributes a function whose plan walks by periods."""

    def place(self) -> None:
        """The thread's place in a period, and where the rows of its CTA begin."""
        plan, rank = self.plan, self.facts.kept_rank
        self.thread = self.id(gpu.thread_id(gpu.Dimension.x))
        self.tile = self.id(gpu.block_id(gpu.Dimension.x))
        self.columns = self.arg("n_kept") if rank == 1 else self.arg("kept_size", 0, rank - 1)
        self.rows = self.arg("period_rows")
        self.period = arith.muli(self.rows, self.columns)
        self.slot = arith.muli(self.thread, self.number(plan.vector))
        self.first_kept = arith.muli(self.tile, self.columns)
        self.kept = arith.addi(self.first_kept, self.thread)
        self.in_range = arith.cmpi(arith.CmpIPredicate.slt, self.slot, self.period)
        self.owner = arith.cmpi(arith.CmpIPredicate.slt, self.thread, self.columns)

    def locate(self) -> None:
        """Computes which elements of its rows, counted through all of them, this CTA owns."""
        self.count, self.origin = self.arg("count"), None
        rows = self.arg("n_reduced")
        self.first, self.limit = self.number(0), arith.muli(rows, self.columns)
        if self.facts.gapped:
            self.limit = arith.subi(self.limit, self.arg("gap"))
        if self.plan.finish != "cta":
            chunk = arith.muli(self.arg("chunk"), self.columns)
            self.first = arith.muli(self.id(gpu.block_id(gpu.Dimension.y)), chunk)
            self.limit = arith.minsi(arith.addi(self.first, chunk), self.limit)

    def first_round(self) -> Any:
        """Reduces this CTA's rows."""
        lanes, size = self.plan.vector, bytes_of(memory_type(element(self.block.arguments[0].type)))
        attributes = {"kept_rank": self.facts.kept_rank, "reduced_rank": 0, "lanes": lanes, "bytes": size}
        operands = [self.arg("input", 0), self.first_kept, *self.kept_layout(0)]
        lead = self.make("fold.lead", operands[1].type, operands, attributes, 1)

        def read(r: Any) -> list[Any]:
            memo: dict[Any, Any] = {}
            return [self.value(v, lanes, memo, r) for v in self.sources]

        return self.round(self.first, self.limit, lead, self.plan.unroll, read)

    def second_round(self, parts: Any) -> Any:
        """Reduces the partial states of all CTAs, [parts][columns] for each tile, in the CTA that came last."""
        one, zero = self.number(1), self.number(0)
        start = arith.muli(parts, self.first_kept)
        lead = arith.andi(start, self.number(self.plan.vector - 1))
        attributes = self.load_attributes(1, 1, "reduced", "coherent")

        def read(r: Any) -> list[Any]:
            sources = [self.arg("partial", i) for i in range(len(self.states))]
            return [
                self.make("fold.load", t, [p, start, r, one, one], attributes, self.plan.vector)
                for p, t in zip(sources, self.states, strict=True)
            ]

        words = self.plan.vector * sum(-(-bytes_of(t) // 4) for t in self.states)
        unroll = max(1, min(self.plan.second.unroll, WORDS // words))
        return self.round(zero, arith.muli(parts, self.columns), lead, unroll, read)

    def round(self, first: Any, limit: Any, lead: Any, unroll: int, read: Any) -> Any:
        """Reduces the elements in [first, limit) of a row that begins ``lead`` elements past a boundary."""
        width = self.plan.vector
        begin = arith.addi(arith.subi(first, lead), self.slot)
        end = arith.select(self.in_range, limit, arith.subi(first, self.number(width)))

        def body(r: Any) -> list[Any]:
            return self.counted_in(read(r), r, first, end, width)

        own = self.walked(begin, end, 1, unroll, width, body, self.period)
        operands = [self.thread, self.in_range, own, self.rows, self.columns, lead]
        attributes = {"threads": self.plan.threads}
        return self.stage("fold.period_reduce", [state_type(self.states)], operands, attributes).results[0]

    def results_from(self, state: Any) -> None:
        """The results of the columns that were asked for."""
        if self.facts.gapped:
            columns = arith.subi(self.columns, self.arg("gap"))
            self.owner = arith.andi(self.owner, arith.cmpi(arith.CmpIPredicate.slt, self.thread, columns))
        super().results_from(state)

    def left_at(self, parts: Any) -> tuple[Any, Any]:
        """Where this thread's partial state lies in those of a part, and how many there are: [tile][parts][columns]."""
        return arith.addi(arith.muli(parts, self.first_kept), self.thread), self.columns

    def load(self, operand: int, t: Any, r: Any) -> Any:
        """An access to the rows of a tile, as to one row."""
        layout = [*self.kept_layout(operand), self.number(1)]
        attributes = self.load_attributes(self.facts.kept_rank, 1, "reduced", "period")
        operands = [self.arg("input", operand), self.first_kept, r, *layout]
        return self.make("fold.load", t, operands, attributes, self.plan.vector)

    def numbers(self, t: Any, r: Any, width: int) -> Any:
        """The numbers of elements: as of two dims, rows and columns, the latter of which do not count."""
        stride = self.arg("index_stride", 0, self.facts.reduced_rank - 1)
        layout = [self.columns, stride, self.number(0)]
        attributes = {"reduced_rank": 2, "axis": "reduced"}
        return self.make("fold.position", t, [r, self.arg("index_base"), *layout], attributes, width)

    def kept_layout(self, operand: int) -> list[Any]:
        """Sizes and strides of the kept dims."""
        rank = self.facts.kept_rank
        sizes = [self.arg("kept_size", 0, d) for d in range(1, rank)]
        return sizes + [self.arg("kept_stride", operand, d) for d in range(rank)]
