"""The dims and views of a finished tracing under their final numbers: those that the results use, in order."""

from __future__ import annotations

from collections.abc import Sequence

from ..array_program import Fold, View
from ..graph import Expr, walk
from .dims import Axes, Dims, bits, dims_of
from .renaming import rebuilt, space_of


class Numbered:
    """The results of a tracing with the final numbers of dims and views.

    Attributes:
        exprs: the expressions of the results.
        members: for each dim the (array, axis) pairs that have its size.
        views: the views that the results read.
        looked_at: as ``ArrayProgram.sizes``.
        most: as ``ArrayProgram.most``.
    """

    def __init__(self, exprs: Sequence[Expr], results: Sequence[Axes], dims: Dims) -> None:
        nodes = list(walk(tuple(exprs)))
        self._dims = dims
        used = [d for e in nodes for d in dims_of(space_of(e))] + [d for axes in results for d in axes if d is not None]
        order = sorted({dims.find(d) for d in used})
        self._numbers = {d: i for i, d in enumerate(order)}
        to = Dims(dims.names)
        for d in order:
            to.new(dims.sizes[d], dims.members[d])
        read = {dims.views[e.value] for e in nodes if e.op == "input"}  # type: ignore[call-overload]
        for array, axes in sorted(((a, self.axes(v)) for a, v in read), key=repr):
            to.view(array, axes)
        self.exprs = [rebuilt(e, self._numbers, dims, to) for e in exprs]
        self.views = tuple(View(*v) for v in to.views)
        self.members = tuple(self._members(d) for d in order)
        self.looked_at = tuple(sorted({(*dims.members[dims.find(d)], dims.sizes[d]) for d in dims.looked_at}))
        folded = {e.value.over for root in self.exprs for e in walk((root,)) if isinstance(e.value, Fold)}
        bounds = {(bits(self._numbers.get(dims.find(d)) for d in dims_of(s)), n) for s, n in dims.most}
        self.most = tuple(sorted(b for b in bounds if b[0] in folded))

    def axes(self, axes: Axes) -> Axes:
        """Axes by the numbers of their dims."""
        return tuple(None if d is None else self._numbers[self._dims.find(d)] for d in axes)

    def _members(self, dim: int) -> tuple[tuple[int, int], ...]:
        """The (array, axis) pairs of a dim: those that became it, and those that a view reads along it."""
        dims = self._dims
        own = {dims.members[d] for d in range(len(dims.sizes)) if dims.find(d) == dim}
        number = self._numbers[dim]
        return tuple(sorted(own | {(v.array, i) for v in self.views for i, d in enumerate(v.axes) if d == number}))
