"""The bins of a histogram: their edges as NumPy makes them, on the device of the elements."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.dtypes import BOOL, F16, F32, F64, DType
from ..compiler.errors import WarpfoldError, error
from .api import reduce
from .arrays.conversion import from_numpy, stream_of, to_numpy
from .options import MOST
from .view import View

ROUNDINGS = 8
"""Edges of bins that are about as wide are off by fewer roundings of as many bins."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins on a device, in the library of the elements.

    Attributes:
        edges: all edges, in the type in which NumPy makes them.
        lower, upper: the edges of each bin, in the type in which elements are compared with them.
        count: how many bins there are.
        how: the parameters of the tensor program that follow from them.
    """

    edges: Any
    lower: Any
    upper: Any
    count: int
    how: dict[str, Any]


_tables: OrderedDict[Hashable, Bins] = OrderedDict()
TABLES = 64
"""The most lists of bins that are kept on devices, for calls with the same ones."""
LONGEST = 1 << 16
"""The most bins of a list that is kept."""


def bins_of(x: Any, v: View, bins: Any, range: Any, device: str) -> Bins:
    """The bins of a call; those of the same number between the same numbers are made once."""
    if type(bins) is int and range is None:
        range = _range(x, v, range, device)
    of: tuple[Any, ...] = type(x), v.device, stream_of(x), v.dtype
    key = *of, *spelled_bins(bins, range)
    found = _tables.get(key)
    if found is None:
        found = _made(x, v.dtype, _edges(x, v, bins, range, device))
        if len(key) > len(of) and found.count <= LONGEST:
            _tables[key] = found
            if len(_tables) > TABLES:
                _tables.popitem(last=False)
    return found


def spelled_bins(bins: Any, range: Any) -> tuple[Any, ...]:
    """What tells bins from others, with the types and the texts of numbers, since 0.0 == -0.0; nothing if unknown."""
    if type(bins) is int and type(range) in (tuple, list) and len(range) == 2:
        low, high = range
        if isinstance(low, _NUMBERS) and isinstance(high, _NUMBERS):
            return bins, type(low), type(high), repr(low), repr(high)
    if type(bins) is np.ndarray and bins.dtype.kind in "iuf":
        return bins.shape, bins.dtype, bins.tobytes()
    return ()


_NUMBERS = (int, float, np.integer, np.floating)


def _made(x: Any, dtype: DType, edges: np.ndarray[Any, Any]) -> Bins:
    """Bins with these edges, in the library and on the device of ``x``."""
    count = len(edges) - 1
    if count > MOST:
        raise error("WF119", results=count, most=MOST)
    t = _compared(dtype, edges.dtype)
    placed = from_numpy(x, edges.astype(t))
    how = {"uniform": _are_uniform(edges.astype(np.float64), t), "steps": (count - 1).bit_length()}
    given = placed if edges.dtype == t else from_numpy(x, edges)
    return Bins(given, placed[:-1], placed[1:], count, how)


def _edges(x: Any, v: View, bins: Any, range: Any, device: str) -> np.ndarray[Any, Any]:
    """The edges of all bins, as NumPy makes them."""
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if bins < 1:
            raise error("WF155", found=bins)
        if bins > MOST:  # NumPy would make the edges first
            raise error("WF119", results=bins, most=MOST)
        stand_in = np.zeros(0, _of_numpy(v.dtype))
        low, high = _range(x, v, range, device)
        try:
            return np.histogram_bin_edges(stand_in, int(bins), (low, high))
        except ValueError:
            raise error("WF155", found=f"{bins} of less than the distance of numbers from {low} to {high}") from None
    try:
        found = np.asarray(bins) if isinstance(bins, list | tuple | np.ndarray) else to_numpy(bins)
        rises = (
            found.ndim == 1 and len(found) > 1 and found.dtype.kind in "iuf" and bool((found[1:] >= found[:-1]).all())
        )
    except (WarpfoldError, ValueError, TypeError):
        rises = False
    if not rises:
        raise error("WF155", found=f"{bins!r:.60}")
    return found


def _range(x: Any, v: View, range: Any, device: str) -> tuple[Any, Any]:
    """The outermost edges of bins of one width: what the caller gives, or the extreme elements."""
    if range is None:
        if 0 in v.shape:
            return 0, 1
        t = _of_numpy(v.dtype)
        low, high = (to_numpy(e).astype(t)[()] for e in reduce(x, what="minmax", device=device))
    else:
        try:
            low, high = range
            ordered = bool(low <= high)
        except (TypeError, ValueError):
            raise error("WF156", found=f"{range!r:.60}") from None
        if not ordered:
            raise error("WF156", found=f"{range!r:.60}")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise error("WF156", found=f"({low}, {high})")
    return low, high


def _of_numpy(t: DType) -> Any:
    """The type of NumPy in whose stead an element type makes edges."""
    if t == BOOL:
        return np.dtype(np.uint8)
    return np.dtype(np.float32) if t.is_float and t not in (F16, F32, F64) else np.dtype(t.numpy)


def _compared(t: DType, edges: Any) -> Any:
    """The type in which elements and edges are compared."""
    return np.dtype(np.float32 if t.is_float and t != F64 and edges.kind == "f" and edges.itemsize <= 4 else np.float64)


def _are_uniform(edges: np.ndarray[Any, Any], t: Any) -> bool:
    """Whether bins are so nearly as wide that a product tells in which an element lies, but for those next to it."""
    count = len(edges) - 1
    width = (edges[-1] - edges[0]) / count
    if not 0 < width < math.inf:
        return False
    off = np.abs((edges - edges[0]) / width - np.arange(count + 1)).max()
    return bool(off <= ROUNDINGS * count * 2.0 ** -(24 if t == np.float32 else 53))
