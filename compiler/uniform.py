"""Fragments whose elements are all equal, such as a count that no element has a part in: one scalar stands for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import formulas
from .combine import width
from .mlir import arith, ir
from .reader import made_by

Maker = Callable[[], Any]


def uniform(v: Any) -> Maker | None:
    """What makes, at the insertion point, the scalar that all elements of ``v`` equal; None where they may differ."""
    if width(v.type) == 1:
        return lambda: v
    if isinstance(v, ir.BlockArgument) or len(v.owner.results) != 1:
        return None
    op = v.owner.operation if hasattr(v.owner, "operation") else v.owner
    if op.name == "vector.broadcast" and width(op.operands[0].type) == 1:
        return lambda: op.operands[0]
    if op.name == "arith.constant":
        return _of_constant(op)
    if not op.name.startswith(("arith.", "math.")):
        return None
    makers = [uniform(x) for x in op.operands]
    known = [m for m in makers if m is not None]
    if len(known) != len(makers):
        return None
    t, attributes = v.type.element_type, dict(op.attributes.items())
    return lambda: ir.Operation.create(op.name, [t], [m() for m in known], attributes, loc=op.location).results[0]


def _of_constant(op: Any) -> Maker | None:
    value = ir.DenseElementsAttr(op.attributes["value"])
    if not value.is_splat:
        return None
    one = value.get_splat_value()
    return lambda: arith.constant(one.type, one)


def known(v: Any) -> float | None:
    """The number that all elements of ``v`` are known to be."""
    if isinstance(v, ir.BlockArgument):
        return None
    op = v.owner.operation
    if op.name == "arith.constant":
        value = op.attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr):
            return float(value.value)
        return float(value.get_splat_value().value) if value.is_splat else None
    if op.name == "vector.broadcast":
        return known(op.operands[0])
    if op.name == "arith.select":
        which, yes, no = map(known, op.operands)
        return yes if which or yes == no else no if which == 0 else None
    return None


def independent(region: Any, values: set[int]) -> set[int]:
    """The same as in ``formulas.py``, of a combine in the IR."""
    made, read = made_by(region)
    return formulas.independent(made, values, read)
