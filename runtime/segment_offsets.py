"""The bounds of segments, from offsets or from a segment id for each element."""

from __future__ import annotations

import warnings
from operator import index
from typing import Any

import numpy as np

from ..compiler.dtypes import BOOL
from ..compiler.errors import WarpfoldWarning, error
from ..compiler.program.frames import caller
from ..compiler.program.monoid import Monoid
from .arrays.conversion import to_numpy, view
from .options import MOST

Bounds = np.ndarray[Any, Any]


def bounds(offsets: Any, ids: Any, num_segments: Any, size: int) -> Bounds:
    """Checked offsets, on the host, of segments on an axis of ``size`` elements.

    Raises:
        DTypeError: WF140 or WF154 for offsets or ids that are no integers.
        ArgumentError: WF177 unless exactly one of ``offsets`` and ``ids`` is given; WF141 to WF143 for wrong offsets,
            WF179 to WF182 for wrong ids; WF119 for more segments than there can be.
    """
    if (offsets is None) == (ids is None) or (ids is None and num_segments is not None):
        given = {"offsets": offsets, "ids": ids, "num_segments": num_segments}
        raise error("WF177", found=" and ".join(k for k, v in given.items() if v is not None) or "neither")
    return _of_offsets(offsets, size) if ids is None else _of_ids(ids, num_segments, size)


def _of_offsets(offsets: Any, size: int) -> Bounds:
    found = _integers(offsets, "offsets")
    if found.ndim != 1 or not len(found):
        raise error("WF141", shape=found.shape)
    like_ids = size > 1 and len(found) == size
    meant = "these are as many as there are elements: pass ids, one for each, as ids=, or " * like_ids
    outside = np.flatnonzero((found < 0) | (found > size))
    if len(outside):
        p = int(outside[0])
        raise error("WF142", position=p, value=found[p], size=size, meant=meant)
    found = found.astype(np.int64)
    falls = np.flatnonzero(found[1:] < found[:-1])
    if len(falls):
        p = int(falls[0])
        raise error("WF143", position=p, value=found[p], following=found[p + 1], meant=meant)
    if like_ids and found[-1] < size:
        _warn("WF178", size=size, segments=size - 1, last=found[-1])
    return found


def _of_ids(ids: Any, num_segments: Any, size: int) -> Bounds:
    """The offsets of segments whose ids are given for each element, in rising order."""
    found = _integers(ids, "ids")
    if found.shape != (size,):
        raise error("WF179", shape=found.shape, size=size)
    falls = np.flatnonzero(found[1:] < found[:-1])
    if len(falls):
        p = int(falls[0])
        raise error("WF180", position=p, value=found[p], following=found[p + 1])
    number = _count(num_segments) if num_segments is not None else int(found[-1]) + 1 if size else 0
    for p in (0, size - 1) if size else ():
        if not 0 <= found[p] < number:
            raise error("WF181", position=p, value=found[p], number=number)
    if number > MOST:
        raise error("WF119", results=number, most=MOST)
    try:
        return np.searchsorted(found.astype(np.int64), np.arange(number + 1))
    except MemoryError:
        raise error("WF119", results=number, most="as many as the memory of the host holds") from None


def _count(number: Any) -> int:
    try:
        found = index(number)
    except TypeError:
        found = -1
    if found < 0 or isinstance(number, bool):
        raise error("WF182", number=repr(number))
    return found


def _integers(given: Any, name: str) -> Bounds:
    """``given`` as integers on the host; waits for a GPU."""
    if isinstance(given, Monoid | str) or callable(given):
        raise error("WF154", kind=type(given).__name__, name=name)
    v = view(given)
    empty = v.shape == (0,) and isinstance(given, list | tuple)  # NumPy would make floats
    if not empty and (v.dtype == BOOL or not v.dtype.is_integer):
        raise error("WF140", name=name, dtype=v.dtype)
    return np.asarray(to_numpy(given)).astype(np.int64) if empty else np.asarray(to_numpy(given))


def _warn(code: str, **facts: object) -> None:
    """Issues a warning at the user's line."""
    place = caller()
    text = error(code, where=place, **facts).render()
    if place is None:
        warnings.warn(text, WarpfoldWarning, stacklevel=2)
    else:
        warnings.warn_explicit(text, WarpfoldWarning, place.file, place.line)
