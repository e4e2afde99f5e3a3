"""How an array's elements become values that kernels compute with.

Most types need no conversion. A complex element is two floats side by side, which a kernel sees as two inputs; an 8-bit
float is a byte, decoded by arithmetic that is exact and the same on every target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..dtypes import F8E4M3FN, F8E5M2, F16, F32, U8, U16, U32, DType
from .complexes import Complex
from .functions import bitcast, minimum, where
from .graph import Expr, walk
from .symbols import Sym, constant
from .values import Value, cast


def parts(t: DType) -> tuple[DType, ...]:
    """The types of the kernel inputs, or results, that represent an array of elements ``t``."""
    if t.kind == "complex":
        return (t.part, t.part)
    return (U8,) if t in (F8E4M3FN, F8E5M2) else (t,)


def real_types(t: DType) -> tuple[DType, ...]:
    """The types of the arrays that an array of elements ``t`` is to a program: two of floats for a complex one."""
    return (t.part, t.part) if t.kind == "complex" else (t,)


def decoded(t: DType, exprs: Sequence[Expr]) -> Value:
    """One element of an array of ``t`` as a symbolic value, from the nodes of its parts."""
    if t.kind == "complex":
        return Complex(Sym(exprs[0]), Sym(exprs[1]))
    byte = Sym(exprs[0])
    if t == F8E5M2:  # the upper half of an f16
        return cast(bitcast(cast(byte, U16) << 8, F16), F32)
    return _e4m3fn(cast(byte, U32)) if t == F8E4M3FN else byte


def encoded(value: Sym, t: DType) -> Sym:
    """The byte of the 8-bit float nearest to ``value``, of two the even one; of what is beyond the range the last one.

    The conversion saturates as PTX's ``cvt.rn.satfinite`` does: infinities become the greatest finite number, too, and
    a NaN of either sign 0x7f. So targets that have the instruction use it (``encoded_as``). For others the f32 is
    rounded by adding half of the last place that stays. Below the least normal number the places have a fixed weight:
    there the sum with a number of that weight in its last place is rounded by the hardware.
    """
    mantissa, bias, largest = (3, 7, 448.0) if t == F8E4M3FN else (2, 15, 57344.0)
    x = cast(value, F32)
    bits, size = bitcast(x, U32), minimum(abs(x), largest)
    dropped = 23 - mantissa
    whole = bitcast(size, U32)
    normal = (whole + ((1 << dropped - 1) - 1) + (whole >> dropped & 1) >> dropped) - (127 - bias << mantissa)
    base = 2.0 ** (24 - bias - mantissa)
    small = bitcast(size + base, U32) - bitcast(constant(base, F32), U32)
    code = where(size < 2.0 ** (1 - bias), small, normal)
    return cast(where(x == x, code | bits >> 24 & 0x80, 0x7F), U8)


def encoded_value(e: Expr, t: DType) -> Expr | None:
    """The value whose byte ``encoded`` made ``e``; None for any other expression."""
    equal = (x.args[0] for x in walk((e,)) if x.op == "eq" and x.args[0] == x.args[1])
    return next((x for x in equal if encoded(Sym(x), t).expr.digest == e.digest), None)


def encoded_as(e: Expr) -> tuple[Expr, DType] | None:
    """The value whose byte ``encoded`` made ``e``, and the type of 8-bit floats; None for any other expression."""
    types = (F8E4M3FN, F8E5M2) if e.dtype == U8 else ()
    return next(((value, t) for t in types if (value := encoded_value(e, t)) is not None), None)


def _e4m3fn(byte: Sym) -> Sym:
    """Moves exponent and mantissa to their bits of an f32, whose bias is 120 larger; all ones are NaN."""
    size = bitcast((byte & 0x7F) << 20, F32) * 2.0**120
    size = where((byte & 0x7F) == 0x7F, math.nan, size)
    return where(byte >= 0x80, -size, size)
