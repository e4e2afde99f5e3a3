"""Elementwise functions composed of others: further functions of NumPy, the Array API and PyTorch.

Each has NumPy's meaning, including NaN, infinities and signs of zeros. Functions that round more than once compute in
f32 or wider.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from ..dtypes import BOOL, F32, F64
from .complexes import Complex
from .functions import divide, exp, maximum, minimum, where
from .gradients.detached import BOUND, RIGHT, marked, stop_gradient
from .symbols import Sym, constant, sym
from .values import cast


def abs(x: Any) -> Any:
    """The absolute value; of the least integer that integer; of a complex number its modulus."""
    return builtins.abs(x if isinstance(x, Complex) else sym(x))


def sign(x: Any) -> Sym:
    """-1, 0 or 1 in the type of ``x``; NaN for NaN."""
    x = sym(x)
    if x.dtype == BOOL:
        return x  # type: ignore[no-any-return]
    found = cast(x > 0, x.dtype) if x.dtype.kind == "uint" else cast(x > 0, x.dtype) - cast(x < 0, x.dtype)
    return where(x == x, found, stop_gradient(x)) if x.dtype.is_float else found


def clip(x: Any, low: Any = None, high: Any = None, *, keep: str | None = None) -> Any:
    """``x`` within bounds, each of which may be left out: first not below ``low``, then not above ``high``.

    With ``keep="bits"`` of arrays it is the field ``output`` beside ``bits``, which ``clip_backward`` takes. Where
    ``x`` is within the bounds or equals one, it gets all of the gradient of the result, else none, as in PyTorch.
    """
    x = sym(x)
    found = x if low is None else marked(maximum(x, low), BOUND)
    found = found if high is None else marked(minimum(found, high), BOUND)
    if keep is None:
        return found
    from .arrays.packing import with_kept  # programs of arrays lie above

    inside = x == x if low is None else x >= low
    return with_kept(found, inside if high is None else inside & (x <= high), keep)


def isfinite(x: Any) -> Sym:
    """Whether ``x`` is neither infinite nor NaN; true for integers."""
    value: Sym = sym(x)
    return builtins.abs(value) < math.inf if value.dtype.is_float else value.alike(constant(True, BOOL).expr)


def square(x: Any) -> Any:
    """``x * x``, rounded once."""
    x = x if isinstance(x, Complex) else sym(x)
    return x * x


def reciprocal(x: Any) -> Any:
    """``1 / x``, correctly rounded; integers become f64."""
    return 1.0 / x if isinstance(x, Complex) else divide(1.0, x)


def sigmoid(x: Any) -> Sym:
    """1 / (1 + exp(-x)), the logistic function, within 3 ulp, also where the exponential overflows."""
    x = sym(x)
    t = x.dtype if x.dtype.is_float else F64
    wide = cast(x, F32 if t.bits == 16 else t)
    small = exp(-marked(builtins.abs(wide), RIGHT))
    return cast(where(wide >= 0, 1.0, small) / (1.0 + small), t)
