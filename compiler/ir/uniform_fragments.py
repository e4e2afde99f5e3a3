"""Uniform fragments, whose elements are all equal, such as a count: one scalar stands for them.

Values that are constants of the kernel: all threads have the same, so they need not be exchanged.

The number of elements that a state stands for is such a value, where every thread has as many. Where states are
combined, what follows from it is then known, too, such as by which the sum of two means is divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..postorder import postorder
from ..program.analysis import formulas
from .combine import KEPT, Formula, width, with_shape
from .dialect.base import element
from .mlir import arith, ir

Maker = Callable[[], Any]


def uniform(v: Any) -> Maker | None:
    """A function that makes the scalar that all elements of ``v`` equal; None if they may differ."""
    order = list(postorder([v], _operands))
    alike = set[Any]()
    for x in order:
        if _is_alike(x, alike):
            alike.add(x)
    return (lambda: _made(order)) if v in alike else None


def _operands(v: Any) -> Sequence[Any]:
    """The fragments that those of ``v`` are computed from, element by element."""
    if width(v.type) == 1 or isinstance(v, ir.BlockArgument) or len(v.owner.results) != 1:
        return ()
    op = v.owner.operation
    return list(op.operands) if op.name.startswith(("arith.", "math.")) else ()


def _is_alike(v: Any, alike: set[Any]) -> bool:
    """Whether the elements of ``v`` are equal; ``alike`` holds the operands whose elements are equal."""
    if width(v.type) == 1:
        return True
    if isinstance(v, ir.BlockArgument) or len(v.owner.results) != 1:
        return False
    op = v.owner.operation
    if op.name == "vector.broadcast":
        return width(op.operands[0].type) == 1
    if op.name == "arith.constant":
        return bool(ir.DenseElementsAttr(op.attributes["value"]).is_splat)
    return op.name.startswith(("arith.", "math.")) and all(x in alike for x in op.operands)


def _made(order: Sequence[Any]) -> Any:
    """Makes the scalars of uniform fragments, operands first; returns the last."""
    memo: dict[Any, Any] = {}
    for v in order:
        memo[v] = v if width(v.type) == 1 else _scalar(v, memo)
    return memo[order[-1]]


def _scalar(v: Any, memo: dict[Any, Any]) -> Any:
    """The scalar that the elements of ``v`` equal; ``memo`` has those of its operands."""
    op = v.owner.operation
    if op.name == "vector.broadcast":
        return op.operands[0]
    if op.name == "arith.constant":
        one = ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()
        return arith.constant(one.type, one)
    operands, attributes = [memo[x] for x in op.operands], dict(op.attributes.items())
    return ir.Operation.create(op.name, [v.type.element_type], operands, attributes, loc=op.location).results[0]


def known(v: Any) -> float | None:
    """The number that all elements of ``v`` are known to be."""
    if not _sources(v):  # as of most values, of which no walk is made
        return _number(v, ())
    memo: dict[Any, float | None] = {}
    for x in postorder([v], _sources):
        memo[x] = _number(x, [memo[y] for y in _sources(x)])
    return memo[v]


def _sources(v: Any) -> Sequence[Any]:
    """The values from which the number of ``v`` may be known."""
    if isinstance(v, ir.BlockArgument) or v.owner.operation.name not in ("vector.broadcast", "arith.select"):
        return ()
    return list(v.owner.operation.operands)


def _number(v: Any, sources: Sequence[float | None]) -> float | None:
    """The number that ``v`` is known to be, from the numbers of its sources."""
    if isinstance(v, ir.BlockArgument):
        return None
    op = v.owner.operation
    if op.name == "arith.constant":
        value = op.attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr):
            return float(value.value)
        return float(value.get_splat_value().value) if value.is_splat else None
    if op.name == "vector.broadcast":
        return sources[0]
    if op.name == "arith.select":
        which, yes, no = sources
        return yes if which or yes == no else no if which == 0 else None
    return None


@lru_cache(KEPT)
def independent(formula: Formula, values: frozenset[int]) -> frozenset[int]:
    """``formulas.independent`` for a combine in the IR."""
    return frozenset(formulas.independent(formula.made, set(values), formula.read))


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
