"""How an array program reads its arguments and lays out its results.

A view says along which dim each axis of an array lies. An argument may be read as more than it is: an axis as several
(``Split``), a part of an axis as an array of its own (``Slice``), words as the truth values that their bits are
(``Bits``). Each of these gives the layout of what is read from that of what there is, or None for an array that the
program does not serve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from math import prod
from typing import NamedTuple

from ..dtypes import BIT, U32, DType
from ..errors import error
from .bit_arrays import WORD, bit_strides, has_gaps, words_shape
from .graph import Expr


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

    @property
    def last_dims(self) -> tuple[int | None, ...]:
        """For each axis the last of its dims; None for one of size 1."""
        rest = iter(self.axes)
        return tuple(tuple(islice(rest, n))[-1] for n in self.joined or (1,) * len(self.axes))

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
        more: elements behind those, which nothing reads: the slice says how long an axis is.
    """

    array: int
    axis: int
    sizes: tuple[int, ...]
    part: int
    start: int | None
    stop: int | None
    step: int | None
    kind: int
    more: int = 0

    def of(self, array: Layout | None) -> Layout | None:
        """The slice of an array; None for an array that has none of this kind."""
        sizes = array and Split(self.array, self.axis, self.sizes).of(array.shape[self.axis])
        if not array or not sizes:
            return None
        found = split(array, {self.axis: sizes})
        axis = self.axis + self.part
        start, stop, step = slice(self.start, self.stop, self.step).indices(found.shape[axis])
        n = len(range(start, stop, step)) + self.more
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
