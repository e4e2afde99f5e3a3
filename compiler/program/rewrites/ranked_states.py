"""The states of ``argmin`` and ``argmax`` from folds of words, which have an element's rank above its number.

A state has the element and its position in 64 bits, as two values. A part of fewer than 2^31 elements need not fold
both: the word of ``library/extremes.py`` gives both when the fold is over. Of floats it has one zero and one NaN, as
sums with zero have. So results may show such sums; other floats are only compared with each other.

Range: the state has the element, of at most 32 bits, and behind it its own number in 64 bits, of which nothing was
computed; no other value of the state depends on both; a mask is the same for both and gives the identity elsewhere.

Programs that number their elements only to break ties, as ``argmin`` and ``argmax`` do.

If an element is repeated, its first number is the answer. So dims along which no input moves need not be walked
(``planner/repeats.py``): the elements at their index 0 have the lowest numbers.

Range of these: a number stands behind an element in a pair that ``ARGMIN`` or ``ARGMAX`` combines, or below it in a
word whose least counts, with room for the numbers of all elements; neither the element, nor a mask, nor another value
of the state depends on it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from ...dtypes import F32, I32, I64, DType
from ..analysis.proofs import operation_of
from ..functions import where
from ..graph import KEPT, SCALAR, Expr, MonoidGraph, Program, rewrite, walk
from ..library.extremes import RANKED, of_word, word
from ..library.monoids import ARGMAX, ARGMIN
from ..monoid import Monoid
from ..symbols import Sym
from ..values import cast


def only_breaks_ties(program: Program, count: int) -> bool:
    """Whether, among equal elements of a result of ``count`` elements, only the lowest number matters."""
    (reduce,) = program.reduces
    monoid = program.monoid
    groups = [_group(monoid, reduce.args, i, count) for i, e in enumerate(reduce.args) if _is_numbered(e)]
    return all(group and _is_apart(monoid, group) for group in groups)


def _group(monoid: MonoidGraph, args: tuple[Expr, ...], i: int, count: int) -> tuple[int, ...]:
    """The values of the state that value ``i``, made with a number, belongs to; empty if the number may do more."""
    e = args[i]
    while e.op == "where" and e.args[2].op == "const" and not _is_numbered(e.args[0]):  # outside a mask
        e = e.args[1]
    if operation_of(monoid, i) == "min":
        return (i,) if count <= 1 << _bits(e) else ()
    if i and not _is_numbered(args[i - 1]) and _is_number(e) and takes_the_first(*_pair(monoid, i - 1)):
        return i - 1, i
    return ()


def _bits(word: Expr) -> int:
    """How many low bits of an integer hold an element's number and nothing else; 0 if none do."""
    if word.op == "xor" and word.args[1].op == "const":
        found, turned = _bits(word.args[0]), word.args[1].value
        return found if isinstance(turned, int) and turned % (1 << found) == 0 else 0
    if word.op != "or" or _is_numbered(word.args[0]) or not _is_number(word.args[1]):
        return 0
    above = word.args[0]
    amount = above.args[1].value if len(above.args) == 2 and above.args[1].op == "const" else None
    if not isinstance(amount, int):
        return 0
    if above.op == "shl":
        return amount
    return (amount & -amount).bit_length() - 1 if above.op == "and" and amount else 0


def _is_number(e: Expr) -> bool:
    """Whether ``e`` is the number of an element, in whatever integer type holds it."""
    while e.op in ("cast", "bitcast") and e.dtype.is_integer and e.dtype.bits >= e.args[0].dtype.bits:
        e = e.args[0]
    return e.op == "iota"


def _is_numbered(e: Expr) -> bool:
    return any(x.op == "iota" for x in walk((e,)))


def _pair(monoid: MonoidGraph, first: int) -> tuple[list[str], tuple[DType, ...]]:
    """Digests of the combine of a value and the next one, as if they were the whole state; and their types."""
    types, n = monoid.state[first : first + 2], len(monoid.state)
    places = {first: 0, first + 1: 1, n + first: 2, n + first + 1: 3}
    own = monoid.combine[first : first + 2]
    swapped = {
        e.digest: Expr(e.op, e.args, e.dtype, e.space, places[e.value], e.where)
        for e in walk(own)
        if e.op == "param" and e.value in places
    }
    return [e.digest for e in rewrite(own, swapped)], types


def _is_apart(monoid: MonoidGraph, group: tuple[int, ...]) -> bool:
    """Whether no other value of the state depends on these."""
    n = len(monoid.state)
    own = {*group, *(n + i for i in group)}
    others = tuple(e for i, e in enumerate(monoid.combine) if i not in group)
    return not any(e.op == "param" and e.value in own for e in walk(others))


def takes_the_first(combine: list[str], state: tuple[DType, ...]) -> bool:
    """Whether these digests are those of ``argmin`` or ``argmax``, which prefer the lowest number among equals."""
    return _extreme(combine, state) is not None


def extreme_at(monoid: MonoidGraph, first: int) -> Monoid | None:
    """ARGMIN or ARGMAX, if it combines values ``first`` and ``first + 1`` of the state, which no other depends on."""
    found = _extreme(*_pair(monoid, first))
    return found if found and _is_apart(monoid, (first, first + 1)) else None


def _extreme(combine: list[str], state: tuple[DType, ...]) -> Monoid | None:
    """ARGMIN or ARGMAX, if these digests are those of its combine."""
    return next((m for m in (ARGMIN, ARGMAX) if len(state) == 2 and combine == _digests(m, state)), None)


@lru_cache(maxsize=64)
def _digests(which: Monoid, state: tuple[DType, ...]) -> list[str]:
    return [e.digest for e in which.typed(*state).combine]


_NONE = I64.highest
"""The word of no element."""


class _Pair(NamedTuple):
    """An element and its number, the values ``first`` and ``first + 1`` of a state.

    Attributes:
        first: the place of the element.
        falls: whether ranks fall with elements.
        element, number: what is folded of them, where ``mask``.
        mask: which elements take part; None for all.
    """

    first: int
    falls: bool
    element: Expr
    number: Expr
    mask: Expr | None

    @property
    def word(self) -> Expr:
        """What takes their place."""
        found = word(Sym(self.element), Sym(replace(self.number, dtype=I32)), self.falls)
        return (found if self.mask is None else where(Sym(self.mask), found, _NONE)).expr


@dataclass(frozen=True)
class Ranked:
    """A fold with words in place of pairs.

    Attributes:
        fold: the fold.
        before: the monoid before that.
        pairs: the pairs, by the places of their words in the new state.
    """

    fold: Expr
    before: MonoidGraph
    pairs: Mapping[int, _Pair]

    def values(self, fold: Expr) -> list[Sym]:
        """The values of the state before, which ``fold`` leaves: this one, whose other values may be numbered anew."""
        found: list[Sym] = []
        for place, arg in enumerate(fold.args):
            value = Sym(Expr("result", (fold,), arg.dtype, KEPT, place))
            pair = self.pairs.get(place)
            found += [value] if pair is None else self._pair(pair, value)
        return found

    def _pair(self, pair: _Pair, best: Sym) -> list[Sym]:
        t = self.before.state[pair.first]
        element, number = of_word(best, t, pair.falls)
        found = [cast(element, t), number]
        if pair.mask is None:
            return found
        identity = self.before.identity[pair.first : pair.first + 2]
        return [where(best == _NONE, e, v) for e, v in zip(identity, found, strict=True)]


def ranked(fold: Expr, shown: Collection[int]) -> Ranked:
    """``fold``, whose results show the values ``shown`` of its state, with words where it has pairs."""
    graph = fold.value
    assert isinstance(graph, MonoidGraph)
    pairs = {i: pair for i in range(len(fold.args) - 1) if (pair := _pair_at(fold, graph, i, shown))}
    own = [i for i in range(len(fold.args)) if i - 1 not in pairs]
    made = replace(
        graph,
        state=tuple(I64 if i in pairs else graph.state[i] for i in own),
        identity=tuple(_NONE if i in pairs else graph.identity[i] for i in own),
        combine=_combine(graph, own, pairs),
    )
    args = tuple(pairs[i].word if i in pairs else fold.args[i] for i in own)
    taken = replace(fold, args=args, dtype=args[0].dtype, value=made) if pairs else fold
    return Ranked(taken, graph, {own.index(i): pair for i, pair in pairs.items()})


def _pair_at(fold: Expr, graph: MonoidGraph, first: int, shown: Collection[int]) -> _Pair | None:
    """The pair that begins at a place of the state; None where none does, or results show floats that words change."""
    t, found = graph.state[first], extreme_at(graph, first)
    if found is None or t.bits > F32.bits or graph.state[first + 1] != I64 or (t.is_float and t != F32):
        return None
    (element, number), mask = fold.args[first : first + 2], None
    if number.op == "where" and element.op == "where" and number.args[0].digest == element.args[0].digest:
        identity = [a.args[2].value for a in (element, number)]
        if identity != [*graph.identity[first : first + 2]]:
            return None
        mask, element, number = number.args[0], element.args[1], number.args[1]
    alike = element.op == "add" and element.args[1].op == "const" and element.args[1].value == 0
    if number.op != "iota" or (t.is_float and first in shown and not alike):
        return None
    return _Pair(first, found is ARGMAX, element.args[0] if t.is_float and alike else element, number, mask)


def _combine(graph: MonoidGraph, own: list[int], pairs: Collection[int]) -> tuple[Expr, ...]:
    """The combine of the values ``own`` of a state, in which those of ``pairs`` are words."""
    n, m = len(graph.state), len(own)
    moved = {
        _param(graph.state[i], side * n + i).digest: _param(graph.state[i], side * m + place)
        for place, i in enumerate(own)
        for side in (0, 1)
    }
    (least,) = RANKED.typed(I64).combine
    words = [{_param(I64, side).digest: _param(I64, side * m + place) for side in (0, 1)} for place in range(m)]
    return tuple(
        rewrite((least,), words[place])[0] if i in pairs else rewrite((graph.combine[i],), moved)[0]
        for place, i in enumerate(own)
    )


def _param(t: DType, number: int) -> Expr:
    return Expr("param", (), t, SCALAR, number)
