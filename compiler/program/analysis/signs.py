"""Signs that follow from what was folded: no element is above the maximum of all."""

from __future__ import annotations

from ..graph import Expr, MonoidGraph
from .proofs import operation_of


def is_at_most_zero(e: Expr) -> bool:
    """Whether ``e`` is an element less the maximum of these elements, which is at most 0, or NaN."""
    if e.op != "sub" or e.args[1].op != "result":
        return False
    (reduce,), position = e.args[1].args, e.args[1].value
    monoid = reduce.value
    if not isinstance(monoid, MonoidGraph) or not isinstance(position, int):
        return False
    return reduce.args[position] == e.args[0] and operation_of(monoid, position) == "max"
