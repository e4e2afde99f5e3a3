"""Arrays of every layout: rank 0 to 8, dims in any order, with steps, backwards, repeated, empty, at odd addresses."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from warpfold.compiler.dtypes import dtype

from .elements import elements

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257)
LONG = (511, 512, 513, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 8191, 8193, 16383, 16384, 16385, 20011)
"""Sizes on both sides of every boundary of the planner: vectors, lanes, warps, CTA tiles, and their tails."""
LIMIT = 20_100
"""Elements of an array, and of the memory behind it: what the emulator reads in a few milliseconds."""


@dataclass(frozen=True)
class Layout:
    """How an array lies in memory.

    Attributes:
        dtype: warpfold's name of the element type.
        shape: sizes.
        order: the dims in the order in which they lie in memory, outermost first.
        steps: for each dim the stride in terms of a dense one: 2 leaves gaps, -1 runs backwards, 0 repeats.
        offset: elements before the first, which move it off a 16-byte boundary.
    """

    dtype: str
    shape: tuple[int, ...]
    order: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int = 0

    def array(self, kind: str, seed: int) -> np.ndarray[Any, Any]:
        """The array, of the ``kind`` of elements that ``elements`` knows."""
        inside = [1 if step == 0 else n * abs(step) for n, step in zip(self.shape, self.steps, strict=True)]
        memory = aligned(prod(inside) + self.offset, dtype(self.dtype).numpy)
        memory[...] = elements(kind, self.dtype, memory.size, np.random.default_rng(seed))
        dense = memory[self.offset :].reshape([inside[d] for d in self.order])
        whole = dense.transpose(np.argsort(self.order)) if self.order else dense
        view = whole[tuple(slice(None, None, step or 1) for step in self.steps)]
        return np.broadcast_to(view, self.shape) if 0 in self.steps else view

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        found, step = [0] * len(self.shape), 1
        for d in reversed(self.order):
            found[d] = step * self.steps[d]
            step *= max(1, self.shape[d]) * abs(self.steps[d]) or 1
        return tuple(found)


def aligned(size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Memory that begins at a 16-byte boundary, so that an offset in elements says how an address is aligned."""
    raw = np.zeros(size * dtype.itemsize + 16, np.uint8)
    start = -raw.ctypes.data % 16
    return raw[start : start + size * dtype.itemsize].view(dtype)


def dense(dtype: str, shape: tuple[int, ...], offset: int = 0) -> Layout:
    """A contiguous array."""
    return Layout(dtype, shape, tuple(range(len(shape))), (1,) * len(shape), offset)


@st.composite
def shapes(draw: st.DrawFn, most: int = LIMIT) -> tuple[int, ...]:
    """Vectors and matrices with sizes at boundaries, small arrays of many dims, and now and then an empty one."""
    rank = draw(st.sampled_from((0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8)))
    sizes = st.sampled_from((*SIZES, *LONG) if rank <= 2 else SIZES if rank == 3 else SIZES[:8])
    found: list[int] = []
    for _ in range(rank):
        size = draw(sizes)
        found.append(size if prod(found) * size <= most else draw(st.sampled_from((1, 2))))
    while prod(found) > most:
        found.remove(max(found))
        found.append(1)
    if found and draw(st.integers(0, 24)) == 0:
        found[draw(st.integers(0, rank - 1))] = 0
    return tuple(draw(st.permutations(found)))


@st.composite
def layouts(draw: st.DrawFn, dtype: str, shape: tuple[int, ...]) -> Layout:
    """An array of that type and shape; half of them contiguous."""
    rank = len(shape)
    offset = draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4, 5)))
    if draw(st.booleans()):
        return dense(dtype, shape, offset)
    order = tuple(draw(st.permutations(range(rank))))
    steps, room = [], 4 * LIMIT // max(1, prod(shape))
    for _ in shape:
        step = draw(st.sampled_from((1, 1, 1, 1, -1, 2, -2, 3, 0)))
        step = step if abs(step) <= room else 1
        room //= max(1, abs(step))
        steps.append(step)
    return Layout(dtype, shape, order, tuple(steps), offset)


@st.composite
def broadcastable(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to ``shape``; most often the same."""
    if draw(st.booleans()):
        return shape
    found = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in shape)
    return found[draw(st.integers(0, len(shape))) :]


@st.composite
def axes(draw: st.DrawFn, rank: int) -> Any:
    """``axis=`` for an array of ``rank``: None, an int, several, or none at all; some count from the end."""
    kind = draw(st.sampled_from(("none", "one", "one", "one", "some", "some")))
    if kind == "none" or rank == 0:
        return draw(st.sampled_from((None, ()))) if rank == 0 else None
    sign = draw(st.sampled_from((0, -rank)))
    if kind == "one":
        return draw(st.integers(0, rank - 1)) + sign
    dims = draw(st.permutations(range(rank)))[: draw(st.integers(0, rank))]
    return tuple(d + sign for d in dims)
