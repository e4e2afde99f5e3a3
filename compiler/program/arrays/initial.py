"""Scans whose results begin with the identity: they have one element more than their arrays.

An exclusive scan of one more element gives all of these: nothing comes before the first one, and the whole array before
the last one, whose own element nobody sees. So the arrays are read along a dim that is longer by one. There is no
element beyond their end, and a gather of none is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import I64
from ...errors import WarpfoldError, error
from ...postorder import postorder
from ..frames import caller
from ..graph import Expr
from ..symbols import constant
from .dims import Dims, bits
from .selection import taken
from .sym_array import SymArray


def one_longer(name: str, xs: Sequence[SymArray], place: int, *, reverse: bool) -> list[SymArray]:
    """Arrays of one shape with one element more along an axis: behind the others, or before them in a ``reverse`` scan.

    Args:
        name: what messages call the scan.
        xs: the arrays.
        place: the position of the axis.
        reverse: whether the scan goes from the last element to the first.

    Raises:
        TraceError: WF291 for elements that were reduced, and for an axis that no array has.
    """
    first = xs[0]
    dims, parts = first.dims, first.dims.parts(first.axes[place])
    if any(_is_made(x, parts) for x in xs):
        raise refused(name, "its elements are results of folds or gathers", "reduce in one program and scan in another")
    try:
        to = dims.slice_dim(parts, slice(None), 1) if parts else _dim_of_two(first)
    except ValueError:
        raise refused(name, "no array has its axis", "reshape the array before the call") from None
    own = (to,)
    numbers: Any = SymArray(
        Expr("iota", (), I64, bits(own), own) if to is not None else constant(0, I64).expr, own, dims
    )
    at = numbers - 1 if reverse else numbers
    return [taken(x, at.relabeled((*own, *(None,) * (x.ndim - 1 - place))), place) for x in xs]


def refused(name: str, reason: str, remedy: str) -> WarpfoldError:
    """The error for a scan that cannot begin with the identity."""
    return error("WF291", name=name, reason=reason, remedy=remedy, where=caller())


def _is_made(x: SymArray, parts: Sequence[int]) -> bool:
    """Whether elements along an axis are results, or gathered, so that they lie in no array."""
    along = bits(parts)
    found = postorder((x.expr,), lambda e: e.args if x.dims.space(e.space) & along else ())
    return any(e.op in ("result", "gather") and x.dims.space(e.space) & along for e in found)


def _dim_of_two(x: SymArray) -> int | None:
    """A dim of two elements, for an axis of size 1, which is no dim.

    It is an axis of size 1 of some array and one element more; if ``x[None]`` made it and no array has it, the
    first element of another dim and one more.

    Raises:
        ValueError: there is no other dim.
    """
    dims: Dims = x.dims
    try:
        return dims.slice_dim((), slice(None), 1)
    except ValueError:
        other = next((d for d in x.axes if d is not None and dims.sizes[d]), None)
        return dims.slice_dim(dims.parts(other), slice(0, 1), 1)
