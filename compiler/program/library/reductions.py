"""The built-in reductions: tensor programs that fold with warpfold's own monoids.

A function here is what the public one of its name traces. Keyword parameters are those of the public function, baked
into the program.

Sources: the errors of products are those of Ogita, Rump, Oishi, "Accurate sum and dot product" (2005).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...dtypes import BOOL, C64, C128, F32, I64, DType, accumulator, compute, floating
from ...dtypes import dtype as as_dtype
from ...errors import error
from ..complexes import Complex
from ..fold import as_initial, count, fold, leaving_out, not_a_number, sums_fit
from ..functions import fma, isinf, log, sqrt, where
from ..gradients.detached import ROOT, marked
from ..monoid import Monoid
from ..public_names import REDUCTIONS
from ..symbols import Sym
from ..values import cast
from .extremes import extreme
from .monoids import ALL, ANY, ARGMAX, ARGMIN, COMPENSATED, LOGSUMEXP, MAX, MIN, PROD, SUM, WELFORD, expect_real


def _kind(dtype: object, default: DType) -> DType:
    return as_dtype(dtype) if dtype is not None else default


def _widened(x: Any, dtype: object, accumulate: object) -> Any:
    """``x`` in the type in which it is added up; with ``dtype=bool``, whether it is not zero."""
    t = _kind(dtype, x.dtype)
    return cast(cast(x, BOOL) if t == BOOL else x, _wide(t, accumulate, pair=isinstance(x, Complex)))


def _wide(t: DType, accumulate: object, *, pair: bool) -> DType:
    """The type in which ``t`` is added up; of a complex ``pair`` with parts of the type that was asked for.

    Raises:
        ArgumentError: WF152 when that is of a lesser kind.
    """
    if accumulate in (None, "compensated"):
        return accumulator(t)
    wide = as_dtype(accumulate)
    fractions = wide.is_float or pair
    if wide.kind == "bool" or (wide.kind == "complex" and not pair) or (t.is_float and not fractions):
        raise error("WF152", dtype=t, accumulate=wide)
    return (C64 if wide == F32 else C128) if pair and wide.is_float else wide


def _sum_type(x: Any, dtype: object) -> DType:
    """The type of a sum: floats keep theirs, others widen to 64 bits."""
    return _kind(dtype, x.dtype if x.dtype.is_float or isinstance(x, Complex) else accumulator(x.dtype))


def _total(x: Any, accumulate: object, lost: Any = 0, initial: Any = None) -> Any:
    """The sum of ``x``; compensated sums add ``lost``, the rounding error of ``x``."""
    if accumulate != "compensated" or not (isinstance(x, Complex) or x.dtype.is_float):
        return fold(SUM, x, initial=initial)
    s, c = fold(COMPENSATED, x, cast(lost, x.dtype), initial=None if initial is None else (initial, 0))
    if isinstance(s, Complex):
        return Complex(_corrected(s.real, c.real), _corrected(s.imag, c.imag))
    return _corrected(s, c)


def _corrected(s: Sym, c: Sym) -> Sym:
    """The sum plus its error; an infinite sum has NaN as its error and stays as it is."""
    return where(abs(s) < math.inf, s + c, s)


def _products(x: Any, y: Any, accumulate: object) -> Any:
    """The sum of x y; compensated, with the rounding errors of the products."""
    p = x * y
    lost = 0 if isinstance(p, Complex) or not p.dtype.is_float else fma(x, y, -p)
    return _total(p, accumulate, lost)


def _plain(name: str, accumulate: object) -> None:
    """Refuses compensation for a reduction that is no sum.

    Raises:
        ArgumentError: WF137.
    """
    if accumulate == "compensated":
        raise error("WF137", name=name)


def _adds_exactly(t: DType) -> bool:
    """Whether elements of ``t`` are integers so short that 64 bits hold their sum."""
    return t.kind in ("bool", "int", "uint") and t.bits <= 16 and sums_fit()


def sum(x: Any, *, dtype: object = None, initial: Any = None, accumulate: object = None) -> Any:
    """The sum; integers and bools widen to 64 bits, halves accumulate in f32."""
    result = _sum_type(x, dtype)
    return cast(_total(_widened(x, dtype, accumulate), accumulate, initial=as_initial(SUM, initial, result)), result)


def prod(x: Any, *, dtype: object = None, initial: Any = None, accumulate: object = None) -> Any:
    """The product; integers and bools widen to 64 bits, halves accumulate in f32."""
    _plain("prod", accumulate)
    result = _sum_type(x, dtype)
    return cast(fold(PROD, _widened(x, dtype, accumulate), initial=as_initial(PROD, initial, result)), result)


def min(x: Any, *, initial: Any = None) -> Sym:
    """The least element; NaN if any is NaN."""
    return cast(fold(MIN, cast(x, compute(expect_real(x).dtype)), initial=as_initial(MIN, initial, x.dtype)), x.dtype)


def max(x: Any, *, initial: Any = None) -> Sym:
    """The greatest element; NaN if any is NaN."""
    return cast(fold(MAX, cast(x, compute(expect_real(x).dtype)), initial=as_initial(MAX, initial, x.dtype)), x.dtype)


def minmax(x: Any) -> dict[str, Sym]:
    """The least and the greatest element, from one read."""
    return {"min": min(x), "max": max(x)}


def ptp(x: Any) -> Sym:
    """The greatest element less the least; integers wrap around as NumPy's do."""
    found: Sym = max(x) - min(x)
    return found


def argmin(x: Any) -> Sym:
    """Where the least element is: the first of equals, the first NaN if there is any."""
    return extreme(x, ARGMIN, shown=False)[1]


def argmax(x: Any) -> Sym:
    """Where the greatest element is: the first of equals, the first NaN if there is any."""
    return extreme(x, ARGMAX, shown=False)[1]


def any(x: Any) -> Sym:
    """Whether some element is not zero."""
    found: Sym = fold(ANY, cast(x, BOOL))
    return found


def all(x: Any) -> Sym:
    """Whether no element is zero."""
    found: Sym = fold(ALL, cast(x, BOOL))
    return found


def count_nonzero(x: Any) -> Sym:
    """How many elements are not zero."""
    found: Sym = fold(SUM, cast(cast(x, BOOL), I64))
    return found


def mean(x: Any, *, dtype: object = None, accumulate: object = None) -> Any:
    """The arithmetic mean; of integers in f64, of halves accumulated in f32; of nothing NaN.

    Integers of up to 16 bits, fewer than 2^47 of them, are added up without rounding.
    """
    result = _kind(dtype, floating(x.dtype))
    exact = result.is_float and accumulate in (None, "compensated") and _adds_exactly(x.dtype)
    total = _total(_widened(x, accumulator(x.dtype) if exact else result, accumulate), accumulate)
    quotient = cast(total, accumulator(result)) if exact else total
    return cast(quotient / count(quotient.real.dtype if isinstance(quotient, Complex) else quotient.dtype), result)


def _moments(x: Any, dtype: object, accumulate: object, name: str) -> tuple[Any, Any, Any, DType]:
    """(count, mean, squares) in the type of accumulation, and the type of the results.

    Beside an infinity the mean of Welford's update is infinite or NaN, as the tree has it, and nowhere else. The
    squares are then NaN, and the mean is the sum over the count, as everywhere but where that of numbers overflows.
    """
    _plain(name, accumulate)
    result = _kind(dtype, floating(expect_real(x, name).dtype))
    wide = cast(x, floating(_wide(floating(result), accumulate, pair=False)))
    n = count(wide.dtype)
    _, m, squares = fold(WELFORD, 1, wide, 0)
    average, finite = fold(SUM, wide) / n, abs(m) < math.inf
    overflows = finite & ~(abs(average) < math.inf) & (n > 0)
    return n, where(overflows, m, average), where(finite, squares, math.nan), result


def known(option: str, value: object, default: float) -> None:
    """Refuses NaN for an option: ArgumentError WF138."""
    if value != value:
        raise error("WF138", option=option, value=value, expected="a number", default=default)


def _variance(n: Any, squares: Any, correction: float) -> Any:
    """The squares over the divisor, which a negative correction leaves positive where there are no elements."""
    known("correction", correction, 0.0)
    least = correction if correction > 0 else 0.0
    return where(n > least, squares / (n - correction), math.nan)


def var(x: Any, *, correction: float = 0.0, dtype: object = None, accumulate: object = None) -> Sym:
    """The variance with divisor ``count - correction``, by Welford's update; NaN where the divisor is not positive."""
    n, _, squares, result = _moments(x, dtype, accumulate, "var")
    return cast(_variance(n, squares, correction), result)


def std(x: Any, *, correction: float = 0.0, dtype: object = None, accumulate: object = None) -> Sym:
    """The standard deviation: the square root of ``var``."""
    n, _, squares, result = _moments(x, dtype, accumulate, "std")
    return cast(marked(sqrt(_variance(n, squares, correction)), ROOT), result)


def mean_var(x: Any, *, correction: float = 0.0, dtype: object = None, accumulate: object = None) -> dict[str, Sym]:
    """The mean and the variance, from one read."""
    n, average, squares, result = _moments(x, dtype, accumulate, "mean_var")
    return {"mean": cast(average, result), "var": cast(_variance(n, squares, correction), result)}


def norm(x: Any, *, ord: float = 2.0, accumulate: object = None) -> Sym:
    """The vector norm of any order: 2, 1, 0 (how many are not zero), inf, -inf, or any p: (sum of |x|^p)^(1/p)."""
    known("ord", ord, 2.0)
    wide = _widened(x, floating(x.dtype), accumulate)
    result = x.dtype.part if isinstance(x, Complex) else floating(x.dtype)
    if ord == 2 and isinstance(wide, Complex):
        # an infinite part makes the number infinite, whatever the other one is: as abs has it, so in each square
        real, imag = where(isinf(wide.imag), math.inf, wide.real), where(isinf(wide.real), math.inf, wide.imag)
        squares = _products(real, real, accumulate) + _products(imag, imag, accumulate)
        return cast(marked(sqrt(squares), ROOT), result)
    if ord == 2:
        return cast(marked(sqrt(_products(wide, wide, accumulate)), ROOT), result)
    if ord == 0:
        return cast(count_nonzero(x), result)
    size = abs(wide)
    if abs(ord) == math.inf:
        return cast(fold(MAX if ord > 0 else MIN, size), result)
    if ord == 1:
        return cast(_total(size, accumulate), result)
    return cast(_total(size ** float(ord), accumulate) ** (1.0 / ord), result)


def logsumexp(x: Any) -> Sym:
    """The logarithm of the sum of exponentials, without overflow; minus infinity of nothing."""
    wide = cast(x, accumulator(floating(expect_real(x).dtype)))
    m, s = fold(LOGSUMEXP, wide, 1)
    return cast(where(abs(m) == math.inf, m, m + log(s)), floating(x.dtype))


def scaled_logsumexp(x: Any, b: Any) -> Sym:
    """The logarithm of the sum of b exp(x), without overflow; elements count nothing where b is 0. NaN if it is < 0."""
    result = floating((x * b).dtype)
    wide, factor = (cast(v, accumulator(result)) for v in (expect_real(x), expect_real(b)))
    m, s = fold(LOGSUMEXP, where(factor == 0.0, -math.inf, wide), factor)
    infinite = where((m == -math.inf) | (s > 0.0), m, math.nan)
    return cast(where(abs(m) == math.inf, infinite, m + log(s)), result)


def vecdot(x: Any, y: Any, *, accumulate: object = None) -> Any:
    """The sum of the products of two arrays' elements, the first's conjugate where it is complex."""
    return _dot(x.conjugate() if isinstance(x, Complex) else x, y, accumulate)


def dot(x: Any, y: Any, *, accumulate: object = None) -> Any:
    """The sum of the products of two arrays' elements."""
    return _dot(x, y, accumulate)


def _dot(x: Any, y: Any, accumulate: object) -> Any:
    result = (x * y).dtype  # the promoted type: as in NumPy, integers do not widen
    wide = _wide(result, accumulate, pair=result.kind == "complex")
    if result == BOOL:
        return any(x & y)
    return cast(_products(cast(x, wide), cast(y, wide), accumulate), result)


def allclose(x: Any, y: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Sym:
    """Whether |x - y| <= atol + rtol |y| for all elements; infinities are close to themselves only."""
    known("rtol", rtol, 1e-5)
    known("atol", atol, 1e-8)
    wide = accumulator(floating((x * y).dtype))
    a, b = cast(x, wide), cast(y, wide)
    near = (abs(a - b) <= atol + rtol * abs(b)) & (abs(b) < math.inf)
    close = near | (a == b)
    if equal_nan:
        close = close | ((a != a) & (b != b))
    found: Sym = fold(ALL, close)
    return found


def array_equal(x: Any, y: Any, *, equal_nan: bool = False) -> Sym:
    """Whether all elements are equal."""
    same = x == y
    if equal_nan:
        same = same | ((x != x) & (y != y))
    found: Sym = fold(ALL, same)
    return found


def describe(x: Any, *, correction: float = 0.0) -> dict[str, Any]:
    """What one read can tell of an array: counts, extremes and where they are, moments and the 2-norm."""
    (low, at_low), (high, at_high) = extreme(x, ARGMIN), extreme(x, ARGMAX)
    n, average, squares, result = _moments(x, None, None, "describe")
    variance = _variance(n, squares, correction)
    return {
        "count": count(I64),
        "nonzero": count_nonzero(x),
        "min": low,
        "max": high,
        "argmin": at_low,
        "argmax": at_high,
        "mean": cast(average, result),
        "var": cast(variance, result),
        "std": cast(marked(sqrt(variance), ROOT), result),
        "norm": norm(x),
    }


def _ignoring_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of the elements that are numbers."""

    @functools.wraps(function)
    def ignoring(x: Any, **params: Any) -> Any:
        with leaving_out(not_a_number([x])):
            return function(x, **params)

    ignoring.__name__ = ignoring.__qualname__ = f"nan{function.__name__}"
    ignoring.__doc__ = f"``{function.__name__}`` of the elements that are not NaN."
    return ignoring


nansum, nanprod, nanmin, nanmax, nanmean, nanargmin, nanargmax = (
    _ignoring_nan(f) for f in (sum, prod, min, max, mean, argmin, argmax)
)

FUNCTIONS: dict[str, Callable[..., Any]] = {name: globals()[name] for name in REDUCTIONS}
"""Every built-in reduction by name."""
OF_MONOID: dict[Monoid, Callable[..., Any]] = {
    SUM: sum, PROD: prod, MIN: min, MAX: max, ANY: any, ALL: all, ARGMIN: argmin, ARGMAX: argmax, LOGSUMEXP: logsumexp,
}  # fmt: skip
"""What reducing an array with one of warpfold's own monoids means."""
