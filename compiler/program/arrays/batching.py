"""A function of arrays for batches: it sees all axes of each array but the first one, along which calls lie."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .sym_array import SymArray


def batched(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of arrays with one more leading axis, all of one size, and its results with that axis.

    The values of the arrays vary along the axis, which the function does not see, so that its folds keep it.
    """

    @wraps(function)
    def of_batches(*xs: Any, **how: Any) -> Any:
        given = [x for x in (*xs, *how.values()) if isinstance(x, SymArray)]
        dims, first = given[0].dims, given[0].axes[0]
        for x in given[1:]:
            own = x.axes[0]
            if first is not None and own is not None:
                dims.unify(first, own)

        def row(x: Any) -> Any:
            return SymArray(x.expr, x.axes[1:], dims, x.dtype).sharing() if isinstance(x, SymArray) else x

        def whole(r: Any) -> Any:
            if isinstance(r, SymArray):
                return SymArray(r.expr, dims.axes((first, *r.axes)), dims, r.dtype)
            if isinstance(r, tuple):
                found = map(whole, r)
                return type(r)(*found) if hasattr(r, "_fields") else tuple(found)
            if isinstance(r, list):
                return list(map(whole, r))
            return {name: whole(value) for name, value in r.items()} if isinstance(r, dict) else r

        return whole(function(*map(row, xs), **{name: row(x) for name, x in how.items()}))

    return of_batches
