"""NumPy's namespace with warpfold's functions in place of its own, for the Array API test suite.

Run by ``tests/runtime/test_array_api_suite.py``. Three choices of docs/semantics.md differ from the standard, and are
NumPy's here: variances and scans of complex numbers, and ``vecdot`` of sizes that differ along the axis.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy import *  # noqa: F403
from numpy import __array_namespace_info__, bool, e, fft, inf, nan, newaxis, pi  # noqa: F401

import warpfold as wf

__array_api_version__ = "2024.12"
HOW = {"device": "emulator"}


def _along(name: str, **own: Any) -> Any:
    """A reduction with the arguments of the standard."""

    def call(x: Any, /, *, axis: Any = None, keepdims: bool = False, **how: Any) -> Any:  # type: ignore[valid-type]
        if x.dtype.kind == "c" and name in ("var", "std"):
            return getattr(np, name)(x, axis=axis, keepdims=keepdims, **how)
        return getattr(wf, name)(x, axis=axis, keepdims=keepdims, **(own | how), **HOW)

    call.__name__ = name
    return call


sum, prod, mean, max, min = map(_along, ("sum", "prod", "mean", "max", "min"))
any, all, argmax, argmin, count_nonzero = map(_along, ("any", "all", "argmax", "argmin", "count_nonzero"))
var, std = _along("var", correction=0), _along("std", correction=0)


def _scanned(name: str) -> Any:
    def call(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:  # type: ignore[valid-type]
        how = {"axis": axis, "dtype": dtype, "include_initial": include_initial}
        return getattr(np, name)(x, **how) if x.dtype.kind == "c" else getattr(wf, name)(x, **how, **HOW)

    call.__name__ = name
    return call


cumulative_sum, cumulative_prod = map(_scanned, ("cumulative_sum", "cumulative_prod"))


def vecdot(x: Any, y: Any, /, *, axis: int = -1) -> Any:
    if x.shape[axis] != y.shape[axis]:
        return np.vecdot(x, y, axis=axis)
    return wf.vecdot(x, y, axis, **HOW)


def unique_values(x: Any, /) -> Any:
    small = x.dtype.kind in "biu" and x.dtype.itemsize <= 2
    return wf.unique(x, **HOW) if small else np.unique_values(x)


linalg: Any = SimpleNamespace(**{name: getattr(np.linalg, name) for name in np.linalg.__all__})
linalg.__name__, linalg.vecdot, linalg.vector_norm = "linalg", vecdot, _along("norm", ord=2)
