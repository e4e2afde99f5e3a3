"""Sums that are scattered: each element is added to the counter that it chooses, in shared memory of the CTA.

The threads walk the elements as for one sum of them all. In place of a state of their own they have the counters of
their CTA, of which warps that are neighbours have different copies, so that few wait for each other. At the end a CTA
adds its counters to the cells of the grid, which are zero between launches. The last CTA makes results of them, and
clears them. With too many counters for shared memory, elements are added to the cells at once, which a kernel has
cleared, and a last kernel makes results of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...compiler.ir.build import address, integer, load, repeat, store, when
from ...compiler.ir.combine import width as width_of
from ...compiler.ir.combine import with_shape
from ...compiler.ir.dialect.base import SHARED, element, int_attr
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.planner.tally import copies
from .finish import store_results
from .kernel import Kernel
from .place import Place, Tile, existing, first_place
from .reader import Reader, access, numbering, reduce_span, span_of
from .walk import chunk_of


def distribute_tally(kernel: Kernel) -> None:
    """Writes the body of the kernel that counts."""
    (source,) = kernel.sources
    scatter = source.owner.operation
    value, _ = scatter.operands
    tile, place = first_place(kernel)
    place = replace(place, start=existing(kernel, place))
    counters, cells, limit = int_attr(scatter, "counters"), _cells(kernel), kernel.arg("n_kept")
    bits = int(element(value.type).width)
    how = {"count": counters, "copies": copies(counters, bits // 8, kernel.plan.warps), "bits": bits}
    buffer, start = cells, kernel.number(0)
    if counters:
        buffer = kernel.make_op("fold.counters", [ir.Type.parse(SHARED)], [], how).results[0]
        start = kernel.scaled(kernel.modulo(place.warp, how["copies"]), counters)
    chunk = chunk_of(kernel, kernel.arg("n_reduced"), kernel.arg("chunk"))
    span = span_of(kernel, place, kernel.plan, chunk.first, chunk.limit, chunk.length)
    accesses = [access(tile.row, place, i) for i in range(len(kernel.inputs))]
    reader = Reader(kernel, kernel.arg("count"), accesses, numbering(kernel, lambda r: r))

    bins = Bins.of_kernel(kernel, scatter.operands[1])

    def counted(r: Any) -> list[Any]:
        memo: dict[Any, Any] = {}
        width = kernel.plan.vector
        if bins is not None:
            memo[scatter.operands[1]] = bins.of(reader.fragment(bins.op.operands[0], width, memo, r))
        fragments = [reader.fragment(v, width, memo, r) for v in scatter.operands]
        live = kernel.make("fold.live", ir.IntegerType.get_signless(1), [r, span.first, span.end], {}, width)
        operands = [*fragments, live, buffer, start, limit]
        t = with_shape(element(source.type), width)
        return [kernel.make_op("fold.tally", [t], operands, {}).results[0]]

    reduce_span(kernel, kernel.plan, span, kernel.plan.unroll, kernel.plan.vector, counted)
    if counters:
        kernel.make_op("fold.spill", [], [buffer, cells, limit], how)
    if kernel.facts.cleared:
        _stored_by_last(kernel, tile, place, cells)


def _cells(kernel: Kernel) -> Any:
    """The counters of the grid: behind the ticket, or those that another kernel has cleared."""
    if not kernel.facts.cleared:
        return kernel.arg("partial", 0)
    return address(kernel.arg("counter"), kernel.number(1), element(kernel.states[0]))


def _stored_by_last(kernel: Kernel, tile: Tile, place: Place, cells: Any) -> None:
    """The last CTA makes results of the cells, and clears them."""
    parts = kernel.id(gpu.grid_dim(gpu.Dimension.y))
    truth = ir.IntegerType.get_signless(1)
    operands = [kernel.arg("counter"), kernel.number(0), parts]
    with when(kernel.make_op("fold.arrive", [truth], operands, {"once": True}).results[0]):
        threads, limit = kernel.plan.threads, kernel.arg("n_kept")
        with repeat(place.position, limit, kernel.number(threads * TOGETHER)) as turn:
            numbers = [arith.addi(turn, kernel.number(threads * i)) for i in range(TOGETHER)]
            there = [kernel.less(number, limit) for number in numbers]
            found = [_taken(kernel, cells, *which) for which in zip(numbers, there, strict=True)]
            for number, on, value in zip(numbers, there, found, strict=True):
                _stored(kernel, tile, replace(place, kept=number, owner=on), value, cells)


def _taken(kernel: Kernel, cells: Any, number: Any, on: Any) -> Any:
    """What a cell has, if it is there; loads of several cells are in flight before any is cleared."""
    t = element(kernel.states[0])
    branch = scf.IfOp(on, [t], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([load(cells, number, t)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([integer(t, 0)])
    return branch.results[0]


def _stored(kernel: Kernel, tile: Tile, place: Place, value: Any, cells: Any) -> None:
    """Clears the cell of a place that owns it, and stores the results of its ``value``."""
    with when(place.owner):
        store(integer(value.type, 0), cells, place.kept)
    store_results(kernel, tile.row, kernel.arg("count"), value, place)


TOGETHER = 4
"""A thread of the last CTA loads so many cells before it clears them."""


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins among which the elements of a kernel lie.

    Attributes:
        op: the ``fold.bin``.
        known: what a ``fold.bin_of`` takes behind the elements.
    """

    op: Any
    known: list[Any]

    @classmethod
    def of_kernel(cls, kernel: Kernel, index: Any) -> Bins | None:
        """The bins whose numbers are ``index``; None where that is computed."""
        op = None if isinstance(index, ir.BlockArgument) else index.owner.operation
        if op is None or op.name != "fold.bin":
            return None
        t, limit = element(op.operands[0].type), kernel.arg("n_kept")
        lower, upper = (kernel.arg("input", ir.BlockArgument(v).arg_number) for v in list(op.operands)[1:])
        first = load(lower, kernel.number(0), t, invariant=True)
        last = load(upper, arith.subi(limit, kernel.number(1)), t, invariant=True)
        scale = arith.divf(arith.sitofp(t, limit), arith.subf(last, first))
        return cls(op, [lower, upper, first, last, scale, limit])

    def of(self, x: Any) -> Any:
        """The numbers of the bins of a fragment."""
        t = with_shape(ir.IntegerType.get_signless(32), width_of(x.type))
        how = {name: self.op.attributes[name] for name in ("uniform", "steps")}
        return ir.Operation.create("fold.bin_of", [t], [x, *self.known], how).result


def scatters(kernel: Kernel) -> bool:
    """Whether elements choose the results that they count in."""
    sources = kernel.sources if len(kernel.phases) == 1 else []
    return any(not isinstance(v, ir.BlockArgument) and v.owner.operation.name == "fold.scatter" for v in sources)
