"""The extreme element and its number, as ``argmin`` and ``argmax`` find them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...dtypes import F32, I64, compute
from ..fold import fold, index
from ..functions import minimum
from ..monoid import Monoid, monoid
from ..symbols import Sym
from ..values import cast
from ..words import of_word, ordered, word
from .monoids import expect_real


@monoid(identity=lambda t: t.highest, has_identity=False, idempotent=True)
def RANKED(a: Any, b: Any) -> Any:
    """A rank and an element's number as one integer: the least is the answer."""
    return minimum(a, b)


RANKED = replace(RANKED, apart=True)  # a number has fewer than 32 bits: no word is the greatest integer


def extreme(x: Any, m: Monoid, *, shown: bool = True) -> tuple[Sym, Sym]:
    """The element that ``m``, ARGMIN or ARGMAX, finds, and its number.

    Where both fit in 32 bits, they are one integer, the least of which is the answer: above the number a rank, which
    falls with the element for ARGMAX and grows with it for ARGMIN. So a combine is one operation. Where elements are
    ``shown``, a float of 32 bits that is folded beside its number is made the one that a rank gives.
    """
    value, number = ordered(expect_real(x)), index()
    if compute(value.dtype).bits > 32 or number.dtype.bits > 32:
        best, at = fold(m, value + 0.0 if shown and value.dtype == F32 else value, number)
        return cast(best, x.dtype), cast(at, I64)
    falls = m.structure is not None and m.structure.falls
    best, at = of_word(fold(RANKED, word(value, number, falls)), value.dtype, falls)
    return cast(best, x.dtype), at
