"""Rows that the CTAs of the grid share, all at once: each keeps its part of a row, as clusters do for shorter ones.

A CTA owns one part of the rows of one tile. The first accesses of a thread to its part wait in registers, and the last
ones in slots of shared memory. Those between, for which there is no room, are walked again in each phase, and wait in
the L2 cache as far as it holds them: what a CTA keeps is read so that it leaves the cache first, and so are the
results. Where the cache is far too small, only the last ones of those between are kept there, and each phase reads them
last, but the results first. A part that is too short for the registers, or that an end of the row cuts there, uses none
of them.

CTAs wait for the state of their row, so all CTAs of the grid must run at a time: the launch is a cooperative one.

Teams of CTAs that take tile after tile of rows: the CTAs of a team hold the rows of a tile, each its part of them.

All accesses of a thread to the part of its CTA wait in its slots of shared memory. The teams take tiles in turn: team
g of n takes tiles g, g + n, g + 2 n, ... The CTAs of an SM belong to different teams, so that one reads while another
waits for the state of its rows.

CTAs of a team wait for each other, so all CTAs of the grid must run at a time: the launch is a cooperative one. A
counter and the states of a tile belong to that tile, so nothing is written again in a launch.

The last elements of an array that no whole access has: one thread reads and writes them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.build import repeat
from ....compiler.ir.combine import elements, fragment, splat, unpack, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, llvm
from ....compiler.plan.layout import layout_of
from ..kernel import Kernel, load_attributes
from ..place import Digits, Place, Row, existing, first_place, place_in_tile
from ..walk import Chunk
from .held_row import HeldRow, joined
from .period_states import PeriodStates
from .row_accesses import RowAccesses, is_cut, is_shifted, layout_of_operand, wide
from .row_states import RowStates, branched, end_abreast, first_of_column
from .row_stores import store_rows
from .values import Numbered
from .walked_row import WalkedRow


@dataclass(frozen=True, eq=False)
class InRegisters:
    """The accesses of a thread that wait in registers.

    Attributes:
        used: whether the part has all of them, and no end of the row cuts one.
        groups: the accesses, as many at a time as a walk has in flight: a fold takes one group after another.
    """

    used: Any
    groups: Sequence[HeldRow]

    @classmethod
    def of(cls, row: RowAccesses, used: Any) -> InRegisters:
        """The accesses to the part of a CTA, which are on the way."""
        plan, kernel = row.kernel.plan, row.kernel
        if not plan.in_registers:
            return cls(used, ())
        whole = replace(HeldRow.of(row, plan.in_registers), whole=True)
        waiting = [(kernel.inputs[i], j) for i in kernel.facts.waiting for j in range(plan.in_registers)]
        types = [with_shape(element(v.type), plan.vector) for v, _ in waiting]
        if plan.vector_reduced > 1 and is_cut(kernel):
            load = whole.apart(whole=True)
            found = branched(
                used,
                types,
                lambda: [load.fragment(v, j) for v, j in waiting],
                lambda: [llvm.mlir_undef(t) for t in types],
            )
        else:  # without a branch: in place of what does not exist a thread reads the first element of the CTA
            there = [kernel.less(r, row.chunk.limit) for r in whole.starts]
            first = row.chunk.first
            if plan.abreast:  # of which a thread whose columns the last wide row lacks may have none
                first = arith.minsi(first, kernel.at_least(arith.subi(row.chunk.limit, kernel.number(1)), 0))
            starts = [arith.select(t, r, first) for t, r in zip(there, whole.starts, strict=True)]
            found = [replace(whole, starts=tuple(starts)).fragment(v, j) for v, j in waiting]
        for (v, j), held in zip(waiting, found, strict=True):
            whole.fragments[j][v] = held
        return cls(used, [whole.part(j, plan.unroll) for j in range(0, plan.in_registers, plan.unroll)])

    def reduced(self, phase: Kernel) -> list[list[Any]]:
        """The state that the accesses combine to, if there are any."""
        if not self.groups:
            return []
        width = phase.plan.vector_kept

        def reduced() -> list[Any]:
            return joined(phase, [unpack(row.apart(whole=True).reduced(phase)) for row in self.groups])

        types = [with_shape(t, width) for t in phase.states]
        return [branched(self.used, types, reduced, lambda: phase.neutral(width))]

    def store(self, elements: Numbered) -> None:
        """Writes results that have a value for each element."""

        def store() -> list[Any]:
            for row in self.groups:
                row.apart(whole=True).store_elements(elements)
            return []

        if self.groups:
            branched(self.used, [], store)


@dataclass(frozen=True, eq=False)
class GridRow:
    """A thread's accesses to the part of its CTA.

    Attributes:
        kept: those that wait in registers.
        walked: those that it makes again in each phase, in the order of a fold: the L2 cache is told to keep the last.
        again: the same, in the last phase.
        slots: those that wait in shared memory.
        tail: the elements of the last row that none of these has; None where whole accesses have all.
    """

    kept: InRegisters
    walked: Sequence[WalkedRow]
    again: Sequence[WalkedRow]
    slots: WalkedRow
    tail: RowTail | None = None

    @classmethod
    def of(cls, kernel: Kernel, place: Place, part: Any) -> GridRow:
        """The accesses of a thread at its place to ``part`` of its row, of which those that wait are on the way."""
        used = _uses_registers(kernel, part)
        end = kernel.arg("n_reduced")
        if kernel.plan.abreast:
            end = end_abreast(kernel, place)
        rows = [RowAccesses.of(kernel, place, {}, chunk) for chunk in _divided(kernel, part, used, end)]
        registers, *walked, slots = (replace(r, values=replace(r.values, kept=rows[0].values.kept)) for r in rows)
        held = WalkedRow.in_slots(slots.cached("evict_first"))
        kept = InRegisters.of(registers.cached("evict_first"), used)
        policies = ["evict_first"] * (len(walked) - 1) + ["evict_last"]
        first = [WalkedRow.of(row.cached(policy)) for row, policy in zip(walked, policies, strict=True)]
        tail = None
        if kernel.plan.in_periods:
            length = kernel.arg("chunk")
            own = Chunk(arith.muli(part, length), end, length)
            tail = RowTail.of(replace(slots, chunk=own))
        return cls(kept, first, [WalkedRow.of(row.cached("evict_first")) for row in walked], held, tail)

    def reduced(self, phase: Kernel) -> list[Any]:
        """The state that the thread's elements combine to: what waits is there before the rest is read."""
        rows = [*self.kept.reduced(phase), *(unpack(row.reduced(phase)) for row in (self.slots, *self.walked))]
        return joined(phase, [*rows, self.tail.reduced(phase)] if self.tail else rows)

    def store(self, owner: Any) -> None:
        """Writes the results: first those of the accesses that are walked, which the cache may lose, then the others.

        ``owner`` says whether the thread writes results of rows.
        """
        row = self.again[-1].row
        rows, elements = row.values.apart()
        store_rows(replace(row, place=replace(row.place, owner=owner)), rows)
        row.values.prepare([result for _, result in elements])
        for walked in reversed(self.again):
            walked.store_elements()
        self.kept.store(elements)
        self.slots.store_elements()
        if self.tail:
            self.tail.store(elements)


def distribute_over_grid(kernel: Kernel) -> None:
    """Writes the body of a kernel whose CTAs share rows all at once."""
    if kernel.plan.in_teams:
        distribute_over_teams(kernel)
        return
    tile, place = first_place(kernel)
    place = replace(place, start=existing(kernel, place))
    part, parts = (kernel.id(of(gpu.Dimension.y)) for of in (gpu.block_id, gpu.grid_dim))
    number, tiles = (kernel.id(of(gpu.Dimension.x)) for of in (gpu.block_id, gpu.grid_dim))
    row = GridRow.of(kernel, place, part)
    if kernel.plan.in_periods:
        states = PeriodStates(kernel, tile, place, number, tiles, part, parts)
        states.fold(row.slots.row.values, row.reduced)
        row.store(place.owner)
        return
    together = RowStates(kernel, tiles, parts, number, part, tile, place, together=True)
    together.fold(row.slots.row.values, row.reduced)
    owner = arith.andi(place.owner, kernel.is_first(part))
    row.store(arith.andi(owner, first_of_column(kernel, place)) if kernel.plan.abreast else owner)


def _uses_registers(kernel: Kernel, part: Any) -> Any:
    """Whether a part has all accesses that wait in registers, and no end of the row cuts one."""
    own, length = kernel.number(_in_registers(kernel)), kernel.arg("chunk")
    end = arith.addi(arith.muli(part, length), own)
    at_most, whole = arith.CmpIPredicate.sle, kernel.arg("n_reduced")
    if kernel.plan.abreast:  # the last wide row lacks some columns
        whole = arith.subi(whole, kernel.number(1))
    used = arith.andi(arith.cmpi(at_most, own, length), arith.cmpi(at_most, end, whole))
    return arith.andi(used, kernel.less(kernel.number(0), part)) if is_shifted(kernel) else used


def _divided(kernel: Kernel, part: Any, used: Any, end: Any) -> list[Chunk]:
    """The elements of a part that wait in registers, those that a CTA walks, and those that wait in its slots.

    The row ends before ``end``. Of those that it walks the L2 cache keeps the last ones, by a plan that says how many.
    """
    plan, length = kernel.plan, kernel.arg("chunk")
    kept = arith.select(used, kernel.number(_in_registers(kernel)), kernel.number(0))
    left = arith.subi(length, kept)
    room, cached = (kernel.number(n * layout_of(kernel.plan).span("reduced")) for n in (plan.held, plan.in_cache))
    walked = kernel.at_least(arith.subi(left, room), 0)
    last = arith.minsi(walked, cached)
    passed = [arith.subi(walked, last), last] if plan.in_cache else [walked]
    found, first = [], arith.muli(part, length)
    for own in (kept, *passed, arith.subi(left, walked)):
        following = arith.addi(first, own)
        found.append(Chunk(first, arith.minsi(following, end), own))
        first = following
    return found


def _in_registers(kernel: Kernel) -> int:
    """The elements of a row that a CTA has room for in registers."""
    return kernel.plan.in_registers * layout_of(kernel.plan).span("reduced")


def distribute_over_teams(kernel: Kernel) -> None:
    """Writes the body of a kernel whose teams of CTAs take tile after tile."""
    digits = Digits.of(kernel, kernel.plan)
    team, teams = (kernel.id(of(gpu.Dimension.x)) for of in (gpu.block_id, gpu.grid_dim))
    tiles = kernel.ceil(kernel.arg("n_kept"), kernel.plan.slots)
    with repeat(team, tiles, teams) as i:
        _take(kernel, digits, tiles, i)


def _take(kernel: Kernel, digits: Digits, tiles: Any, number: Any) -> None:
    """Folds the rows of tile ``number`` of ``tiles``, and writes the results."""
    part, parts = (kernel.id(of(gpu.Dimension.y)) for of in (gpu.block_id, gpu.grid_dim))
    tile, place = place_in_tile(Row.at(kernel, None), number, digits)
    place = replace(place, start=existing(kernel, place))
    row = _held(RowAccesses.of(kernel, place, {}, _own(kernel, part)))
    states = RowStates(kernel, tiles, parts, number, part, tile, place, together=True)
    states.fold(row.row.values, lambda phase: unpack(row.reduced(phase)))
    owner = arith.andi(place.owner, kernel.is_first(part))
    replace(row, row=replace(row.row, place=replace(place, owner=owner))).store()
    if kernel.plan.fragments == "matrix":
        gpu.barrier()  # warps have read what other threads copied, before these copy the next tile


def _held(accesses: RowAccesses) -> HeldRow | WalkedRow:
    """The row of a thread, whose elements are on the way to its slots.

    Straight-line code reads slots faster than a loop where no access needs a mask.
    """
    kernel = accesses.kernel
    straight = kernel.facts.full or kernel.plan.fragments == "matrix"
    return HeldRow.of(accesses) if straight else WalkedRow.in_slots(accesses)


def _own(kernel: Kernel, part: Any) -> Chunk:
    """The elements of ``part`` of a row."""
    length = kernel.arg("chunk")
    first = arith.muli(part, length)
    return Chunk(first, arith.minsi(arith.addi(first, length), kernel.arg("n_reduced")), length)


@dataclass(frozen=True, eq=False)
class RowTail:
    """The elements of the last row that an access across rows has only a part of.

    Attributes:
        row: the thread's accesses.
        end: the rows that exist in the last access.
        last: the last element of the row, in which the rows end.
        here: whether they end in the access of the thread.
    """

    row: RowAccesses
    end: Any
    last: Any
    here: Any

    @classmethod
    def of(cls, row: RowAccesses) -> RowTail:
        """The tail of the rows of a thread whose CTA owns a chunk of them."""
        kernel, place = row.kernel, row.place
        end = arith.subi(kernel.arg("n_kept"), kernel.arg("gap"))
        last = arith.subi(kernel.arg("n_reduced"), kernel.number(1))
        begins, ends = kernel.less(place.start, end), arith.addi(place.start, kernel.number(kernel.plan.vector))
        cut = arith.andi(begins, kernel.less(end, ends))
        own = arith.cmpi(arith.CmpIPredicate.sge, last, row.chunk.first)
        own = arith.andi(own, kernel.less(last, arith.addi(row.chunk.first, row.chunk.length)))
        return cls(row, end, last, arith.andi(arith.andi(cut, own), place.owner))

    def reduced(self, phase: Kernel) -> list[Any]:
        """Their states, with the identity for rows that do not exist."""
        vector = phase.plan.vector
        types = [with_shape(t, vector) for t in phase.states]
        self.row.values.prepare(phase.sources)

        def make() -> list[Any]:
            found = self._fragments(phase.sources)
            return [arith.select(self._live(), v, i) for v, i in zip(found, phase.neutral(vector), strict=True)]

        return branched(self.here, types, make, lambda: phase.neutral(vector))

    def store(self, results: Numbered) -> None:
        """Writes the results of these elements."""
        self.row.values.prepare([v for _, v in results])

        def make() -> list[Any]:
            made = self._fragments([v for _, v in results])
            for (number, _), value in zip(results, made, strict=True):
                for j, x in enumerate(elements(value)):
                    self._store(number, j, x)
            return []

        branched(self.here, [], make)

    def _live(self) -> Any:
        """Which elements of the access exist."""
        vector = self.row.kernel.plan.vector
        at = fragment([self._index(j) for j in range(vector)])
        return arith.cmpi(arith.CmpIPredicate.slt, at, splat(self.end, vector))

    def _index(self, j: int) -> Any:
        """The row of element ``j``."""
        kernel = self.row.kernel
        return arith.addi(self.row.place.start, kernel.number(j)) if j else self.row.place.start

    def _fragments(self, tensors: Any) -> list[Any]:
        """The fragments of tensors; those of rows that do not exist have another's elements."""
        values = replace(self.row.values, kept=dict(self.row.values.kept))
        known: dict[Any, Any] = {}
        vector = self.row.kernel.plan.vector
        return [wide(values.fragment(v, known, self.last, self._load), vector) for v in tensors]

    def _load(self, operand: int, t: Any) -> Any:
        """The elements of an input."""
        kernel, facts = self.row.kernel, self.row.kernel.facts
        if facts.access[operand] == "number":
            return kernel.passed(operand, kernel.plan.vector)
        attributes = load_attributes(facts.kept_rank, facts.reduced_rank, "kept", "strided")
        layout, final = layout_of_operand(kernel, operand), arith.subi(self.end, kernel.number(1))
        found = []
        for j in range(kernel.plan.vector):
            at = [self.row.pointer("input", operand), arith.minsi(self._index(j), final), self.last]
            found.append(kernel.make("fold.load", element(t), [*at, *layout], attributes, 1))
        return fragment(found)

    def _store(self, number: int, j: int, value: Any) -> None:
        """Writes element ``j`` of a result, if it exists."""
        kernel, facts = self.row.kernel, self.row.kernel.facts
        on = kernel.less(self._index(j), self.end)
        bounds = [self.last, arith.addi(self.last, kernel.number(1))]
        at = [self.row.pointer("output", number), self._index(j), self.last, *bounds, on]
        attributes = load_attributes(facts.kept_rank, facts.reduced_rank, "kept", "strided") | {"whole": True}
        layout = layout_of_operand(kernel, len(kernel.inputs) + number)
        kernel.make_op("fold.element_store", [], [value, *at, *layout], attributes)
