"""Which dims of an array program are cut into shards, and which programs can be cut so.

Numbers of elements on a rank: those in the whole array, of the elements of a shard.

How many elements there are, and where a shard begins, depend on all ranks. So they are arguments of the kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from ...dtypes import NUMBER, DType
from ...errors import WarpfoldError, error
from ..array_layouts import Output
from ..array_program import ArrayProgram, Fold, Scan
from ..arrays.types import of_number
from ..graph import SCALAR, Expr, Space, union, walk


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


class Number(NamedTuple):
    """A number that a rank passes to its kernels.

    Attributes:
        kind: ``count``: how many elements all ranks have along the dims; ``start``: how many come before those of the
            rank.
        space: the dims, of which one is cut.
        dtype: its element type.
    """

    kind: Literal["count", "start"]
    space: Space
    dtype: DType


class Places:
    """Rewrites expressions of whole arrays as those of shards.

    Attributes:
        program: the program.
        cut: the cut dims.
        first: the number of the view of the first number.
        numbers: the numbers, in the order of their views.
    """

    def __init__(self, program: ArrayProgram, cut: Space, first: int) -> None:
        self.program, self.cut, self.first = program, cut, first
        self.numbers: list[Number] = []

    def local(self, roots: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """``roots`` with numbers of elements as those in the whole arrays."""
        found: dict[str, Expr] = {}
        for e in walk(roots):
            args = tuple(found[a.digest] for a in e.args)
            found[e.digest] = self._own(e, args) or (e if args == e.args else replace(e, args=args))
        return tuple(found[r.digest] for r in roots)

    def _own(self, e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        """What takes the place of a node that looks at numbers along a cut dim."""
        if e.op == "count":
            assert isinstance(e.value, Space)
            return self._number("count", e.value, e.dtype) if e.value & self.cut else None
        if e.op == "iota":
            assert isinstance(e.value, tuple)
            return self._numbered(e) if e.space & self.cut else None
        if e.op == "eq" and args[0].dtype.is_integer:
            for k in (0, 1):
                if (number := self._plain(e.args[k])) is not None:
                    return self._compared(e, number, args[1 - k])
        return None

    def _compared(self, e: Expr, number: Expr, index: Expr) -> Expr:
        """A comparison of the number of an element: the index is made one in the shard, and so may be gathered."""
        start = self._number("start", self._dim_of(number), index.dtype)
        own = Expr("sub", (index, start), index.dtype, index.space, None, e.where)
        return Expr("eq", (number, own), e.dtype, number.space | own.space, None, e.where)

    def _dim_of(self, number: Expr) -> Space:
        while number.op == "cast":
            number = number.args[0]
        return number.space

    def _plain(self, e: Expr) -> Expr | None:
        """``e`` if it is the number along a cut dim alone, of whatever integer type."""
        own = e
        while own.op == "cast" and own.dtype.is_integer:
            own = own.args[0]
        alone = own.op == "iota" and isinstance(own.value, tuple) and len(own.value) == 1
        return e if alone and own.space & self.cut else None

    def _numbered(self, e: Expr) -> Expr:
        """The number of an element in the whole arrays: that in the shard, and how many come before."""
        dims: tuple[int, ...] = e.value  # type: ignore[assignment]
        at = next(i for i, d in enumerate(dims) if self.cut >> d & 1)
        inner, outer = dims[at:], dims[:at]
        start = self._number("start", _space(inner), e.dtype)
        found = _sum(self._iota(e, inner), start)
        if outer:
            rows = self._iota(e, outer)
            step = self._number("count", _space(inner), e.dtype)
            found = _sum(Expr("mul", (rows, step), e.dtype, rows.space, None, e.where), found)
        return found

    def _iota(self, e: Expr, dims: tuple[int, ...]) -> Expr:
        return replace(e, value=dims, space=_space(dims))

    def _number(self, kind: Literal["count", "start"], space: Space, dtype: DType) -> Expr:
        """The node that reads a number."""
        own = Number(kind, space, dtype)
        if own not in self.numbers:
            self.numbers.append(own)
        word = Expr("input", (), NUMBER, SCALAR, self.first + self.numbers.index(own))
        return of_number(word, dtype)


def _sum(a: Expr, b: Expr) -> Expr:
    return Expr("add", (a, b), a.dtype, union((a.space, b.space)), None, a.where)


def _space(dims: tuple[int, ...]) -> Space:
    return sum(1 << d for d in dims)
