"""Tiles: a CTA copies all elements of some neighbouring results into shared memory, from one run of memory.

A tile is cut between indices of the outermost kept dim. The elements of one such index are a *unit*: a short row, or
the rows of a small middle axis with everything between them, a *group* of rows. Memory is read in whole aligned
accesses, wherever a unit begins and whatever the order of its elements. Threads pick their elements from shared memory,
where single accesses are cheap.

Where the slots of a tile lie whose blocks warps turn, so that no two lanes wait for a bank of shared memory.

A row of the tile is ``across`` slots of 16 bytes, a power of two: slot c of row r has the number ``r * across + c``. A
matrix access reads eight slots at a time, whose banks would be the same. So a slot lies at another place among eight
neighbouring ones, by an exclusive or. Then these eight are at all banks, and so are eight that follow each other.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, prod

from ..dtypes import BIT, NUMBER, DType
from ..program.bit_arrays import BYTE, WORD
from ..space.geometry import Dim, Geometry
from .plan import Plan

EDGE, BEYOND = 32, 32
"""Bytes of a tile beyond its elements: the aligned accesses at both ends reach past the elements, and so do the words
that threads cut vectors out of."""
SECTOR = 32
"""Bytes that memory writes at once."""
ACCESS = 16
"""Bytes of the widest access to shared memory."""
DENSE = 0.75
"""The part of a unit's bytes that must be elements; a copy also reads the gaps."""


def parts_pitch(length: int, item: int) -> int:
    """The bytes from one row of a tile to the next, if parts of ``length`` elements each begin at a boundary."""
    return length * item + ACCESS


def parts_bytes(parts: int, length: int, item: int, skew: int) -> int:
    """The bytes of so many parts of rows: after each ``skew`` of them one access is left out.

    So threads that read the same element of rows ``skew`` apart read different banks.
    """
    return parts * parts_pitch(length, item) + -(-parts // skew) * ACCESS


def early(plan: Plan, stores: Container[str]) -> int:
    """By how many elements the columns of a CTA that exchanges arrays begin early at most, if results are ``stores``.

    They begin at a boundary of two accesses, a sector of the widest elements.
    """
    return 2 * plan.vector - 1 if plan.exchanges and "shifted" in stores else 0


def exchanged_parts(plan: Plan, stores: Container[str]) -> tuple[int, int]:
    """How many rows a CTA copies of an input that lies across, and how many elements of each."""
    return plan.slots + early(plan, stores), plan.held * plan.positions


def exchange_bytes(plan: Plan, stores: Container[str], item: int) -> int:
    """The bytes of shared memory of what a CTA copies of an input of elements of ``item`` bytes."""
    return parts_bytes(*exchanged_parts(plan, stores), item, plan.vector)


def mask_pitch(plan: Plan) -> int:
    """The words from one row of bits of a CTA that exchanges such to the next: lanes read those of different banks."""
    return plan.slots // WORD + 1


def read_bits_pitch(plan: Plan) -> int:
    """The same of bits that are read, which begin two accesses before the columns of the CTA: an odd number."""
    return -(-(plan.slots + 2 * plan.vector) // WORD) | 1


def _read_bits_bytes(plan: Plan) -> int:
    """The bytes of shared memory of the bits of an input."""
    nbytes = plan.held * plan.positions * read_bits_pitch(plan) * WORD // BYTE
    return -(-nbytes // ACCESS) * ACCESS


def _bits_bytes(plan: Plan) -> int:
    """The bytes of shared memory of the bits of a result, in the order of rows and in that of columns."""
    length = plan.held * plan.positions
    turned = -(-plan.own // WORD) * WORD * length // BYTE
    return -(-(length * mask_pitch(plan) * WORD // BYTE + turned) // ACCESS) * ACCESS


def exchange_starts(
    plan: Plan, access: Sequence[str], stores: Sequence[str], items: Sequence[int]
) -> tuple[dict[int, int], int]:
    """Where what a CTA exchanges of each operand begins in shared memory, and how many bytes all of it has."""
    found, end = {}, 0
    for i, kind in enumerate((*access, *stores)):
        nbytes = 0
        if kind == "exchanged":
            nbytes = exchange_bytes(plan, stores, items[i])
        elif kind == "bits_exchanged":
            nbytes = _read_bits_bytes(plan) if i < len(access) else _bits_bytes(plan)
        if nbytes:
            found[i] = end
        end += nbytes
    return found, end


def exchanging_ctas(plan: Plan, stores: Container[str], geometry: Geometry) -> int:
    """The CTAs along the kept axis that exchange arrays: none has columns of two rows."""
    rows = geometry.n_kept // max(1, geometry.columns)
    return rows * -(-(geometry.columns + early(plan, stores)) // plan.own)


@dataclass(frozen=True)
class Unit:
    """The elements of one index of the outermost kept dim, of one input.

    Attributes:
        stride: the distance from one unit to the next, in elements.
        span: the distance from a unit's first element to behind its last, in elements, with gaps.
        count: the elements of a unit.
    """

    stride: int
    span: int
    count: int


def unit(geometry: Geometry, operand: int) -> Unit | None:
    """The unit of an input; None where units overlap or run backwards."""
    if not geometry.n_reduced:
        return Unit(1, 0, 1)
    outer = _outermost(geometry.kept)
    return _unit([outer] if outer is not None else [], _inner(geometry), operand)


def _unit(outer: Sequence[Dim], inner: Sequence[Dim], operand: int) -> Unit | None:
    """The elements of one index of the dims ``outer``, which follow each other at one stride.

    None where they do not, where those of several indices overlap, or where some run backwards.
    """
    strides = [d.strides[operand] for d in inner if d.size > 1]
    if min(strides, default=0) < 0 or any(
        a.strides[operand] != b.size * b.strides[operand] for a, b in pairwise(outer)
    ):
        return None
    span = 1 + sum((d.size - 1) * d.strides[operand] for d in inner)
    count = prod(d.size for d in inner if d.strides[operand])
    stride = outer[-1].strides[operand] if outer else span
    return Unit(stride, span, count) if 0 < span <= stride else None


@dataclass(frozen=True)
class Groups:
    """Rows in groups, each of which is a unit of every array of some operands.

    Attributes:
        rows: the rows of a group, which share the indices of the outer kept dims.
        units: the unit of each operand.
    """

    rows: int
    units: dict[int, Unit]


def groups(
    geometry: Geometry, items: Mapping[int, int], written: Container[int], *, alone: bool = False
) -> Groups | None:
    """The smallest groups of rows that are dense in the arrays of some operands; None where there are none.

    What is ``written`` has no gaps. What is read has few of them, or such short ones that hardly a sector lies in one.

    Args:
        geometry: the rows.
        items: the operands, and the bytes of an element of each.
        written: those of them that are results.
        alone: whether all rows may be one group.
    """
    for depth in range(len(geometry.kept), -alone, -1):
        outer, inner = geometry.kept[:depth], geometry.kept[depth:]
        found = {i: _unit(outer, (*inner, *geometry.reduced), i) for i in items}
        units = {i: u for i, u in found.items() if u is not None and _is_dense(u, items[i], i in written)}
        if len(units) == len(items):
            return Groups(prod(d.size for d in inner), units)
    return None


def _is_dense(unit: Unit, item: int, written: bool) -> bool:
    """Whether the elements of a unit, of ``item`` bytes each, have no gaps, or small ones where it is only read."""
    gaps = unit.stride - unit.count
    return gaps <= 0 or (not written and (unit.count >= DENSE * unit.stride or gaps * item <= SECTOR))


def results(geometry: Geometry) -> int:
    """The results of a unit."""
    outer = _outermost(geometry.kept)
    return geometry.n_kept // outer.size if outer is not None else 1


def share(plan: Plan, items: Sequence[int], copied: Sequence[bool], operand: int) -> int:
    """Bytes of the plan's tile for one of the inputs that are copied, in proportion to the size of its elements."""
    whole = sum(item for item, own in zip(items, copied, strict=True) if own)
    return plan.tile_bytes * items[operand] // whole // 16 * 16


class RowBuffers:
    """The buffers of a tile of rows that are read again: a part of it for each operand whose rows are there.

    Warps that share a row work on one row each, and so does each thread where a tile is a large one. Its results then
    lie where an input did that has elements of their size, since all threads have read their elements before. Threads
    that work on several rows, one after another, have results in buffers of their own.

    Attributes:
        items: bytes of an element of each operand.
        reused: the results that lie where an input did, and the number of that input.
        own: the other operands, which have buffers of their own.
    """

    def __init__(self, plan: Plan, items: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """The buffers of the operands ``inputs`` and ``outputs``; ``items`` are the bytes of an element of each."""
        self.plan, self.items = plan, items
        self.reused: dict[int, int] = {}
        free = list(inputs) if plan.warps > 1 or plan.is_large_tile or plan.keeps_columns else []
        for i in outputs:
            found = next((k for k in free if items[k] == items[i]), None)
            if found is not None:
                self.reused[i] = found
                free.remove(found)
        self.own = [i for i in (*inputs, *outputs) if i not in self.reused]

    def share(self, operand: int) -> int:
        """Bytes of the tile for an operand with a buffer of its own, in proportion to the size of its elements."""
        return self.plan.tile_bytes * self.items[operand] // sum(self.items[i] for i in self.own) // 16 * 16

    def nbytes(self, operand: int) -> int:
        """Bytes of the buffer: the share, or less if warps share a row and its threads keep less."""
        plan = self.plan
        row = plan.positions * plan.held * self.items[operand]
        needed = -(-(plan.slots * row + EDGE) // 16) * 16
        return min(self.share(operand), needed) if plan.warps > 1 and plan.held else self.share(operand)

    def start(self, operand: int) -> int:
        """Where the buffer of an operand with its own one begins, in bytes from the first buffer."""
        return sum(self.nbytes(i) for i in self.own[: self.own.index(operand)])

    def groups(self, units: Mapping[int, Unit], length: int) -> int:
        """How many groups of rows of ``length`` fit the buffers, with ``units`` of operands; 0 where not one does.

        The CTAs of a cluster hold one, each an equal part of its rows.
        """
        fits = []
        for i in (*self.own, *self.reused):
            if self.plan.cluster > 1:
                part = -(-length // self.plan.cluster) * -(-units[i].span // length) * self.items[i]
                fits.append(int(part + EDGE <= self.share(self.reused.get(i, i))))
                continue
            room = (self.share(self.reused.get(i, i)) - EDGE) // self.items[i]
            fits.append((room - units[i].span) // units[i].stride + 1 if room >= units[i].span else 0)
        return min(fits)


def beyond(plan: Plan) -> int:
    """Bytes after the elements of a tile that threads of ``plan`` may read as well."""
    return BEYOND if plan.vector > 1 else 0


def units(plan: Plan, geometry: Geometry, inputs: Sequence[DType]) -> int:
    """The units that fit a CTA's tile; 0 where the array has no units, or not even one fits, and for bits and numbers.

    An input that all units share is not copied. Where many units fit, their results are a multiple of a sector.
    """
    if not {BIT, NUMBER}.isdisjoint(inputs):
        return 0
    found, items = [unit(geometry, i) for i in range(len(inputs))], [t.itemsize for t in inputs]
    mine = [u is not None for u in found]
    fits = []
    for i, u in enumerate(found):
        if u is None:
            if _differs(geometry, i):
                return 0
            continue
        if u.count < DENSE * u.stride:
            return 0
        room = (share(plan, items, mine, i) - EDGE - beyond(plan)) // items[i]
        fits.append((room - u.span) // u.stride + 1 if room >= u.span else 0)
    most, each = min(fits, default=0), results(geometry)
    whole = SECTOR // gcd(SECTOR, each)
    return most // whole * whole if most >= 8 * whole else most


def _differs(geometry: Geometry, operand: int) -> bool:
    """Whether different units have different elements of an input."""
    outer = _outermost(geometry.kept)
    return outer is not None and outer.strides[operand] != 0


def ctas(geometry: Geometry, each: int) -> int:
    """The CTAs that a launch needs, if each copies ``each`` units; 0 where there are no results."""
    outer = _outermost(geometry.kept)
    count = outer.size if outer is not None else 1
    return -(-count // each) if geometry.n_kept else 0


def _outermost(kept: tuple[Dim, ...]) -> Dim | None:
    """The outermost kept dim; a kernel may have dims of size 1 before it."""
    return next((d for d in kept if d.size > 1), None)


def _inner(geometry: Geometry) -> list[Dim]:
    outer = _outermost(geometry.kept)
    return [d for d in (*geometry.kept, *geometry.reduced) if d is not outer]


COLUMNS = 8
"""Columns of a slot, which are those of a warp."""
ROWS = 32
"""Rows that a warp reads at once: four blocks, of which each lane gets eight neighbouring elements of a column."""
AT_ONCE = 8
"""Slots that shared memory serves at once."""


def named(lane: int) -> int:
    """The row, of ROWS, that a lane names. Lane t of a column then has the rows 8t to 8t + 7 in its four registers."""
    block, row = divmod(lane, AT_ONCE)
    return COLUMNS * (row // 2) + 2 * block + row % 2


def moves(across: int) -> list[tuple[int, int]]:
    """Bits of a slot's number, and the lower bits that take their exclusive or.

    The rows that a block's lanes name differ in bits 0, 3 and 4. Bit 0 may be among the three lowest ones.
    """
    row = across.bit_length() - 1
    free = [bit for bit in range(3) if bit != row]
    return list(zip([row + 3, row + 4, row][: len(free)], free, strict=True))


def placed(slot: int, across: int) -> int:
    """Where a slot lies, as a number of slots."""
    found = slot
    for source, to in moves(across):
        found ^= (slot >> source & 1) << to
    return found
