"""Whether a combine gives the same bits for two states in either order.

Then lanes that exchange states need no order for all of them to have the same bits. The test is structural: the values
that the combine yields must be the same expressions when both states are exchanged, where the operands of a commutative
op may come in either order. Such an op on floats gives the same bits in both orders: a GPU's sums and products have one
NaN for all payloads, and its minimum and maximum order the two zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .combine_reader import KEPT, Formula

COMMUTATIVE = frozenset(
    ("add", "mul")
    + tuple(
        f"arith.{name}"
        for name in (
            "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui", "maximumf", "minimumf", "maxnumf", "minnumf",
        )
    )
)  # fmt: skip


@lru_cache(KEPT)
def is_symmetric(formula: Formula) -> bool:
    """Whether a combine gives the same bits for (a, b) and (b, a)."""
    half, numbers = len(formula.made), dict[Any, int]()
    arguments = range(2 * half)
    exchanged = [*arguments[half:], *arguments[:half]]
    return _yielded(formula, arguments, numbers) == _yielded(formula, exchanged, numbers)


def _yielded(formula: Formula, arguments: Sequence[int], numbers: dict[Any, int]) -> list[int]:
    """A number for each expression that a combine yields, if its arguments come in this order.

    Equal expressions have one number, which ``numbers`` remembers.
    """
    found: list[int] = []
    for node in formula.nodes:
        operands = [found[v] for v in node.args]
        if node.op.split(" ", 1)[0] in COMMUTATIVE:
            operands.sort()
        argument = -1 - arguments[node.number] if node.op == "param" else 0
        found.append(argument or numbers.setdefault((node.op, tuple(operands)), len(numbers)))
    return [found[v] for v in formula.made]
