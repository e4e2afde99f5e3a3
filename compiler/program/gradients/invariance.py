"""Values that a program subtracts and adds back: the results do not change with them, so they take no gradient.

The greatest element of a row in a softmax is one. With exp(-m) = t, a value depends on m as ``k m`` added to, or as
``t^k`` times, a value that does not depend on it; k is followed through the graph. Where it is 0 for all results, the
gradient of m vanishes, and neither ties nor the sum that would show it are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..analysis.atomic import operation
from ..array_program import Fold, Scan
from ..graph import Expr
from .folds import is_logsumexp


class Change(NamedTuple):
    """How a value depends on m: it is ``added`` times m added to, or exp(``power`` m) times, what does not."""

    added: float = 0.0
    power: float = 0.0


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
        if begun and _cancels(order, roots, begun, scans=e.op == "scan"):
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


def _cancels(order: Sequence[Expr], roots: Sequence[Expr], begun: Mapping[str, Change], *, scans: bool) -> bool:
    """Whether the roots do not change."""
    found = dict(begun)
    for e in order:
        if e.digest not in found and any(a.digest in found for a in e.args):
            own = [found.get(a.digest, NONE) for a in e.args]
            change = UNKNOWN if e.op == "fold" and scans else _change(e, own)  # each element has a change of its own
            if change != NONE:
                found[e.digest] = change
    return all(abs(x) < 1e-9 for r in roots for x in found.get(r.digest, NONE))


def _change(e: Expr, own: Sequence[Change]) -> Change:
    """How a node changes, of which an operand does."""
    if not e.dtype.is_float or e.op == "detached":
        return NONE  # it has no gradient
    if e.op == "where":
        return _chosen(e, own)
    if e.op == "fma":
        return _sum(_product(e, own[:2]), own[2], 1.0)
    rule = _RULES.get(e.op)
    return rule(e, own) if rule else UNKNOWN


def _sum(a: Change, b: Change, sign: float) -> Change:
    if a.power == b.power == 0.0:
        return Change(added=a.added + sign * b.added)
    return a if a.power == b.power and a.added == b.added == 0.0 else UNKNOWN


def _product(e: Expr, own: Sequence[Change], sign: float = 1.0) -> Change:
    """Of a product with a sign of 1, of a quotient with one of -1."""
    a, b = own
    if a.added == b.added == 0.0:
        return Change(power=a.power + sign * b.power)
    for x, y, factor in ((a, b, e.args[1]), (b, a, e.args[0])):
        if factor.op == "const" and y == NONE and x.power == 0.0 and (sign > 0 or x is a):
            return Change(added=x.added * float(factor.value) ** sign)  # type: ignore[arg-type]
    return UNKNOWN


def _chosen(e: Expr, own: Sequence[Change]) -> Change:
    """Of two alternatives that change alike; where a value is infinite, nothing has a gradient."""
    condition, (_, a, b) = e.args[0], own
    infinite = condition.op == "eq" and any(x.op == "const" and abs(x.value) == math.inf for x in condition.args)  # type: ignore[arg-type]
    return b if infinite or a == b else UNKNOWN


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


def _of_fold(e: Expr, own: Sequence[Change]) -> Change:
    assert isinstance(e.value, Fold)
    how = operation(e.value.monoid)
    return own[0] if how in ("max", "min") or (how == "add" and own[0].added == 0.0) else UNKNOWN


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
    "fold": _of_fold,
    "result": lambda _, own: own[0],
}
"""How a node changes with its operands, by its operation."""
