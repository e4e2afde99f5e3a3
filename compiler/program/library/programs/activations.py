"""Activations that cut off elements, and their gradients: a bit an element says which elements passed.

A forward program gives these bits with ``keep="bits"``, so that its backward reads an eighth of a byte an element in
place of the array. NaN and zeros with a sign are those of PyTorch.
"""

from __future__ import annotations

from ...arrays import namespace as xp
from ...arrays.packing import truths
from .masks import with_kept
from .operands import Array, number


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
    """
    return xp.where(truths(bits, dy), dy, 0)


def add_relu(x: Array, z: Array, *, keep: str | None = None) -> Array | dict[str, Array]:
    """max(x + z, 0), in the type of the sum; arguments, results and errors as in ``relu``."""
    return relu(x + z, keep=keep)


def add_relu_backward(dy: Array, bits: Array) -> tuple[Array, Array]:
    """The gradients of ``add_relu`` in x and in z, which are alike; arguments as in ``relu_backward``."""
    dx = relu_backward(dy, bits)
    return dx, dx


def leaky_relu(x: Array, *, slope: float = 0.01, keep: str | None = None) -> Array | dict[str, Array]:
    """x where it is above 0, else x * slope.

    Args:
        x: an array.
        slope: the factor of all other elements.
        keep: ``"bits"`` for the bits that ``leaky_relu_backward`` takes.

    Returns:
        An array like ``x``, of f64 for integers. With ``keep`` it is the field ``output`` beside ``bits``.

    Raises:
        ArgumentError: WF138 for another ``keep``.
    """
    return with_kept(xp.where(x > 0, x, x * number("slope", slope, 0.01)), x > 0, keep)


def leaky_relu_backward(dy: Array, bits: Array, *, slope: float = 0.01) -> Array:
    """The gradient of ``leaky_relu`` in x: ``dy`` where the bit is set, else ``dy * slope``; see ``relu_backward``."""
    return xp.where(truths(bits, dy), dy, dy * number("slope", slope, 0.01))


def clip_backward(dy: Array, bits: Array) -> Array:
    """The gradient of ``clip`` in x: ``dy`` where x is within the bounds, else 0; see ``relu_backward``."""
    return relu_backward(dy, bits)


def passes(x: Array) -> Array:
    """Where the gradient of a ReLU passes: also at NaN, which has no gradient of 0."""
    return ~(x <= 0)
