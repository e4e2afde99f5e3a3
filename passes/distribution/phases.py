"""The phases of a kernel that reads its rows again: folds whose results all threads of a row use, then the results.

The threads that share a row own the same elements in every phase. So elements that wait in registers need no exchange:
an access is a value of the kernel, which later phases use. After each fold the stages give the state to all threads of
the row, and the elementwise code goes on with it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...compiler.ir.combine import pack, splat, width, with_shape
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith, ir, vector
from ...compiler.plan.layout import layout_of
from ...compiler.postorder import postorder
from .kernel import Kernel, load_attributes
from .meeting import meet_in_cluster, meet_in_cta
from .place import Place, Tile, first_place, lead_of
from .reader import Reader, extent, numbering, operands_of
from .walk import Chunk, chunk_of


def distribute_phases(kernel: Kernel) -> None:
    """Writes the body of a kernel that reads its rows again."""
    tile, place = first_place(kernel)
    place = replace(place, start=_existing(kernel, place))
    row = HeldRow.of(tile, place)
    for number in range(len(kernel.phases)):
        phase = kernel.of(number)
        with phase.reduce.location:
            state = _met(replace(tile, row=replace(tile.row, kernel=phase)), row.reduced(phase), place)
        row.values.kept.update(zip(phase.reduced, state, strict=True))
    for number, result in enumerate(kernel.results):
        row.store(number, result)


def _existing(kernel: Kernel, place: Place) -> Any:
    """The results that a thread reads for: those of its place, or the last ones for a thread without results."""
    last = arith.subi(kernel.arg("n_kept"), kernel.number(place.plan.vector_kept))
    return arith.minsi(place.kept, last)


def _met(tile: Tile, state: Any, place: Place) -> Sequence[Any]:
    """The values of the state of the whole row, in each of its threads."""
    from ...compiler.ir.combine import unpack

    if place.plan.cluster > 1:
        return unpack(meet_in_cluster(tile, state, place, everywhere=True))
    return unpack(meet_in_cta(tile, state, place)[0])


@dataclass(frozen=True, eq=False)
class Values:
    """What a thread knows of the tensors of the program.

    Attributes:
        kernel: the kernel.
        place: the thread's place.
        reader: how elements are numbered and counted.
        kept: for each tensor of the kept dims its fragment, and for each scalar its value.
    """

    kernel: Kernel
    place: Place
    reader: Reader
    kept: dict[Any, Any] = field(default_factory=dict)

    def fragment(self, tensor: Any, own: dict[Any, Any], r: Any, load: Any) -> Any:
        """The fragment of a tensor, of the access at ``r``: what is there of that access is in ``own``.

        ``load`` reads an input at the access.
        """
        known = ChainMap(own, self.kept)
        for v in postorder([tensor], operands_of, known):
            per_result = not self.varies(v)
            if isinstance(v, ir.BlockArgument):
                number = ir.BlockArgument(v).arg_number
                value = self.load_kept(number, v) if per_result else load(number, element(v.type))
            else:
                lanes = self.place.plan.vector_kept if per_result else self.place.plan.vector
                value = self.reader.node(v.owner, lanes if _is_tensor(v) else 1, known, r)
            (self.kept if per_result else own)[v] = value
        return known[tensor]

    def varies(self, v: Any) -> bool:
        """Whether a tensor has the reduced dims."""
        return _is_tensor(v) and ir.RankedTensorType(v.type).rank > self.kernel.facts.kept_rank

    def load_kept(self, operand: int, v: Any) -> Any:
        """The values of an input per result."""
        kernel, dims = self.kernel, range(self.kernel.facts.kept_rank)
        layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", operand, dims)
        kind = kernel.facts.access[operand]
        attributes = load_attributes(len(dims), 0, "kept", "strided" if kind == "kept" else kind)
        operands = [kernel.arg("input", operand), self.place.start, kernel.number(0), *layout]
        return kernel.make("fold.load", element(v.type), operands, attributes, self.place.plan.vector_kept)


def _is_tensor(v: Any) -> bool:
    return isinstance(v.type, ir.RankedTensorType)


@dataclass(frozen=True, eq=False)
class HeldRow:
    """The accesses of a row that a thread keeps in registers.

    Attributes:
        tile, place: the rows of the CTA, and the thread's place.
        values: what the thread knows of the program's tensors.
        chunk: the elements of the row that the CTA owns.
        starts: the reduced index at which each access begins.
        accesses: for each access the fragments of the program's tensors.
    """

    tile: Tile
    place: Place
    values: Values
    chunk: Chunk
    starts: tuple[Any, ...]
    accesses: tuple[dict[Any, Any], ...]

    @classmethod
    def of(cls, tile: Tile, place: Place) -> HeldRow:
        """The row of a thread at its place."""
        kernel, plan = tile.kernel, tile.kernel.plan
        chunk = chunk_of(kernel, kernel.arg("n_reduced"), kernel.arg("chunk"), always=not kernel.phases)
        layout = layout_of(plan)
        begin = arith.addi(chunk.first, layout.start(place.position, kernel))
        if _is_shifted(kernel):
            lead = _lead(kernel, place)
            begin, chunk = arith.subi(begin, lead), _earlier(kernel, chunk, lead)
        starts = [begin] + [arith.addi(begin, kernel.number(j * layout.step)) for j in range(1, plan.held)]
        reader = Reader(kernel, kernel.arg("count") if kernel.counted else None, (), numbering(kernel, lambda r: r))
        values = Values(kernel, place, reader)
        return cls(tile, place, values, chunk, tuple(starts), tuple({} for _ in starts))

    # --- the accesses -------------------------------------------------------------------------------------------------
    def is_whole(self, j: int) -> bool:
        """Whether access ``j`` lies in the row in every thread."""
        facts, plan = self.values.kernel.facts, self.values.kernel.plan
        if facts.full:
            return True
        cut = _is_shifted(self.values.kernel)  # by the row's begin, and wherever its end may be
        middle = (1 if cut else 0) <= j < plan.held - (2 if cut else 1)
        return middle and plan.cluster == 1 and bool(self.values.kernel.phases)

    def fragment(self, tensor: Any, j: int) -> Any:
        """The fragment of a tensor in access ``j``."""
        return self.values.fragment(tensor, self.accesses[j], self.starts[j], lambda i, t: self._load(i, t, j))

    def _load(self, operand: int, t: Any, j: int) -> Any:
        """The elements of an input in access ``j``."""
        kernel, access = self.values.kernel, self.values.kernel.facts.access[operand]
        layout = _layout(kernel, operand)
        layout += [extent(kernel, operand)] if access == "shifted" else []
        rank = (kernel.facts.kept_rank, kernel.facts.reduced_rank)
        attributes = load_attributes(*rank, kernel.plan.fast, access)
        at = [kernel.arg("input", operand), self.place.start, self.starts[j]]
        if self.is_whole(j):
            return kernel.make("fold.load", t, [*at, *layout], attributes, kernel.plan.vector)
        operands = [*at, self.chunk.first, self.chunk.limit, *layout]
        return kernel.make("fold.element_load", t, operands, attributes, kernel.plan.vector)

    def _live(self, j: int) -> Any:
        """Which elements of access ``j`` lie in the row: one truth value for all, or one each."""
        kernel, plan, r = self.values.kernel, self.values.kernel.plan, self.starts[j]
        if plan.vector_reduced == 1 or not _is_cut(kernel):
            return kernel.less(r, self.chunk.limit)
        t = with_shape(kernel.index, plan.vector)
        lanes = arith.constant(
            t, ir.DenseElementsAttr.get([ir.IntegerAttr.get(kernel.index, k) for k in range(plan.vector)], t)
        )
        at = arith.addi(splat(r, plan.vector), lanes)
        first, limit = (splat(x, plan.vector) for x in (self.chunk.first, self.chunk.limit))
        low = arith.cmpi(arith.CmpIPredicate.sge, at, first)
        return arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, at, limit))

    # --- the phases ---------------------------------------------------------------------------------------------------
    def reduced(self, phase: Kernel) -> Any:
        """The state that the thread's elements combine to."""
        plan = phase.plan
        state = state_type([with_shape(t, plan.vector_kept) for t in phase.states])
        accesses = [pack(self._counted(phase, j)) for j in range(plan.held)]
        each = plan.held * plan.vector_reduced
        attributes = {"elements": each, "columns": plan.vector_kept}
        return phase.stage("fold.block_reduce", [state], accesses, attributes).results[0]

    def _counted(self, phase: Kernel, j: int) -> list[Any]:
        """What access ``j`` contributes, with the identity in place of what is not the row's."""
        found = [_wide(self.fragment(v, j), phase.plan.vector) for v in phase.sources]
        if self.is_whole(j):
            return found
        live = self._live(j)
        return [arith.select(live, v, i) for v, i in zip(found, phase.neutral(phase.plan.vector), strict=True)]

    def store(self, number: int, result: Any) -> None:
        """Writes a result: one value for each row, or its elements."""
        if self.values.varies(result):
            for j in range(len(self.starts)):
                self._store_elements(number, self.fragment(result, j), j)
            return
        kernel, place = self.values.kernel, self.place
        value = self.fragment(result, 0)
        dims = range(kernel.facts.kept_rank)
        layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", len(kernel.inputs) + number, dims)
        attributes = {"kept_rank": len(dims), "reduced_rank": 0, "vector": kernel.facts.store_vector}
        operands = [
            _wide(value, place.plan.vector_kept),
            kernel.arg("output", number),
            place.kept,
            place.owner,
            *layout,
        ]
        kernel.make_op("fold.store", [], operands, attributes)

    def _store_elements(self, number: int, value: Any, j: int) -> None:
        kernel, access = self.values.kernel, self.values.kernel.facts.stores[number]
        rank = (kernel.facts.kept_rank, kernel.facts.reduced_rank)
        attributes = load_attributes(*rank, kernel.plan.fast, access) | {"whole": self.is_whole(j)}
        operands = [_wide(value, kernel.plan.vector), kernel.arg("output", number), self.place.start, self.starts[j]]
        operands += [self.chunk.first, self.chunk.limit, self.place.in_range]
        operands += _layout(kernel, len(kernel.inputs) + number)
        kernel.make_op("fold.element_store", [], operands, attributes)


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


def _wide(value: Any, lanes: int) -> Any:
    """A value as a fragment of ``lanes`` elements."""
    return value if width(value.type) == lanes else vector.broadcast(with_shape(value.type, lanes), value)


def _is_shifted(kernel: Kernel) -> bool:
    """Whether accesses begin at the boundary before the row."""
    return "shifted" in (*kernel.facts.access, *kernel.facts.stores)


def _is_cut(kernel: Kernel) -> bool:
    """Whether an end of the row may cut an access."""
    return _is_shifted(kernel) or not {"aligned", "uniform", "kept"}.issuperset(
        (*kernel.facts.access, *kernel.facts.stores)
    )


def _lead(kernel: Kernel, place: Place) -> Any:
    """How many elements the row begins after a boundary, in the first array with shifted rows."""
    names = (*kernel.facts.access, *kernel.facts.stores)
    operand = names.index("shifted")
    tensors = [*kernel.inputs, *kernel.results]
    role, number = ("input", operand) if operand < len(kernel.inputs) else ("output", operand - len(kernel.inputs))
    dims = range(kernel.facts.kept_rank)
    layout = kernel.dims("kept_size", 0, dims[1:]) + kernel.dims("kept_stride", operand, dims)
    return lead_of(kernel, element(tensors[operand].type), kernel.arg(role, number), place.start, layout)
