"""The functions of the Array API standard on symbolic arrays: what ``x.__array_namespace__()`` returns.

A function that was written for the standard traces as it is. The names mean what they mean in the standard and in
NumPy. Beside them there are warpfold's own elementwise functions; any other name raises WF264.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ...dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from ...errors import error, near
from .. import compositions, functions
from ..frames import caller
from ..public_names import COMPOSITIONS, ELEMENTWISE
from ..spelling import called, elsewhere
from ..symbols import is_array
from . import elementwise
from .folding import call_built_in
from .folding import named as _named
from .scanning import cumulative_prod, cumulative_sum
from .selection import (
    arange,
    asarray,
    astype,
    diff,
    flip,
    full,
    full_like,
    ones,
    ones_like,
    take,
    take_along_axis,
    tril,
    triu,
    unstack,
    zeros,
    zeros_like,
)
from .shaping import (
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    permute_dims,
    reshape,
    squeeze,
)
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
empty, empty_like = zeros, zeros_like
any, all, count_nonzero = map(_named, ("any", "all", "count_nonzero"))


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """``x`` within bounds, each of which may be left out."""
    return compositions.clip(x, min, max)


def vecdot(x: Any, y: Any, /, *, axis: int = -1) -> Any:
    """The sum of the products of two arrays along an axis."""
    return call_built_in("vecdot", (x, y), axis, {})


__all__ = [
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asarray",
    "astype",
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
    "clip",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "expand_dims",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor_divide",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "less",
    "less_equal",
    "matrix_transpose",
    "max",
    "mean",
    "min",
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
    "remainder",
    "reshape",
    "result_type",
    "squeeze",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tril",
    "triu",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "var",
    "vecdot",
    "zeros",
    "zeros_like",
]  # fmt: skip


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, where arguments that it does not take end in a code, and so does what is in an array's place."""
    taken = signature(function).parameters.values()
    arrays = {i: p.name for i, p in enumerate(taken) if p.annotation == "SymArray"}
    others = next((p.name for p in taken if p.name in arrays.values() and p.kind is p.VAR_POSITIONAL), "")

    @wraps(function)
    def call(*xs: Any, **how: Any) -> Any:
        for i, x in enumerate(xs):
            if (name := arrays.get(i, others)) and not is_array(x):
                raise error("WF285", name=name, kind=type(x).__name__, remedy=_NO_ARRAY, where=caller())
        return called(function, xs, how)

    return call


_NO_ARRAY = "pass an array of the program: an argument, or what is computed of its arguments"
for _name in __all__:
    if isinstance(_function := globals()[_name], FunctionType | BuiltinFunctionType):
        globals()[_name] = checked(_function)
_OWN = {
    name: checked(getattr(module, name))
    for module, names in ((functions, ELEMENTWISE), (compositions, COMPOSITIONS), (elementwise, elementwise.__all__))
    for name in names
}
"""Elementwise functions."""


_MOVING = (
    "argsort", "concat", "nonzero", "repeat", "roll", "searchsorted",
    "sort", "stack", "tile", "unique_all", "unique_counts", "unique_inverse", "unique_values",
)  # fmt: skip
"""Functions of the standard whose results are elements of other places."""


def __getattr__(name: str) -> Any:
    if name in _OWN:
        return _OWN[name]
    if name.startswith("__"):
        raise AttributeError(name)
    known = elsewhere(name) or ("programs move no elements: call it before" if name in _MOVING else "")
    remedy = known or "compute it with the functions there are: dir(x.__array_namespace__())"
    raise error("WF264", name=name, near="" if known else near(name, __dir__()), remedy=remedy, where=caller())


def __dir__() -> list[str]:
    return sorted({*__all__, *_OWN})
