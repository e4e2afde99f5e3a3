"""Whether the two sides of a law differ: in their own types and, where floats round, in wider types.

Where floats round, a difference counts only if the sides also differ in wider types, by more than rounding explains.
Two zeros are equal, and so are two NaNs. If a float of a state is NaN, only the integers of the state are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import DType
from ..program.graph import Expr, MonoidGraph, walk
from ..program.numeric import Array, evaluate
from .sample_states import States

EXACT = ("min", "max", "neg", "abs", "floor", "ceil", "round", "where", "eq", "ne", "lt", "le", "gt", "ge", "bitcast")
"""Operations on floats that never round."""
TAME = 2.0**40
"""Beyond this magnitude even the wide types do not hold all integers."""
SLACK = 64
"""The number of roundings by which wide results may differ."""


@dataclass(frozen=True)
class Side:
    """States, with the greatest finite magnitude computed on the way to them and where infinities made a NaN."""

    values: States
    scale: Array
    invalid: Array

    @classmethod
    def of(cls, values: States) -> Side:
        return cls(values, np.zeros(()), np.zeros((), bool))


def traced(graph: MonoidGraph, left: Side, right: Side) -> Side:
    """Two states combined in wide types, with the largest magnitude and the invalid operations on the way."""
    params = [*left.values, *right.values]
    memo = evaluate(graph.combine, lambda e: params[e.value], wider)  # type: ignore[call-overload]
    shape = np.shape(params[0])
    scale = np.array(np.broadcast_to(np.maximum(left.scale, right.scale), shape))
    invalid = np.array(np.broadcast_to(left.invalid | right.invalid, shape))
    for e in walk(graph.combine):
        if e.dtype.is_float and e.op != "const":
            found = memo[e.digest]
            size = np.abs(found)
            np.maximum(scale, np.where(np.isfinite(size), size, 0), out=scale)
            args = [memo[a.digest] for a in e.args if a.dtype.is_float]
            if args and e.op != "where":
                invalid |= np.isnan(found) & ~np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(a) for a in args)))
    return Side([np.broadcast_to(memo[e.digest], shape) for e in graph.combine], scale, invalid)


def wider(t: DType) -> np.dtype[Any]:
    """A type with more digits and a greater range."""
    if not t.is_float:
        return t.numpy
    return np.dtype(np.longdouble if t.bits == 64 else np.float64)


def rounds(e: Expr) -> bool:
    """Whether an operation may round, or meets floats in a way that may."""
    if not e.args:
        return False
    floats = e.dtype.is_float or any(a.dtype.is_float for a in e.args)
    return floats and e.op not in EXACT


def is_float(v: Array) -> bool:
    return v.dtype.kind not in "iub"  # bf16 is of NumPy's kind V


def same(left: States, right: States) -> Array:
    """Where two states are equal."""
    nans = [np.isnan(x) & np.isnan(y) for x, y in zip(left, right, strict=True) if is_float(x)]
    lost = np.logical_or.reduce(nans) if nans else np.array(False)
    found = np.array(True)
    for x, y in zip(left, right, strict=True):
        equal = x == y
        if is_float(x):
            equal = equal | (lost & (np.isnan(x) | np.isnan(y))) | (np.isnan(x) & np.isnan(y))
        found = found & equal
    return found


def apart(narrow: list[Side], wide: list[Side]) -> Array:
    """Where the sides of a law that differ in narrow types differ in wide ones too, by more than rounding."""
    scale = np.maximum(wide[0].scale, wide[1].scale)
    found = np.zeros(len(wide[0].values[0]), bool)
    for ln, rn, lw, rw in zip(*(s.values for s in (*narrow, *wide)), strict=True):
        if not is_float(lw):
            found |= (ln == lw) & (rn == rw) & (lw != rw)
            continue
        ln, rn = ln.astype(lw.dtype), rn.astype(rw.dtype)
        gap = np.abs(lw - rw)
        close = (np.abs(ln - lw) <= gap / 4) & (np.abs(rn - rw) <= gap / 4)
        both = np.isfinite(lw) & np.isfinite(rw)
        clear = close & (gap > SLACK * float(np.finfo(lw.dtype).eps) * scale)
        odd = _alike(ln, lw) & _alike(rn, rw) & ~same([lw], [rw])
        found |= np.where(both, clear, odd)
    return np.asarray(found & ~same(wide[0].values, wide[1].values) & (scale <= TAME))


def _alike(narrow: Array, wide: Array) -> Array:
    """Whether a value is infinite, NaN or finite in both types."""
    finite = np.isfinite(narrow) & np.isfinite(wide)
    return np.asarray(finite | (narrow == wide) | (np.isnan(narrow) & np.isnan(wide)))
