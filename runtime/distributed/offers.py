"""What ranks say of their calls of a program before any state travels, so that a mistake is an error on every rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .group import MOST_DIMS, PROGRAM, Ranks, Words, two_words

MOST_ARRAYS = 24
"""The greatest number of arrays of a program."""
NO_AXIS = -1
"""In place of the axis of an array that every rank has."""
_WIDTH = MOST_DIMS + 2
"""Integers for each array: its axis, its rank and its extents."""
_HEAD = 5
"""Integers before those: the digest, the number of arrays, which require gradients, and for how many results arrays are
given."""


@dataclass(frozen=True)
class Offer:
    """A call of a program on one rank.

    Attributes:
        digest: of the program, its parameters and the types of its arrays.
        shapes: the shape of each array.
        axes: the axis along which each is cut, or None.
        needed: which of them require gradients, as bits.
        given: for how many results ``out=`` has a place.
    """

    digest: str
    shapes: tuple[tuple[int, ...], ...]
    axes: tuple[int | None, ...]
    needed: int = 0
    given: int = 0

    def words(self) -> list[int]:
        """As integers, always as many."""
        found = [*two_words(self.digest), len(self.shapes), self.needed, self.given]
        for shape, axis in zip(self.shapes, self.axes, strict=True):
            found += [NO_AXIS if axis is None else axis, len(shape), *shape, *[0] * (MOST_DIMS - len(shape))]
        return found

    def extents(self, ranks: Ranks, xs: Iterable[object]) -> tuple[tuple[int, ...], ...]:
        """For each array its extents on all ranks along the axis that is cut, nothing for a whole one.

        It waits for the device.

        Raises:
            ArgumentError: on every rank, WF169 where a rank cannot make its call, which its own error says, and WF171
                where the call of a rank is not that of rank 0 but for the extents of shards.
        """
        rows = ranks.meet(PROGRAM, self.words(), _difference, ranks.device(xs))
        return tuple(
            () if axis is None else tuple(row[_HEAD + i * _WIDTH + 2 + axis] for row in rows)
            for i, axis in enumerate(self.axes)
        )


def _difference(first: Words, other: Words) -> str:
    """How the words of two ranks differ; nothing where only the extents of cut axes do."""
    if first[2] != other[2]:
        return f"is one of {other[2]} arrays: expected {first[2]}"
    for i in range(first[2]):
        a, b = (row[_HEAD + i * _WIDTH : _HEAD + (i + 1) * _WIDTH] for row in (first, other))
        if a[0] != b[0]:
            cut = [f"cut along axis {x[0]}" if x[0] != NO_AXIS else "whole" for x in (b, a)]
            return f"has array {i} {cut[0]}: expected it {cut[1]}"
        shapes = [tuple(x[2 : 2 + x[1]]) for x in (b, a)]
        rest = [[n for axis, n in enumerate(s) if axis != a[0]] for s in shapes]
        if a[1] != b[1] or rest[0] != rest[1]:
            but = f" but for axis {a[0]}" if a[0] != NO_AXIS else ""
            return f"has array {i} of shape {shapes[0]}: expected {shapes[1]}{but}"
    if first[:2] != other[:2]:
        return "is of another program, of other parameters or of other element types: expected the same"
    if first[3] != other[3]:
        return f"requires gradients of arrays {_numbers(other[3])}: expected {_numbers(first[3])}"
    if first[4] != other[4]:
        return f"is of a call with {other[4]} array(s) in out=: expected {first[4]}"
    return ""


def _numbers(bits: int) -> tuple[int, ...]:
    return tuple(i for i in range(MOST_ARRAYS) if bits >> i & 1)
