"""A cell of the grid: one reduction of one view of a buffer, and the bytes that it must move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd, prod

from ....compiler.dtypes import DType
from ....runtime.prepare import Request, traced

SECTOR = 32
"""Bytes that a GPU's memory gives at once: who wants one of them moves all."""
ONE_CTA = 4096
"""Elements that one CTA reduces in one go."""


@dataclass(frozen=True)
class Cell:
    """One reduction of a view.

    Attributes:
        kind: what is odd about the layout: ``short``, ``outer``, ...
        name: kind and layout, the same for every element type.
        op: the reduction.
        dtype: type of the elements.
        shape, strides: of the view, strides in elements.
        offset: elements of the buffer before the view's element 0.
        axes: the reduced axes.
        issue: where users reported the layout as slow, else nothing.
    """

    kind: str
    name: str
    op: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    axes: tuple[int, ...]
    issue: str = ""

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def results(self) -> int:
        return prod(n for a, n in enumerate(self.shape) if a not in self.axes)

    @property
    def fits_one_cta(self) -> bool:
        return self.elements <= ONE_CTA

    @property
    def span(self) -> tuple[int, int]:
        """The first element of the buffer that the view may touch, and one past the last."""
        reach = [s * (n - 1) for n, s in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(min(0, r) for r in reach), self.offset + sum(max(0, r) for r in reach) + 1

    @cached_property
    def nbytes(self) -> int:
        """Bytes that must move: each sector with an element of the view once, each result once."""
        return touched(self) + self.results * result_size(self.op, self.dtype)


@lru_cache
def result_size(op: str, dtype: DType) -> int:
    """Bytes of one result of ``op`` on elements of ``dtype``."""
    found, _ = traced(Request(op, (0,)), (dtype,), (2,))
    return sum(t.itemsize for t in found.results)


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous array."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def touched(cell: Cell) -> int:
    """Bytes of the sectors that hold an element of the view.

    These are the sectors from its first byte to its last, less those that lie whole in a gap between elements. Gaps
    are counted dim by dim, the smallest stride first, and the sectors in one of them as the mean over the places where
    gaps of that dim begin.
    """
    item = cell.dtype.itemsize
    pairs = zip(cell.shape, cell.strides, strict=True)
    dims = sorted((abs(s) * item, n) for n, s in pairs if s and n > 1)
    low, high = (edge * item for edge in cell.span)
    sectors = float(-(-high // SECTOR) - low // SECTOR)
    filled = item
    for i, (stride, n) in enumerate(dims):
        gaps = (n - 1) * prod(outer for _, outer in dims[i + 1 :])
        sectors -= gaps * _within(low + filled, stride - filled, gcd(SECTOR, *(s for s, _ in dims[i:])))
        filled += stride * (n - 1)
    return round(sectors) * SECTOR


def _within(begin: int, length: int, step: int) -> float:
    """Whole sectors within a gap of ``length`` bytes: the mean over begins that lie ``step`` bytes apart."""
    if length < SECTOR:
        return 0.0
    begins = range(begin % step, SECTOR, step)
    return sum(max(0, (b + length) // SECTOR - -(-b // SECTOR)) for b in begins) / len(begins)
