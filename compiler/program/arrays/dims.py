"""The dims of one tracing: their sizes, which of them are one, and the views of the arrays.

Every axis of an array whose size is not 1 begins as a dim of its own. Where two values meet, the dims of their axes
become one, as long as no value varies along both.

A reshape splits a dim into *parts*, or joins dims: an axis then lies along several dims, in row-major order. A dim that
was split, or that joins others, stands for its parts. Expressions vary along the parts alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from math import inf, prod
from typing import Literal

from ...dtypes import DType
from ...errors import error
from ..array_layouts import Slice
from ..frames import caller
from ..graph import Expr, Space

Axes = tuple[int | None, ...]
"""For each axis the dim along which it lies, which may stand for several; None for an axis of size 1."""


class Dims:
    """The dims of one tracing, and what was found out about them.

    A dim that became one with another is named by the older of the two, which ``find`` gives. Nodes and values keep the
    names that they were made with.

    Attributes:
        sizes: the size of every dim.
        members: for every dim the (array, axis) that it comes from; for the parts of a dim that of the whole.
        originals: for a copy of a dim that dim.
        bytes: for values of 8-bit floats, by their digest and type, the nodes of their bytes.
        arrays: for each array, and then for each slice, the dims of its axes.
        slices: the slices of arrays.
        bits: the arrays that are read as bits: the number of the array, the dims of the axes of the truth values, and
            whether bits lie in the order of all axes. Those with the number i are the array -1 - i.
        views: the ways in which arrays are read, as (array, axes).
        looked_at: the dims whose size the function looked at.
        fixed: the parts of dims whose size the function gives.
        most: for the space of a fold the most elements that it serves.
        names: the parameter of the function that stands for each array, and for each slice.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        self.sizes: list[int] = []
        self.members: list[tuple[int, int]] = []
        self.originals: dict[int, int] = {}
        self.bytes: dict[tuple[str, DType], Expr] = {}
        self.arrays: list[Axes] = []
        self.slices: list[Slice] = []
        self.bits: list[tuple[int, Axes, bool]] = []
        self.views: list[tuple[int, Axes]] = []
        self.looked_at: set[int] = set()
        self.fixed: set[int] = set()
        self.most: list[tuple[Space, int]] = []
        self._numbers: dict[tuple[int, Axes], int] = {}
        self._older: list[int] = []
        self._parts: dict[int, tuple[int, ...]] = {}
        self._joined: dict[tuple[int, ...], int] = {}
        self._places: list[tuple[int, ...]] = []
        self._together: set[Space] = set()

    def new(self, size: int, member: tuple[int, int]) -> int:
        """A new dim, of the size of an axis of an array."""
        self.sizes.append(size)
        self.members.append(member)
        self._older.append(len(self._older))
        self._places.append((len(self._places),))
        return len(self._older) - 1

    def copy(self, dim: int) -> int:
        """A new dim of the size of another, for a value that would else vary twice along it."""
        self.originals[len(self.sizes)] = dim
        return self.new(self.sizes[dim], self.members[dim])

    def find(self, dim: int) -> int:
        """The name of a dim."""
        while (older := self._older[dim]) != dim:
            dim = older
        return self._joined.setdefault(self.parts(dim), dim) if dim in self._parts else dim

    def parts(self, dim: int | None) -> tuple[int, ...]:
        """The dims for which a dim stands, outermost first: itself, unless it has parts; none for None."""
        if dim is None:
            return ()
        while (older := self._older[dim]) != dim:
            dim = older
        return tuple(p for own in self._parts[dim] for p in self.parts(own)) if dim in self._parts else (dim,)

    def parts_of(self, axes: Axes) -> tuple[int, ...]:
        """The parts of the dims of some axes."""
        return tuple(p for d in axes for p in self.parts(d))

    def place(self, dim: int) -> tuple[int, ...]:
        """A key in whose order dims are numbered: the parts of a dim stand in its place."""
        return self._places[dim]

    def axes(self, axes: Iterable[int | None]) -> Axes:
        """Axes by the names of their dims."""
        return tuple(None if d is None else self.find(d) for d in axes)

    def space(self, space: Space) -> Space:
        """A space by the names of its dims."""
        return bits(p for d in dims_of(space) for p in self.parts(d))

    def view(self, array: int, axes: Axes) -> int:
        """The number of a view."""
        key = (array, axes)
        if key not in self._numbers:
            self._numbers[key] = len(self.views)
            self.views.append(key)
        return self._numbers[key]

    def bits_of(self, array: int, axes: Axes, *, flat: bool) -> int:
        """The number under which the bits of an array are an array of truth values along ``axes``."""
        own = (array, axes, flat)
        if own not in self.bits:
            self.bits.append(own)
        return -1 - self.bits.index(own)

    def axes_of(self, array: int) -> Axes:
        """The dims of the axes of an array, of a slice, or of bits."""
        return self.arrays[array] if array >= 0 else self.bits[-1 - array][1]

    def name_of(self, array: int) -> str:
        """The parameter of the function that stands for an array, for a slice, or for bits."""
        return self.names[array if array >= 0 else self.bits[-1 - array][0]]

    def slice_dim(self, parts: tuple[int, ...], by: slice, more: int = 0) -> int | None:
        """The dim of a slice along an axis that lies along ``parts``; None for a slice of one element.

        There may be ``more`` elements behind it, see ``Slice``. An axis of size 1 has no parts.

        Raises:
            ValueError: no array has such an axis.
        """
        n = len(range(*by.indices(prod(self.sizes[p] for p in parts)))) + more
        to = None if n == 1 else self.new(n, self.members[parts[0]] if parts else (0, 0))
        arrays = (*enumerate(self.arrays), *self.views)
        along = [v for v in arrays if ({*parts} <= {*self.parts_of(v[1])} if parts else None in v[1])]
        if not along:
            raise ValueError(parts)
        number, axes = self.sliced_view(*along[0], parts, by, to, more)
        if to is not None:
            self.members[to] = number, axes.index(to)
        return to

    def sliced_view(
        self, array: int, axes: Axes, parts: tuple[int, ...], by: slice, to: int | None, more: int = 0
    ) -> tuple[int, Axes]:
        """A slice of a view, as a view: the number of the slice, and its axes.

        Args:
            array: the number of the array.
            axes: for each axis of it the dim along which it lies.
            parts: the dims along which the slice is one; none for an axis of size 1.
            by: the elements along them that are read.
            to: the dim that takes their place; None for one element.
            more: elements behind these.

        Raises:
            ValueError: no axis lies along these dims.
        """
        axes = self.axes(axes)
        axis = [parts[0] in self.parts(d) for d in axes].index(True) if parts else axes.index(None)
        own = self.parts(axes[axis])
        start = self.place_of(parts, own) if parts else 0
        groups = (*((p,) for p in own[:start]), parts, *((p,) for p in own[start + len(parts) :]))
        fixed = [len(groups) > 1 and self.fixed.issuperset(g) for g in groups]
        sizes = tuple(prod(self.sizes[p] for p in g) if f else 0 for g, f in zip(groups, fixed, strict=True))
        kind = 1 if to is None else min(self.sizes[to], 2)
        found = Slice(array, axis, sizes, start, by.start, by.stop, by.step, kind, more)
        view = (*axes[:axis], *(to if g == parts else g[0] for g in groups), *axes[axis + 1 :])
        if found not in self.slices:
            self.slices.append(found)
            self.arrays.append(view)
            self.names.append(self.name_of(array))
        return len(self.arrays) - len(self.slices) + self.slices.index(found), view

    def place_of(self, parts: tuple[int, ...], among: tuple[int, ...]) -> int:
        """Where ``parts`` stand among dims, one after another.

        Raises:
            ValueError: they do not.
        """
        return [among[i : i + len(parts)] == parts for i in range(len(among))].index(True)

    def serve_at_most(self, space: Space, elements: int) -> None:
        """Notes that a fold over these dims is right for so many elements alone."""
        if space and (space, elements) not in self.most:
            self.most.append((space, elements))

    def vary(self, space: Space) -> None:
        """Notes that some value varies along these dims, which must stay distinct."""
        self._together.add(self.space(space))

    def unify(self, a: int, b: int) -> bool:
        """Makes two dims of one size one; False if a value varies along both."""
        self.split_alike(a, b)
        for own, other in zip(self.parts(a), self.parts(b), strict=True):
            self._unify_parts(own, other)
        return self.parts(a) == self.parts(b)

    def _unify_parts(self, a: int, b: int) -> None:
        """Makes two dims without parts one, unless a value varies along both."""
        a, b = sorted((a, b), key=self.place)
        both = 1 << a | 1 << b
        if a == b or any(space & both == both for space in self._together):
            return
        self._older[b] = a
        self.fixed |= {a} if b in self.fixed else set()
        self._together = {self.space(space) for space in self._together}

    # --- parts ---
    def split(self, dim: int, inner: int, *, fixed: Literal["outer", "inner"]) -> tuple[int, int]:
        """Splits a dim that has no parts into two, and returns them.

        Args:
            dim: the dim.
            inner: the size of the inner part, a divisor of that of the dim.
            fixed: whose size is a constant. Both are if that of the dim is one.
        """
        size = self.sizes[dim]
        found = tuple(self.new(n, self.members[dim]) for n in (size // inner if inner else 0, inner))
        for i, part in enumerate(found):
            self._places[part] = (*self._places[dim], i)
            if dim in self.fixed or i == (fixed == "inner"):
                self.fixed.add(part)
        self._parts[dim] = found
        self._together = {self.space(space) for space in self._together}
        return found  # type: ignore[return-value]

    def join(self, dims: tuple[int, ...]) -> int | None:
        """The dim that stands for these, outermost first; None for none."""
        found = tuple(p for d in dims for p in self.parts(d))
        if len(found) < 2:
            return next(iter(found), None)
        if found not in self._joined:
            dim = self.new(prod(self.sizes[p] for p in found), self.members[found[0]])
            self._parts[dim], self._joined[found] = found, dim
        return self._joined[found]

    def split_alike(self, a: int, b: int) -> None:
        """Splits the parts of two dims of one size until both have parts of the same sizes.

        Raises:
            TraceError: WF274 where no whole numbers divide them so.
        """
        for i in count(1):
            own, other = self.parts(a), self.parts(b)
            if i > min(len(own), len(other)):
                break
            if (self.sizes[own[-i]] or inf) > (self.sizes[other[-i]] or inf):  # any number divides 0
                own, other = other, own
            p, q = own[-i], other[-i]
            n = self.sizes[p]
            if n == self.sizes[q]:
                continue
            if self.sizes[q] % n:
                sizes = [" x ".join(str(self.sizes[d]) for d in parts) for parts in (self.parts(a), self.parts(b))]
                raise error("WF274", size=self.sizes[a], first=sizes[0], second=sizes[1], where=caller())
            outer = p not in self.fixed and self._are_fixed(own[:-i], self.sizes[q] // n)
            if not outer:
                self.looked_at |= {p} - self.fixed
            self.split(q, n, fixed="outer" if outer else "inner")

    def _are_fixed(self, dims: tuple[int, ...], elements: int) -> bool:
        """Whether the innermost of some dims, as many as have so many elements, are of constant size."""
        for d in reversed(dims):
            if elements == 1:
                break
            if d not in self.fixed or elements % self.sizes[d]:
                return False
            elements //= self.sizes[d]
        return elements == 1


def bits(dims: Iterable[int | None]) -> Space:
    """The space of these dims."""
    found = 0
    for d in dims:
        found |= 0 if d is None else 1 << d
    return found


def dims_of(space: Space) -> tuple[int, ...]:
    """The dims of a space, in order."""
    return tuple(d for d in range(space.bit_length()) if space >> d & 1)
