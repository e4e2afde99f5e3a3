"""Elementwise functions of traced values: what a reduction's own code is written with, beside Python's operators."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from .dtypes import BOOL, F64, dtype
from .errors import error
from .trace import Sym, caller, cast, constant, node, pair, promote, sym


def where(condition: Any, a: Any, b: Any) -> Sym:
    """``a`` where ``condition`` holds, else ``b``: the branch-free ``if`` of a traced function."""
    x, y = pair(a, b)
    return node("where", x.dtype, cast(condition, BOOL), x, y)


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


def _float_function(op: str, x: Any) -> Sym:
    x = sym(x)
    x = x if x.dtype.is_float else cast(x, F64)
    return node(op, x.dtype, x)


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
    value, t = sym(x), dtype(to)
    if value.dtype == t:
        return value
    if value.dtype.bits != t.bits:
        widths = {"found": value.dtype.bits, "expected": t.bits}
        raise error("WF215", source=value.dtype.name, target=t.name, where=caller(), **widths)
    return node("bitcast", t, value)


def sqrt(x: Any) -> Sym:
    """Square root, correctly rounded."""
    return _float_function("sqrt", x)


def exp(x: Any) -> Sym:
    """The exponential."""
    return _float_function("exp", x)


def log(x: Any) -> Sym:
    """The natural logarithm."""
    return _float_function("log", x)


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
    x = sym(x)
    return x != x if x.dtype.is_float else constant(False, BOOL)


def isinf(x: Any) -> Sym:
    """Whether ``x`` is an infinity; false for integers."""
    x = sym(x)
    return abs(x) == math.inf if x.dtype.is_float else constant(False, BOOL)
