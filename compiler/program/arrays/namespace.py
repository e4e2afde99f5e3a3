"""The functions of the Array API standard on symbolic arrays: what ``x.__array_namespace__()`` returns.

A function that was written for the standard traces as it is. The names mean what they mean in the standard and in
NumPy; a name that is missing here raises WF264.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from ...dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from ...errors import error, near
from ..compositions import abs, isfinite, reciprocal, sign, square
from ..compositions import clip as _clip
from ..frames import caller
from ..functions import (
    acos,
    asin,
    atan,
    atan2,
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    maximum,
    minimum,
    round,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    where,
)  # fmt: skip
from ..spelling import NAMES
from ..values import cast as _cast
from .creation import arange, asarray, astype, full, full_like, ones, ones_like, zeros, zeros_like
from .folding import named as _named
from .shaping import broadcast_arrays, broadcast_to, expand_dims, matrix_transpose, moveaxis, permute_dims, squeeze
from .type_functions import can_cast, finfo, iinfo, isdtype, result_type

__array_api_version__ = "2024.12"

e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

bool, int8, int16, int32, int64 = BOOL, I8, I16, I32, I64
uint8, uint16, uint32, uint64 = U8, U16, U32, U64
float16, bfloat16, float32, float64 = F16, BF16, F32, F64

add, subtract, multiply, divide = operator.add, operator.sub, operator.mul, operator.truediv
floor_divide, remainder, pow = operator.floordiv, operator.mod, operator.pow
negative, positive = operator.neg, operator.pos
equal, not_equal, less, less_equal = operator.eq, operator.ne, operator.lt, operator.le
greater, greater_equal = operator.gt, operator.ge
bitwise_and, bitwise_or, bitwise_xor, bitwise_invert = operator.and_, operator.or_, operator.xor, operator.invert
bitwise_left_shift, bitwise_right_shift = operator.lshift, operator.rshift

sum, prod, mean, var, std = map(_named, ("sum", "prod", "mean", "var", "std"))
max, min, argmax, argmin = map(_named, ("max", "min", "argmax", "argmin"))
any, all, count_nonzero = map(_named, ("any", "all", "count_nonzero"))


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """``x`` within bounds, each of which may be left out."""
    return _clip(x, min, max)


def conj(x: Any) -> Any:
    """``x``, which is real."""
    return x


def real(x: Any) -> Any:
    """``x``, which is real."""
    return x


def logical_and(x: Any, y: Any) -> Any:
    """Whether both are not zero."""
    return _cast(x, BOOL) & _cast(y, BOOL)


def logical_or(x: Any, y: Any) -> Any:
    """Whether one is not zero."""
    return _cast(x, BOOL) | _cast(y, BOOL)


def logical_xor(x: Any, y: Any) -> Any:
    """Whether exactly one is not zero."""
    return _cast(x, BOOL) ^ _cast(y, BOOL)


def logical_not(x: Any) -> Any:
    """Whether it is zero."""
    return ~_cast(x, BOOL)


def trunc(x: Any) -> Any:
    """``x`` without its fraction."""
    return where(x < 0, ceil(x), floor(x))


def hypot(x: Any, y: Any) -> Any:
    """sqrt(x**2 + y**2), scaled so that no square overflows."""
    a, b = abs(x), abs(y)
    high, low = maximum(a, b), minimum(a, b)
    ratio = where(high == 0, 0.0, low / high)
    size = high * sqrt(ratio * ratio + 1.0)
    return where((a == inf) | (b == inf), inf, size)


def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), without overflow."""
    high, low = maximum(x, y), minimum(x, y)
    return where(abs(high) == inf, high, high + log1p(exp(low - high)))


__all__ = [
    "abs",
    "acos",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asarray",
    "asin",
    "astype",
    "atan",
    "atan2",
    "bfloat16",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "divide",
    "e",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "finfo",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "result_type",
    "round",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "var",
    "where",
    "zeros",
    "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    written = NAMES.get(name, "")
    remedy = f"write {written}" if written else "compute it with the functions there are: dir(x.__array_namespace__())"
    raise error("WF264", name=name, near="" if written else near(name, __all__), remedy=remedy, where=caller())


def __dir__() -> list[str]:
    return __all__
