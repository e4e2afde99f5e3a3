"""Counts of integers and of bins: tensor programs whose elements choose the result that they count in.

The kept dim of such a program is the results, along which elements do not vary: ``runtime/histograms.py`` stretches
them. A result is the sum of the values of the elements with its number.
"""

from __future__ import annotations

from typing import Any

from ...dtypes import BOOL, I32, I64, U8, DType
from ..fold import fold
from ..functions import where
from ..symbols import Sym, constant, node
from ..values import cast
from . import reductions
from .monoids import SUM


def greatest(x: Any) -> Any:
    """The greatest element; the greatest number of the type if an element is negative."""
    t: DType = x.dtype
    return reductions.max(where(x < 0, constant(t.highest, t), x) if t.kind == "int" else x)


def bincount(x: Any, *, counters: int, times: int = 1) -> Sym:
    """How many elements equal the number of the result; each is there so many times."""
    return _scattered(_ones(times), _number(x), counters)


def weighted_bincount(x: Any, weights: Any, *, counters: int, times: int = 1) -> Sym:
    """The sum of the weights of the elements that equal the number of the result."""
    return _scattered(_weights(weights, times), _number(x), counters)


def histogram(x: Any, lower: Any, upper: Any, *, uniform: bool, steps: int, counters: int, times: int = 1) -> Sym:
    """How many elements lie between the edges of the result."""
    return _scattered(_ones(times), _bin(x, lower, upper, uniform, steps), counters)


def weighted_histogram(
    x: Any, weights: Any, lower: Any, upper: Any, *, uniform: bool, steps: int, counters: int, times: int = 1
) -> Sym:
    """The sum of the weights of the elements that lie between the edges of the result."""
    return _scattered(_weights(weights, times), _bin(x, lower, upper, uniform, steps), counters)


def _ones(times: int) -> Any:
    return constant(times, I32 if times == 1 else I64)


def _weights(weights: Any, times: int) -> Any:
    return cast(weights, I64) if times == 1 else cast(weights, I64) * times


def _scattered(value: Any, index: Any, counters: int) -> Sym:
    found: Sym = fold(SUM, node("scatter", I64, value, index, value=counters))
    return found


def _bin(x: Any, lower: Any, upper: Any, uniform: bool, steps: int) -> Sym:
    own = cast(x, U8) if x.dtype == BOOL else x
    return node("bin", I32, cast(own, lower.dtype), lower, upper, value=(uniform, steps))


def _number(x: Any) -> Sym:
    """An element as the number of a result; beyond 32 bits it is none."""
    t: DType = x.dtype
    if t.bits < 32 or t == I32:
        return cast(x, I32)
    return where(x <= I32.highest, cast(x, I32), -1)
