"""The laws of a monoid: proved from its graph, tried on every state, or searched for values that break them.

Each law is a pair of terms that must be equal. Values are computed in the state's own types. Where floats round, two
sides that differ prove nothing: they count only if wider types tell the same two sides apart, by more than rounding
explains. So does not count what is not a number because infinities met (inf - inf), nor what overflows. Two zeros are
equal, and so are two NaNs; a state that is NaN in one float is compared in its whole numbers only.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from .dtypes import F32, DType
from .dtypes import dtype as as_dtype
from .errors import WarpfoldWarning, error
from .fold import count_of
from .graph import Expr, MonoidGraph, walk
from .monoid import Bound, Monoid
from .numeric import Array, evaluate
from .proofs import Proof, proof
from .samples import Source, States, combined

Name = Literal["identity", "associativity", "commutativity", "idempotence"]
Verdict = Literal["proved", "exhaustive", "held", "refuted"]
Term = str | tuple["Term", "Term"]

TERMS: dict[Name, tuple[tuple[Term, Term], ...]] = {
    "identity": ((("e", "a"), "a"), (("a", "e"), "a")),
    "associativity": (((("a", "b"), "c"), ("a", ("b", "c"))),),
    "commutativity": ((("a", "b"), ("b", "a")),),
    "idempotence": ((("a", "a"), "a"),),
}
"""What must be equal: ``e`` is the identity, a pair is combined."""
VARIABLES: dict[Name, int] = {"identity": 1, "associativity": 3, "commutativity": 2, "idempotence": 1}
EXACT = ("min", "max", "neg", "abs", "floor", "ceil", "where", "eq", "ne", "lt", "le", "gt", "ge", "bitcast")
"""Operations on floats that never round."""
TAME = 2.0**40
"""Beyond this magnitude even the wide types lose whole numbers."""
SLACK = 64
"""Roundings that a wide result may differ by."""
PIECE = 1 << 16
SEED = 0
MADE_UP = "the states were made up: with lift= only states are tried that elements lead to"


@dataclass(frozen=True)
class Effort:
    """How far a search goes.

    Attributes:
        exhaustive: sets of at most so many states are tried whole.
        states: about how many states are tried of greater sets.
        tries: at most so many tuples of them.
    """

    exhaustive: int
    states: int
    tries: int


FULL, QUICK = Effort(256, 64, 1 << 24), Effort(8, 16, 1 << 11)
SIMPLE = 12
"""Tuples of so many of the simplest states are tried first."""


@dataclass(frozen=True)
class Counterexample:
    """Values that break a law.

    Attributes:
        values: the states, as Python numbers, or tuples of them.
        left, right: what the two sides come to.
        texts: both sides as calls of ``combine``.
    """

    values: tuple[Any, ...]
    left: Any
    right: Any
    texts: tuple[str, str]

    def __str__(self) -> str:
        width = max(map(len, self.texts))
        pairs = zip(self.texts, (self.left, self.right), strict=True)
        return "\n".join(f"{text:<{width}} = {_literal(value)}" for text, value in pairs)


@dataclass(frozen=True)
class Law:
    """What was found about one law.

    Attributes:
        law: ``identity``, ``associativity``, ``commutativity`` or ``idempotence``.
        verdict: ``proved`` from the graph, ``exhaustive`` when every state was tried, ``held`` when no values of those
            tried break it, ``refuted``.
        claimed: whether the monoid promises it.
        tries: how many tuples of states were tried.
        rounding: whether it holds only apart from rounding.
        counterexample: the simplest values found that break it.
    """

    law: Name
    verdict: Verdict
    claimed: bool
    tries: int = 0
    rounding: bool = False
    counterexample: Counterexample | None = None

    @property
    def words(self) -> str:
        """The verdict in words."""
        rounding = ", apart from rounding" if self.rounding else ""
        held = f"no counterexample in {self.tries:,} {'try' if self.tries == 1 else 'tries'}"
        words = {"proved": "proved", "exhaustive": f"holds for all {self.tries:,} combinations", "held": held}
        return words.get(self.verdict, "refuted" if self.claimed else "does not hold") + rounding


@dataclass(frozen=True)
class Laws:
    """What was found about a monoid.

    Attributes:
        name: the monoid's.
        elements: the types given: of its elements.
        laws: one entry per law.
        made_up: whether states of several values were tried of which some may never occur, for want of a ``lift``.
    """

    name: str
    elements: tuple[DType, ...]
    laws: tuple[Law, ...]
    made_up: bool = False

    @property
    def refuted(self) -> tuple[Law, ...]:
        """The claimed laws that do not hold."""
        return tuple(law for law in self.laws if law.claimed and law.verdict == "refuted")

    def __getitem__(self, name: str) -> Law:
        return next(law for law in self.laws if law.law == name)

    def __str__(self) -> str:
        lines = [f"{self.name} of {', '.join(t.name for t in self.elements)}"]
        for law in self.laws:
            lines.append(f"{law.law:<13}  {'claimed' if law.claimed else 'not claimed':<11}  {law.words}")
            if law.counterexample is not None:
                lines += [f"    {line}" for line in str(law.counterexample).splitlines()]
        lines += [MADE_UP] * self.made_up
        return "\n".join(lines)


def check_monoid(m: Monoid, *dtypes: object) -> Laws:
    """Looks whether a monoid obeys its laws.

    Args:
        m: the monoid.
        dtypes: the type of each array it reduces: what its ``lift`` takes or, without one, the values of its state.
            f32 for all by default.

    Returns:
        For each law whether it was proved, holds for every state, was not broken by any values tried, or which values
        break it.

    Raises:
        TraceError: WF219 for what is no monoid, WF220 for a wrong number of types, or when it cannot be traced on them.
        ArgumentError: WF151 for a missing parameter.

    >>> import warpfold as wf
    >>> @wf.monoid(identity=0)
    ... def less(a, b):
    ...     return a - b
    >>> print(wf.check_monoid(less, "i32")["associativity"].counterexample)
    combine(combine(0, 0), 1) = -1
    combine(0, combine(0, 1)) = 1
    """
    if not isinstance(m, Monoid):
        raise error("WF219", kind=type(m).__name__)
    types = _types(m, dtypes)
    search = _Search(Source.of(m, types), FULL)
    laws = tuple(_judge(m, search, law) for law in TERMS)
    made_up = m.lift is None and len(search.source.graph.state) > 1 and not search.complete
    return Laws(m.name, types, laws, made_up and any(law.verdict != "proved" for law in laws))


def refuted(m: Monoid, dtypes: Sequence[object]) -> list[Law]:
    """The claimed laws that a short search refutes: some milliseconds, the same answer each time."""
    search = _Search(Source.of(m, _types(m, dtypes)), QUICK)
    laws = (_judge(m, search, law) for law in TERMS if _claims(m, law))
    return [law for law in laws if law.verdict == "refuted"]


@lru_cache(maxsize=1024)
def warn_once(m: Monoid, dtypes: tuple[DType, ...]) -> None:
    """Warns, once in a process, when a user's monoid claims a law that a short search refutes (WF221)."""
    function = getattr(m.function, "function", m.function)
    if str(getattr(function, "__module__", "")) == f"{__package__}.library":
        return
    for law in refuted(m, dtypes):
        shown = "; ".join(" ".join(line.split()) for line in str(law.counterexample).splitlines())
        text = error("WF221", name=m.name, law=law.law, values=shown, where=m.location).render()
        warnings.warn(WarpfoldWarning(text), stacklevel=2)


def _types(m: Monoid, dtypes: Sequence[object]) -> tuple[DType, ...]:
    bound = {k for f in (m.function, m.lift) if isinstance(f, Bound) for k, _, _ in f.params}
    for name, default in m.parameters.items():
        if default is inspect.Parameter.empty and name not in bound:
            raise error("WF151", name=m.name, parameter=name)
    expected = _arity(m)
    types = tuple(as_dtype(t) for t in dtypes) or (F32,) * (expected or 1)
    if expected is not None and len(types) != expected:
        raise error("WF220", name=m.name, expected=expected, found=len(types))
    return types


def _arity(m: Monoid) -> int | None:
    """How many arrays a monoid reduces; None where any number will do."""
    return count_of(m.identity if m.lift is None else m.lift)


def _claims(m: Monoid, law: Name) -> bool:
    return {"commutativity": m.commutative, "idempotence": m.idempotent}.get(law, True)


def _judge(m: Monoid, search: _Search, law: Name) -> Law:
    found: Proof | None = proof(search.source.graph, law)
    if found is not None:
        return Law(law, "proved", _claims(m, law), rounding=found == "rounding")
    tries, rounding, counterexample = search.search(law)
    verdict: Verdict = "refuted" if counterexample else "exhaustive" if search.complete else "held"
    return Law(law, verdict, _claims(m, law), tries, rounding and not counterexample, counterexample)


# --- searching -----------------------------------------------------------------------------------------------------
class _Search:
    """The states of one monoid, and the search among them.

    Attributes:
        source: what the states come from.
        states: the states, the simplest first.
        complete: whether they are all there are.
    """

    def __init__(self, source: Source, effort: Effort) -> None:
        self.source, self.most = source, effort.tries
        graph = source.graph
        with np.errstate(all="ignore"):
            every = source.all(effort.exhaustive)
            self.states = every or source.some(effort.states, np.random.default_rng(SEED))
            self.complete = every is not None
            self.table = self._table() if self.complete else None
        self.exact = not any(_rounds(e) for e in walk(graph.combine))

    def search(self, law: Name) -> tuple[int, bool, Counterexample | None]:
        """Tries, whether rounding explains differences, and the simplest counterexample found."""
        n, tries, rounding = len(self.states[0]), 0, False
        with np.errstate(all="ignore"):
            for size in sorted({min(n, s) for s in (SIMPLE, n)}):  # among the simplest states first
                for pair in TERMS[law]:
                    tries = 0
                    for index in _tuples(size, VARIABLES[law], self.most):
                        broken, rounded = self._broken(pair, index)
                        tries, rounding = tries + len(index[0]), rounding or rounded
                        if broken.any():
                            return tries, rounding, self._shown(pair, [i[broken] for i in index])
        return tries, rounding, None

    def _broken(self, pair: tuple[Term, Term], index: list[Array]) -> tuple[Array, bool]:
        """Which tuples of states break a law, and whether some seem to, by rounding."""
        if self.table is not None:
            table, neutral = self.table, np.flatnonzero(self._neutral())[:1]
            names = {"e": neutral, **dict(zip("abc", index, strict=False))}
            sides = [_term(t, names, lambda x, y: table[x, y]) for t in pair]
            return sides[0] != sides[1], False
        differ = ~_same(*(s.values for s in self._sides(pair, index, wide=False)))
        if self.exact or not differ.any():
            return differ, False
        candidates = np.flatnonzero(differ)
        chosen = [i[candidates] for i in index]
        narrow, wide = self._sides(pair, chosen, wide=False), self._sides(pair, chosen, wide=True)
        apart = _apart(narrow, wide)
        differ[candidates] = apart & ~self._infinite(chosen, wide)
        return differ, not apart.all()

    def _table(self) -> Array:
        """The number of the combined state for each two, which a complete set holds."""
        n = len(self.states[0])
        i, j = (g.reshape(-1) for g in np.indices((n, n)))
        got = self.source.combine([s[i] for s in self.states], [s[j] for s in self.states])
        number = {row: k for k, row in enumerate(zip(*(s.tolist() for s in self.states), strict=True))}
        return np.array([number[row] for row in zip(*(s.tolist() for s in got), strict=True)]).reshape(n, n)

    def _neutral(self) -> Array:
        """Which of the states is the identity."""
        return np.asarray(np.all([s == v for s, v in zip(self.states, self.source.identity, strict=True)], axis=0))

    def _sides(self, pair: tuple[Term, Term], index: list[Array], *, wide: bool) -> list[_Side]:
        """Both sides of a law for tuples of states."""
        n, kind = len(index[0]), _wider if wide else _own
        named = {"e": [np.broadcast_to(v, n) for v in self.source.identity]}
        named |= {name: [s[i] for s in self.states] for name, i in zip("abc", index, strict=False)}
        types = self.source.graph.state
        typed = {k: [v.astype(kind(t)) for v, t in zip(s, types, strict=True)] for k, s in named.items()}
        known = {name: _Side.of(s) for name, s in typed.items()}
        if wide:
            return [_term(t, known, lambda x, y: _traced(self.source.graph, x, y)) for t in pair]
        return [_term(t, known, lambda x, y: _Side.of(combined(self.source.graph, x.values, y.values))) for t in pair]

    def _infinite(self, index: list[Array], sides: Sequence[_Side]) -> Array:
        """Where infinities met that the caller's elements brought in, not the identity."""
        floats = [s for s in self.states if s.dtype.kind not in "iub"]
        brought = np.logical_or.reduce([np.isinf(s) for s in floats]) & ~self._neutral() if floats else np.array(False)
        met = sides[0].invalid | sides[1].invalid
        return np.asarray(met & np.logical_or.reduce([np.broadcast_to(brought, len(self.states[0]))[i] for i in index]))

    def _shown(self, pair: tuple[Term, Term], index: list[Array]) -> Counterexample:
        """The simplest of some counterexamples."""
        best = int(np.argmin(sum(index)))
        chosen = [i[best : best + 1] for i in index]
        values = [_python([s[i] for s in self.states]) for i in chosen]
        names = {"e": _python(self.source.identity), **dict(zip("abc", values, strict=False))}
        left, right = (_python(s.values) for s in self._sides(pair, chosen, wide=False))
        literals = {name: _literal(v) for name, v in names.items()}
        texts = [_term(t, literals, lambda x, y: f"combine({x}, {y})") for t in pair]
        return Counterexample(tuple(values), left, right, (texts[0], texts[1]))


def _tuples(size: int, variables: int, most: int) -> Iterator[list[Array]]:
    """Tuples of so many of ``size`` numbers, in pieces: all, or ``most`` of them evenly spread."""
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


# --- comparing -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Side:
    """States, with the greatest finite magnitude on the way to them and where infinities made a NaN."""

    values: States
    scale: Array
    invalid: Array

    @classmethod
    def of(cls, values: States) -> _Side:
        return cls(values, np.zeros(()), np.zeros((), bool))


def _traced(graph: MonoidGraph, left: _Side, right: _Side) -> _Side:
    """Two states combined in wide types, with what happens on the way."""
    params = [*left.values, *right.values]
    memo = evaluate(graph.combine, lambda e: params[e.value], _wider)  # type: ignore[call-overload]
    shape = np.shape(params[0])
    scale = np.array(np.broadcast_to(np.maximum(left.scale, right.scale), shape))
    invalid = np.array(np.broadcast_to(left.invalid | right.invalid, shape))
    for e in walk(graph.combine):
        if e.dtype.is_float:
            found = memo[e.digest]
            size = np.abs(found)
            np.maximum(scale, np.where(np.isfinite(size), size, 0), out=scale)
            args = [memo[a.digest] for a in e.args if a.dtype.is_float]
            if args and e.op != "where":
                invalid |= np.isnan(found) & ~np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(a) for a in args)))
    return _Side([np.broadcast_to(memo[e.digest], shape) for e in graph.combine], scale, invalid)


def _own(t: DType) -> np.dtype[Any]:
    return t.numpy


def _wider(t: DType) -> np.dtype[Any]:
    """A type with more digits and a greater range."""
    if not t.is_float:
        return t.numpy
    return np.dtype(np.longdouble if t.bits == 64 else np.float64)


def _rounds(e: Expr) -> bool:
    """Whether an operation may round, or meets floats in a way that may."""
    if not e.args:
        return False
    floats = e.dtype.is_float or any(a.dtype.is_float for a in e.args)
    return floats and e.op not in EXACT


def _is_float(v: Array) -> bool:
    return v.dtype.kind not in "iub"  # bf16 is of NumPy's kind V


def _same(left: States, right: States) -> Array:
    """Where two states are equal."""
    nans = [np.isnan(x) & np.isnan(y) for x, y in zip(left, right, strict=True) if _is_float(x)]
    lost = np.logical_or.reduce(nans) if nans else np.array(False)
    found = np.array(True)
    for x, y in zip(left, right, strict=True):
        equal = x == y
        if _is_float(x):
            equal = equal | (lost & (np.isnan(x) | np.isnan(y))) | (np.isnan(x) & np.isnan(y))
        found = found & equal
    return found


def _apart(narrow: list[_Side], wide: list[_Side]) -> Array:
    """Where the sides of a law that differ in narrow types differ in wide ones too, by more than rounding."""
    scale = np.maximum(wide[0].scale, wide[1].scale)
    found = np.zeros(len(wide[0].values[0]), bool)
    for ln, rn, lw, rw in zip(*(s.values for s in (*narrow, *wide)), strict=True):
        if not _is_float(lw):
            found |= (ln == lw) & (rn == rw) & (lw != rw)
            continue
        ln, rn = ln.astype(lw.dtype), rn.astype(rw.dtype)
        gap = np.abs(lw - rw)
        close = (np.abs(ln - lw) <= gap / 4) & (np.abs(rn - rw) <= gap / 4)
        both = np.isfinite(lw) & np.isfinite(rw)
        clear = close & (gap > SLACK * float(np.finfo(lw.dtype).eps) * scale)
        odd = _alike(ln, lw) & _alike(rn, rw) & ~_same([lw], [rw])
        found |= np.where(both, clear, odd)
    return np.asarray(found & ~_same(wide[0].values, wide[1].values) & (scale <= TAME))


def _alike(narrow: Array, wide: Array) -> Array:
    """Whether a value is infinite, NaN or finite in both types."""
    finite = np.isfinite(narrow) & np.isfinite(wide)
    return np.asarray(finite | (narrow == wide) | (np.isnan(narrow) & np.isnan(wide)))


# --- words ---------------------------------------------------------------------------------------------------------
def _python(state: States) -> Any:
    """One state as Python numbers: floats by the shortest decimal that their type reads back."""
    values = tuple(float(str(v[0])) if _is_float(v) else v[0].item() for v in state)
    return values[0] if len(values) == 1 else values


def _literal(value: Any) -> str:
    """A state as Python would read it."""
    if isinstance(value, tuple):
        return f"({', '.join(_literal(v) for v in value)})"
    special = isinstance(value, float) and not np.isfinite(value)
    return f"float('{value}')" if special else repr(value)
