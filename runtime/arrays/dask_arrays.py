"""Whether arrays are Dask's, which stand for graphs of tasks."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def in_dask(xs: Iterable[object]) -> bool:
    """Whether any of ``xs`` is an array of Dask; this does not import Dask."""
    dask = sys.modules.get("dask.array")
    return dask is not None and any(isinstance(x, dask.Array) for x in xs)
