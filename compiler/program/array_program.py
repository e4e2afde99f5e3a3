"""An array program: what tracing a function of whole arrays gives, before it is cut into kernels.

A *value* varies along a set of the program's dims, which is its space: an element of ``x[row][col]`` along both, a
weight ``w[col]`` along one, a number along none. An elementwise result varies along the dims of all its operands. A
fold takes dims away, and using its result on elements gives them back. ``program/cuts/cut.py`` makes kernels of it.

The softmax of the rows of ``x[4096][1000]``, with the dims 0 and 1::

    dims     0: axis 0 of array 0       1: axis 1 of array 0
    views    0: array 0, (0, 1)
    output   div(exp(sub(x, m)), s)     space {0, 1}, axes (0, 1)
             m = result 0 of fold(x)    space {0}:  Fold(MAX, over {1})
             s = result 0 of fold(exp)  space {0}:  Fold(SUM, over {1})

Beside the elementwise operations the nodes are:

- ``input``: the elements of a view; its value is the number of the view, and its space the dims of the view;
- ``gather``: an element of a view with a gathered axis: its arguments are the ``input`` of that view, and the index
  along the axis, an i64. It is 0 for an index that is not from 0 to the size of the axis - 1;
- ``const``: a constant, in space 0;
- ``fold``: a reduction; its value is a ``Fold``, its arguments are one per value of the monoid's state;
- ``scan``: a fold of which every element gets the state of those up to it; its value is a ``Scan``, and its space that
  of elements;
- ``result``: one value of the state of its argument, a ``fold`` or a ``scan``; its value is the position in the state;
- ``count``: how many elements a fold over some dims reduces; its value is these dims as bits;
- ``iota``: the number of an element in row-major order of some dims; its value is the tuple of these dims.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dtypes import BIT, U32, DType
from ..errors import Location, error
from ..lazy import lazy
from .bit_arrays import WORD, bit_strides, has_gaps, words_shape
from .graph import Expr, MonoidGraph, Space, walk

if TYPE_CHECKING:
    from .monoid import Monoid


@dataclass(frozen=True)
class Fold:
    """What a ``fold`` node does.

    Attributes:
        monoid: the monoid of its state.
        over: the dims that it takes away, as bits.
        order: for a monoid that is not commutative these dims, outermost first: the elements are combined in the
            row-major order of them. Empty for a commutative one.
    """

    monoid: MonoidGraph
    over: Space
    order: tuple[int, ...] = ()

    def __repr__(self) -> str:
        """A text that names the structure: the digest of a node contains it."""
        return f"Fold({self.monoid.digest}, {self.over}, {self.order})"


@dataclass(frozen=True)
class Scan:
    """What a ``scan`` node does.

    Attributes:
        monoid: the monoid of its state.
        along: the dims that it goes along, outermost first: elements are combined in the row-major order of them.
        exclusive: whether an element gets the state of those before it, the identity if there are none.
        reverse: whether it goes from the last element to the first.
    """

    monoid: MonoidGraph
    along: tuple[int, ...]
    exclusive: bool = False
    reverse: bool = False

    @property
    def over(self) -> Space:
        """The dims that it goes along."""
        return sum(1 << d for d in self.along)

    def __repr__(self) -> str:
        """A text that names the structure: the digest of a node contains it."""
        return f"Scan({self.monoid.digest}, {self.along}, {self.exclusive}, {self.reverse})"


class Layout(NamedTuple):
    """The shape and the strides of an array; without strides none.

    Attributes:
        shape: the size of each axis.
        strides: the distance of neighbours along each axis, in elements.
        offset: where its first element is, in elements from that of the argument.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


def split(array: Layout, into: Mapping[int, tuple[int, ...]]) -> Layout:
    """An array with some axes split into several, given by their sizes, in row-major order."""
    sizes: list[int] = []
    found: list[int] = []
    for axis, n in enumerate(array.shape):
        own = into.get(axis, (n,))
        sizes += own
        found += [prod(own[i + 1 :]) * array.strides[axis] for i in range(len(own))] if array.strides else []
    return Layout(tuple(sizes), tuple(found), array.offset)


class View(NamedTuple):
    """One way of reading an array argument.

    Attributes:
        array: the number of the array, or of a slice; -1 - i for the bits i of an array.
        axes: for each axis of the array the dim along which it lies; None for an axis of size 1, which is broadcast.
            An array that is read in two orders, such as ``x`` and ``x.mT``, has two views.
        gathered: the axis along which indices choose elements, see ``gather``; None for an array that is read whole.
            It lies along no dim.
    """

    array: int
    axes: tuple[int | None, ...]
    gathered: int | None = None


class Output(NamedTuple):
    """One result array.

    Attributes:
        expr: its elements.
        axes: for each axis of the result the dims along which it lies, outermost first; None for an axis of size 1.
            Every dim of the expression's space is among them; a dim beyond that space is broadcast.
        dtype: the element type of the array; the elements are converted to it when they are written. The expression of
            an 8-bit float is its byte, of type u8. That of BIT is a bool, and the array one of words.
        joined: for each axis of the result how many of ``axes`` it is; without entries each is one.
        flat: whether bits lie in row-major order of all axes, and not of the last one.
    """

    expr: Expr
    axes: tuple[int | None, ...]
    dtype: DType
    joined: tuple[int, ...] = ()
    flat: bool = False

    @property
    def stored(self) -> DType:
        """The element type of a new array: u32 for bits."""
        return U32 if self.dtype == BIT else self.dtype

    @property
    def words(self) -> tuple[int, ...] | None:
        """The dims, outermost first, along which bits share words; None for other types."""
        if self.dtype != BIT:
            return None
        last = len(self.axes) if self.flat else (self.joined or (1,))[-1]
        return tuple(d for d in self.axes[len(self.axes) - last :] if d is not None)

    def shape(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The shape of the array, whose dims have these sizes."""
        found = self.elements(sizes)
        return words_shape(found, flat=self.flat) if self.dtype == BIT else found

    def elements(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The shape of the elements, which bits have beside that of their words."""
        return tuple(map(prod, self._each(sizes)))

    def apart(self, sizes: Sequence[int], strides: Sequence[int]) -> Layout:
        """The shape and the strides of the elements with an axis for each of ``axes``."""
        each = self._each(sizes)
        shape = tuple(map(prod, each))
        own = bit_strides(shape, strides, flat=self.flat) if self.dtype == BIT else tuple(strides)
        return split(Layout(shape, own), dict(enumerate(each)))

    def _each(self, sizes: Sequence[int]) -> list[tuple[int, ...]]:
        """The sizes of the dims of each axis."""
        rest = iter(1 if d is None else sizes[d] for d in self.axes)
        return [tuple(islice(rest, n)) for n in self.joined or (1,) * len(self.axes)]


class Split(NamedTuple):
    """An axis of an array that is read as several axes, in row-major order.

    Attributes:
        array: the number of the array, or of a slice.
        axis: its axis.
        sizes: the sizes of the new axes; 0 for that which is not a constant of the program.
    """

    array: int
    axis: int
    sizes: tuple[int, ...]

    def of(self, size: int) -> tuple[int, ...] | None:
        """The sizes of the new axes for an axis of some size; None if they do not divide it."""
        known = prod(n for n in self.sizes if n)
        if size % known or (0 not in self.sizes and size != known):
            return None
        return tuple(n or size // known for n in self.sizes)


class Slice(NamedTuple):
    """A slice of an array along one axis, which is read as an array of its own.

    Slices are numbered in order, from the number of array arguments on.

    Attributes:
        array: the number of the array, or of an earlier slice; -1 - i for the truth values of the bits i.
        axis: its axis.
        sizes: the sizes of the axes as which that axis is read, as those of a ``Split``; one 0 for a whole axis.
        part: the number of that of them which is sliced.
        start, stop, step: as those of Python's ``slice``, None and negative ones included.
        kind: how many elements there are along it: 0, 1, or 2 for more.
    """

    array: int
    axis: int
    sizes: tuple[int, ...]
    part: int
    start: int | None
    stop: int | None
    step: int | None
    kind: int

    def of(self, array: Layout | None) -> Layout | None:
        """The slice of an array; None for an array that has none of this kind."""
        sizes = array and Split(self.array, self.axis, self.sizes).of(array.shape[self.axis])
        if not array or not sizes:
            return None
        found = split(array, {self.axis: sizes})
        axis = self.axis + self.part
        start, stop, step = slice(self.start, self.stop, self.step).indices(found.shape[axis])
        n = len(range(start, stop, step))
        if min(n, 2) != self.kind:
            return None
        shape = (*found.shape[:axis], n, *found.shape[axis + 1 :])
        if not found.strides:
            return Layout(shape, ())
        stride = found.strides[axis]
        strides = (*found.strides[:axis], stride * step, *found.strides[axis + 1 :])
        return Layout(shape, strides, found.offset + (start * stride if n else 0))


class Bits(NamedTuple):
    """An array of words that is read as the truth values that its bits are.

    Attributes:
        array: the number of the array argument.
        axes: for each axis of the truth values the dims along which it lies, outermost first.
        sizes: the dims that have a constant size, and no other array has, each with its size.
        flat: whether the bits lie in row-major order of all axes, and not of the last one.
    """

    array: int
    axes: tuple[tuple[int, ...], ...]
    sizes: tuple[tuple[int, int], ...]
    flat: bool

    def of(self, words: Layout | None, sizes: Mapping[int, int]) -> Layout | None:
        """The layout of the truth values; None for words of another shape.

        Args:
            words: the layout of the words.
            sizes: the sizes of the dims.

        Raises:
            ArgumentError: WF192 for words with others between them.
        """
        if words is None or any(d not in sizes for own in self.axes for d in own):
            return None
        shape = tuple(prod(sizes[d] for d in own) for own in self.axes)
        if words.shape != words_shape(shape, flat=self.flat):
            return None
        if not words.strides:
            return Layout(shape, ())
        if has_gaps(words.shape, words.strides):
            raise error("WF192", what=f"argument {self.array}", stride=words.strides[-1])
        return Layout(shape, bit_strides(shape, words.strides, flat=self.flat), words.offset * WORD)

    def apart(self, whole: Layout | None, sizes: Mapping[int, int]) -> Layout | None:
        """A layout of the truth values with an axis for each dim."""
        return whole and split(whole, {i: tuple(sizes[d] for d in own) or (1,) for i, own in enumerate(self.axes)})


@dataclass(frozen=True)
class ArrayProgram:
    """A program of arrays.

    Attributes:
        name: what kernels and messages call it.
        arrays: the element type of each array argument.
        dims: for each dim the (array, axis) pairs that have its size. A call must give all of them the same size. These
            and all other axes are those after ``splits``; an array may be a slice.
        views: the views of the arrays that it reads.
        outputs: the result arrays, then one bool array per check.
        structure: how the results nest, see ``program/tracing.py``.
        sizes: for each (array, axis) whose size the function has looked at, that size: the program serves it alone.
        where: where its function is defined; not part of the digest.
        most: for folds over some dims the most elements that they may reduce: beyond, numbers of elements and sums
            need another tracing.
        checks: for each trailing output the code of the error that a true value in it means.
        splits: the axes of arrays and of slices that are read as several.
        slices: the slices of arrays.
        bits: the arrays that are read as bits.
        used: the monoids that were folded with, each with the types of what it reduces; not part of the digest.
    """

    name: str
    arrays: tuple[DType, ...]
    dims: tuple[tuple[tuple[int, int], ...], ...]
    views: tuple[View, ...]
    outputs: tuple[Output, ...]
    structure: Any = 0
    sizes: tuple[tuple[int, int, int], ...] = ()
    where: Location | None = field(default=None, compare=False)
    most: tuple[tuple[Space, int], ...] = ()
    checks: tuple[str, ...] = ()
    splits: tuple[Split, ...] = ()
    slices: tuple[Slice, ...] = ()
    bits: tuple[Bits, ...] = ()
    used: tuple[tuple[Monoid, tuple[DType, ...]], ...] = field(default=(), compare=False, repr=False)

    def __reduce__(self) -> Any:
        """A monoid's function does not pickle, since its name stands for the monoid; what uses it here is done."""
        return ArrayProgram, tuple(getattr(self, f.name) for f in fields(self) if f.name != "used")

    @lazy
    def roots(self) -> tuple[Expr, ...]:
        """The expressions of the outputs."""
        return tuple(o.expr for o in self.outputs)

    @lazy
    def folds(self) -> tuple[Expr, ...]:
        """Every ``fold`` node, operands before users."""
        return tuple(e for e in walk(self.roots) if e.op == "fold")

    @lazy
    def meetings(self) -> tuple[Expr, ...]:
        """Every ``fold`` and every ``scan`` node, operands before users."""
        return tuple(e for e in walk(self.roots) if e.op in ("fold", "scan"))

    @lazy
    def digest(self) -> str:
        """Names the structure of the program."""
        parts = [t.name for t in self.arrays]
        parts += [
            repr(x) for x in (self.dims, self.views, self.sizes, self.most, self.checks, self.splits, self.slices)
        ]
        parts += [repr(self.bits)] * bool(self.bits)
        parts += [f"{o.expr.digest} {o.axes} {o.dtype.name} {o.joined}{' flat' * o.flat}" for o in self.outputs]
        return hashlib.blake2b("|".join(parts).encode(), digest_size=16).hexdigest()

    def dims_of(self, space: Space) -> tuple[int, ...]:
        """The dims of a space, in order."""
        return tuple(d for d in range(len(self.dims)) if space >> d & 1)

    def read(self, view: int) -> tuple[int, ...]:
        """The dims along which the elements that are read of a view lie: of a gathered one those of its gathers."""
        gathers = [e for e in walk(self.roots) if e.op == "gather" and e.args[0].value == view]
        own = {d for d in self.views[view].axes if d is not None}
        return tuple(sorted(own.union(*(self.dims_of(e.space) for e in gathers))))

    def argument(self, array: int) -> int:
        """The number of the argument that an array or a slice is of."""
        while not 0 <= array < len(self.arrays):
            array = self.bits[-1 - array].array if array < 0 else self.slices[array - len(self.arrays)].array
        return array

    def is_bits(self, array: int) -> bool:
        """Whether an array is one of truth values that lie as bits, or a slice of one."""
        while array >= len(self.arrays):
            array = self.slices[array - len(self.arrays)].array
        return array < 0

    def layouts(
        self, shapes: Sequence[Sequence[int]], strides: Sequence[Sequence[int]] | None = None
    ) -> list[Layout | None]:
        """The layout of each array and of each slice, with its axes split; None for one that the program cannot have.

        Args:
            shapes: the shape of each array argument.
            strides: its strides, in elements.

        Bits follow in reverse: those with the number i are the last but i.
        """
        found: dict[int, Layout | None] = {
            i: Layout(tuple(shape), tuple(own))
            for i, (shape, own) in enumerate(zip(shapes, strides or [()] * len(shapes), strict=True))
        }
        slices = dict(enumerate(self.slices, len(found)))
        for i, s in slices.items():
            found[i] = None if self.is_bits(i) else s.of(found[s.array])
        apart = {i: self._apart(i, array) for i, array in found.items()}
        sizes = {
            d: own.shape[axis]
            for d, pairs in enumerate(self.dims)
            for array, axis in pairs[::-1]
            if array >= 0 and (own := apart[array])
        }
        for i, b in enumerate(self.bits):
            known = sizes | dict(b.sizes)
            found[-1 - i] = b.of(found[b.array], known)
            apart[-1 - i] = b.apart(found[-1 - i], known)
        for i in filter(self.is_bits, slices):
            found[i] = slices[i].of(found[slices[i].array])
            apart[i] = self._apart(i, found[i])
        return [apart[i] for i in (*range(len(shapes) + len(slices)), *range(-len(self.bits), 0))]

    def _apart(self, array: int, layout: Layout | None) -> Layout | None:
        """An array with its axes split; None for one that cannot be split so."""
        own = {s.axis: s.of(layout.shape[s.axis]) for s in self.splits if s.array == array} if layout else {}
        return None if layout is None or None in own.values() else split(layout, own)  # type: ignore[arg-type]

    def sizes_of(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The size of each dim, for arrays that the program serves."""
        found = self.layouts(shapes)
        return tuple(found[array].shape[axis] for array, axis in (pairs[0] for pairs in self.dims))  # type: ignore[union-attr]
