"""NumPy's broadcasting of symbolic arrays: which dims the axes of several values share.

Axes are aligned from the last. An axis of size 1 stretches. Two axes of one size share a dim; where one value would
then vary twice along it, as ``x + x.T`` of a square array would, the smaller value is read along other dims.

The same value along other dims: its expression with every dim renamed, the folds in it included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...dtypes import BIT
from ...errors import WarpfoldError, error
from ..array_program import Fold, Scan
from ..frames import caller
from ..graph import Expr, Space, union, walk
from .array_value import ArrayValue
from .dims import Axes, Dims, bits, dims_of


def renamed(root: Expr, names: Mapping[int, int], dims: Dims) -> Expr:
    """``root`` with the dims that are keys of ``names`` renamed; the values of ``names`` have the same sizes.

    A dim that ``root`` uses and that another takes the name of takes the name that became free: so ``x.T`` of a square
    array reads the array along the same two dims as ``x``.
    """
    used = {d for e in walk((root,)) for d in dims_of(dims.space(space_of(e)))}
    mapped = dict(names)
    origin = {new: old for old, new in names.items()}
    for d in used - names.keys():
        free = d
        while free in origin:
            free = origin[free]
        mapped[d] = free
    return rebuilt(root, mapped, dims, dims)


def rebuilt(root: Expr, names: Mapping[int, int], dims: Dims, to: Dims) -> Expr:
    """``root`` with its dims replaced by ``names``, which has a dim of ``to`` for each."""
    found: dict[str, Expr] = {}

    def space(old: Space) -> Space:
        return bits(names[d] for d in dims_of(dims.space(old)))

    def each(old: Iterable[int | None]) -> tuple[int, ...]:
        return tuple(names[p] for d in old for p in dims.parts(d))

    def known(old: Iterable[int | None]) -> tuple[int, ...]:
        return tuple(names.get(p, p) for d in old for p in dims.parts(d))

    for e in walk((root,)):
        args = tuple(found[a.digest] for a in e.args)
        value, own = e.value, space(e.space)
        if e.op == "input":
            array, axes = dims.views[e.value]  # type: ignore[call-overload]
            value = to.view(array, tuple(to.join(each((d,))) for d in axes))
        elif isinstance(e.value, Fold):
            value = replace(e.value, over=space(e.value.over), order=each(e.value.order))
            to.vary(union(a.space for a in args) | value.over)
        elif isinstance(e.value, Scan):
            value = replace(e.value, along=each(e.value.along))
        elif e.op == "count":
            value = space(e.value)  # type: ignore[arg-type]
        elif e.op == "iota":
            value = each(e.value)  # type: ignore[arg-type]
        elif e.op == "variable":
            value = e.value.named(lambda d: to.join(known((d,))), known)  # type: ignore[attr-defined]
        to.vary(own)
        found[e.digest] = (
            e if (value, own, args) == (e.value, e.space, e.args) else replace(e, args=args, space=own, value=value)
        )
    return found[root.digest]


def space_of(e: Expr) -> Space:
    """The dims that a node names."""
    if isinstance(e.value, Fold):
        return e.space | e.value.over
    return e.space | (e.value if e.op == "count" else 0)  # type: ignore[operator]


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
