"""The walk by runs, as code: a warp reads one run of its results after another, each as a row of its own.

What differs from the distributor otherwise: a thread's place along the reduced axis is its lane's, in the run that its
warp has reached, and the dims that number the runs are kept ones to its accesses. The formulas are those of ``runs_of``
in ``compiler/ownership.py``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..compiler.combine import combine, pack, unpack
from ..compiler.mlir import arith, gpu, ir, scf
from ._distributor import Distributor


class RunsDistributor(Distributor):
    """Distributes a function whose plan walks by runs.

    Attributes:
        run_sizes, inner: the sizes of the dims that number the runs, and of the one that they lie along.
        runs, run_number: the runs of a result, and the number of the one that the warp has reached.
        row_number: the number of that run among those of all results.
    """

    run_sizes: list[Any]
    inner: Any
    runs: Any
    run_number: Any
    row_number: Any

    def locate(self) -> None:
        """Computes which runs of a result this CTA owns, how long one is, and how many there are of each dim."""
        *self.run_sizes, self.inner = self.sizes("reduced", self.facts.reduced_rank)
        self.runs = reduce(arith.muli, self.run_sizes)
        self.origin, self.count = None, self.arg("count")
        self.first, self.limit = self.number(0), self.runs
        if self.plan.finish != "cta":
            chunk = self.arg("chunk")
            self.first = arith.muli(self.id(gpu.block_id(gpu.Dimension.y)), chunk)
            self.limit = arith.minsi(arith.addi(self.first, chunk), self.runs)

    def first_round(self) -> Any:
        """Reduces this CTA's runs: a warp every so manieth."""
        self.extents = {i: self.extent(i) for i, access in enumerate(self.facts.access) if access == "shifted"}
        begin = arith.addi(self.first, self.row)
        loop = scf.ForOp(begin, self.limit, self.number(self.plan.warps), self.neutral(1))
        with ir.InsertionPoint(loop.body):
            self.run_number = loop.induction_variable
            self.row_number = arith.addi(arith.muli(self.kept, self.runs), self.run_number)
            own = unpack(self.of_run())
            scf.YieldOp(combine(self.combine, list(loop.inner_iter_args), own))
        return self.meet(pack(list(loop.results)))

    def of_run(self) -> Any:
        """What the thread's elements of one run combine to."""
        plan, zero = self.plan, self.number(0)
        begin = self.scaled(self.lane, plan.vector)
        end = arith.select(self.in_range, self.inner, self.number(-plan.vector if plan.vector > 1 else 0))

        def body(r: Any) -> list[Any]:
            memo: dict[Any, Any] = {}
            values = [self.value(v, plan.vector, memo, r) for v in self.sources]
            return self.counted_in(values, r, zero, end, plan.vector)

        return self.walked(begin, end, plan.step, plan.unroll, plan.vector, body)

    def load(self, operand: int, t: Any, r: Any) -> Any:
        """An access to the run, as to a row: results and runs together number those."""
        kept, reduced = range(self.facts.kept_rank), range(self.facts.reduced_rank)
        layout = [self.arg("kept_size", 0, d) for d in kept[1:]] + self.run_sizes
        layout += [self.arg("kept_stride", operand, d) for d in kept]
        layout += [self.arg("reduced_stride", operand, d) for d in reduced]
        layout += [self.extents[operand]] if operand in self.extents else []
        attributes = self.load_attributes(len(kept) + len(reduced) - 1, 1, "reduced", self.facts.access[operand])
        operands = [self.arg("input", operand), self.row_number, r, *layout]
        return self.make("fold.load", t, operands, attributes, self.plan.vector)

    def numbers(self, t: Any, r: Any, width: int) -> Any:
        """The numbers of elements: of all runs, one after another."""
        return super().numbers(t, arith.addi(arith.muli(self.run_number, self.inner), r), width)
