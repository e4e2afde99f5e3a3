"""Numbers of elements on a rank: those in the whole array, of the elements of a shard.

How many elements there are, and where a shard begins, depend on all ranks. So they are arguments of the kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from ...dtypes import NUMBER, DType
from ..array_program import ArrayProgram
from ..arrays.types import of_number
from ..graph import SCALAR, Expr, Space, union, walk


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
