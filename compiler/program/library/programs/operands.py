"""The arguments of the library's programs: the types in which they are computed, and where weights lie."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, nan
from numbers import Real
from operator import index
from typing import Any

from ....dtypes import DType, compute, floating, promote
from ....errors import error
from ...arrays.broadcasting import along as broadcast_along
from ...arrays.folding import AxisArgument, positions
from ...arrays.shaping import broadcast_arrays
from ...arrays.sizes import Size
from ...arrays.sym_array import SymArray
from ...dtype_names import dtype as as_dtype
from ...frames import caller
from ...spelling import no_array
from ...symbols import is_array
from ...values import cast

Array = Any
"""A symbolic array."""
OnlyArray = Any
"""A symbolic array that a list does not stand for: other libraries have shapes in these places. See ``takes_list``."""


def result_type(x: Array, dtype: object = None) -> DType:
    """The type of a program's results: ``dtype``, else that of ``x``; f64 for integers and f32 for 8-bit floats."""
    expect_array("x", x)
    return as_dtype(dtype) if dtype is not None else floating(x.operand().dtype)


def wide(x: Array, t: DType) -> Array:
    """``x`` in the type in which a result of type ``t`` is computed: f32 for halves, f64 if one of both is f64."""
    return cast(x.operand(), compute(promote(floating(x.operand().dtype), t)))


def like(value: Array, x: Array) -> Array:
    """``value``, of any float type, in the type in which ``x`` is computed."""
    return cast(value, x.dtype)


def number(option: str, value: Any, default: object) -> Any:
    """The number that an option gives: Python's, or an array of rank 0.

    Raises:
        ArgumentError: WF138 for what is no number.
    """
    if type(value) is bool or not (isinstance(value, Real | Size) or (is_array(value) and not value.ndim)):
        raise error("WF138", option=option, value=value, expected="a number", default=default)
    return value


def finite(option: str, value: Any, default: object) -> Any:
    """The finite number that an option gives: Python's, or an array of rank 0.

    Raises:
        ArgumentError: WF138 for an infinity and NaN, and for what is no number.
    """
    found = number(option, value, default)
    if isinstance(found, Real) and not isfinite(found):
        raise error("WF138", option=option, value=value, expected="a finite number", default=default)
    return found


def addend(option: str, value: Any, default: object) -> Any:
    """The number from 0 on that keeps a divisor from 0: Python's, or an array of rank 0.

    Raises:
        ArgumentError: WF138 for a negative number, an infinity and NaN, and for what is no number.
    """
    found = number(option, value, default)
    if isinstance(found, Real) and not 0 <= float(found) < inf:
        raise error("WF138", option=option, value=value, expected="a finite number from 0 on", default=default)
    return found


def flag(option: str, value: Any, *, default: bool) -> bool:
    """What an option that is on or off says.

    Raises:
        ArgumentError: WF138 for anything else, such as a text, which would count as on.
    """
    if type(value).__name__ not in ("bool", "bool_", "int") or value not in (True, False):  # NumPy's bools, too
        raise error("WF138", option=option, value=value, expected="True or False", default=default)
    return bool(value)


def fraction(option: str, value: Any, default: float) -> float:
    """The number from 0 to 1 that an option gives.

    Raises:
        ArgumentError: WF138 for another number, and for what is none.
    """
    number = nan if type(value) is bool or not isinstance(value, Real) else float(value)
    if not 0 <= number <= 1:
        raise error("WF138", option=option, value=value, expected="a number from 0 to 1", default=str(default))
    return number


def expect_array(name: str, value: object) -> None:
    """Raises a TraceError (WF285) for an argument that is no array."""
    if not is_array(value):
        raise no_array(name, value)


def expect_like(name: str, value: Any, x: Array) -> Array:
    """``value``, an array that broadcasts to the shape of ``x``, in the type in which that is computed.

    Raises:
        TraceError: WF255 for an array of another shape, WF285 for what is no array.
    """
    expect_array(name, value)
    return expect_inside(like(value, x), x)


def expect_inside(value: Array, x: Array) -> Array:
    """``value``, an array that broadcasts to the shape of ``x``, or a number; TraceError WF255 for another array."""
    if is_array(value):
        broadcast_along(value, x.axes)
    return value


def expect_divisor(option: str, given: object, x: Array, place: int) -> None:
    """Raises a TraceError (WF276) for a number of groups or a size of blocks that does not divide an axis."""
    size = x.shape[place]
    size = size.value if isinstance(size, Size) else size  # a plain 1 where the axis lies along no dim
    found = given.value if isinstance(given, Size) else given
    if type(found) is bool or not hasattr(found, "__index__") or index(found) < 1 or size % index(found):
        found = repr(found) if isinstance(found, str) else found
        raise error("WF276", option=option, found=found, axis=place, value=x.described(), size=size, where=caller())


def along(name: str, value: Array, x: Array, axis: AxisArgument) -> Array:
    """``value`` in the type of ``x`` and stretched to its shape.

    Args:
        name: what messages call it.
        value: an array of any float type: with one axis for each of ``axis``, or one that broadcasts to ``x``.
        x: an array.
        axis: axes of ``x``.

    Raises:
        TraceError: WF254 (from ``arrays/broadcasting.py``) for other sizes, WF269 for a value that stretches ``x``,
            WF285 for one that is no array.
    """
    expect_array(name, value)
    places = sorted(positions(axis, x.axes, x))
    own = placed(value, x.ndim, places) if value.ndim == len(places) else value
    found = broadcast_arrays(like(own, x), x)[0]
    if found.axes != x.axes:
        raise error("WF269", name=name, found=_shape(value), expected=_shape(x), where=caller())
    return found


def placed(value: Array, rank: int, places: Sequence[int]) -> SymArray:
    """``value`` as an array of ``rank`` axes, its own at ``places`` and of size 1 elsewhere."""
    rest = iter(value.axes)
    found: SymArray = value.relabeled(tuple(next(rest) if i in places else None for i in range(rank)))
    return found


def _shape(x: Array) -> str:
    return "(" + ", ".join(map(repr, x.shape)) + ")"
