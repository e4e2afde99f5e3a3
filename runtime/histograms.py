"""Histograms and counts of integers, ``wf.histogram`` and ``wf.bincount``: exact, and the same on every run."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from ..compiler.dtypes import BOOL, F16, F32, F64, DType
from ..compiler.errors import WarpfoldError, error
from ..compiler.planner.tally import capacity
from ..compiler.program.frames import outermost
from ..compiler.program.library import counting
from .api import reduce
from .arrays.conversion import from_numpy, stream_of, to_numpy, view
from .arrays.pytorch import are_tracked
from .arrays.torch_compile import opaque
from .calls.operands import Operands
from .calls.recall import Memo
from .execute import prepared, run
from .prepare import Request, artifact
from .resolve import params_of
from .view import View

COUNT, SUM = 4, 8
"""Bytes of a counter of a CTA that counts elements, and of one that adds weights."""
MOST = (1 << 31) - (1 << 25)
"""The most results: their numbers have 32 bits."""
ROUNDINGS = 8
"""Edges of bins that are about as wide are off by fewer roundings of as many bins."""


@opaque
@outermost
def bincount(x: Any, weights: Any = None, *, minlength: int = 0, device: str = "auto") -> Any:
    """How many elements have each value from 0 on, or the sums of their weights; waits for the device.

    Args:
        x: an array of integers that are not negative, or of bools, of any shape.
        weights: an array of integers or bools of the shape of ``x``; None for ones.
        minlength: the least number of results; there are as many as the greatest element asks for.
        device: as in ``reduce``.

    Returns:
        An array of rank 1 and of i64, in the library and on the device of ``x``.

    Raises:
        DTypeError: WF116 for elements that are no integers, WF117 for weights of another kind.
        ArgumentError: WF118 for a negative element, WF119 for one that asks for more results than there can be,
            WF138 for another ``minlength``, WF147 for weights of another shape.
    """
    v = _integers(x)
    if type(minlength) is not int or minlength < 0:
        raise error("WF138", option="minlength", value=minlength, expected="an integer from 0 on", default=0)
    _check_weights(weights, v)
    length = minlength
    if 0 not in v.shape:
        low, high = (int(to_numpy(e)) for e in reduce(x, what="minmax", device=device))
        if low < 0:
            raise error("WF118", value=low)
        length = max(length, high + 1)
    if length > MOST:
        raise error("WF119", results=length, most=MOST)
    what = counting.bincount if weights is None else counting.weighted_bincount
    return _counts((x,), weights, length, what, device)


@opaque
@outermost
def histogram(
    x: Any, bins: Any = 10, range: Any = None, *, weights: Any = None, device: str = "auto"
) -> tuple[Any, Any]:
    """How many elements lie in each bin, or the sums of their weights, and the edges of the bins.

    The edges are those of NumPy. A bin has its lower edge and not its upper one, but for the last, which has both.
    Elements beside all bins, and NaN, are not counted.

    Args:
        x: an array of real numbers, of any shape.
        bins: how many bins of the same width there are, or their edges, which rise.
        range: the least and the greatest edge of bins of the same width; without it they are the least and the
            greatest element, which waits for the device.
        weights: an array of integers or bools of the shape of ``x``; None for ones.
        device: as in ``reduce``.

    Returns:
        The counts, in i64, and the edges, in the library and on the device of ``x``.

    Raises:
        DTypeError: WF117 for weights that are no integers, WF225 for complex elements.
        ArgumentError: WF147 for weights of another shape, WF155 for other bins, WF156 for another range, WF119 for more
            bins than there can be.
    """
    x = x.detach() if are_tracked((x,)) else x
    v = view(x)
    if v.dtype.kind == "complex":
        raise error("WF225", dtype=v.dtype, lack="order")
    _check_weights(weights, v)
    edges = _edges(x, v, bins, range, device)
    count = len(edges) - 1
    if count > MOST:
        raise error("WF119", results=count, most=MOST)
    t = _compared(v.dtype, edges.dtype)
    placed, lower, upper = _placed(x, edges.astype(t))
    what = counting.histogram if weights is None else counting.weighted_histogram
    how = {"uniform": _are_uniform(edges.astype(np.float64), t), "steps": (count - 1).bit_length()}
    counts = _counts((x, lower, upper), weights, count, what, device, **how)
    return counts, _copy(placed) if edges.dtype == t else from_numpy(x, edges)


def _counts(arrays: tuple[Any, ...], weights: Any, count: int, what: Any, device: str, **params: Any) -> Any:
    """The results of a tensor program of ``counting.py``, of the elements, the edges of bins if there are any, weights.

    Calls with arrays like those of an earlier one repeat its launches.
    """
    given = arrays if weights is None else (*arrays, weights)
    params["counters"] = capacity(count, COUNT if weights is None else SUM)
    key = (what.__name__, count, device, *params.items())
    return _memo(key, what, given, lambda: _counted(given, len(arrays) - 1, count, what, device, params))


_memo = Memo()


def _counted(arrays: tuple[Any, ...], edges: int, count: int, what: Any, device: str, params: dict[str, Any]) -> Any:
    """The results of a call in full: elements are stretched along the results, and ``edges`` along the elements."""
    found = [view(a) for a in arrays]
    if not count or 0 in found[0].shape:
        return from_numpy(arrays[0], np.zeros(count, np.int64))
    shape = found[0].shape or (1,)
    operands = Operands.of(arrays[:1], device)
    operands.inputs = tuple(
        replace(
            v, shape=(count, *shape), strides=(1, *(0 for _ in shape)) if 0 < i <= edges else (0, *(v.strides or (1,)))
        )
        for i, v in enumerate(found)
    )
    request = Request(what, tuple(range(1, 1 + len(shape))), params_of(what, params))
    ready = prepared(request, operands)
    return run(operands, artifact(ready), ready.geometry, ready.choice.run, ready.traced.structure, ready.traced.checks)


_tables: OrderedDict[Hashable, tuple[Any, Any, Any]] = OrderedDict()
TABLES = 64
"""The most tables of edges that are kept on devices, for calls with the same edges."""


def _placed(x: Any, edges: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """Edges in the library and on the device of ``x``: all, the lower ones and the upper ones of the bins."""
    key = type(x), view(x).device, stream_of(x), edges.dtype, edges.tobytes()
    found = _tables.get(key)
    if found is None:
        placed = from_numpy(x, edges)
        found = _tables[key] = placed, placed[:-1], placed[1:]
        if len(_tables) > TABLES:
            _tables.popitem(last=False)
    return found


def _copy(x: Any) -> Any:
    """A copy of an array of any library."""
    return x.clone() if hasattr(x, "clone") else x.copy()


def _integers(x: Any) -> View:
    """The view of an array of integers or bools."""
    v = view(x)
    if v.dtype != BOOL and not v.dtype.is_integer:
        raise error("WF116", dtype=v.dtype)
    return v


def _check_weights(weights: Any, like: View) -> None:
    """Refuses weights, if there are any, that are no integers or not one for each element."""
    if weights is None:
        return
    v = view(weights)
    if v.dtype != BOOL and not v.dtype.is_integer:
        raise error("WF117", dtype=v.dtype)
    if v.shape != like.shape:
        raise error("WF147", found=v.shape, expected=like.shape)
    if v.device != like.device:
        raise error("WF107", devices=f"the elements on {like.device}, the weights on {v.device}")


def _edges(x: Any, v: View, bins: Any, range: Any, device: str) -> np.ndarray[Any, Any]:
    """The edges of all bins, as NumPy makes them."""
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if bins < 1:
            raise error("WF155", found=bins)
        stand_in = np.zeros(0, _of_numpy(v.dtype))
        low, high = _range(x, v, range, stand_in.dtype, device)
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


def _range(x: Any, v: View, range: Any, t: Any, device: str) -> tuple[Any, Any]:
    """The outermost edges of bins of one width: what the caller gives, or the extreme elements."""
    if range is None:
        if 0 in v.shape:
            return 0, 1
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
