"""A scan of rows: every element gets the state of those up to it.

The elements of a row follow each other in *chunks*, each of one CTA, and a chunk in *segments*, each of one warp. Where
lanes lie along the row, a segment is one access of all lanes after another; else each lane has elements of its own,
and the next lane those behind them. Every level gives what comes before its parts, and the state of all of them: the
elements of an access, lanes, the accesses of a segment, the warps of a chunk, the chunks of a row. What comes before
an access is what comes before its chunk, then before its warp, and then before it in the segment. Nothing but elements
is combined: there is no identity at the beginning of a row.

Where a row has several chunks, CTAs take theirs by tickets, which go through the first chunks of all rows, then the
second ones, and so on. So a CTA waits for earlier tickets alone, and if there are many rows, for none. The last CTA of
a row clears the words in which its chunks left their states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from ...compiler.ir.build import address, word_type, zeros
from ...compiler.ir.combine import combine, elements, fragment, pack, splat, unpack, width, with_shape
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith, gpu, ir, llvm, scf
from ...compiler.plan.launch import look_back_lanes
from ...compiler.plan.layout import layout_of
from ...compiler.postorder import postorder
from ...compiler.target import WARP
from .kernel import Kernel
from .look_back import LookBack
from .place import Digits, Place, Tile, existing, place_in_tile
from .reader import operands_of
from .resident.row_accesses import RowAccesses
from .resident.row_starts import is_shifted
from .resident.row_states import branched
from .resident.row_stores import store_elements
from .row import Row
from .walk import Chunk


class Before(NamedTuple):
    """What comes before some elements.

    Attributes:
        state: the state; None where nothing comes before.
        exists: whether something does; None where it is known to.
    """

    state: Sequence[Any] | None = None
    exists: Any = None

    def then(self, kernel: Kernel, other: Before) -> Before:
        """What comes before, and after that ``other``."""
        if self.state is None or other.state is None:
            return self if other.state is None else other
        both = combine(kernel.combine, self.state, other.state)
        if other.exists is not None:
            both = _chosen(other.exists, both, self.state)
        if self.exists is not None:
            both = _chosen(self.exists, both, other.state)
        exists = None
        if self.exists is not None and other.exists is not None:
            exists = arith.ori(self.exists, other.exists)
        return Before(both, exists)

    def up_to(self, kernel: Kernel, own: Sequence[Any]) -> Sequence[Any]:
        """The states of elements, if ``own`` are those of them alone."""
        if self.state is None:
            return own
        return self.then(kernel, Before(own)).state or own


def _chosen(on: Any, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """The values ``xs`` where ``on``, else ``ys``; a scalar stands for equal elements."""
    wide = [max(width(x.type), width(y.type)) for x, y in zip(xs, ys, strict=True)]
    return [arith.select(on, splat(x, n), splat(y, n)) for x, y, n in zip(xs, ys, wide, strict=True)]


class Work(NamedTuple):
    """What a CTA does.

    Attributes:
        tile: the number of its rows.
        part, parts: the number of its chunk of them, and how many there are; None where a CTA has whole rows.
        tiles: how many tiles of rows there are; None as well.
    """

    tile: Any
    part: Any = None
    parts: Any = None
    tiles: Any = None

    @classmethod
    def all(cls, kernel: Kernel) -> tuple[Any, Any]:
        """How many tiles of rows there are, and chunks of each."""
        early = kernel.plan.vector - 1 if is_shifted(kernel) else 0
        length = arith.addi(kernel.arg("n_reduced"), kernel.number(early))
        parts = kernel.at_least(kernel.ceil(length, kernel.arg("chunk")), 1)
        return kernel.ceil(kernel.arg("n_kept"), kernel.plan.slots), parts

    @classmethod
    def of(cls, kernel: Kernel) -> Work:
        """The work of this CTA."""
        if kernel.facts.once:
            return cls(kernel.id(gpu.block_id(gpu.Dimension.x)))
        tiles, parts = cls.all(kernel)
        ticket = kernel.make("fold.ticket", kernel.index, [kernel.arg("counter"), arith.muli(tiles, parts)], {}, 1)
        part, tile = kernel.divided(kernel.make("fold.share", kernel.index, [ticket], {}, 1), tiles)
        return cls(tile, part, parts, tiles)

    def chunk(self, kernel: Kernel) -> Chunk:
        """The elements of rows that the CTA has."""
        length, count = kernel.arg("chunk"), kernel.arg("n_reduced")
        if self.part is None:
            return Chunk(kernel.number(0), count, length)
        first = arith.muli(self.part, length)
        return Chunk(first, arith.minsi(arith.addi(first, length), count), length)


def distribute_scan(kernel: Kernel) -> None:
    """Writes the body of a kernel that scans rows."""
    assert kernel.scan is not None
    work = Work.of(kernel)
    digits = Digits.of(kernel, kernel.plan)
    tile, place = place_in_tile(Row.at(kernel, None), work.tile, digits)
    place = replace(place, start=existing(kernel, place))
    row = ScanRow.of(kernel, work, tile, place)
    row.load()
    with kernel.scan.reduce.location:
        row.scan()
    if work.parts is not None:  # before the results are on their way, for which the release would wait
        _clear(kernel, work)
    row.store()


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
    staged: Any = None

    @classmethod
    def of(cls, kernel: Kernel, work: Work, tile: Tile, place: Place, staged: Any = None) -> ScanRow:
        """The accesses of a thread at its place, of which some are ``staged``."""
        plan, chunk = kernel.plan, work.chunk(kernel)
        row = RowAccesses.of(kernel, place, {}, chunk)
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
        return own, *(self._accesses if plan.fast == "reduced" else self._elements)(own)

    def scan(self, before: Before | None = None) -> None:
        """Combines the elements: what is known of each access then is the state of every element.

        ``before`` is what comes before the segment, if that is known.
        """
        kernel, plan = self.kernel, self.kernel.plan
        own, earlier, total = self._segment()
        before = before or self._warps(total)
        for j, here in enumerate(earlier):
            here = before.then(kernel, here)
            found = self._exclusive(here, own[j], j) if self._is_exclusive else here.up_to(kernel, own[j])
            values = [splat(x, plan.vector) for x in found]
            self.fragments[j].update(zip(kernel.reduced, values, strict=True))

    def _accesses(self, own: Sequence[list[Any]]) -> tuple[list[Before], Sequence[Any]]:
        """What comes before each access in the segment of the warp, and the state of that, if lanes share accesses."""
        found, segment = [], Before()
        for prefixes in own:
            lane, total = self._lanes([elements(v)[-1] for v in prefixes])
            found.append(segment.then(self.kernel, lane))
            segment = segment.then(self.kernel, Before(total))
        return found, segment.state or []

    def _elements(self, own: Sequence[list[Any]]) -> tuple[list[Before], Sequence[Any]]:
        """The same if each lane has elements that follow each other."""
        found = [Before()]
        for state in own:
            found.append(found[-1].then(self.kernel, Before(state)))
        lane, total = self._lanes(list(found.pop().state or []))
        return [lane.then(self.kernel, here) for here in found], total

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
        if plan.warps > 1:
            rows = {"rows": plan.warps, "slots": plan.slots}
            buffers = [ir.Type.parse("!llvm.ptr<3>")] * len(state)
            left = [place.warp, place.slot, kernel.is_first(place.lane), total]
            buffers = list(kernel.make_op("fold.shared_store", buffers, left, rows).results)
            op = kernel.stage("fold.interwarp_scan", [t, t], [place.warp, place.slot, *buffers], rows)
            total = op.results[1]
            exists = arith.cmpi(arith.CmpIPredicate.ne, place.warp, kernel.number(0))
            before = Before(unpack(op.results[0]), exists)
        if self.back is None:
            return before
        found = self.back.before(place.slot, kernel.is_first(place.position), total)
        exists = arith.cmpi(arith.CmpIPredicate.ne, self.work.part, kernel.number(0))
        return Before(found, exists).then(kernel, before)

    def _exclusive(self, before: Before, own: Sequence[Any], j: int) -> Sequence[Any]:
        """The states before each element of access ``j``: the identity before the first one of the row."""
        kernel, plan = self.kernel, self.kernel.plan
        none = [splat(x, 1) for x in kernel.neutral(1)]
        if plan.vector_reduced == 1:
            none = kernel.neutral(plan.vector_kept)
            if before.state is None:
                return none
            return before.state if before.exists is None else _chosen(before.exists, before.state, none)
        first = none if before.state is None else list(before.state)
        if before.state is not None and before.exists is not None:
            first = _chosen(before.exists, before.state, none)
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


def look_back(kernel: Kernel, work: Work, thread: Any) -> LookBack:
    """How a thread looks back, which has the number ``thread`` among those that do."""
    pitch = arith.muli(work.tiles, kernel.number(_words_of_tile(kernel)))
    first = _first_word(kernel, work, work.tile)
    here, groups = (arith.addi(first, arith.muli(n, pitch)) for n in (work.part, work.parts))
    return LookBack.of(kernel.of_scan, work.part, here, groups, pitch, thread)


def _words_of_tile(kernel: Kernel) -> int:
    """The words of 64 bits in which the CTA of a chunk leaves its states."""
    assert kernel.scan is not None or kernel.phases
    types = [element(v.type) for v in (kernel.scan or kernel.phases[0]).sources]
    return kernel.plan.slots * sum(-(-int(t.width) // 32) for t in types)


def _first_word(kernel: Kernel, work: Work, tile: Any) -> Any:
    """The number of the first word of a tile's first chunk: the counters are before them."""
    counters = kernel.divide(arith.addi(work.tiles, kernel.number(2)), 2)
    return arith.addi(counters, arith.muli(tile, kernel.number(_words_of_tile(kernel))))


def _clear(kernel: Kernel, work: Work) -> None:
    """The CTA that is the last of its tile to have looked back sets the words of all chunks to zero again.

    Its first warp does so, while others write results: all threads have looked back before a barrier.
    """
    number = arith.addi(work.tile, kernel.number(1))
    i1, long = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
    thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
    first = scf.IfOp(kernel.less(thread, kernel.number(WARP)))
    with ir.InsertionPoint(first.then_block):
        operands = [kernel.arg("counter"), number, work.parts]
        branch = scf.IfOp(kernel.make_op("fold.arrive", [i1], operands, {"alone": True}).results[0])
        with ir.InsertionPoint(branch.then_block):
            words = _words_of_tile(kernel)
            begin, pitch = _first_word(kernel, work, work.tile), arith.muli(work.tiles, kernel.number(words))
            loop = scf.ForOp(thread, arith.muli(_cells(kernel, work.parts), kernel.number(words)), kernel.number(WARP))
            with ir.InsertionPoint(loop.body):
                part, word = kernel.divided(loop.induction_variable, kernel.number(words))
                at = arith.addi(arith.addi(begin, word), arith.muli(part, pitch))
                zero = arith.constant(long, ir.IntegerAttr.get(long, 0))
                llvm.store(zero, address(kernel.arg("counter"), at, long), alignment=8)
                scf.YieldOp([])
            scf.YieldOp([])
        scf.YieldOp([])


def clear_words(kernel: Kernel, work: Work, thread: Any) -> None:
    """The threads of a CTA set the words of all chunks of all tiles to zero again."""
    long = ir.IntegerType.get_signless(64)
    begin = _first_word(kernel, work, kernel.number(0))
    count = arith.muli(arith.muli(_cells(kernel, work.parts), work.tiles), kernel.number(_words_of_tile(kernel)))
    loop = scf.ForOp(thread, count, kernel.number(kernel.plan.threads))
    with ir.InsertionPoint(loop.body):
        at = arith.addi(begin, loop.induction_variable)
        zero = arith.constant(long, ir.IntegerAttr.get(long, 0))
        llvm.store(zero, address(kernel.arg("counter"), at, long), alignment=8)
        scf.YieldOp([])


def _cells(kernel: Kernel, parts: Any) -> Any:
    """The states that the chunks of a tile, and their groups, leave for each row."""
    lanes = look_back_lanes(kernel.plan.threads, kernel.plan.slots)
    return arith.addi(parts, kernel.ceil(parts, lanes))
