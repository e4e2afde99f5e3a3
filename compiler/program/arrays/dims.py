"""The dims of one tracing: their sizes, which of them are one, and the views of the arrays.

Every axis of an array whose size is not 1 begins as a dim of its own. Where two values meet, the dims of their axes
become one, as long as no value varies along both.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...dtypes import DType
from ..graph import Expr, Space

Axes = tuple[int | None, ...]
"""For each axis the dim along which it lies; None for an axis of size 1."""


class Dims:
    """The dims of one tracing, and what was found out about them.

    A dim that became one with another is named by the older of the two, which ``find`` gives. Nodes and values keep the
    names that they were made with.

    Attributes:
        sizes: the size of every dim.
        members: for every dim the (array, axis) that it comes from.
        bytes: for values of 8-bit floats, by their digest and type, the nodes of their bytes.
        views: the ways in which arrays are read, as (array, axes).
        looked_at: the dims whose size the function looked at.
        most: for the space of a fold the most elements that it serves.
        names: the parameter of the function that stands for each array.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.sizes: list[int] = []
        self.members: list[tuple[int, int]] = []
        self.bytes: dict[tuple[str, DType], Expr] = {}
        self.views: list[tuple[int, Axes]] = []
        self.looked_at: set[int] = set()
        self.most: list[tuple[Space, int]] = []
        self._numbers: dict[tuple[int, Axes], int] = {}
        self._older: list[int] = []
        self._together: set[Space] = set()

    def new(self, size: int, member: tuple[int, int]) -> int:
        """A new dim, of the size of an axis of an array."""
        self.sizes.append(size)
        self.members.append(member)
        self._older.append(len(self._older))
        return len(self._older) - 1

    def find(self, dim: int) -> int:
        """The name of a dim."""
        while (older := self._older[dim]) != dim:
            dim = older
        return dim

    def axes(self, axes: Iterable[int | None]) -> Axes:
        """Axes by the names of their dims."""
        return tuple(None if d is None else self.find(d) for d in axes)

    def space(self, space: Space) -> Space:
        """A space by the names of its dims."""
        return bits(self.find(d) for d in dims_of(space))

    def view(self, array: int, axes: Axes) -> int:
        """The number of a view."""
        key = (array, axes)
        if key not in self._numbers:
            self._numbers[key] = len(self.views)
            self.views.append(key)
        return self._numbers[key]

    def serve_at_most(self, space: Space, elements: int) -> None:
        """Notes that a fold over these dims is right for so many elements alone."""
        if space and (space, elements) not in self.most:
            self.most.append((space, elements))

    def vary(self, space: Space) -> None:
        """Notes that some value varies along these dims, which must stay distinct."""
        self._together.add(self.space(space))

    def unify(self, a: int, b: int) -> bool:
        """Makes two dims of one size one; False if a value varies along both."""
        a, b = sorted((self.find(a), self.find(b)))
        if a == b:
            return True
        both = 1 << a | 1 << b
        if any(space & both == both for space in self._together):
            return False
        self._older[b] = a
        self._together = {self.space(space) for space in self._together}
        return True


def bits(dims: Iterable[int | None]) -> Space:
    """The space of these dims."""
    found = 0
    for d in dims:
        found |= 0 if d is None else 1 << d
    return found


def dims_of(space: Space) -> tuple[int, ...]:
    """The dims of a space, in order."""
    return tuple(d for d in range(space.bit_length()) if space >> d & 1)
