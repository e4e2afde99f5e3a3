"""Side folds: persistent CTAs, whose threads keep states of their own columns while they take row after row.

The rows are divided into *parts*, as many as there are CTAs: part p is rows p, p + parts, p + 2 * parts, ... A thread
owns the same columns in each row, so that its states need no exchange until the part is over. This also holds where
rows begin anywhere, since those of a part begin equally far after a boundary. At the end of a part the rows that a CTA
works on at a time meet, and the CTA leaves a state of each column. A *slice* is a part of the columns: when all parts
are over, each slice combines the states of its columns, in the order of the parts, and writes the results. So the bits
do not depend on which CTA does what.

Tickets hand out the parts, and then the slices. A CTA waits only for parts, whose tickets are smaller and taken, so
that the kernel ends even if one CTA runs at a time. While a row is folded and written, the elements of the next one are
under way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import ceil
from typing import Any

from ....compiler.ir.build import address, bytes_of, memory_type, repeat, when
from ....compiler.ir.combine import combine, elements, pack, tree, unpack, width, with_shape
from ....compiler.ir.dialect.access import ACCESS_BYTES
from ....compiler.ir.dialect.base import element, state_type
from ....compiler.ir.mlir import arith, gpu, ir, scf
from ....compiler.plan.layout import layout_of
from ....compiler.plan.plan import Plan
from ....compiler.target import WARP
from ..kernel import Kernel, load_attributes
from ..meeting import meet_in_cta
from ..place import Digits, Place, Row, Tile, place_in_tile
from ..reader import Reader
from .held_row import HeldRow
from .phases import fold_phases
from .row_accesses import RowAccesses, hold, is_shifted, lead_of_row, wide
from .row_stores import store_access, store_rows

COLUMNS = (8, 16, WARP)
"""Lanes along the columns of a slice: at least as many as read whole sectors."""
LITTLE = 2048
"""Bytes of shared memory in which the states of a slice meet where rows wait there and weights do not: the L1 cache is
to have room for these."""
IN_FLIGHT = 16
"""Loads of states of parts that a thread has in flight at most, of two columns each."""
PARTS = 132
"""CTAs of one on each SM, by which loads are counted: with other numbers some load nothing, or more take turns."""
FEW = 8
"""States of parts for a thread: where it would have fewer, more lanes lie along columns."""


def distribute_persistent(kernel: Kernel) -> None:
    """Writes the body of a kernel with side folds."""
    parts = kernel.id(gpu.grid_dim(gpu.Dimension.x))
    sides = SideFolds(kernel, Digits.of(kernel, kernel.plan), parts)
    last = kernel.scaled(parts, 3)  # each CTA takes one ticket more, which says that none is left

    def take() -> Any:
        return kernel.make("fold.ticket", kernel.index, [kernel.arg("counter"), last], {}, 1)

    def share(number: Any) -> Any:
        return kernel.make("fold.share", kernel.index, [number], {}, 1)

    loop = scf.WhileOp([kernel.index], [share(take())])
    before, body = (part.blocks.append(kernel.index) for part in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        (ticket,) = before.arguments
        scf.ConditionOp(kernel.less(ticket, kernel.scaled(parts, 2)), [ticket])
    with ir.InsertionPoint(body):
        (ticket,) = body.arguments
        branch = scf.IfOp(kernel.less(ticket, parts), [kernel.index], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            states = sides.fold_rows(ticket)
            following = take()  # while states are stored
            sides.leave(ticket, states)
            scf.YieldOp([following])
        with ir.InsertionPoint(branch.else_block):
            following = take()
            sides.finish(arith.subi(ticket, parts))
            scf.YieldOp([following])
        scf.YieldOp([share(branch.results[0])])


@dataclass(frozen=True, eq=False)
class SideFolds:
    """The side folds of a kernel.

    Attributes:
        kernel: the kernel.
        digits: the digits of the thread.
        parts: how many parts the rows have.
    """

    kernel: Kernel
    digits: Digits
    parts: Any

    @property
    def side(self) -> Kernel:
        """The kernel as the side folds see it."""
        return self.kernel.of_side(self.kernel.plan)

    def fold_rows(self, part: Any) -> list[Any]:
        """Folds and writes the rows of a part; gives the states of the thread's columns."""
        kernel, plan = self.kernel, self.kernel.plan
        tiles = kernel.ceil(kernel.arg("n_kept"), plan.slots)
        empty = [v for _ in range(plan.held) for v in self.side.neutral(plan.vector)]
        in_turn = plan.sets > 1
        first = self._fetch(part, kernel.number(0) if in_turn else None, once=True)
        lasting = self._of_all_rows(part)
        carried = [kernel.number(1), *first.values()] if in_turn else []
        loop = scf.ForOp(part, tiles, self.parts, [*carried, *empty])
        with ir.InsertionPoint(loop.body):
            number, own = loop.induction_variable, list(loop.inner_iter_args)
            following, slots = arith.addi(number, self.parts), first
            if in_turn:
                slots = dict(zip(first, own[1:], strict=False))
                filled = self._fetch(following, own[0], later=True)
                carried = [arith.subi(kernel.number(1), own[0]), *filled.values()]
            tile, place, row = self._row(number, {**slots, **lasting})
            if not plan.waits_in_slots:
                for operand, j in product(slots, range(plan.held)):
                    row.fragment(kernel.inputs[operand], j)
                if row.has_zeros:
                    row.put_zeros()
                self._fetch(following, later=True)
            fold_phases(kernel, tile, place, row, again=True)
            states = self._written(row, place, own[len(carried) :])
            if plan.waits_in_slots and not in_turn:
                self._fetch(following, later=True)
            scf.YieldOp([*carried, *states])
        return list(loop.results)[len(carried) :]

    def _of_all_rows(self, part: Any) -> dict[int, Any]:
        """Has what all rows share, such as weights, copied into slots behind those of rows."""
        kernel, plan = self.kernel, self.kernel.plan
        row, start = self._row(part)[2].row, self._bytes(kernel.facts.waiting) * plan.sets
        slots = {}
        for operand in kernel.facts.lasting:
            t = element(kernel.inputs[operand].type)
            slots[operand] = hold(row, operand, t, start=start, zeros=is_shifted(kernel), once=True)
            start += self._bytes([operand])
        return slots

    def _bytes(self, operands: Sequence[int]) -> int:
        """The bytes of the slots of some inputs."""
        kernel, plan = self.kernel, self.kernel.plan
        items = [bytes_of(memory_type(element(kernel.inputs[i].type))) for i in operands]
        return plan.held * plan.threads * plan.vector * sum(items)

    def _fetch(self, number: Any, turn: Any = None, *, later: bool = False, once: bool = False) -> dict[int, Any]:
        """Has the elements of the rows of tile ``number``, if there is one, copied into slots of shared memory.

        They are the same slots for all tiles, or one of two sets of slots, 0 or 1 by the ``turn``.
        """
        kernel, plan = self.kernel, self.kernel.plan
        _, place, row = self._row(number)
        limit = arith.select(place.in_range, row.row.chunk.limit, row.row.chunk.first)
        accesses = replace(row.row, chunk=row.row.chunk._replace(limit=limit))
        slots, start = dict[int, Any](), 0
        for operand in kernel.facts.waiting:
            t = element(kernel.inputs[operand].type)
            moved = None
            if turn is not None:  # by so many threads: the slots of a thread follow those of the one before
                each = min(plan.vector * bytes_of(memory_type(t)), ACCESS_BYTES)
                moved = kernel.scaled(turn, self._bytes(kernel.facts.waiting) // each)
            slots[operand] = hold(accesses, operand, t, start=start, later=later, moved=moved, once=once)
            start += self._bytes([operand])
        return slots

    def _row(self, number: Any, slots: Mapping[int, Any] | None = None) -> tuple[Tile, Place, HeldRow]:
        """The rows of tile ``number``, the place of the thread, and its accesses to its row."""
        tile, place = self._place(number)
        return tile, place, HeldRow.known(RowAccesses.of(self.kernel, place, {}), slots or {})

    def _place(self, number: Any) -> tuple[Tile, Place]:
        """The rows of tile ``number``, and the place of the thread."""
        kernel = self.kernel
        tile, place = place_in_tile(Row.at(kernel, None), number, self.digits)
        last = arith.subi(kernel.arg("n_kept"), kernel.number(1))
        return tile, replace(place, start=arith.minsi(place.kept, last))

    def _written(self, row: HeldRow, place: Place, states: Sequence[Any]) -> list[Any]:
        """Writes the results of a row, and gives the states with its elements.

        An access that is read in slots is done with before the next one: registers hold the states beside it alone.
        """
        numbers = range(self.kernel.plan.held)
        if not self.kernel.plan.waits_in_slots:
            found = [v for j in numbers for v in self._joined(row, place, states, j)]
            row.store()
            return found
        row.begin_phase()
        rows, results = row.row.values.apart()
        store_rows(row.row, rows)
        found = []
        for j in numbers:
            found += self._joined(row, place, states, j)
            for number, value in [(number, row.fragment(result, j)) for number, result in results]:
                store_access(row, number, value, j)
        return found

    def _joined(self, row: HeldRow, place: Place, states: Sequence[Any], j: int) -> list[Any]:
        """The states of access ``j`` with the elements of a row."""
        kernel, vector, n = self.side, self.kernel.plan.vector, len(self.side.sources)
        own = [wide(row.fragment(v, j), vector) for v in kernel.sources]
        if kernel.plan.slots > 1:
            own = [arith.select(place.in_range, v, i) for v, i in zip(own, kernel.neutral(vector), strict=True)]
        with kernel.reduce.location:
            return combine(kernel.combine, list(states[j * n : (j + 1) * n]), own)

    def leave(self, part: Any, states: Sequence[Any]) -> None:
        """Joins the states of the rows that a CTA works on at a time, and stores those of the part for the slices.

        They lie as the accesses do, whole ones: those of rows that begin anywhere count from the boundary before.
        """
        kernel, n = self.side, len(self.side.sources)
        on, base = kernel.is_first(self.digits.slot), arith.muli(part, kernel.arg("chunk"))
        step, first = layout_of(kernel.plan).step, kernel.scaled(self.digits.position, kernel.plan.vector)
        for j in range(kernel.plan.held):
            with kernel.reduce.location:
                state = self._met(kernel, pack(states[j * n : (j + 1) * n]))
            at = arith.addi(first, kernel.number(j * step))
            for i, value in enumerate(unpack(state)):
                array = address(kernel.arg("partial", i), base, element(value.type))
                attributes = {"kept_rank": 1, "reduced_rank": 0, "vector": width(value.type) > 1}
                kernel.make_op("fold.store", [], [value, array, at, on, kernel.number(1)], attributes)
        with when(self._count("fold.arrive", [ir.IntegerType.get_signless(1)]).results[0]):
            self._count("fold.signal")

    def _met(self, kernel: Kernel, state: Any) -> Any:
        """The state of a thread's columns, of the rows of its warp and then of all warps."""
        plan, types = kernel.plan, [with_shape(t, kernel.plan.vector) for t in kernel.states]
        if plan.lanes_kept > 1:
            attributes = {"lanes": plan.lanes_kept, "stride": plan.lanes, "ordered": True}
            state = kernel.stage("fold.warp_reduce", [state.type], [state], attributes).results[0]
        if plan.warps_kept == 1:
            return state
        warp = kernel.divide(self.digits.slot, plan.lanes_kept)
        column, slots = kernel.scaled(self.digits.position, plan.vector), plan.positions * plan.vector
        first = kernel.is_first(kernel.modulo(self.digits.slot, plan.lanes_kept))
        buffers = [ir.Type.parse("!llvm.ptr<3>")] * len(kernel.states)
        extents = {"rows": plan.warps_kept, "slots": slots}
        left = list(kernel.make_op("fold.shared_store", buffers, [warp, column, first, state], extents).results)
        operands, attributes = [kernel.number(0), column, *left], {**extents, "lanes": 1, "stride": 1, "ordered": True}
        return kernel.stage("fold.interwarp_accumulate", [state_type(types)], operands, attributes).results[0]

    def _count(self, op: str, types: Sequence[Any] = ()) -> Any:
        """An op on the counter of the parts that are over. The first counter is that of the tickets."""
        kernel = self.kernel
        return kernel.make_op(op, list(types), [kernel.arg("counter"), kernel.number(1), self.parts], {})

    def finish(self, number: Any) -> None:
        """Combines the states of the columns of slice ``number``, and writes the results."""
        item = sum(bytes_of(memory_type(t)) for t in self.side.states)
        kernel = self.kernel.of_side(_across_parts(self.kernel.plan, item, pairs=not is_shifted(self.kernel)))
        self._count("fold.await")
        blocks = kernel.ceil(kernel.arg("n_reduced"), kernel.plan.slots)
        columns = replace(Row.at(kernel, None), columns=kernel.arg("n_reduced"))
        with repeat(number, blocks, self.parts) as i:
            tile = Tile(columns, kernel.scaled(i, kernel.plan.slots))
            with kernel.reduce.location:
                state, place = self._of_parts(kernel, tile, tile.place(kernel.plan))
            self._write(kernel, state, place)
            gpu.barrier()  # before states of the next columns are left in shared memory

    def _of_parts(self, kernel: Kernel, tile: Tile, place: Place) -> tuple[Any, Place]:
        """The states of columns in all parts, and the thread's place then: warps leave it other columns."""
        positions, vector = kernel.plan.positions, kernel.plan.vector
        stored = kernel.arg("n_reduced" if is_shifted(kernel) else "chunk")
        column = arith.minsi(place.kept, arith.subi(stored, kernel.number(vector)))
        count = _in_flight(self.kernel.plan, positions)
        step = kernel.number(count * positions)
        # Rows so many parts later begin equally far after a boundary: in all parts of a thread its columns lie alike.
        alike = None if positions % self.kernel.plan.vector else self._stored(column, place.position)
        loop = scf.ForOp(place.position, self.parts, step, kernel.neutral(vector))
        with ir.InsertionPoint(loop.body):
            first = loop.induction_variable
            steps = [arith.addi(first, kernel.number(u * positions)) for u in range(count)]
            # All of them are loaded before any is combined.
            loaded = [self._of_part(kernel, self._stored(column, r) if alike is None else alike, r) for r in steps]
            found = tree(kernel.combine, [partial(list, own) for own in loaded])
            scf.YieldOp(combine(kernel.combine, list(loop.inner_iter_args), found))
        return meet_in_cta(tile, pack(list(loop.results)), place)

    def _of_part(self, kernel: Kernel, stored: Any, part: Any) -> list[Any]:
        """The states of columns ``stored`` in a part; the identity where there is no such part, without a branch."""
        there = kernel.less(part, self.parts)
        at = arith.minsi(part, arith.subi(self.parts, kernel.number(1)))
        operands = [stored, at, kernel.number(1), kernel.arg("chunk")]
        attributes, lanes = load_attributes(1, 1, "kept", "coherent"), kernel.plan.vector
        return [
            arith.select(
                there, kernel.make("fold.load", t, [kernel.arg("partial", i), *operands], attributes, lanes), e
            )
            for i, (t, e) in enumerate(zip(kernel.states, kernel.neutral(lanes), strict=True))
        ]

    def _stored(self, column: Any, part: Any) -> Any:
        """Where a part has the state of a column: rows that begin anywhere begin after a boundary."""
        if not is_shifted(self.kernel):
            return column
        return arith.addi(column, lead_of_row(self.kernel, self._place(part)[1]))

    def _write(self, kernel: Kernel, state: Any, place: Place) -> None:
        """Writes the results of the thread's columns."""
        memo = dict(zip(kernel.reduced, unpack(state), strict=True))
        reader = Reader(kernel, kernel.arg("count") if kernel.counted else None)
        dims = range(kernel.facts.reduced_rank)
        for number in kernel.side_results:
            value = reader.fragment(kernel.results[number], place.plan.vector_kept, memo)
            layout = kernel.dims("reduced_size", 0, dims[1:])
            layout += kernel.dims("reduced_stride", len(kernel.inputs) + number, dims)
            for k, own in enumerate(elements(value)):
                at = arith.addi(place.kept, kernel.number(k)) if k else place.kept
                on = arith.andi(place.owner, kernel.less(at, kernel.arg("n_reduced"))) if k else place.owner
                operands = [own, kernel.arg("output", number), at, on, *layout]
                kernel.make_op("fold.store", [], operands, {"kept_rank": len(dims), "reduced_rank": 0, "vector": False})


def _across_parts(plan: Plan, item: int, *, pairs: bool) -> Plan:
    """The plan by which threads share the states that parts left: each has two columns where ``pairs`` are stored.

    ``item`` are the bytes of the states of a column.
    """
    pairs = pairs and not plan.warps & (plan.warps - 1)  # or threads would be arranged anew
    vector = 2 if pairs and plan.positions * plan.vector % 2 == 0 else 1
    parts, row = PARTS * plan.persistent, plan.held * plan.positions * plan.vector
    little = LITTLE if plan.waits_in_slots and plan.reads != "ahead" else COLUMNS[-1] * vector * plan.threads * item
    choice = [c for c in COLUMNS if c * vector * plan.threads // WARP * item <= little] or COLUMNS[:1]
    fit = [c for c in choice if plan.threads * FEW <= c * parts and row <= c * vector * parts]
    lanes = min(fit, default=max(choice))
    return Plan("kept", "interleaved", vector, 1, WARP // lanes, plan.threads // WARP)


def _in_flight(plan: Plan, positions: int) -> int:
    """The loads that a thread has in flight: turns of as many, in which it has them all."""
    each = ceil(PARTS * plan.persistent / positions)
    return ceil(each / ceil(each / IN_FLIGHT))
