"""A chunk of a row in the L2 cache that an end of the row cuts: its accesses are made in a loop, again in each phase.

Few chunks are cut, and the masks of straight-line code for them were most of a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.anchored import met
from ....compiler.ir.combine import pack, unpack
from ....compiler.ir.mlir import arith, ir, scf
from ....compiler.plan.layout import layout_of
from ..kernel import Kernel
from .held_row import HeldRow
from .row_accesses import RowAccesses


@dataclass(frozen=True, eq=False)
class CutChunk:
    """The accesses of a thread to a chunk, each of which an end of the row may cut.

    Attributes:
        row: the accesses.
    """

    row: RowAccesses

    @classmethod
    def of(cls, row: RowAccesses) -> CutChunk:
        """The accesses of ``row`` in a branch: what is computed there of the row is known there alone."""
        return cls(replace(row, values=replace(row.values, kept=dict(row.values.kept))))

    def reduced(self, phase: Kernel) -> Any:
        """The state that the thread's elements combine to: each access on the right of those before it."""
        self.row.values.prepare(phase.sources)
        loop = self._loop(phase.neutral(phase.plan.vector_kept))
        with ir.InsertionPoint(loop.body):
            own = unpack(self._at(loop.induction_variable).reduced(phase))
            scf.YieldOp(met(phase.combine, list(loop.inner_iter_args), own))
        return pack(list(loop.results))

    def store(self) -> None:
        """Writes the results."""
        kernel, row = self.row.kernel, self.row
        rows, elements = row.values.apart(kernel.results)
        row.store_rows(rows)
        row.values.prepare([result for _, result in elements])
        loop = self._loop([])
        with ir.InsertionPoint(loop.body):
            self._at(loop.induction_variable).store_elements(elements)
            scf.YieldOp([])

    def _loop(self, first: list[Any]) -> Any:
        """A loop over the starts of accesses: all threads make as many, since lanes may write together."""
        kernel, begin = self.row.kernel, self.row.begin
        step = layout_of(kernel.plan).step
        return scf.ForOp(begin, arith.addi(begin, kernel.number(kernel.plan.held * step)), kernel.number(step), first)

    def _at(self, r: Any) -> HeldRow:
        """The access that begins at ``r``."""
        return HeldRow(self.row, (r,), ({},), {})
