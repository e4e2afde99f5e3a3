"""A cell of the grid: one reduction or program of one view of a buffer, and the bytes that it must move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd, prod

from ....compiler.dtypes import DType
from ....runtime.programs.reductions import Kind, program_of
from ..programs.case import ProgramCase

FETCHED = 64
"""Bytes that memory fetches at once: two sectors of the L2 cache, also where a warp asks for one of them."""
ONE_CTA = 4096
"""Greatest number of elements that count as the work of one CTA."""


@dataclass(frozen=True)
class Cell:
    """One reduction of a view.

    Attributes:
        kind: the kind of layout: ``short``, ``outer``, ...
        name: kind and layout, the same for every element type.
        op: the reduction.
        dtype: the element type.
        shape, strides: shape and strides of the view, in elements.
        offset: index in the buffer of the view's element 0.
        axes: the reduced axes.
        issue: the report that calls the layout slow, or empty.
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
        """The range of buffer elements that the view spans: the first, and one past the last."""
        reach = [s * (n - 1) for n, s in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(min(0, r) for r in reach), self.offset + sum(max(0, r) for r in reach) + 1

    @cached_property
    def nbytes(self) -> int:
        """Bytes that must move: every piece of FETCHED bytes with an element of the view, and every result."""
        return touched(self) + self.results * result_size(self.op, self.dtype)


@dataclass(frozen=True)
class ProgramCell(Cell):
    """One program of a view; ``op`` is an operation of the program cases, and the result is a contiguous array."""

    @cached_property
    def case(self) -> ProgramCase:
        """The program on an array of this shape."""
        return ProgramCase(self.name, self.op, self.dtype, self.shape, self.axes)

    @cached_property
    def nbytes(self) -> int:
        """Bytes that must move: those of a reduction's view, further inputs, and every result."""
        return touched(self) + self.case.moved


@lru_cache
def result_size(op: str, dtype: DType) -> int:
    """Bytes of one result of ``op`` on elements of ``dtype``."""
    return sum(t.itemsize for _, t in program_of(op, 0, {}, [Kind(dtype, (2,))]).results)


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous array."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def touched(cell: Cell) -> int:
    """Bytes of the pieces of FETCHED bytes that contain an element of the view.

    These are all pieces from its first to its last byte, except those inside a gap between elements. Gaps are counted
    dim by dim from the smallest stride; the number of pieces in a gap is a mean over all starts of gaps.
    """
    item = cell.dtype.itemsize
    pairs = zip(cell.shape, cell.strides, strict=True)
    dims = sorted((abs(s) * item, n) for n, s in pairs if s and n > 1)
    low, high = (edge * item for edge in cell.span)
    pieces = float(-(-high // FETCHED) - low // FETCHED)
    filled = item
    for i, (stride, n) in enumerate(dims):
        gaps = (n - 1) * prod(outer for _, outer in dims[i + 1 :])
        pieces -= gaps * _within(low + filled, stride - filled, gcd(FETCHED, *(s for s, _ in dims[i:])))
        filled += stride * (n - 1)
    return round(pieces) * FETCHED


def _within(begin: int, length: int, step: int) -> float:
    """Mean number of whole pieces in a gap of ``length`` bytes, over starts that are ``step`` bytes apart."""
    if length < FETCHED:
        return 0.0
    begins = range(begin % step, FETCHED, step)
    return sum(max(0, (b + length) // FETCHED - -(-b // FETCHED)) for b in begins) / len(begins)
