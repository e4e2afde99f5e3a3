"""How an array's elements become values that kernels compute with.

Most types need no conversion. A complex element is two floats side by side, which a kernel sees as two inputs; an 8-bit
float is a byte, decoded by arithmetic that is exact and the same on every target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..dtypes import F8E4M3FN, F8E5M2, F16, F32, U8, U16, U32, DType
from .complexes import Complex
from .functions import bitcast, where
from .graph import Expr
from .symbols import Sym
from .values import Value, cast


def parts(t: DType) -> tuple[DType, ...]:
    """The types of the kernel inputs, or results, that represent an array of elements ``t``."""
    if t.kind == "complex":
        return (t.part, t.part)
    return (U8,) if t in (F8E4M3FN, F8E5M2) else (t,)


def decoded(t: DType, exprs: Sequence[Expr]) -> Value:
    """One element of an array of ``t`` as a symbolic value, from the nodes of its parts."""
    if t.kind == "complex":
        return Complex(Sym(exprs[0]), Sym(exprs[1]))
    byte = Sym(exprs[0])
    if t == F8E5M2:  # the upper half of an f16
        return cast(bitcast(cast(byte, U16) << 8, F16), F32)
    return _e4m3fn(cast(byte, U32)) if t == F8E4M3FN else byte


def _e4m3fn(byte: Sym) -> Sym:
    """Moves exponent and mantissa to their bits of an f32, whose bias is 120 larger; all ones are NaN."""
    size = bitcast((byte & 0x7F) << 20, F32) * 2.0**120
    size = where((byte & 0x7F) == 0x7F, math.nan, size)
    return where(byte >= 0x80, -size, size)
