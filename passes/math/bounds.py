"""Bounds of a float that follow from the ops that compute it, such as a clamp; the value may still be NaN."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan
from typing import Any

from ...compiler.ir.emit import AT_MOST_ZERO
from ...compiler.ir.mlir import ir
from ...compiler.postorder import postorder

Bounds = tuple[float, float]


def bounds(x: Any) -> Bounds:
    """The least and the greatest number that ``x``, a fragment of floats, can be."""
    memo: dict[Any, Bounds] = {}
    for v in postorder([x], _sources):
        if sources := _sources(v):
            low, high = zip(*(memo[y] for y in sources), strict=True)
            memo[v] = _FROM[v.owner.name](low, high)
        elif not isinstance(v, ir.BlockArgument) and v.owner.name == "arith.constant":
            memo[v] = _of_constant(v.owner.attributes["value"])
        elif not isinstance(v, ir.BlockArgument) and AT_MOST_ZERO in v.owner.attributes:
            memo[v] = -inf, 0.0
        else:
            memo[v] = -inf, inf
    return memo[x]


def _sources(x: Any) -> list[Any]:
    """The values whose bounds decide those of ``x``."""
    if isinstance(x, ir.BlockArgument) or x.owner.name not in _FROM:
        return []
    return list(x.owner.operands)[-2:]


def _of_constant(attribute: Any) -> Bounds:
    if isinstance(attribute, ir.FloatAttr):
        return attribute.value, attribute.value
    values = list(ir.DenseFPElementsAttr(attribute))
    return min(values), max(values)


def _of_product(low: tuple[float, ...], high: tuple[float, ...]) -> Bounds:
    found = [a * b for a in (low[0], high[0]) for b in (low[1], high[1])]
    return (-inf, inf) if any(map(isnan, found)) else (min(found), max(found))


_FROM: dict[str, Callable[[tuple[float, ...], tuple[float, ...]], Bounds]] = {
    "vector.broadcast": lambda low, high: (low[0], high[0]),
    "arith.negf": lambda low, high: (-high[0], -low[0]),
    "arith.mulf": _of_product,
    "math.absf": lambda low, high: (max(0.0, low[0], -high[0]), max(-low[0], high[0])),
    "arith.maximumf": lambda low, high: (max(low), max(high)),
    "arith.minimumf": lambda low, high: (min(low), min(high)),
    "arith.select": lambda low, high: (min(low), max(high)),
}
"""For each op, the bounds of its result from the least and the greatest numbers of its last two operands."""
