"""What each rank says of its shard before any state travels, so that a mistake is an error on every rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .group import MOST_DIMS, REDUCTION, Ranks, Words, two_words

NOT_SCATTERED = -1
"""In place of the axis of the result where every rank gets the whole result."""


@dataclass(frozen=True)
class Shard:
    """What all ranks must agree on, and the extent along the sharded axis, which may differ.

    Attributes:
        digest: the digest of the reduction, with the types of its arrays.
        shape: the shape of the shard.
        axes: the reduced axes.
        axis: the sharded axis.
        scatter: the axis of the result of which each rank gets a part; None where each gets the whole result.
    """

    digest: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    axis: int
    scatter: int | None = None

    def words(self) -> list[int]:
        """As integers of 64 bits, always as many; where the sharded axis is kept, the rank of a shard has no bound."""
        shape = [*self.shape, *[-1] * (MOST_DIMS - len(self.shape))][:MOST_DIMS]
        scatter = NOT_SCATTERED if self.scatter is None else self.scatter
        return [*two_words(self.digest), *shape, sum(1 << a for a in self.axes), self.axis, scatter]

    def extents(self, ranks: Ranks, xs: Iterable[object]) -> tuple[int, ...]:
        """The extent of every rank's shard along the sharded axis, if that is reduced; waits for the device.

        Raises:
            ArgumentError: on every rank, WF169 where a rank cannot make its call, which its own error says, and WF171
                where a shard is not like that of rank 0 but for that extent.
        """
        rows = ranks.meet(REDUCTION, self.words(), _difference, ranks.device(xs))
        return tuple(row[2 + self.axis] for row in rows) if self.axis in self.axes else ()


def _difference(first: Words, other: Words) -> str:
    """How the words of two shards differ; nothing where only the extent along the sharded axis does."""
    shapes = [tuple(n for n in row[2 : 2 + MOST_DIMS] if n >= 0) for row in (other, first)]
    cuts = [row[2 + MOST_DIMS : 5 + MOST_DIMS] for row in (other, first)]
    axis = cuts[1][1]
    if cuts[0][:2] != cuts[1][:2]:
        found, expected = (f"axis {cut} and reduced over {_axes(axes)}" for axes, cut, _ in cuts)
        return f"is cut along {found}: expected {expected}"
    kept = [[n for a, n in enumerate(shape) if a != axis] for shape in shapes]
    if kept[0] != kept[1]:
        return f"has shape {shapes[0]}: expected {shapes[1]} but for axis {axis}"
    if cuts[0] != cuts[1]:
        found, expected = (f"scatter={None if own == NOT_SCATTERED else own}" for _, _, own in cuts)
        return f"is reduced with {found}: expected {expected}"
    if first[:2] != other[:2]:
        return "is of another reduction, of other parameters or of other element types: expected the same"
    return ""


def _axes(bits: int) -> tuple[int, ...]:
    return tuple(a for a in range(MOST_DIMS) if bits >> a & 1)
