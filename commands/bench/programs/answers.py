"""The float64 reference of a program case, and the error allowed to its results.

Every result has a *scale*: the magnitude of the terms that its arithmetic adds, relative to which it rounds. It is 0
where all arithmetic is relative (a softmax), 1 for logarithms, and for norms the magnitude of the elements over the
standard deviation by which they are divided. A result ``y`` may be off by ``SLACK`` roundings of ``|y| + scale`` in the
accumulation type, and by ``ROUNDINGS`` of ``|y|`` in its own type: more than one, since a result may be computed from
another one that was rounded.

Peers are checked loosely: some compute in the type of the array, or with approximate functions. Their results may be
off by ``LOOSE`` more roundings of ``|y| + scale`` in that type, or by ``APPROXIMATE`` of it if that is more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ....compiler.dtypes import DType, dtype
from ....compiler.program.bit_arrays import WORD
from ...checking.running_error import tiny
from ..answers import SLACK, unit
from . import gradient_references
from .case import DROPPED, EPS, FALLING, RISING, RMS_EPS, TOP, ProgramCase

ROUNDINGS, LOOSE = 3, 16
APPROXIMATE = 1e-4
DEVIATIONS = 6
"""Standard deviations that the number of dropped elements may be off."""
GREATEST_FP8 = 448.0
"""The greatest finite e4m3 value."""
HALF_FP8, TINY_FP8 = 2.0**-4, 2.0**-10
"""Half the distance of neighbouring e4m3 values: relative to the value, and below the least normal one."""


class Answer(NamedTuple):
    """The reference of one result.

    Attributes:
        values: the elements in float64.
        scale: a number, or an array that broadcasts to ``values``.
    """

    values: Any
    scale: Any = 0.0


def answer(case: ProgramCase, arrays: Sequence[Any]) -> list[Answer]:
    """The reference of each result, computed where the arrays are."""
    if case.is_backward:
        return [Answer(*found) for found in gradient_references.REFERENCES[case.what](case, *arrays)]
    return REFERENCES[case.what](case, *arrays)


def error_of(
    case: ProgramCase, expected: Sequence[Answer], found: Sequence[Any], arrays: Sequence[Any], ours: bool
) -> tuple[float, bool]:
    """The greatest error of the results, and whether all errors are allowed.

    Args:
        case: the case.
        expected: its references.
        found: the results; a peer may leave out all but the first.
        arrays: the inputs.
        ours: whether the results are warpfold's; those of a peer are checked loosely.
    """
    if not found or (ours and len(found) != len(expected)):
        return math.inf, False
    if case.what == "quant_fp8":
        return _quantized(case, expected[1], found, arrays[0], ours)
    if case.what == "dropout":
        return _dropped(case, expected[0], found[0], ours)
    errors = [_error(case, one, got, ours) for one, got in zip(expected, found, strict=False) if got is not None]
    return max(e for e, _ in errors), all(right for _, right in errors)


def _error(case: ProgramCase, expected: Answer, found: Any, ours: bool) -> tuple[float, bool]:
    """The greatest error of one result, and whether all errors are allowed; NaN is never right."""
    values = expected.values
    if found.numel() != values.numel():
        return math.inf, False
    if not values.is_floating_point():  # bits, and what is counted
        wrong = int((found.reshape(values.shape).view(values.dtype) != values).sum())
        return float(wrong), wrong == 0
    t = dtype(found.dtype)
    size = values.abs()
    allowed = size.mul(ROUNDINGS * unit(t)).add_(tiny(t) * 2 * unit(t))
    allowed += size.add_(expected.scale).mul_(_tolerance(case.dtype, ours))
    off = (found.reshape(values.shape).double() - values).abs_()
    return float(off.max()), bool((off <= allowed).all())


def _quantized(case: ProgramCase, scales: Answer, found: Sequence[Any], x: Any, ours: bool) -> tuple[float, bool]:
    """Checks the scales against the reference, and the 8-bit elements against what these scales make of ``x``."""
    q, scale = found
    error, right = _error(case, scales, scale, ours)
    if not right or q.numel() != x.numel():
        return error, False
    wide, scale = x.double(), scale.double().reshape(scales.values.shape).unsqueeze(case.axes[0])
    off = q.reshape(x.shape).double().mul_(scale).sub_(wide).abs_()
    allowed = wide.abs().mul_(HALF_FP8).add_(TINY_FP8 * scale).mul_(1 + _tolerance(case.dtype, ours))
    return float(off.max()), bool((off <= allowed).all())


def _dropped(case: ProgramCase, every: Answer, found: Any, ours: bool) -> tuple[float, bool]:
    """Checks elements that are kept against the reference, which keeps all, and how many are dropped.

    Their number has a binomial distribution. NaN is neither kept nor dropped.
    """
    if found.numel() != every.values.numel():
        return math.inf, False
    zero = found == 0
    error, right = _error(case, Answer(every.values.masked_fill(zero, 0), every.scale), found, ours)
    n = found.numel()
    spread = DEVIATIONS * math.sqrt(DROPPED * (1 - DROPPED) / n)
    return error, right and abs(float(zero.double().mean()) - DROPPED) <= spread


def _tolerance(t: DType, ours: bool) -> float:
    """The relative error allowed to the arithmetic on elements of a type."""
    exact = SLACK * (unit(t) if t.bits == 64 else 2.0**-24)
    return exact if ours else exact + max(LOOSE * unit(t), APPROXIMATE)


# --- references ----------------------------------------------------------------------------------------------------
def _softmax(case: ProgramCase, x: Any) -> list[Answer]:
    wide = x.double()
    e = (wide - wide.amax(case.axes, keepdim=True)).exp_()
    return [Answer(e.div_(e.sum(case.axes, keepdim=True)))]


def _cumsum(case: ProgramCase, x: Any) -> list[Answer]:
    if not x.is_floating_point():
        return [Answer(x.cumsum(case.axis, dtype=x.dtype))]
    wide = x.double()
    return [Answer(wide.cumsum(case.axis), wide.abs_().cumsum_(case.axis))]


def _recurrence(case: ProgramCase, x: Any, z: Any) -> list[Answer]:
    """By doubling: an element has those of so many before it, and then of twice as many."""
    b = x.double().movedim(case.axis, -1).clone()
    rising, falling = (x.new_full((), factor).double() for factor in (RISING, FALLING))  # of the elements' type
    a = falling.where(z.movedim(case.axis, -1) <= 0, rising)
    size, distance = b.abs(), 1
    while distance < b.shape[-1] and bool((a[..., distance:] != 0).any()):
        for own in (b, size):
            own[..., distance:] += a[..., distance:] * own[..., :-distance].clone()
        a[..., distance:] *= a[..., :-distance].clone()
        distance *= 2
    return [Answer(b.movedim(-1, case.axis), size.movedim(-1, case.axis))]


def _logsumexp(case: ProgramCase, x: Any) -> list[Answer]:
    return [Answer(x.double().logsumexp(case.axes), 1.0)]


def _log_softmax(case: ProgramCase, x: Any) -> list[Answer]:
    wide = x.double()
    return [Answer(wide - wide.logsumexp(case.axes, keepdim=True), 1.0)]


def _cross_entropy(_: ProgramCase, x: Any, target: Any) -> list[Answer]:
    wide = x.double()
    return [Answer(wide.logsumexp(1) - wide.gather(1, target[:, None])[:, 0], 1.0)]


def _centred(axes: Sequence[int], wide: Any) -> tuple[Any, Any, Any, Any]:
    """``x`` with mean 0 and variance 1, the scale of its rounding, the mean, and the variance."""
    mean = wide.mean(axes, keepdim=True)
    var = wide.var(axes, correction=0, keepdim=True)
    rstd = (var + EPS).rsqrt_()
    return (wide - mean).mul_(rstd), wide.square().mean(axes, keepdim=True).sqrt_().mul_(rstd), mean, var


def _standardize(case: ProgramCase, x: Any) -> list[Answer]:
    return [Answer(*_centred(case.axes, x.double())[:2])]


def _layer_norm(case: ProgramCase, x: Any, w: Any, b: Any) -> list[Answer]:
    y, scale, _, _ = _centred(case.axes, x.double())
    return [Answer(y.mul_(_spread(case, w)).add_(_spread(case, b)), _affine(scale, w, b))]


def _spread(case: ProgramCase, w: Any) -> Any:
    """A weight or a bias in float64, in a shape that broadcasts to ``x``."""
    return w.double().reshape(case.spread)


def _affine(scale: Any, w: Any, b: Any) -> Any:
    """The scale after weight and bias."""
    return scale * float(w.double().abs().max()) + float(b.double().abs().max())


def _rms_norm(case: ProgramCase, x: Any, w: Any) -> list[Answer]:
    wide = x.double()
    r = wide.square().mean(case.axes, keepdim=True).add_(RMS_EPS).rsqrt_()
    return [Answer(wide.mul(r).mul_(_spread(case, w)))]


def _add_rms_norm(case: ProgramCase, x: Any, residual: Any, w: Any) -> list[Answer]:
    h = x.double() + residual.double()
    return [*_rms_norm(case, h, w), Answer(h)]


def _group_norm(case: ProgramCase, x: Any, w: Any, b: Any) -> list[Answer]:
    images, groups, _ = case.grouped
    y, scale, _, _ = _centred((2,), x.double().reshape(case.grouped))
    w, b = _spread(case, w), _spread(case, b)
    scale = _affine(scale, w, b).expand(images, groups, case.shape[1] // groups)
    scale = scale.reshape(images, case.shape[1], *[1] * (len(case.shape) - 2))
    return [Answer(y.reshape(case.shape).mul_(w).add_(b), scale)]


def _batch_norm(case: ProgramCase, x: Any, w: Any, b: Any) -> list[Answer]:
    y, scale, mean, var = _centred(case.axes, x.double())
    w, b = _spread(case, w), _spread(case, b)
    return [Answer(y.mul_(w).add_(b), _affine(scale, w, b)), Answer(mean.flatten(), 1.0), Answer(var.flatten(), 1.0)]


def _batch_norm_relu(case: ProgramCase, x: Any, w: Any, b: Any) -> list[Answer]:
    y, *statistics = _batch_norm(case, x, w, b)
    return [Answer(y.values.clamp_(min=0), y.scale), *statistics]


def _relu(_: ProgramCase, x: Any) -> list[Answer]:
    return [Answer(x.double().clamp(min=0))]


def _relu_bits(_: ProgramCase, x: Any) -> list[Answer]:
    return [Answer(x.double().clamp(min=0)), Answer(words_of(x > 0))]


def words_of(mask: Any) -> Any:
    """The words of a mask in row-major order, of type i32."""
    flat = mask.flatten()
    padded = flat.new_zeros(-(-flat.numel() // WORD) * WORD)
    padded[: flat.numel()] = flat
    weights = [1 << k if k < WORD - 1 else -(1 << k) for k in range(WORD)]
    return sum(padded[k::WORD].int() * weight for k, weight in enumerate(weights))


def _bits_of(case: ProgramCase, mask: Any) -> Any:
    """The words of a mask, whose bits are numbered as the elements lie in memory."""
    return words_of(mask.movedim(1, -1) if case.is_nhwc else mask)


def _batch_norm_add_relu(case: ProgramCase, x: Any, w: Any, b: Any, z: Any) -> list[Answer]:
    y, *statistics = _batch_norm(case, x, w, b)
    total = y.values.add_(z)
    scale = y.scale + float(z.abs().max())
    return [Answer(total.clamp(min=0), scale), *statistics, Answer(_bits_of(case, total > 0))]


def _batch_norm_running_relu(case: ProgramCase, x: Any, w: Any, b: Any, _: Any, __: Any) -> list[Answer]:
    """Running statistics with a momentum of 1 are those of the batch, with an unbiased variance."""
    y, mean, var = _batch_norm_relu(case, x, w, b)
    n = x.numel() // x.shape[1]
    return [y, mean, Answer(var.values * (n / (n - 1)), 1.0)]


def _batch_norm_backward(case: ProgramCase, g: Any, x: Any, mean: Any, var: Any, w: Any) -> list[Answer]:
    """The gradients in ``x``, the weight and the bias, from the one in the norm."""
    rstd = (_spread(case, var) + EPS).rsqrt_()
    normal = (x.double() - _spread(case, mean)) * rstd
    n = x.numel() // x.shape[1]
    dbias, dweight = g.sum(case.axes, keepdim=True), (g * normal).sum(case.axes, keepdim=True)
    size = g.abs().sum(case.axes)
    factor = _spread(case, w) * rstd
    dx = (g - normal.mul_(dweight / n) - dbias / n).mul_(factor)
    scale = factor.abs() * float(g.abs().max())
    return [Answer(dx, scale), Answer(dweight.flatten(), 4 * size), Answer(dbias.flatten(), size)]


def _batch_norm_add_relu_backward(
    case: ProgramCase, dy: Any, x: Any, mean: Any, var: Any, w: Any, _: Any, __: Any, y: Any
) -> list[Answer]:
    g = dy.double() * (y > 0)
    return [*_batch_norm_backward(case, g, x, mean, var, w), Answer(g)]


def _dropout_backward(_: ProgramCase, dy: Any, __: Any, mask: Any) -> list[Answer]:
    return [Answer(dy.double() * mask / (1 - DROPPED))]


def _sum(_: ProgramCase, x: Any) -> list[Answer]:
    wide = x.double()
    return [Answer(wide.sum(), float(wide.abs().sum()))]


def _count_nonzero(case: ProgramCase, words: Any) -> list[Answer]:
    last = prod(case.shape) - WORD * (words.numel() - 1)  # the bits of the last word that count
    counts = [((words >> k) & 1).sum() - (((words[-1] >> k) & 1) if k >= last else 0) for k in range(WORD)]
    return [Answer(sum(counts))]


def _relu_backward(_: ProgramCase, dy: Any, __: Any, output: Any) -> list[Answer]:
    return [Answer(dy.double() * (output > 0))]


def _quantize(case: ProgramCase, x: Any) -> list[Answer]:
    scale = x.double().abs().amax(case.axes) / GREATEST_FP8
    return [Answer(x), Answer(scale)]


REFERENCES: dict[str, Callable[..., list[Answer]]] = {
    "softmax": _softmax,
    "softmin": lambda case, x: _softmax(case, -x),
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "standardize": _standardize,
    "layernorm": _layer_norm,
    "rmsnorm": _rms_norm,
    "add_rmsnorm": _add_rms_norm,
    "quant_fp8": _quantize,
    "cross_entropy": _cross_entropy,
    "groupnorm": _group_norm,
    "batchnorm": _batch_norm,
    "batchnorm_nhwc": _batch_norm,
    "batchnorm_relu": _batch_norm_relu,
    "batchnorm_relu_nhwc": _batch_norm_relu,
    "var_norm_cols": _standardize,
    "cumsum": _cumsum,
    "cummax": lambda case, x: [Answer(x.double().cummax(case.axis)[0])],
    "logcumsumexp": lambda case, x: [Answer(x.double().logcumsumexp(case.axis), 1.0)],
    "recurrence": _recurrence,
    "topk": lambda case, x: [Answer(x.double().topk(TOP, case.axis)[0])],
    "relu": _relu,
    "relu_bits": _relu_bits,
    "relu_backward": _relu_backward,
    "batchnorm_running_relu": _batch_norm_running_relu,
    "batchnorm_running_relu_nhwc": _batch_norm_running_relu,
    "batchnorm_add_relu": _batch_norm_add_relu,
    "batchnorm_add_relu_nhwc": _batch_norm_add_relu,
    "batchnorm_add_relu_backward": _batch_norm_add_relu_backward,
    "batchnorm_add_relu_backward_nhwc": _batch_norm_add_relu_backward,
    "dropout": lambda _, x: [Answer(x.double() / (1 - DROPPED))],
    "dropout_backward": _dropout_backward,
    "sum": _sum,
    "sum_where": lambda case, x, _, mask: _sum(case, x * mask),
    "count_nonzero": _count_nonzero,
    "array_equal": lambda _, x, y: [Answer((x == y).all())],
    "add": lambda _, x, z: [Answer(x.double() + z)],
    "add_relu": lambda case, x, z: _relu(case, x.double() + z),
    "add_relu_bits": lambda case, x, z: _relu_bits(case, x.double() + z),
    "where": lambda _, x, z: [Answer(x.double().where(x > 0, z.double()))],
}
"""The reference of each operation, from its inputs; references hold float64 arrays of the size of the results."""
