"""The arguments of the library's programs: the types in which they are computed, and where weights lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dtypes import DType, compute, floating, promote
from ....errors import error
from ...arrays.folding import AxisArgument, positions
from ...arrays.sym_array import SymArray
from ...dtype_names import dtype as as_dtype
from ...frames import caller
from ...values import cast

Array = Any
"""A symbolic array."""


def result_type(x: Array, dtype: object = None) -> DType:
    """The type of a program's results: ``dtype``, else that of ``x``; f64 for integers and f32 for 8-bit floats."""
    return as_dtype(dtype) if dtype is not None else floating(x.operand().dtype)


def wide(x: Array, t: DType) -> Array:
    """``x`` in the type in which a result of type ``t`` is computed: f32 for halves, f64 if one of both is f64."""
    return cast(x.operand(), compute(promote(floating(x.operand().dtype), t)))


def like(value: Array, x: Array) -> Array:
    """``value``, of any float type, in the type in which ``x`` is computed."""
    return cast(value, x.dtype)


def along(name: str, value: Array, x: Array, axis: AxisArgument) -> Array:
    """``value``, which has the shape of the axes ``axis`` of ``x``, in the type of ``x`` and along these axes.

    Raises:
        TraceError: WF269 for another number of axes.
    """
    places = sorted(positions(axis, x.axes, x))
    if value.ndim != len(places):
        raise error("WF269", name=name, found=value.ndim, expected=len(places), axis=axis, where=caller())
    return like(placed(value, x.ndim, places), x)


def placed(value: Array, rank: int, places: Sequence[int]) -> SymArray:
    """``value`` as an array of ``rank`` axes, its own at ``places`` and of size 1 elsewhere."""
    rest = iter(value.axes)
    found: SymArray = value.relabeled(tuple(next(rest) if i in places else None for i in range(rank)))
    return found
