"""Loads whose threads read elements that follow each other in rows, which lie evenly: seen without indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ptx.types import Array
from .address_resolution import Access
from .threads import WARP

if TYPE_CHECKING:
    from .machine import Machine

LEAST_IN_ROWS = 1 << 10
"""From so many threads on, a look for rows is worth it."""


@dataclass(frozen=True)
class Rows:
    """``count`` rows of ``length`` units each: the first at ``first``, each ``step`` bytes after the one before."""

    first: int
    step: int
    count: int
    length: int


def rows_of(addresses: Array, size: int, per_cta: int) -> Rows | None:
    """The rows in which units of ``size`` bytes lie at ``addresses``; None where they lie in another way."""
    for length in (addresses.size, per_cta, WARP):
        if not addresses.size % length and int(addresses[length - 1]) - int(addresses[0]) == (length - 1) * size:
            rows = addresses.reshape(-1, length)
            starts = rows[:, 0]
            step = int(starts[1] - starts[0]) if starts.size > 1 else 0
            if (starts[1:] - starts[:-1] == step).all() and (rows[:, 1:] - rows[:, :-1] == size).all():
                return Rows(int(starts[0]), step, starts.size, length)
    return None


def seen_at(rows: Rows, by: int, access: Access, machine: Machine, dtype: np.dtype[Any], vector: int) -> Array | None:
    """The ``vector`` elements of each unit of rows that have moved by so many bytes: (vector, count, length).

    It is None where not all are aligned and in one allocation: ``locate`` then says what is wrong.
    """
    first, size = rows.first + by + access.offset, access.size
    last = first + (rows.count - 1) * rows.step
    found = machine.launch.memory.find(first)
    if found is None or first % size or rows.step % size:
        return None
    if min(first, last) < found.address or max(first, last) + rows.length * size > found.end:
        return None
    view, origin = found.typed(access.unit)
    shape, strides = (vector, rows.count, rows.length), (dtype.itemsize, rows.step, size)
    return np.ndarray(shape, dtype, view, first - origin, strides)


def moved(value: Array, by: int) -> Array:
    """An integer array, increased by ``by``."""
    words = np.dtype(f"u{value.itemsize}")
    found: Array = value.view(words) + words.type(by & (1 << 8 * value.itemsize) - 1)
    return found.view(value.dtype)
