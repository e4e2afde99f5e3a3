"""Code for anchored monoids (``program/analysis/anchors.py``): several states combined under one anchor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

from ..postorder import postorder
from ..program.analysis.anchors import Term, sums_of
from ..program.analysis.formulas import Read, needed
from .build import i32
from .combine import KEPT, Combine, Formula, clone, combine, splat, tree, width
from .dialect.base import element
from .mlir import arith, ir, math
from .uniform_fragments import known
from .unrolled_loops import unrolled

MANY = 4
"""From how many states on the code that moves one to an anchor is written once, in a loop that is unrolled."""
FEW = 3
"""States that are joined pair by pair if that is less: of a pair only one is seen from elsewhere."""


class Anchored:
    """The combine of an anchored monoid, split into anchor and sums.

    Attributes:
        anchors, sums: the numbers of the values that are the anchor, and of the sums.
        linear: whether sums seen from elsewhere are products with sums, so that parts of them may be seen one by one.
    """

    def __init__(self, combine: Combine, parts: Parts) -> None:
        values, count = combine.values, len(combine.formula.made)
        self.anchors, self.sums, self.linear, self._picks = parts.anchors, parts.sums, parts.linear, parts.picks
        self._left, self._right = values[:count], values[count : 2 * count]
        self._made = [values[k] for k in combine.formula.made]
        self._terms = {k: [tuple(values[v] for v in term) for term in terms] for k, terms in parts.terms}
        self._joining, self._moving = (_ops(values, own) for own in (parts.joining, parts.moving))

    def anchor_of(self, state: Sequence[Any]) -> list[Any]:
        """The values of a state that are its anchor."""
        return [state[k] for k in self.anchors]

    def sums_of(self, state: Sequence[Any]) -> list[Any]:
        """The values of a state that are its sums."""
        return [state[k] for k in self.sums]

    def state(self, anchor: Sequence[Any], sums: Sequence[Any]) -> list[Any]:
        """The state of both."""
        found = dict(zip((*self.anchors, *self.sums), (*anchor, *sums), strict=True))
        return [found[k] for k in sorted(found)]

    def join(self, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        """The anchor of two states."""
        mapping = dict(zip(self.anchor_of(self._left), left, strict=True))
        mapping |= zip(self.anchor_of(self._right), right, strict=True)
        clone(self._joining, mapping)
        return [mapping[v] for v in self.anchor_of(self._made)]

    def join_all(self, anchors: Sequence[list[Any]]) -> list[Any]:
        """One anchor of several, neighbours first; of an odd number the first comes last, as a state so far does."""
        level = list(anchors)
        while len(level) > 1:
            alone = len(level) % 2
            level[alone:] = [self.join(*level[i : i + 2]) for i in range(alone, len(level), 2)]
        return level[0]

    def joined(self, states: Sequence[Sequence[Any]]) -> list[Any]:
        """The state of several, element by element where they are fragments; of FEW the last ones come first."""
        if len(states) == 1:
            return list(states[0])
        if len(states) == 2 or (len(states) <= FEW and self._picks):
            return self.pair(states[0], self.joined(states[1:]))
        anchor = self.join_all([self.anchor_of(s) for s in states])
        return self.state(anchor, self.add(states, anchor))

    def pair(self, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        """Combines two states. If the common anchor is that of one state, only the other state changes its anchor."""
        anchor = self.join(self.anchor_of(left), self.anchor_of(right))
        if not self._picks:
            return self.state(anchor, self.add([left, right], anchor))
        here = _equal(anchor[0], *self.anchor_of(right))
        other = [_select(here, *both) for both in zip(left, right, strict=True)]
        own = [_select(here, *both) for both in zip(self.sums_of(right), self.sums_of(left), strict=True)]
        return self.state(anchor, self.add([other], anchor, own))

    def add(self, states: Sequence[Sequence[Any]], anchor: Sequence[Any], own: Sequence[Any] = ()) -> list[Any]:
        """Adds the sums of ``states``, moved to one ``anchor``, to the ``own`` sums, by fused multiply-adds."""
        totals: list[Any] = list(own) or [None] * len(self.sums)
        if len(states) < MANY:
            return reduce(partial(self._added, anchor), states, totals)
        totals = self._added(anchor, totals, states[0])
        alike = [k for k, values in enumerate(zip(*states[1:], strict=True)) if _alike(values)]
        own = [[v for k, v in enumerate(state) if k not in alike] for state in states[1:]]

        def turn(_: Any, values: Sequence[Any], so_far: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            given = iter(values)
            state = [states[1][k] if k in alike else next(given) for k in range(len(states[1]))]
            return [], self._added(anchor, so_far, state)

        _, totals = unrolled(own, [], turn, [i32(0), i32(len(own)), i32(1)], totals)
        return totals

    def _added(self, anchor: Sequence[Any], totals: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """The totals, none at first, and the sums of a state, moved to an anchor."""
        mapping = dict(zip(self._left, state, strict=True))
        mapping |= zip(self.anchor_of(self._made), anchor, strict=True)
        clone(self._moving, mapping)
        terms = ([tuple(mapping.get(v, v) for v in term) for term in self._terms[k]] for k in self.sums)
        return [reduce(_plus, own, total) for own, total in zip(terms, totals, strict=True)]


def anchored(combine: Combine) -> Anchored | None:
    """A combine, split; None if its monoid is not anchored."""
    parts = _parts(combine.formula)
    return Anchored(combine, parts) if parts else None


def plus(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The sums of two states with one anchor, added."""
    return [_plus(a, (b,)) for a, b in zip(left, right, strict=True)]


def joined(region: Any, states: Sequence[Callable[[], Sequence[Any]]]) -> list[Any]:
    """``tree``, but that the states of an anchored monoid come together at once."""
    found = anchored(Combine.of(region)) if len(states) > 1 else None
    return found.joined([list(make()) for make in states]) if found else tree(region, states)


def met(region: Any, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """``combine``, or what is less for the two states of an anchored monoid."""
    found = anchored(Combine.of(region))
    return found.pair(left, right) if found else combine(region, left, right)


# --- the parts of a combine -----------------------------------------------------------------------------------------
class Parts(NamedTuple):
    """What is anchor and what is sum in a formula.

    Attributes:
        anchors, sums, linear: as in ``Anchored``.
        terms: the terms of each sum.
        joining, moving: the nodes that join anchors, and those that move a state's sums to another anchor.
        picks: whether the anchor of a combined state is always the anchor of one of the two states.
    """

    anchors: tuple[int, ...]
    sums: tuple[int, ...]
    linear: bool
    terms: tuple[tuple[int, tuple[Term, ...]], ...]
    joining: tuple[int, ...]
    moving: tuple[int, ...]
    picks: bool


@lru_cache(KEPT)
def _parts(formula: Formula) -> Parts | None:
    """The parts of a formula; None if its monoid is not anchored."""
    made, read, count = formula.made, formula.read, len(formula.made)
    terms = sums_of(made, read)
    if not terms:
        return None
    sums, anchors = tuple(sorted(terms)), tuple(k for k in range(count) if k not in terms)
    ends = [made[k] for k in anchors]
    factors = [v for k in sums for term in terms[k] for v in term]
    with_sum = _products_with(factors, {s + side for s in sums for side in (0, count)}, read)
    return Parts(
        anchors,
        sums,
        all(not with_sum.isdisjoint(term) for k in sums for term in terms[k]),
        tuple((k, tuple(own)) for k, own in terms.items()),
        tuple(sorted(needed(ends, set(), read))),
        tuple(sorted(needed(factors, set(ends), read))),
        _is_pick(ends, {k + side for k in anchors for side in (0, count)}, read),
    )


def _ops(values: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
    """The ops, in order, that make the values of these numbers."""
    made = (values[k].owner for k in numbers)
    return list(dict.fromkeys(op.operation for op in made))


def _products_with(factors: Sequence[int], sums: set[int], read: Read) -> set[int]:
    """The sums among the ``factors``, and the products that have one as a factor."""
    found = set(sums)
    for v in postorder(factors, lambda v: read(v).args if read(v).op == "mul" else ()):
        if read(v).op == "mul" and not found.isdisjoint(read(v).args):
            found.add(v)
    return found


def _is_pick(ends: Sequence[int], anchors: set[int], read: Read) -> bool:
    """Whether the anchor of a combined state is always one of the two ``anchors``."""
    if len(ends) != 1:
        return False
    node = read(ends[0])
    return node.op.split(" ", 1)[0] in _PICKS and {*node.args[-2:]} == anchors


_PICKS = ("arith.select", *(f"arith.{which}{kind}" for which in ("max", "min") for kind in ("imumf", "si", "ui")))


# --- sums -----------------------------------------------------------------------------------------------------------
def _equal(a: Any, b: Any) -> Any:
    if isinstance(element(a.type), ir.FloatType):
        return arith.cmpf(arith.CmpFPredicate.OEQ, a, b)
    return arith.cmpi(arith.CmpIPredicate.eq, a, b)


def _alike(values: Sequence[Any]) -> bool:
    """Whether values are known to be equal."""
    number = known(values[0])
    return all(v == values[0] for v in values) or (number is not None and all(known(v) == number for v in values))


def _select(condition: Any, a: Any, b: Any) -> Any:
    lanes = max(width(v.type) for v in (condition, a, b))
    return arith.select(condition, splat(a, lanes), splat(b, lanes))


def _plus(total: Any, term: Term) -> Any:
    """``total``, none at first, and one term more; what is known to be zero adds nothing."""
    zeros = [v for v in term if known(v) == 0]
    if zeros:
        return zeros[0] if total is None else total
    given = term if total is None or known(total) == 0 else (total, *term)
    lanes = max(width(v.type) for v in given)
    given = tuple(splat(v, lanes) for v in given)
    floats = isinstance(element(given[0].type), ir.FloatType)
    if len(given) == 1:
        return given[0]
    if len(given) == 3:
        start, a, b = given
        # a product that is a factor of one, as an element's exponential, may be added as it is, too
        fused = arith.FastMathFlags.contract
        return math.fma(a, b, start, fastmath=fused) if floats else arith.addi(start, arith.muli(a, b))
    if len(term) == 2:
        return (arith.mulf if floats else arith.muli)(*given)
    return (arith.addf if floats else arith.addi)(*given)
