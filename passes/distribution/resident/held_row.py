"""A row that waits on chip: a thread makes each of its accesses once.

In registers an access is a value of the kernel, and so is what the program computes of it, for all phases. In shared
memory it waits in a slot of the thread: each phase reads it there, and computes what it needs again. So a thread has
registers for one phase, and an SM room for more threads. Registers need straight-line code; loops can address slots
(``turns.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any

from ....compiler.ir.anchored import anchored
from ....compiler.ir.build import zeros as zeros_of
from ....compiler.ir.combine import clone_block, pack, unpack, with_shape
from ....compiler.ir.combine_reader import Combine
from ....compiler.ir.dialect.base import element, state_type
from ....compiler.ir.mlir import arith, gpu, ir, scf
from ....compiler.ir.unrolled_loops import REPEATED, unrolled
from ....compiler.plan.fields import TRANSPOSED
from ....compiler.plan.layout import layout_of
from ....compiler.postorder import postorder
from ..kernel import Kernel
from ..reader import operands_of
from .exchange import Part
from .exchanged_bits import store_bits
from .matrix_tile import MatrixTile
from .read_bits import ReadBits
from .row_accesses import RowAccesses, wide
from .row_masks import FLOATS, begins_with_zeros, masked_first, of_row, with_zeros, with_zeros_beside
from .row_slots import hold
from .row_starts import is_shifted
from .row_stores import store_elements, store_rows
from .sections import store_sections
from .transposed_blocks import load_transposed, store_transposed
from .turns import AT_ONCE, FOLDED, Turn, in_turns, turns_of
from .values import Numbered

ANCHORED = 32
"""Elements in slots that are combined at once under one anchor: they wait in registers until it is known."""


@dataclass(frozen=True, eq=False)
class HeldRow:
    """The accesses of a row that a thread keeps.

    Attributes:
        row: the thread's accesses.
        starts: the reduced index at which each of them begins.
        fragments: for each access the fragments of the program's tensors that are known.
        slots: for each input that waits in shared memory its slots there.
        whole: whether all accesses are known to lie in the row.
        turn: the turn of a loop over accesses, in which the row has those of a turn; None outside of such loops.
        tile: the tile of the CTA that warps read in turned blocks, by a plan that has one.
    """

    row: RowAccesses
    starts: tuple[Any, ...]
    fragments: tuple[dict[Any, Any], ...]
    slots: Mapping[int, Any]
    whole: bool = False
    turn: Turn | None = None
    tile: MatrixTile | None = None

    @classmethod
    def of(cls, row: RowAccesses, count: int = 0) -> HeldRow:
        """The row of a thread that makes ``count`` accesses, or as many as the plan says it keeps."""
        kernel, starts = row.kernel, _starts(row, count or row.kernel.plan.held)
        tile = MatrixTile.of(row) if kernel.plan.fragments == "matrix" else None
        slots = {
            i: tile.hold(i)
            if tile and kernel.facts.access[i] == "matrix"
            else hold(row, i, element(kernel.inputs[i].type))
            for i in kernel.facts.waiting
            if kernel.plan.waits_in_slots
        }
        if tile:
            stores = enumerate(kernel.facts.stores)
            tile.reserve({n: element(kernel.results[n].type) for n, kind in stores if kind == "matrix"})
            tile.arrive()
        found = cls(row, starts, tuple({} for _ in starts), slots, tile=tile)
        if kernel.plan.exchanges:
            found.exchange()
        if kernel.plan.reads == "ahead":
            found.read_ahead()
        return found

    @classmethod
    def known(cls, row: RowAccesses, slots: Mapping[int, Any]) -> HeldRow:
        """The row of a thread for which nothing is asked: what waits is in ``slots``, or is copied there."""
        starts = _starts(row, row.kernel.plan.held)
        return cls(row, starts, tuple({} for _ in starts), slots)

    def exchange(self) -> None:
        """Reads all inputs at once, and exchanges those that lie across with the other threads of the CTA."""
        kernel = self.row.kernel
        kinds = enumerate(kernel.facts.access)
        blocks: dict[int, Part | ReadBits] = {i: Part.copied(self.row, i) for i, kind in kinds if kind == "exchanged"}
        for v, j in product(self.inputs_of(kernel.results), range(len(self.starts))):
            if kernel.facts.access[v.arg_number] not in ("exchanged", "bits_exchanged"):
                self.fragment(v, j)
        kinds = enumerate(kernel.facts.access)
        blocks |= {i: ReadBits(self.row, i) for i, kind in kinds if kind == "bits_exchanged"}
        if blocks:
            kernel.make_op("fold.arrived", [], [], {})
        for operand, block in blocks.items():
            for known, value in zip(self.fragments, block.fragments(), strict=True):
                known[kernel.inputs[operand]] = value

    def is_whole(self, j: int) -> bool:
        """Whether access ``j`` lies in the part of the row that the CTA owns, in every thread."""
        return all(map(self._is_whole, self._like(j)))

    def _is_whole(self, j: int) -> bool:
        """The same of access ``j`` of the thread."""
        kernel, plan = self.row.kernel, self.row.kernel.plan
        if kernel.facts.full or self.whole or plan.walk == "blocked":
            return True
        if plan.is_far or not kernel.phases or kernel.facts.spare:
            return False
        if plan.fast == "reduced":
            return self._is_middle(j)
        # A CTA owns an equal part of the column, and the last one up to ``cluster - 1`` elements less.
        span = layout_of(plan).step
        return (j + 1) * span <= (plan.held - 1) * span + 2 - plan.cluster

    def _like(self, j: int) -> Sequence[int]:
        """The numbers of the accesses of the thread that have the code of access ``j``."""
        return self.turn.alike[j] if self.turn else (j,)

    def _is_middle(self, j: int, *, beside: int = 0) -> bool:
        """Whether access ``j``, and ``beside`` further ones of the thread before and after it, lie in the row.

        An end of the row may cut the first access of rows that begin anywhere. The last CTA of a cluster may lack an
        access more for each CTA, and rows that begin anywhere may have one fewer than others.
        """
        plan, cut = self.row.kernel.plan, is_shifted(self.row.kernel)
        return not self.row.kernel.facts.spare and cut + beside <= j < plan.held - plan.cluster - cut - beside

    def fragment(self, tensor: Any, j: int) -> Any:
        """The fragment of a tensor in access ``j``."""
        return self.row.values.fragment(tensor, self.fragments[j], self.starts[j], lambda i, t: self._load(i, t, j))

    def _load(self, operand: int, t: Any, j: int) -> Any:
        """The elements of an input in access ``j``: those that wait, or those in memory."""
        if self.row.kernel.facts.access[operand] in TRANSPOSED:
            found = load_transposed(self.row, operand, t)
            for known, value in zip(self.fragments, found, strict=True):
                known[self.row.kernel.inputs[operand]] = value
            return found[j]
        if self.row.columns:
            return self.row.columns.load(operand, t, self.starts[j])
        if operand not in self.slots:
            return self.row.load(operand, t, self.starts[j], whole=self.is_whole(j), inside=self._is_inside(j))
        kernel = self.row.kernel
        number = self._number(j)
        if self.tile and kernel.facts.access[operand] == "matrix":
            return self.tile.load(operand, t, number)
        operands = [self.slots[operand], number]
        return kernel.make("fold.held", t, operands, {"threads": kernel.plan.threads}, kernel.plan.vector)

    def _is_inside(self, j: int) -> bool:
        """Whether the aligned accesses around access ``j`` lie in the row in every thread."""
        middle = all(self._is_middle(k, beside=1) for k in self._like(j))
        return middle and not self.row.kernel.plan.is_far and bool(self.row.kernel.phases)

    def part(self, first: int, count: int) -> HeldRow:
        """So many of the accesses, from number ``first`` on."""
        own = slice(first, first + count)
        return replace(self, starts=self.starts[own], fragments=self.fragments[own])

    def inputs_of(self, tensors: Sequence[Any]) -> list[Any]:
        """The inputs that tensors need for each element."""
        values = self.row.values
        needed = postorder(tensors, operands_of, values.kept)
        return [v for v in needed if isinstance(v, ir.BlockArgument) and values.varies(v)]

    def apart(self, *, whole: bool) -> HeldRow:
        """The row in a branch of the kernel, where all of its accesses lie in the row if it is ``whole``.

        What is computed in the branch is known there alone.
        """
        values = replace(self.row.values, kept=dict(self.row.values.kept))
        row = replace(self.row, values=values)
        return replace(self, row=row, fragments=tuple(map(dict, self.fragments)), whole=whole)

    def read_ahead(self) -> None:
        """Reads all inputs, so that their latencies overlap; the last access of the first phase after all others.

        ``ptxas`` moves a read down to its first use, but not below a later one of those that stay in order.
        """
        kernel, count = self.row.kernel, len(self.starts)
        first = self.inputs_of(kernel.sources)
        others = [v for v in self.inputs_of(kernel.results) if v not in first]
        for v, j in (*product(first, range(count - 1)), *product(others, range(count)), *product(first, [count - 1])):
            self.fragment(v, j)

    def begin_phase(self) -> None:
        """Forgets what is to be computed again."""
        if self.row.kernel.plan.waits_in_slots:
            for known in self.fragments:
                known.clear()

    def reduced(self, phase: Kernel) -> Any:
        """The state that the thread's elements combine to."""
        self.begin_phase()
        plan = phase.plan
        states = [with_shape(t, plan.vector_kept) for t in phase.states]
        types = [with_shape(t, plan.vector) for t in phase.states]
        after = self._after(phase)
        count = self._together(phase)

        def folded(row: HeldRow, numbers: range) -> list[list[Any]]:
            counted = row.each(phase.sources, types, lambda own, j: own._counted(phase, j), after, numbers, masked=True)
            accesses = [pack(own) for own in counted]
            return [reduced(accesses[j : j + count]) for j in range(0, len(accesses), count)]

        def reduced(group: list[Any]) -> list[Any]:
            attributes = {"elements": len(group) * plan.vector_reduced, "columns": plan.vector_kept}
            return unpack(phase.stage("fold.block_reduce", [state_type(states)], group, attributes).results[0])

        def turn(row: HeldRow, is_first: Any, so_far: Sequence[Any]) -> list[Any]:
            (own,) = folded(row, range(count))
            branch = scf.IfOp(is_first, states, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                scf.YieldOp(own)
            with ir.InsertionPoint(branch.else_block):
                scf.YieldOp(joined(phase, [list(so_far), own]))
            return list(branch.results)

        turns = 0 if after or count < FOLDED else turns_of(self, count)
        if turns:
            self.row.values.prepare(phase.sources)
        found = [in_turns(self, turns, count, turn, states)] if turns else []
        found += folded(self, range(turns * count, len(self.starts)))
        return pack(joined(phase, found))

    def _together(self, phase: Kernel) -> int:
        """The accesses that are combined at once: of an anchored monoid all their elements are in registers then."""
        if phase.plan.resident != "shared" or anchored(Combine.of(phase.combine)) is None:
            return len(self.starts)
        return max(1, ANCHORED // phase.plan.vector)

    def _counted(self, phase: Kernel, j: int) -> list[Any]:
        """What access ``j`` contributes, with the identity in place of what is not the row's."""
        whole = self.is_whole(j)
        if not whole and self.has_zeros and begins_with_zeros(phase):
            self._put_zeros_of(phase, j)
            whole = True
        found = [wide(self.fragment(v, j), phase.plan.vector) for v in phase.sources]
        if whole:
            return found
        live = self.row.live(self.starts[j], begins=0 in self._like(j))
        return [arith.select(live, v, i) for v, i in zip(found, phase.neutral(phase.plan.vector), strict=True)]

    def _put_zeros_of(self, phase: Kernel, j: int) -> None:
        """Puts zeros into what makes the sources of a phase, of access ``j``, so that they are zero beside the row."""
        kernel, values = self.row.kernel, self.row.values
        zero = {kernel.inputs[i] for i in (*kernel.facts.waiting, *with_zeros_beside(kernel))}
        first = masked_first(phase.sources, zero, values.varies)
        if not first:
            return
        live = of_row(self.row, self.starts[j], begins=0 in self._like(j))
        for v in first:
            own = wide(self.fragment(v, j), kernel.plan.vector)
            self.fragments[j][v] = arith.select(live, own, zeros_of(own.type))

    @property
    def has_zeros(self) -> bool:
        """Whether what the thread has read of beside the row is zero."""
        kernel = self.row.kernel
        if not kernel.plan.takes_side or kernel.plan.waits_in_slots or not is_shifted(kernel):
            return False
        return all(str(element(kernel.inputs[i].type)) in FLOATS for i in kernel.facts.waiting)

    def put_zeros(self) -> None:
        """Puts zeros in place of what was read beside the row."""
        for own, r, j in zip(self.fragments, self.starts, range(len(self.starts)), strict=True):
            if not self.is_whole(j):
                own.update({v: with_zeros(self.row, x, r, begins=not j) for v, x in own.items()})

    def store(self) -> None:
        """Writes the results: of each access all are made before one is written, which may take an input's place."""
        self.begin_phase()
        if self.row.reused:
            for operand, j in product(self.row.reused, range(len(self.starts))):
                self.fragment(self.row.kernel.inputs[operand], j)
            gpu.barrier()  # all threads have read what they need of the tiles in which results are going to lie
        rows, elements = self.row.values.apart()
        store_rows(self.row, rows)
        self.store_elements(elements)

    def store_elements(self, elements: Numbered) -> None:
        """Writes results that have a value for each element."""
        if self.row.kernel.plan.walk == "blocked":
            self._store_blocks(elements)
            return
        sections = self.row.kernel.sections
        folded = sections.sources if sections else []

        def write(row: HeldRow, j: int) -> list[Any]:
            made = [(number, row.fragment(result, j)) for number, result in elements]
            for number, value in made:
                row.store_access(number, value, j)
            if folded:
                store_sections(row.row, [row.fragment(v, j) for v in folded], row.starts[j])
            return []

        tensors = [*(result for _, result in elements), *folded]
        turns = turns_of(self, AT_ONCE)
        if turns:
            self.row.values.prepare(tensors)
            in_turns(self, turns, AT_ONCE, lambda row, *_: row.each(tensors, [], write)[:0])
        self.each(tensors, [], write, (), range(turns * AT_ONCE, len(self.starts)))
        if self.tile:
            stores = self.row.kernel.facts.stores
            self.tile.write({n: element(v.type) for n, v in elements if stores[n] == "matrix"})

    def store_access(self, number: int, value: Any, j: int) -> None:
        """Writes a result in access ``j``, or puts it where an input was in the tile."""
        kernel = self.row.kernel
        if self.tile and kernel.facts.stores[number] == "matrix":
            self.tile.put(number, value, self._number(j))
        else:
            store_elements(self.row, number, value, self.starts[j], whole=self.is_whole(j))

    def _number(self, j: int) -> Any:
        """The number of access ``j`` among those of the thread, as a value of the kernel."""
        own = self.row.kernel.number(j)
        return arith.addi(self.turn.number, own) if self.turn and j else self.turn.number if self.turn else own

    def each(
        self,
        tensors: Sequence[Any],
        types: Sequence[Any],
        make: Make,
        later: Sequence[Any] = (),
        numbers: Sequence[int] | None = None,
        *,
        masked: bool = False,
    ) -> list[Sequence[Any]]:
        """What ``make`` gives of each access, or those of ``numbers``, values of ``types``.

        For this it needs fragments of ``tensors``; those that ``later`` tensors need are known then. The first access
        has code of its own if it is ``masked``, since only that one may begin before the row, and if it makes what all
        accesses need.
        """
        numbers = range(len(self.starts)) if numbers is None else numbers
        if self.row.kernel.plan.walk == "blocked":  # several accesses at once
            return [make(self, j) for j in numbers]
        found: list[Sequence[Any]] = []
        values = self.row.values
        apart = masked or not all(map(values.varies, postorder(tensors, operands_of, values.kept)))
        for _, alike in groupby(numbers, lambda j: (self.is_whole(j), self._is_inside(j), apart and not j)):
            run = list(alike)
            if len(run) < REPEATED:
                found += [make(self, j) for j in run]
            else:
                found += self._in_loop(run, tensors, types, make, later)
        return found

    def _in_loop(
        self, run: Sequence[int], tensors: Sequence[Any], types: Sequence[Any], make: Make, later: Sequence[Any]
    ) -> list[Sequence[Any]]:
        """What ``make`` gives of the accesses of a run: a loop over them, which is unrolled when its code is lowered.

        Fragments of all accesses go round: in a turn those of its access come first.
        """
        kernel, values = self.row.kernel, self.row.values
        values.prepare(tensors)
        known = self.fragments[run[0]]
        given = _first_known(tensors, {*known}, values.kept)
        made = [v for v in postorder(tensors, operands_of, {*known, *values.kept}) if values.varies(v)]
        carried = _first_known([v for v in later if values.varies(v)], {*made}, {*known, *values.kept})
        extra = [with_shape(element(v.type), kernel.plan.vector) for v in carried]

        def turn(number: Any, own: Sequence[Any], _: Any) -> tuple[list[Any], list[Any]]:
            row = replace(self.row, values=replace(values, kept=dict(values.kept)))
            fragments = dict(zip(given, own[1:], strict=True))
            number = arith.addi(self.turn.number, number) if self.turn else number
            turn = Turn(number, [self._like(run[0])])
            one = replace(self, row=row, starts=(own[0],), fragments=(fragments,), turn=turn)
            return [*make(one, 0), *(fragments[v] for v in carried)], []

        accesses = [[self.starts[j], *(self.fragments[j][v] for v in given)] for j in run]
        numbers = [kernel.number(k) for k in (run[0], run[-1] + 1, 1)]
        parts, _ = unrolled(accesses, [*types, *extra], turn, numbers)
        for j, part in zip(run, parts, strict=True):
            self.fragments[j].update(zip(carried, part[len(types) :], strict=True))
        return [part[: len(types)] for part in parts]

    def _after(self, phase: Kernel) -> list[Any]:
        """What is made of the row after a phase, where fragments stay known."""
        kernel = self.row.kernel
        if kernel.plan.resident == "shared" or kernel.plan.is_far:
            return []
        following = [v for p in kernel.phases[phase.phase + 1 :] for v in p.sources]
        return [*following, *kernel.results, *(kernel.side.sources if kernel.side else [])]

    def _store_blocks(self, results: Numbered) -> None:
        """Writes the blocks of results, each along the axis of its array, when all elements are read."""
        kernel = self.row.kernel
        made = [(number, [self.fragment(result, j) for j in range(len(self.starts))]) for number, result in results]
        bits = [own for own in made if kernel.facts.stores[own[0]] == "bits_exchanged"]
        for number, values in made:
            if kernel.facts.stores[number] == "bits_exchanged":
                continue
            if self.row.kernel.facts.stores[number] in TRANSPOSED:
                store_transposed(self.row, number, values)
                continue
            for j, (r, value) in enumerate(zip(self.starts, values, strict=True)):
                if self.row.columns:
                    self.row.columns.store(number, value, r)
                else:
                    store_elements(self.row, number, value, r, whole=self.is_whole(j))
        store_bits(self.row, bits)


def _starts(row: RowAccesses, held: int) -> tuple[Any, ...]:
    """The reduced indices at which so many accesses of a thread begin."""
    kernel, step = row.kernel, layout_of(row.kernel.plan).step
    return (row.begin, *(arith.addi(row.begin, kernel.number(j * step)) for j in range(1, held)))


def _first_known(ends: Sequence[Any], found: Container[Any], known: Container[Any]) -> list[Any]:
    """The values in ``found`` from which ``ends`` are made; those in ``known`` are there anyway."""
    return [v for v in postorder(ends, lambda v: () if v in found else operands_of(v), known) if v in found]


def joined(phase: Kernel, states: Sequence[list[Any]]) -> list[Any]:
    """The states of a thread, combined from the left."""
    state, *others = states
    for other in others:
        state = clone_block(phase.combine.blocks[0], [*state, *other], phase.plan.vector_kept)
    return state


Make = Callable[[HeldRow, int], Sequence[Any]]
"""Writes the code of an access of a row, and gives its values."""
