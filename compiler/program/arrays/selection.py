"""Functions of the Array API standard that choose elements by their positions."""

from __future__ import annotations

from typing import Any

from ...errors import error
from ..frames import caller
from ..functions import where
from ..library import reductions
from .creation import arange
from .folding import positions, reduced
from .sym_array import SymArray


def take_along_axis(x: SymArray, indices: SymArray, /, *, axis: int = -1) -> SymArray:
    """The element of ``x`` at one position along ``axis``, for every row along it.

    Args:
        x: the array.
        indices: integers, with size 1 along ``axis``; negative ones count from the end. A position that does not exist
            gives 0.
        axis: the axis along which elements are chosen.

    Raises:
        TraceError: WF244 for several indices along the axis.
    """
    (place,) = positions(axis, x.axes, x)
    if indices.ndim != x.ndim or indices.axes[place] is not None:
        raise error("WF244", shape=tuple(indices.shape), axis=place, rank=x.ndim, where=caller())
    n: Any = x.shape[place]
    numbers = arange(n)[(slice(None), *(None,) * (x.ndim - 1 - place))]
    chosen: Any = where(numbers == where(indices < 0, indices + n, indices), x, 0)
    found: Any = reduced("take_along_axis", reductions.sum, (chosen,), place, keepdims=True, params={"dtype": x.dtype})
    return found  # type: ignore[no-any-return]


def tril(x: SymArray, /, *, k: int = 0) -> SymArray:
    """``x`` on and below the diagonal ``k``, 0 above it."""
    return where(_below_diagonal(x) <= k, x, 0)  # type: ignore[return-value]


def triu(x: SymArray, /, *, k: int = 0) -> SymArray:
    """``x`` on and above the diagonal ``k``, 0 below it."""
    return where(_below_diagonal(x) >= k, x, 0)  # type: ignore[return-value]


def _below_diagonal(x: SymArray) -> Any:
    """The number of the diagonal on which each element of the last two axes lies."""
    if x.ndim < 2:
        raise error("WF257", what="tril or triu", rank=x.ndim, expected="at least 2", where=caller())
    rows, columns = arange(x.shape[-2]), arange(x.shape[-1])
    return columns - rows[:, None]
