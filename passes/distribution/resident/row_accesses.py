"""A thread's accesses to the row that it shares: which elements they hold, and how these are read.

Where the accesses of a thread to its row begin, and from where they are counted.

The slots in shared memory into which a thread copies what it keeps of its row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....compiler.ir.build import address, bytes_of, memory_type
from ....compiler.ir.combine import splat, width, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, vector
from ....compiler.plan.fields import IN_TILE
from ....compiler.plan.layout import layout_of
from ..kernel import Kernel, load_attributes
from ..place import Place, Row, lanes_of, lead_of
from ..reader import Reader, extent
from ..walk import Chunk, chunk_of
from .row_tiles import buffers_of, row_offset
from .values import EarlyColumns, Values


def existing_block(kernel: Kernel, place: Place, begin: Any, chunk: Chunk) -> tuple[Any, Place]:
    """Where the block of a thread begins, and its place: a block beyond the chunk is the last one, and not written."""
    here = arith.andi(place.in_range, kernel.less(begin, chunk.limit))
    last = arith.subi(kernel.arg("n_reduced"), kernel.number(kernel.plan.held))
    return arith.minsi(begin, last), replace(place, in_range=here)


def is_shifted(kernel: Kernel) -> bool:
    """Whether accesses begin at the boundary before the row."""
    return "shifted" in (*kernel.facts.access, *kernel.facts.stores) and not kernel.plan.exchanges


def earlier(kernel: Kernel, chunk: Chunk, lead: Any) -> Chunk:
    """The elements that a CTA owns of a row that CTAs share, where all accesses begin ``lead`` elements early."""
    if kernel.phases and kernel.plan.cluster == 1 and not kernel.plan.is_far:
        return chunk
    first = arith.subi(chunk.first, lead)
    limit = arith.minsi(arith.addi(first, chunk.length), kernel.arg("n_reduced"))
    return chunk._replace(first=arith.maxsi(first, kernel.number(0)), limit=limit)


def first_of(kernel: Kernel, operand: int, begin: Any) -> Any:
    """From where in a row the accesses to an operand in a tile are counted: its elements may lie apart."""
    accesses = (*kernel.facts.access, *kernel.facts.stores)
    return counted_from(kernel, begin) if accesses[operand] == "tile" else kernel.number(0)


def counted_from(kernel: Kernel, begin: Any) -> Any:
    """From where accesses to dense rows are counted.

    Accesses that are values of the kernel are at constant distances from the thread's first one. A loop has the bounds
    of the row, so it counts from the row's first element.
    """
    return kernel.number(0) if kernel.plan.waits_in_tile else begin


def start_of(kernel: Kernel, place: Place, begin: Any, operand: int, base: Any, origin: Any = None) -> Any:
    """Where element ``begin`` of a thread's row is in an operand, in which element ``origin`` lies at ``base``."""
    index = arith.addi(row_offset(kernel, place.start, operand), begin)
    index = index if origin is None else arith.subi(index, origin)
    return address(base, index, element([*kernel.inputs, *kernel.results][operand].type))


def lead_of_row(kernel: Kernel, place: Place) -> Any:
    """How many elements the row begins after a boundary of all arrays with shifted rows.

    Of elements so wide that an access of the plan is several of memory, boundaries lie closer: those of the narrowest
    elements are boundaries of all.
    """
    names = (*kernel.facts.access, *kernel.facts.stores)
    tensors = [*kernel.inputs, *kernel.results]
    shifted = [i for i, name in enumerate(names) if name == "shifted"]
    operand = max(shifted, key=lambda i: lanes_of(kernel, element(tensors[i].type)))
    role, number = ("input", operand) if operand < len(kernel.inputs) else ("output", operand - len(kernel.inputs))
    dims = range(kernel.facts.kept_rank)
    layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", operand, dims)
    return lead_of(kernel, element(tensors[operand].type), kernel.arg(role, number), place.start, layout)


def hold(
    row: RowAccesses, operand: int, t: Any, *,
    walked: bool = False, start: int | None = None, later: bool = False, moved: Any = None,
    zeros: bool = False, once: bool = False,
) -> Any:  # fmt: skip
    """The slots in shared memory into which the thread copies its accesses of an input: all, or those there are.

    They begin at the byte ``start``, or where the slots of other inputs end. With ``start`` there may be no row. Those
    that are read ``later`` are in a loop whose next turn reads them. They may be ``moved`` by so many threads. Where
    no ``cp.async`` copies them, ``zeros`` may lie beside the row. What the kernel does ``once`` is short code.
    """
    kernel, plan, facts = row.kernel, row.kernel.plan, row.kernel.facts
    layout = layout_of_operand(kernel, operand) + after_layout(kernel, operand)
    attributes: dict[str, Any] = load_attributes(facts.kept_rank, facts.reduced_rank, plan.fast, facts.access[operand])
    attributes |= {"step": layout_of(plan).step, "slots": plan.held, "threads": plan.threads}
    attributes |= {"vector": plan.vector, "item": bytes_of(memory_type(t)), "whole": facts.full}
    attributes |= {"walked": True, **alternating(row, operand)} if walked else {}
    attributes |= {} if start is None else {"start": start, "whole": False}
    attributes |= {"later": True} if later else {}
    attributes |= {"zeros": True} if zeros else {}
    attributes |= {"once": True} if once else {}
    thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
    thread = thread if moved is None else arith.addi(thread, moved)
    operands = [
        row.pointer("input", operand),
        row.place.start,
        row.begin,
        row.chunk.first,
        row.chunk.limit,
        thread,
    ]
    pointer = ir.Type.parse("!llvm.ptr<3>")
    return kernel.make_op("fold.hold", [pointer], [*operands, *layout], attributes).results[0]


def alternating(row: RowAccesses, operand: int) -> dict[str, int]:
    """Where the slots of an input lie that a loop walks, if several inputs wait: those of all inputs alternate.

    So the bytes of all slots follow from the accesses of the launch.
    """
    kernel, waiting = row.kernel, row.kernel.facts.waiting
    if len(waiting) == 1:
        return {}
    each = kernel.plan.threads * kernel.plan.vector
    nbytes = {i: each * bytes_of(memory_type(element(kernel.inputs[i].type))) for i in waiting}
    return {"start": sum(n for i, n in nbytes.items() if i < operand), "pitch": sum(nbytes.values())}


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
        columns: the columns of the thread, where CTAs exchange what lies across these.
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
    columns: EarlyColumns | None = None

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        place: Place,
        tiles: Mapping[int, Sequence[Any]],
        chunk: Chunk | None = None,
        results: Row | None = None,
    ) -> RowAccesses:
        """The accesses of a thread at its place to a ``chunk`` of its row, by default that of its CTA.

        ``tiles`` are those of the CTA, with their origins. Where CTAs exchange arrays, ``results`` are the row in which
        those of the CTA are columns.
        """
        if chunk is None:
            chunk = chunk_of(kernel, kernel.arg("n_reduced"), kernel.arg("chunk"), always=not kernel.phases)
        begin = arith.addi(chunk.first, layout_of(kernel.plan).start(place.position, kernel))
        if is_shifted(kernel):
            lead = lead_of_row(kernel, place)
            begin, chunk = arith.subi(begin, lead), earlier(kernel, chunk, lead)
        columns = None
        if kernel.plan.exchanges and results:
            columns = EarlyColumns.of(kernel, results, place, begin, chunk.limit)
            place = replace(place, start=columns.first)
        elif kernel.plan.walk == "blocked":
            begin, place = existing_block(kernel, place, begin, chunk)
        reader = Reader(kernel, kernel.arg("count") if kernel.counted else None)
        own = {i: start_of(kernel, place, first_of(kernel, i, begin), i, *tile) for i, tile in tiles.items()}
        if tiles:
            aligned = [i for i, access in enumerate(kernel.facts.access) if access == "aligned"]
            counted = counted_from(kernel, begin)
            own |= {i: start_of(kernel, place, counted, i, kernel.arg("input", i)) for i in aligned}
        reused = sorted(buffers_of(kernel).reused.values()) if tiles else []
        values = Values(kernel, place, reader, chunk, columns)
        return cls(kernel, place, chunk, begin, values, own, reused, columns=columns)

    def cached(self, policy: str, inputs: Sequence[int] | None = None) -> RowAccesses:
        """The same accesses, which tell the L2 cache by ``policy`` how long to keep the elements of rows.

        Loads of the ``inputs`` do so, by default those whose elements wait.
        """
        kernel, pointer = self.kernel, ir.Type.parse("!llvm.ptr<1>")
        found: dict[tuple[str, int], Any] = {}
        outputs = [n for n, kind in enumerate(kernel.facts.stores) if kind != "kept"]
        inputs = kernel.facts.waiting if inputs is None else inputs
        for key in [*(("input", i) for i in inputs), *(("output", n) for n in outputs)]:
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
        return after_layout(self.kernel, operand) if found is None else [found]

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
            rank, (at, layout, bounds) = self.from_start(operand, r, access)
            attributes = load_attributes(*rank, kernel.plan.fast, access)
        else:
            attributes = load_attributes(*ranks_of(kernel, operand), kernel.plan.fast, access)
            at, bounds = [self.pointer("input", operand), self.place.start, r], [self.chunk.first, self.chunk.limit]
            layout = layout_of_operand(kernel, operand) + self._after_layout(operand)
        if whole and access not in ("unaligned", "split"):
            if kernel.plan.reads == "ahead" and not kernel.plan.takes_side:
                attributes["in_order"] = True
            return kernel.make("fold.load", t, [*at, *layout], attributes, kernel.plan.vector)
        operands = [*at, *bounds, *layout]
        if not is_cut(kernel):
            attributes["uncut"] = True
        if access == "split":
            attributes["part"] = kernel.facts.part
        if inside and access == "unaligned" and operand not in kernel.facts.waiting:  # no result takes its place
            attributes["inside"] = True
        return kernel.make("fold.element_load", t, operands, attributes, kernel.plan.vector)

    def from_start(self, operand: int, r: Any, access: str) -> tuple[tuple[int, int], tuple[list[Any], ...]]:
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
        counted = counted_from(kernel, self.begin)
        bounds = [arith.subi(bound, counted) for bound in bounds]
        layout = [zero, kernel.number(1), *([zero] if access in IN_TILE else [])]
        return (1, 1), ([self.starts[operand], zero, arith.subi(r, counted)], layout, bounds)

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


def after_layout(kernel: Kernel, operand: int) -> list[Any]:
    """The operands of an element load that follow those of its layout."""
    if kernel.facts.access[operand] == "split":
        return [kernel.arg("n_reduced")]
    return [_readable(kernel, operand)] if kernel.facts.access[operand] in READ_BESIDE else []


def _readable(kernel: Kernel, operand: int) -> Any:
    """How many elements from an input's first one on can be read beside the row.

    They are those of the array, or none if a result takes its place.
    """
    return arith.select(kernel.is_replaced(operand), kernel.number(0), extent(kernel, operand))


def wide(value: Any, lanes: int) -> Any:
    """A value as a fragment of ``lanes`` elements."""
    return value if width(value.type) == lanes else vector.broadcast(with_shape(value.type, lanes), value)


def is_cut(kernel: Kernel) -> bool:
    """Whether an end of the row may cut an access."""
    names = {*kernel.facts.access, *kernel.facts.stores}
    whole = {"aligned", "reversed", "uniform"}
    return is_shifted(kernel) or (names.isdisjoint(whole) and not names <= {"kept", "gathered", "number"})


def ranks_of(kernel: Kernel, operand: int) -> tuple[int, int]:
    """The kept and the reduced dims of an operand's layout: a run has one reduced dim, the innermost one."""
    return kernel.facts.kept_rank, 1 if operand in kernel.facts.runs else kernel.facts.reduced_rank


def layout_of_operand(kernel: Kernel, operand: int) -> list[Any]:
    """The sizes of all dims but the outermost ones, and the strides of an operand."""
    kept_rank, rank = ranks_of(kernel, operand)
    kept, reduced = range(kept_rank), range(kernel.facts.reduced_rank)[-rank:]
    found = kernel.dims("kept_size", 0, kept[1:]) + kernel.dims("reduced_size", 0, reduced[1:])
    return found + kernel.dims("kept_stride", operand, kept) + kernel.dims("reduced_stride", operand, reduced)
