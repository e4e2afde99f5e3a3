"""Geometry: the iteration space of a reduction, in as few dims as possible.

Dims of size 1 are dropped, dims walked backwards are flipped, dims are ordered by stride, and neighbours that one
stride serves are merged. What is left is a short list of *kept* and of *reduced* dims, outermost first. Pure Python.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ..dtypes import BIT
from ..errors import error
from ..lazy import lazy
from ..program.bit_arrays import WORD
from ..program.graph import SCALAR

if TYPE_CHECKING:
    from ..program.cuts.steps import Step

MOST_DIMS = 8
"""The most dims in which the arrays of a step that reads its rows again may lie."""


class Dim(NamedTuple):
    """One dim of the iteration space.

    Attributes:
        size: elements along it.
        strides: distance between neighbours, in elements, for each operand: inputs first, then outputs. An operand has
            stride 0 along dims that it has not, as a result of a reduction along reduced dims. A numbering of a program
            that reads its rows again is one more operand, whose offsets are the numbers; that of a count is the count.
        index_stride: distance between neighbours in the caller's row-major numbering of the reduced elements.
        row_stride: distance between neighbours in the numbering of ragged rows: 1 along the dim that numbers them.
    """

    size: int
    strides: tuple[int, ...]
    index_stride: int = 0
    row_stride: int = 0

    def flipped(self) -> Dim:
        """This dim walked from its other end; ragged rows never are, since the dim that numbers them has stride 0."""
        return Dim(self.size, tuple(-s for s in self.strides), -self.index_stride)

    def holds(self, inner: Dim) -> bool:
        """Whether this dim and ``inner`` just below it are one dim for every operand."""
        outer = (*self.strides, self.index_stride, self.row_stride)
        pairs = zip(outer, (*inner.strides, inner.index_stride, inner.row_stride), strict=True)
        return all(own == inner.size * s for own, s in pairs)


class Gathered(NamedTuple):
    """An axis along which indices choose elements of an operand: its size, and its stride in elements."""

    operand: int
    size: int
    stride: int


@dataclass(frozen=True)
class Geometry:
    """The collapsed iteration space.

    Attributes:
        kept, reduced: dims outermost first.
        offsets: where each operand's walk starts, in elements from its first element (not 0 after a flip).
        index_base: the number of the element where the walk starts.
        times: how often the caller has each element in a result; see ``planner/repeats.py``.
        copies: a kept dim along which all results are equal; None where there is none.
        after: of a plan whose lanes lie along both axes, the results and what of each its second kernel reduces.
        gap: of a plan that reads rows with the gaps between them, the columns at a row's end that nobody asked for; of
            one with rows abreast, the columns that the last wide row lacks.
        gathered: the axes along which indices choose elements, each of an operand.
        period: of a plan with any number of rows abreast, the elements after which the columns come again; else 0.
        run: the neighbouring elements of a period that are of one column.
    """

    kept: tuple[Dim, ...]
    reduced: tuple[Dim, ...]
    offsets: tuple[int, ...]
    index_base: int = 0
    times: int = 1
    copies: Dim | None = None
    after: Geometry | None = None
    gap: int = 0
    gathered: tuple[Gathered, ...] = ()
    period: int = 0
    run: int = 1

    @lazy
    def n_kept(self) -> int:
        """Results."""
        return prod(d.size for d in self.kept)

    @lazy
    def n_reduced(self) -> int:
        """Elements reduced into each result, each counted once."""
        return prod(d.size for d in self.reduced)

    @property
    def count(self) -> int:
        """Elements that the caller reduces into each result."""
        return self.n_reduced * self.times * (self.after.n_reduced if self.after else 1)

    @property
    def numbers(self) -> str:
        """Which way the numbers of a result's elements go along the walk: ``up``, ``down``, or neither."""
        strides = [d.index_stride for d in self.reduced if d.size > 1]
        if len(strides) != 1 or not strides[0]:
            return ""
        return "up" if strides[0] > 0 else "down"

    @property
    def runs(self) -> int:
        """Runs in which the elements of a result lie: one for each index of all reduced dims but the innermost."""
        return prod(d.size for d in self.reduced[:-1])

    @property
    def repeats(self) -> bool:
        """Whether elements or results are repeated."""
        return self.times > 1 or self.copies is not None

    @property
    def columns(self) -> int:
        """Results side by side: along the innermost kept dim."""
        return self.kept[-1].size if self.kept else 1

    def padded(self, kept: int, reduced: int) -> Geometry:
        """This geometry with leading dims of size 1, up to the ranks of a kernel."""
        one = Dim(1, (0,) * len(self.offsets))
        front = [(one,) * (rank - len(dims)) for rank, dims in ((kept, self.kept), (reduced, self.reduced))]
        return replace(self, kept=front[0] + self.kept, reduced=front[1] + self.reduced)

    def span(self, operand: int) -> tuple[int, int]:
        """The least and the greatest element offset that operand's walk touches, relative to its first element."""
        low = high = self.offsets[operand]
        for d in (*self.kept, *self.reduced, *([self.copies] if self.copies else [])):
            reach = d.strides[operand] * (d.size - 1)
            low, high = low + min(0, reach), high + max(0, reach)
        for axis in self.gathered:
            reach = axis.stride * (axis.size - 1) if axis.operand == operand else 0
            low, high = low + min(0, reach), high + max(0, reach)
        return low, high


def normalize_axes(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """``axis`` as sorted, non-negative axis numbers.

    Raises:
        ArgumentError: WF101 out of range, WF102 repeated, WF103 not an int or a tuple of ints.
    """
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    found: list[int] = []
    for a in axes:
        position = _integer(a, axis)
        if not -rank <= position < rank:
            expected = f"{-rank} to {rank - 1}" if rank else "None or ()"
            remedy = "count axes from 0, or from -1 backwards" if rank else "leave axis= out: a number has no axes"
            raise error("WF101", axis=position, rank=rank, expected=expected, remedy=remedy)
        if position % rank in found:
            raise error("WF102", axis=position, axes=tuple(axes))
        found.append(position % rank)
    return tuple(sorted(found))


def _integer(axis: object, given: object) -> int:
    """One of the axes ``given`` as an int; bools and arrays of several elements are none."""
    try:
        found = operator.index(axis)  # type: ignore[arg-type]
    except TypeError:
        found = None
    if found is None or isinstance(axis, bool):
        is_array = hasattr(given, "shape") and given.shape
        shown = f"a {type(given).__name__} of several elements" if is_array else repr(given)
        remedy = "an array for the result is out=; for elements of two arrays there are wf.maximum and wf.minimum"
        raise error(
            "WF103",
            axis=shown,
            remedy=remedy if is_array else "pass axis=1 or axis=(0, 2), and other arguments by name",
        )
    return found


def memory_order(shape: Sequence[int], inputs: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The axes of ``shape`` as they lie in the memory of the inputs, outermost first: NumPy's order "K".

    Of two axes the one of greater stride, whatever its sign, lies outside; the first input in which both have one
    decides. Axes of size 1 and broadcast ones (stride 0) have none. Where nobody decides, or strides are equal, the
    axes lie as in C order; all of an array without elements do. A result in this order has kept dims that follow each
    other wherever the input's do, so that they merge.

    Undecided pairs of axes make no order that a sort could use. So, as in NumPy, axes are inserted one by one from the
    last to the first.

    Args:
        shape: sizes of all dims.
        inputs: for each input its strides in elements, one per dim.
    """
    if 0 in shape:
        return tuple(range(len(shape)))
    strides = [tuple(abs(s) if n > 1 else 0 for s, n in zip(own, shape, strict=True)) for own in inputs]
    found: list[int] = []  # innermost first
    for axis in reversed(range(len(shape))):
        place = len(found)
        for position in reversed(range(len(found))):
            other = found[position]
            decided = next((s[other] > s[axis] for s in strides if s[other] and s[axis]), None)
            if decided is False:
                break
            place = position if decided else place
        found.insert(place, axis)
    return tuple(reversed(found))


def collapse(
    shape: Sequence[int],
    axes: Sequence[int],
    inputs: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    *,
    ordered: bool = False,
    indexed: bool = False,
    rows: int | None = None,
) -> Geometry:
    """The geometry of reducing ``axes`` of arrays of ``shape``.

    Args:
        shape: sizes of all dims.
        axes: the reduced axes, normalised.
        inputs: for each input its strides in elements, one per dim.
        outputs: for each output its strides in elements, one per kept dim, in order.
        ordered: keep the caller's order of the reduced elements (the monoid is not commutative).
        indexed: the program numbers its elements, so dims merge only where the numbering also does.
        rows: the kept axis that numbers ragged rows; it merges with no other, since they have no row of their own.
    """
    dims = _dims(shape, axes, inputs, outputs, indexed, rows)
    kept, reduced = ([d for d, is_reduced in dims if is_reduced == over] for over in (False, True))
    along = abs(inputs[0][axes[0]]) if rows is not None else 0
    return _collapsed(kept, reduced, [0] * (len(inputs) + len(outputs)), ordered=ordered, along=along)


def step_geometry(
    step: Step,
    sizes: Sequence[int],
    strides: Sequence[Sequence[int]],
    *,
    starts: Sequence[int] = (),
    in_order: bool = False,
) -> Geometry:
    """The geometry of a step of an array program.

    Args:
        step: the step.
        sizes: the sizes of all dims of the program.
        strides: for each operand, inputs first, its strides in elements along all dims of the program; 0 along those
            that it does not have.
        starts: for each operand where its first element is, in elements from its address; 0 by default.
        in_order: whether the elements of a row keep the order of its axes, however they lie in memory.

    Raises:
        ArgumentError: WF185 for arrays that lie in more than ``MOST_DIMS`` dims.
    """
    # bits that are written say how dims lie; else the operand with the most dims, of several the first
    most = max(range(len(strides)), key=lambda i: sum(map(bool, strides[i])), default=0)
    types = (*step.program.inputs, *(o.dtype for o in step.program.outputs))
    bits = [i for i, t in enumerate(types) if t == BIT]
    lead = next((i for i in bits if i >= len(step.program.inputs)), most)
    numbers = [_row_major(dims, sizes) for dims in step.numbered]
    index, counts = dict[int, int](), dict[int, int]()
    if step.program.reads_again:
        for i, space in enumerate(step.program.numberings):
            if space == SCALAR:
                counts[len(strides) + i] = prod(sizes[d] for d in step.numbered[i])
                numbers[i] = {}
        strides = [*strides, *([own.get(d, 0) for d in range(len(sizes))] for own in numbers)]
    elif numbers:
        (index,) = numbers
    kept, reduced = (
        [Dim(sizes[d], tuple(s[d] for s in strides), index.get(d, 0) if over else 0) for d in dims if sizes[d] != 1]
        for over, dims in ((False, step.kept), (True, step.reduced))
    )
    ordered = in_order or step.program.scan is not None or not all(m.commutative for m in step.program.monoids)
    offsets = [*starts, *(0 for _ in strides[len(starts) :])]
    if step.reverse:
        reduced = [_reversed(d, offsets) for d in reduced]
    found = _collapsed(kept, reduced, offsets, ordered=ordered, lead=lead, bits=bits)
    found = replace(found, offsets=tuple(counts.get(i, offset) for i, offset in enumerate(found.offsets)))
    if step.program.reads_again and len(found.kept) + len(found.reduced) > MOST_DIMS:
        raise error("WF185", name=step.program.name, found=len(found.kept) + len(found.reduced), most=MOST_DIMS)
    return found


def _row_major(dims: Sequence[int], sizes: Sequence[int]) -> dict[int, int]:
    """The distance between neighbours along each of some dims, outermost first, in their row-major order."""
    return {d: prod(sizes[inner] for inner in dims[i + 1 :]) for i, d in enumerate(dims)}


def _collapsed(
    kept: list[Dim],
    reduced: list[Dim],
    offsets: list[int],
    *,
    ordered: bool,
    along: int = 0,
    lead: int = 0,
    bits: Sequence[int] = (),
) -> Geometry:
    """The geometry of these dims: sorted, flipped and merged.

    ``lead`` is the operand that says how they lie, and ``bits`` are those whose elements are bits.
    """
    kept, _ = _flip(_sorted(kept, along, lead), offsets, lead, bits)
    base = 0
    if not ordered:
        reduced, base = _flip(_sorted(reduced, lead=lead), offsets, lead, bits)
    return Geometry(merged(kept), merged(reduced), tuple(offsets), base)


def _dims(
    shape: Sequence[int],
    axes: Sequence[int],
    inputs: Sequence[Sequence[int]],
    outputs: Sequence[Sequence[int]],
    indexed: bool,
    rows: int | None,
) -> list[tuple[Dim, bool]]:
    """Every dim of size other than 1, each with whether it is reduced."""
    found: list[tuple[Dim, bool]] = []
    number = prod(shape[a] for a in axes)
    position = 0
    for a, size in enumerate(shape):
        reduced = a in axes
        own = tuple(s[a] for s in inputs)
        if reduced:
            number //= max(1, size)
            dim = Dim(size, own + (0,) * len(outputs), number if indexed else 0)
        else:
            dim = Dim(size, own + tuple(s[position] for s in outputs), row_stride=int(a == rows))
            position += 1
        if size != 1:
            found.append((dim, reduced))
    return found


def _sorted(dims: list[Dim], along: int = 0, lead: int = 0) -> list[Dim]:
    """Largest stride of the operand ``lead`` outermost; a dim that it has not (stride 0) is outermost of all.

    Ragged rows follow each other on the axis that they cut, whose stride is ``along``.
    """

    def place(d: Dim) -> float:
        stride = along if d.row_stride else abs(d.strides[lead])
        return -stride if stride else float("-inf")

    return sorted(dims, key=place)


def _flip(dims: list[Dim], offsets: list[int], lead: int = 0, bits: Sequence[int] = ()) -> tuple[list[Dim], int]:
    """Walks every dim in the direction in which addresses of the operand ``lead`` rise; moves ``offsets`` along.

    Those along which ``bits`` share words are walked as they are: the first bit of a walk is that of a word.
    """
    base = 0
    result = []
    for d in dims:
        if d.strides[lead] < 0 and d.size > 0 and all(d.strides[i] % WORD == 0 for i in bits):
            base += (d.size - 1) * d.index_stride
            d = _reversed(d, offsets)
        result.append(d)
    return result, base


def _reversed(d: Dim, offsets: list[int]) -> Dim:
    """A dim that is walked from its last index to its first; moves ``offsets`` along."""
    for i, s in enumerate(d.strides):
        offsets[i] += max(0, d.size - 1) * s
    return d.flipped()


def merged(dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """``dims`` with each run of them that one stride serves as one."""
    found: list[Dim] = []
    if any(d.size == 0 for d in dims):
        return (Dim(0, (0,) * len(dims[0].strides)),)
    for d in dims:
        if found and found[-1].holds(d):
            d = Dim(found.pop().size * d.size, d.strides, d.index_stride)
        found.append(d)
    return tuple(found)
