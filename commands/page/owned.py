"""Who touches which elements of an array first, from the accesses that the emulator recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...runtime.emulator.recorder import Recording, Touched
from ..array_traffic import Label
from ..requests.inputs import Array
from .model import Owned

DRAWN = 4096
"""The most elements of an array that are drawn."""
WIDE, NARROW = 128, 32
"""Elements of a line of a drawing: at most, and where a row is cut into several lines, at least."""
PARTIAL = 4
"""Bytes that are drawn as one element where an array has no type of its own, such as partial states."""
BITS = "bits"
_HIDDEN = ("counters", "grid workspace")


def owned(recording: Recording, arrays: Mapping[str, Array], labels: Mapping[str, Label]) -> Iterator[Owned]:
    """Each array that a launch reads or writes; of one that it does both to, the reads and the writes."""
    found: dict[tuple[str, str], list[Touched]] = {}
    for touched in recording.touched:
        if touched.where not in _HIDDEN:
            found.setdefault((touched.where, touched.verb), []).append(touched)
    sizes = {name: size for name, _, size in recording.arrays}
    for (where, verb), touches in sorted(found.items()):
        array = arrays.get(where)
        label = labels.get(where, Label(where))
        item = PARTIAL if array is None else array.dtype.itemsize
        count = sizes.get(where, 0) // item
        shape = array.shape if array is not None and array.size == count else (count,)
        yield _of(touches, label, verb, item, shape, count)


def _of(touches: Sequence[Touched], label: Label, verb: str, item: int, shape: tuple[int, ...], count: int) -> Owned:
    """One array under one kind of access."""
    drawn = min(count, DRAWN)
    owner, step, line = (np.full(drawn, -1, np.int64) for _ in range(3))
    times = np.zeros(drawn, np.int64)
    for one in touches:
        each = np.arange(max(1, one.size // item))
        elements = (one.addresses[:, None] // item + each).reshape(-1)
        threads = np.repeat(one.threads, each.size)
        inside = (elements >= 0) & (elements < drawn)
        elements, threads = elements[inside], threads[inside]
        np.add.at(times, elements, 1)
        new, at = np.unique(elements, return_index=True)
        free = owner[new] < 0
        owner[new[free]], step[new[free]], line[new[free]] = threads[at[free]], one.step, one.line
    kinds = (label.elements, "words of bits" if label.elements == BITS else "", "words of 4 bytes")
    dtype = kinds[1] or kinds[0] or kinds[2]
    values = (x.tolist() for x in (owner, step, line, times))
    return Owned(label.name, dtype, verb, shape, drawn, _width(shape), *values)


def _width(shape: tuple[int, ...]) -> int:
    """The elements of a line: a row, or a part of it that all of its lines have."""
    row = shape[-1] if shape else 1
    if len(shape) == 1 or row > WIDE:
        parts = (w for w in range(WIDE // 2 if len(shape) == 1 else WIDE, NARROW - 1, -1) if row % w == 0)
        return min(next(parts, WIDE // 2), max(row, 1))
    return max(row, 1)
