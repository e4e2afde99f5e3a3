"""Which dims of an array program are cut into shards, and which programs can be cut so."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import WarpfoldError, error
from ..array_layouts import Output
from ..array_program import ArrayProgram, Fold, Scan
from ..graph import Expr, Space, union, walk


class Lying(NamedTuple):
    """How the shards of a result lie.

    Attributes:
        axis: the axis of the result.
        dims: the dims along which that lies, outermost first; the first of them is cut.
    """

    axis: int
    dims: tuple[int, ...]


class CutDims(NamedTuple):
    """The cut dims of a program.

    Attributes:
        program: the program.
        pairs: the (array, axis) that are cut.
        space: the dims, as bits.
    """

    program: ArrayProgram
    pairs: frozenset[tuple[int, int]]
    space: Space

    @classmethod
    def of(cls, program: ArrayProgram, axes: tuple[int | None, ...]) -> CutDims:
        """Those along which arrays lie that are cut along ``axes``; None for an array that every rank has.

        Raises:
            ArgumentError: WF173 for axes that are read as several, in part, or as bits, and for an array that every
                rank has in whole, along an axis of which others have shards.
        """
        for own in program.slices:
            axis = axes[program.argument(own.array)]
            if axis is not None and (not 0 <= own.array < len(axes) or own.axis == axis):
                raise _refused(program, f"it reads a part of axis {own.axis}, along which shards lie")
        if any(axes[program.argument(b.array)] is not None for b in program.bits):
            raise _refused(program, "it reads bits of an array that is cut")
        pairs = frozenset((i, _apart(program, i, a)) for i, a in enumerate(axes) if a is not None)
        cut = [d for d, members in enumerate(program.dims) if not pairs.isdisjoint(members)]
        for d in cut:
            whole = (m for m in program.dims[d] if 0 <= m[0] < len(axes) and m not in pairs)
            if other := next(whole, None):
                problem = f"array {other[0]} is whole along axis {other[1]}, where others have shards"
                raise _refused(program, problem)
            read = [array for array, _ in program.dims[d]]
            if len({*read}) < len(read):  # a slice, too, of which the axes are no others than those of its array
                raise _refused(program, "two axes of an array are one, of which one has shards")
        return cls(program, pairs, sum(1 << d for d in cut))

    def dim_of(self, array: int) -> int | None:
        """The dim along which shards of an array lie; None for an array that every rank has."""
        own = {pair for pair in self.pairs if pair[0] == array}
        return next((d for d, members in enumerate(self.program.dims) if not own.isdisjoint(members)), None)

    def is_cut(self, array: int, axis: int) -> bool:
        """Whether an axis of an array is cut."""
        return any((array, axis) in pairs for d, pairs in enumerate(self.program.dims) if self.space >> d & 1)

    def meets(self, fold: Expr) -> bool:
        """Whether a fold goes over elements of several ranks."""
        assert isinstance(fold.value, Fold)
        return bool(fold.value.over & self.space)

    def check(self, program: ArrayProgram) -> None:
        """Checks the nodes of the program, with joined folds.

        Raises:
            ArgumentError: WF173 for a scan along a cut dim, for values that vary along two cut dims, and for folds
                whose order shards do not keep.
        """
        for e in walk(program.roots):
            over = e.value.over if isinstance(e.value, Fold | Scan) else 0
            counted = e.value if e.op == "count" and isinstance(e.value, int) else 0
            own = union((e.space, over, counted, *(a.space for a in e.args))) & self.space
            if own & (own - 1):
                raise _refused(program, "a value lies along two axes that are cut")
            if isinstance(e.value, Scan) and over & self.space:
                raise _refused(program, "a scan goes along the axis that is cut")
            if isinstance(e.value, Fold) and over & self.space and e.value.order and not self._leads(e.value.order):
                name = e.value.monoid.name.lower()
                raise _refused(program, f"{name} takes elements in an order in which shards do not follow each other")

    def _leads(self, order: tuple[int, ...]) -> bool:
        return bool(self.space >> order[0] & 1)

    def lying(self, output: Output) -> Lying | None:
        """How the shards of a result lie; None for one that every rank has.

        Raises:
            ArgumentError: WF173 for a result whose shards do not follow each other along an axis.
        """
        begin = 0
        for axis, count in enumerate(output.joined or (1,) * len(output.axes)):
            own = output.axes[begin : begin + count]
            places = [i for i, d in enumerate(own) if d is not None and self.space >> d & 1]
            if places:
                if places[0] or output.words:
                    raise _refused(self.program, "shards of a result do not follow each other along an axis of it")
                return Lying(axis, tuple(d for d in own if d is not None))
            begin += count
        return None


def _apart(program: ArrayProgram, array: int, axis: int) -> int:
    """The number of an axis of an array behind those that are read as several; WF173 where it is such a one."""
    own = [s for s in program.splits if s.array == array]
    if any(s.axis == axis for s in own):
        raise _refused(program, f"it reads axis {axis} of array {array}, along which shards lie, as several")
    return axis + sum(len(s.sizes) - 1 for s in own if s.axis < axis)


def _refused(program: ArrayProgram, problem: str) -> WarpfoldError:
    return error("WF173", name=program.name, problem=problem, where=program.where)
