"""Indexing of symbolic arrays: ``x[:, None]`` adds an axis, ``x[:, 0]`` takes the entries at an index of an axis."""

from __future__ import annotations

from operator import index as integer
from typing import Any

from ...dtypes import BOOL
from ...errors import WarpfoldError, error
from ..fold import index as number
from ..frames import caller
from ..functions import where
from ..library import reductions
from ..symbols import is_array
from .assignment import spelled
from .folding import reduced
from .sym_array import SymArray


def indexed(x: SymArray, index: object) -> SymArray:
    """``x[index]`` for None, ``...``, full slices and integers.

    Raises:
        TraceError: WF262 for another index, WF257 for more axes than there are, WF284 for an integer that is no index
            of its axis.
    """
    keys = _keys(x, index)
    of_axes = [k for k in keys if k is not None]
    chosen = [(place, integer(k)) for place, k in enumerate(of_axes) if not isinstance(k, slice)]
    for place, k in chosen:
        if not -(size := x.sizes[place]) <= k < size:
            raise error("WF284", index=k, axis=place, value=x.described(), size=size, where=caller())
    for place, k in chosen:
        x = _entries(x, k, place)
    rest = iter(x.axes)
    axes = [(k, None if k is None else next(rest)) for k in keys]
    return x.relabeled(tuple(d for k, d in axes if k is None or isinstance(k, slice)))


def _keys(x: SymArray, index: object) -> list[Any]:
    """What an index says, with a full slice for each axis that it does not name."""
    keys = index if isinstance(index, tuple) else (index,)
    for k in keys:
        if not (k is None or k is ... or (isinstance(k, slice) and k == slice(None)) or _is_integer(k)):
            raise _refused(k)
    named = sum(k is not None and k is not ... for k in keys)
    if named > x.ndim or sum(k is ... for k in keys) > 1:
        raise error("WF257", what="x[...]", rank=x.ndim, expected=f"at least {named}", where=caller())
    at = keys.index(...) if ... in keys else len(keys)
    return [*keys[:at], *(slice(None),) * (x.ndim - named), *keys[at + 1 :]]


def _refused(key: object) -> WarpfoldError:
    """The error for a key that selects several elements."""
    remedy = (
        "slice the array before the call; or choose by position: wf.where(positions < n, x, 0) with "
        "positions = x.__array_namespace__().arange(x.shape[-1])"
    )
    if not is_array(key):
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


def _entries(x: SymArray, k: int, place: int) -> SymArray:
    """The entries of ``x`` at index ``k`` of an axis, which stays with size 1.

    Each is a sum of one element, which ``rewrites/one_hot.py`` reads directly where it can. The program serves all
    sizes for the first and the last index, and else the size at hand.
    """
    if x.axes[place] is None:
        return x
    n: Any = x.shape[place] if k in (0, -1) else int(x.shape[place])
    params = {"k": k if k >= 0 else n + k}
    found: SymArray = reduced("an index", _element, (x,), place, keepdims=True, params=params)
    return found.converted(x.dtype)


def _element(x: Any, k: Any) -> Any:
    """The element number ``k``."""
    return reductions.sum(where(number() == k, x, 0), dtype=x.dtype)
