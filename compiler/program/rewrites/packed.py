"""Counts and quantifiers of bits, made a word at a time: 32 elements in one operation, and no bit is unpacked.

``count_nonzero`` adds the population counts of words, ``any`` asks whether a word has a one, ``all`` whether it has a
zero. What is folded may be any logical function of bits that lie alike: words take the place of bits in it, so that
``all(a == b)`` compares words. Each fold is over all dims along which bits share words.

Where the last word of a row is not full, a mask takes what no element has. It depends on the size, so that the program
serves this size alone.

Range: only ``&``, ``|``, ``^``, ``==``, ``!=`` and constants lie between the bits and the fold; all of them are packed,
along the same axes; the fold adds ones or joins truth values, and takes all of a word's bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ...dtypes import BIT, BOOL, I64, U32, DType
from ...lazy import lazy
from ..analysis.atomic import operation
from ..array_layouts import Bits, View
from ..array_program import ArrayProgram, Fold
from ..bit_arrays import WORD, words_shape
from ..graph import SCALAR, Expr, Space, rewrite, union, walk
from .one_hot import without_unread

FULL = (1 << WORD) - 1
_LOGIC = {"and": "and", "or": "or", "xor": "xor", "ne": "xor", "eq": "xor"}
"""Operations of truth values, and those of words; the last one is inverted."""


def by_words(program: ArrayProgram, sizes: Sequence[int]) -> ArrayProgram:
    """``program`` with folds of words in place of folds of bits, for dims of these sizes."""
    if not program.bits:
        return program
    for e in program.folds:
        found = _Packed(program, sizes, e)
        if found.serves:
            made = found.program_by_words()
            return by_words(made, [*sizes, found.words][: len(made.dims)])
    return program


class _Packed:
    """A fold of bits.

    Attributes:
        program, sizes: the program, and the sizes of its dims.
        fold: the fold.
        kind: what it does with truth values: ``add``, ``or``, ``and``, or nothing of these.
        value: the truth value of each element.
    """

    def __init__(self, program: ArrayProgram, sizes: Sequence[int], fold: Expr) -> None:
        self.program, self.sizes, self.fold = program, sizes, fold
        self.value, self.kind = fold.args[0], operation(self.done.monoid)
        if self.kind == "add" and self.value.op == "cast" and self.done.monoid.identity == (0,):
            self.value = self.value.args[0]

    @property
    def done(self) -> Fold:
        """What the fold does."""
        assert isinstance(self.fold.value, Fold)
        return self.fold.value

    @lazy
    def views(self) -> tuple[View, ...]:
        """The views of the bits that are folded."""
        read = [e for e in walk((self.value,)) if e.op == "input"]
        return tuple(self.program.views[e.value] for e in read)  # type: ignore[call-overload]

    def bits(self, view: View) -> Bits:
        """The bits of a view."""
        return self.program.bits[-1 - view.array]

    @lazy
    def serves(self) -> bool:
        """Whether it folds a function of bits that lie alike, over all dims along which they share words."""
        nodes = list(walk((self.value,)))
        logical = all(e.dtype in (BOOL, BIT) and e.op in (*_LOGIC, "cast", "input", "const") for e in nodes)
        unpacked = all(e.dtype == BIT for e in nodes if e.op == "input")
        whole = bool(self.views) and all(v.array < 0 for v in self.views)
        if self.kind not in ("add", "or", "and") or not (logical and unpacked and whole):
            return False
        first = self.bits(self.views[0])
        alike = {(self.bits(v).axes, self.bits(v).flat) for v in self.views} == {(first.axes, first.flat)}
        natural = tuple(d for own in first.axes for d in own or (None,))
        split = {s.array for s in self.program.splits}
        outer = () if first.flat else first.axes[:-1]
        simple = all(len(own) < 2 for own in outer) and not any(self.bits(v).array in split for v in self.views)
        over = all(self.done.over >> d & 1 for d in self.shared)
        return alike and simple and over and all(v.axes == natural for v in self.views)

    @lazy
    def shared(self) -> tuple[int, ...]:
        """The dims along which bits share words."""
        own = self.bits(self.views[0])
        return tuple(d for axis in (own.axes if own.flat else own.axes[-1:]) for d in axis)

    @lazy
    def words(self) -> int:
        """The words of a row."""
        return words_shape([self.elements], flat=True)[0]

    @property
    def elements(self) -> int:
        """The bits of a row."""
        return prod(self.sizes[d] for d in self.shared)

    def program_by_words(self) -> ArrayProgram:
        """The program with a fold of words in place of this one."""
        p, along = (
            self.program,
            {(self.bits(v).array, len(self.bits(v).axes[:-1]) * (not self.bits(v).flat)) for v in self.views},
        )
        dim = next((d for d, own in enumerate(p.dims) if along & {*own}), len(p.dims))
        outer = [] if self.bits(self.views[0]).flat else self.bits(self.views[0]).axes[:-1]
        views = [View(self.bits(v).array, (*(own[0] if own else None for own in outer), dim)) for v in self.views]
        number = {v: len(p.views) + i for i, v in enumerate(dict.fromkeys(views))}
        numbers = {p.views.index(v): number[w] for v, w in zip(self.views, views, strict=True)}
        dims = [{*own} for own in (*p.dims, ())][: max(len(p.dims), dim + 1)]
        dims[dim] |= along
        for v in number:
            for axis, d in enumerate(v.axes[:-1]):
                if d is not None:
                    dims[d] = {own for own in dims[d] if own[0] >= 0} | {(v.array, axis)}
        over = self.done.over & ~union(1 << d for d in self.shared) | 1 << dim
        made = replace(self.fold, args=(self.folded(numbers, dim),), value=Fold(self.done.monoid, over))
        old, new = (Expr("result", (e,), e.dtype, e.space, 0) for e in (self.fold, made))
        roots = rewrite(p.roots, {old.digest: new})
        outputs = tuple(o._replace(expr=e) for o, e in zip(p.outputs, roots, strict=True))
        fixed = {(*p.dims[d][0], self.sizes[d]) for d in self.shared}
        sizes = tuple(sorted({*p.sizes, *fixed}))
        return without_unread(
            replace(
                p,
                dims=tuple(tuple(sorted(own)) for own in dims),
                views=(*p.views, *number),
                outputs=outputs,
                sizes=sizes,
            )
        )

    def folded(self, numbers: Mapping[int, int], dim: int) -> Expr:
        """What is folded of each word; the words of view i are those of view ``numbers[i]``."""
        word, mask = self.word(numbers, dim), self.mask(dim)
        if self.kind == "and":
            word = word if mask is None else _op("or", word, _op("xor", mask, _constant(FULL)))
            return _op("eq", word, _constant(FULL), BOOL)
        word = word if mask is None else _op("and", word, mask)
        if self.kind == "or":
            return _op("ne", word, _constant(0), BOOL)
        return Expr("cast", (Expr("popcount", (word,), U32, word.space),), self.fold.dtype, word.space)

    def word(self, numbers: Mapping[int, int], dim: int) -> Expr:
        """The logical function of words."""
        made: dict[str, Expr] = {}
        for e in walk((self.value,)):
            args = [made[a.digest] for a in e.args]
            if e.op == "input":
                made[e.digest] = self.input(e, numbers[e.value], dim)  # type: ignore[index]
            elif e.op == "const":
                made[e.digest] = _constant(FULL if e.value else 0)
            elif e.op == "cast":
                made[e.digest] = args[0]
            else:
                found = _op(_LOGIC[e.op], args[0], args[1])
                made[e.digest] = _op("xor", found, _constant(FULL)) if e.op == "eq" else found
        return made[self.value.digest]

    def input(self, e: Expr, view: int, dim: int) -> Expr:
        """The words of a view of bits."""
        space: Space = e.space & ~union(1 << d for d in self.shared) | 1 << dim
        t = self.program.arrays[self.program.argument(self.program.views[e.value].array)]  # type: ignore[call-overload]
        found = Expr("input", (), t, space, view, e.where)
        return found if t == U32 else Expr("bitcast", (found,), U32, space, None, e.where)

    def mask(self, dim: int) -> Expr | None:
        """The bits of each word that are elements; None if all are."""
        if self.elements % WORD == 0:
            return None
        last = _constant(self.words - 1, I64)
        is_last = _op("eq", Expr("iota", (), I64, 1 << dim, (dim,)), last, BOOL)
        tail = _constant((1 << self.elements % WORD) - 1)
        return Expr("where", (is_last, tail, _constant(FULL)), U32, 1 << dim)


def _constant(value: int, t: DType = U32) -> Expr:
    return Expr("const", (), t, SCALAR, value)


def _op(op: str, a: Expr, b: Expr, t: DType = U32) -> Expr:
    """An operation of two values."""
    return Expr(op, (a, b), t, a.space | b.space)
