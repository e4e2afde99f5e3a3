"""Indexing of symbolic arrays: ``x[:, None]`` adds an axis, ``x[:, 0]`` and ``x[:, 1::2]`` choose along one."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index as integer
from typing import Any

from ...dtypes import BOOL
from ...errors import WarpfoldError, error
from ..frames import caller
from ..symbols import is_array
from .assignment import spelled
from .slicing import entry, sliced
from .sym_array import SymArray


def indexed(x: SymArray, index: object) -> SymArray:
    """``x[index]`` for None, ``...``, slices and integers.

    Raises:
        TraceError: WF262 for another index, WF257 for more axes than there are, WF284 for an integer that is no index
            of its axis, WF286 for a slice that an axis does not have.
    """
    keys = _keys(x, index)
    of_axes = [k for k in keys if k is not None]
    for place, k in enumerate(of_axes):
        if not isinstance(k, slice) and not -(size := x.sizes[place]) <= k < size:
            raise error("WF284", index=k, axis=place, value=x.described(), size=size, where=caller())
    for place, k in enumerate(of_axes):
        x = _slice(x, place, k) if isinstance(k, slice) else x if x.axes[place] is None else entry(x, place, k)
    rest = iter(x.axes)
    axes = [(k, None if k is None else next(rest)) for k in keys]
    return x.relabeled(tuple(d for k, d in axes if k is None or isinstance(k, slice)))


def _slice(x: SymArray, place: int, by: slice) -> SymArray:
    """``x`` sliced along an axis."""
    size = x.sizes[place]
    if by in (slice(None), slice(0, None), slice(None, None, 1), slice(0, None, 1)):
        return x
    if x.axes[place] is not None:
        return sliced(x, place, by)
    if len(range(*by.indices(size))) == 1:
        return x
    facts = {"index": spelled(by), "axis": place, "value": x.described()}
    raise error("WF286", reason="it has size 1, and the slice no element", where=caller(), **facts)


def _keys(x: SymArray, index: object) -> list[Any]:
    """What an index says, with a full slice for each axis that it does not name, and Python's integers."""
    keys = [_key(k) for k in (index if isinstance(index, tuple) else (index,))]
    named = sum(k is not None and k is not ... for k in keys)
    if named > x.ndim or sum(k is ... for k in keys) > 1:
        raise error("WF257", what="x[...]", rank=x.ndim, expected=f"at least {named}", where=caller())
    at = keys.index(...) if ... in keys else len(keys)
    return [*keys[:at], *(slice(None),) * (x.ndim - named), *keys[at + 1 :]]


def _key(key: Any) -> Any:
    """One entry of an index: None, ``...``, an int, or a slice by ints and None."""
    if key is None or key is ...:
        return key
    if _is_integer(key):
        return integer(key)
    if not isinstance(key, slice):
        raise _refused(key)
    ends = (key.start, key.stop, key.step)
    if not all(k is None or _is_integer(k) for k in ends) or (found := _slice_of(ends)).step == 0:
        raise _refused(key)
    return found


def _slice_of(ends: Iterable[Any]) -> slice:
    return slice(*(None if k is None else integer(k) for k in ends))


def _refused(key: object) -> WarpfoldError:
    """The error for a key that selects several elements."""
    if not is_array(key):
        remedy = "index by integers, which a slice may have three of: x[1:-1], x[::2]; its step is not 0"
        if hasattr(key, "__len__") and not isinstance(key, str):
            remedy = "pass the indices as an argument i, and write x.__array_namespace__().take(x, i, axis=0)"
        return error("WF262", index=spelled(key), remedy=remedy, where=caller())
    chosen: Any = key
    if chosen.dtype == BOOL:
        return error("WF262", index="an array of bools", remedy="write wf.where(mask, x, 0)", where=caller())
    remedy = "write x.__array_namespace__().take(x, indices, axis=0)"
    return error("WF262", index="an array", remedy=remedy, where=caller())


def _is_integer(key: Any) -> bool:
    """Whether a key is one index of an axis, and no array of them."""
    if isinstance(key, bool) or is_array(key) or not hasattr(key, "__index__"):
        return False
    return not hasattr(key, "dtype") or (key.ndim == 0 and key.dtype.kind != "b")
