"""The grid without a GPU: small clones of its cells, and what they reduce to in NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from warpfold.commands.bench.grid.buffer import Bed, reach
from warpfold.commands.bench.grid.cells import Cell
from warpfold.commands.bench.grid.shapes import DTYPES, cells
from warpfold.commands.checking import reference
from warpfold.compiler.dtypes import DType
from warpfold.compiler.dtypes import dtype as as_dtype
from warpfold.runtime.backends.emulator_backend import EmulatorBackend

SMALL = 1 << 12
"""Bytes that a large cell moves here."""
MOST = 1 << 11
"""Elements of a clone."""
Array = np.ndarray[Any, Any]


def clone(cell: Cell) -> Cell:
    """The cell with at most ``MOST`` elements: the longest dims are cut, and the strides drawn together."""
    sizes = list(cell.shape)
    while np.prod(sizes) > MOST:
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        sizes[longest] = max(1, sizes[longest] * 3 // 5)
    strides, reached, before = [0] * len(sizes), 1, 1
    for a in sorted((a for a, s in enumerate(cell.strides) if s), key=lambda a: abs(cell.strides[a])):
        size = abs(cell.strides[a])
        new = max(1, reached + min(size - before, 37))
        strides[a] = new if cell.strides[a] > 0 else -new
        reached, before = reached + new * (sizes[a] - 1), before + size * (cell.shape[a] - 1)
    back = -sum(min(0, s * (n - 1)) for s, n in zip(strides, sizes, strict=True))
    return replace(cell, shape=tuple(sizes), strides=tuple(strides), offset=back + cell.span[0] % 97)


def clones() -> list[Cell]:
    """A clone of every cell."""
    return [clone(c) for name in DTYPES for c in cells(as_dtype(name), SMALL)]


def elements(buffer: Array, cell: Cell) -> Array:
    """The cell's view of a buffer of bytes."""
    typed = buffer.view(cell.dtype.numpy)[cell.offset :]
    strides = [s * cell.dtype.itemsize for s in cell.strides]
    return np.lib.stride_tricks.as_strided(typed, cell.shape, strides)


class Truth:
    """What ``truth.Truth`` is on a GPU."""

    def __init__(self, buffer: Array) -> None:
        self.buffer = buffer

    def fill(self, dtype: DType) -> None:
        rng = np.random.default_rng(5)
        typed = self.buffer.view(dtype.numpy)
        made = rng.random(typed.size)
        typed[:] = {"bool": made < 1e-2, "int": made * 200 - 100}.get(dtype.kind, made).astype(dtype.numpy)  # type: ignore[union-attr]

    def error(self, cell: Cell, result: Any) -> float:
        """0 where a result is right."""
        found = np.asarray(result)
        x = elements(self.buffer, cell)
        kept = [a for a in range(x.ndim) if a not in cell.axes]
        rows = x.transpose(*kept, *cell.axes).reshape(found.size, -1)
        wanted = WANTED[cell.op](rows).reshape(found.shape)
        if found.dtype.kind in "biu":
            return float((found != wanted).sum())
        allowed = 2.0**-7 if found.dtype.itemsize == 2 else 1e-5
        return float((np.abs(found.astype(np.float64) - wanted) > allowed * np.abs(wanted)).sum())


WANTED = {**reference.BUILT_IN, "count_nonzero": lambda x: (x != 0).sum(axis=1)}


def bed(wanted: list[Cell]) -> tuple[Bed, Truth]:
    """A buffer in the host's memory, and the emulator."""
    buffer = np.zeros(-(-reach(wanted) // 16) * 16, np.uint8)
    return Bed(buffer, EmulatorBackend(), 0), Truth(buffer)
