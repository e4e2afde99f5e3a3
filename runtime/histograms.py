"""Histograms and counts of integers, ``wf.histogram`` and ``wf.bincount``: exact, and the same on every run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..compiler.dtypes import BOOL, DType
from ..compiler.errors import error
from ..compiler.planner.tally import capacity
from ..compiler.program.frames import outermost
from ..compiler.program.library import counting
from .api import reduce
from .arrays.conversion import from_numpy, to_numpy, view
from .arrays.pytorch import are_tracked
from .arrays.torch_compile import opaque
from .bins import MOST, bins_of
from .calls.operands import Operands
from .calls.recall import Memo
from .execute import prepared, run
from .prepare import Request, artifact
from .resolve import params_of
from .view import View

COUNT, SUM = 4, 8
"""Bytes of a counter of a CTA that counts elements, and of one that adds weights."""


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
        length = max(length, _greatest(x, v.dtype, device) + 1)
    if length > MOST:
        raise error("WF119", results=length, most=MOST)
    what = counting.bincount if weights is None else counting.weighted_bincount
    return _counts((x,), weights, length, what, device)


def _greatest(x: Any, t: DType, device: str) -> int:
    """The greatest element; refuses a negative one. One number is copied from the device, since each copy waits."""
    found = int(to_numpy(reduce(x, what=counting.greatest, device=device)))
    if t.kind == "int" and found == t.highest:
        low = int(to_numpy(reduce(x, what="min", device=device)))
        if low < 0:
            raise error("WF118", value=low)
    return found


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
    found = bins_of(x, v, bins, range, device)
    what = counting.histogram if weights is None else counting.weighted_histogram
    counts = _counts((x, found.lower, found.upper), weights, found.count, what, device, **found.how)
    return counts, _copy(found.edges)


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
