"""Bounds of a float that follow from the ops just before it, such as a clamp; a NaN may be there all the same."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan
from typing import Any

from ..compiler.mlir import ir

Bounds = tuple[float, float]


def bounds(x: Any) -> Bounds:
    """The least and the greatest number that ``x``, a fragment of floats, can be."""
    if isinstance(x, ir.BlockArgument):
        return -inf, inf
    op = x.owner
    if op.name == "arith.constant":
        return _of_constant(op.attributes["value"])
    if op.name not in _FROM:
        return -inf, inf
    low, high = zip(*(bounds(v) for v in list(op.operands)[-2:]), strict=True)
    return _FROM[op.name](low, high)


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
