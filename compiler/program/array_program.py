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
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ..dtypes import DType
from ..errors import Location
from ..lazy import lazy
from .array_layouts import Bits, Layout, Output, Slice, Split, View, split
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
        given, made: the element types of the arrays that callers pass and get, where some are complex: each of these is
            two of ``arrays``, or of ``outputs``. Empty where none is.
        lines: a digest of the user's lines that made its nodes, so that programs which trace alike each keep their own;
            not part of the digest. Empty for one from a file.
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
    given: tuple[DType, ...] = ()
    made: tuple[DType, ...] = ()
    lines: str = ""

    def __reduce__(self) -> Any:
        """A monoid's function does not pickle, since its name stands for the monoid; what uses it here is done."""
        own = (getattr(self, f.name) if f.name != "used" else () for f in fields(self))
        return ArrayProgram, tuple(own)

    @property
    def takes(self) -> tuple[DType, ...]:
        """The element type of each array that a caller passes."""
        return self.given or self.arrays

    @property
    def firsts(self) -> tuple[int, ...]:
        """For each array that a caller passes the first of ``arrays`` that it is."""
        sizes = (2 if t.kind == "complex" else 1 for t in self.takes)
        return tuple(accumulate(sizes, initial=0))[:-1]

    @property
    def results(self) -> tuple[tuple[Output, DType], ...]:
        """For each array that a caller gets its output, of two the first, and its element type; checks follow."""
        rest, types = iter(self.outputs), iter(self.made)
        found = []
        for o in rest:
            t = next(types, o.stored)
            found.append((o, t))
            if t.kind == "complex":
                next(rest)
        return tuple(found)

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
