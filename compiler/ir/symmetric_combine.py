"""Whether a combine gives the same bits for two states in either order.

Then lanes that exchange states need no order for all of them to have the same bits. The test is structural: the values
that the combine yields must be the same expressions when both states are exchanged, where the operands of a commutative
op may come in either order. Such an op on floats gives the same bits in both orders: a GPU's sums and products have one
NaN for all payloads, and its minimum and maximum order the two zeros.
"""

from __future__ import annotations

from typing import Any

from .combine import unpack

COMMUTATIVE = frozenset(
    f"arith.{name}"
    for name in (
        "addi", "muli", "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui",
        "addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf",
    )
)  # fmt: skip


def is_symmetric(region: Any) -> bool:
    """Whether the combine ``region`` gives the same bits for (a, b) and (b, a)."""
    (block,) = region.blocks
    arguments = list(block.arguments)
    half, numbers = len(arguments) // 2, dict[Any, int]()
    exchanged = arguments[half:] + arguments[:half]
    return _yielded(block, arguments, numbers) == _yielded(block, exchanged, numbers)


def _yielded(block: Any, arguments: list[Any], numbers: dict[Any, int]) -> list[Any]:
    """A number for each expression that a block yields, if its arguments come in this order.

    Equal expressions have one number, which ``numbers`` remembers.
    """
    found: dict[Any, Any] = {a: -1 - k for k, a in enumerate(arguments)}
    *ops, last = [o.operation for o in block.operations]
    for op in ops:
        operands = [found.get(v, v) for v in op.operands]
        if op.name in COMMUTATIVE:
            operands.sort(key=str)
        attributes = frozenset((name, str(value)) for name, value in op.attributes.items())
        for k, result in enumerate(op.results):
            key = (op.name, k, str(result.type), attributes, tuple(operands))
            found[result] = numbers.setdefault(key, len(numbers))
    return [found.get(x, x) for v in last.operands for x in unpack(v)]
