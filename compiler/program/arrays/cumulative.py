"""Cumulative sums and products of symbolic arrays, with the names and the arguments of the Array API standard."""

from __future__ import annotations

from typing import Any

from ...errors import error
from ..frames import caller
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
        include_initial: only False: a result has as many elements as ``x``.
        reverse: whether elements are added from the last to the first.

    Returns:
        An array of the shape of ``x``.
    """
    _check_initial("cumulative_sum", include_initial)
    return scanned("cumulative_sum", reductions.sum, (x,), axis, reverse=reverse, params={"dtype": dtype})


def cumulative_prod(
    x: SymArray, *, axis: int | None = None, dtype: object = None, include_initial: bool = False, reverse: bool = False
) -> Any:
    """The products of the elements up to each along an axis; arguments and types as in ``cumulative_sum``."""
    _check_initial("cumulative_prod", include_initial)
    return scanned("cumulative_prod", reductions.prod, (x,), axis, reverse=reverse, params={"dtype": dtype})


def _check_initial(name: str, include_initial: object) -> None:
    """Refuses (WF291) a result with one element more than the array has."""
    if include_initial is not False:
        raise error("WF291", name=name, value=include_initial, where=caller())
