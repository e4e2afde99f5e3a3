"""Elementwise functions of traced values: what a reduction's own code is written with, beside Python's operators.

Functions that are real for integers take them as f64. They are within the stated ulps for every f32 and f64, the same
bits on every machine; half types are computed in f32 and rounded once. ``fast=True`` takes the GPU's approximation of
f32 (and half types), which differs between machines: within 2 ulp for ``divide``, ``sqrt``, ``rsqrt`` and ``exp2``, and
for ``exp`` near zero; off by some 2^-22 for ``log`` and ``log2`` near 1, by 2^-20 for ``sin`` and ``cos`` up to pi; to
11 bits for ``tanh`` (from sm_80 on). On f64 it changes nothing.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from ..dtypes import BOOL, F32, F64, DType, promote
from ..errors import error
from .complexes import Complex, choose
from .dtype_names import dtype
from .frames import caller
from .function_table import TABLE, Function
from .symbols import Sym, constant, node, pair, select, sym
from .values import cast


def where(condition: Any, a: Any, b: Any) -> Sym:
    """``a`` where ``condition`` holds, else ``b``: the branch-free ``if`` of a traced function."""
    chosen = cast(condition, BOOL)
    if isinstance(a, Complex) or isinstance(b, Complex):
        return choose(chosen, a, b)  # type: ignore[return-value]
    return select(chosen, a, b)


def minimum(a: Any, b: Any) -> Sym:
    """The lesser; NaN if either is NaN; -0 is less than +0."""
    x, y = pair(a, b)
    return x & y if x.dtype == BOOL else node("min", x.dtype, x, y)


def maximum(a: Any, b: Any) -> Sym:
    """The greater; NaN if either is NaN; +0 is greater than -0."""
    x, y = pair(a, b)
    return x | y if x.dtype == BOOL else node("max", x.dtype, x, y)


def _alike(*values: Any) -> list[Sym]:
    """All values in their common type; Python numbers are weak."""
    types = [v.dtype for v in values if isinstance(v, Sym)]
    syms = [sym(v, reduce(promote, types) if types else None) for v in values]
    t = reduce(promote, [s.dtype for s in syms])
    return [cast(s, t) for s in syms]


def _function(row: Function) -> Callable[..., Sym]:
    """The function of floats that a row of the table describes; integers become f64."""

    def one(x: Any) -> Sym:
        return approximated(x)

    def approximated(x: Any, *, fast: bool = False) -> Sym:
        x = sym(x)
        x = x if x.dtype.is_float else cast(x, F64)
        return node(row.name, x.dtype, x, value=_speed(fast, x.dtype))

    def two(y: Any, x: Any) -> Sym:
        a, b = pair(y, x)
        t = a.dtype if a.dtype.is_float else F64
        return node(row.name, t, cast(a, t), cast(b, t))

    made = two if len(row.operands) == 2 else approximated if row.fast else one
    made.__name__ = made.__qualname__ = row.name
    made.__doc__ = row.doc.format(within=f"within {row.ulps:g} ulp")
    return made


globals().update({row.name: _function(row) for row in TABLE if row.doc})
if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Sym]: ...


def _speed(fast: bool, t: DType) -> str | None:
    """What a node holds to be computed by an approximation; f64 has none.

    Raises:
        TraceError: WF216 when ``fast`` is no bool.
    """
    if not isinstance(fast, bool):
        raise error("WF216", found=repr(fast), where=caller())
    return "fast" if fast and t != F64 else None


def fma(a: Any, b: Any, c: Any) -> Sym:
    """``a * b + c``, rounded once; integers, where nothing rounds, are multiplied and added.

    With it the rounding error of a product is computed exactly: ``fma(a, b, -(a * b))``.
    """
    x, y, z = _alike(a, b, c)
    return node("fma", x.dtype, x, y, z) if x.dtype.is_float else x * y + z


def bitcast(x: Any, to: object) -> Sym:
    """The bits of ``x`` read as a value of type ``to``, which has as many.

    Raises:
        TraceError: WF215 when the types have different widths.
    """
    value, t = x if isinstance(x, Sym) else sym(x), dtype(to)  # the bits of an operand may be others: see 8-bit floats
    if value.dtype == t:
        return value
    if value.dtype.bits != t.bits:
        widths = {"found": value.dtype.bits, "expected": t.bits}
        raise error("WF215", source=value.dtype.name, target=t.name, where=caller(), **widths)
    return node("bitcast", t, value)


def divide(x: Any, y: Any, *, fast: bool = False) -> Sym:
    """``x / y``, correctly rounded; integers become f64."""
    a, b = pair(x, y)
    quotient = a / b
    value = _speed(fast, quotient.dtype)
    return quotient.alike(replace(quotient.expr, value=value)) if quotient.expr.dtype == F32 else quotient


def round(x: Any) -> Sym:
    """The nearest integer, of two the even one; integers are returned as they are."""
    return builtins.round(sym(x))


def floor(x: Any) -> Sym:
    """The greatest integer not above ``x``; integers are returned as they are."""
    x = sym(x)
    return node("floor", x.dtype, x) if x.dtype.is_float else x


def ceil(x: Any) -> Sym:
    """The least integer not below ``x``; integers are returned as they are."""
    x = sym(x)
    return node("ceil", x.dtype, x) if x.dtype.is_float else x


def isnan(x: Any) -> Sym:
    """Whether ``x`` is NaN; false for integers."""
    value: Sym = sym(x)
    return value != value if value.dtype.is_float else value.alike(constant(False, BOOL).expr)


def isinf(x: Any) -> Sym:
    """Whether ``x`` is an infinity; false for integers."""
    value: Sym = sym(x)
    return abs(value) == math.inf if value.dtype.is_float else value.alike(constant(False, BOOL).expr)
