"""Values that a program subtracts and adds back: the results do not change with them, so they take no gradient.

The greatest element of a row in a softmax is one. With exp(-m) = t, a value depends on m as ``k m`` added to, or as
``t^k`` times, a value that does not depend on it; k is followed through the graph. Where it is 0 for all results, the
gradient of m vanishes, and neither ties nor the sum that would show it are computed.

Range: m is the result of an extreme, or the exponent of a pair of ``LOGSUMEXP``, in floats, with one number for each
index along its dims. A value that varies along all of these has one such number to depend on. A fold over one of them
meets several, and what it gives counts as unknown, as does what any operation without a rule gives. The numbers k are
floats: sums of them that rounding alone keeps from 0 are 0. A gradient to a row whose m is infinite is not promised: a
program may ask whether m itself is, and choose another value there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..analysis.atomic import operation
from ..array_program import Fold, Scan
from ..graph import Expr, Space
from .folds import is_logsumexp


class Change(NamedTuple):
    """How a value depends on m: it is ``added`` times m added to, or exp(``power`` m) times, what does not."""

    added: float = 0.0
    power: float = 0.0


ROUNDED = 2.0**-50
"""The relative error of a product of a few constants in f64, such as log2(e) and ln(2)."""
NONE = Change()
UNKNOWN = Change(math.nan, math.nan)


def unchanging(order: Sequence[Expr], roots: Sequence[Expr]) -> set[str]:
    """The digests of the extremes of rows that do not change the roots.

    Args:
        order: the nodes below the roots, operands before users.
        roots: the results.
    """
    found: set[str] = set()
    for e in order:
        first, begun = _begun(e) if e.op in ("fold", "scan") and e.dtype.is_float else ("", {})
        if begun and _Shift(first, e.space, begun).cancels(order, roots):
            found.add(first)
    return found


def _begun(made: Expr) -> tuple[str, dict[str, Change]]:
    """The first value of a state that is an extreme, or the exponent of a pair, and how the state changes with it."""
    assert isinstance(made.value, Fold | Scan)
    state = [Expr("result", (made,), a.dtype, made.space, i).digest for i, a in enumerate(made.args)]
    if operation(made.value.monoid) in ("max", "min"):
        return state[0], {state[0]: Change(added=1.0)}
    if is_logsumexp(made.value.monoid):
        return state[0], {state[0]: Change(added=1.0), state[1]: Change(power=-1.0)}
    return "", {}


class _Shift:
    """What depends on one value, m.

    Attributes:
        first: the digest of m.
        space: the dims along which it varies.
        found: how values change with it, by their digests; the others do not.
    """

    def __init__(self, first: str, space: Space, begun: Mapping[str, Change]) -> None:
        self.first, self.space, self.found = first, space, dict(begun)

    def cancels(self, order: Sequence[Expr], roots: Sequence[Expr]) -> bool:
        """Whether the roots do not change."""
        for e in order:
            if e.digest not in self.found and any(a.digest in self.found for a in e.args):
                change = self._change(e, [self.found.get(a.digest, NONE) for a in e.args])
                if change != NONE:
                    self.found[e.digest] = change
        return all(self.found.get(r.digest, NONE) == NONE for r in roots)

    def _change(self, e: Expr, own: Sequence[Change]) -> Change:
        """How a node changes, of which an operand does."""
        if not e.dtype.is_float or e.op == "detached":
            return NONE  # it has no gradient
        if e.op == "where":
            return self._chosen(e, own)
        if e.op == "fold":
            return self._folded(e, own)
        if e.op == "fma":
            return _sum(_product(e, own[:2]), own[2], 1.0)
        rule = _RULES.get(e.op)
        return rule(e, own) if rule else UNKNOWN

    def _chosen(self, e: Expr, own: Sequence[Change]) -> Change:
        """Of two alternatives that change alike, or of the one for a finite m."""
        condition, (_, a, b) = e.args[0], own
        tests = (condition.args, condition.args[::-1]) if condition.op == "eq" else ()
        infinite = any(self._is_first(x) and y.op == "const" and abs(y.value) == math.inf for x, y in tests)  # type: ignore[arg-type]
        return b if infinite or a == b else UNKNOWN

    def _is_first(self, e: Expr) -> bool:
        """Whether ``e`` is m, or its absolute value."""
        return (e.args[0] if e.op == "abs" else e).digest == self.first

    def _folded(self, e: Expr, own: Sequence[Change]) -> Change:
        """Of elements with the same m: their extreme changes as they do, their sum as a factor of all does."""
        assert isinstance(e.value, Fold)
        how = "" if e.value.over & self.space else operation(e.value.monoid)
        return own[0] if how in ("max", "min") or (how == "add" and own[0].added == 0.0) else UNKNOWN


def _sum(a: Change, b: Change, sign: float) -> Change:
    if a.power == b.power == 0.0:
        return Change(added=_total(a.added, sign * b.added))
    return a if a.power == b.power and a.added == b.added == 0.0 else UNKNOWN


def _product(e: Expr, own: Sequence[Change], sign: float = 1.0) -> Change:
    """Of a product with a sign of 1, of a quotient with one of -1."""
    a, b = own
    if a.added == b.added == 0.0:
        return Change(power=_total(a.power, sign * b.power))
    for x, y, factor in ((a, b, e.args[1]), (b, a, e.args[0])):
        k = float(factor.value) if factor.op == "const" else 0.0  # type: ignore[arg-type]
        if k and math.isfinite(k) and y == NONE and x.power == 0.0 and (sign > 0 or x is a):
            return Change(added=x.added * k**sign)
    return UNKNOWN


def _total(a: float, b: float) -> float:
    """The sum of two numbers, 0 where only the rounding of constants keeps it from that."""
    return 0.0 if math.isclose(a, -b, rel_tol=ROUNDED) else a + b


def _scaled(of_added: float, of_power: float) -> _Rule:
    """Of a function that turns what is added into a power, or the reverse; or that takes a root."""

    def change(_: Expr, own: Sequence[Change]) -> Change:
        (x,) = own
        if of_added and x.power == 0.0:
            return Change(power=x.added * of_added)
        return Change(added=x.power * of_power) if of_power and x.added == 0.0 else UNKNOWN

    return change


def _root(power: float) -> _Rule:
    return lambda _, own: Change(power=own[0].power * power) if own[0].added == 0.0 else UNKNOWN


_Rule = Callable[[Expr, Sequence[Change]], Change]
_RULES: dict[str, _Rule] = {
    "add": lambda _, own: _sum(own[0], own[1], 1.0),
    "sub": lambda _, own: _sum(own[0], own[1], -1.0),
    "mul": _product,
    "div": lambda e, own: _product(e, own, -1.0),
    "neg": lambda _, own: Change(-own[0].added, own[0].power),
    "cast": lambda _, own: own[0],
    "abs": _root(1.0),
    "sqrt": _root(0.5),
    "rsqrt": _root(-0.5),
    "max": lambda _, own: own[0] if own[0] == own[1] else UNKNOWN,
    "min": lambda _, own: own[0] if own[0] == own[1] else UNKNOWN,
    "exp": _scaled(1.0, 0.0),
    "exp2": _scaled(math.log(2.0), 0.0),
    "log": _scaled(0.0, 1.0),
    "log2": _scaled(0.0, 1.0 / math.log(2.0)),
    "result": lambda _, own: own[0],
}
"""How a node changes with its operands, by its operation."""
