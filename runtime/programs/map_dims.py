"""Along which dims the threads of a step without a fold go: those along which its arrays are accessed best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...compiler.dtypes import BIT
from ...compiler.planner.options import ask_for_blocks
from ...compiler.planner.resident import matrix_tiles, transposed
from ...compiler.planner.resident.accesses import has_bits, writes_bits
from ...compiler.planner.resident.maps import rows_apart, turns
from ...compiler.planner.task import Task
from ...compiler.program.cuts.steps import Operand, Step
from ...compiler.space.geometry import memory_order
from ..view import ArraySpec

Dims = tuple[int, ...]
Fits = Callable[[Step, Dims, Callable[[Task], object]], bool]
"""Whether a function of its task holds of a step if its threads go along some dims."""


@dataclass(frozen=True)
class MapDims:
    """The arrays of a program, along whose dims the threads of its steps go.

    Attributes:
        operands: the arrays of a call, with a stride along each dim.
        sizes: the sizes of the dims.
        order: the dims in the order in which the arrays lie in memory.
    """

    operands: Mapping[Operand, ArraySpec]
    sizes: Dims
    order: Sequence[int]

    def along(self, step: Step, task: Task, fits: Fits, options: str) -> Dims:
        """The dims along which the threads of a step go: for one without a fold, those that suit its arrays.

        Where bits lie across the others, they are those inside of the dim along which the others lie side by side, if
        blocks of bytes serve them; so it is with results across their input if it pays to turn these in a tile.

        Where an array lies across the others, they are those inside of the dim along which it lies side by side. Where
        rows of narrow elements are no whole accesses, each is a row of its own.
        """
        if step.program.reduces or step.program.scan or task.few:
            return step.reduced
        inside = self._inside_of_bits(step) if has_bits(task) else ()
        if inside and (inside == step.reduced or fits(step, inside, transposed.plan)):
            return inside
        if writes_bits(task):
            return step.reduced
        inside = self._inside_of_input(step)
        if inside and (ask_for_blocks(options) or (not options and fits(step, inside, matrix_tiles.pays))):
            return inside
        if turns(task):
            return step.kept
        across = self._across(step)
        if across:
            return self._exchanged(step, across, fits) or across
        dims = [d for d in self.order if d in (*step.kept, *step.reduced) and self.sizes[d] > 1]
        rows = rows_apart(task)
        inner = next((i for i in range(len(dims)) if rows and prod(self.sizes[d] for d in dims[i:]) == rows), 0)
        return tuple(sorted(dims[inner:])) if inner else step.reduced

    def _across(self, step: Step) -> Dims:
        """The dims inside of the one along which an array lies side by side that lies across others; else nothing.

        Dims are in the order in which results lie in memory, if a kernel walks rows in it, else in that of all arrays.
        """
        strides = [self.operands[o].strides for o in (*step.outputs, *step.inputs) if o in self.operands]
        for order in (memory_order(self.sizes, strides), self.order):
            dims = [d for d in order if d in (*step.kept, *step.reduced) and self.sizes[d] > 1]
            across = [d for own in strides for d in dims[:-1] if own[d] == 1 and own[dims[-1]] > 1]
            inside = dims[dims.index(across[0]) + 1 :] if across else []
            if inside == [d for d in self.order if d in inside]:
                return tuple(sorted(inside))
        return ()

    def _inside_of_bits(self, step: Step) -> Dims:
        """The dims along which the bits of a step lie nearer to each other than along that of its other arrays."""
        own = [self.operands[o] for o in (*step.inputs, *step.outputs) if o in self.operands]
        dims = [d for d in (*step.kept, *step.reduced) if self.sizes[d] > 1]
        bits = [o.strides for o in own if o.dtype == BIT]
        elements = [o.strides for o in own if o.dtype != BIT and all(o.strides[d] for d in dims)]
        beside = [d for d in dims for strides in elements if strides[d] == 1]
        if not bits or not beside:
            return ()
        return tuple(sorted(d for d in dims if 0 < bits[0][d] < bits[0][beside[0]]))

    def _inside_of_input(self, step: Step) -> Dims:
        """The dims along which results of a step lie nearer to each other than along that of its first input."""
        own = [self.operands.get(o) for o in (step.inputs[0], step.outputs[0])] if step.inputs else [None]
        if None in own:
            return ()
        read, written = (o.strides for o in own if o)
        dims = [d for d in (*step.kept, *step.reduced) if self.sizes[d] > 1]
        beside = [written[d] for d in dims if read[d] == 1]
        return tuple(sorted(d for d in dims if beside and 0 < written[d] < beside[0]))

    def _exchanged(self, step: Step, along: Dims, fits: Fits) -> Dims:
        """The dims along which an array lies side by side that lies across results, if CTAs exchange its elements.

        They do where threads have no blocks of wide accesses ``along`` other dims. Else there are none.
        """
        if fits(step, along, transposed.has_wide_blocks):
            return ()
        arrays, results = (
            [self.operands[o].strides for o in own if o in self.operands] for own in (step.inputs, step.outputs)
        )
        dims = [d for d in (*step.kept, *step.reduced) if self.sizes[d] > 1]
        for beside in {d for own in results for d in dims if own[d] == 1}:
            for inside in {tuple(sorted(d for d in dims if 0 < own[d] < own[beside])) for own in arrays}:
                if inside and fits(step, inside, transposed.are_exchanged):
                    return inside
        return ()
