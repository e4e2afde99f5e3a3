"""The place of a thread: its digits among the threads of its CTA, and the results that it has there.

A place is made once for each plan by which the threads are arranged. When warps have met in shared memory, threads are
arranged by another plan, ``met_plan``, and in the last CTA's round over partial states by ``second_plan``: each is
another place, which ``Tile.place`` makes.

The place of a thread that walks padded rows: its results lie in one row, and begin at a boundary of the results.

Rows are padded to whole accesses, and threads are counted through them. A thread's first result is as far before its
place in the row as the row of results begins after a boundary, so the first thread of a row may begin before it.

The place of a thread in staggered warps: each warp begins its rows at the boundary before the CTA's columns.

A thread's accesses begin ``lead`` elements before its columns, and where warps meet they shift their states by as much.
The last lane that reads owns no columns: it reads what of its neighbour's columns lies in its access.

The row of results that a CTA works on.

Where tiles go by row, a CTA knows the indices of the outer kept dims, and its results are columns of that row: arrays
begin where the row does. Else all results are one row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...compiler.ir.build import address, bytes_of, memory_type, word_type
from ...compiler.ir.dialect.base import element
from ...compiler.ir.locations import named
from ...compiler.ir.mlir import arith, gpu
from ...compiler.plan import tiles
from ...compiler.plan.layout import layout_of
from ...compiler.plan.plan import Plan
from ...compiler.planner.alignment import WIDEST
from ...compiler.target import WARP
from .kernel import Kernel


def columns_of(kernel: Kernel) -> Any:
    """The results of a row."""
    facts = kernel.facts
    return kernel.arg("kept_size", 0, facts.kept_rank - 1) if facts.by_row else kernel.arg("n_kept")


def tiles_of_row(kernel: Kernel) -> Any:
    """The CTAs along the kept axis that work on one row."""
    if not kernel.facts.by_row:
        return kernel.id(gpu.grid_dim(gpu.Dimension.x))
    if kernel.plan.exchanges:
        early = tiles.early(kernel.plan, kernel.facts.stores)
        return kernel.ceil(arith.addi(columns_of(kernel), kernel.number(early)), kernel.plan.own)
    return layout_of(kernel.plan).rows.units(columns_of(kernel), kernel)


@dataclass(frozen=True, eq=False)
class Row:
    """A row of results.

    Attributes:
        kernel: the kernel that computes them.
        columns: the results of a row.
        number: the number of the row; None where all results are one row.
        outer: the row's index along each outer kept dim.
        starts: for each input, where its elements of the row begin.
    """

    kernel: Kernel
    columns: Any
    number: Any
    outer: tuple[Any, ...]
    starts: tuple[Any, ...]

    @classmethod
    def at(cls, kernel: Kernel, number: Any) -> Row:
        """The row with a number, or the one row that all results are."""
        outer = _outer(kernel, number) if kernel.facts.by_row else ()
        inputs = enumerate(kernel.inputs)
        starts = tuple(_start(kernel, outer, kernel.arg("input", i), i, element(x.type)) for i, x in inputs)
        return cls(kernel, columns_of(kernel), number, outer, starts)

    def start(self, base: Any, operand: int, t: Any) -> Any:
        """Where the row's elements, of the type ``t``, begin in the array of an operand that begins at ``base``."""
        return _start(self.kernel, self.outer, base, operand, t)

    def before(self, operand: int) -> Any:
        """How many elements lie from the first one of an operand to the row's."""
        return _offset(self.kernel, self.outer, operand)

    def beside(self, operand: int) -> list[Any]:
        """How many elements of an input, whose rows follow each other, lie before the row's begin, and how many after.

        The latter are counted from where the row begins to where the last row does.
        """
        kernel = self.kernel
        if not kernel.facts.by_row:
            return [kernel.number(0), kernel.number(0)]
        last = _outer(kernel, arith.subi(self.count(), kernel.number(1)))
        before = self.before(operand)
        return [before, arith.subi(_offset(kernel, last, operand), before)]

    def count(self) -> Any:
        """How many rows there are."""
        return arith.divui(self.kernel.arg("n_kept"), self.columns)

    @property
    def kept_dims(self) -> range:
        """The kept dims that the index of a result goes through: of a row of several dims the innermost."""
        facts = self.kernel.facts
        return range(facts.kept_rank - 1 if facts.by_row else 0, facts.kept_rank)


def _outer(kernel: Kernel, row: Any) -> tuple[Any, ...]:
    """The index of a row along each outer kept dim."""
    found: list[Any] = []
    for d in reversed(range(1, kernel.facts.kept_rank - 1)):
        row, index = kernel.divided(row, kernel.arg("kept_size", 0, d))
        found.insert(0, index)
    return (row, *found)


def _start(kernel: Kernel, outer: tuple[Any, ...], base: Any, operand: int, t: Any) -> Any:
    return address(base, _offset(kernel, outer, operand), t) if kernel.facts.by_row else base


def _offset(kernel: Kernel, outer: tuple[Any, ...], operand: int) -> Any:
    """How far a row lies from the first one in the array of an operand, in elements."""
    found = kernel.number(0)
    for d, index in enumerate(outer):
        found = arith.addi(found, arith.muli(index, kernel.arg("kept_stride", operand, d)))
    return found


class Digits(NamedTuple):
    """The digits of a thread's number by a plan.

    Attributes:
        plan: the plan.
        lane, warp: the digits of the lane's and of the warp's number along the reduced axis.
        position: the thread's number among the threads of its CTA that share its results.
        slot: its first result among those that the CTA works on at a time.
    """

    plan: Plan
    lane: Any
    warp: Any
    position: Any
    slot: Any

    @classmethod
    def of(cls, kernel: Kernel, plan: Plan) -> Digits:
        """The digits by ``plan``."""
        layout, thread = layout_of(plan), kernel.id(gpu.thread_id(gpu.Dimension.x))
        in_warp, warp = kernel.modulo(thread, WARP), kernel.divide(thread, WARP)
        digits = layout.digits({"lane": in_warp, "warp": warp}, kernel)
        position, slot = layout.position(digits, kernel), layout.offset("kept", digits, kernel)
        lane, row = digits["lane", "reduced"], digits["warp", layout.chunked]
        name(lane=lane, row=row, position=position, slot=slot, thread=thread, in_warp=in_warp, warp=warp)
        name(lane_kept=digits["lane", "kept"], warp_kept=digits["warp", "kept"])
        return cls(plan, lane, row, position, slot)


def name(**values: Any) -> None:
    """Names values after the keywords."""
    for word, value in values.items():
        named(value, word)


@dataclass(frozen=True, eq=False)
class Place:
    """A thread's digits, and its results.

    Attributes:
        plan, lane, warp, position, slot: its ``Digits``; along a period lane and warp do not matter, and are None.
        kept: its first result in the row.
        in_range: whether that exists.
        owner: whether the thread is also the one that writes it, of those that share it.
        start: the first result that its accesses hold.
        lead: by how much that is before ``kept``, where accesses begin at the boundary before; else None.
        inside: whether its slot is one of the CTA's, where CTAs have fewer results than slots; else None.
        rank: the number of its CTA in the cluster, where there are clusters; else None.
    """

    plan: Plan
    lane: Any
    warp: Any
    position: Any
    slot: Any
    kept: Any
    in_range: Any
    owner: Any
    start: Any
    lead: Any = None
    inside: Any = None
    rank: Any = None

    @property
    def digits(self) -> Digits:
        return Digits(self.plan, self.lane, self.warp, self.position, self.slot)

    @classmethod
    def of(cls, kernel: Kernel, digits: Digits, kept: Any, end: Any) -> Place:
        """The place of a thread whose first result is ``kept``, if that lies before ``end``."""
        in_range = kernel.less(kept, end)
        owner = arith.andi(in_range, kernel.is_first(digits.position))
        name(kept=kept, in_range=in_range, owner=owner)
        return cls(*digits, kept, in_range, owner, kept)


@dataclass(frozen=True, eq=False)
class Tile:
    """The results of a CTA.

    Attributes:
        row: the row that they are in.
        first: the first of them.
        width: how many there are, where they may be fewer than the CTA's slots; else None.
    """

    row: Row
    first: Any
    width: Any = None

    @property
    def kernel(self) -> Kernel:
        return self.row.kernel

    def place(self, plan: Plan) -> Place:
        """A thread's place by ``plan``."""
        return self.place_at(Digits.of(self.kernel, plan))

    def place_at(self, digits: Digits) -> Place:
        """The place of a thread with these digits."""
        found = Place.of(self.kernel, digits, arith.addi(self.first, digits.slot), self.row.columns)
        if self.width is None:
            return found
        inside = self.kernel.less(found.slot, self.width)
        in_range, owner = arith.andi(found.in_range, inside), arith.andi(found.owner, inside)
        return replace(found, in_range=in_range, owner=owner, inside=inside)


def lead_of(kernel: Kernel, t: Any, base: Any, first: Any, layout: list[Any]) -> Any:
    """How many elements result ``first`` of an array of the type ``t`` lies after a boundary of the plan's accesses.

    ``base`` is where the array begins, ``layout`` the sizes of its inner dims and the strides of all.
    """
    attributes = {"lanes": lanes_of(kernel, t), "bytes": bytes_of(memory_type(t))}
    attributes |= {"kept_rank": (len(layout) + 1) // 2, "reduced_rank": 0}
    return kernel.make("fold.lead", kernel.index, [base, first, *layout], attributes, 1)


def lanes_of(kernel: Kernel, t: Any) -> int:
    """Elements of the type ``t`` between two boundaries of the plan's accesses."""
    return min(kernel.plan.vector, WIDEST // bytes_of(memory_type(t)))


def row_of_cta(kernel: Kernel) -> tuple[Row, Any]:
    """The row that a CTA works on, and the CTA's number among those of the row."""
    tile = kernel.id(gpu.block_id(gpu.Dimension.x))
    if kernel.maps:
        tile, _ = numbers_of_cta(kernel)
    number = None
    if kernel.facts.by_row:
        number, tile = kernel.divided(tile, tiles_of_row(kernel))
    return Row.at(kernel, number), tile


def numbers_of_cta(kernel: Kernel) -> tuple[Any, Any]:
    """The number of a CTA's results, and of its part of them, where nothing is folded.

    CTAs run in about the order of their numbers in the grid, along x, then y, then z. Where rows lie in memory, those
    that follow each other take parts that do, so that lines that two parts share are still in the L2 cache; unless rows
    share large weights.
    """
    plan = kernel.plan
    if (
        kernel.facts.rows_first
        or plan.tile_bytes
        or (plan.fast == "kept" and (plan.walk != "blocked" or plan.exchanges))
    ):
        layer, rows = kernel.id(gpu.block_id(gpu.Dimension.z)), kernel.id(gpu.grid_dim(gpu.Dimension.y))
        part = arith.addi(kernel.id(gpu.block_id(gpu.Dimension.y)), arith.muli(layer, rows))
        return kernel.id(gpu.block_id(gpu.Dimension.x)), part
    along = gpu.Dimension.x, gpu.Dimension.y, gpu.Dimension.z
    (x, y, z), (width, height, depth) = (
        [arith.index_cast(word_type(), of(d)) for d in along] for of in (gpu.block_id, gpu.grid_dim)
    )
    number = arith.addi(x, arith.muli(width, arith.addi(y, arith.muli(height, z))))
    parts = arith.muli(height, depth)
    tile = arith.divui(number, parts)
    part = arith.subi(number, arith.muli(tile, parts))
    return tuple(n if kernel.index == n.type else arith.extui(kernel.index, n) for n in (tile, part))


def place_in_tile(row: Row, number: Any, digits: Digits) -> tuple[Tile, Place]:
    """The results of tile ``number`` of a row, and the place of a thread with these digits among them."""
    kernel, plan = row.kernel, row.kernel.plan
    first = arith.muli(number, kernel.number(plan.own)) if plan.overlap else kernel.scaled(number, plan.slots)
    name(tile=number, first_kept=first)
    tile = Tile(row, first)
    place = tile.place_at(digits)
    if not plan.overlap:
        return tile, place
    return tile, replace(place, owner=arith.andi(place.owner, kernel.less(place.slot, kernel.number(plan.own))))


def first_place(kernel: Kernel) -> tuple[Tile, Place]:
    """The results of the CTA, and the place of a thread while it reads."""
    digits = Digits.of(kernel, kernel.plan)
    row, number = row_of_cta(kernel)
    tile, place = place_in_tile(row, number, digits)
    plan = kernel.plan
    if plan.cluster == 1:
        return tile, place
    rank = kernel.modulo(kernel.id(gpu.block_id(gpu.Dimension.y)), plan.cluster)
    return tile, replace(place, rank=rank, owner=arith.andi(place.owner, kernel.is_first(rank)))


def existing(kernel: Kernel, place: Place) -> Any:
    """The results that a thread reads for: those of its place, or the last ones for a thread without results."""
    last = arith.subi(kernel.arg("n_kept"), kernel.number(place.plan.vector_kept))
    return arith.minsi(place.kept, last)


def padded_place(kernel: Kernel) -> tuple[Tile, Place]:
    """The results of the thread's row, and its place there."""
    plan, digits = kernel.plan, Digits.of(kernel, kernel.plan)
    tile = kernel.id(gpu.block_id(gpu.Dimension.x))
    accesses = layout_of(plan).rows.units(columns_of(kernel), kernel)
    number = kernel.scaled(tile, plan.slots, digits.slot)
    number, before = kernel.divided(number, kernel.scaled(accesses, plan.vector))
    row, t = Row.at(kernel, number), element(kernel.results[0].type)
    base = row.start(kernel.arg("output", 0), len(kernel.inputs), t)
    lead = lead_of(kernel, t, base, kernel.number(0), [kernel.number(1)])
    place = Place.of(kernel, digits, arith.subi(before, lead), row.columns)
    exists = kernel.less(number, row.count())
    in_range, owner = arith.andi(place.in_range, exists), arith.andi(place.owner, exists)
    return Tile(row, kernel.number(0)), replace(place, in_range=in_range, owner=owner)


def staggered_place(kernel: Kernel) -> tuple[Tile, Place]:
    """The columns of the CTA, and the place of a thread while it reads; CTAs have as many columns each."""
    vector, digits = kernel.plan.vector, Digits.of(kernel, kernel.plan)
    row, number = row_of_cta(kernel)
    width = layout_of(kernel.plan).pitch(row.columns, tiles_of_row(kernel), kernel)
    tile = Tile(row, arith.muli(number, width), width)
    name(tile=number, first_kept=tile.first)
    place = tile.place_at(digits)
    stride = kernel.arg("kept_stride", 0, kernel.facts.kept_rank - 1)
    apart = kernel.arg("reduced_stride", 0, kernel.facts.reduced_rank - 1)
    lead = lead_of(kernel, element(kernel.inputs[0].type), row.starts[0], tile.first, [stride])
    lead = kernel.modulo(arith.addi(lead, arith.muli(place.position, apart)), vector)
    start = arith.subi(place.kept, lead)
    reads = kernel.less(place.slot, arith.addi(width, kernel.number(vector)))
    in_range = arith.andi(reads, kernel.less(start, row.columns))
    return tile, replace(place, in_range=in_range, start=start, lead=lead)
