"""Words in place of pairs: a fold that is declared to find the first of elements takes the least of their words.

A state has an element and its number, as two values. Fewer than 2^31 elements need not be folded so: a word of both
gives both when the fold is over. Of floats it has one zero and one NaN, as sums with zero have. So results may show
such sums; other floats are only compared with each other. Words of narrow elements have 32 bits while numbers fit.

Range: the number is the position of the element, in 32 or 64 bits, and the element has 32 bits or fewer. Both may be
those of the identity outside a mask. Narrow are the words of one fold of one word that is not masked.

Programs that number their elements only to break ties, as ``argmin`` and ``argmax`` do: if an element is repeated, its
first number is the answer. So dims along which no input moves need not be walked (``planner/repeats.py``): the elements
at their index 0 have the lowest numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...dtypes import BOOL, F32, I32, I64, U8, DType, compute
from ..functions import where
from ..graph import KEPT, SCALAR, Expr, MonoidGraph, Program, rewrite, walk
from ..library.extremes import RANKED
from ..structure import First
from ..symbols import Sym
from ..values import cast
from ..words import WIDE, narrow, of_word, ordered, widened, word, word_bits

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
        found = word(ordered(Sym(self.element)), Sym(replace(self.number, dtype=I32)), self.falls)
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
        t, of_number = self.before.state[pair.first : pair.first + 2]
        element, number = of_word(best, U8 if t == BOOL else compute(t), pair.falls)
        found = [cast(element, t), cast(number, of_number)]
        if pair.mask is None and not self.before.has_identity:
            return found
        identity = self.before.identity[pair.first : pair.first + 2]
        return [where(best == _NONE, e, v) for e, v in zip(identity, found, strict=True)]


def with_words(program: Program) -> Program:
    """``program``, of fewer than 2^31 elements if it numbers them in 32 bits, with words where it folds pairs."""
    (fold,) = program.reduces
    if not any(program.monoid.state[place + 1] == I32 for place, _ in program.monoid.structure):
        return program
    shown = [e.value for e in walk(program.outputs) if e.op == "result" and e.args[0].digest == fold.digest]
    made = ranked(fold, shown)  # type: ignore[arg-type]
    before = (Expr("result", (fold,), a.dtype, KEPT, i).digest for i, a in enumerate(fold.args))
    values = dict(zip(before, (v.expr for v in made.values(made.fold)), strict=True))
    return replace(program, outputs=rewrite(program.outputs, values)) if made.pairs else program


def with_narrow_words(program: Program) -> tuple[Program, int] | None:
    """``program`` with narrow words, and the most elements a result may then have; None if it has no such words."""
    (reduce,) = program.reduces
    word = narrow(reduce.args[0])
    if word is None or len(reduce.args) > 1:
        return None
    graph = replace(program.monoid, state=(I32,), combine=RANKED.typed(I32).combine, identity=(I32.highest,))
    least = Sym(Expr("result", (Expr("reduce", (word,), I32, KEPT, graph, reduce.where),), I32, KEPT, 0))
    old = Expr("result", (reduce,), I64, KEPT, 0)
    outputs = rewrite(program.outputs, {old.digest: widened(least, word).expr})
    return replace(program, outputs=outputs), 1 << WIDE - word_bits(word)


def ranked(fold: Expr, shown: Collection[int]) -> Ranked:
    """``fold``, whose results show the values ``shown`` of its state, with words where it has pairs."""
    graph = fold.value
    assert isinstance(graph, MonoidGraph)
    pairs = {i: pair for i, first in graph.structure if (pair := _pair_at(fold, graph, i, first, shown))}
    own = [i for i in range(len(fold.args)) if i - 1 not in pairs]
    made = replace(
        graph,
        state=tuple(I64 if i in pairs else graph.state[i] for i in own),
        identity=tuple(_NONE if i in pairs else graph.identity[i] for i in own),
        combine=_combine(graph, own, pairs),
        structure=tuple((own.index(i), first) for i, first in graph.structure if i not in pairs),
    )
    args = tuple(pairs[i].word if i in pairs else fold.args[i] for i in own)
    taken = replace(fold, args=args, dtype=args[0].dtype, value=made) if pairs else fold
    return Ranked(taken, graph, {own.index(i): pair for i, pair in pairs.items()})


def _pair_at(fold: Expr, graph: MonoidGraph, first: int, how: First, shown: Collection[int]) -> _Pair | None:
    """The pair that begins at a place of the state; None where no word holds it, or results show floats it changes."""
    t = graph.state[first]
    if t.bits > F32.bits or graph.state[first + 1] not in (I32, I64):
        return None
    (element, number), mask = fold.args[first : first + 2], None
    if number.op == "where" and element.op == "where" and number.args[0].digest == element.args[0].digest:
        identity = [a.args[2].value for a in (element, number)]
        if identity != [*graph.identity[first : first + 2]]:
            return None
        mask, element, number = number.args[0], element.args[1], number.args[1]
    alike = t == F32 and element.op == "add" and element.args[1].op == "const" and element.args[1].value == 0
    if number.op != "iota" or (t.is_float and first in shown and not alike):
        return None
    return _Pair(first, how.falls, element.args[0] if alike else element, number, mask)


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


def only_breaks_ties(program: Program, count: int) -> bool:
    """Whether, among equal elements of a result of ``count`` elements, only the lowest number matters."""
    (reduce,) = program.reduces
    numbers = [place + 1 for place, _ in program.monoid.structure]
    return all(_only_breaks_ties(reduce.args, i, numbers, count) for i, e in enumerate(reduce.args) if _is_numbered(e))


def _only_breaks_ties(args: tuple[Expr, ...], i: int, numbers: Sequence[int], count: int) -> bool:
    """Whether value ``i`` of a state, made with a number, depends on nothing else of it; ``numbers`` are of pairs."""
    e = args[i]
    while e.op == "where" and e.args[2].op == "const" and not _is_numbered(e.args[0]):  # outside a mask
        e = e.args[1]
    if e.op == "word":
        fits = e.args[1].op == "iota" and count <= 1 << e.dtype.bits - word_bits(e)
        return fits and not _is_numbered(e.args[0])
    return i in numbers and not _is_numbered(args[i - 1]) and _is_number(e)


def _is_number(e: Expr) -> bool:
    """Whether ``e`` is the number of an element, in whatever integer type holds it."""
    while e.op in ("cast", "bitcast") and e.dtype.is_integer and e.dtype.bits >= e.args[0].dtype.bits:
        e = e.args[0]
    return e.op == "iota"


def _is_numbered(e: Expr) -> bool:
    return any(x.op == "iota" for x in walk((e,)))
