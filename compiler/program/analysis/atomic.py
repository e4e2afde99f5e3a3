"""Which monoids an atomic instruction combines."""

from __future__ import annotations

from ..graph import MonoidGraph
from .proofs import operation_of


def exact(monoid: MonoidGraph) -> bool:
    """Whether combining in any order gives the same bits and the hardware has the atomic: one integer operation."""
    if len(monoid.state) != 1 or monoid.state[0].is_float or monoid.state[0].bits not in (32, 64):
        return False
    return operation(monoid) in ("add", "and", "or", "xor", "min", "max")


def adds(monoid: MonoidGraph) -> bool:
    """Whether the monoid is one float sum, for which the hardware has an atomic, of no fixed order."""
    single = len(monoid.state) == 1 and monoid.state[0].is_float and monoid.state[0].bits in (32, 64)
    return single and operation(monoid) == "add"


def operation(monoid: MonoidGraph) -> str:
    """The one operation that combines two states; empty for several operations, or several values in a state."""
    return operation_of(monoid, 0) if len(monoid.state) == 1 else ""
