"""A thread's accesses to the row that it shares: which elements they hold, how these are read, and how written."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from ....compiler.ir.build import address, bytes_of, memory_type
from ....compiler.ir.combine import elements, fragment, splat, width, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, llvm, scf, vector
from ....compiler.plan.fields import IN_TILE, OF_BITS
from ....compiler.plan.layout import layout_of
from ....compiler.plan.tiles import SECTOR
from ....compiler.postorder import postorder
from ....compiler.program.bit_arrays import BYTE, WORD
from ...access.offsets import coordinates
from ..kernel import Kernel, load_attributes
from ..place import Place, lead_of
from ..reader import Reader, extent, operands_of
from ..walk import Chunk, chunk_of
from .row_tiles import buffers_of, row_offset
from .values import Values

READ_BESIDE = ("shifted", "unaligned")
"""Accesses that may read elements beside the row."""


@dataclass(frozen=True, eq=False)
class RowAccesses:
    """The accesses of a thread to its row.

    Attributes:
        kernel, place: the kernel, and the thread's place.
        chunk: the elements of the row that the CTA owns.
        begin: the reduced index at which the first access begins; it may lie before the row.
        values: what the thread knows of the program's tensors.
        starts: where the thread's first access is, for inputs, and after these for results, whose rows are in a tile,
            or whose single elements lie side by side. The others are then at constant distances.
        reused: the inputs in whose tiles results are going to lie.
        hinted: the pointers to the elements of rows, where the L2 cache is told how long to keep them.
        readable: how many elements of an input can be read beside the row, where a loop needs to know it before.
    """

    kernel: Kernel
    place: Place
    chunk: Chunk
    begin: Any
    values: Values
    starts: Mapping[int, Any]
    reused: Sequence[int]
    hinted: Mapping[tuple[str, int], Any] = field(default_factory=dict)
    readable: Mapping[int, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, kernel: Kernel, place: Place, tiles: Mapping[int, Sequence[Any]], chunk: Chunk | None = None
    ) -> RowAccesses:
        """The accesses of a thread at its place to a ``chunk`` of its row, by default that of its CTA.

        ``tiles`` are those of the CTA, with their origins.
        """
        if chunk is None:
            chunk = chunk_of(kernel, kernel.arg("n_reduced"), kernel.arg("chunk"), always=not kernel.phases)
        begin = arith.addi(chunk.first, layout_of(kernel.plan).start(place.position, kernel))
        if is_shifted(kernel):
            lead = _lead(kernel, place)
            begin, chunk = arith.subi(begin, lead), _earlier(kernel, chunk, lead)
        if kernel.plan.walk == "blocked" and not kernel.plan.exchanges:
            begin, place = _existing_block(kernel, place, begin, chunk)
        reader = Reader(kernel, kernel.arg("count") if kernel.counted else None)
        own = {i: _start(kernel, place, _first(kernel, i, begin), i, *tile) for i, tile in tiles.items()}
        if tiles:
            aligned = [i for i, access in enumerate(kernel.facts.access) if access == "aligned"]
            counted = _counted(kernel, begin)
            own |= {i: _start(kernel, place, counted, i, kernel.arg("input", i)) for i in aligned}
        reused = sorted(buffers_of(kernel).reused.values()) if tiles else []
        return cls(kernel, place, chunk, begin, Values(kernel, place, reader, chunk), own, reused)

    def cached(self, policy: str) -> RowAccesses:
        """The same accesses, which tell the L2 cache by ``policy`` how long to keep the elements of rows."""
        kernel, pointer = self.kernel, ir.Type.parse("!llvm.ptr<1>")
        found: dict[tuple[str, int], Any] = {}
        outputs = [n for n, kind in enumerate(kernel.facts.stores) if kind != "kept"]
        for key in [*(("input", i) for i in kernel.facts.waiting), *(("output", n) for n in outputs)]:
            operands = [kernel.arg(*key)]
            found[key] = kernel.make_op("fold.cached", [pointer], operands, {"policy": policy}).results[0]
        return replace(self, hinted=found)

    def by_lines(self) -> RowAccesses:
        """The same accesses, where loads have the L2 cache read whole lines."""
        kernel, pointer = self.kernel, ir.Type.parse("!llvm.ptr<1>")
        found = {
            ("input", i): kernel.make_op(
                "fold.cached", [pointer], [kernel.arg("input", i)], {"policy": "whole_lines"}
            ).results[0]
            for i in kernel.facts.waiting
        }
        return replace(self, hinted=found)

    def before_loops(self) -> RowAccesses:
        """The same accesses in loops: what they can read beside the row is known before."""
        kinds = enumerate(self.kernel.facts.access)
        return replace(self, readable={i: _readable(self.kernel, i) for i, kind in kinds if kind in READ_BESIDE})

    def _after_layout(self, operand: int) -> list[Any]:
        """The operands of a load that follow those of its layout."""
        found = self.readable.get(operand)
        return _after_layout(self.kernel, operand) if found is None else [found]

    def pointer(self, role: str, number: int) -> Any:
        """The pointer to an input or an output."""
        return self.hinted.get((role, number)) or self.kernel.arg(role, number)

    def load(self, operand: int, t: Any, r: Any, *, whole: bool, inside: bool = False) -> Any:
        """The elements of an input in the access at ``r``, which lies in the row as a ``whole``, or else maybe not.

        ``inside`` says that the aligned accesses around it do.
        """
        kernel, access = self.kernel, self.kernel.facts.access[operand]
        if access == "number":
            return kernel.passed(operand, kernel.plan.vector)
        if operand in self.starts:
            rank, (at, layout, bounds) = self._from_start(operand, r, access)
            attributes = load_attributes(*rank, kernel.plan.fast, access)
        else:
            attributes = load_attributes(kernel.facts.kept_rank, kernel.facts.reduced_rank, kernel.plan.fast, access)
            at, bounds = [self.pointer("input", operand), self.place.start, r], [self.chunk.first, self.chunk.limit]
            layout = layout_of_operand(kernel, operand) + self._after_layout(operand)
        if whole and access != "unaligned":
            return kernel.make("fold.load", t, [*at, *layout], attributes, kernel.plan.vector)
        operands = [*at, *bounds, *layout]
        if inside and access == "unaligned" and operand not in kernel.facts.waiting:  # no result takes its place
            attributes["inside"] = True
        return kernel.make("fold.element_load", t, operands, attributes, kernel.plan.vector)

    def load_transposed(self, operand: int, t: Any) -> list[Any]:
        """The fragments of an input in each access of a block, which is read along the rows and transposed."""
        kernel, plan = self.kernel, self.kernel.plan
        layout, attributes = self._along_rows(operand, kernel.facts.access[operand])
        if kernel.facts.access[operand] == "whole":
            parts = [
                kernel.make("fold.load", t, [*self._part("input", operand, t, j), *layout], attributes, plan.vector)
                for j in range(plan.held)
            ]
            own = [x for part in parts for x in elements(part)]
            return [fragment(own[j :: plan.held]) for j in range(plan.held)]
        rows = []
        for k in range(plan.vector):
            at = [self._in_row("input", operand, operand, t, k), self.place.start, self.begin]
            rows.append(kernel.make("fold.load", t, [*at, *layout], attributes, plan.held))
        return _transposed(rows)

    def store_transposed(self, number: int, values: Sequence[Any]) -> None:
        """Writes a result along the rows, if ``values`` are its fragments in each access of a block."""
        kernel, plan, operand = self.kernel, self.kernel.plan, len(self.kernel.inputs) + number
        layout, attributes = self._along_rows(operand, kernel.facts.stores[number])
        values = [wide(value, plan.vector) for value in values]
        bounds = [self.chunk.first, self.chunk.limit, self.place.in_range]
        if kernel.facts.stores[number] in OF_BITS:
            self._store_bytes(number, _transposed(values))
            return
        if kernel.facts.stores[number] == "whole":
            own = [x for column in zip(*map(elements, values), strict=True) for x in column]
            for j in range(plan.held):
                part = fragment(own[j * plan.vector : (j + 1) * plan.vector])
                at = self._part("output", number, element(part.type), j)
                kernel.make_op("fold.element_store", [], [part, *at, *bounds, *layout], attributes | {"whole": True})
            return
        for k, row in enumerate(_transposed(values)):
            at = [self._in_row("output", number, operand, element(row.type), k), self.place.start, self.begin]
            kernel.make_op("fold.element_store", [], [row, *at, *bounds, *layout], attributes | {"whole": True})

    def _store_bytes(self, number: int, rows: Sequence[Any]) -> None:
        """Writes the bytes of a block's ``rows`` of truth values, and zeros up to the end of the last word.

        That is the word of the last row; or of each row, where all begin with a word.
        """
        kernel, operand, held = self.kernel, len(self.kernel.inputs) + number, self.kernel.plan.held
        layout, attributes = self._along_rows(operand, kernel.facts.stores[number])
        word, truth = ir.IntegerType.get_signless(WORD), ir.IntegerType.get_signless(1)
        pointers = [self._in_row("output", number, operand, truth, k) for k in range(len(rows))]

        def write(byte: Any, pointer: Any, r: Any, on: Any) -> None:
            operands = [byte, pointer, self.place.start, r, self.chunk.first, self.chunk.limit, on, *layout]
            kernel.make_op("fold.element_store", [], operands, attributes | {"whole": True, "own": held})

        for pointer, row in zip(pointers, rows, strict=True):
            byte = kernel.make_op("fold.ballot", [word], [row], {"word": "byte"}).results[0]
            write(byte, pointer, self.begin, self.place.in_range)
        behind = arith.addi(self.begin, kernel.number(held))
        ends = arith.cmpi(arith.CmpIPredicate.eq, behind, kernel.arg("n_reduced"))
        branch = scf.IfOp(arith.andi(ends, self.place.in_range))
        with ir.InsertionPoint(branch.then_block):
            none, total = kernel.number(0), arith.muli(kernel.arg("n_kept"), kernel.arg("n_reduced"))
            stride = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
            at = arith.addi(row_offset(kernel, self.place.start, operand), behind)
            apart = arith.cmpi(arith.CmpIPredicate.eq, arith.andi(stride, kernel.number(WORD - 1)), none)
            for k, pointer in enumerate(pointers):
                here = arith.addi(at, arith.muli(stride, kernel.number(k))) if k else at
                last = arith.ori(apart, arith.cmpi(arith.CmpIPredicate.eq, here, total))
                filled = arith.andi(here, kernel.number(WORD - 1))
                for left in range(WORD // held - 1, 0, -1):
                    some = arith.cmpi(arith.CmpIPredicate.sge, filled, kernel.number(held))
                    some = arith.andi(
                        some, arith.cmpi(arith.CmpIPredicate.sle, filled, kernel.number(WORD - held * left))
                    )
                    r = arith.addi(behind, kernel.number(held * (left - 1)))
                    write(arith.constant(word, 0), pointer, r, arith.andi(last, some))
            scf.YieldOp([])

    def _part(self, role: str, number: int, t: Any, j: int) -> list[Any]:
        """Where access ``j`` begins to a block whose elements follow each other: a pointer, and both indices."""
        kernel, ahead = self.kernel, self.kernel.number(j * self.kernel.plan.vector)
        return [address(kernel.arg(role, number), ahead, t), self.place.start, self.begin]

    def _along_rows(self, operand: int, access: str) -> tuple[list[Any], dict[str, Any]]:
        """The layout and the attributes of an access along the rows."""
        facts, own = self.kernel.facts, "bits" if access in OF_BITS else "aligned"
        attributes = load_attributes(facts.kept_rank, facts.reduced_rank, "reduced", own)
        return layout_of_operand(self.kernel, operand), attributes

    def _in_row(self, role: str, number: int, operand: int, t: Any, k: int) -> Any:
        """The pointer from which an element of row ``k`` of a block is as far as one of row 0 is from the array.

        Rows of bits begin with a byte.
        """
        kernel, array = self.kernel, self.kernel.arg(role, number)
        stride = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
        ahead = arith.muli(stride, kernel.number(k))
        if (*kernel.facts.access, *kernel.facts.stores)[operand] in OF_BITS:
            byte = ir.IntegerType.get_signless(BYTE)
            t, ahead = byte, arith.shrsi(ahead, kernel.number(BYTE.bit_length() - 1))
        return address(array, ahead, t) if k else array

    def _from_start(self, operand: int, r: Any, access: str) -> tuple[tuple[int, int], tuple[list[Any], ...]]:
        """The ranks of the layout of an access from ``starts`` on; where ``r`` is, the layout, the row's bounds."""
        kernel, zero = self.kernel, self.kernel.number(0)
        bounds = [self.chunk.first, self.chunk.limit]
        if access == "tile_strided":
            reduced = range(kernel.facts.reduced_rank)
            layout = [
                *kernel.dims("reduced_size", 0, reduced[1:]),
                zero,
                *kernel.dims("reduced_stride", operand, reduced),
            ]
            return (1, len(reduced)), ([self.starts[operand], zero, r], [*layout, zero], bounds)
        counted = _counted(kernel, self.begin)
        bounds = [arith.subi(bound, counted) for bound in bounds]
        layout = [zero, kernel.number(1), *([zero] if access in IN_TILE else [])]
        return (1, 1), ([self.starts[operand], zero, arith.subi(r, counted)], layout, bounds)

    def hold(self, operand: int, t: Any, *, walked: bool = False, start: int | None = None) -> Any:
        """The slots in shared memory into which the thread copies its accesses of an input: all, or those there are.

        They begin at the byte ``start``, or where the slots of other inputs end. With ``start`` there may be no row.
        """
        kernel, plan, facts = self.kernel, self.kernel.plan, self.kernel.facts
        layout = layout_of_operand(kernel, operand) + _after_layout(kernel, operand)
        attributes: dict[str, Any] = load_attributes(
            facts.kept_rank, facts.reduced_rank, plan.fast, facts.access[operand]
        )
        attributes |= {"step": layout_of(plan).step, "slots": plan.held, "threads": plan.threads}
        attributes |= {"vector": plan.vector, "item": bytes_of(memory_type(t)), "whole": facts.full}
        attributes |= {"walked": True, **self.alternating(operand)} if walked else {}
        attributes |= {} if start is None else {"start": start, "whole": False}
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        operands = [
            self.pointer("input", operand),
            self.place.start,
            self.begin,
            self.chunk.first,
            self.chunk.limit,
            thread,
        ]
        pointer = ir.Type.parse("!llvm.ptr<3>")
        return kernel.make_op("fold.hold", [pointer], [*operands, *layout], attributes).results[0]

    def alternating(self, operand: int) -> dict[str, int]:
        """Where the slots of an input lie that a loop walks, if several inputs wait: those of all inputs alternate.

        So the bytes of all slots follow from the accesses of the launch.
        """
        kernel, waiting = self.kernel, self.kernel.facts.waiting
        if len(waiting) == 1:
            return {}
        each = kernel.plan.threads * kernel.plan.vector
        nbytes = {i: each * bytes_of(memory_type(element(kernel.inputs[i].type))) for i in waiting}
        return {"start": sum(n for i, n in nbytes.items() if i < operand), "pitch": sum(nbytes.values())}

    def live(self, r: Any, *, begins: bool = True) -> Any:
        """Which elements of the access at ``r`` lie in the row: one truth value for all, or one each.

        ``begins`` says whether the access may begin before the row.
        """
        kernel, plan = self.kernel, self.kernel.plan
        if plan.vector_reduced == 1 or not is_cut(kernel):
            return kernel.less(r, self.chunk.limit)
        t = with_shape(kernel.index, plan.vector)
        numbers = [ir.IntegerAttr.get(kernel.index, k) for k in range(plan.vector)]
        at = arith.addi(splat(r, plan.vector), arith.constant(t, ir.DenseElementsAttr.get(numbers, t)))
        first, limit = (splat(x, plan.vector) for x in (self.chunk.first, self.chunk.limit))
        high = arith.cmpi(arith.CmpIPredicate.slt, at, limit)
        return arith.andi(arith.cmpi(arith.CmpIPredicate.sge, at, first), high) if begins else high

    def store(self, number: int, value: Any, r: Any, *, whole: bool) -> None:
        """Writes the elements of a result in the access at ``r``."""
        kernel, access = self.kernel, self.kernel.facts.stores[number]
        operand = len(kernel.inputs) + number
        if operand in self.starts:
            rank, (at, layout, bounds) = self._from_start(operand, r, access)
        else:
            rank = (kernel.facts.kept_rank, kernel.facts.reduced_rank)
            at, bounds = [self.pointer("output", number), self.place.start, r], [self.chunk.first, self.chunk.limit]
            layout = layout_of_operand(kernel, operand)
        value = wide(value, kernel.plan.vector)
        if access in OF_BITS:
            value, access = self.ballot(value, r, whole=whole), "bits"
        attributes = load_attributes(*rank, kernel.plan.fast, access) | {"whole": whole}
        attributes |= {"neighbours": kernel.plan.lanes} if access == "unaligned" else {}
        attributes |= {"own": kernel.plan.vector} if access == "bits" and kernel.plan.word == "byte" else {}
        here = self._owns(operand, r, element(value.type)) if kernel.plan.overlap else self.place.in_range
        operands = [value, *at, *bounds, here, *layout]
        kernel.make_op("fold.element_store", [], operands, attributes)

    def _owns(self, operand: int, r: Any, t: Any) -> Any:
        """Whether the thread writes its elements of a result of type ``t`` at ``r``.

        Their sector then begins among the CTA's own results, or before the row of results.
        """
        kernel, place, item = self.kernel, self.place, bytes_of(memory_type(t))
        kept, reduced = range(kernel.facts.kept_rank), range(kernel.facts.reduced_rank)
        along = coordinates(place.kept, kernel.dims("kept_size", 0, kept[1:]), len(kept))
        along += coordinates(r, kernel.dims("reduced_size", 0, reduced[1:]), len(reduced))
        strides = kernel.dims("kept_stride", operand, kept) + kernel.dims("reduced_stride", operand, reduced)
        at = reduce(arith.addi, (arith.muli(*pair) for pair in zip(along, strides, strict=True)))
        operands = [kernel.arg("output", operand - len(kernel.inputs)), at, kernel.number(1)]
        attributes = {"lanes": SECTOR // item, "bytes": item, "kept_rank": 1, "reduced_rank": 0}
        past = kernel.make("fold.lead", kernel.index, operands, attributes, 1)
        first = arith.subi(place.slot, arith.minsi(past, along[len(kept) - 1]))
        own = arith.cmpi(arith.CmpIPredicate.ult, first, kernel.number(kernel.plan.own))
        return arith.andi(own, place.in_range)

    def ballot(self, mask: Any, r: Any, *, whole: bool) -> Any:
        """The words of truth values in the access at ``r``, with zeros for elements beyond the row."""
        if not whole:
            mask = arith.andi(mask, wide(self.live(r), self.kernel.plan.vector))
        word, how = ir.IntegerType.get_signless(WORD), self.kernel.plan.word
        return self.kernel.make_op("fold.ballot", [word], [mask], {"word": how} if how else {}).results[0]

    def store_rows(self, results: Sequence[tuple[int, Any]]) -> None:
        """Writes results that have a value for each row.

        One that needs arrays of which nothing was read yet is made by the thread that writes it, and by no other. So it
        may take the place of such an array.
        """
        for number, result in results:
            known = self.values.kept
            if any(isinstance(v, ir.BlockArgument) for v in postorder([result], operands_of, known)):
                branch = scf.IfOp(self.place.owner)
                with ir.InsertionPoint(branch.then_block):
                    own = replace(self.values, kept=ChainMap({}, known))
                    self._store_kept(number, own.fragment(result, {}, None, None))
                    scf.YieldOp([])
            else:
                self._store_kept(number, self.values.fragment(result, {}, None, None))

    def _store_kept(self, number: int, value: Any) -> None:
        """Writes the value of a result for each row."""
        kernel, place, dims = self.kernel, self.place, range(self.kernel.facts.kept_rank)
        layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", len(kernel.inputs) + number, dims)
        attributes = {"kept_rank": len(dims), "reduced_rank": 0, "vector": kernel.facts.store_vector}
        value = wide(value, place.plan.vector_kept)
        operands = [value, kernel.arg("output", number), place.kept, place.owner, *layout]
        kernel.make_op("fold.store", [], operands, attributes)


def _existing_block(kernel: Kernel, place: Place, begin: Any, chunk: Chunk) -> tuple[Any, Place]:
    """Where the block of a thread begins, and its place: a block beyond the chunk is the last one, and not written."""
    here = arith.andi(place.in_range, kernel.less(begin, chunk.limit))
    last = arith.subi(kernel.arg("n_reduced"), kernel.number(kernel.plan.held))
    return arith.minsi(begin, last), replace(place, in_range=here)


def _transposed(rows: Sequence[Any]) -> list[Any]:
    """The columns of fragments that are the rows of a block."""
    return [fragment(list(column)) for column in zip(*(elements(row) for row in rows), strict=True)]


def _after_layout(kernel: Kernel, operand: int) -> list[Any]:
    """The operands of an element load that follow those of its layout."""
    return [_readable(kernel, operand)] if kernel.facts.access[operand] in READ_BESIDE else []


def _readable(kernel: Kernel, operand: int) -> Any:
    """How many elements from an input's first one on can be read beside the row.

    They are those of the array, or none if a result takes its place.
    """
    i64 = ir.IntegerType.get_signless(64)
    taken: Any = None
    for number in range(len(kernel.results)):
        places = [llvm.ptrtoint(i64, kernel.arg(*arg)) for arg in (("input", operand), ("output", number))]
        same = arith.cmpi(arith.CmpIPredicate.eq, *places)
        taken = same if taken is None else arith.ori(taken, same)
    return arith.select(taken, kernel.number(0), extent(kernel, operand))


def wide(value: Any, lanes: int) -> Any:
    """A value as a fragment of ``lanes`` elements."""
    return value if width(value.type) == lanes else vector.broadcast(with_shape(value.type, lanes), value)


def is_shifted(kernel: Kernel) -> bool:
    """Whether accesses begin at the boundary before the row."""
    return "shifted" in (*kernel.facts.access, *kernel.facts.stores)


def is_cut(kernel: Kernel) -> bool:
    """Whether an end of the row may cut an access."""
    names = {*kernel.facts.access, *kernel.facts.stores}
    whole = {"aligned", "reversed", "uniform"}
    return is_shifted(kernel) or (names.isdisjoint(whole) and not names <= {"kept", "gathered", "number"})


def _earlier(kernel: Kernel, chunk: Chunk, lead: Any) -> Chunk:
    """The elements that a CTA owns of a row that CTAs share, where all accesses begin ``lead`` elements early."""
    if kernel.phases and kernel.plan.cluster == 1 and not kernel.plan.is_far:
        return chunk
    first = arith.subi(chunk.first, lead)
    limit = arith.minsi(arith.addi(first, chunk.length), kernel.arg("n_reduced"))
    return chunk._replace(first=arith.maxsi(first, kernel.number(0)), limit=limit)


def _first(kernel: Kernel, operand: int, begin: Any) -> Any:
    """From where in a row the accesses to an operand in a tile are counted: its elements may lie apart."""
    accesses = (*kernel.facts.access, *kernel.facts.stores)
    return _counted(kernel, begin) if accesses[operand] == "tile" else kernel.number(0)


def _counted(kernel: Kernel, begin: Any) -> Any:
    """From where accesses to dense rows are counted.

    Accesses that are values of the kernel are at constant distances from the thread's first one. A loop has the bounds
    of the row, so it counts from the row's first element.
    """
    return kernel.number(0) if kernel.plan.waits_in_tile else begin


def _start(kernel: Kernel, place: Place, begin: Any, operand: int, base: Any, origin: Any = None) -> Any:
    """Where element ``begin`` of a thread's row is in an operand, in which element ``origin`` lies at ``base``."""
    index = arith.addi(row_offset(kernel, place.start, operand), begin)
    index = index if origin is None else arith.subi(index, origin)
    return address(base, index, element([*kernel.inputs, *kernel.results][operand].type))


def layout_of_operand(kernel: Kernel, operand: int) -> list[Any]:
    """The sizes of all dims but the outermost ones, and the strides of an operand."""
    kept, reduced = range(kernel.facts.kept_rank), range(kernel.facts.reduced_rank)
    found = kernel.dims("kept_size", 0, kept[1:]) + kernel.dims("reduced_size", 0, reduced[1:])
    return found + kernel.dims("kept_stride", operand, kept) + kernel.dims("reduced_stride", operand, reduced)


def _lead(kernel: Kernel, place: Place) -> Any:
    """How many elements the row begins after a boundary, in the first array with shifted rows."""
    names = (*kernel.facts.access, *kernel.facts.stores)
    operand = names.index("shifted")
    tensors = [*kernel.inputs, *kernel.results]
    role, number = ("input", operand) if operand < len(kernel.inputs) else ("output", operand - len(kernel.inputs))
    dims = range(kernel.facts.kept_rank)
    layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", operand, dims)
    return lead_of(kernel, element(tensors[operand].type), kernel.arg(role, number), place.start, layout)
