"""NumPy's broadcasting of symbolic arrays: which dims the axes of several values share.

Axes are aligned from the last. An axis of size 1 stretches. Two axes of one size share a dim; where one value would
then vary twice along it, as ``x + x.T`` of a square array would, the smaller value is read along other dims.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import BIT
from ...errors import WarpfoldError, error
from ..frames import caller
from ..graph import Expr
from .array_value import ArrayValue
from .dims import Axes, Dims, bits
from .renaming import renamed


def broadcast(values: Sequence[ArrayValue]) -> tuple[list[Expr], Axes]:
    """The expressions of the values along shared dims, and the axes of their common shape.

    Raises:
        TraceError: WF254 for shapes that do not broadcast, WF253 for values of several traces.
    """
    dims = values[0].dims
    if any(v.dtype == BIT for v in values):
        raise error("WF288", found="bits", where=caller())
    if any(v.dims is not dims for v in values):
        raise error("WF253", name="an expression", where=caller())
    rank = max(v.ndim for v in values)
    exprs: dict[int, Expr] = {}
    shared: Axes = (None,) * rank
    for i in sorted(range(len(values)), key=lambda i: -bits(values[i].axes).bit_count()):
        exprs[i], shared = _along(values[i], shared, dims, values)
    return [exprs[i] for i in range(len(values))], shared


def along(value: ArrayValue, axes: Axes) -> Expr:
    """The expression of ``value`` along the dims of ``axes``, to whose shape it broadcasts.

    Raises:
        TraceError: WF255 when it has another size, or an axis that ``axes`` has not.
    """
    dims = value.dims
    if value.dtype == BIT:
        raise error("WF288", found="bits", where=caller())
    if value.ndim > len(axes):
        raise _unlike(value, axes)
    expr, shared = _along(value, dims.axes(axes), dims, ())
    if shared != dims.axes(axes):
        raise _unlike(value, axes)
    return expr


def _along(value: ArrayValue, shared: Axes, dims: Dims, values: Sequence[ArrayValue]) -> tuple[Expr, Axes]:
    """The expression of ``value`` along the dims of ``shared`` where both have an axis, and the axes of both."""
    own: Axes = (None,) * (len(shared) - value.ndim) + value.axes
    for i, (s, d) in enumerate(zip(shared, own, strict=True)):
        if s is None or d is None:
            continue
        if dims.sizes[s] != dims.sizes[d]:
            raise _mismatch(i - len(shared), values, value, dims.sizes[s]) if values else _unlike(value, shared)
        dims.unify(s, d)
    shared, own = dims.axes(shared), dims.axes(own)
    names = _names(shared, own, dims)
    expr = renamed(value.expr, names, dims) if names else value.expr
    joined = tuple(
        dims.join(tuple(names.get(p, p) for p in dims.parts(d))) if s is None else s
        for s, d in zip(shared, own, strict=True)
    )
    dims.vary(bits(joined))
    return expr, joined


def _names(shared: Axes, own: Axes, dims: Dims) -> dict[int, int]:
    """New names for those dims of ``own`` that differ from ``shared``, so that no dim stands on two axes."""
    pairs = [(dims.parts(s), dims.parts(d)) for s, d in zip(shared, own, strict=True)]
    taken = {p for s, _ in pairs for p in s}
    names = {d: s for both in pairs if all(both) for s, d in zip(*both, strict=True) if s != d}
    origin = {s: d for d, s in names.items()}
    for d in (d for s, parts in pairs if not s for d in parts if d in taken):
        free = d
        while free in origin:
            free = origin[free]
        names[d] = dims.copy(d) if free in taken else free
    return names


def _mismatch(axis: int, values: Sequence[ArrayValue], value: ArrayValue, size: int) -> WarpfoldError:
    """The error for an axis of ``value``, counted from the end, that has not the ``size`` of another value."""
    other = next((v for v in values if v.sizes[axis:][:1] == (size,)), value)
    facts = {"first": other.described(), "second": value.described(), "size": size, "found": value.sizes[axis]}
    return error("WF254", shapes=f"{other.sizes} and {value.sizes}", axis=axis, where=caller(), **facts)


def _unlike(value: ArrayValue, axes: Axes) -> WarpfoldError:
    """The error for a value that does not broadcast to a shape."""
    shape = tuple(1 if d is None else value.dims.sizes[d] for d in axes)
    return error("WF255", value=value.described(), found=value.sizes, expected=shape, where=caller())
