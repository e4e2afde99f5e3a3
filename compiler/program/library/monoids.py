"""warpfold's own monoids: plain uses of ``monoid``.

Sources: Welford's parallel update is Chan, Golub, LeVeque (1979), eq. 2.1; the online log-sum-exp pair is Milakov and
Gimelshein, "Online normalizer calculation for softmax" (2018); the compensated sum adds the errors found by D. Knuth's
TwoSum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...dtypes import accumulator, floating
from ...errors import error
from ..complexes import Complex
from ..functions import exp2, fma, isnan, maximum, minimum, where
from ..monoid import First, monoid
from ..symbols import Sym, divide_counts
from ..values import cast


@monoid(identity=0)
def SUM(a: Any, b: Any) -> Any:
    return a + b


@monoid(identity=1)
def PROD(a: Any, b: Any) -> Any:
    return a * b


@monoid(identity=lambda t: t.highest, has_identity=False, idempotent=True)
def MIN(a: Any, b: Any) -> Any:
    return minimum(a, b)


@monoid(identity=lambda t: t.lowest, has_identity=False, idempotent=True)
def MAX(a: Any, b: Any) -> Any:
    return maximum(a, b)


@monoid(identity=False, idempotent=True)
def ANY(a: Any, b: Any) -> Any:
    return a | b


@monoid(identity=True, idempotent=True)
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


@monoid(identity=lambda t, i: (t.highest, i.highest), has_identity=False, idempotent=True, structure=First("least"))
def ARGMIN(a: Any, b: Any) -> Any:
    return _first(lambda x, y: x < y, a, b)


@monoid(identity=lambda t, i: (t.lowest, i.highest), has_identity=False, idempotent=True, structure=First("greatest"))
def ARGMAX(a: Any, b: Any) -> Any:
    return _first(lambda x, y: x > y, a, b)


def expect_real(x: Any, lack: str = "order") -> Any:
    """``x``, which must be real to have an order, or what else complex numbers ``lack`` here.

    Raises:
        TraceError: WF225 for complex numbers.
    """
    if isinstance(x, Complex):
        raise error("WF225", dtype=x.dtype.name, lack=lack)
    return x


def _single(x: Any) -> tuple[Any, Any, Any]:
    wide = cast(x, accumulator(floating(expect_real(x).dtype)))
    return 1, wide, 0


@monoid(identity=(0, 0, 0), lift=_single, finish=lambda n, m, s: {"count": n, "mean": m, "squares": s})
def WELFORD(a: Any, b: Any) -> Any:
    """State (count, mean, sum of squared deviations from the mean)."""
    (na, ma, sa), (nb, mb, sb) = a, b
    n = na + nb
    twice = divide_counts(nb, where(n == 0, 1.0, n)) * 2.0
    # Half the difference of two finite numbers does not overflow: so the mean of finite elements is finite, and only an
    # infinity or NaN among them makes it otherwise. It is multiplied by the weight before it is squared: beside an
    # empty state the weight is 0, and the square of a great mean alone would overflow.
    half = fma(mb, 0.5, ma * -0.5)
    return n, fma(half, twice, ma), fma(half * (na * twice * 2.0), half, sa + sb)


@monoid(identity=(-math.inf, 0))
def LOGSUMEXP(a: Any, b: Any) -> Any:
    """State (greatest exponent, sum of exponentials relative to it)."""
    (ma, sa), (mb, sb) = a, b
    # in f64, whose maximum takes a dozen instructions, a comparison, which may lose the sign of a zero
    m = maximum(ma, mb) if ma.dtype.bits == 32 else where((ma > mb) | isnan(ma), ma, mb)
    base = where(m == -math.inf, 0.0, minimum(m, _LARGEST[m.dtype.bits]))
    # an infinity is not below the largest number; below the greatest by 87 even 2^64 elements are lost beside one
    ea, eb = (exp2(maximum(minimum(x - base, 1e-30), -87.0) * math.log2(math.e)) for x in (ma, mb))
    return m, sa * ea + sb * eb


_LARGEST = {32: (2.0 - 2.0**-23) * 2.0**127, 64: (2.0 - 2.0**-52) * 2.0**1023}
"""The largest number of a float format, by its bits."""


@monoid(identity=(0, 0))
def COMPENSATED(a: Any, b: Any) -> Any:
    """State (sum, what rounding lost): the error of each addition is found exactly and summed beside it."""
    (sa, ca), (sb, cb) = a, b
    s = sa + sb
    back = s - sa
    lost = (sa - (s - back)) + (sb - back)
    return s, ca + cb + lost


@monoid(identity=0, idempotent=True)
def UNION(a: Any, b: Any) -> Any:
    """A set as bits."""
    return a | b
