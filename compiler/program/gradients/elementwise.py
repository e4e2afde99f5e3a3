"""The adjoint of each elementwise operation: what an operand gains from the gradient of the result.

Where a function has no derivative, its rule takes what PyTorch takes: 0 for ``abs`` at 0, half for each of two equal
operands of ``maximum`` and ``minimum``, all for what equals a bound of ``clip``, 0 for functions with steps, and 0 for
norms and standard deviations that are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..functions import cos, cosh, exp, isnan, log, rsqrt, sin, sinh, where
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


def _of_angle(g: Sym, z: Sym, y: Sym, x: Sym) -> Parts:
    inverse = 1.0 / (x * x + y * y)
    return g * (x * inverse), -(g * (y * inverse))


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
    "sqrt": _of_root,
    "rsqrt": lambda g, z, x: (g * (-0.5 * z * z * z),),
    "exp": lambda g, z, x: (g * z,),
    "exp2": lambda g, z, x: (g * (z * math.log(2.0)),),
    "expm1": lambda g, z, x: (g * (z + 1.0),),
    "log": lambda g, z, x: (g / x,),
    "log2": lambda g, z, x: (g / (x * math.log(2.0)),),
    "log10": lambda g, z, x: (g / (x * math.log(10.0)),),
    "log1p": lambda g, z, x: (g / (1.0 + x),),
    "sin": lambda g, z, x: (g * cos(x),),
    "cos": lambda g, z, x: (-(g * sin(x)),),
    "tan": lambda g, z, x: (g * (1.0 + z * z),),
    "asin": lambda g, z, x: (g * rsqrt((1.0 - x) * (1.0 + x)),),
    "acos": lambda g, z, x: (-(g * rsqrt((1.0 - x) * (1.0 + x))),),
    "atan": lambda g, z, x: (g / (1.0 + x * x),),
    "atan2": _of_angle,
    "sinh": lambda g, z, x: (g * cosh(x),),
    "cosh": lambda g, z, x: (g * sinh(x),),
    "tanh": lambda g, z, x: (g * ((1.0 - z) * (1.0 + z)),),
    "erf": lambda g, z, x: (g * (exp(-(x * x)) * (2.0 / math.sqrt(math.pi))),),
}
"""The rule of each operation of floats that has a derivative."""
CONSTANT = frozenset(("floordiv", "round", "floor", "ceil"))
"""The operations of floats whose derivative is 0 wherever it exists."""
