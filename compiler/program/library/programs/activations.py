"""Activations that cut off elements, and their gradients: a bit an element says which elements passed.

A forward program gives these bits with ``keep="bits"``, so that its backward reads an eighth of a byte an element in
place of the array. NaN and zeros with a sign are those of PyTorch.

Masks that a forward program keeps for its backward: one bit an element, in row-major order of the array.
"""

from __future__ import annotations

from math import prod

from ....dtypes import BOOL
from ....errors import error
from ...arrays import namespace as xp
from ...arrays.packing import truths, with_kept
from ...frames import caller
from .operands import Array, expect_array, expect_inside, number


def kept_truths(bits: Array, x: Array) -> Array:
    """The truth values of bits that a forward program kept for an array like ``x``, or of bools.

    Raises:
        TraceError: WF285 for what is no array, WF288 for other elements, WF289 for another shape.
    """
    expect_array("bits", bits)
    found = truths(bits, x)
    if bits.dtype == BOOL and found.sizes != x.sizes:
        shape = x.sizes
        raise error("WF289", found=found.sizes, expected=shape, shape=shape, elements=prod(shape), where=caller())
    return found


def relu(x: Array, *, keep: str | None = None) -> Array | dict[str, Array]:
    """max(x, 0); NaN for NaN.

    Args:
        x: an array.
        keep: ``"bits"`` for the bits that ``relu_backward`` takes.

    Returns:
        An array like ``x``. With ``keep`` it is the field ``output`` beside ``bits``, see ``wf.pack``.

    Raises:
        ArgumentError: WF138 for another ``keep``.
    """
    expect_array("x", x)
    # One predicate is the value's, the bits' and the gradient's: the gradient of a maximum needs two, and halves at 0.
    mask = passes(x)
    return with_kept(xp.where(mask, x, 0), mask, keep)


def relu_backward(dy: Array, bits: Array) -> Array:
    """The gradient of ``relu`` in x: ``dy`` where the bit is set, else 0.

    Args:
        dy: the gradient in the output.
        bits: the bits of the forward program, or an array of bools like ``dy``.

    Returns:
        An array like ``dy``.

    Raises:
        TraceError: WF285 for a number in place of an array, WF288 and WF289 for bits of another type or shape.
    """
    expect_array("dy", dy)
    return xp.where(kept_truths(bits, dy), dy, 0)


def add_relu(x: Array, z: Array, *, keep: str | None = None) -> Array | dict[str, Array]:
    """max(x + z, 0), in the type of the sum, where ``z`` broadcasts to ``x``; the rest as in ``relu``.

    Raises:
        TraceError: WF255 for a ``z`` of another shape, WF285 for one that is no array.
    """
    expect_array("x", x)
    expect_array("z", z)
    return relu(x + expect_inside(z, x), keep=keep)


def add_relu_backward(dy: Array, bits: Array) -> tuple[Array, Array]:
    """The gradients of ``add_relu`` in x and in z, which are alike; arguments as in ``relu_backward``."""
    dx = relu_backward(dy, bits)
    return dx, dx


def leaky_relu(x: Array, negative_slope: float = 0.01, *, keep: str | None = None) -> Array | dict[str, Array]:
    """x where it is above 0, else x * negative_slope.

    Args:
        x: an array.
        negative_slope: the factor of all other elements.
        keep: ``"bits"`` for the bits that ``leaky_relu_backward`` takes.

    Returns:
        An array like ``x``, of f64 for integers. With ``keep`` it is the field ``output`` beside ``bits``.

    Raises:
        ArgumentError: WF138 for another ``keep``, or a slope that is no number.
    """
    expect_array("x", x)
    return with_kept(xp.where(x > 0, x, x * number("negative_slope", negative_slope, 0.01)), x > 0, keep)


def leaky_relu_backward(dy: Array, bits: Array, *, negative_slope: float = 0.01) -> Array:
    """The gradient of ``leaky_relu`` in x: ``dy`` where the bit is set, else ``dy * negative_slope``.

    Arguments and errors are those of ``relu_backward``.
    """
    expect_array("dy", dy)
    return xp.where(kept_truths(bits, dy), dy, dy * number("negative_slope", negative_slope, 0.01))


def clip_backward(dy: Array, bits: Array) -> Array:
    """The gradient of ``clip`` in x: ``dy`` where x is within the bounds, else 0; see ``relu_backward``."""
    return relu_backward(dy, bits)


def passes(x: Array) -> Array:
    """Where the gradient of a ReLU passes: also at NaN, which has no gradient of 0."""
    return ~(x <= 0)
