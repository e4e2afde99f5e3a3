"""Indexing of symbolic arrays, which adds axes: ``x[:, None]``, ``x[..., None, :]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import error
from ..frames import caller

if TYPE_CHECKING:
    from .sym_array import SymArray


def indexed(x: SymArray, index: object) -> SymArray:
    """``x[index]`` for None, ``...`` and full slices.

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
    return x.relabeled(tuple(axes))


def _spelled(key: object) -> str:
    if not isinstance(key, slice):
        return repr(key)
    parts = ["" if p is None else repr(p) for p in (key.start, key.stop, key.step)]
    return ":".join(parts if parts[2] else parts[:2])
