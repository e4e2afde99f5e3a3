"""A thread's accesses to the row that it shares: which elements they hold, how these are read, and how written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....compiler.ir.build import bytes_of, memory_type
from ....compiler.ir.combine import splat, width, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, gpu, ir, vector
from ....compiler.plan.layout import layout_of
from ..kernel import Kernel, load_attributes
from ..place import Place, lead_of
from ..reader import Reader, extent
from ..walk import Chunk, chunk_of
from .values import Values


@dataclass(frozen=True, eq=False)
class RowAccesses:
    """The accesses of a thread to its row.

    Attributes:
        kernel, place: the kernel, and the thread's place.
        chunk: the elements of the row that the CTA owns.
        begin: the reduced index at which the first access begins; it may lie before the row.
        values: what the thread knows of the program's tensors.
    """

    kernel: Kernel
    place: Place
    chunk: Chunk
    begin: Any
    values: Values

    @classmethod
    def of(cls, kernel: Kernel, place: Place) -> RowAccesses:
        """The accesses of a thread at its place."""
        chunk = chunk_of(kernel, kernel.arg("n_reduced"), kernel.arg("chunk"), always=not kernel.phases)
        begin = arith.addi(chunk.first, layout_of(kernel.plan).start(place.position, kernel))
        if is_shifted(kernel):
            lead = _lead(kernel, place)
            begin, chunk = arith.subi(begin, lead), _earlier(kernel, chunk, lead)
        reader = Reader(kernel, kernel.arg("count") if kernel.counted else None)
        return cls(kernel, place, chunk, begin, Values(kernel, place, reader, chunk))

    def load(self, operand: int, t: Any, r: Any, *, whole: bool) -> Any:
        """The elements of an input in the access at ``r``, which lies in the row as a ``whole``, or else maybe not."""
        kernel, access = self.kernel, self.kernel.facts.access[operand]
        layout = _layout(kernel, operand)
        layout += [extent(kernel, operand)] if access == "shifted" else []
        rank = (kernel.facts.kept_rank, kernel.facts.reduced_rank)
        attributes = load_attributes(*rank, kernel.plan.fast, access)
        at = [kernel.arg("input", operand), self.place.start, r]
        if whole:
            return kernel.make("fold.load", t, [*at, *layout], attributes, kernel.plan.vector)
        operands = [*at, self.chunk.first, self.chunk.limit, *layout]
        return kernel.make("fold.element_load", t, operands, attributes, kernel.plan.vector)

    def hold(self, operand: int, t: Any) -> Any:
        """The slots in shared memory into which the thread copies its accesses of an input."""
        kernel, plan, facts = self.kernel, self.kernel.plan, self.kernel.facts
        layout = _layout(kernel, operand)
        layout += [extent(kernel, operand)] if facts.access[operand] == "shifted" else []
        attributes: dict[str, Any] = load_attributes(
            facts.kept_rank, facts.reduced_rank, plan.fast, facts.access[operand]
        )
        attributes |= {"step": layout_of(plan).step, "slots": plan.held, "threads": plan.threads}
        attributes |= {"vector": plan.vector, "item": bytes_of(memory_type(t)), "whole": facts.full}
        thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
        operands = [
            kernel.arg("input", operand),
            self.place.start,
            self.begin,
            self.chunk.first,
            self.chunk.limit,
            thread,
        ]
        pointer = ir.Type.parse("!llvm.ptr<3>")
        return kernel.make_op("fold.hold", [pointer], [*operands, *layout], attributes).results[0]

    def live(self, r: Any) -> Any:
        """Which elements of the access at ``r`` lie in the row: one truth value for all, or one each."""
        kernel, plan = self.kernel, self.kernel.plan
        if plan.vector_reduced == 1 or not is_cut(kernel):
            return kernel.less(r, self.chunk.limit)
        t = with_shape(kernel.index, plan.vector)
        numbers = [ir.IntegerAttr.get(kernel.index, k) for k in range(plan.vector)]
        at = arith.addi(splat(r, plan.vector), arith.constant(t, ir.DenseElementsAttr.get(numbers, t)))
        first, limit = (splat(x, plan.vector) for x in (self.chunk.first, self.chunk.limit))
        low = arith.cmpi(arith.CmpIPredicate.sge, at, first)
        return arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, at, limit))

    def store(self, number: int, value: Any, r: Any, *, whole: bool) -> None:
        """Writes the elements of a result in the access at ``r``."""
        kernel, access = self.kernel, self.kernel.facts.stores[number]
        rank = (kernel.facts.kept_rank, kernel.facts.reduced_rank)
        attributes = load_attributes(*rank, kernel.plan.fast, access) | {"whole": whole}
        operands = [wide(value, kernel.plan.vector), kernel.arg("output", number), self.place.start, r]
        operands += [self.chunk.first, self.chunk.limit, self.place.in_range]
        operands += _layout(kernel, len(kernel.inputs) + number)
        kernel.make_op("fold.element_store", [], operands, attributes)

    def store_kept(self, number: int, value: Any) -> None:
        """Writes the value of a result for each row."""
        kernel, place, dims = self.kernel, self.place, range(self.kernel.facts.kept_rank)
        layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", len(kernel.inputs) + number, dims)
        attributes = {"kept_rank": len(dims), "reduced_rank": 0, "vector": kernel.facts.store_vector}
        value = wide(value, place.plan.vector_kept)
        operands = [value, kernel.arg("output", number), place.kept, place.owner, *layout]
        kernel.make_op("fold.store", [], operands, attributes)


def wide(value: Any, lanes: int) -> Any:
    """A value as a fragment of ``lanes`` elements."""
    return value if width(value.type) == lanes else vector.broadcast(with_shape(value.type, lanes), value)


def is_shifted(kernel: Kernel) -> bool:
    """Whether accesses begin at the boundary before the row."""
    return "shifted" in (*kernel.facts.access, *kernel.facts.stores)


def is_cut(kernel: Kernel) -> bool:
    """Whether an end of the row may cut an access."""
    names = (*kernel.facts.access, *kernel.facts.stores)
    return is_shifted(kernel) or not {"aligned", "uniform", "kept", "gathered"}.issuperset(names)


def _earlier(kernel: Kernel, chunk: Chunk, lead: Any) -> Chunk:
    """The elements that a CTA owns of a row that CTAs share, where all accesses begin ``lead`` elements early."""
    if kernel.phases and kernel.plan.cluster == 1:
        return chunk
    first = arith.subi(chunk.first, lead)
    limit = arith.minsi(arith.addi(first, chunk.length), kernel.arg("n_reduced"))
    return chunk._replace(first=arith.maxsi(first, kernel.number(0)), limit=limit)


def _layout(kernel: Kernel, operand: int) -> list[Any]:
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
