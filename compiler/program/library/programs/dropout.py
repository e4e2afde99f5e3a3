"""Dropout: elements are left out at random, and the others scaled, so that their mean stays.

Which are left out follows from the seed and the place of an element alone, see ``random_bits``. So the backward needs
the seed, or the bits that the forward kept.
"""

from __future__ import annotations

from typing import Any

from ....errors import error
from ...arrays import namespace as xp
from ...arrays.packing import with_kept
from ...arrays.random import random_bits
from ...frames import caller
from ...values import cast
from .activations import kept_truths
from .operands import Array, expect_array, fraction, result_type, wide


def dropout(
    x: Array, p: float = 0.5, *, seed: Any, offset: Any = 0, keep: str | None = None
) -> Array | dict[str, Array]:
    """x / (1 - p) where an element is kept, and 0 where it is dropped, also if it is NaN or infinite.

    Args:
        x: an array.
        p: the probability with which an element is dropped, from 0 to 1.
        seed: what the random bits follow from, see ``random_bits``: an element is kept if they are not below p * 2^32.
        offset: what else they follow from.
        keep: ``"bits"`` for bits that say which elements are kept.

    Returns:
        An array like ``x``, of f64 for integers. With ``keep`` it is the field ``output`` beside ``bits``.

    Raises:
        ArgumentError: WF138 for a probability out of range or another ``keep``, WF151 without a seed, WF195 for a seed
            or an offset out of range.
        TraceError: WF295 for a seed or an offset that is no number.
    """
    mask = _survivors(x, seed, offset, p)
    return with_kept(_scaled(x, mask, p), mask, keep)


def dropout_backward(dy: Array, bits: Array = None, *, seed: Any = None, offset: Any = 0, p: float = 0.5) -> Array:
    """The gradient of ``dropout`` in x, from its bits or from its seed and offset.

    Args:
        dy: the gradient in the output.
        bits: the bits of the forward program, or an array of bools like ``dy``; None where a seed is given.
        seed: that of the forward call.
        offset: that of the forward call.
        p: that of the forward call.

    Returns:
        An array like ``dy``.

    Raises:
        ArgumentError: those of ``dropout``.
        TraceError: WF297 unless there is either ``bits`` or a seed, and those of ``relu_backward``.
    """
    expect_array("dy", dy)
    if (bits is None) == (seed is None):
        raise error("WF297", found="neither" if bits is None else "both", where=caller())
    mask = _survivors(dy, seed, offset, p) if bits is None else kept_truths(bits, dy)
    return _scaled(dy, mask, p)


def _survivors(x: Array, seed: Any, offset: Any, p: float) -> Array:
    """Which elements are kept."""
    expect_array("x", x)
    return random_bits(x, seed, offset) >= round(fraction("p", p, 0.5) * 2**32)


def _scaled(x: Array, mask: Array, p: float) -> Array:
    """The elements of a mask over 1 - p, and 0 elsewhere."""
    t = result_type(x)
    rest = 1.0 - fraction("p", p, 0.5)
    return cast(xp.where(mask, wide(x, t) * (1.0 / rest if rest else 0.0), 0.0), t)
