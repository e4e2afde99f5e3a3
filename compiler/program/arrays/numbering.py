"""The dims and views of a finished tracing under their final numbers: those that the results use, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..array_layouts import Bits, Split, View
from ..array_program import Fold, Scan
from ..graph import Expr, walk
from .dims import Axes, Dims, bits, dims_of
from .renaming import rebuilt, space_of


class Numbered:
    """The results of a tracing with the final numbers of dims and views.

    Attributes:
        exprs: the expressions of the results.
        members: for each dim the (array, axis) pairs that have its size.
        views: the views that the results read.
        bits: as ``ArrayProgram.bits``.
        looked_at: as ``ArrayProgram.sizes``.
        most: as ``ArrayProgram.most``.
        splits: as ``ArrayProgram.splits``.
    """

    def __init__(self, exprs: Sequence[Expr], results: Sequence[Axes], dims: Dims) -> None:
        nodes = list(walk(tuple(exprs)))
        read = {dims.views[e.value] for e in nodes if e.op == "input"}  # type: ignore[call-overload]
        _split_alike(dims, read)
        self._dims = dims
        used = {p for e in nodes for p in dims_of(dims.space(space_of(e)))}
        used |= {p for axes in (*results, *(own for _, own, _ in dims.bits)) for d in axes for p in dims.parts(d)}
        order = sorted(used, key=dims.place)
        self._numbers = {d: i for i, d in enumerate(order)}
        to = Dims(dims.names)
        for d in order:
            to.new(dims.sizes[d], dims.members[d])
        for array, axes in sorted(((a, self._joined(v, to)) for a, v in read), key=repr):
            to.view(array, axes)
        self.exprs = [rebuilt(e, self._numbers, dims, to) for e in exprs]
        self.views = tuple(View(array, _apart(axes, to)) for array, axes in to.views)
        self.splits = tuple(
            Split(array, axis, tuple(dims.sizes[p] if p in dims.fixed else 0 for p in parts))
            for array, axes in enumerate(dims.arrays)
            for axis, d in enumerate(axes)
            if len(parts := dims.parts(d)) > 1
        )
        members = self._members()
        self.members = tuple(tuple(sorted(members[d])) for d in order)
        fixed = {p: dims.sizes[d] for p, d in enumerate(order) if all(map(self._is_of_bits, members[d]))}
        self.bits = tuple(self._bits(*own, fixed) for own in dims.bits)
        self.looked_at = self._looked_at(members)
        folded = {e.value.over for root in self.exprs for e in walk((root,)) if isinstance(e.value, Fold | Scan)}
        bounds = {(bits(self._numbers.get(p) for p in dims_of(dims.space(s))), n) for s, n in dims.most}
        self.most = tuple(sorted(b for b in bounds if b[0] in folded))

    def axes(self, axes: Axes) -> Axes:
        """Axes by the numbers of their dims; an axis along several dims as that many."""
        return tuple(None if p is None else self._numbers[p] for p in _apart(axes, self._dims))

    def _bits(self, array: int, axes: Axes, flat: bool, fixed: Mapping[int, int]) -> Bits:
        """An array that is read as bits; ``fixed`` are the dims of constant sizes."""
        own = tuple(tuple(self._numbers[p] for p in self._dims.parts(d)) for d in axes)
        return Bits(array, own, tuple((p, fixed[p]) for each in own for p in each if p in fixed), flat)

    def _joined(self, axes: Axes, to: Dims) -> Axes:
        """Axes by their final dims."""
        return tuple(to.join(tuple(self._numbers[p] for p in self._dims.parts(d))) for d in axes)

    def _members(self) -> dict[int, set[tuple[int, int]]]:
        """The (array, axis) pairs of each dim: the axes that lie along it, in some view."""
        found: dict[int, set[tuple[int, int]]] = {}
        for array, axes in enumerate(self._dims.arrays):
            for axis, p in enumerate(_apart(axes, self._dims)):
                if p is not None:
                    found.setdefault(p, set()).add((array, axis))
        for copy, original in self._dims.originals.items():
            for c, p in zip(self._dims.parts(copy), self._dims.parts(original), strict=False):
                found.setdefault(c, set()).update(found.get(p, ()))
        dims = {number: d for d, number in self._numbers.items()}
        for view in self.views:
            for axis, n in enumerate(view.axes):
                if n is not None and view.array >= 0:
                    found.setdefault(dims[n], set()).add((view.array, axis))
        for i, (_, own, _) in enumerate(self._dims.bits):
            for axis, p in enumerate(_apart(own, self._dims)):
                if p is not None and all(map(self._is_of_bits, found.get(p, ()))):
                    found.setdefault(p, set()).add((-1 - i, axis))
        return found

    def _is_of_bits(self, member: tuple[int, int]) -> bool:
        """Whether an (array, axis) pair is one of truth values that lie as bits, or of a slice of these."""
        array, first = member[0], len(self._dims.arrays) - len(self._dims.slices)
        while array >= first:
            array = self._dims.slices[array - first].array
        return array < 0

    def _looked_at(self, members: dict[int, set[tuple[int, int]]]) -> tuple[tuple[int, int, int], ...]:
        """One (array, axis) of each dim whose size is a constant, and the size."""
        dims = self._dims
        known = {p for d in dims.looked_at for p in dims.parts(d)}
        own = {p: min(members[p]) for p in known if p in members}
        return tuple(sorted((*pair, dims.sizes[p]) for p, pair in own.items()))


def _split_alike(dims: Dims, read: set[tuple[int, Axes]]) -> None:
    """Splits the dims along which an axis lies, in all ways in which its array is read, into the same parts."""
    parts = -1
    while parts != (parts := sum(len(dims.parts(d)) for _, axes in read for d in axes)):
        for array, axes in read:
            for own, d in zip(dims.axes_of(array), axes, strict=True):
                if own is not None and d is not None:
                    dims.split_alike(own, d)


def _apart(axes: Axes, dims: Dims) -> Axes:
    """Axes with one entry per dim in place of one for several."""
    return tuple(p for d in axes for p in (dims.parts(d) or (None,)))
