"""What a thread knows of the tensors of a program that reads its rows again: fragments by access, and values by row.

Accesses along results that begin at a boundary in each row, where arrays lie across these.

The columns of a CTA are then other ones in each row: they begin up to a sector of memory earlier. A row may begin
within the first access of its first CTA, and end within one of its last. So memory gets whole sectors, and no thread
writes elements of another one. All accesses of a thread are to rows that begin equally far after a boundary.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ....compiler.ir.build import bytes_of, memory_type
from ....compiler.ir.combine import width, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, vector
from ....compiler.plan import tiles
from ....compiler.postorder import postorder
from ..kernel import Kernel, load_attributes
from ..place import Place, Row
from ..reader import Reader, extent, operands_of
from ..walk import Chunk


@dataclass(frozen=True, eq=False)
class EarlyColumns:
    """The columns of a thread.

    Attributes:
        kernel, row: the kernel, and the row of results in which the columns are.
        limit: the end of the rows that the CTA has.
        first: the first one, which may be negative.
        own: whether no other CTA writes them.
    """

    kernel: Kernel
    row: Row
    limit: Any
    first: Any
    own: Any

    @classmethod
    def of(cls, kernel: Kernel, row: Row, place: Place, begin: Any, limit: Any) -> EarlyColumns:
        """The columns of a thread at its place, whose first access is to row ``begin`` of those before ``limit``."""
        own = kernel.less(place.slot, kernel.number(kernel.plan.own)) if kernel.plan.overlap else kernel.yes()
        found = cls(kernel, row, limit, place.kept, own)
        return replace(found, first=arith.subi(place.kept, found.lead(begin)))

    def lead(self, r: Any) -> Any:
        """By how many elements the columns begin early in row ``r``."""
        kernel = self.kernel
        early = tiles.early(kernel.plan, kernel.facts.stores)
        if not early:
            return kernel.number(0)
        number = kernel.facts.stores.index("shifted")
        operand, t = len(kernel.inputs) + number, element(kernel.results[number].type)
        base = self.row.start(kernel.arg("output", number), operand, t)
        attributes = {"lanes": early + 1, "bytes": bytes_of(memory_type(t))}
        attributes |= {"kept_rank": 1, "reduced_rank": 0}
        stride = kernel.arg("reduced_stride", operand, 0)
        return kernel.make("fold.lead", kernel.index, [base, r, stride], attributes, 1)

    def load(self, operand: int, t: Any, r: Any) -> Any:
        """The elements of an input in row ``r``, or in all rows of one without reduced dims, where ``r`` is None."""
        kernel, kind = self.kernel, self.kernel.facts.access[operand]
        if kind == "number":
            return kernel.passed(operand, kernel.plan.vector)
        base = self.row.start(kernel.arg("input", operand), operand, t)
        at, apart = kernel.number(0), kernel.number(0)
        bounds, kind = self._bounds(), "strided" if kind == "kept" else kind
        if r is not None:
            at = arith.minsi(r, arith.subi(self.limit, kernel.number(1)))
            apart = kernel.arg("reduced_stride", operand, 0)
        beside = []
        if kind in ("shifted", "unaligned"):  # the last row, in place of one beyond, begins elsewhere
            here, at = kernel.less(r, self.limit), r
            bounds[-1], *beside = (
                arith.select(here, n, kernel.number(0)) for n in (bounds[-1], self._readable(operand))
            )
        inner = kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1)
        attributes = load_attributes(1, 1, "reduced", kind)
        operands = [base, at, *bounds, apart, inner, *beside]
        return kernel.make("fold.element_load", t, operands, attributes, kernel.plan.vector)

    def store(self, number: int, value: Any, r: Any) -> None:
        """Writes the elements of a result in row ``r``."""
        kernel, operand = self.kernel, len(self.kernel.inputs) + number
        lanes = kernel.plan.vector
        value = value if width(value.type) == lanes else vector.broadcast(with_shape(value.type, lanes), value)
        base = self.row.start(kernel.arg("output", number), operand, element(value.type))
        layout = [
            kernel.arg("reduced_stride", operand, 0),
            kernel.arg("kept_stride", operand, kernel.facts.kept_rank - 1),
        ]
        attributes = load_attributes(1, 1, "reduced", kernel.facts.stores[number]) | {"whole": False}
        here = arith.andi(kernel.less(r, self.limit), self.own)
        operands = [value, base, r, *self._bounds(), here, *layout]
        kernel.make_op("fold.element_store", [], operands, attributes)

    def _bounds(self) -> list[Any]:
        """The first column, and the bounds of those of the row."""
        return [self.first, self.kernel.number(0), self.row.columns]

    def _readable(self, operand: int) -> Any:
        """How many elements of an input from the row's first one on can be read; none if a result takes its place."""
        kernel = self.kernel
        found = arith.subi(extent(kernel, operand), self.row.before(operand))
        return arith.select(kernel.is_replaced(operand), kernel.number(0), found)


Numbered = list[tuple[int, Any]]
"""Results with their numbers."""


class Source(NamedTuple):
    """What makes a tensor.

    Attributes:
        per_result: whether it has no reduced dims.
        owner: the op; None for an input.
        operands: the tensors that it is made of.
    """

    per_result: bool
    owner: Any
    operands: Sequence[Any]


class _Known:
    """The fragments of an access, and what is known of the whole row: ``ChainMap`` takes three times as long."""

    def __init__(self, own: Mapping[Any, Any], kept: Mapping[Any, Any]) -> None:
        self._own, self._kept = own, kept

    def __contains__(self, v: object) -> bool:
        return v in self._own or v in self._kept

    def __getitem__(self, v: Any) -> Any:
        return self._own[v] if v in self._own else self._kept[v]


@dataclass(frozen=True, eq=False)
class Values:
    """What a thread knows of the tensors of the program.

    Attributes:
        kernel: the kernel.
        place: the thread's place.
        reader: how elements are numbered and counted.
        chunk: the elements of the row that the CTA owns.
        columns: the columns of the thread, where CTAs exchange what lies across these.
        kept: for each tensor of the kept dims its fragment, and for each scalar its value.
        sources: what makes each tensor seen so far.
    """

    kernel: Kernel
    place: Place
    reader: Reader
    chunk: Chunk
    columns: EarlyColumns | None = None
    kept: MutableMapping[Any, Any] = field(default_factory=dict)
    sources: dict[Any, Source] = field(default_factory=dict)

    def fragment(self, tensor: Any, own: dict[Any, Any], r: Any, load: Any) -> Any:
        """The fragment of a tensor, of the access at ``r``: what is there of that access is in ``own``.

        ``load`` reads an input at the access.
        """
        known = _Known(own, self.kept)
        for v in postorder([tensor], lambda v: self.source(v).operands, known):
            per_result, owner, _ = self.source(v)
            if owner is None:
                number = ir.BlockArgument(v).arg_number
                value = self.load_kept(number, v) if per_result else load(number, element(v.type))
            elif owner.name == "fold.gather":
                value = self.gathered(v, known[owner.operands[1]], None if per_result else r)
            elif owner.name == "fold.iota":
                value = self.numbers(v, None if per_result else r)
            else:
                lanes = self.place.plan.vector_kept if per_result else self.place.plan.vector
                value = self.reader.node(owner, lanes if _is_tensor(v) else 1, known, r)
            (self.kept if per_result else own)[v] = value
        return known[tensor]

    def source(self, v: Any) -> Source:
        """What makes a tensor, which is asked again for each access."""
        found = self.sources.get(v)
        if found is None:
            owner = None if isinstance(v, ir.BlockArgument) else v.owner.operation
            found = self.sources[v] = Source(not self.varies(v), owner, operands_of(v))
        return found

    def prepare(self, tensors: Sequence[Any]) -> None:
        """Makes what tensors need that is the same in all accesses: it comes before a loop over these."""
        for v in postorder(tensors, operands_of, self.kept):
            if not self.varies(v):
                self.fragment(v, {}, None, None)

    def apart(self) -> tuple[Numbered, Numbered]:
        """The results that have a value for each row, and those that have one for each element, with their numbers."""
        kernel = self.kernel
        aside = {*kernel.side_results, *kernel.section_results}
        numbered = [(n, v) for n, v in enumerate(kernel.results) if n not in aside]
        return [(n, v) for n, v in numbered if not self.varies(v)], [(n, v) for n, v in numbered if self.varies(v)]

    def varies(self, v: Any) -> bool:
        """Whether a tensor has the reduced dims."""
        return _is_tensor(v) and ir.RankedTensorType(v.type).rank > self.kernel.facts.kept_rank

    def gathered(self, v: Any, indices: Any, r: Any) -> Any:
        """The elements of an array at indices: those of the access at ``r``, or one a result."""
        kernel, zero = self.kernel, self.kernel.number(0)
        operand = ir.BlockArgument(v.owner.operands[0]).arg_number
        kept, reduced = range(kernel.facts.kept_rank), range(0 if r is None else kernel.facts.reduced_rank)
        layout = kernel.dims("kept_size", 0, kept[1:]) + kernel.dims("reduced_size", 0, reduced[1:])
        layout += kernel.dims("kept_stride", operand, kept) + kernel.dims("reduced_stride", operand, reduced)
        row = [zero, zero, kernel.number(1)] if r is None else [r, self.chunk.first, self.chunk.limit]
        axis = [kernel.arg("gather_size", operand), kernel.arg("gather_stride", operand)]
        operands = [kernel.arg("input", operand), self.place.start, *row, indices, *axis, *layout]
        along = "kept" if r is None else kernel.plan.fast
        attributes = {"kept_rank": len(kept), "reduced_rank": len(reduced), "axis": along}
        return kernel.make("fold.gather_load", element(v.type), operands, attributes, width(indices.type))

    def numbers(self, v: Any, r: Any) -> Any:
        """The numbers of elements: those of the access at ``r``, or one a result."""
        kernel, number = self.kernel, ir.IntegerAttr(v.owner.attributes["numbering"]).value
        operand, along = len(kernel.inputs) + len(kernel.results) + number, kernel.facts.numberings[number]
        base = kernel.arg("number_base", operand)
        kept = range(kernel.facts.kept_rank if along in ("kept", "both") else 0)
        reduced = range(kernel.facts.reduced_rank if along in ("reduced", "both") else 0)
        layout = kernel.dims("kept_size", 0, kept[1:]) + kernel.dims("reduced_size", 0, reduced[1:])
        layout += kernel.dims("kept_stride", operand, kept) + kernel.dims("reduced_stride", operand, reduced)
        attributes = {"kept_rank": len(kept), "reduced_rank": len(reduced), "axis": kernel.plan.fast}
        at, plan = kernel.number(0) if r is None else r, self.place.plan
        operands = [self.place.start, at, base, *layout]
        lanes = plan.vector_kept if r is None else plan.vector
        return kernel.make("fold.position", element(v.type), operands, attributes, lanes)

    def load_kept(self, operand: int, v: Any) -> Any:
        """The values of an input per result."""
        if self.columns:
            return self.columns.load(operand, element(v.type), None)
        kernel, dims = self.kernel, range(self.kernel.facts.kept_rank)
        if kernel.facts.access[operand] == "number":
            return kernel.passed(operand, self.place.plan.vector_kept)
        layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", operand, dims)
        kind = kernel.facts.access[operand]
        attributes = load_attributes(len(dims), 0, "kept", "strided" if kind == "kept" else kind)
        operands = [kernel.arg("input", operand), self.place.start, kernel.number(0), *layout]
        return kernel.make("fold.load", element(v.type), operands, attributes, self.place.plan.vector_kept)


def _is_tensor(v: Any) -> bool:
    return isinstance(v.type, ir.RankedTensorType)


def fetched_first(values: Values) -> list[Any]:
    """The elements of rows that indices choose, in a kernel that writes rows: they are read before anything is written.

    So a result may take the place of the array. A plan that reads ahead reads them first in every kernel, and with them
    all that has a value for each row.
    """
    kernel, ahead = values.kernel, values.kernel.plan.reads == "ahead"
    state = {v for phase in kernel.phases for v in phase.reduced}
    if not (state and (ahead or any(map(values.varies, kernel.results)))):
        return []
    needed = postorder(kernel.results, operands_of, state)
    fetched = [v for v in needed if (ahead if isinstance(v, ir.BlockArgument) else v.owner.name == "fold.gather")]
    return [v for v in fetched if not values.varies(v) and state.isdisjoint(postorder([v], operands_of))]
