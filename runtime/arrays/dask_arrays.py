"""Whether arrays are Dask's, which stand for graphs of tasks, and what tasks need on workers."""

from __future__ import annotations

import io
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


def added(count: Callable[..., Any], arrays: Sequence[Any], length: int) -> Any:
    """The sum of what ``count`` makes of each block of arrays of one shape: ``length`` numbers of i64."""
    da = sys.modules["dask.array"]
    axes = tuple(range(len(arrays[0].shape)))
    own = [item for x in arrays for item in (native(da.asarray(x)), axes)]
    _, alike = da.core.unify_chunks(*own)
    chunks = (*((1,) * n for n in alike[0].numblocks), (length,))
    each = da.map_blocks(
        lambda *xs: count(*xs).reshape((*(1 for _ in axes), length)),
        *alike, dtype=np.int64, chunks=chunks, new_axis=len(axes), meta=np.empty((0,) * len(chunks), np.int64),
    )  # fmt: skip
    return each.sum(axis=axes)


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
