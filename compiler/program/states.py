"""The state of a reduction as a result, and results of states: what lets a reduction be cut anywhere.

A reduction lifts its elements, folds them, and makes results of the final state. ``Partial`` is the program without
the last part: its results are the values of the state. ``Merged`` folds such states, and ``Finished`` folds them and
makes the results. All three are tensor programs as any other: states that lie along an axis are elements of a
reduction over that axis, whose lift is the identity.

A position among the elements depends on where the reduction was cut. Where the combine only compares positions with
each other and chooses one, as that of an extreme does, a state has positions in its own part, and ``Merged`` and
``Finished`` take how many elements come before each state. Else ``Partial`` takes the position of its first element.
The number of all elements is no value of the state, since the caller knows it; ``Finished`` takes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ..dtypes import DType
from .fold import current_scope, fold, scope
from .functions import where
from .graph import KEPT, Expr, MonoidGraph, rewrite, walk
from .library.monoids import MAX
from .rewrites.ranked_states import Ranked, ranked
from .symbols import Sym
from .tracing import Nan, Traced, nest, structure_of, trace
from .values import Value, cast, join, split

Function = Callable[..., Any]
Params = tuple[tuple[str, Any, Hashable], ...]
"""(name, value, what tells it apart from equal ones), see ``exactly``."""


@dataclass(frozen=True)
class Cut:
    """A reduction of arrays of some types that may be cut.

    Attributes:
        function: its tensor program.
        arrays: the element type of each array; of a mask, bool, at the end.
        params: keyword parameters of the program.
        masked: whether there is a mask.
        nan: whether NaN elements take part or are left out.
        outside: the values of outer variables that the function reads.
        what: the reduction as the caller gave it, from which another process makes the same one.
    """

    function: Function
    arrays: tuple[DType, ...]
    params: Params = ()
    masked: bool = False
    nan: Nan = "propagate"
    outside: tuple[object, ...] = field(default=(), repr=False)
    what: Any = field(default=None, repr=False, compare=False)

    @property
    def given(self) -> dict[str, Any]:
        """The keyword parameters."""
        return {name: value for name, value, _ in self.params}

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(getattr(self.function, "__name__", "reduction"))

    def traced(self) -> Traced:
        """The whole reduction. Numbers of elements have 64 bits, whatever part is reduced."""
        return _traced(self)

    @property
    def monoid(self) -> MonoidGraph:
        """The monoid of the state."""
        return self.traced().program.monoid

    @property
    def digest(self) -> str:
        """Names the reduction and the types of its arrays: states of equal digests may be combined."""
        return _digest_of(self)

    @property
    def numbers(self) -> bool:
        """Whether results depend on the positions of elements."""
        return self.traced().program.uses_index

    @property
    def chosen(self) -> list[int]:
        """Which values of the state are positions in its own part."""
        return chosen_positions(self.traced().program.reduces[0])

    @property
    def lifted(self) -> bool:
        """Whether other values depend on positions, so that the reduction of a part takes that of its first element."""
        found, chosen = self.traced().program.reduces[0], self.chosen
        others = tuple(a for i, a in enumerate(found.args) if i not in chosen)
        return any(e.op == "iota" for e in walk(others))


@lru_cache(maxsize=1024)
def _traced(cut: Cut) -> Traced:
    return trace(cut.function, cut.arrays, cut.given, masked=cut.masked, nan=cut.nan)


@lru_cache(maxsize=1024)
def _digest_of(cut: Cut) -> str:
    """That of the program, whatever its monoid declares: states with the declaration and without it are alike."""
    program = cut.traced().program
    plain = {e.digest: replace(e, value=replace(program.monoid, structure=())) for e in program.reduces}
    return replace(program, outputs=rewrite(program.outputs, plain)).digest


class _OfElements(ABC):
    """A tensor program that looks into the graph of the elements; on arrays it runs for each of them."""

    def __call__(self, *values: Value) -> Any:
        if current_scope().over is None:
            return self.of_elements(*values)
        from .arrays.of_elements import on_arrays  # which imports the arrays, and so this module's users

        return on_arrays(str(getattr(self, "__name__")), self.of_elements, values)  # noqa: B009 - subclasses have one

    @abstractmethod
    def of_elements(self, *values: Value) -> Any:
        """The results of symbols of single elements."""


@dataclass(frozen=True)
class Partial(_OfElements):
    """The program from elements to the values of the state.

    It takes the arrays, and where the reduction is ``lifted``, the number of elements before these.
    """

    cut: Cut

    @property
    def __name__(self) -> str:
        return self.cut.name

    def of_elements(self, *values: Value) -> tuple[Sym, ...]:
        """The values of the state."""
        cut = self.cut
        xs, start = (values[:-1], values[-1]) if cut.lifted else (values, None)
        held = current_scope()
        own = replace(held, wide=True, checks=[])  # what is checked is the whole, in the end
        with scope(own):
            leaves: list[Value] = []
            structure_of(cut.name, cut.function(*xs, **cut.given), leaves, cut.function)
        results = tuple(s.expr for leaf in leaves for s in split(leaf))
        roots = (*results, *(c.expr for _, c in own.checks))
        folds = [e for e in walk(roots) if e.op == "reduce"]
        return tuple(s for e in folds for s in _state_from(e, start, results, wide=held.wide))


def _state_from(fold_: Expr, start: Value | None, results: tuple[Expr, ...], *, wide: bool) -> list[Sym]:
    """The values of the state of a fold whose first element has the position ``start``, None for 0.

    Unless elements of the part are numbered in ``wide`` integers, an extreme and its number are folded as one.
    """
    shown = [e.value for e in walk(results) if e.op == "result" and e.args[0].digest == fold_.digest]
    made = Ranked(fold_, _graph(fold_), {}) if wide else ranked(fold_, shown)  # type: ignore[arg-type]
    found = made.fold
    if start is None:
        return made.values(found)
    chosen = {*chosen_positions(found), *made.pairs}
    others = tuple(a for i, a in enumerate(found.args) if i not in chosen)
    later = {e.digest: _later(e, start) for e in walk(others) if e.op == "iota"}
    args = tuple(a if i in chosen else rewrite((a,), later)[0] for i, a in enumerate(found.args))
    return made.values(replace(found, args=args))


def _graph(fold_: Expr) -> MonoidGraph:
    assert isinstance(fold_.value, MonoidGraph)
    return fold_.value


def _later(number: Expr, start: Value) -> Expr:
    """The number of an element, of those before it in other parts too."""
    return (Sym(number) + cast(split(start)[0], number.dtype)).expr


def chosen_positions(fold_: Expr) -> list[int]:
    """Which operands of a fold are positions, of which its combine chooses one and computes nothing else.

    Under a mask they are, too: the identity is no position.
    """
    graph, n = _graph(fold_), len(fold_.args)
    return [
        k for k, arg in enumerate(fold_.args) if _is_position(arg, graph.identity[k]) and _chooses(graph.combine, k, n)
    ]


def _is_position(e: Expr, identity: object) -> bool:
    masked = e.op == "where" and e.args[2].op == "const" and e.args[2].value == identity
    return (e.args[1] if masked else e).op == "iota"


def _chooses(combine: tuple[Expr, ...], k: int, n: int) -> bool:
    """Whether value k of a state of n is one of both operands' values k, which nothing but comparisons looks at."""
    positions: set[str] = set()
    for e in walk(combine):
        among = [a.digest in positions for a in e.args]
        own = e.op == "param" and e.value in (k, n + k)
        if own or (e.op == "where" and not among[0] and all(among[1:])):
            positions.add(e.digest)
        elif any(among) and not (e.op in _COMPARISONS and all(among)):
            return False
    return all((e.digest in positions) == (i == k) for i, e in enumerate(combine))


_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


@dataclass(frozen=True)
class Merged(_OfElements):
    """The program from states along the reduced axis, in order, to one state.

    It takes the values of the states, and where any is a chosen position, how many elements come before each state.
    """

    cut: Cut

    @property
    def __name__(self) -> str:
        return self.cut.name

    def of_elements(self, *values: Value) -> tuple[Sym, ...]:
        """The values of the state."""
        return tuple(Sym(e) for e in _states(_folded(self.cut, values)))


@dataclass(frozen=True)
class Finished(_OfElements):
    """The program from states along the reduced axis, in order, to the results.

    It takes what ``Merged`` takes, and the number of all elements.
    """

    cut: Cut

    @property
    def __name__(self) -> str:
        return self.cut.name

    def of_elements(self, *values: Value) -> Any:
        """The results."""
        *states, count = values
        found = self.cut.traced()
        (fold_of_elements,) = found.program.reduces
        swapped = dict(zip(map(_digest, _states(fold_of_elements)), _states(_folded(self.cut, states)), strict=True))
        for e in walk(found.program.outputs):
            if e.op == "count":
                swapped[e.digest] = split(cast(fold(MAX, count), e.dtype))[0].expr  # it is the same beside every state
        outputs = [Sym(e) for e in rewrite(found.program.outputs, swapped)]
        parts = len(outputs) - len(found.checks)  # checks come last
        current_scope().checks.extend(zip(found.checks, outputs[parts:], strict=True))
        return nest(found.structure, join(found.results, outputs[:parts]))


def _folded(cut: Cut, values: Sequence[Value]) -> Expr:
    """The fold of states, whose positions are made those of the whole."""
    graph, chosen = cut.monoid, cut.chosen
    own = [split(v)[0] for v in (values[:-1] if chosen else values)]
    for k in chosen:
        found, before = own[k], cast(values[-1], own[k].dtype)
        own[k] = where(found == graph.identity[k], found, found + before)  # of no elements the identity remains
    return Expr("reduce", tuple(s.expr for s in own), own[0].dtype, KEPT, graph)


def _states(reduce: Expr) -> list[Expr]:
    """The values of the state that a ``reduce`` node leaves."""
    return [Expr("result", (reduce,), a.dtype, KEPT, i) for i, a in enumerate(reduce.args)]


def _digest(e: Expr) -> str:
    return e.digest
