"""The adjoint of a scan: what each element gains from the gradients of the states at all elements from it on.

With h' = a h + b along the row, from its last element on, everything is a scan again. Product: of element i the sum of
the gradients of later products, each times the factors between, is such a recurrence; times the factors before, it is
the gradient. So nothing is divided, and zeros are as other factors. Extreme: the gradients add up from element to
element, up to one that is an extreme itself. Pairs (m, s) of ``LOGSUMEXP`` stand for s exp(m), and their gradients,
divided by exp(m), are pairs with exponents -m, which are greatest at the element: nothing overflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...errors import error
from ..analysis.proofs import operation_of
from ..array_program import Scan
from ..arrays.variables import scanned
from ..functions import exp, isnan, where
from ..graph import Expr, MonoidGraph
from ..library.monoids import LOGSUMEXP, PROD, SUM
from ..monoid import Monoid, monoid
from ..symbols import Sym
from ..values import cast
from .folds import Gradients, is_compensated, is_logsumexp, is_numbered


@monoid(identity=(1.0, 0.0), commutative=False)
def linear(f: Any, g: Any) -> Any:
    """The composition of ``h -> a h + b``, the left one first."""
    (a, b), (c, d) = f, g
    return a * c, b * c + d


@monoid(identity=(True, 0.0), commutative=False)
def kept(f: Any, g: Any) -> Any:
    """The same where a is a condition: whether h stays. An infinity that does not is gone."""
    (a, b), (c, d) = f, g
    return a & c, where(c, b, 0.0) + d


class Made(NamedTuple):
    """A scan of which gradients are wanted.

    Attributes:
        how: what it does.
        values: the elements.
        state: the states at every element.
    """

    how: Scan
    values: Sequence[Sym]
    state: Sequence[Sym]

    def scanned(self, graph: MonoidGraph, values: Sequence[Sym], *, exclusive: bool, back: bool = False) -> list[Sym]:
        """Another scan of the same rows, in the same direction or ``back``."""
        return scanned(Scan(graph, self.how.along, exclusive, self.how.reverse != back), values)

    def up_to(self) -> Sequence[Sym]:
        """The states with the element itself."""
        if not self.how.exclusive:
            return self.state
        return self.scanned(self.how.monoid, self.values, exclusive=False)

    def gathered(self, m: Monoid, a: Sym, g: Sym) -> Sym:
        """The sum of the gradients ``g`` of the states that have an element, each times the ``a`` between."""
        through = where(a, g, 0.0) if m is kept else a * g
        graph = m.typed(a.dtype, g.dtype)
        if self.how.exclusive:
            return self.scanned(graph, [a, g], exclusive=True, back=True)[1]
        return g + self.scanned(graph, [a, through], exclusive=True, back=True)[1]


def _of_sum(made: Made, i: int, g: Sym) -> Sym:
    del i
    return made.scanned(SUM.typed(g.dtype), [g], exclusive=made.how.exclusive, back=True)[0]


def _of_product(made: Made, i: int, g: Sym) -> Sym:
    """What the elements before make, times the gathered gradients, between which the factors lie."""
    x = made.values[i]
    (before,) = made.scanned(PROD.typed(x.dtype), [x], exclusive=True)
    return before * made.gathered(linear, x, g)


def _of_extreme(made: Made, i: int, g: Sym) -> Sym:
    """All to the last of equal elements, as PyTorch does."""
    x = made.values[i]
    found = (x == made.up_to()[i]) | isnan(x)
    return where(found, made.gathered(kept, ~found, g), 0.0)


def _of_place(made: Made, given: Gradients) -> Gradients:
    """The gradient to the elements that were found."""
    found = made.values[1] == made.up_to()[1]
    g = given[0]
    return (None if g is None else where(found, made.gathered(kept, ~found, g), 0.0), None)


def _of_logsumexp(made: Made, given: Gradients) -> Gradients:
    """As of a fold: nothing from states whose exponent is infinite, and what m alone gains goes to the greatest."""
    (x, factor), (m, s), (of_m, of_s) = made.values, made.state, given
    found: list[Sym | None] = [None, None]
    if of_s is not None:
        known = abs(m) < math.inf
        pairs = [where(known, -m, -math.inf), where(known, of_s, 0.0)]
        graph = LOGSUMEXP.typed(m.dtype, s.dtype)
        exponent, total = made.scanned(graph, pairs, exclusive=made.how.exclusive, back=True)
        relative = where(total == 0.0, 0.0, exp(x + exponent) * total)  # none where all exponents were infinite
        found = [relative * factor, relative]
    if of_m is not None:
        rest = _of_extreme(made, 0, of_m if of_s is None else of_m - s * of_s)
        found[0] = rest if found[0] is None else found[0] + rest
    return found


_BY_OPERATION: dict[str, Callable[[Made, int, Sym], Sym]] = {
    "add": _of_sum, "mul": _of_product, "max": _of_extreme, "min": _of_extreme,
}  # fmt: skip
"""The rule of a value that is combined by one operation of both operands."""


def of_scan(scan: Expr, state: Sequence[Sym], given: Gradients) -> Gradients:
    """What each element gains.

    Args:
        scan: the ``scan``.
        state: its results.
        given: their gradients.

    Raises:
        TraceError: WF901 for a monoid without a rule, located at the line that scans.
    """
    how = scan.value
    assert isinstance(how, Scan)
    made, graph = Made(how, [Sym(a) for a in scan.args], state), how.monoid
    given = [None if g is None else cast(g, s.dtype) for g, s in zip(given, state, strict=True)]
    if is_logsumexp(graph):
        return _of_logsumexp(made, given)
    if is_numbered(graph):
        return _of_place(made, given)
    rules = [_of_sum if is_compensated(graph) else _BY_OPERATION.get(operation_of(graph, i)) for i in range(len(state))]
    if any(g is not None and rule is None for g, rule in zip(given, rules, strict=True)):
        raise error("WF901", what=f"a scan with {graph.name}", remedy=_REMEDY, where=scan.where)
    pairs = enumerate(zip(given, rules, strict=True))
    return [None if g is None or rule is None else rule(made, i, g) for i, (g, rule) in pairs]


_REMEDY = (
    "write it as a program of your own, which scans from the other end: wf.scan(gradient, monoid, axis, "
    "reverse=True); the vjp of a monoid is that of a fold. Or take the value as a constant: wf.stop_gradient(x)"
)
