"""A row that waits on chip: a thread makes each of its accesses once.

In registers an access is a value of the kernel, and so is what the program computes of it, for all phases. In shared
memory it waits in a slot of the thread: each phase reads it there, and computes what it needs again. So a thread has
registers for one phase, and an SM room for more threads. Registers need straight-line code; loops can address slots
(``held_accesses.py``).

Rows of persistent CTAs that begin anywhere: what an access has of beside the row counts nothing in a fold.

All rows of a CTA begin equally far after a boundary, so the same few threads have accesses that an end cuts. These put
zeros in place of what is not the row's when they read it; the others jump over that. A source of a fold that is zero
where the elements are, such as a square, then needs no mask. For others each thread has the bits of its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from ....compiler.ir.anchored import anchored
from ....compiler.ir.build import bytes_of, i32, memory_type, word_type, zeros
from ....compiler.ir.build import zeros as zeros_of
from ....compiler.ir.combine import Combine, clone_block, pack, splat, unpack, width, with_shape
from ....compiler.ir.dialect.base import element, state_type
from ....compiler.ir.mlir import arith, gpu, ir, scf, vector
from ....compiler.ir.uniform_fragments import constant
from ....compiler.planner.layouts.tiled import WORD
from ....compiler.postorder import postorder
from ..kernel import Kernel
from ..reader import operands_of
from .exchange import Part, ReadBits
from .held_accesses import FOLDED, HeldAccesses, in_turns, starts_of, turns_of
from .row_accesses import RowAccesses, hold, is_cut, is_shifted, wide
from .row_states import branched
from .row_stores import each_access, store_held, store_rows, where_row_is
from .transposed_blocks import MatrixTile
from .values import Numbered

FLOATS = ("f16", "bf16", "f32", "f64")
"""The types of elements that get zeros."""
ZERO_OF_ZEROS = ("arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.extf", "arith.truncf", "math.absf")
"""Functions that are zero where all of their operands are."""


def with_zeros(row: RowAccesses, value: Any, r: Any, *, begins: bool) -> Any:
    """The fragment that was read at ``r``, with zeros in place of what lies beside the row."""
    limit = arith.subi(row.chunk.limit, row.kernel.number(row.kernel.plan.vector - 1))
    whole = row.kernel.less(r, limit)
    if begins:
        whole = arith.andi(whole, arith.cmpi(arith.CmpIPredicate.sge, r, row.chunk.first))
    count = width(value.type) * bytes_of(memory_type(element(value.type))) // WORD
    words = vector.bitcast(with_shape(word_type(), count), value)
    branch = scf.IfOp(whole, [words.type], has_else=True)  # of words: of halves each would be a value of its own
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([words])
    with ir.InsertionPoint(branch.else_block):
        own = arith.select(of_row(row, r, begins=begins), value, zeros(value.type))
        scf.YieldOp([vector.bitcast(words.type, own)])
    return vector.bitcast(value.type, branch.results[0])


def with_zeros_beside(kernel: Kernel) -> list[int]:
    """The inputs that all rows share whose slots have zeros beside the row: ``cp.async`` copies others as they are."""
    return [i for i in kernel.facts.lasting if kernel.facts.access[i] != "aligned"]


def of_row(row: RowAccesses, r: Any, *, begins: bool) -> Any:
    """Which elements of the access at ``r`` lie in the row: bits of a word, which are tested one by one."""
    plan, index, word = row.kernel.plan, row.kernel.index, word_type()
    most = row.kernel.number(plan.vector)

    def ones_from(x: Any) -> Any:
        count = arith.minsi(arith.maxsi(x, row.kernel.number(0)), most)
        count = count if index == word else arith.trunci(word, count)
        return arith.shli(i32(-1), count)

    bits = arith.xori(ones_from(arith.subi(row.chunk.limit, r)), i32(-1))
    if begins:
        bits = arith.andi(bits, ones_from(arith.subi(row.chunk.first, r)))
    each = with_shape(word, plan.vector)
    own = ir.DenseElementsAttr.get([ir.IntegerAttr.get(word, 1 << k) for k in range(plan.vector)], each)
    found = arith.andi(splat(bits, plan.vector), arith.constant(each, own))
    return arith.cmpi(arith.CmpIPredicate.ne, found, zeros(each))


def begins_with_zeros(phase: Kernel) -> bool:
    """Whether the identity of a fold is zeros."""
    (block,) = phase.reduce.regions[0].blocks
    *_, last = block.operations
    return all(constant(x) == 0 for v in last.operands for x in unpack(v))


def masked_first(sources: Sequence[Any], zero: Container[Any], varies: Callable[[Any], bool]) -> list[Any]:
    """The values to put zeros into, so that all ``sources`` of a fold are zero beside the row, as ``zero`` is there.

    They are the values that are not zero where what they are made of is, such as differences from a mean.
    """
    made: dict[Any, bool] = {}  # whether a value is zero by itself
    for v in postorder(sources, operands_of, made):
        if isinstance(v, ir.BlockArgument):
            made[v] = v in zero
        else:
            made[v] = v.owner.name in ZERO_OF_ZEROS and all(made[x] or varies(x) for x in operands_of(v))
    return list(dict.fromkeys(v for source in sources for v in _ends(source, made)))


def _ends(v: Any, made: Mapping[Any, bool]) -> Iterator[Any]:
    """The values that are not zero by themselves from which ``v`` is made by functions that are."""
    if not made[v]:
        yield v
    elif not isinstance(v, ir.BlockArgument):
        for x in operands_of(v):
            yield from _ends(x, made)


DIVIDES = "arith.divf"
ANCHORED = 32
"""Elements in slots that are combined at once under one anchor: they wait in registers until it is known."""


class HeldRow(HeldAccesses):
    """A row that a thread reads, folds and writes by the accesses that it keeps of it."""

    @classmethod
    def of(cls, row: RowAccesses, count: int = 0) -> HeldRow:
        """The row of a thread that makes ``count`` accesses, or as many as the plan says it keeps."""
        kernel, starts = row.kernel, starts_of(row, count or row.kernel.plan.held)
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

    def read_ahead(self) -> None:
        """Reads all inputs, so that their latencies overlap; the last access of the first phase after all others.

        ``ptxas`` moves a read down to its first use, but not below a later one of those that stay in order.
        """
        kernel, count = self.row.kernel, len(self.starts)
        first = self.inputs_of(kernel.sources)
        others = [v for v in self.inputs_of(kernel.results) if v not in first]
        for v, j in (*product(first, range(count - 1)), *product(others, range(count)), *product(first, [count - 1])):
            self.fragment(v, j)

    def reduced(self, phase: Kernel) -> Any:
        """The state that the thread's elements combine to."""
        self.begin_phase()
        plan = phase.plan
        states = [with_shape(t, plan.vector_kept) for t in phase.states]
        types = [with_shape(t, plan.vector) for t in phase.states]
        after = self._after(phase)
        count = self._together(phase)

        def folded(row: HeldRow, numbers: range) -> list[list[Any]]:
            counted = each_access(
                row, phase.sources, types, lambda own, j: own._counted(phase, j), after, numbers, masked=True
            )
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
        last = self._lacking(phase, turns * count)
        found += folded(self, range(turns * count, last))

        def alone(j: int) -> list[Any]:
            there, row = self.row.live(self.starts[j]), self.apart(whole=True)
            neutral = partial(phase.neutral, plan.vector_kept)
            return branched(there, states, lambda: folded(row, range(j, j + 1))[0], neutral)

        found += [alone(j) for j in range(last, len(self.starts))]
        return pack(joined(phase, found))

    def _lacking(self, phase: Kernel, first: int) -> int:
        """From which access on, after ``first``, a thread may lack whole ones, and its states are combined apart.

        A combine that divides, such as that of a variance, does so for each element that is masked: the numbers of
        elements behind the states are no constants then.
        """
        count = len(self.starts)
        divides = any(o.operation.name == DIVIDES for o in phase.combine.blocks[0].operations)
        if not divides or is_cut(self.row.kernel) or self.row.kernel.plan.fast == "kept" or self._after(phase):
            return count
        while count > first and not self.is_whole(count - 1):
            count -= 1
        return count

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
        live = self.row.live(self.starts[j], begins=0 in self.like(j))
        return [arith.select(live, v, i) for v, i in zip(found, phase.neutral(phase.plan.vector), strict=True)]

    def _put_zeros_of(self, phase: Kernel, j: int) -> None:
        """Puts zeros into what makes the sources of a phase, of access ``j``, so that they are zero beside the row."""
        kernel, values = self.row.kernel, self.row.values
        zero = {kernel.inputs[i] for i in (*kernel.facts.waiting, *with_zeros_beside(kernel))}
        first = masked_first(phase.sources, zero, values.varies)
        if not first:
            return
        live = of_row(self.row, self.starts[j], begins=0 in self.like(j))
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

    def _after(self, phase: Kernel) -> list[Any]:
        """What is made of the row after a phase, where fragments stay known."""
        kernel = self.row.kernel
        if kernel.plan.resident == "shared" or kernel.plan.is_far:
            return []
        following = [v for p in kernel.phases[phase.phase + 1 :] for v in p.sources]
        return [*following, *kernel.results, *(kernel.side.sources if kernel.side else [])]

    def store(self) -> None:
        """Writes the results: of each access all are made before one is written, which may take an input's place."""
        self.begin_phase()
        if self.row.reused:
            for operand, j in product(self.row.reused, range(len(self.starts))):
                self.fragment(self.row.kernel.inputs[operand], j)
            gpu.barrier()  # all threads have read what they need of the tiles in which results are going to lie
        rows, elements = self.row.values.apart()
        store_rows(self.row, rows)
        if elements:
            with where_row_is(self.row, elements) as there:
                replace(self, row=there).store_elements(elements)

    def store_elements(self, elements: Numbered) -> None:
        """Writes results that have a value for each element."""
        store_held(self, elements)


def joined(phase: Kernel, states: Sequence[list[Any]], width: int = 0) -> list[Any]:
    """The states of a thread, fragments of ``width`` or of its results, combined from the left."""
    state, *others = states
    for other in others:
        state = clone_block(phase.combine.blocks[0], [*state, *other], width or phase.plan.vector_kept)
    return state
