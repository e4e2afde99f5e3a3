"""Indexing of symbolic arrays, which adds axes, ``x[:, None]``, and assignment by a mask, ``x[x < 0] = 0``."""

from __future__ import annotations

from typing import Any

from ...dtypes import BOOL
from ...errors import error
from ..frames import caller
from ..functions import where
from ..symbols import is_array, sym
from .array_value import ArrayValue
from .dims import Axes


def indexed(x: ArrayValue, index: object) -> Axes:
    """The axes of ``x[index]`` for None, ``...`` and full slices.

    Raises:
        TraceError: WF262 for an index that selects elements, WF257 for more axes than there are.
    """
    keys = index if isinstance(index, tuple) else (index,)
    for k in keys:
        if not (k is None or k is ... or (isinstance(k, slice) and k == slice(None))):
            raise error("WF262", index=_spelled(k), where=caller())
    named = sum(k is not None and k is not ... for k in keys)
    if named > x.ndim or sum(k is ... for k in keys) > 1:
        raise error("WF257", what="x[...]", rank=x.ndim, expected=f"at least {named}", where=caller())
    if ... not in keys:
        keys = (*keys, ...)
    rest = iter(x.axes)
    axes: list[int | None] = []
    for k in keys:
        if k is ...:
            axes += [next(rest) for _ in range(x.ndim - named)]
        else:
            axes.append(None if k is None else next(rest))
    return tuple(axes)


def assigned(x: ArrayValue, index: Any, value: Any, *, shared: bool) -> ArrayValue:
    """``x`` after ``x[index] = value``: the value where a bool array of its shape is true.

    Raises:
        TraceError: WF259 for another index, for several values, and for an array that ``shared`` says others see.
    """
    mask = index if is_array(index) and index.dtype == BOOL and index.ndim == x.ndim else None
    number = sym(value, x.dtype)
    if mask is None or shared or (is_array(number) and number.ndim):
        found = "a view or an argument of the function" if shared else f"index {_spelled(index)}"
        raise error("WF259", found=found, where=caller())
    made: Any = where(mask, number, x)
    if made.axes != x.axes:
        raise error("WF259", found="an index of another shape", where=caller())
    return made.converted(x.dtype)  # type: ignore[no-any-return]


def _spelled(key: object) -> str:
    if not isinstance(key, slice):
        return repr(key)
    parts = ["" if p is None else repr(p) for p in (key.start, key.stop, key.step)]
    return ":".join(parts if parts[2] else parts[:2])
