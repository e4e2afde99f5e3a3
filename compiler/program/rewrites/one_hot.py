"""Sums of one element, ``sum(where(index == t, value, 0))``, read directly where ``t`` does not vary along the dim.

All other elements contribute zeros. So the sum is the value at index t, and 0 for a t that is no index; only -0.0 may
come in place of 0.0. The value is followed down to the arrays: an array becomes a view with one axis gathered, an
``iota`` becomes t, and what does not vary along the dim stays. The rest of its elementwise code is computed once for
each t, and no element but the chosen ones is read.

A value that is folded over other dims first, and a ``t`` that varies along the dim, keep the sum.

Range: a plain sum of any type over a dim along which ``iota`` numbers the elements, in an integer type of 32 bits or
more, in which no two numbers are the same; ``t`` is an integer of any type. What is added is 0 elsewhere for all values
of the arrays, NaN and infinities included, but for these in elements that are not chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite

from ...dtypes import BIT, BOOL, I64
from ...postorder import postorder
from ..analysis.atomic import operation
from ..array_layouts import View
from ..array_program import ArrayProgram, Fold
from ..graph import SCALAR, Expr, rewrite, union, walk

Swaps = dict[str, Expr]
NUMBERS = 32
"""The bits of an integer that has every number along a dim."""


def gathered(program: ArrayProgram) -> ArrayProgram:
    """``program`` with gathers in place of sums of one element."""
    while found := next(_found(program), None):
        swaps, views = found
        roots = rewrite(program.roots, swaps)
        outputs = tuple(o._replace(expr=e) for o, e in zip(program.outputs, roots, strict=True))
        program = replace(program, outputs=outputs, views=views)
    return without_unread(program)


def without_unread(program: ArrayProgram) -> ArrayProgram:
    """``program`` without the views that nothing reads."""
    inputs = {e: e.value for e in walk(program.roots) if e.op == "input" and isinstance(e.value, int)}
    read = sorted(set(inputs.values()))
    if len(read) == len(program.views):
        return program
    swaps = {e.digest: replace(e, value=read.index(number)) for e, number in inputs.items()}
    roots = rewrite(program.roots, swaps)
    outputs = tuple(o._replace(expr=e) for o, e in zip(program.outputs, roots, strict=True))
    return replace(program, outputs=outputs, views=tuple(program.views[i] for i in read))


def _found(program: ArrayProgram) -> Iterator[tuple[Swaps, tuple[View, ...]]]:
    """What takes the place of the result of each sum of one element, and the views with those that it reads."""
    for e in program.folds:
        fold = e.value
        assert isinstance(fold, Fold)
        if operation(fold.monoid) != "add" or fold.monoid.identity != (0,):
            continue
        for dim in program.dims_of(fold.over):
            picked = _Picked(program, dim)
            if (value := picked.element(e.args[0])) is None:
                continue
            if rest := fold.over & ~(1 << dim):
                over = replace(e, args=(value,), value=Fold(fold.monoid, rest))
                value = Expr("result", (over,), e.dtype, e.space, 0)
            yield {Expr("result", (e,), e.dtype, e.space, 0).digest: value}, tuple(picked.views)
            break


class _Picked:
    """Values at one index along a dim.

    Attributes:
        program: the program.
        dim: the dim.
        views: the views of the program, then those that gather.
    """

    def __init__(self, program: ArrayProgram, dim: int) -> None:
        self.program, self.dim, self.views = program, dim, list(program.views)

    def element(self, e: Expr) -> Expr | None:
        """The one element of ``e`` along the dim that is not 0 by a comparison with the number; None if there is none.

        The comparison may stand below functions that keep 0, and below masks.
        """
        outer: list[Expr] = []
        while (index := self._index(e)) is None:
            if not _leaves_zeros(e):
                return None
            outer.append(e)
            e = e.args[1] if e.op == "where" else e.args[0]
        value = self._at(e.args[1], index)
        if value is not None and not _keeps_zero(value):
            value = _made("where", (self._exists(index), value, e.args[2]), value)
        for around in reversed(outer):
            mask = self._at(around.args[0], index) if around.op == "where" else None
            if value is None or (around.op == "where" and mask is None):
                return None
            args = (value, *around.args[1:]) if mask is None else (mask, value, around.args[2])
            value = _made(around.op, args, around)
        return value

    def _index(self, e: Expr) -> Expr | None:
        """The index of the one element that is not 0: what the numbers along the dim, which vary, are compared with."""
        test = e.args[0] if e.op == "where" and _is_zero(e.args[2]) else e
        for number, index in (test.args, test.args[::-1]) if test is not e and test.op == "eq" else ():
            while number.op == "cast" and number.dtype.is_integer and number.dtype.bits >= NUMBERS:
                number = number.args[0]
            numbers = number.op == "iota" and number.value == (self.dim,)
            if numbers and index.dtype.is_integer and not self._varies(index):
                return index if index.dtype == I64 else _made("cast", (index,), index, I64)
        return None

    def _varies(self, e: Expr) -> bool:
        return bool(e.space >> self.dim & 1)

    def _exists(self, index: Expr) -> Expr:
        """Whether there is an element with this index."""
        zero = Expr("const", (), I64, SCALAR, 0)
        count = Expr("count", (), I64, SCALAR, 1 << self.dim)
        tests = _made("ge", (index, zero), index, BOOL), _made("lt", (index, count), index, BOOL)
        return _made("and", tests, index, BOOL)

    def _at(self, root: Expr, index: Expr) -> Expr | None:
        """``root`` at ``index`` along the dim; None if it cannot be gathered."""
        made: Swaps = {}
        for e in postorder((root,), lambda e: e.args if self._varies(e) and e.op != "result" else ()):
            found = self._own(e, index, [made[a.digest] for a in e.args if a.digest in made]) if self._varies(e) else e
            if found is None:
                return None
            made[e.digest] = found
        return made[root.digest]

    def _own(self, e: Expr, index: Expr, args: Sequence[Expr]) -> Expr | None:
        """A node that varies along the dim at ``index``; ``args`` are its operands there."""
        if e.op == "input":
            return self._input(e, index)
        if e.op == "iota":
            return _made("cast", (index,), e) if e.value == (self.dim,) else None
        if e.op == "result" or (e.op == "gather" and self._varies(e.args[0])):
            return None
        return _made(e.op, tuple(args), e)

    def _input(self, e: Expr, index: Expr) -> Expr | None:
        """An element of an array, of a view with one axis gathered; None for a diagonal."""
        assert isinstance(e.value, int)
        view = self.views[e.value]
        if e.dtype == BIT or view.axes.count(self.dim) != 1:
            return None
        axis = view.axes.index(self.dim)
        axes = tuple(None if d == self.dim else d for d in view.axes)
        own = View(view.array, axes, axis)
        if own not in self.views:
            self.views.append(own)
        source = Expr("input", (), e.dtype, e.space & ~(1 << self.dim), self.views.index(own), e.where)
        return Expr("gather", (source, index), e.dtype, source.space | index.space, None, e.where)


def _made(op: str, args: tuple[Expr, ...], like: Expr, dtype: object = None) -> Expr:
    """An elementwise node of ``args`` with the type and the place of another one, or with a type of its own."""
    value = like.value if op == like.op else None
    return Expr(op, args, dtype or like.dtype, union(a.space for a in args), value, like.where)  # type: ignore[arg-type]


def _is_zero(e: Expr) -> bool:
    return e.op == "const" and e.value == 0


def _leaves_zeros(e: Expr) -> bool:
    """Whether ``e`` is 0 wherever its value, its second operand behind a mask and else its first one, is."""
    if e.op == "where":
        return _is_zero(e.args[2])
    return e.op == "cast" or (e.op == "ne" and _is_zero(e.args[1]))


def _keeps_zero(e: Expr) -> bool:
    """Whether a value is 0 wherever the array elements that it gathers are: as a gather is beside the axis."""
    while e.op in ("cast", "abs", "tanh", "mul"):
        if e.op == "mul" and not (e.args[1].op == "const" and isfinite(e.args[1].value) and e.args[1].value >= 0):  # type: ignore[arg-type,operator]
            return False
        e = e.args[0]
    return e.op == "gather"
