"""The element type of a symbolic array, and the type in which it is computed.

Half types and 8-bit floats are computed in f32: an array of them has an expression of f32, and its values are rounded
to the type only where they are written, or where ``wf.cast`` says so.

Functions of the Array API standard about element types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...dtypes import BF16, BIT, BOOL, F8E4M3FN, F8E5M2, F16, F32, U8, U16, U32, U64, DType, promote
from ...errors import error
from ..dtype_names import dtype as as_dtype
from ..frames import caller
from ..graph import SCALAR, Expr
from ..storage import decoded, encoded
from ..symbols import Sym, sym

HALVES = (F16, BF16)
BYTES = (F8E4M3FN, F8E5M2)


def computed(t: DType) -> DType:
    """The type in which values of type ``t`` are computed."""
    if t == BIT:
        return BOOL
    return F32 if t in HALVES or t in BYTES else t


def has_gradient(t: DType) -> bool:
    """Whether values of type ``t`` have a gradient: floats do, but for those of 8 bits, which are rounded too far."""
    return t.is_float and t not in BYTES


def in_computed(e: Expr) -> Expr:
    """An expression of any type in the type in which it is computed."""
    t = computed(e.dtype)
    if t == e.dtype:
        return e
    if e.op == "const" and not e.chosen:
        return Expr("const", (), t, SCALAR, e.value, e.where)
    return Expr("cast", (e,), t, e.space, None, e.where)


def read(e: Expr, t: DType) -> Expr:
    """The value of an element of type ``t`` as computed, from the ``input`` node of its array."""
    if t in BYTES:
        value = decoded(t, (e,))
        assert isinstance(value, Sym)
        return value.expr
    return in_computed(e)


def of_number(e: Expr, t: DType) -> Expr:
    """The element of type ``t`` that the low bits of a word are, from the ``input`` node of that word."""
    unsigned = next(u for u in (U8, U16, U32, U64) if u.itemsize == t.itemsize)
    for to in (U64, unsigned):
        e = e if e.dtype == to else Expr("cast", (e,), to, SCALAR)
    if t == BOOL:
        return Expr("ne", (e, Expr("const", (), unsigned, SCALAR, 0)), BOOL, SCALAR)
    return e if t == unsigned else Expr("bitcast", (e,), t, SCALAR)


def stored(e: Expr, t: DType) -> Expr:
    """A value, as computed, as the bits of type ``t`` have it: rounded to a half; an 8-bit float as its byte."""
    if t in HALVES:
        return Expr("cast", (e,), t, e.space, None, e.where)
    return encoded(Sym(e), t).expr if t in BYTES else e


def memory_type(t: DType) -> DType:
    """The type of the ``input`` node for an array of type ``t``."""
    return U8 if t in BYTES else t


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
