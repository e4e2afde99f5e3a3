"""Arrays by which a gradient is taken: a node marks where one is read, and from which of its elements.

A value that is read along other dims, as in ``x + x.T``, or of which a slice is read, has a node for each way.

Folds and scans of values over dims, where no array with axes is at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import NamedTuple

from ...dtypes import I64
from ..array_program import Fold, Scan
from ..functions import where
from ..graph import Expr, MonoidGraph, Space, union
from ..library.monoids import SUM
from ..symbols import Sym, constant
from .dims import Axes, Dims, bits
from .sym_array import SymArray


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


Names = Callable[[Iterable[int | None]], tuple[int, ...]]
"""New names for the parts of some dims."""


class Cut(NamedTuple):
    """A slice along one axis.

    Attributes:
        parts: the dims of the whole axis, outermost first.
        to: the dim of the slice; None for one element.
        start, step: the first element and the distance of neighbours.
    """

    parts: tuple[int, ...]
    to: int | None
    start: int
    step: int


class Variable(NamedTuple):
    """What a ``variable`` node is: its argument is the value.

    Attributes:
        number: which variable.
        axes: the axes of the array that is read, before it is sliced.
        cuts: the slices, in order. The dims of a whole axis are used nowhere else.
    """

    number: int
    axes: Axes
    cuts: tuple[Cut, ...] = ()

    def named(self, name: Callable[[int | None], int | None], each: Names) -> Variable:
        """The variable with other names for dims."""
        cuts = tuple(c._replace(parts=each(c.parts), to=name(c.to)) for c in self.cuts)
        return self._replace(axes=tuple(name(d) for d in self.axes), cuts=cuts)

    def sliced(self, dims: Dims, parts: tuple[int, ...], by: slice, to: int | None) -> Variable:
        """The variable of which a slice along the dims ``parts`` is read."""
        fresh = {p: dims.copy(p) for p in parts}
        own = self.named(
            lambda d: dims.join(tuple(fresh.get(p, p) for p in dims.parts(d))),
            lambda found: tuple(fresh.get(p, p) for p in dims.parts_of(tuple(found))),
        )
        start, _, step = by.indices(prod(dims.sizes[p] for p in parts))
        if (by.start or 0) < 0 or step < 0:
            dims.looked_at.update(parts)
        return own._replace(cuts=(*own.cuts, Cut(tuple(fresh.values()), to, start, step)))

    def spread(self, gradient: Sym, dims: Dims) -> SymArray:
        """The gradient of all elements, of which those beside a slice have none."""
        for cut in reversed(self.cuts):
            gradient = _spread(gradient, cut, dims)
        return SymArray(gradient.expr, self.axes, dims)


def variable(x: SymArray, number: int) -> SymArray:
    """``x`` as the variable ``number``."""
    space = x.dims.space(x.expr.space) | bits(x.dims.parts_of(x.axes))
    e = Expr("variable", (x.expr,), x.expr.dtype, space, Variable(number, x.axes), x.expr.where)
    return SymArray(e, x.axes, x.dims, x.dtype).sharing(x)


def _spread(gradient: Sym, cut: Cut, dims: Dims) -> Sym:
    """The gradient of a whole axis: at each element that of the place in the slice, read as a sum of one element."""
    at = _numbers(cut.parts) - constant(cut.start, I64)
    if cut.to is None:
        return where(at == 0, gradient, 0.0)
    place = where(at % cut.step == 0, at // cut.step, -1) if cut.step != 1 else at
    chosen = where(_numbers((cut.to,)) == place, gradient, 0.0)
    dims.vary(chosen.expr.space)
    (found,) = folded(SUM.typed(chosen.dtype), [chosen], bits((cut.to,)))
    return found


def _numbers(of: tuple[int, ...]) -> Sym:
    """The numbers of the elements along dims."""
    return Sym(Expr("iota", (), I64, bits(of), of))
