"""Norms: elements relative to the mean and the deviation of their row.

The variance is the mean of squared differences from the mean, so that an offset common to all elements costs no digits.
An element is multiplied by the reciprocal of the deviation. Half types are computed in f32, and weights and biases may
have any float type.
"""

from __future__ import annotations

import math

from ....dtypes import F64
from ...arrays import namespace as xp
from ...arrays.folding import AxisArgument, named, positions, reduced
from ...fold import count, fold
from ...functions import fma, maximum, rsqrt
from ...gradients.detached import CORRECTION, marked, stop_gradient
from ...values import cast
from ..monoids import SUM
from .operands import Array, OnlyArray, addend, along, expect_divisor, expect_like, finite, number, result_type, wide

norm = named("norm")


def layer_norm(
    x: Array, weight: OnlyArray = None, bias: OnlyArray = None, *, axis: AxisArgument = -1, eps: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + eps) * weight + bias along axes.

    Args:
        x: an array.
        weight: an array of the shape that ``x`` has along the axes, or one that broadcasts to ``x``, or None.
        bias: another one.
        axis: the axes that are normalised: an axis, several, or None for all.
        eps: what is added to the variance.

    Returns:
        An array of the shape and type of ``x``.

    Raises:
        TraceError: WF254 or WF269 for a weight or a bias of another shape.
    """
    t = result_type(x)
    x = wide(x, t)
    affine = Affine(x, axis, weight, bias)
    return cast(affine(_standard(x, axis, eps)), t)


def rms_norm(x: Array, weight: OnlyArray = None, *, axis: AxisArgument = -1, eps: float | None = None) -> Array:
    """x / sqrt(mean(x^2) + eps) * weight along axes.

    Args:
        x: an array.
        weight: an array of the shape that ``x`` has along the axes, or one that broadcasts to ``x``, or None.
        axis: the axes that are normalised: an axis, several, or None for all.
        eps: what is added to the mean of squares; None for the distance from 1 to the next number of the type that is
            computed in: 2^-23 for f32, 2^-52 for f64.

    Returns:
        An array of the shape and type of ``x``.

    Raises:
        TraceError: WF254 or WF269 for a weight of another shape.
    """
    t = result_type(x)
    x = wide(x, t)
    affine = Affine(x, axis, weight)
    return cast(affine(_by_root_mean_square(x, axis, eps)), t)


def add_layer_norm(
    x: Array,
    residual: Array,
    weight: OnlyArray = None,
    bias: OnlyArray = None,
    *,
    axis: AxisArgument = -1,
    eps: float = 1e-5,
) -> tuple[Array, Array]:
    """The layer norm of ``x + residual``, and that sum; arguments as in ``layer_norm``.

    The sum is normalised before it is rounded to the type of ``x``.
    """
    t = result_type(x)
    x = wide(x, t)
    affine, total = Affine(x, axis, weight, bias), x + expect_like("residual", residual, x)
    return cast(affine(_standard(total, axis, eps)), t), cast(total, t)


def add_rms_norm(
    x: Array, residual: Array, weight: OnlyArray = None, *, axis: AxisArgument = -1, eps: float | None = None
) -> tuple[Array, Array]:
    """The RMS norm of ``x + residual``, and that sum; arguments as in ``rms_norm``.

    The sum is normalised before it is rounded to the type of ``x``.
    """
    t = result_type(x)
    x = wide(x, t)
    affine, total = Affine(x, axis, weight), x + expect_like("residual", residual, x)
    return cast(affine(_by_root_mean_square(total, axis, eps)), t), cast(total, t)


def instance_norm(
    x: Array, *, weight: OnlyArray = None, bias: OnlyArray = None, channel_axis: int = 1, eps: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel of each instance.

    Args:
        x: an array with instances along axis 0 and an axis of channels.
        weight: a factor for each channel, or None.
        bias: an addend for each channel, or None.
        channel_axis: the axis of the channels.
        eps: what is added to the variance, whose divisor is the number of elements.

    Returns:
        An array of the shape and type of ``x``.

    Raises:
        TraceError: WF254 or WF269 for a weight or a bias of another shape.
    """
    t = result_type(x)
    x = wide(x, t)
    affine = Affine(x, channel_axis, weight, bias)
    return cast(affine(_standard(x, others(x, (0, channel_axis)), eps)), t)


def group_norm(
    x: Array,
    num_groups: int,
    weight: OnlyArray = None,
    bias: OnlyArray = None,
    *,
    channel_axis: int = 1,
    eps: float = 1e-5,
) -> Array:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each group of channels of each instance.

    Args:
        x: an array with instances along axis 0 and an axis of channels.
        num_groups: the number of groups, which divides that of the channels; a group is of neighbours.
        weight: a factor for each channel, or None.
        bias: an addend for each channel, or None.
        channel_axis: the axis of the channels.
        eps: what is added to the variance, whose divisor is the number of elements.

    Returns:
        An array of the shape and type of ``x``.

    Raises:
        TraceError: WF254 or WF269 for a weight or a bias of another shape, WF276 for a number that does not divide.
    """
    t = result_type(x)
    (place,) = positions(channel_axis, x.axes, x)
    expect_divisor("num_groups", num_groups, x, place)
    shape = x.shape
    groups = xp.reshape(wide(x, t), (*shape[:place], num_groups, -1, *shape[place + 1 :]))
    affine = Affine(wide(x, t), channel_axis, weight, bias)
    standard = _standard(groups, others(groups, (0, place)), eps)
    return cast(affine(xp.reshape(standard, shape)), t)


def normalize(x: Array, *, p: float = 2.0, axis: AxisArgument = 1, eps: float = 1e-12) -> Array:
    """x / max(norm(x), eps) along axes.

    Args:
        x: an array.
        p: the order of the norm: 2, 1, 0, inf, -inf or any other, as in ``norm``.
        axis: the axes over which the norm goes: an axis, several, or None for all.
        eps: the least divisor.

    Returns:
        An array of the shape and type of ``x``.

    Raises:
        ArgumentError: WF138 for an order that is no number.
    """
    t = result_type(x)
    x = wide(x, t)
    least, order = addend("eps", eps, 1e-12), number("p", p, 2.0)
    return cast(x * (1.0 / maximum(norm(x, axis, ord=order, keepdims=True), least)), t)


def standardize(
    x: Array, *, axis: AxisArgument = -1, where: Array = None, correction: float = 0.0, eps: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(variance + eps) along axes, with the mean and the variance of the elements of a mask.

    Args:
        x: an array.
        axis: the axes of a row: an axis, several, or None for all.
        where: which elements the mean and the variance are of: a bool array that broadcasts to ``x``, or its bits, see
            ``wf.pack``; None for all.
        correction: the divisor of the variance is the number of these elements less ``correction``.
        eps: what is added to the variance. Without it the row of a constant is NaN.

    Returns:
        An array of the shape and type of ``x``.
    """
    t = result_type(x)
    centred, _, var = moments(wide(x, t), axis, where, correction)
    return cast(centred * reciprocal_root(var + addend("eps", eps, 1e-5)), t)


def moments(x: Array, axis: AxisArgument, where: Array = None, correction: float = 0.0) -> tuple[Array, Array, Array]:
    """``x`` less its mean, the mean, and the variance, both with the reduced axes.

    What the rounded mean lacks is the mean of the differences from it, which the fold of their squares gives as well.
    So a row of equal elements has the variance 0, and a great offset costs no digits (Chan, Golub, LeVeque,
    "Algorithms for computing the sample variance", 1983). Where the mean is less than the deviation, it is precise
    enough, and the differences are less so: elements of one binade lose the same low bits of the mean. It then lacks
    nothing. To first order it does not change with the elements: it has no gradient.
    """
    rounded = xp.mean(x, axis, keepdims=True, where=where)
    near = x - rounded
    lack = xp.mean(near, axis, keepdims=True, where=where)
    params = {"correction": finite("correction", correction, 0.0)}
    squares = reduced("variance", _variance, (near,), axis, keepdims=True, where=where, params=params)
    lack = stop_gradient(marked(xp.where(rounded * rounded > squares, lack, 0.0), CORRECTION))
    return near - lack, rounded + lack, marked(maximum(squares - lack * lack, 0.0), CORRECTION)


def _variance(centred: Array, *, correction: float) -> Array:
    """The sum of squares over their number less ``correction``, NaN where that is not positive: a tensor program."""
    n = count(centred.dtype)
    squares = fold(SUM, centred * centred)
    return xp.where(n > correction, squares / (n - correction), math.nan) if correction else squares / n


def _standard(x: Array, axis: AxisArgument, eps: float) -> Array:
    """``x`` with a mean of 0 and a variance of almost 1."""
    centred, _, var = moments(x, axis)
    return centred * reciprocal_root(var + addend("eps", eps, 1e-5))


def _by_root_mean_square(x: Array, axis: AxisArgument, eps: float | None) -> Array:
    """``x`` over the root of the mean of its squares."""
    least = (2.0**-52 if x.dtype == F64 else 2.0**-23) if eps is None else addend("eps", eps, None)
    return x * reciprocal_root(xp.mean(x * x, axis, keepdims=True) + least)


def reciprocal_root(x: Array) -> Array:
    """1 / sqrt(x) of a value for each row: ``rsqrt`` and a step of Newton's method, which halves its error.

    All elements of a row share this error. 0 and infinity take no step.
    """
    near = rsqrt(x)
    better = fma(near * 0.5, fma(-(x * near), near, 1.0), near)
    return marked(xp.where((near > 0.0) & (near < math.inf), better, near), CORRECTION)


class Affine:
    """What a norm does last: it multiplies by a weight and adds a bias, rounded once; each may be None."""

    def __init__(self, x: Array, axis: AxisArgument, weight: OnlyArray, bias: OnlyArray = None) -> None:
        self.weight = None if weight is None else along("weight", weight, x, axis)
        self.bias = None if bias is None else along("bias", bias, x, axis)

    def __call__(self, x: Array) -> Array:
        if self.weight is None:
            return x if self.bias is None else x + self.bias
        return x * self.weight if self.bias is None else fma(x, self.weight, self.bias)


def others(x: Array, axes: int | tuple[int, ...]) -> tuple[int, ...]:
    """The axes of ``x`` but these."""
    kept = positions(axes, x.axes, x)
    return tuple(i for i in range(x.ndim) if i not in kept)
