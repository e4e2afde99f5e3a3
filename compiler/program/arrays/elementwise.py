"""Elementwise functions of the Array API standard that warpfold has under no name of its own."""

from __future__ import annotations

import math
from typing import Any

from ...dtypes import BOOL, F32, F64, I32, I64
from ..compositions import abs
from ..functions import bitcast, ceil, exp, floor, log, log1p, maximum, minimum, sqrt, where
from ..symbols import sym
from ..values import cast

__all__ = [
    "acosh", "asinh", "atanh", "conj", "copysign", "hypot", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "real", "signbit", "trunc",
]  # fmt: skip
_GREAT = 2.0**28
"""From here on x + sqrt(x**2 + 1) is 2 x in f64, while the square is finite in f32."""


def logical_and(x: Any, y: Any) -> Any:
    """Whether both are not zero."""
    return cast(x, BOOL) & cast(y, BOOL)


def logical_or(x: Any, y: Any) -> Any:
    """Whether one is not zero."""
    return cast(x, BOOL) | cast(y, BOOL)


def logical_xor(x: Any, y: Any) -> Any:
    """Whether exactly one is not zero."""
    return cast(x, BOOL) ^ cast(y, BOOL)


def logical_not(x: Any) -> Any:
    """Whether it is zero."""
    return ~cast(x, BOOL)


def real(x: Any) -> Any:
    """``x``, which is real."""
    return x


conj = real


def trunc(x: Any) -> Any:
    """``x`` without its fraction."""
    return where(x < 0, ceil(x), floor(x))


def signbit(x: Any) -> Any:
    """Whether the sign bit is set, of zeros and NaN as well."""
    value = sym(x)
    if not value.dtype.is_float:
        return value < 0
    wide = cast(value, value.dtype if value.dtype == F64 else F32)
    return bitcast(wide, I64 if wide.dtype == F64 else I32) < 0


def copysign(x: Any, y: Any) -> Any:
    """The magnitude of ``x`` with the sign of ``y``."""
    return where(signbit(y), -abs(x), abs(x))


def hypot(x: Any, y: Any) -> Any:
    """sqrt(x**2 + y**2), scaled so that no square overflows."""
    a, b = abs(x), abs(y)
    high, low = maximum(a, b), minimum(a, b)
    ratio = where(high == 0, 0.0, low / high)
    size = high * sqrt(ratio * ratio + 1.0)
    return where((a == math.inf) | (b == math.inf), math.inf, size)


def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), without overflow."""
    high, low = maximum(x, y), minimum(x, y)
    return where(abs(high) == math.inf, high, high + log1p(exp(low - high)))


def asinh(x: Any) -> Any:
    """The number whose hyperbolic sine is ``x``."""
    a = abs(x)
    square = a * a
    found = where(a > _GREAT, log(a) + math.log(2.0), log1p(a + square / (1.0 + sqrt(square + 1.0))))
    return _odd(found, x)


def acosh(x: Any) -> Any:
    """The number from 0 on whose hyperbolic cosine is ``x``; NaN below 1."""
    t = x - 1.0
    return where(x > _GREAT, log(x) + math.log(2.0), log1p(t + sqrt(t * (t + 2.0))))


def atanh(x: Any) -> Any:
    """The number whose hyperbolic tangent is ``x``; NaN beyond -1 and 1."""
    a = abs(x)
    return _odd(0.5 * log1p(2.0 * a / (1.0 - a)), x)


def _odd(found: Any, x: Any) -> Any:
    """An odd function, from its value at the magnitude of ``x``; at 0, where that has no derivative, it is ``x``."""
    return where(x == 0, x, copysign(found, x))
