"""The states of columns of which a CTA has many elements in each access: rows of any number lie abreast.

A wide row is a number of periods. Threads own neighbours of a strip of it, which are of the same columns in all wide
rows, since these have whole periods. When a thread has folded its elements, it leaves the states of its part of the
strip in shared memory. There the warps take one column after another: the lanes of a warp combine the states of a
column, wherever they lie in the strip, and leave one for the CTA. When all CTAs have done so, each combines those of
its own columns in the same order, so that all have the same bits, and threads find those of their elements in shared
memory.

Where several threads of a CTA share a column, a strip has less than a period, and so each column once. Its threads then
take a column each, and CTAs leave states of the columns that they have alone.

The strip of a wide row that a CTA has: which columns of the array lie in it, and where their states are.

Columns of the array come again after a period, so a strip that is longer than one has columns twice. Where several
threads of a CTA share the columns of a strip, it is shorter, and has each column once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from ....compiler.ir.build import load, repeat, shared_buffer, store
from ....compiler.ir.combine import fragment, pack, unpack
from ....compiler.ir.mlir import arith, gpu, ir, scf
from ....compiler.target import WARP
from ..kernel import Kernel
from ..place import Place, Tile
from .held_row import joined
from .row_states import branched, partials_of
from .values import Values, fetched_first

MANY_IN_FLIGHT = 16
"""States of a column that a thread reads at a time, where it has the column alone."""
IN_FLIGHT = 5
"""The same of a lane: a warp has those of 160 CTAs, more than there are SMs, at once."""


@dataclass(frozen=True, eq=False)
class PeriodStrip:
    """The strip of a CTA.

    Attributes:
        kernel, tile, place: the kernel, the strip of the CTA, and the thread's place in it.
        number, tiles: the number of the strip, and how many there are.
        part, parts: the part of the wide rows that the CTA has, and how many there are.
    """

    kernel: Kernel
    tile: Tile
    place: Place
    number: Any
    tiles: Any
    part: Any
    parts: Any

    @cached_property
    def period(self) -> Any:
        return self.kernel.arg("period")

    @cached_property
    def run(self) -> Any:
        return self.kernel.arg("run")

    @cached_property
    def columns(self) -> Any:
        """The columns of the array."""
        return arith.divui(self.period, self.run)

    @property
    def once(self) -> bool:
        """Whether a strip has no column twice, so that a thread can combine the states of one alone."""
        return self.kernel.facts.narrow

    @cached_property
    def before(self) -> Any:
        """The elements of the first period that lie before the strip."""
        return arith.remui(self.tile.first, self.period)

    @cached_property
    def length(self) -> Any:
        """The elements of the strip: the last one has fewer."""
        left = arith.subi(self.kernel.arg("n_kept"), self.tile.first)
        return arith.minsi(left, self.kernel.number(self.kernel.plan.slots))

    @cached_property
    def first(self) -> Any:
        """The first column of the strip."""
        return arith.divui(self.before, self.run)

    @cached_property
    def own(self) -> Any:
        """The columns that have elements in the strip: they follow each other, and behind the last one is the first."""
        last = arith.subi(arith.addi(self.before, self.length), self.kernel.number(1))
        count = arith.subi(arith.divui(last, self.run), arith.subi(self.first, self.kernel.number(1)))
        return arith.minsi(count, self.columns)

    @cached_property
    def numbers(self) -> list[Any]:
        """For each element of an access the number of its column among those of the strip."""
        kernel, last = self.kernel, arith.subi(self.own, self.kernel.number(1))
        found = []
        for j in range(kernel.plan.vector):
            at = kernel.scaled(self.place.slot, 1, kernel.number(j)) if j else self.place.slot
            number = arith.divui(arith.addi(self.before, at), self.run)
            number = arith.remui(arith.subi(number, self.first), self.columns)
            found.append(arith.minsi(number, last))  # a thread beyond the last strip has none
        return found

    def column(self, number: Any) -> Any:
        """The column of the array that is number ``number`` of the strip, or behind those."""
        return arith.remui(arith.addi(self.first, number), self.columns)

    # --- where states are -----------------------------------------------------------------------------------------
    @property
    def in_flight(self) -> int:
        """States of a column that a thread reads at a time."""
        return MANY_IN_FLIGHT if self.once else IN_FLIGHT

    @cached_property
    def abreast(self) -> Any:
        """The periods that lie abreast."""
        return arith.divui(self.kernel.arg("n_kept"), self.period)

    @cached_property
    def states_of_column(self) -> Any:
        """The states that CTAs leave of a column: each one, or for each part one of each of the periods abreast."""
        return arith.muli(self.parts, self.abreast) if self.once else arith.muli(self.parts, self.tiles)

    def cell(self, number: Any) -> Any:
        """Where the CTA leaves its state of column ``number`` of the strip."""
        if not self.once:
            return self.cell_of(self.column(number), arith.addi(arith.muli(self.part, self.tiles), self.number))
        period = arith.divui(arith.addi(self.tile.first, number), self.period)
        return self.cell_of(self.column(number), arith.addi(arith.muli(self.part, self.abreast), period))

    def cell_of(self, column: Any, state: Any) -> Any:
        """Where a state is: those of a column lie side by side, or those of a CTA if threads have columns."""
        if self.once:
            return arith.addi(arith.muli(state, self.columns), column)
        return arith.addi(arith.muli(column, self.states_of_column), state)


Find = Callable[[Any], tuple[Any, Any]]
"""Where the state of a number is in its buffers, and whether there is one."""


@dataclass(frozen=True, eq=False)
class PeriodStates(PeriodStrip):
    """The states of the columns of a CTA."""

    def prepare(self) -> None:
        """Makes what all phases need of the strip."""
        _ = self.columns, self.length, self.own, self.numbers, self.states_of_column

    # --- the phases ---------------------------------------------------------------------------------------------------
    def fold(self, values: Values, reduced: Callable[[Kernel], list[Any]]) -> None:
        """Folds the columns, phase after phase: what the phases leave is known of ``values`` then."""
        values.prepare(fetched_first(values))
        self.prepare()
        for number in range(len(self.kernel.phases)):
            phase = self.kernel.of(number)
            with phase.reduce.location:
                size = phase.plan.slots * phase.plan.positions
                buffers = [shared_buffer(self.kernel.entry, "strip", size, t) for t in phase.states]
                self._leave(phase, buffers, reduced(phase))
                self._count("fold.signal", number)
                self._count("fold.await", number)
                values.kept.update(self._published(phase, buffers))

    def _leave(self, phase: Kernel, buffers: Sequence[Any], state: Sequence[Any]) -> None:
        """Leaves a state of each column of the array for all CTAs; the identity of those without an element here."""

        def leave() -> list[Any]:
            at = self.kernel.scaled(self.place.position, self.kernel.plan.slots, self.place.slot)
            for buffer, value in zip(buffers, state, strict=True):
                store(value, buffer, at if self.once else self.place.slot)
            return []

        branched(self.place.in_range, [], leave)
        if not self.once:
            self._leave_others(phase)
        gpu.barrier()
        partials = partials_of(phase)

        def each(number: Any, met: list[Any]) -> None:
            self._store(partials, met, self.cell(number))

        self._each_column(phase, buffers, self._shared if self.once else self._in_strip, each)

    def _leave_others(self, phase: Kernel) -> None:
        """Leaves the identity of the columns of the array that have no element in the strip."""
        kernel = self.kernel
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        with repeat(arith.addi(self.own, thread), self.columns, kernel.number(kernel.plan.threads)) as i:
            self._store(partials_of(phase), phase.neutral(1), self.cell(i))

    def _published(self, phase: Kernel, buffers: Sequence[Any]) -> dict[Any, Any]:
        """What the phase reduces the columns of the thread's elements to."""
        partials = partials_of(phase)

        def find(number: Any) -> tuple[Any, Find]:
            column, count = self.column(number), self.states_of_column
            return count, lambda q: (self.cell_of(column, q), self.kernel.less(q, count))

        def each(number: Any, met: list[Any]) -> None:
            for buffer, value in zip(buffers, met, strict=True):
                store(value, buffer, number)

        self._each_column(phase, partials, find, each, volatile=True)
        gpu.barrier()
        types = zip(phase.reduced, buffers, phase.states, strict=True)
        return {v: fragment([load(buffer, k, t) for k in self.numbers]) for v, buffer, t in types}

    # --- states of a column -------------------------------------------------------------------------------------------
    def _each_column(
        self,
        phase: Kernel,
        buffers: Sequence[Any],
        find: Callable[[Any], tuple[Any, Find]],
        use: Callable[[Any, list[Any]], None],
        *,
        volatile: bool = False,
    ) -> None:
        """Combines the states of each column of the strip, warp by warp, and has one lane ``use`` what comes out.

        So does each thread alone where a column is in a strip ``once``: it has few states, and there are many columns.
        ``find`` gives how many numbers the states of a column have, and where the state of a number is.
        """
        kernel, lanes = self.kernel, 1 if self.once else WARP
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        lane, own = kernel.modulo(thread, lanes), kernel.divide(thread, lanes)
        with repeat(own, self.own, kernel.number(kernel.plan.threads // lanes)) as i:
            count, place = find(i)
            walk = scf.ForOp(lane, count, kernel.number(lanes * self.in_flight), phase.neutral(1))
            with ir.InsertionPoint(walk.body):
                read = self._read(phase, buffers, place, walk.induction_variable, volatile=volatile)
                scf.YieldOp(joined(phase, [list(walk.inner_iter_args), *read], width=1))
            met = list(walk.results)
            if self.once:
                use(i, met)
            else:
                state, how = pack(met), {"lanes": WARP, "stride": 1, "ordered": True}
                met = unpack(phase.stage("fold.warp_reduce", [state.type], [state], how).results[0])
                branched(kernel.is_first(lane), [], partial(_used, use, i, met))

    def _read(self, phase: Kernel, buffers: Sequence[Any], place: Any, q: Any, *, volatile: bool) -> list[list[Any]]:
        """The states of a column that a lane reads at a time, from number ``q`` on, or the identity for each."""
        found = []
        for k in range(self.in_flight):
            at, there = place(arith.addi(q, self.kernel.number(k * (1 if self.once else WARP))))
            at = arith.select(there, at, self.kernel.number(0))
            own = [load(b, at, t, volatile=volatile) for b, t in zip(buffers, phase.states, strict=True)]
            found.append([arith.select(there, v, i) for v, i in zip(own, phase.neutral(1), strict=True)])
        return found

    def _in_strip(self, number: Any) -> tuple[Any, Find]:
        """The states of column ``number`` of the strip: runs in the periods that the strip has a part of."""
        kernel = self.kernel
        start = arith.subi(arith.muli(arith.addi(self.first, number), self.run), self.before)
        periods = kernel.ceil(arith.subi(self.length, start), self.period)

        def find(q: Any) -> tuple[Any, Any]:
            period, place = kernel.divided(q, self.run)
            at = arith.addi(start, arith.addi(arith.muli(period, self.period), place))
            return at, arith.cmpi(arith.CmpIPredicate.ult, at, self.length)

        return arith.muli(periods, self.run), find

    def _shared(self, number: Any) -> tuple[Any, Find]:
        """The states of column ``number`` of the strip: those of the threads that share it."""
        kernel = self.kernel
        count, apart = kernel.number(kernel.plan.positions), kernel.plan.slots
        return count, lambda q: (kernel.scaled(q, apart, number), kernel.less(q, count))

    # --- memory -------------------------------------------------------------------------------------------------------
    def _store(self, partials: Sequence[Any], state: Sequence[Any], at: Any) -> None:
        """Stores the state of the CTA for a column."""
        for pointer, value in zip(partials, state, strict=True):
            store(value, pointer, at)

    def _count(self, op: str, phase: int) -> None:
        """An op on the counter of a phase, for all CTAs. The first counter is that of tickets."""
        kernel = self.kernel
        operands = [kernel.arg("counter"), kernel.number(1 + phase), arith.muli(self.parts, self.tiles)]
        kernel.make_op(op, [], operands, {"all": True})


def _used(use: Callable[[Any, list[Any]], None], number: Any, met: list[Any]) -> list[Any]:
    """Has what a column combines to used, in a branch that gives nothing."""
    use(number, met)
    return []
