"""The part of a row that a thread scans: its accesses, and the states of what comes before each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...compiler.ir.build import word_type, zeros
from ...compiler.ir.combine import combine, elements, fragment, pack, splat, unpack, width, with_shape
from ...compiler.ir.dialect.base import element, state_type, values
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.plan.layout import layout_of
from ...compiler.postorder import postorder
from ..access.state_buffers import StateBuffers
from .kernel import Kernel
from .look_back import LookBack
from .looks import Before, chosen
from .place import Place, Tile
from .reader import operands_of
from .resident.row_accesses import RowAccesses, is_shifted
from .resident.row_states import branched
from .resident.row_stores import store_elements
from .scan_work import Work, look_back
from .staged_chunk import StagedChunk


@dataclass(frozen=True, eq=False)
class ScanRow:
    """A thread's accesses to its row.

    Attributes:
        kernel: the kernel, as its scan sees it.
        work, tile, place: what the CTA does, its rows, and the thread's place among them.
        row: the accesses.
        back: how the thread looks back; None where a CTA has whole rows.
        starts: the index at which each of them begins.
        fragments: for each access the fragments of the program's tensors that are known.
        inner: whether all accesses of the thread lie in the row; None where they do in every thread.
        staged: where elements wait in shared memory; None where they do not.
    """

    kernel: Kernel
    work: Work
    tile: Tile
    place: Place
    row: RowAccesses
    back: LookBack | None
    starts: tuple[Any, ...]
    fragments: tuple[dict[Any, Any], ...]
    inner: Any
    staged: StagedChunk | None = None

    @classmethod
    def of(
        cls, kernel: Kernel, work: Work, tile: Tile, place: Place, staged: StagedChunk | None = None,
        tiles: Mapping[int, Sequence[Any]] | None = None,
    ) -> ScanRow:  # fmt: skip
        """The accesses of a thread at its place, of which some are ``staged``, or lie in ``tiles`` of the CTA."""
        plan, chunk = kernel.plan, work.chunk(kernel)
        row = RowAccesses.of(kernel, place, tiles or {}, chunk)
        begin, piece = row.begin, plan.lanes * plan.vector_reduced if plan.fast == "reduced" else 1
        if plan.fast == "reduced" and plan.warps > 1 and plan.held > 1:  # segments of warps follow each other
            begin = arith.addi(begin, arith.muli(place.warp, kernel.number((plan.held - 1) * piece)))
        starts = (begin, *(arith.addi(begin, kernel.number(j * piece)) for j in range(1, plan.held)))
        row = replace(row, begin=begin)
        own: tuple[dict[Any, Any], ...] = tuple({} for _ in starts)
        looks = work.parts is not None and staged is None
        back = look_back(kernel, work, _thread()).glanced() if looks else None
        return cls(kernel.of_scan, work, tile, place, row, back, starts, own, _inner(row, starts[-1]), staged)

    # --- memory ---
    @property
    def _wanted(self) -> list[Any]:
        """The tensors of which the row needs the elements."""
        return [*self.kernel.sources, *self.kernel.results]

    def load(self) -> None:
        """Reads the elements of all inputs."""
        values, plan = self.row.values, self.kernel.plan
        needed = list(postorder(self._wanted, operands_of, set(self.kernel.reduced)))
        values.prepare([v for v in needed if not values.varies(v)])
        inputs = [v for v in needed if isinstance(v, ir.BlockArgument) and values.varies(v)]
        accesses = [(v, j) for v in inputs for j in range(len(self.starts))]
        types = [with_shape(element(v.type), plan.vector) for v, _ in accesses]

        def read(*, whole: bool) -> list[Any]:
            return [self._read(v, j, whole=whole) for v, j in accesses]

        for (v, j), x in zip(accesses, self._branched(types, read), strict=True):
            self.fragments[j][v] = x

    def _read(self, v: Any, j: int, *, whole: bool) -> Any:
        operand = ir.BlockArgument(v).arg_number
        if self.staged is not None and operand in self.staged.places:
            return self._read_staged(v, j, whole=whole)
        return self.row.load(operand, element(v.type), self.starts[j], whole=whole)

    def _read_staged(self, v: Any, j: int, *, whole: bool) -> Any:
        """An access in shared memory, where those that lie in the row are; an end of the row may cut a shifted one."""
        assert self.staged is not None
        kernel, operand, at = self.kernel, ir.BlockArgument(v).arg_number, self.starts[j]
        t = with_shape(element(v.type), kernel.plan.vector)
        read = partial(self.staged.read, operand, t, at)
        if whole:
            return read()
        cut = kernel.facts.access[operand] == "shifted"
        there = kernel.less(at, self.row.chunk.limit)
        if cut:
            there = arith.cmpi(arith.CmpIPredicate.sle, arith.addi(at, kernel.number(width(t))), self.row.chunk.limit)
            begins = arith.cmpi(arith.CmpIPredicate.sge, at, self.row.chunk.first)
            there = arith.andi(there, begins)
        branch = scf.IfOp(there, [t], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp([read()])
        with ir.InsertionPoint(branch.else_block):
            apart = self.row.load(operand, element(v.type), at, whole=False) if cut else zeros(t)
            scf.YieldOp([apart])
        return branch.results[0]

    def store(self) -> None:
        """Writes the results."""
        numbers = range(len(self.kernel.results))
        made = [(n, j, self._fragment(self.kernel.results[n], j)) for j in range(len(self.starts)) for n in numbers]

        def write(*, whole: bool) -> list[Any]:
            for n, j, x in made:
                store_elements(self.row, n, x, self.starts[j], whole=whole)
            return []

        self._branched([], write)

    def _branched(self, types: Sequence[Any], make: Any) -> list[Any]:
        """What ``make`` gives; where an end of the row may cut accesses, in branches with and without masks."""
        if self.inner is None:
            return list(make(whole=True))
        return branched(self.inner, types, lambda: make(whole=True), lambda: make(whole=False))

    def _fragment(self, tensor: Any, j: int) -> Any:
        """The fragment of a tensor in access ``j``, whose inputs are read."""
        known = self.fragments[j]
        x = self.row.values.fragment(tensor, known, self.starts[j], lambda i, _: known[self.kernel.inputs[i]])
        return splat(x, self.kernel.plan.vector)

    # --- the scan ---
    def segment(self) -> Sequence[Any]:
        """The state of the warp's segment."""
        return self._segment()[2]

    def _segment(self) -> tuple[list[list[Any]], list[Before], Sequence[Any]]:
        """The states of the elements of each access in it alone, what comes before in the segment, and its state."""
        kernel, plan = self.kernel, self.kernel.plan
        own = [self._own([self._fragment(v, j) for v in kernel.sources], j) for j in range(len(self.starts))]
        return own, *(self._accesses(own) if plan.fast == "reduced" else self._elements(own))

    def scan(self, before: Before | None = None) -> Sequence[Any]:
        """Combines the elements: what is known of each access then is the state of every element.

        ``before`` is what comes before the segment, if that is known. Gives the state of all up to its end.
        """
        kernel, plan = self.kernel, self.kernel.plan
        own, earlier, total = self._segment()
        before = before or self._warps(total)
        here, of = before, Before()
        for j, inside in enumerate(earlier):
            if inside is not of or not j:  # the elements of a lane have the same before them
                here, of = before.then(kernel, inside), inside
            found = self._exclusive(here, own, j) if self._is_exclusive else here.up_to(kernel, own[j])
            states = [splat(x, plan.vector) for x in found]
            self.fragments[j].update(zip(kernel.reduced, states, strict=True))
        return before.up_to(kernel, total)

    def _accesses(self, own: list[list[Any]]) -> tuple[list[Before], Sequence[Any]]:
        """What comes before each access in the segment of the warp, and the state of that, if lanes share accesses."""
        found, segment = [], Before()
        for prefixes in own:
            lane, total = self._lanes([elements(v)[-1] for v in prefixes])
            found.append(segment.then(self.kernel, lane))
            segment = segment.then(self.kernel, Before(total))
        return found, segment.state or []

    def _elements(self, own: list[list[Any]]) -> tuple[list[Before], Sequence[Any]]:
        """The same if each lane has elements that follow each other: ``own`` become the states of these up to each."""
        for j in range(1, len(own)):
            own[j] = list(combine(self.kernel.combine, own[j - 1], own[j]))
        lane, total = self._lanes(own[-1])
        return [lane] * len(own), total

    @property
    def _is_exclusive(self) -> bool:
        return bool(ir.BoolAttr(self.kernel.reduce.attributes["exclusive"]).value)

    def _own(self, state: list[Any], j: int) -> list[Any]:
        """The states of the elements of access ``j`` up to each, in the access alone."""
        kernel = self.kernel
        if kernel.plan.vector_reduced == 1:
            return state
        operands = [self._begins(j), pack(state)]
        t = state_type([v.type for v in state])
        return unpack(kernel.stage("fold.thread_scan", [t], operands, {}).results[0])

    def _begins(self, j: int) -> Any:
        """The number of the first element of access ``j`` that lies in the row, at most 0 for a whole access."""
        if j or not is_shifted(self.kernel):
            return self.kernel.number(0)
        return arith.subi(self.row.chunk.first, self.starts[j])

    def _lanes(self, state: list[Any]) -> tuple[Before, list[Any]]:
        """What comes before the lane's state in those of all lanes, and the state of these."""
        kernel, plan, place = self.kernel, self.kernel.plan, self.place
        if plan.lanes == 1:
            return Before(), state
        t = state_type([v.type for v in state])
        how = {"lanes": plan.lanes, "stride": layout_of(plan).distance("lane", "reduced")}
        before, total = kernel.stage("fold.warp_scan", [t, t], [place.lane, pack(state)], how).results
        exists = arith.cmpi(arith.CmpIPredicate.ne, place.lane, kernel.number(0))
        return Before(unpack(before), exists), unpack(total)

    def _warps(self, state: Sequence[Any]) -> Before:
        """What comes before the segment of the warp: the warps before it, and the chunks before these."""
        kernel, plan, place = self.kernel, self.kernel.plan, self.place
        t, before, total = state_type([v.type for v in state]), Before(), pack(state)
        looks = self.back is not None and plan.slots > 1
        if plan.warps > 1 or looks:
            rows = {"rows": plan.warps, "slots": plan.slots}
            buffers = [ir.Type.parse("!llvm.ptr<3>")] * len(state)
            left = [place.warp, place.slot, kernel.is_first(place.lane), total]
            buffers = list(kernel.make_op("fold.shared_store", buffers, left, rows).results)
            if looks:
                return self._look(buffers, t)
            op = kernel.stage("fold.interwarp_scan", [t, t], [place.warp, place.slot, *buffers], rows)
            total = op.results[1]
            exists = arith.cmpi(arith.CmpIPredicate.ne, place.warp, kernel.number(0))
            before = Before(unpack(op.results[0]), exists)
        if self.back is None:
            return before
        return self._earlier(self.back.before(place.slot, total)).then(kernel, before)

    def _look(self, buffers: Sequence[Any], t: Any) -> Before:
        """What comes before the segment, where a CTA has several rows: a thread of each scans the states of its warps.

        So no other thread reads all of these, which are as many for each row as there are warps.
        """
        kernel, plan, place = self.kernel, self.kernel.plan, self.place
        assert self.back is not None
        before = self._earlier(self.back.of_warps(place.slot, buffers, t))
        if plan.warps == 1:
            return before
        mine = StateBuffers(buffers, values(t), plan.slots, place.slot).load(place.warp)
        exists = arith.cmpi(arith.CmpIPredicate.ne, place.warp, kernel.number(0))
        return before.then(kernel, Before(mine, exists))

    def _earlier(self, state: Sequence[Any]) -> Before:
        """What comes before the chunk."""
        exists = arith.cmpi(arith.CmpIPredicate.ne, self.work.part, self.kernel.number(0))
        return Before(state, exists)

    def _exclusive(self, before: Before, all_own: Sequence[list[Any]], j: int) -> Sequence[Any]:
        """The states before each element of access ``j``: the identity before the first one of the row."""
        kernel, plan, own = self.kernel, self.kernel.plan, all_own[j]
        if plan.fast == "kept" and j:
            return before.up_to(kernel, all_own[j - 1])
        none = [splat(x, 1) for x in kernel.neutral(1)]
        if plan.vector_reduced == 1:
            none = kernel.neutral(plan.vector_kept)
            if before.state is None:
                return none
            return before.state if before.exists is None else chosen(before.exists, before.state, none)
        first = none if before.state is None else list(before.state)
        if before.state is not None and before.exists is not None:
            first = chosen(before.exists, before.state, none)
        later = before.up_to(kernel, own)
        begins = self._begins(j)
        columns = []
        for value, begin, empty in zip(later, first, none, strict=True):
            parts = [begin, *elements(splat(value, plan.vector))[:-1]]
            for k in range(1, plan.vector) if is_shifted(kernel) and not j else ():
                follows = arith.cmpi(arith.CmpIPredicate.slt, begins, kernel.number(k))
                parts[k] = arith.select(follows, parts[k], empty)
            columns.append(fragment(parts))
        return columns


def _inner(row: RowAccesses, last: Any) -> Any:
    """Whether all accesses of a thread lie in the row, the ``last`` one included; None where they do in all threads."""
    kernel, plan = row.kernel, row.kernel.plan
    if kernel.facts.full:
        return None
    end = arith.addi(last, kernel.number(plan.vector_reduced))
    inner = arith.cmpi(arith.CmpIPredicate.sle, end, row.chunk.limit)
    begins = arith.cmpi(arith.CmpIPredicate.sge, row.begin, row.chunk.first)
    return arith.andi(inner, begins) if is_shifted(kernel) else inner


def _thread() -> Any:
    """The number of the thread, a word."""
    return arith.index_cast(word_type(), gpu.thread_id(gpu.Dimension.x))
