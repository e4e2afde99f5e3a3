"""The adjoint of each elementwise operation: what an operand gains from the gradient of the result.

Where a function has no derivative, its rule takes what PyTorch takes: 0 for ``abs`` at 0, half for each of two equal
operands of ``maximum`` and ``minimum``, all for what equals a bound of ``clip``, 0 for functions with steps, and 0 for
norms and standard deviations that are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import functions
from ..function_table import TABLE
from ..functions import isnan, log, where
from ..marks import BOUND, CORRECTION, RIGHT, ROOT
from ..symbols import Sym, constant, node

Parts = Sequence[Any]
"""What each operand gains; None for nothing."""
Rule = Callable[..., Parts]
"""A function of the gradient, the result, and the operands."""


def _zero(x: Sym) -> Sym:
    return constant(0.0, x.dtype)


def _of_division(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    """One reciprocal in place of two divisions; of a divisor that a row shares it is one for the row."""
    inverse = 1.0 / y
    return g * inverse, -((g * z) * inverse)


def _of_modulo(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    return g, -(g * node("floordiv", x.dtype, x, y))


def _of_power(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    """A vanishing exponent gives a constant, and a vanishing base takes no logarithm."""
    base = where(y == 0.0, 0.0, g * (y * node("pow", x.dtype, x, y - 1.0)))
    return base, where((x == 0.0) & (y >= 0.0), 0.0, g * (z * log(x)))


def _of_extreme(g: Sym, z: Sym, x: Sym, y: Sym) -> Parts:
    """All of it to the operand that was taken, half to each of two equal ones; none to NaN that ``y`` bounds."""
    if z.expr.value == CORRECTION:
        return g, None
    if z.expr.value == BOUND:
        inside, beyond = (x >= y, x < y) if z.expr.op == "max" else (x <= y, x > y)
        return where(inside, g, 0.0), where(beyond, g, 0.0)
    half = g * 0.5
    taken, other = (x == z) | isnan(x), (y == z) | isnan(y)
    return where(taken, where(other, half, g), 0.0), where(other, where(taken, half, g), 0.0)


def _of_choice(g: Sym, z: Sym, condition: Sym, a: Sym, b: Sym) -> Parts:
    if z.expr.value == CORRECTION:
        return None, None, g
    return None, where(condition, g, _zero(g)), where(condition, _zero(g), g)


def _of_absolute(g: Sym, z: Sym, x: Sym) -> Parts:
    if z.expr.value == RIGHT:
        return (where(x >= 0.0, g, -g),)
    return (where(x > 0.0, g, where(x < 0.0, -g, _zero(g) * x)),)


def _of_root(g: Sym, z: Sym, x: Sym) -> Parts:
    slope = g * (0.5 / z)
    return (where(z == 0.0, 0.0, slope) if z.expr.value == ROOT else slope,)


RULES: dict[str, Rule] = {
    "add": lambda g, z, x, y: (g, g),
    "sub": lambda g, z, x, y: (g, -g),
    "mul": lambda g, z, x, y: (g * y, g * x),
    "div": _of_division,
    "fma": lambda g, z, x, y, c: (g * y, g * x, g),
    "neg": lambda g, z, x: (-g,),
    "mod": _of_modulo,
    "pow": _of_power,
    "abs": _of_absolute,
    "max": _of_extreme,
    "min": _of_extreme,
    "where": _of_choice,
    "cast": lambda g, z, x: (g,),
    **{row.name: partial(row.gradient, functions) for row in TABLE if row.gradient},
    "sqrt": _of_root,
}
"""The rule of each operation of floats that has a derivative; the table of functions has those of functions."""
CONSTANT = frozenset(("floordiv", "round", "floor", "ceil"))
"""The operations of floats whose derivative is 0 wherever it exists."""
