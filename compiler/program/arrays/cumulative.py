"""Cumulative sums and products of symbolic arrays, with the names and the arguments of the Array API standard."""

from __future__ import annotations

from typing import Any

from ..library import reductions
from .scanning import scanned
from .sym_array import SymArray


def cumulative_sum(
    x: SymArray, *, axis: int | None = None, dtype: object = None, include_initial: bool = False, reverse: bool = False
) -> Any:
    """The sums of the elements up to each along an axis; integers and bools widen to 64 bits, halves add up in f32.

    Args:
        x: an array.
        axis: the axis; needed for arrays of several.
        dtype: the type of the result, in which elements are added.
        include_initial: whether the sum of no elements comes before the others: a result is longer by one.
        reverse: whether elements are added from the last to the first.

    Returns:
        An array of the shape of ``x``, or longer by one along the axis.
    """
    how: dict[str, Any] = {"reverse": reverse, "include_initial": include_initial, "params": {"dtype": dtype}}
    return scanned("cumulative_sum", reductions.sum, (x,), axis, **how)


def cumulative_prod(
    x: SymArray, *, axis: int | None = None, dtype: object = None, include_initial: bool = False, reverse: bool = False
) -> Any:
    """The products of the elements up to each along an axis; arguments and types as in ``cumulative_sum``."""
    how: dict[str, Any] = {"reverse": reverse, "include_initial": include_initial, "params": {"dtype": dtype}}
    return scanned("cumulative_prod", reductions.prod, (x,), axis, **how)
