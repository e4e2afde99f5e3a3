"""The same value along other dims: its expression with every dim renamed, the folds in it included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..array_program import Fold, Scan
from ..graph import Expr, Space, union, walk
from .dims import Dims, bits, dims_of


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
