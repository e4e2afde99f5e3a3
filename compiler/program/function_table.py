"""The elementwise functions of floats, a row each: all that the compiler, its passes and the checks know of one.

A new function is a row here, its arithmetic in ``passes/math/`` and its ranges in ``tests/passes/test_expand_math.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Rule = Callable[..., Sequence[Any]]
"""What each operand gains: of functions by name, the gradient of the result, the result, and the operands.

It takes traced values, and NumPy's arrays as well.
"""
# Numbers, since ``import warpfold`` reads this file, and needs no ``math``.
_LN2, _LN10, _SLOPE_OF_ERF = 0.6931471805599453, 2.302585092994046, 1.1283791670955126


class Function:  # a NamedTuple takes a third of a millisecond to make
    """One function.

    Attributes:
        name: its name in ``wf``, and its operation in graphs.
        expansion: the file and the function of ``passes/math/`` that expand it; or the instruction that computes it.
        ulps: the most by which it is off, in units in the last place; 0 if it rounds correctly.
        cost: the instructions that it stands for; of long code, those of a call.
        gradient: its adjoint; None if ``gradients/reverse.py`` has it.
        doc: its docstring, in which ``{within}`` stands for the error; empty for an operator's function.
        operands: their names.
        numpy: NumPy's name for it, or that of a function in ``numeric.py``; without one, ``name``.
        ir: its name in MLIR's dialect ``math``; without one, ``name``.
        fast: the instruction that approximates it in f32, if there is one.
        inline: whether its code is so short that it is not called.
    """

    def __init__(
        self, name: str, expansion: str, ulps: float, cost: int, gradient: Rule | None, doc: str = "",
        operands: tuple[str, ...] = ("x",), numpy: str = "", ir: str = "", fast: str = "", inline: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.expansion, self.ulps, self.cost = name, expansion, ulps, cost
        self.gradient, self.doc, self.operands, self.numpy = gradient, doc, operands, numpy
        self.ir, self.fast, self.inline = ir, fast, inline

    @property
    def op(self) -> str:
        """Its op in the IR."""
        return f"math.{self.ir or self.name}"


def _angle(f: Any, g: Any, z: Any, y: Any, x: Any) -> Sequence[Any]:
    inverse = 1.0 / (x * x + y * y)
    return g * (x * inverse), -(g * (y * inverse))


TABLE = (
    Function("sqrt", "llvm.sqrt", 0, 8, lambda f, g, z, x: (g * (0.5 / z),), "Square root, correctly rounded.",
             fast="llvm.nvvm.sqrt.approx.f"),
    Function("exp", "exponential.exp", 1, 18, lambda f, g, z, x: (g * z,), "The exponential, {within}.",
             fast="llvm.nvvm.ex2.approx.ftz", inline=True),
    Function("exp2", "exponential.exp2", 1, 12, lambda f, g, z, x: (g * (z * _LN2),),
             "Two to the power of ``x``, {within}.", fast="llvm.nvvm.ex2.approx.ftz", inline=True),
    Function("log", "logarithm.log", 1, 28, lambda f, g, z, x: (g / x,), "The natural logarithm, {within}.",
             fast="llvm.nvvm.lg2.approx.f", inline=True),
    Function("log2", "logarithm.log2", 1, 36, lambda f, g, z, x: (g / (x * _LN2),),
             "The logarithm to base two, {within}.", fast="llvm.nvvm.lg2.approx.f", inline=True),
    Function("rsqrt", "unbranched.rounded_root", 1.5, 16, lambda f, g, z, x: (g * (-0.5 * z * z * z),),
             "1 / sqrt(x), {within}.", fast="llvm.nvvm.rsqrt.approx.f", inline=True),
    Function("expm1", "exponential.expm1", 2, 8, lambda f, g, z, x: (g * (z + 1.0),),
             "exp(x) - 1, {within} also near zero."),
    Function("log1p", "logarithm.log1p", 1, 8, lambda f, g, z, x: (g / (1.0 + x),),
             "log(1 + x), {within} also near zero."),
    Function("tanh", "exponential.tanh", 2, 8, lambda f, g, z, x: (g * ((1.0 - z) * (1.0 + z)),),
             "The hyperbolic tangent, {within}.", fast="llvm.tanh"),
    Function("erf", "exponential.erf", 2, 8,
             lambda f, g, z, x: (g * (f.exp(-(x * x)) * _SLOPE_OF_ERF),), "The error function, {within}."),
    Function("sin", "trigonometric.sin", 1, 8, lambda f, g, z, x: (g * f.cos(x),),
             "The sine of an angle in radians, {within} for angles of any size.", fast="llvm.nvvm.sin.approx.f"),
    Function("cos", "trigonometric.cos", 1, 8, lambda f, g, z, x: (-(g * f.sin(x)),),
             "The cosine of an angle in radians, {within} for angles of any size.", fast="llvm.nvvm.cos.approx.f"),
    Function("tan", "trigonometric.tan", 1, 8, lambda f, g, z, x: (g * (1.0 + z * z),),
             "The tangent of an angle in radians, {within} for angles of any size."),
    Function("asin", "trigonometric.asin", 2, 8, lambda f, g, z, x: (g * f.rsqrt((1.0 - x) * (1.0 + x)),),
             "The angle from -pi/2 to pi/2 whose sine is ``x``, {within}; NaN beyond -1 and 1.", numpy="arcsin"),
    Function("acos", "trigonometric.acos", 2, 8, lambda f, g, z, x: (-(g * f.rsqrt((1.0 - x) * (1.0 + x))),),
             "The angle from 0 to pi whose cosine is ``x``, {within}; NaN beyond -1 and 1.", numpy="arccos"),
    Function("atan", "trigonometric.atan", 1, 8, lambda f, g, z, x: (g / (1.0 + x * x),),
             "The angle from -pi/2 to pi/2 whose tangent is ``x``, {within}.", numpy="arctan"),
    Function("atan2", "trigonometric.atan2", 1, 8, _angle,
             "The angle from -pi to pi of the point (x, y), {within}; signs of zeros and infinities count, as in C.",
             ("y", "x"), numpy="arctan2"),
    Function("sinh", "exponential.sinh", 2, 8, lambda f, g, z, x: (g * f.cosh(x),), "The hyperbolic sine, {within}."),
    Function("cosh", "exponential.cosh", 2, 8, lambda f, g, z, x: (g * f.sinh(x),), "The hyperbolic cosine, {within}."),
    Function("log10", "logarithm.log10", 1, 8, lambda f, g, z, x: (g / (x * _LN10),),
             "The logarithm to base ten, {within}; exact for powers of ten."),
    Function("pow", "logarithm.power", 1, 10, None, operands=("x", "y"), numpy="power", ir="powf"),
)  # fmt: skip
"""In the order in which ``expand-math`` expands them."""
