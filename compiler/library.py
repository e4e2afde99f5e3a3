"""warpfold's own monoids and the tensor programs around them: plain uses of ``monoid`` and ``fold``, nothing special.

Sources: Welford's parallel update is Chan, Golub, LeVeque (1979), eq. 2.1; the online log-sum-exp pair is Milakov and
Gimelshein, "Online normalizer calculation for softmax" (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .dtypes import BOOL, I64, DType, accumulator, compute, floating
from .dtypes import dtype as as_dtype
from .functions import exp, isnan, log, maximum, minimum, sqrt, where
from .monoid import count, fold, index, monoid
from .trace import Sym, cast


@monoid(identity=0)
def SUM(a: Any, b: Any) -> Any:
    return a + b


@monoid(identity=1)
def PROD(a: Any, b: Any) -> Any:
    return a * b


@monoid(identity=lambda t: t.highest, has_identity=False)
def MIN(a: Any, b: Any) -> Any:
    return minimum(a, b)


@monoid(identity=lambda t: t.lowest, has_identity=False)
def MAX(a: Any, b: Any) -> Any:
    return maximum(a, b)


@monoid(identity=False)
def ANY(a: Any, b: Any) -> Any:
    return a | b


@monoid(identity=True)
def ALL(a: Any, b: Any) -> Any:
    return a & b


def _first(better: Callable[[Sym, Sym], Sym], a: tuple[Sym, Sym], b: tuple[Sym, Sym]) -> tuple[Sym, Sym]:
    """The better of two (value, index) pairs: NaN before any number, then the better value, then the lower index."""
    (x, i), (y, j) = a, b
    wins, ties = better(x, y), x == y
    if x.dtype.is_float:
        wins, ties = wins | isnan(x), ties | (isnan(x) & isnan(y))
    takes = where(ties, i < j, wins)
    return where(takes, x, y), where(takes, i, j)


@monoid(identity=lambda t, i: (t.highest, i.highest), has_identity=False)
def ARGMIN(a: Any, b: Any) -> Any:
    return _first(lambda x, y: x < y, a, b)


@monoid(identity=lambda t, i: (t.lowest, i.highest), has_identity=False)
def ARGMAX(a: Any, b: Any) -> Any:
    return _first(lambda x, y: x > y, a, b)


@monoid(identity=(0, 0, 0))
def WELFORD(a: Any, b: Any) -> Any:
    """State (count, mean, sum of squared deviations from the mean)."""
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    weight = where(n == 0, 0.0, nb / n)
    delta = mb - ma
    # The weight comes first: beside an empty state it is 0, and the square of a great mean alone would overflow.
    return n, ma + delta * weight, sa + sb + delta * (na * weight) * delta


@monoid(identity=(-math.inf, 0))
def LOGSUMEXP(a: Any, b: Any) -> Any:
    """State (greatest exponent, sum of exponentials relative to it)."""
    (ma, sa), (mb, sb) = a, b
    high, low = maximum(ma, mb), minimum(ma, mb)
    e = where(low == high, 1.0, exp(low - high))
    return high, where(ma < mb, sa * e + sb, sa + sb * e)


def _widen(x: Sym, dtype: object) -> Sym:
    return cast(x, accumulator(x.dtype if dtype is None else as_dtype(dtype)))


def _result(dtype: object, default: DType) -> DType:
    return as_dtype(dtype) if dtype is not None else default


def sum(x: Sym, *, dtype: object = None) -> Sym:
    """The sum; integers and bools widen to 64 bits, halves accumulate in f32."""
    wide = accumulator(x.dtype)
    return cast(fold(SUM, _widen(x, dtype)), _result(dtype, x.dtype if x.dtype.is_float else wide))


def prod(x: Sym, *, dtype: object = None) -> Sym:
    """The product; integers and bools widen to 64 bits, halves accumulate in f32."""
    wide = accumulator(x.dtype)
    return cast(fold(PROD, _widen(x, dtype)), _result(dtype, x.dtype if x.dtype.is_float else wide))


def min(x: Sym) -> Sym:
    """The least element; NaN if any is NaN."""
    return cast(fold(MIN, cast(x, compute(x.dtype))), x.dtype)


def max(x: Sym) -> Sym:
    """The greatest element; NaN if any is NaN."""
    return cast(fold(MAX, cast(x, compute(x.dtype))), x.dtype)


def argmin(x: Sym, *, index_dtype: DType = I64) -> Sym:
    """Where the least element is: the first of equals, the first NaN if there is any."""
    return cast(fold(ARGMIN, cast(x, _ordered(x.dtype)), index(index_dtype))[1], I64)


def argmax(x: Sym, *, index_dtype: DType = I64) -> Sym:
    """Where the greatest element is: the first of equals, the first NaN if there is any."""
    return cast(fold(ARGMAX, cast(x, _ordered(x.dtype)), index(index_dtype))[1], I64)


def _ordered(t: DType) -> DType:
    """bool has no order in the IR's terms; its values are compared as bytes."""
    return as_dtype("u8") if t == BOOL else compute(t)


def any(x: Sym) -> Sym:
    """Whether some element is not zero."""
    found: Sym = fold(ANY, cast(x, BOOL))
    return found


def all(x: Sym) -> Sym:
    """Whether no element is zero."""
    found: Sym = fold(ALL, cast(x, BOOL))
    return found


def mean(x: Sym, *, dtype: object = None) -> Sym:
    """The arithmetic mean; of integers in f64, of halves accumulated in f32; of nothing NaN."""
    result = _result(dtype, floating(x.dtype))
    wide = accumulator(result)
    return cast(fold(SUM, cast(x, wide)) / count(wide), result)


def var(x: Sym, *, correction: float = 0, dtype: object = None) -> Sym:
    """The variance with divisor ``count - correction``, by Welford's update; NaN where the divisor is not positive."""
    result = _result(dtype, floating(x.dtype))
    wide = accumulator(floating(result))
    _, _, squares = fold(WELFORD, cast(1, wide), cast(x, wide), cast(0, wide))
    divisor = count(wide) - correction
    quotient = where(divisor > 0, squares / divisor, math.nan)
    return cast(quotient, result)


def norm(x: Sym) -> Sym:
    """The 2-norm: the square root of the sum of squares."""
    wide = cast(x, accumulator(floating(x.dtype)))
    return cast(sqrt(fold(SUM, wide * wide)), floating(x.dtype))


def logsumexp(x: Sym) -> Sym:
    """The logarithm of the sum of exponentials, without overflow; minus infinity of nothing."""
    wide = cast(x, accumulator(floating(x.dtype)))
    m, s = fold(LOGSUMEXP, wide, cast(1, wide.dtype))
    return cast(where(abs(m) == math.inf, m, m + log(s)), floating(x.dtype))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (sum, prod, min, max, argmin, argmax, any, all, mean, var, norm, logsumexp)
}
