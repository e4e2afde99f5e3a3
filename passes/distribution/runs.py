"""The walk by runs, as code: a warp reads one run of its results after another, each as a row of its own.

What differs from the distributor otherwise: a thread's place along the reduced axis is its lane's, in the run that its
warp has reached, and the dims that number the runs are kept ones to its accesses. Long runs are cut into pieces, so
that several warps have one. The formulas are those of ``runs_of`` and ``in_run`` in ``compiler/plan/launch.py``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from ...compiler.ir.anchored import met
from ...compiler.ir.combine import pack, unpack
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.plan.launch import PIECE
from .walk import Distributor


class RunsDistributor(Distributor):
    """Distributes a function whose plan walks by runs.

    Attributes:
        run_sizes, inner: the sizes of the dims that number the runs, and of the one that they lie along.
        runs, pieces, piece: the runs of a result, the pieces of each, and the elements of these.
        run_number: the number of the run that the warp has reached.
        row_number: the number of that run among those of all results.
    """

    run_sizes: list[Any]
    inner: Any
    runs: Any
    pieces: Any
    piece: Any
    run_number: Any
    row_number: Any

    def locate(self) -> None:
        """Computes which pieces of runs this CTA owns, how long a run is, and how many there are of each dim."""
        *self.run_sizes, self.inner = self.sizes("reduced", self.facts.reduced_rank)
        self.runs = count = reduce(arith.muli, self.run_sizes)
        if self.facts.pieces:
            self.cut()
            count = arith.muli(self.runs, self.pieces)
        self.origin, self.count = None, self.arg("count")
        self.first, self.limit = self.number(0), count
        if self.plan.finish != "cta":
            chunk = self.arg("chunk")
            self.first = arith.muli(self.id(gpu.block_id(gpu.Dimension.y)), chunk)
            self.limit = arith.minsi(arith.addi(self.first, chunk), count)

    def cut(self) -> None:
        """Computes how many pieces a run has, and how long they are."""
        step, one = self.plan.step, self.number(1)
        self.pieces = arith.maxsi(self.rounded(self.inner, step * PIECE), one)
        each = arith.divui(arith.addi(self.inner, arith.subi(self.pieces, one)), self.pieces)
        self.piece = self.scaled(self.rounded(each, step), step)

    def rounded(self, x: Any, extent: int) -> Any:
        """How often ``extent``, a power of two, goes into a number, the last time perhaps in part."""
        return self.divide(arith.addi(x, self.number(extent - 1)), extent)

    def first_round(self) -> Any:
        """Reduces this CTA's pieces: a warp every so manieth."""
        self.extents = {i: self.extent(i) for i, access in enumerate(self.facts.access) if access == "shifted"}
        begin = arith.addi(self.first, self.row)
        loop = scf.ForOp(begin, self.limit, self.number(self.plan.warps), self.neutral(1))
        with ir.InsertionPoint(loop.body):
            self.run_number, first, end = self.in_run(loop.induction_variable)
            self.row_number = arith.addi(arith.muli(self.kept, self.runs), self.run_number)
            own = unpack(self.of_run(first, end))
            scf.YieldOp(met(self.combine, list(loop.inner_iter_args), own))
        return self.meet(pack(list(loop.results)))

    def in_run(self, number: Any) -> tuple[Any, Any, Any]:
        """The number of the run of a piece, and which of its elements are the piece's: the first, and the end."""
        if not self.facts.pieces:
            return number, self.number(0), self.inner
        run, k = self.divided(number, self.pieces)
        first = arith.minsi(arith.muli(k, self.piece), self.inner)
        return run, first, arith.minsi(arith.addi(first, self.piece), self.inner)

    def of_run(self, first: Any, end: Any) -> Any:
        """What the thread's elements of one piece, from ``first`` to ``end`` of its run, combine to."""
        plan = self.plan
        begin = arith.addi(first, self.scaled(self.lane, plan.vector))
        nothing = arith.subi(first, self.number(plan.vector)) if plan.vector > 1 else first
        end = arith.select(self.in_range, end, nothing)

        def body(r: Any) -> list[Any]:
            memo: dict[Any, Any] = {}
            values = [self.value(v, plan.vector, memo, r) for v in self.sources]
            return self.counted_in(values, r, first, end, plan.vector)

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
