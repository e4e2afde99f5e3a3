"""Whether arrays are Dask's, which stand for graphs of tasks, and what tasks need on workers."""

from __future__ import annotations

import io
import math
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ...compiler.errors import WarpfoldError
from ...compiler.program.monoid import Monoid


def in_dask(xs: Iterable[object]) -> bool:
    """Whether any of ``xs`` is an array of Dask; this does not import Dask."""
    dask = sys.modules.get("dask.array")
    return dask is not None and any(isinstance(x, dask.Array) for x in xs)


def is_unread(x: Any) -> bool:
    """Whether ``x``, or what it wraps, is a graph of Dask: to read it is to compute it."""
    graph = getattr(x, "__dask_graph__", None)
    return callable(graph) and not isinstance(x, type) and graph() is not None


def native(x: Any) -> Any:
    """An array of Dask in the byte order of this machine."""
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def together(
    each: Callable[..., Any], joined: Callable[..., Any], arrays: Sequence[Any], dtype: Any, length: float = math.nan
) -> Any:
    """What ``each`` makes of the blocks of arrays of one shape, joined in their order to one array of rank 1.

    Args:
        each: makes an array of rank 1 of a block of each array.
        joined: makes one of a list of these, which may be joined further.
        arrays: arrays of Dask, or what it makes such of.
        dtype: the type of the result.
        length: its length, NaN where it is seen when the blocks are.
    """
    da, delayed = sys.modules["dask.array"], sys.modules["dask"].delayed
    own = [native(da.asarray(x)) for x in arrays]
    axes = tuple(range(own[0].ndim))
    alike = da.core.unify_chunks(*(item for x in own for item in (x, axes)))[1] if len(own) > 1 else own
    level = [delayed(each, pure=True)(*blocks) for blocks in zip(*(x.to_delayed().ravel() for x in alike), strict=True)]
    while len(level) > 1:
        level = [delayed(joined, pure=True)(level[i : i + TOGETHER]) for i in range(0, len(level), TOGETHER)]
    return da.from_delayed(level[0], (length,), dtype=dtype, meta=np.empty(0, dtype))


def total(parts: Sequence[Any]) -> Any:
    """The sum of counts, which are of as many values as each part has."""
    found = np.zeros(max(map(len, parts)), np.int64)
    for own in parts:
        found[: len(own)] += own
    return found


TOGETHER = 16
"""Parts that one task joins."""


def leaves(results: Any) -> list[Any]:
    """Results in a flat list."""
    return [leaf for member in results for leaf in leaves(member)] if isinstance(results, tuple) else [results]


def to_code(found: Any) -> bytes:
    """What a worker needs, as bytes, by cloudpickle, which Dask brings: functions of a script go as their code."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, found: Any) -> Any:
            if isinstance(found, Monoid) and not _has_name(found):
                return Monoid, tuple(getattr(found, f.name) for f in fields(found) if f.init)
            return super().reducer_override(found)

    out = io.BytesIO()
    Pickler(out).dump(found)
    return out.getvalue()


def from_code(data: bytes) -> Any:
    """What ``to_code`` was given."""
    return pickle.loads(data)


def _has_name(m: Monoid) -> bool:
    """Whether another process finds the monoid by name, or its functions."""
    try:
        return m.function.__module__ != "__main__" and bool(m.__reduce__())
    except WarpfoldError:
        return False
