"""Random layouts, and the iteration space of a reduction as NumPy offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

from warpfold.compiler.space.geometry import Dim, Geometry

Strides = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """A reduction of ``axes`` of ``shape``, with strides of each input per dim and of each output per kept dim."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    inputs: tuple[Strides, ...]
    outputs: tuple[Strides, ...]


def strides_of(shape: Sequence[int], order: Sequence[int], factors: Sequence[int]) -> Strides:
    """Strides of an array whose dims are in memory in ``order``, outermost first, each stride times its factor.

    A factor of -1 walks the dim backwards, 0 broadcasts it, 2 takes every other element.
    """
    found, step = [0] * len(shape), 1
    for dim in reversed(order):
        found[dim] = step * factors[dim]
        step *= max(1, shape[dim]) * max(1, abs(factors[dim]))
    return tuple(found)


@st.composite
def layouts(draw: st.DrawFn, sizes: st.SearchStrategy[int], rank: int = 6, most: int = 4000) -> Layout:
    shape: list[int] = []
    for size in draw(st.lists(sizes, max_size=rank)):
        shape.append(size if prod(shape) * size <= most else 1)
    dims = range(len(shape))
    axes = tuple(a for a in dims if draw(st.booleans()))
    factor = st.sampled_from([1, 1, 1, 1, -1, 0, 2, -3])

    def operand(of: Sequence[int], factors: st.SearchStrategy[int]) -> Strides:
        order = draw(st.one_of(st.just(list(range(len(of)))), st.permutations(range(len(of)))))
        return strides_of(of, order, [draw(factors) for _ in of])

    kept = [shape[a] for a in dims if a not in axes]
    inputs = tuple(operand(shape, factor) for _ in range(draw(st.integers(1, 2))))
    outputs = tuple(operand(kept, factor.filter(bool)) for _ in range(draw(st.integers(1, 2))))
    return Layout(tuple(shape), axes, inputs, outputs)


def plain(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """The elements of each result.

    Returns: The offsets of the outputs, [n_kept, outputs]; and, in row-major order of the reduced elements, their
    offsets in the inputs and their number, [n_kept, n_reduced, inputs + 1].
    """
    rank = len(layout.shape)
    kept = [a for a in range(rank) if a not in layout.axes]
    out = _offsets([layout.shape[a] for a in kept], layout.outputs)
    moved = [[s[a] for a in kept] for s in layout.inputs]
    rows = _offsets([layout.shape[a] for a in kept], moved)
    columns = _offsets([layout.shape[a] for a in layout.axes], [[s[a] for a in layout.axes] for s in layout.inputs])
    numbers = np.arange(len(columns))[None, :, None]
    elements = rows[:, None, :] + columns[None, :, :]
    return out, np.concatenate([elements, np.broadcast_to(numbers, (*elements.shape[:2], 1))], axis=2)


def walked(g: Geometry, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """The same as ``plain``, from a collapsed geometry, in the order of its dims."""
    operands = len(g.offsets)
    kept = _walk(g.kept, operands)[:, :operands] + np.array(g.offsets, dtype=np.int64)
    reduced = _walk(g.reduced, operands)
    elements = kept[:, None, :inputs] + reduced[None, :, :inputs]
    numbers = np.broadcast_to(reduced[None, :, -1:] + g.index_base, (*elements.shape[:2], 1))
    return kept[:, inputs:], np.concatenate([elements, numbers], axis=2)


def offsets_of(dims: Sequence[Dim], operand: int) -> np.ndarray:
    """The offset of every flat index over ``dims``."""
    return _offsets([d.size for d in dims], [[d.strides[operand] for d in dims]])[:, 0]


def _walk(dims: Sequence[Dim], operands: int) -> np.ndarray:
    columns = [[d.strides[i] for d in dims] for i in range(operands)]
    return _offsets([d.size for d in dims], [*columns, [d.index_stride for d in dims]])


def _offsets(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> np.ndarray:
    """For every index in row-major order, its offset under each of ``strides``: [prod(sizes), len(strides)]."""
    total = np.zeros((1, len(strides)), dtype=np.int64)
    for dim, size in enumerate(sizes):
        step = np.array([s[dim] for s in strides], dtype=np.int64)
        total = (total[:, None, :] + np.arange(size)[None, :, None] * step).reshape(-1, len(strides))
    return total
