"""Norms: elements relative to the mean and the deviation of their row.

The variance is the mean of squared differences from the mean, so that an offset common to all elements costs no digits.
An element is multiplied by the reciprocal of the deviation. Half types are computed in f32, and weights and biases may
have any float type.
"""

from __future__ import annotations

from ....dtypes import F64
from ...arrays import namespace as xp
from ...arrays.folding import AxisArgument
from ...functions import fma, rsqrt
from ...values import cast
from .operands import Array, along, like, result_type, wide


def layer_norm(
    x: Array, weight: Array = None, bias: Array = None, *, axis: AxisArgument = -1, eps: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + eps) * weight + bias along axes.

    Args:
        x: an array.
        weight: an array of the shape that ``x`` has along the axes, or None.
        bias: another one.
        axis: the axes that are normalised: an axis, several, or None for all.
        eps: what is added to the variance.

    Returns:
        An array of the shape and type of ``x``.

    Raises:
        TraceError: WF269 for a weight or a bias with another number of axes.
    """
    t = result_type(x)
    return cast(_scaled(_standard(wide(x, t), axis, eps), weight, bias, axis), t)


def rms_norm(x: Array, weight: Array = None, *, axis: AxisArgument = -1, eps: float | None = None) -> Array:
    """x / sqrt(mean(x^2) + eps) * weight along axes.

    Args:
        x: an array.
        weight: an array of the shape that ``x`` has along the axes, or None.
        axis: the axes that are normalised: an axis, several, or None for all.
        eps: what is added to the mean of squares; None for the distance from 1 to the next number of the type that is
            computed in: 2^-23 for f32, 2^-52 for f64.

    Returns:
        An array of the shape and type of ``x``.

    Raises:
        TraceError: WF269 for a weight with another number of axes.
    """
    t = result_type(x)
    return cast(_scaled(_by_root_mean_square(wide(x, t), axis, eps), weight, None, axis), t)


def add_layer_norm(
    x: Array, residual: Array, weight: Array = None, bias: Array = None, *, axis: AxisArgument = -1, eps: float = 1e-5
) -> tuple[Array, Array]:
    """The layer norm of ``x + residual``, and that sum; arguments as in ``layer_norm``.

    The sum is normalised before it is rounded to the type of ``x``.
    """
    t = result_type(x)
    total = wide(x, t)
    total = total + like(residual, total)
    return cast(_scaled(_standard(total, axis, eps), weight, bias, axis), t), cast(total, t)


def add_rms_norm(
    x: Array, residual: Array, weight: Array = None, *, axis: AxisArgument = -1, eps: float | None = None
) -> tuple[Array, Array]:
    """The RMS norm of ``x + residual``, and that sum; arguments as in ``rms_norm``.

    The sum is normalised before it is rounded to the type of ``x``.
    """
    t = result_type(x)
    total = wide(x, t)
    total = total + like(residual, total)
    return cast(_scaled(_by_root_mean_square(total, axis, eps), weight, None, axis), t), cast(total, t)


def _standard(x: Array, axis: AxisArgument, eps: float) -> Array:
    """``x`` with a mean of 0 and a variance of almost 1."""
    centred = x - xp.mean(x, axis, keepdims=True)
    return centred * rsqrt(xp.mean(centred * centred, axis, keepdims=True) + eps)


def _by_root_mean_square(x: Array, axis: AxisArgument, eps: float | None) -> Array:
    """``x`` over the root of the mean of its squares."""
    least = (2.0**-52 if x.dtype == F64 else 2.0**-23) if eps is None else eps
    return x * rsqrt(xp.mean(x * x, axis, keepdims=True) + least)


def _scaled(x: Array, weight: Array, bias: Array, axis: AxisArgument) -> Array:
    """``x * weight + bias``, rounded once."""
    scale, shift = (v if v is None else along(n, v, x, axis) for n, v in (("weight", weight), ("bias", bias)))
    if scale is None:
        return x if shift is None else x + shift
    return x * scale if shift is None else fma(x, scale, shift)
