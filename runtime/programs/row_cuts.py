"""Which rows of a program are steps of their own, and the steps that follow from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.bit_arrays import WORD
from ...compiler.program.cuts.cut import cut
from ...compiler.program.cuts.steps import Step, Steps
from .map_dims import Dims
from .step_tasks import StepTasks

Rows = frozenset[tuple[Dims, Dims]]
"""Rows by the dims that say which row, and those along a row."""
Turned = frozenset[tuple[Dims, Dims, Dims]]
"""Rows of steps without a fold, and the dims along which their threads go instead."""


class RowCuts(NamedTuple):
    """How the rows of a program are cut into steps.

    Attributes:
        long: rows that are cut at the grid: their folds, and what uses the results, are steps of their own.
        far: rows that wait far from the threads, or are folded once.
        turned: rows along which threads do not go.
        alone: rows whose step no side folds join.
        unsplit: rows that leave no states of sections.
    """

    long: Rows = frozenset()
    far: Rows = frozenset()
    turned: Turned = frozenset()
    alone: Rows = frozenset()
    unsplit: Rows = frozenset()

    def at_the_grid(self, step: Step) -> RowCuts:
        """The same ones where the rows of a step are cut at the grid as well, and threads go along all rows."""
        return self._replace(long=self.long | {(step.kept, step.reduced)}, turned=frozenset())

    def along(self, step: Step, dims: Dims) -> RowCuts:
        """The same ones where the threads of a step go along these dims."""
        own = frozenset({(step.kept, step.reduced, dims)} if dims != step.reduced else ())
        return self._replace(turned=self.turned | own)


@dataclass(frozen=True)
class Cutter:
    """Cuts a program into steps.

    Attributes:
        tasks: the arrays of the program.
    """

    tasks: StepTasks

    def steps(self, rows: RowCuts) -> Steps:
        """The steps of the program whose rows are cut so."""
        own, sizes = self.tasks, self.tasks.sizes
        empty = frozenset(d for d, n in enumerate(sizes) if n == 0)
        words = (o.words for o in own.program.outputs if o.words)
        runs = (w[k:] for w in words for k in range(len(w)))
        whole = frozenset(run for run in runs if prod(sizes[d] for d in run) % WORD == 0)
        return _steps(own.program, rows, empty, own.order, own.determinism == "portable", whole)


@lru_cache(maxsize=1024)
def _steps(
    program: ArrayProgram,
    rows: RowCuts,
    empty: frozenset[int],
    order: Sequence[int],
    portable: bool,
    whole: frozenset[Dims],
) -> Steps:
    """The steps of a program; rows along ``empty`` dims, which have no elements, are cut at the grid."""
    others = {(kept, reduced): along for kept, reduced, along in rows.turned}

    def owns(kept: Dims, reduced: Dims) -> bool:
        return (kept, reduced) not in rows.long and empty.isdisjoint(reduced)

    return cut(
        program,
        owns,
        order,
        lambda *dims: dims in rows.far,
        lambda *dims: others.get(dims, dims[1]),
        portable=portable,
        whole=whole,
        joins=lambda *dims: not portable and dims not in rows.alone,
        splits=lambda *dims: not portable and dims[:2] not in rows.unsplit and _are_innermost(dims[2], dims[1], order),
    )


def _are_innermost(inner: Dims, reduced: Dims, order: Sequence[int]) -> bool:
    """Whether some dims are the innermost ones of rows."""
    return {*inner} == {*[d for d in order if d in reduced][-len(inner) :]}
