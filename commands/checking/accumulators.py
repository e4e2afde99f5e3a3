"""State values that a combine only adds or multiplies: their greatest magnitude in any order is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiler.program.graph import Expr, MonoidGraph, walk
from ...compiler.program.numeric import Array
from .running_error import Error, Known

Addend = tuple[Expr, ...]
"""A term of a sum: one expression, or two that are multiplied."""


@dataclass(frozen=True)
class Addends:
    """How a value is combined with its counterpart.

    Attributes:
        position: the index of the value in the state.
        product: whether the combine multiplies the two, and does nothing else with them.
        others: what the combine adds to the two from other values of the state.
    """

    position: int
    product: bool = False
    others: tuple[Addend, ...] = ()

    @property
    def roundings(self) -> int:
        """Additions of a combine."""
        return 1 + len(self.others)

    def reach(self, left: Array, right: Array, memo: dict[str, Known]) -> Array:
        """The greatest magnitude of the combined value in any order, from those of the two operands."""
        if self.product:
            return left * right
        total = left + right
        for other in self.others:
            total = total + np.abs(np.prod([memo[e.digest].value for e in other], axis=0))
        return total

    def errors(self, memo: dict[str, Known]) -> list[Error]:
        """The errors of the other addends."""
        found: list[Error] = []
        for other in self.others:
            for i, e in enumerate(other):
                factors = [np.abs(memo[o.digest].value) for j, o in enumerate(other) if j != i]
                error = memo[e.digest].error
                found.append(error if error is None or not factors else error * factors[0])
        return found


def addends(graph: MonoidGraph, position: int) -> Addends | None:
    """How the value at ``position`` is combined; None unless it is only added or multiplied."""
    count, e = len(graph.state), graph.combine[position]
    own = {position, position + count}
    if e.op == "mul" and {_param(a) for a in e.args} == own:
        return Addends(position, product=True)
    terms = _terms(e)
    plain = [t for t in terms if len(t) == 1 and _param(t[0]) in own]
    others = tuple(t for t in terms if t not in plain)
    if sorted(_param(t[0]) for t in plain) != sorted(own):
        return None
    return (
        None
        if any(_param(n) in own for n in walk(tuple(o for t in others for o in t)))
        else Addends(position, False, others)
    )


def _param(e: Expr) -> int:
    """The index of a parameter; -1 for any other expression."""
    return e.value if e.op == "param" else -1  # type: ignore[return-value]


def _terms(e: Expr) -> list[Addend]:
    """The terms that ``e`` adds up, without their signs, which magnitudes do not depend on."""
    if e.op in ("add", "sub", "neg"):
        return [t for a in e.args for t in _terms(a)]
    if e.op == "fma":
        return [e.args[:2], *_terms(e.args[2])]
    return [(e,)]
