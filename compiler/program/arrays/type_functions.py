"""Functions of the Array API standard about element types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...dtypes import BOOL, DType, promote
from ...errors import error
from ..dtype_names import dtype as as_dtype
from ..frames import caller
from ..symbols import Sym, sym


@dataclass(frozen=True)
class FloatLimits:
    """What ``finfo`` returns; its numbers are Python's, so that they are weak."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerLimits:
    """What ``iinfo`` returns."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(of: Any) -> FloatLimits:
    """The limits of a float type, or of an array's."""
    import ml_dtypes

    t = _dtype(of)
    limits: Any = ml_dtypes
    found = limits.finfo(t.numpy)
    return FloatLimits(t.bits, float(found.eps), float(found.max), float(found.min), float(found.smallest_normal), t)


def iinfo(of: Any) -> IntegerLimits:
    """The limits of an integer type, or of an array's."""
    t = _dtype(of)
    return IntegerLimits(t.bits, int(t.highest), int(t.lowest), t)


def _dtype(of: Any) -> DType:
    return of.dtype if isinstance(of, Sym) else as_dtype(of)


KINDS = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",), "integral": ("int", "uint"),
    "real floating": ("float",), "complex floating": ("complex",), "numeric": ("int", "uint", "float", "complex"),
}  # fmt: skip
"""The kinds of types that ``isdtype`` knows, and ours."""


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is, or is of the kind, that ``kind`` says; of one of them if it is a tuple.

    Raises:
        ArgumentError: WF138 for an unknown kind.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if not isinstance(kind, str) or kind not in KINDS:
        if isinstance(kind, str):
            raise error("WF138", option="kind", value=kind, expected=" or ".join(KINDS), default="none", where=caller())
        return as_dtype(dtype) == as_dtype(kind)
    return as_dtype(dtype).kind in KINDS[kind]


def result_type(*values: Any) -> DType:
    """The type that arrays and types have in common; Python numbers are weak."""
    strong = [_dtype(v) for v in values if not isinstance(v, bool | int | float)]
    common = reduce(promote, strong) if strong else None
    weak = [sym(v, common).dtype for v in values if isinstance(v, bool | int | float)]
    return reduce(promote, weak, common or (weak[0] if weak else BOOL))


def can_cast(of: Any, to: Any) -> bool:
    """Whether a type converts to another by promotion alone."""
    return promote(_dtype(of), as_dtype(to)) == as_dtype(to)
