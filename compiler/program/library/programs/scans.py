"""Cumulative forms of reductions: of every element the value of those up to it, along an axis.

Each is the reduction of the same name at every element (``arrays/scanning.py``), with its types and its treatment of
NaN.
"""

from __future__ import annotations

from ...arrays.scanning import cumulative_prod, cumulative_sum, scanned
from .. import reductions
from .operands import Array


def cummax(x: Array, *, axis: int | None = None, reverse: bool = False) -> Array:
    """The greatest of the elements up to each along an axis, as NumPy's ``maximum.accumulate``: NaN from a NaN on.

    Where it is, which PyTorch's ``cummax`` gives as well, is ``wf.scan(x, "argmax", axis)``.
    """
    return scanned("cummax", reductions.max, (x,), axis, reverse=reverse, params={})


def cummin(x: Array, *, axis: int | None = None, reverse: bool = False) -> Array:
    """The least of the elements up to each along an axis, as NumPy's ``minimum.accumulate``: NaN from a NaN on."""
    return scanned("cummin", reductions.min, (x,), axis, reverse=reverse, params={})


def logcumsumexp(x: Array, *, axis: int | None = None, reverse: bool = False) -> Array:
    """The logarithms of the sums of exponentials of the elements up to each along an axis, without overflow."""
    return scanned("logcumsumexp", reductions.logsumexp, (x,), axis, reverse=reverse, params={})


__all__ = ["cummax", "cummin", "cumulative_prod", "cumulative_sum", "logcumsumexp"]
