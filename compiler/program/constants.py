"""Python numbers as constants of an expression graph. Beside a symbolic value a number is weak, as in NumPy 2."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import BOOL, F64, I64, DType, dtype
from ..errors import Location, error
from .frames import caller
from .graph import SCALAR, Expr


def constant(value: bool | int | float, t: DType, where: Location | None = None) -> Expr:
    """``value`` as a constant of type ``t``; a mistake is shown at ``where``, or else at the user's running line.

    Raises:
        TraceError: WF204 when an integer type cannot hold it.
    """
    if t.is_float:
        return Expr("const", (), t, SCALAR, _float(value))
    if t == BOOL:
        return Expr("const", (), t, SCALAR, bool(value))
    if (isinstance(value, float) and not value.is_integer()) or not t.lowest <= value <= t.highest:
        facts = {"value": value, "dtype": t.name, "lowest": t.lowest, "highest": t.highest}
        raise error("WF204", where=where or caller(), **facts)
    return Expr("const", (), t, SCALAR, int(value))


def weak(value: Any, like: DType | None) -> Expr:
    """A number as a constant of type ``like`` if that has its kind, else of NumPy's default type for it.

    A NumPy scalar has its own type.

    Raises:
        TraceError: WF204 when an integer type cannot hold it, WF205 for what is no number.
    """
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 and hasattr(value, "item"):
        value, like = value.item(), dtype(value.dtype)
    if not isinstance(value, bool | int | float):
        text = f" ({value!r:.40})" if isinstance(value, str) else ""  # it tells which argument it is
        raise error("WF205", kind=f"{type(value).__name__}{text}", where=caller())
    if like is None:
        like = BOOL if isinstance(value, bool) else I64 if isinstance(value, int) else F64
    if isinstance(value, float) and not like.is_float:
        like = F64
    if like == BOOL and not isinstance(value, bool):
        like = I64
    return constant(value, like)


def _float(value: bool | int | float) -> float:
    """``value`` as a float; whole numbers beyond the range of floats are infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
