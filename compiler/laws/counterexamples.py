"""The search for values that break a law of a monoid, the simplest first.

A law is a pair of terms that must be equal. A NaN that infinities made (inf - inf) breaks none, unless they came from
the identity.

Whether the two sides of a law differ: in their own types and, where floats round, in wider types.

Where floats round, a difference counts only if the sides also differ in wider types, by more than rounding explains.
Two zeros are equal, and so are two NaNs. If a float of a state is NaN, only the integers of the state are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from ..dtypes import DType
from ..program.graph import Expr, MonoidGraph, walk
from ..program.numeric import Array, evaluate
from .sample_states import Source, States, combined, own, unique

EXACT = ("min", "max", "neg", "abs", "floor", "ceil", "round", "where", "eq", "ne", "lt", "le", "gt", "ge", "bitcast")
"""Operations on floats that never round."""
TAME = 2.0**40
"""Beyond this magnitude even the wide types do not hold all integers."""
SLACK = 64
"""The number of roundings by which wide results may differ."""


@dataclass(frozen=True)
class Side:
    """States, with the greatest finite magnitude computed on the way to them and where infinities made a NaN."""

    values: States
    scale: Array
    invalid: Array

    @classmethod
    def of(cls, values: States) -> Side:
        return cls(values, np.zeros(()), np.zeros((), bool))


def traced(graph: MonoidGraph, left: Side, right: Side) -> Side:
    """Two states combined in wide types, with the largest magnitude and the invalid operations on the way."""
    params = [*left.values, *right.values]
    memo = evaluate(graph.combine, lambda e: params[e.value], wider)  # type: ignore[call-overload]
    shape = np.shape(params[0])
    scale = np.array(np.broadcast_to(np.maximum(left.scale, right.scale), shape))
    invalid = np.array(np.broadcast_to(left.invalid | right.invalid, shape))
    for e in walk(graph.combine):
        if e.dtype.is_float and e.op != "const":
            found = memo[e.digest]
            size = np.abs(found)
            np.maximum(scale, np.where(np.isfinite(size), size, 0), out=scale)
            args = [memo[a.digest] for a in e.args if a.dtype.is_float]
            if args and e.op != "where":
                invalid |= np.isnan(found) & ~np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(a) for a in args)))
    return Side([np.broadcast_to(memo[e.digest], shape) for e in graph.combine], scale, invalid)


def wider(t: DType) -> np.dtype[Any]:
    """A type with more digits and a greater range."""
    if not t.is_float:
        return t.numpy
    return np.dtype(np.longdouble if t.bits == 64 else np.float64)


def rounds(e: Expr) -> bool:
    """Whether an operation may round, or meets floats in a way that may."""
    if not e.args:
        return False
    floats = e.dtype.is_float or any(a.dtype.is_float for a in e.args)
    return floats and e.op not in EXACT


def is_float(v: Array) -> bool:
    return v.dtype.kind not in "iub"  # bf16 is of NumPy's kind V


def same(left: States, right: States) -> Array:
    """Where two states are equal."""
    nans = [np.isnan(x) & np.isnan(y) for x, y in zip(left, right, strict=True) if is_float(x)]
    lost = np.logical_or.reduce(nans) if nans else np.array(False)
    found = np.array(True)
    for x, y in zip(left, right, strict=True):
        equal = x == y
        if is_float(x):
            equal = equal | (lost & (np.isnan(x) | np.isnan(y))) | (np.isnan(x) & np.isnan(y))
        found = found & equal
    return found


def apart(narrow: list[Side], wide: list[Side]) -> Array:
    """Where the sides of a law that differ in narrow types differ in wide ones too, by more than rounding."""
    scale = np.maximum(wide[0].scale, wide[1].scale)
    found = np.zeros(len(wide[0].values[0]), bool)
    for ln, rn, lw, rw in zip(*(s.values for s in (*narrow, *wide)), strict=True):
        if not is_float(lw):
            found |= (ln == lw) & (rn == rw) & (lw != rw)
            continue
        ln, rn = ln.astype(lw.dtype), rn.astype(rw.dtype)
        gap = np.abs(lw - rw)
        close = (np.abs(ln - lw) <= gap / 4) & (np.abs(rn - rw) <= gap / 4)
        both = np.isfinite(lw) & np.isfinite(rw)
        clear = close & (gap > SLACK * float(np.finfo(lw.dtype).eps) * scale)
        odd = _alike(ln, lw) & _alike(rn, rw) & ~same([lw], [rw])
        found |= np.where(both, clear, odd)
    return np.asarray(found & ~same(wide[0].values, wide[1].values) & (scale <= TAME))


def _alike(narrow: Array, wide: Array) -> Array:
    """Whether a value is infinite, NaN or finite in both types."""
    finite = np.isfinite(narrow) & np.isfinite(wide)
    return np.asarray(finite | (narrow == wide) | (np.isnan(narrow) & np.isnan(wide)))


Name = Literal["identity", "associativity", "commutativity", "idempotence", "structure"]
Term = str | tuple["Term", "Term"]

TERMS: dict[Name, tuple[tuple[Term, Term], ...]] = {
    "identity": ((("e", "a"), "a"), (("a", "e"), "a")),
    "associativity": (((("a", "b"), "c"), ("a", ("b", "c"))),),
    "commutativity": ((("a", "b"), ("b", "a")),),
    "idempotence": ((("a", "a"), "a"),),
    "structure": ((("a", "b"), ("a", "b")),),
}
"""What must be equal: ``e`` is the identity, a pair is combined; the right one as the monoid's structure says."""
VARIABLES: dict[Name, int] = {"identity": 1, "associativity": 3, "commutativity": 2, "idempotence": 1, "structure": 2}
PIECE = 1 << 16
"""Tuples tried at a time."""
SEED = 0


@dataclass(frozen=True)
class Effort:
    """How far a search goes.

    Attributes:
        exhaustive: sets of at most this many states are tried completely.
        states: about how many states are tried of larger sets.
        tries: the most tuples of states that are tried.
    """

    exhaustive: int
    states: int
    tries: int


FULL, QUICK = Effort(256, 64, 1 << 24), Effort(8, 16, 1 << 11)
SIMPLE = 12
"""The number of simplest states whose tuples are tried first."""


@dataclass(frozen=True)
class Counterexample:
    """Values that break a law.

    Attributes:
        values: the states, as Python numbers, or tuples of them.
        left, right: the values of the two sides.
        texts: both sides as calls of ``combine``.
    """

    values: tuple[Any, ...]
    left: Any
    right: Any
    texts: tuple[str, str]

    def __str__(self) -> str:
        if self.texts[1] == _literal(self.right):
            return f"{self.texts[0]} = {_literal(self.left)}, not {self.texts[1]}"
        width = max(map(len, self.texts))
        pairs = zip(self.texts, (self.left, self.right), strict=True)
        return "\n".join(f"{text:<{width}} = {_literal(value)}" for text, value in pairs)


class Search:
    """The states of one monoid, and the search among them.

    Attributes:
        source: what the states come from.
        states: the states, the simplest first.
        complete: whether they are all there are.
        alike: which values are the same in all states, so that the search says nothing about them. None if the states
            are complete and several.
    """

    def __init__(self, source: Source, effort: Effort) -> None:
        self.source, self.most = source, effort.tries
        graph = source.graph
        with np.errstate(all="ignore"):
            every = source.all(effort.exhaustive)
            self.states = every or source.some(effort.states, np.random.default_rng(SEED))
            self.complete = every is not None
            self.table = self._table() if self.complete else None
        same = tuple(i for i, s in enumerate(self.states) if len(unique([s])[0]) == 1)
        self.alike = () if self.complete and len(self.states[0]) > 1 else same
        self.exact = not any(rounds(e) for e in walk(graph.combine))

    def search(self, law: Name) -> tuple[int, bool, Counterexample | None]:
        """Tries, whether rounding explains differences, and the simplest counterexample found."""
        n, tries, rounding = len(self.states[0]), 0, False
        with np.errstate(all="ignore"):
            for size in sorted({min(n, s) for s in (SIMPLE, n)}):  # among the simplest states first
                for pair in TERMS[law]:
                    tries = 0
                    for index in _tuples(size, VARIABLES[law], self.most):
                        broken, rounded = self._broken(law, pair, index)
                        tries, rounding = tries + len(index[0]), rounding or rounded
                        if broken.any():
                            return tries, rounding, self._shown(law, pair, [i[broken] for i in index])
        return tries, rounding, None

    def _broken(self, law: Name, pair: tuple[Term, Term], index: list[Array]) -> tuple[Array, bool]:
        """Which tuples of states break a law, and whether some differ only by rounding."""
        if self.table is not None and law != "structure":
            table, neutral = self.table, np.flatnonzero(self._neutral())[:1]
            names = {"e": neutral, **dict(zip("abc", index, strict=False))}
            sides = [_term(t, names, lambda x, y: table[x, y]) for t in pair]
            return sides[0] != sides[1], False
        differ = ~same(*(s.values for s in self._sides(law, pair, index, wide=False)))
        if self.exact or not differ.any():
            return differ, False
        candidates = np.flatnonzero(differ)
        chosen = [i[candidates] for i in index]
        narrow, wide = self._sides(law, pair, chosen, wide=False), self._sides(law, pair, chosen, wide=True)
        real = apart(narrow, wide)
        differ[candidates] = real & ~self._infinite(chosen, wide)
        return differ, not real.all()

    def _table(self) -> Array:
        """The index of the combined state of each pair; a complete set holds every combined state."""
        n = len(self.states[0])
        i, j = (g.reshape(-1) for g in np.indices((n, n)))
        got = self.source.combine([s[i] for s in self.states], [s[j] for s in self.states])
        number = {row: k for k, row in enumerate(zip(*(s.tolist() for s in self.states), strict=True))}
        return np.array([number[row] for row in zip(*(s.tolist() for s in got), strict=True)]).reshape(n, n)

    def _neutral(self) -> Array:
        """Which of the states is the identity."""
        return np.asarray(np.all([s == v for s, v in zip(self.states, self.source.identity, strict=True)], axis=0))

    def _sides(self, law: Name, pair: tuple[Term, Term], index: list[Array], *, wide: bool) -> list[Side]:
        """Both sides of a law for tuples of states."""
        n, kind = len(index[0]), wider if wide else own
        named = {"e": [np.broadcast_to(v, n) for v in self.source.identity]}
        named |= {name: [s[i] for s in self.states] for name, i in zip("abc", index, strict=False)}
        types = self.source.graph.state
        typed = {k: [v.astype(kind(t)) for v, t in zip(s, types, strict=True)] for k, s in named.items()}
        known = {name: Side.of(s) for name, s in typed.items()}
        graphs = self.source.graph, self.source.declared if law == "structure" else self.source.graph
        return [_term(t, known, partial(self._joined, graph, wide)) for t, graph in zip(pair, graphs, strict=True)]

    @staticmethod
    def _joined(graph: MonoidGraph, wide: bool, x: Side, y: Side) -> Side:
        return traced(graph, x, y) if wide else Side.of(combined(graph, x.values, y.values))

    def _infinite(self, index: list[Array], sides: Sequence[Side]) -> Array:
        """Where infinities met that came from elements and not from the identity."""
        floats = [s for s in self.states if s.dtype.kind not in "iub"]
        brought = np.logical_or.reduce([np.isinf(s) for s in floats]) & ~self._neutral() if floats else np.array(False)
        met = sides[0].invalid | sides[1].invalid
        return np.asarray(met & np.logical_or.reduce([np.broadcast_to(brought, len(self.states[0]))[i] for i in index]))

    def _shown(self, law: Name, pair: tuple[Term, Term], index: list[Array]) -> Counterexample:
        """The simplest of some counterexamples."""
        best = int(np.argmin(sum(index)))
        chosen = [i[best : best + 1] for i in index]
        values = [_python([s[i] for s in self.states]) for i in chosen]
        states = {"e": _python(self.source.identity), **dict(zip("abc", values, strict=False))}
        left, right = (_python(s.values) for s in self._sides(law, pair, chosen, wide=False))
        literals = {name: _literal(v) for name, v in states.items()}
        names = "combine", "first" if law == "structure" else "combine"
        texts = [_term(t, literals, f"{name}({{}}, {{}})".format) for t, name in zip(pair, names, strict=True)]
        return Counterexample(tuple(values), left, right, (texts[0], texts[1]))


def _tuples(size: int, variables: int, most: int) -> Iterator[list[Array]]:
    """All tuples of ``variables`` numbers below ``size``, in pieces; if they exceed ``most``, an even selection."""
    total = size**variables
    step = -(-total // most) | 1  # odd, so that it walks through all numbers where their count is even
    for start in range(0, total, PIECE * step):
        flat = np.arange(start, min(total, start + PIECE * step), step)
        yield list(np.unravel_index(flat, (size,) * variables))


def _term(term: Term, names: dict[str, Any], combine: Callable[[Any, Any], Any]) -> Any:
    """A term's value."""
    if isinstance(term, str):
        return names[term]
    return combine(_term(term[0], names, combine), _term(term[1], names, combine))


def _python(state: States) -> Any:
    """One state as Python numbers: floats by the shortest decimal that their type reads back."""
    values = tuple(float(str(v[0])) if is_float(v) else v[0].item() for v in state)
    return values[0] if len(values) == 1 else values


def _literal(value: Any) -> str:
    """A state as Python would read it."""
    if isinstance(value, tuple):
        return f"({', '.join(_literal(v) for v in value)})"
    special = isinstance(value, float) and not np.isfinite(value)
    return f"float('{value}')" if special else repr(value)
