"""Loads whose threads read elements that follow each other in rows, which lie evenly: seen without indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..ptx.types import Array
from .address_resolution import Access
from .threads import WARP

if TYPE_CHECKING:
    from .machine import Machine

MANY = 1 << 10
"""From so many threads on, a look for rows is worth it."""


def rows_at(access: Access, machine: Machine, addresses: Array, dtype: np.dtype[Any], vector: int) -> Array | None:
    """The ``vector`` elements at each of ``addresses`` as rows: a view of shape (vector, rows, length).

    It is None where they lie in another way.

    Addresses that are not all aligned and in one allocation are left to ``locate``, which says what is wrong.
    """
    for length in (addresses.size, machine.per_cta, WARP):
        found = _spaced(addresses, length, access.size)
        if found is not None:
            first, step, count = found
            return _view(access, machine, first + access.offset, step, (vector, count, length), dtype)
    return None


def _spaced(addresses: Array, length: int, size: int) -> tuple[int, int, int] | None:
    """Where the first of rows of ``length`` elements begins, how far apart rows are, and how many there are."""
    if addresses.size % length or int(addresses[length - 1]) - int(addresses[0]) != (length - 1) * size:
        return None  # as most that are no rows
    rows = addresses.reshape(-1, length)
    starts = rows[:, 0]
    step = int(starts[1] - starts[0]) if starts.size > 1 else 0
    even = not starts.size > 1 or (starts[1:] - starts[:-1] == step).all()
    if not even or not (rows[:, 1:] - rows[:, :-1] == size).all():
        return None
    return int(starts[0]), step, starts.size


def _view(
    access: Access, machine: Machine, first: int, step: int, shape: tuple[int, int, int], dtype: np.dtype[Any]
) -> Array | None:
    found, size = machine.launch.memory.find(first), access.size
    _, count, length = shape
    last = first + (count - 1) * step
    if found is None or first % size or step % size:
        return None
    if min(first, last) < found.address or max(first, last) + length * size > found.end:
        return None
    view, origin = found.typed(access.unit)
    return np.ndarray(shape, dtype, view, first - origin, (dtype.itemsize, step, size))
