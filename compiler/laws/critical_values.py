"""Numbers at which a graph changes its behaviour: constants, the inputs that reach them, and their neighbours.

If a lift computes ``x == 40`` or ``2 * x + 1 < 7``, random elements all give one state; 40 and 3 do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..dtypes import BOOL, DType
from ..program.graph import Expr, walk

MOST = 48
"""The most numbers that are taken from one graph."""
SIMPLE = (-1, 0, 1, 2)
"""Numbers that are always tried, with their neighbours."""
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "min", "max")
Inverse = Callable[[Any, Any, bool], Any]
"""Computes the variable operand from the result, the constant operand, and whether the constant is on the left."""

_INVERSE: dict[str, Inverse] = {
    "add": lambda v, c, _: v - c,
    "sub": lambda v, c, left: c - v if left else v + c,
    "mul": lambda v, c, _: v / c if isinstance(v, float) or v % c else v // c,
    "div": lambda v, c, left: c / v if left else v * c,
    "floordiv": lambda v, c, left: c // v if left else v * c,
    "shl": lambda v, c, left: v if left else int(v) >> int(c),
    "shr": lambda v, c, left: v if left else int(v) << int(c),
    "xor": lambda v, c, _: int(v) ^ int(c),
    "neg": lambda v, _c, _: -v,
    "sqrt": lambda v, _c, _: v * v,
    "exp": lambda v, _c, _: math.log(v),
    "log": lambda v, _c, _: math.exp(v),
}


def pivots(roots: Iterable[Expr], t: DType) -> list[Any]:
    """Values of type ``t`` at which the expressions change their behaviour, with neighbours, the simplest first."""
    nodes = list(walk(tuple(roots)))
    found = [e.value for e in nodes if e.op == "const"]
    for e in nodes:
        if e.op in _COMPARISONS:
            found += [v for a, b in (e.args, e.args[::-1]) if b.op == "const" for v in _solved(a, b.value)]
    plain = dict.fromkeys(v for v in found if isinstance(v, int | float) and math.isfinite(v) and v not in SIMPLE)
    near = [n for v in sorted(plain, key=abs) for n in _neighbours(v, t)]
    return list(dict.fromkeys(near))[:MOST]


def _solved(e: Expr, value: Any) -> Iterator[Any]:
    """The values of nodes below ``e`` that give ``e`` this value; each node has at most one operand that varies."""
    while e.op not in ("input", "param", "const"):
        open_ = [i for i, a in enumerate(e.args) if a.op != "const"]
        if len(open_) != 1 or not (e.op in _INVERSE or e.op in ("cast", "abs")):
            return
        others = [a.value for a in e.args if a.op == "const"]
        try:
            value = _INVERSE[e.op](value, others[0] if others else None, open_[0] == 1) if e.op in _INVERSE else value
        except (ArithmeticError, ValueError, TypeError):
            return
        e = e.args[open_[0]]
        yield value


def _neighbours(value: float, t: DType) -> Iterator[Any]:
    """The number, the adjacent values of ``t``, and the number plus and minus one, if ``t`` has them."""
    if t == BOOL:
        return
    if t.is_float:
        import ml_dtypes

        info: Any = ml_dtypes.finfo(t.numpy)  # type: ignore[no-untyped-call]
        if abs(value) > float(info.max):
            return
        step = max(abs(value) * float(info.eps), float(info.smallest_subnormal))
        own = float(np.asarray(value, t.numpy).astype(np.float64))
        yield from (own, own + step, own - step, own + 1, own - 1)
        return
    for n in (math.floor(value), math.floor(value) + 1, math.floor(value) - 1):
        if int(t.lowest) <= n <= int(t.highest):
            yield n
