"""Assignment to symbolic arrays by a mask, ``x[x < 0] = 0``."""

from __future__ import annotations

from typing import Any

from ...dtypes import BOOL
from ...errors import error
from ..frames import caller
from ..functions import where
from ..symbols import is_array, sym
from .array_value import ArrayValue


def assigned(x: ArrayValue, index: Any, value: Any, *, shared: bool) -> ArrayValue:
    """``x`` after ``x[index] = value``: the value where a bool array of its shape is true.

    Raises:
        TraceError: WF259 for another index, for several values, and for an array that ``shared`` says others see.
    """
    mask = index if is_array(index) and index.dtype == BOOL and index.ndim == x.ndim else None
    number = sym(value, x.dtype)
    if shared:
        raise error("WF259", found="entries are assigned to a view or an argument of the function", where=caller())
    if mask is None:
        raise error("WF259", found=f"entries are assigned by index {spelled(index)}", where=caller())
    if is_array(number) and number.ndim:
        raise error("WF259", found="entries get a value each", where=caller())
    made: Any = where(mask, number, x)
    if made.axes != x.axes:
        raise error("WF259", found="entries are assigned by an index of another shape", where=caller())
    return made.converted(x.dtype)  # type: ignore[no-any-return]


def spelled(key: object) -> str:
    """An index as users write it."""
    if not isinstance(key, slice):
        return repr(key)
    parts = ["" if p is None else repr(p) for p in (key.start, key.stop, key.step)]
    return ":".join(parts if parts[2] else parts[:2])
