"""The reverse mode: from the gradients of results to those of the values that they are computed from.

Nodes are visited with users before operands. What a node gains of a user that varies along more dims is summed over
these: the adjoint of broadcasting is a sum, and the adjoint of a sum broadcasts.

The adjoint of each elementwise operation: what an operand gains from the gradient of the result.

Where a function has no derivative, its rule takes what PyTorch takes: 0 for ``abs`` at 0, half for each of two equal
operands of ``maximum`` and ``minimum``, all for what equals a bound of ``clip``, 0 for functions with steps, and 0 for
norms and standard deviations that are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...dtypes import BOOL
from ...errors import error
from .. import functions
from ..array_program import Fold, Scan
from ..arrays.types import computed
from ..function_table import TABLE
from ..functions import isnan, log, where
from ..graph import Expr, Space, union, walk
from ..monoid import Monoid
from ..symbols import Sym, constant, node
from ..values import cast
from .detached import BOUND, CORRECTION, RIGHT, ROOT
from .folds import added, is_logsumexp, of_fold, total
from .invariance import unchanging
from .scans import of_scan

Parts = Sequence[Any]
"""What each operand gains; None for nothing."""
Rule = Callable[..., Parts]
"""A function of the gradient, the result, and the operands."""


def _zero(x: Sym) -> Sym:
    return constant(0.0, x.dtype)


def _of_division(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    """One reciprocal in place of two divisions; of a divisor that a row shares it is one for the row."""
    inverse = 1.0 / y
    return g * inverse, -((g * z) * inverse)


def _of_modulo(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    return g, -(g * node("floordiv", x.dtype, x, y))


def _of_power(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    """A vanishing exponent gives a constant, and a vanishing base takes no logarithm."""
    base = where(y == 0.0, 0.0, g * (y * node("pow", x.dtype, x, y - 1.0)))
    return base, where((x == 0.0) & (y >= 0.0), 0.0, g * (z * log(x)))


def _of_extreme(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    """All of it to the operand that was taken, half to each of two equal ones; none to NaN that ``y`` bounds."""
    if z.expr.value == CORRECTION:
        return g, None
    if z.expr.value == BOUND:
        inside, beyond = (x >= y, x < y) if z.expr.op == "max" else (x <= y, x > y)
        return where(inside, g, 0.0), where(beyond, g, 0.0)
    half = g * 0.5
    taken, other = (x == z) | isnan(x), (y == z) | isnan(y)
    return where(taken, where(other, half, g), 0.0), where(other, where(taken, half, g), 0.0)


def _of_choice(g: Sym, z: Sym, condition: Sym, a: Sym, b: Sym) -> Parts:
    if z.expr.value == CORRECTION:
        return None, None, g
    return None, where(condition, g, _zero(g)), where(condition, _zero(g), g)


def _of_absolute(g: Sym, z: Sym, x: Sym) -> Parts:
    if z.expr.value == RIGHT:
        return (where(x >= 0.0, g, -g),)
    return (where(x > 0.0, g, where(x < 0.0, -g, _zero(g) * x)),)


def _of_root(g: Sym, z: Sym, x: Sym) -> Parts:
    slope = g * (0.5 / z)
    return (where(z == 0.0, 0.0, slope) if z.expr.value == ROOT else slope,)


RULES: dict[str, Rule] = {
    "add": lambda g, z, x, y: (g, g),
    "sub": lambda g, z, x, y: (g, -g),
    "mul": lambda g, z, x, y: (g * y, g * x),
    "div": _of_division,
    "fma": lambda g, z, x, y, c: (g * y, g * x, g),
    "neg": lambda g, z, x: (-g,),
    "mod": _of_modulo,
    "pow": _of_power,
    "abs": _of_absolute,
    "max": _of_extreme,
    "min": _of_extreme,
    "where": _of_choice,
    "cast": lambda g, z, x: (g,),
    **{row.name: partial(row.gradient, functions) for row in TABLE if row.gradient},
    "sqrt": _of_root,
}
"""The rule of each operation of floats that has a derivative; the table of functions has those of functions."""
CONSTANT = frozenset(("floordiv", "round", "floor", "ceil"))
"""The operations of floats whose derivative is 0 wherever it exists."""


class Root(NamedTuple):
    """A result whose gradient is known.

    Attributes:
        expr: its elements.
        gradient: their gradient.
        space: the dims along which the array of the result lies.
    """

    expr: Expr
    gradient: Sym
    space: Space


def gradients(
    roots: Sequence[Root], leaves: Collection[str], used: Mapping[str, Monoid], empty: Space
) -> dict[str, Sym]:
    """The gradients of leaves, by their digests; those that no root depends on are missing.

    Args:
        roots: the results.
        leaves: the digests of the nodes whose gradients are wanted.
        used: the monoids that have rules of their own, by ``folds.combination``.
        empty: the dims without elements, over which sums are 0 whatever factors they have.

    Raises:
        TraceError: WF901 for an operation or a monoid that has no gradient.
    """
    order = list(walk(tuple(r.expr for r in roots)))
    found = _Adjoints(order, leaves, used, empty)
    found.constant |= unchanging(order, [r.expr for r in roots])
    for e, gradient, space in roots:
        found.give(e, gradient, space)
    for e in reversed(order):
        found.visit(e)
    return found.leaves


class _Adjoints:
    """Gradients on their way from users to operands.

    Attributes:
        leaves: the gradients of the leaves.
        constant: the digests of nodes that take no gradient.
    """

    def __init__(
        self, order: Sequence[Expr], leaves: Collection[str], used: Mapping[str, Monoid], empty: Space
    ) -> None:
        self.leaves: dict[str, Sym] = {}
        self.constant: set[str] = set()
        self._wanted, self._used, self._empty = leaves, used, empty
        self._given: dict[str, dict[Space, list[Sym]]] = {}
        self._states: dict[str, dict[int, tuple[Expr, Sym]]] = {}
        touched: set[str] = set()  # also by way of bits, which a bitcast makes a float again
        for e in order:
            if e.digest in leaves:
                touched.add(e.digest)
                continue
            if (e.dtype != BOOL or e.op == "fold") and e.op not in STOPS and any(a.digest in touched for a in e.args):
                touched.add(e.digest)
            passes = e.op in ("fold", "scan", "result") or (e.dtype.is_float and e.op not in STOPS)
            operands = touched if e.op == "bitcast" else {a.digest for a in e.args} - self.constant
            if not (passes and any(a.digest in operands for a in e.args)):
                self.constant.add(e.digest)

    def give(self, e: Expr, gradient: Sym, space: Space) -> None:
        """Adds what ``e`` gains of a use that varies along ``space``."""
        if e.digest not in self.constant and e.dtype.is_float:
            self._given.setdefault(e.digest, {}).setdefault(space & ~e.space, []).append(gradient)

    def visit(self, e: Expr) -> None:
        """Passes the gradient of a node, to which all users have given, to its operands."""
        if e.op in ("fold", "scan") and e.digest in self._states:
            self._visit_state(e)
            return
        gradient = self._taken(e)
        if gradient is None or e.op in CONSTANT:
            return
        if e.digest in self._wanted:
            self.leaves[e.digest] = gradient
        elif e.op == "result":
            self._states.setdefault(e.args[0].digest, {})[e.value] = e, gradient  # type: ignore[index]
        elif e.op in RULES:
            parts = RULES[e.op](gradient, Sym(e), *map(Sym, e.args))
            for a, part in zip(e.args, parts, strict=True):
                if part is not None:
                    self.give(a, part, e.space)
        else:
            raise error("WF901", what=f"the operation {e.op}", remedy=_REMEDY, where=e.where)

    def _taken(self, e: Expr) -> Sym | None:
        """The gradient of a node; None if nothing reached it."""
        given = self._given.pop(e.digest, {})
        zero = constant(0.0, computed(e.dtype))
        by_dims = sorted(given.items())
        sums = [zero if over & self._empty else total(added(values), over) for over, values in by_dims]
        return cast(added(sums), computed(e.dtype)) if sums else None

    def _visit_state(self, e: Expr) -> None:
        """Passes the gradients of the results of a fold, or of a scan, to what it combines."""
        found, own = self._states[e.digest], e.value
        assert isinstance(own, Fold | Scan)
        state = [Sym(Expr("result", (e,), a.dtype, e.space, i)) for i, a in enumerate(e.args)]
        given = [found[i][1] if i in found else None for i in range(len(state))]
        if is_logsumexp(own.monoid) and given[0] is None and state[0].expr.digest not in self.constant:
            given[0] = constant(0.0, state[0].dtype)
        space = union(a.space for a in e.args) | own.over
        gained = of_scan(e, state, given) if isinstance(own, Scan) else of_fold(e, state, given, self._used)
        for a, part in zip(e.args, gained, strict=True):
            if part is not None:
                self.give(a, part, space)


STOPS = ("detached", "variable")
"""Nodes through which no gradient goes: constants, and variables of other gradients."""
_REMEDY = "take the value as a constant: wf.stop_gradient(x)"
