"""Batch norm with what follows it in a network, an addition and a ReLU, and its gradients."""

from __future__ import annotations

from math import prod
from typing import Any

from ....errors import error
from ...arrays import namespace as xp
from ...arrays.folding import positions
from ...arrays.packing import kept
from ...arrays.sizes import Size
from ...frames import caller
from ...functions import fma
from ...values import cast
from .activations import kept_truths, passes, relu
from .norms import Affine, moments, others, reciprocal_root
from .operands import Array, OnlyArray, addend, along, expect_like, flag, fraction, like, placed, result_type, wide


def batch_norm(
    x: Array,
    running_mean: OnlyArray = None,
    running_var: OnlyArray = None,
    weight: OnlyArray = None,
    bias: OnlyArray = None,
    *,
    residual: OnlyArray = None,
    training: bool = False,
    momentum: float = 0.1,
    activation: str | None = None,
    keep: str | None = None,
    channel_axis: int = 1,
    eps: float = 1e-5,
) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias for each channel, plus ``residual``, then the activation.

    Args:
        x: an array with an axis of channels.
        running_mean: the mean of each channel; like ``running_var`` it is needed unless ``training``.
        running_var: the variance of each channel.
        weight: a factor for each channel, or None.
        bias: an addend for each channel, or None.
        residual: an array like ``x`` that is added, or None.
        training: whether the mean and the variance are those of ``x`` itself, over all other axes.
        momentum: the weight of these in running statistics, from 0 to 1. A call in training writes the new ones over
            ``running_mean`` and ``running_var`` if it gets them; one without elements leaves them as they are.
        activation: ``"relu"``, or None.
        keep: ``"bits"`` for the bits of the ReLU, which ``batch_norm_backward`` needs where there is a residual.
        channel_axis: the axis of the channels.
        eps: what is added to the variance.

    Returns:
        An array of the shape and type of ``x``. With ``training`` it is the field ``output`` beside ``mean`` and
        ``var``, the statistics of each channel in the type of computation, behind ``running_mean`` and ``running_var``
        if these are given. The divisor of ``var`` is the number n of elements of a channel; that of ``running_var`` is
        n - 1, as in PyTorch. With ``keep`` there is the field ``bits``, too.

    Raises:
        ArgumentError: WF132 for running statistics that share memory with each other, WF186 for ones that share it with
            another array, WF138 for a momentum out of range, or another activation, ``keep`` or ``training``.
        TraceError: WF254 or WF269 for a weight, a bias or statistics of another shape, WF270 for running statistics
            that are missing, WF296 for one element a channel in training, WF299 for running statistics to be updated
            that are no floats, or of another rank.
    """
    training = flag("training", training, default=False)
    given = sum(v is not None for v in (running_mean, running_var))
    if given != 2 and (given or not training):
        raise error("WF270", found=given, training=training, expected="0 or 2" if training else 2, where=caller())
    momentum = fraction("momentum", momentum, 0.1)
    t = result_type(x)
    x = wide(x, t)
    affine = Affine(x, channel_axis, weight, bias)
    axes = others(x, channel_axis)
    results: dict[str, Array] = {}
    if training:
        if all(x.axes[a] is None for a in axes):
            raise error("WF296", where=caller())
        centred, mean, var = moments(x, axes)
        results = {"mean": xp.squeeze(mean, axes), "var": xp.squeeze(var, axes)}
    else:
        var = along("running_var", running_var, x, channel_axis)
        centred = x - along("running_mean", running_mean, x, channel_axis)
    total = affine(centred * reciprocal_root(var + addend("eps", eps, 1e-5)))
    total = total if residual is None else total + expect_like("residual", residual, x)
    results = {"output": cast(_activated(total, activation), t), **results, **kept(passes(total), keep)}
    if training and running_mean is not None:
        for name, running in (("running_mean", running_mean), ("running_var", running_var)):
            along(name, running, x, channel_axis)  # for its errors
            if not running.dtype.is_float or running.ndim != results["mean"].ndim:
                found = f"{running.dtype.name} of rank {running.ndim}"
                raise error("WF299", name=name, found=found, rank=results["mean"].ndim, where=caller())
        n = prod((x.shape[a] for a in axes), start=1)
        results = {
            "running_mean": _moved(running_mean, results["mean"], momentum, n),
            "running_var": _moved(running_var, results["var"] * (n / (n - 1)), momentum, n),
            **results,
        }
    return results if len(results) > 1 else results["output"]


def batch_norm_backward(
    dy: Array,
    x: Array,
    mean: OnlyArray,
    var: OnlyArray,
    weight: OnlyArray = None,
    bias: OnlyArray = None,
    bits: Array = None,
    *,
    activation: str | None = None,
    residual: bool = False,
    channel_axis: int = 1,
    eps: float = 1e-5,
) -> dict[str, Array]:
    """The gradients of ``batch_norm`` in training.

    Args:
        dy: the gradient in the output.
        x: the array of the forward call.
        mean: a result of that call.
        var: another one.
        weight: the factors of that call.
        bias: its addends.
        bits: its bits, or an array of bools like ``x``. Without them, what a ReLU passes is computed again from ``x``.
        activation: the activation of that call.
        residual: whether the gradient in the residual is a result, too; an activation then needs ``bits``.
        channel_axis: the axis of the channels.
        eps: what is added to the variance.

    Returns:
        ``dx`` like ``x``; ``dweight`` and ``dbias``, a value for each channel in the type of computation; and
        ``dresidual`` like ``dy``, if asked for.

    Raises:
        ArgumentError: WF138 for another activation.
        TraceError: WF254 or WF269 for arrays of another shape, WF298 for a residual and an activation without bits.
    """
    if residual and activation is not None and bits is None:
        raise error("WF298", where=caller())
    t = result_type(x)
    x = wide(x, t)
    axes = others(x, channel_axis)
    affine = Affine(x, channel_axis, weight, bias)
    scale = reciprocal_root(_of_channels("var", var, x, channel_axis) + addend("eps", eps, 1e-5))
    standard = (x - _of_channels("mean", mean, x, channel_axis)) * scale
    g = expect_like("dy", dy, x)
    if activation is not None:
        _check_activation(activation)
        g = xp.where(passes(affine(standard)) if bits is None else kept_truths(bits, x), g, 0.0)
    dbias, dweight = (xp.sum(v, axes, keepdims=True) for v in (g, g * standard))
    offset, slope = (xp.mean(v, axes, keepdims=True) for v in (g, g * standard))
    factor = scale if affine.weight is None else scale * affine.weight
    dx = fma(g, factor, -fma(standard, slope * factor, offset * factor))
    results = {"dx": cast(dx, t), "dweight": xp.squeeze(dweight, axes), "dbias": xp.squeeze(dbias, axes)}
    return results | ({"dresidual": cast(g, result_type(dy))} if residual else {})


def _activated(x: Array, activation: str | None) -> Array:
    """What the activation makes of ``x``."""
    _check_activation(activation)
    return x if activation is None else relu(x)


def _check_activation(activation: str | None) -> None:
    if activation not in (None, "relu"):
        raise error("WF138", option="activation", value=activation, expected="None or 'relu'", default="None")


def _of_channels(name: str, value: Array, x: Array, channel_axis: int) -> Array:
    """A value for each channel in the type of ``x``, with axes of size 1 beside that of the channels."""
    along(name, value, x, channel_axis)  # for its errors
    return like(placed(value, x.ndim, positions(channel_axis, x.axes, x)) if value.ndim == 1 else value, x)


def _moved(running: Array, value: Array, momentum: float, n: Size) -> Array:
    """A running statistic with the ``value`` of ``n`` elements in it, in its own type; with that of none it stays."""
    own = like(running, value)
    return cast(own * (1.0 - momentum) + value * momentum if n.value else own, running.dtype)
