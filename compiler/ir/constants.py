"""Values that are constants of the kernel: all threads have the same, so they need not be exchanged.

The number of elements that a state stands for is such a value, where every thread has as many. Where states are
combined, what follows from it is then known, too, such as by which the sum of two means is divided.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..postorder import postorder
from .combine import width, with_shape
from .dialect.base import element
from .mlir import arith, ir

CAST = "builtin.unrealized_conversion_cast"
ROUNDED: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
"""Types whose sums are found, as a kernel rounds them."""


def constant(v: Any) -> Any:
    """The number that all elements of a value are, if it is a constant or a sum of such; else None."""
    known: dict[Any, Any] = {}
    if not _parts(v):  # as of most values, of which no walk is made
        return _found(v, known)
    for value in postorder([v], _parts):
        known[value] = _found(value, known)
        if known[value] is None:  # and so are all sums of it
            return None
    return known[v]


def _parts(v: Any) -> list[Any]:
    """The values from which ``v`` is known, if they are: of a sum the later term first, which has a shorter past."""
    if not isinstance(v, ir.OpResult):
        return []
    op = v.owner
    if op.name in ("vector.broadcast", "vector.extract"):
        return [op.operands[0]]
    if op.name == CAST:  # a state that was packed, and is taken apart
        packed = op.operands[0]
        is_state = isinstance(packed, ir.OpResult) and isinstance(packed.type, ir.TupleType)
        return [packed.owner.operands[v.result_number]] if is_state and packed.owner.name == CAST else []
    is_sum = op.name == "arith.addf" and str(element(v.type)) in ROUNDED
    return [op.operands[1], op.operands[0]] if is_sum else []


def _found(v: Any, known: dict[Any, Any]) -> Any:
    """The number that ``v`` is, where those of its parts are ``known``."""
    if isinstance(v, ir.OpResult) and v.owner.name == "arith.constant":
        value = v.owner.attributes["value"]
        if isinstance(value, ir.DenseElementsAttr):
            value = value.get_splat_value() if value.is_splat else None
        return value.value if isinstance(value, (ir.FloatAttr, ir.IntegerAttr)) else None
    terms = [known[x] for x in _parts(v)]
    if not terms:
        return None
    if len(terms) == 1:
        return terms[0]
    rounded = ROUNDED[str(element(v.type))]
    return float(rounded(terms[0]) + rounded(terms[1]))


def splat(number: Any, t: Any) -> Any:
    """The constant of type ``t`` of which all elements are ``number``."""
    scalar = element(t)
    whole = isinstance(scalar, ir.IntegerType)
    own = ir.IntegerAttr.get(scalar, int(number)) if whole else ir.FloatAttr.get(scalar, number)
    return arith.constant(t, own if t == scalar else ir.DenseElementsAttr.get_splat(with_shape(scalar, width(t)), own))
