"""States on which the laws of a monoid are tried, the simplest first.

Not every tuple of numbers is a state that occurs: Welford's count is never negative. With a ``lift`` the states are
lifted elements and their combinations. The elements include all 8-bit ones, and for other types the numbers at which
the graph changes its behaviour. Without a ``lift``, a state of one value may be any number. A
state of several values holds small positive integers (for bools, the opposite of the identity), with infinity and NaN
in one float at a time; the identity and combinations are added. All states of bools are tried.

Numbers at which a graph changes its behaviour: constants, the inputs that reach them, and their neighbours.

If a lift computes ``x == 40`` or ``2 * x + 1 < 7``, random elements all give one state; 40 and 3 do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..dtypes import BOOL, DType
from ..program.accumulation import contributions
from ..program.fold import fold
from ..program.graph import ELEMENT, Expr, MonoidGraph, walk
from ..program.library.monoids import ARGMAX, ARGMIN
from ..program.monoid import Monoid
from ..program.numeric import Array, evaluate
from ..program.storage import decoded, parts
from ..program.values import Value, split

MOST = 48
"""The most numbers that are taken from one graph."""
SIMPLE = (-1, 0, 1, 2)
"""Numbers that are always tried, with their neighbours."""
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "min", "max")
Inverse = Callable[[Any, Any, bool], Any]
"""Computes the variable operand from the result, the constant operand, and whether the constant is on the left."""

_INVERSE: dict[str, Inverse] = {
    "add": lambda v, c, _: v - c,
    "sub": lambda v, c, left: c - v if left else v + c,
    "mul": lambda v, c, _: v / c if isinstance(v, float) or v % c else v // c,
    "div": lambda v, c, left: c / v if left else v * c,
    "floordiv": lambda v, c, left: c // v if left else v * c,
    "shl": lambda v, c, left: v if left else int(v) >> int(c),
    "shr": lambda v, c, left: v if left else int(v) << int(c),
    "xor": lambda v, c, _: int(v) ^ int(c),
    "neg": lambda v, _c, _: -v,
    "sqrt": lambda v, _c, _: v * v,
    "exp": lambda v, _c, _: math.log(v),
    "log": lambda v, _c, _: math.exp(v),
}


def pivots(roots: Iterable[Expr], t: DType) -> list[Any]:
    """Values of type ``t`` at which the expressions change their behaviour, with neighbours, the simplest first."""
    nodes = list(walk(tuple(roots)))
    found = [e.value for e in nodes if e.op == "const"]
    for e in nodes:
        if e.op in _COMPARISONS:
            found += [v for a, b in (e.args, e.args[::-1]) if b.op == "const" for v in _solved(a, b.value)]
    plain = dict.fromkeys(v for v in found if isinstance(v, int | float) and math.isfinite(v) and v not in SIMPLE)
    near = [n for v in sorted(plain, key=abs) for n in _neighbours(v, t)]
    return list(dict.fromkeys(near))[:MOST]


def _solved(e: Expr, value: Any) -> Iterator[Any]:
    """The values of nodes below ``e`` that give ``e`` this value; each node has at most one operand that varies."""
    while e.op not in ("input", "param", "const"):
        open_ = [i for i, a in enumerate(e.args) if a.op != "const"]
        if len(open_) != 1 or not (e.op in _INVERSE or e.op in ("cast", "abs")):
            return
        others = [a.value for a in e.args if a.op == "const"]
        try:
            value = _INVERSE[e.op](value, others[0] if others else None, open_[0] == 1) if e.op in _INVERSE else value
        except (ArithmeticError, ValueError, TypeError):
            return
        e = e.args[open_[0]]
        yield value


def _neighbours(value: float, t: DType) -> Iterator[Any]:
    """The number, the adjacent values of ``t``, and the number plus and minus one, if ``t`` has them."""
    if t == BOOL:
        return
    if t.is_float:
        import ml_dtypes

        info: Any = ml_dtypes.finfo(t.numpy)  # type: ignore[no-untyped-call]
        if abs(value) > float(info.max):
            return
        step = max(abs(value) * float(info.eps), float(info.smallest_subnormal))
        own = float(np.asarray(value, t.numpy).astype(np.float64))
        yield from (own, own + step, own - step, own + 1, own - 1)
        return
    for n in (math.floor(value), math.floor(value) + 1, math.floor(value) - 1):
        if int(t.lowest) <= n <= int(t.highest):
            yield n


States = list[Array]
"""One array per value of the state, in its own type."""
VALUES = 16
"""If there are too many states, each value of the state keeps this many different numbers."""
SMALL, NEW = 256, 4
"""Integers up to SMALL are lifted, too: a lift may compare a square, which no formula inverts. Up to NEW of the states
that only these integers lead to are tried."""
FEW = 3
"""States of several values without a lift are made of the integers up to here."""


@dataclass(frozen=True)
class Source:
    """Where the states of a monoid come from.

    Attributes:
        graph: the monoid, typed.
        elements: the types of the parts of an element that is lifted; none without lift.
        lifted: the state's values as expressions of these.
        finished: what becomes of the final state.
    """

    graph: MonoidGraph
    elements: tuple[DType, ...] = ()
    lifted: tuple[Expr, ...] = ()
    finished: tuple[Expr, ...] = ()

    @classmethod
    def of(cls, m: Monoid, types: Sequence[DType]) -> Source:
        """The source for elements of ``types``, which without a lift are the values of the state.

        Raises:
            TraceError: as ``Monoid.typed``, ``Monoid.finished`` and ``fold`` do.
        """
        elements = tuple(p for t in types for p in parts(t))
        nodes = iter([Expr("input", (), t, ELEMENT, i) for i, t in enumerate(elements)])
        given, widened = contributions(m, [decoded(t, [next(nodes) for _ in parts(t)]) for t in types])
        if m.lift is None and not (widened and len(given) == 1):
            return cls(m.typed(*(v.dtype for v in given)))
        state = fold(replace(m, has_identity=True), *given)
        values = state if isinstance(state, tuple) else (state,)
        reduce = split(values[0])[0].expr.args[0]
        assert isinstance(reduce.value, MonoidGraph)
        return cls(reduce.value, elements, reduce.args, _finished(m, values))

    @property
    def identity(self) -> States:
        """The identity as the only state."""
        return [np.array([v], t.numpy) for v, t in zip(self.graph.identity, self.graph.state, strict=True)]

    @property
    def declared(self) -> MonoidGraph:
        """The monoid of the library that this one declares to be."""
        ((_, first),) = self.graph.structure
        return (ARGMAX if first.falls else ARGMIN).typed(*self.graph.state)

    def combine(self, left: States, right: States) -> States:
        """The combined states, in the types of the state."""
        return combined(self.graph, left, right)

    def all(self, most: int) -> States | None:
        """All states, when there are no more than ``most``, none of them float; they are closed under combining."""
        kinds = self.elements or self.graph.state
        small = all(t.bits <= 8 and not t.is_float for t in kinds) and not any(t.is_float for t in self.graph.state)
        if not small or prod(1 << t.bits for t in kinds) > most:
            return None
        if not self.elements:
            return None if len(kinds) > 1 and set(kinds) != {BOOL} else _columns(_grid(kinds), kinds)
        if any(not e.args and e.op in ("iota", "count") for e in walk(self.lifted)):
            return None
        return self._closure(self._lift(_columns(_grid(kinds), kinds)), most)

    def _closure(self, states: States, most: int) -> States | None:
        states = unique(_joined([states, self.identity]))
        while (n := len(states[0])) <= most:
            i, j = (g.reshape(-1) for g in np.indices((n, n)))
            states = unique(_joined([states, self.combine([s[i] for s in states], [s[j] for s in states])]))
            if len(states[0]) == n:
                return states
        return None

    def some(self, count: int, rng: np.random.Generator) -> States:
        """About ``count`` different states, a fourth of them combined from others."""
        roots = (*self.lifted, *self.graph.combine, *self.finished)
        if self.elements:
            elements = _shuffled([_elements(t, roots, count // 2, rng) for t in self.elements], rng)
            first = _first(unique(self._lift(elements)), count)
            first = _joined([first, _new(self._lift(_shuffled([_small(t) for t in self.elements], rng)), first)])
            if self.graph.structure and self.lifted[1].op == "iota":  # equal elements, which have other numbers
                first = _joined([first, [first[0], np.roll(first[1], 1)]])
        elif len(self.graph.state) == 1:
            t = self.graph.state[0]
            return unique([_among(_scalars(t, self.graph.identity, count, rng), pivots(roots, t))])
        else:
            first = self._tuples(count // 2, rng)
        first = _joined([first, self.identity])
        i, j = rng.integers(0, len(first[0]), (2, count // 4))
        return unique(_joined([first, self.combine([s[i] for s in first], [s[j] for s in first])]))

    def _lift(self, elements: States) -> States:
        n = len(elements[0])
        leaves: dict[str, Callable[[Expr], Array]] = {
            "input": lambda e: elements[e.value],  # type: ignore[call-overload]
            "iota": lambda e: np.arange(n, dtype=e.dtype.numpy),
            "count": lambda e: np.asarray(n, e.dtype.numpy),
        }
        memo = evaluate(self.lifted, lambda e: leaves[e.op](e), own)
        return [np.broadcast_to(memo[e.digest], n).astype(e.dtype.numpy) for e in self.lifted]

    def _tuples(self, count: int, rng: np.random.Generator) -> States:
        """States of several values without lift."""
        types, identity = self.graph.state, self.graph.identity
        pairs = zip(types, identity, strict=True)
        choices: list[Sequence[int]] = [(not i,) if t == BOOL else range(1, FEW + 1) for t, i in pairs]
        if self.graph.structure:  # an order is of all elements
            choices[0] = (False, True) if types[0] == BOOL else range(int(max(-FEW, types[0].lowest)), FEW + 1)
        plain = [tuple(c[k % len(c)] for c in choices) for k in range(FEW)]
        plain += [tuple(c[int(rng.integers(len(c)))] for c in choices) for _ in range(count)]
        plain = sorted(set(plain), key=lambda row: (sum(map(abs, row)), row))
        rows: list[tuple[Any, ...]] = [*plain[: count // 2], *plain[count // 2 :: 2]]
        for i in (i for i, t in enumerate(types) if t.is_float):
            special = ((np.nan, plain[0]), (np.nan, plain[min(1, len(plain) - 1)]), (np.inf, plain[0]))
            rows += [(*row[:i], v, *row[i + 1 :]) for v, row in special]
        return _columns(rows, types)


def own(t: DType) -> np.dtype[Any]:
    """The type itself."""
    return t.numpy


def combined(graph: MonoidGraph, left: States, right: States) -> States:
    """The combined states, computed in the types of the graph."""
    params = [*left, *right]
    memo = evaluate(graph.combine, lambda e: params[e.value], own)  # type: ignore[call-overload]
    return [np.broadcast_to(memo[e.digest], left[0].shape) for e in graph.combine]


def unique(states: States) -> States:
    """The states without repetitions, in their order; the zeros of floats are two."""
    rows = zip(*([repr(v) for v in s.tolist()] for s in states), strict=True)
    first = {row: i for i, row in reversed(list(enumerate(rows)))}
    keep = sorted(first.values())
    return [s[keep] for s in states]


def _joined(several: Sequence[States]) -> States:
    return [np.concatenate(columns) for columns in zip(*several, strict=True)]


def _columns(rows: Sequence[tuple[Any, ...]], types: Sequence[DType]) -> States:
    return [np.array(column).astype(t.numpy) for column, t in zip(zip(*rows, strict=True), types, strict=True)]


def _shuffled(columns: list[Array], rng: np.random.Generator) -> States:
    """The columns as states; if there are several columns, also paired at random."""
    n = max(len(c) for c in columns)
    full = [np.resize(c, n) for c in columns]
    return full if len(full) == 1 else _joined([full, [rng.permutation(c) for c in full]])


def _grid(types: Sequence[DType]) -> list[tuple[int, ...]]:
    """Every tuple of values of small types, the simplest first."""
    values = [sorted(range(int(t.lowest), int(t.highest) + 1), key=lambda v: (abs(v), v < 0)) for t in types]
    return sorted(product(*values), key=lambda row: sum(abs(v) for v in row))


def _elements(t: DType, roots: Sequence[Expr], count: int, rng: np.random.Generator) -> Array:
    """Elements to lift: about ``count``, the critical values of the graph, and all values of 8-bit types."""
    found = _among(_scalars(t, (), count, rng), pivots(roots, t))
    if t.bits > 8 or t == BOOL:
        return found
    return _among(found, range(int(t.lowest), int(t.highest) + 1))


def _small(t: DType) -> Array:
    """The whole numbers of a type up to ``SMALL``."""
    low, high = (-SMALL, SMALL) if t.is_float else (max(-SMALL, int(t.lowest)), min(SMALL, int(t.highest)))
    return np.arange(low, high + 1).astype(t.numpy)


def _among(found: Array, more: Iterable[Any]) -> Array:
    """The values, and others that are not among them."""
    with np.errstate(over="ignore"):
        return unique([np.concatenate([found, np.array(list(more)).astype(found.dtype)])])[0]


def _new(states: States, known: States) -> States:
    """The first few states with a value that no known state has at the same position."""
    other = np.logical_or.reduce([~np.isin(s, k) for s, k in zip(states, known, strict=True)])
    found = unique([s[other] for s in states])
    return [s[:NEW] for s in found]


def _first(states: States, most: int) -> States:
    """At most ``most`` states: the first ones, which are the simplest, and those that bring a new value."""
    if len(states[0]) <= most:
        return states
    keep = set(range(most // 2))
    for s in states:
        _, first = np.unique(s.astype(np.float64), return_index=True)
        keep.update(sorted(first.tolist())[:VALUES])
    return [s[sorted(keep)] for s in states]


def _finished(m: Monoid, values: tuple[Any, ...]) -> tuple[Expr, ...]:
    """What the monoid's ``finish`` makes of the final state, as expressions."""
    if m.finish is None:
        return ()
    got = m.finished(values)
    leaves = got.values() if isinstance(got, dict) else got if isinstance(got, tuple | list) else (got,)
    return tuple(s.expr for leaf in leaves if isinstance(leaf, Value) for s in split(leaf))


def _scalars(t: DType, neutral: Iterable[Any], count: int, rng: np.random.Generator) -> Array:
    """Values of one type: whole numbers, special ones, and random ones to make up ``count``."""
    if t == BOOL:
        return np.array([False, True])
    found = _floats(t, neutral, count, rng) if t.is_float else _integers(t, neutral, count, rng)
    return unique([found])[0][:count]


def _integers(t: DType, neutral: Iterable[Any], count: int, rng: np.random.Generator) -> Array:
    low, high = int(t.lowest), int(t.highest)
    middle = 1 << (t.bits // 2)
    plain = [0, 1, -1, 2, -2, 3, 4, *neutral, low, high, low + 1, high - 1, middle, -middle, middle - 1, 7, -5, 10]
    numbers = [v for v in plain if low <= v <= high]
    near = rng.integers(max(low, -100), 101, count // 4)
    far = rng.integers(low, high, count, dtype=t.numpy, endpoint=True)
    return np.concatenate([np.array(numbers, t.numpy), near.astype(t.numpy), far])


def _floats(t: DType, neutral: Iterable[Any], count: int, rng: np.random.Generator) -> Array:
    import ml_dtypes

    info: Any = ml_dtypes.finfo(t.numpy)  # type: ignore[no-untyped-call]
    plain = [0, 1, -1, 2, 3, 0.5, -2, *neutral, np.nan, -np.inf, np.inf, info.max, info.min, info.smallest_subnormal]
    more = [-0.0, 4, -3, 1.5, -info.smallest_subnormal, info.tiny, info.eps, 10, 100, 0.25]
    whole = rng.integers(-64, 65, count // 4).astype(np.float64)
    fractions = rng.standard_normal(count) * np.exp2(rng.integers(-8, 9, count))
    pieces = [np.array([float(v) for v in [*plain, *more]]), whole, fractions]
    with np.errstate(over="ignore"):
        return np.concatenate(pieces).astype(t.numpy)
