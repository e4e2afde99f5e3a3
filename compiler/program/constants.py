"""Python numbers as constants of an expression graph. Beside a symbolic value a number is weak, as in NumPy 2.

What no symbolic value can do: Python protocols that ask for a number, an entry or a truth value.
"""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import BOOL, F64, I64, DType, dtype
from ..errors import Location, WarpfoldError, error
from .frames import caller
from .graph import SCALAR, Expr
from .spelling import instead


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


def _no_entry(index: object, done: str) -> WarpfoldError:
    found = "a slice" if isinstance(index, slice) else "..." if index is ... else repr(index)
    return error("WF238", index=found, done=done, where=caller())


class Symbolic:
    """The base of real and complex symbolic values: what cannot be done before there are elements."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise error("WF201", where=caller())

    def __iter__(self) -> Any:
        raise error("WF202", where=caller())

    def __contains__(self, _: object) -> bool:
        raise error("WF282", where=caller())

    def __getitem__(self, index: object) -> Any:
        raise _no_entry(index, "asked for")

    def __setitem__(self, index: object, _: object) -> None:
        raise _no_entry(index, "assigned to")

    def __delitem__(self, index: object) -> None:
        raise _no_entry(index, "deleted")

    def __matmul__(self, other: object) -> Any:
        raise error("WF239", where=caller())

    __rmatmul__ = __matmul__

    def __format__(self, form: str) -> str:
        if form:
            raise error("WF240", form=form, where=caller())
        return repr(self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __array__(self, *_: object, **__: object) -> Any:
        raise error("WF217", library="numpy", name="asarray", remedy=instead("asarray", arrays=False), where=caller())

    def __len__(self) -> int:
        raise error("WF202", where=caller())

    def __float__(self) -> float:
        raise error("WF203", conversion="float", where=caller())

    def __int__(self) -> int:
        raise error("WF203", conversion="int", where=caller())

    __index__ = __trunc__ = __floor__ = __ceil__ = __int__

    def __complex__(self) -> complex:
        raise error("WF203", conversion="complex", where=caller())
