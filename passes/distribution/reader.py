"""The reader: a thread's elements as fragments, and the program's elementwise code on fragments.

A *fragment* is what one thread holds of a tensor at a time: the elements of one access, or a scalar.

The span of a thread: which accesses it makes along an axis, and the stage that reduces what they read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ...compiler.errors import error
from ...compiler.ir.combine import constant, pack, with_shape
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.locations import named
from ...compiler.ir.mlir import arith, ir, vector
from ...compiler.ir.sorted_lists import inserts
from ...compiler.plan.layout import layout_of
from ...compiler.plan.modes import Unit
from ...compiler.plan.plan import Plan
from ...compiler.postorder import postorder
from ...compiler.target import WARP
from .kernel import Kernel, load_attributes
from .place import Place, Row


class Access(NamedTuple):
    """How a thread reads an input: what a ``fold.load`` needs beside the number of the element.

    Attributes:
        base: where the elements begin.
        first: the first result that the thread reads for.
        layout: sizes, strides, and what an access at the edge of a row must know.
        attributes: of the op.
    """

    base: Any
    first: Any
    layout: list[Any]
    attributes: dict[str, Any]


class Numbering(NamedTuple):
    """The caller's numbers of the elements.

    Attributes:
        number: gives the number of the element ``r`` of a walk among those of the result.
        layout, attributes: of the ``fold.position``, which makes the caller's number of that.
    """

    number: Callable[[Any], Any]
    layout: list[Any]
    attributes: dict[str, Any]


class Known(Protocol):
    """The fragments of tensors."""

    def __getitem__(self, v: Any, /) -> Any: ...


class _Elementwise(NamedTuple):
    """What ``Operation.create`` takes to make a fragment of what an op makes, by the op's own operands."""

    name: str
    type: Any
    operands: Sequence[Any]
    attributes: dict[str, Any]
    location: Any


@dataclass(frozen=True, eq=False)
class Reader:
    """Elementwise code as fragments.

    Attributes:
        kernel, count: the kernel, and how many elements the thread's result has.
        accesses, numbering: how each input is read, and the numbers of the elements; code after the reduction, which
            asks for neither, has none.
    """

    kernel: Kernel
    count: Any
    accesses: Sequence[Access] = ()
    numbering: Numbering | None = None
    _made: dict[tuple[Any, int], _Elementwise] = field(default_factory=dict)

    def sources(self, r: Any) -> list[Any]:
        """The fragments of the tensors that are reduced, of the access at ``r``."""
        memo: dict[Any, Any] = {}
        return [self.fragment(v, self.kernel.plan.vector, memo, r) for v in self.kernel.sources]

    def fragment(self, tensor: Any, width: int, memo: dict[Any, Any], r: Any = None) -> Any:
        """The fragment of ``width`` elements of a tensor, of the access at ``r``; or a scalar of the program.

        What ``memo`` does not have is made at the insertion point, and added to it.
        """
        for v in postorder([tensor], operands_of, memo):
            if isinstance(v, ir.BlockArgument):
                memo[v] = self._load(ir.BlockArgument(v).arg_number, element(v.type), r)
            else:
                memo[v] = self.node(v.owner, width if isinstance(v.type, ir.RankedTensorType) else 1, memo, r)
        return memo[tensor]

    def node(self, op: Any, width: int, memo: Known, r: Any) -> Any:
        """The fragment of what ``op`` makes, of which ``memo`` has the operands."""
        op = op.operation
        found = self._made.get((op, width)) or self._make(op, width, memo, r)
        if not isinstance(found, _Elementwise):
            return found
        name, t, given, attributes, location = found
        return ir.Operation.create(name, [t], [memo[v] for v in given], attributes, loc=location).result

    def _make(self, op: Any, width: int, memo: Known, r: Any) -> Any:
        """The value of an op that is not elementwise, or how to make a fragment of one that is."""
        if op.name == "arith.constant":
            return constant(op.attributes["value"], 1)
        if op.name == "fold.count":
            count, t = self._count(op), op.results[0].type
            return count if count.type == t else arith.extsi(t, count)
        if op.name == "fold.iota":
            return self._numbers(element(op.results[0].type), r, width)
        if op.name == "fold.broadcast":
            x = memo[op.operands[0]]
            same = width == 1 or isinstance(x.type, ir.VectorType)
            return x if same else vector.broadcast(with_shape(x.type, width), x)
        if len(op.results) != 1 or len(op.regions):
            raise error("WF321", stage="distribute", op=op.name, dtype=", ".join(str(x.type) for x in op.results))
        t = with_shape(element(op.results[0].type), width)
        made = _Elementwise(op.name, t, list(op.operands), dict(op.attributes.items()), op.location)
        self._made[op, width] = made
        return made

    def _count(self, op: Any) -> Any:
        """How many elements a ``fold.count`` counts: those of a result, or along the dims that a numbering names."""
        if "numbering" not in op.attributes:
            return self.count
        kernel, number = self.kernel, ir.IntegerAttr(op.attributes["numbering"]).value
        return kernel.arg("number_base", len(kernel.inputs) + len(kernel.results) + number)

    def _load(self, operand: int, t: Any, r: Any) -> Any:
        if self.kernel.facts.access[operand] == "number":
            return self.kernel.passed(operand, self.kernel.plan.vector)
        base, first, layout, attributes = self.accesses[operand]
        return self.kernel.make("fold.load", t, [base, first, r, *layout], attributes, self.kernel.plan.vector)

    def _numbers(self, t: Any, r: Any, width: int) -> Any:
        """The caller's numbers of the elements of the access at ``r``."""
        assert self.numbering is not None
        number, layout, attributes = self.numbering
        operands = [self.kernel.number(0), number(r), self.kernel.arg("index_base"), *layout]
        return self.kernel.make("fold.position", t, operands, attributes, width)


def operands_of(v: Any) -> Sequence[Any]:
    """What a value of the program is made of: of a gather the indices, since it reads the array itself."""
    if isinstance(v, ir.BlockArgument):
        return ()
    op = v.owner.operation
    return list(op.operands)[op.name == "fold.gather" :]


def numbering(kernel: Kernel, number: Callable[[Any], Any]) -> Numbering:
    """The numbers of elements along the reduced dims."""
    rank = kernel.facts.reduced_rank
    if not kernel.indexed:
        return Numbering(number, [], {})
    layout = kernel.dims("reduced_size", 0, range(1, rank)) + kernel.dims("index_stride", 0, range(rank))
    return Numbering(number, layout, {"kept_rank": 0, "reduced_rank": rank, "axis": kernel.plan.fast})


def access(row: Row, place: Place, operand: int, copy: Sequence[Any] = ()) -> Access:
    """How a thread reads an input along the reduced axis.

    ``copy`` is the input's copy in shared memory and where in it the thread's elements begin, if there is one.
    """
    kernel, facts = row.kernel, row.kernel.facts
    kind, kept, reduced = facts.access[operand], row.kept_dims, range(facts.reduced_rank)
    if kind == "staggered":
        kept, reduced = kept[-1:], reduced[-1:]
    layout = kernel.dims("kept_size", 0, kept[1:]) + kernel.dims("reduced_size", 0, reduced[1:])
    layout += kernel.dims("kept_stride", operand, kept) + kernel.dims("reduced_stride", operand, reduced)
    if kind == "shifted":
        layout += [extent(kernel, operand)]
    elif kind == "unaligned":
        layout += row.beside(operand)
    if kind in ("unaligned", "staggered", "bits_across"):
        layout += [row.columns, kernel.arg("n_reduced")]
    base, *begin = copy or [row.starts[operand]]
    attributes = load_attributes(len(kept), len(reduced), kernel.plan.fast, kind)
    return Access(base, place.start, layout + begin, attributes)


def extent(kernel: Kernel, operand: int) -> Any:
    """How many elements of an array lie from an input's first element to its last one."""
    one, found = kernel.number(1), kernel.number(1)
    for axis in ("reduced", "kept"):
        for d, size in enumerate(sizes(kernel, axis)):
            reach = arith.muli(arith.subi(size, one), kernel.arg(f"{axis}_stride", operand, d))
            found = arith.addi(found, reach)
    return found


def sizes(kernel: Kernel, axis: str) -> list[Any]:
    """The sizes of the dims of an axis: the outermost has what the others leave of all the axis' elements."""
    rank = kernel.facts.reduced_rank if axis == "reduced" else kernel.facts.kept_rank
    inner = kernel.dims(f"{axis}_size", 0, range(1, rank))
    outermost = kernel.arg(f"n_{axis}")
    for size in inner:
        outermost = arith.divui(outermost, arith.maxui(size, kernel.number(1)))  # of an empty axis it is 0
    return [outermost, *inner]


class Span(NamedTuple):
    """The accesses of a thread.

    Attributes:
        begin, end: accesses begin at ``begin`` or later, and before ``end``.
        first: elements before this one, and from ``end`` on, count as the identity.
        step: elements from one access to the next; where there is a period, periods.
        period: the elements of a period, where the walk is by periods; else None.
        beside: how far the accesses of the lane lie from those of the first lane, where lanes meet in steps; else None.
            Begin and end are then those of the first lane: all lanes of a warp make the same steps.
    """

    begin: Any
    end: Any
    first: Any
    step: int
    period: Any = None
    beside: Any = None


def span_of(kernel: Kernel, place: Place, plan: Plan, first: Any, end: Any, length: Any) -> Span:
    """The accesses by which a thread shares the elements in [first, end) with the others of its CTA.

    They are those of the layout of ``plan``, where the thread has the position of its place. If the layout is ordered,
    ``length`` elements are cut into as many pieces as there are threads.
    """
    layout = layout_of(plan)
    if plan.meets_in_steps:
        return _span_of_warp(kernel, place, plan, first, end, length)
    sizes: dict[Unit, Any] = {}
    if layout.ordered:
        sizes["piece"] = layout.piece(length, kernel)
    begin = arith.addi(first, layout.start(place.position, kernel, sizes))
    end = arith.minsi(end, arith.addi(begin, sizes["piece"])) if layout.ordered else end
    return Span(begin, end_in_range(kernel, place, first, end, plan.vector_reduced), first, layout.step)


def _span_of_warp(kernel: Kernel, place: Place, plan: Plan, first: Any, end: Any, length: Any) -> Span:
    """The accesses of a thread whose warp shares the elements in [first, end) with others, in pieces of whole steps.

    A thread without results reads for the last one, so that all lanes take part in each meeting.
    """
    layout, begin = layout_of(plan), first
    if plan.warps > 1:
        piece = layout.piece(length, kernel)
        begin = arith.addi(first, arith.muli(place.warp, piece))
        end = arith.minsi(end, arith.addi(begin, piece))
    nothing = arith.subi(begin, kernel.number(plan.vector))
    end = arith.select(kernel.less(begin, end), end, nothing)
    return Span(begin, end, begin, layout.step, beside=kernel.scaled(place.lane, plan.vector))


def end_in_range(kernel: Kernel, place: Place, first: Any, end: Any, vector: int) -> Any:
    """``end`` for a thread in range; else an element that no access begins before, not even one a vector early."""
    nothing = arith.subi(first, kernel.number(vector)) if vector > 1 else first
    return arith.select(place.in_range, end, nothing)


def reduce_span(
    kernel: Kernel,
    plan: Plan,
    span: Span,
    unroll: int,
    width: int,
    read: Callable[[Any], Any],
    known: Sequence[str] = (),
) -> Any:
    """The stage of the thread: what its elements combine to; along a period, for each element of an access.

    Threads are arranged by ``plan``; ``unroll`` accesses of ``width`` elements, which ``read`` makes, are in flight.
    ``known`` are attributes of a ``fold.thread_reduce`` that hold.
    """
    named(span.begin, "begin")
    named(span.end, "end")
    periods = [] if span.period is None else [span.period]
    state = state_type([with_shape(t, width if periods else plan.vector_kept) for t in kernel.states])
    operands = [span.begin, span.end, pack(kernel.neutral(1 if plan.meets_in_steps else width)), *periods]
    attributes = {"step": span.step, "unroll": unroll} | _known(kernel)
    attributes |= dict.fromkeys(known, True)
    attributes |= {"summed": plan.lanes_summed} if plan.meet == "mma" else {}
    attributes |= {"joined": plan.lanes} if plan.meets_in_steps else {}
    op = kernel.stage("fold.thread_reduce", [state], operands, attributes, regions=2)
    block = op.regions[0].blocks.append(kernel.index)
    (r,) = block.arguments
    named(r, "r")
    with ir.InsertionPoint(block):
        r = r if span.beside is None else arith.addi(r, span.beside)
        fragments = read(r)
        lanes = width if plan.vector_kept == 1 else 1
        counts = kernel.make("fold.live", ir.IntegerType.get_signless(1), [r, span.first, span.end], {}, lanes)
        counted = [arith.select(counts, v, i) for v, i in zip(fragments, kernel.neutral(width), strict=True)]
        ir.Operation.create("fold.yield", [], [pack(counted)])
    return op.results[0]


def makes_lists_of_warps(kernel: Kernel, plan: Plan) -> bool:
    """Whether threads that are arranged by ``plan`` have the sorted list of their warp as their state."""
    whole = (plan.fast, plan.lanes, plan.cta) == ("reduced", WARP, "shuffle")
    return kernel.facts.bounds and whole and inserts(kernel.combine)


def _known(kernel: Kernel) -> dict[str, Any]:
    """What is known of a walk: how few accesses it has, and how its elements are numbered."""
    facts = kernel.facts
    found = {"once": facts.once, "places": facts.places, "numbers": facts.numbers}
    return {name: value for name, value in found.items() if value}
