"""Folds and scans of values over dims, where no array with axes is at hand."""

from __future__ import annotations

from collections.abc import Sequence

from ..array_program import Fold, Scan
from ..graph import Expr, MonoidGraph, Space, union
from ..symbols import Sym


def folded(graph: MonoidGraph, values: Sequence[Sym], over: Space) -> list[Sym]:
    """The state that values fold to, in any order.

    Args:
        graph: the monoid.
        values: one for each value of its state.
        over: the dims that it takes away.
    """
    exprs = tuple(v.expr for v in values)
    space = union(e.space for e in exprs) & ~over
    made = Expr("fold", exprs, exprs[0].dtype, space, Fold(graph, over), exprs[0].where)
    return [Sym(Expr("result", (made,), e.dtype, space, i)) for i, e in enumerate(exprs)]


def scanned(how: Scan, values: Sequence[Sym]) -> list[Sym]:
    """The state at every element of ``values``, which are one for each value of the state."""
    exprs = tuple(v.expr for v in values)
    space = union(e.space for e in exprs) | how.over
    made = Expr("scan", exprs, exprs[0].dtype, space, how, exprs[0].where)
    return [Sym(Expr("result", (made,), e.dtype, space, i)) for i, e in enumerate(exprs)]
