"""The extreme element and its number, as ``argmin`` and ``argmax`` find them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...dtypes import BOOL, F32, I32, I64, U8, U32, DType, compute
from ..fold import fold, index
from ..functions import bitcast, minimum
from ..monoid import Monoid, monoid
from ..symbols import Sym
from ..values import cast
from .monoids import ARGMAX, expect_real

_SIGN = -(1 << 31)
"""The sign bit of 32."""


@monoid(identity=lambda t: t.highest, has_identity=False, idempotent=True)
def RANKED(a: Any, b: Any) -> Any:
    """A rank and an element's number as one integer: the least is the answer."""
    return minimum(a, b)


RANKED = replace(RANKED, apart=True)  # a number has fewer than 32 bits: no word is the greatest integer


def _ordered(x: Any) -> Sym:
    """``x`` in a type whose values have an order in the IR's terms: a bool as a byte, else a whole register."""
    return cast(x, U8 if expect_real(x).dtype == BOOL else compute(x.dtype))


def extreme(x: Any, m: Monoid, *, shown: bool = True) -> tuple[Sym, Sym]:
    """The element that ``m``, ARGMIN or ARGMAX, finds, and its number.

    Where both fit in 32 bits, they are one integer, the least of which is the answer: above the number a rank, which
    falls with the element for ARGMAX and grows with it for ARGMIN. So a combine is one operation. Where elements are
    ``shown``, a float of 32 bits that is folded beside its number is made the one that a rank gives.
    """
    value, number = _ordered(x), index()
    if compute(value.dtype).bits > 32 or number.dtype.bits > 32:
        best, at = fold(m, value + 0.0 if shown and value.dtype == F32 else value, number)
        return cast(best, x.dtype), cast(at, I64)
    falls = m is ARGMAX
    best, at = of_word(fold(RANKED, word(value, number, falls)), value.dtype, falls)
    return cast(best, x.dtype), at


def word(value: Sym, number: Sym, falls: bool) -> Sym:
    """The rank of an element of 32 bits or fewer above its number."""
    return cast(_rank(value, falls), I64) << 32 | cast(bitcast(number, U32), I64)


def of_word(best: Sym, t: DType, falls: bool) -> tuple[Sym, Sym]:
    """The element of type ``t``, and its number in 64 bits."""
    return _element(cast(best >> 32, I32), t, falls), cast(cast(best, U32), I64)


def _rank(x: Sym, falls: bool) -> Sym:
    """A 32-bit integer in the order of ``x``, or against it; the least for NaN, one for both zeros."""
    if x.dtype.is_float:
        bits = bitcast(x + 0.0 if falls else 0.0 - x, I32)  # of a sum: never -0 here, and 0x7fffffff for any NaN
        return bits ^ (~(bits >> 31) | _SIGN)  # from a sign and a magnitude to a complement
    wide = cast(x, compute(x.dtype))
    bits = bitcast(wide, I32) ^ _SIGN if x.dtype.kind == "uint" else wide
    return ~bits if falls else bits


def _element(rank: Sym, t: DType, falls: bool) -> Sym:
    """The element of type ``t`` with this rank."""
    if t.is_float:
        x = bitcast(rank ^ (rank >> 31 | _SIGN), F32)
        return x if falls else 0.0 - x
    bits = ~rank if falls else rank
    return cast(bitcast(bits ^ _SIGN, U32), t) if t.kind == "uint" else bits
