"""The element type of a symbolic array, and the type in which it is computed.

Half types and 8-bit floats are computed in f32: an array of them has an expression of f32, and its values are rounded
to the type only where they are written, or where ``wf.cast`` says so.
"""

from __future__ import annotations

from ...dtypes import BF16, BIT, BOOL, F8E4M3FN, F8E5M2, F16, F32, U8, U16, U32, U64, DType
from ..graph import SCALAR, Expr
from ..storage import decoded, encoded
from ..symbols import Sym

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
