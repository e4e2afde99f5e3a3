"""The float64 references of the gradients of program cases: values, and the scale relative to which they may round.

The scale of the gradient of elements is the greatest term of their row. The gradient of a weight is a sum over n rows
of products of random elements, whose magnitude is sqrt(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..answers import SLACK, unit
from .case import EPS, RMS_EPS, ProgramCase

Reference = tuple[Any, Any]
"""Values, and their scale."""


def _softmax(case: ProgramCase, x: Any, dy: Any) -> list[Reference]:
    y = x.double().softmax(case.axes[0])
    terms = y * dy
    return [(terms - y * terms.sum(case.axes, keepdim=True), y * dy.double().abs().amax(case.axes, keepdim=True))]


def _log_softmax(case: ProgramCase, x: Any, dy: Any) -> list[Reference]:
    y = x.double().softmax(case.axes[0]).mul_(dy.double().sum(case.axes, keepdim=True))
    return [(dy.double() - y, _greatest(y, case.axes))]


def _cross_entropy(_: ProgramCase, x: Any, target: Any) -> list[Reference]:
    """The mean of the losses, and its gradient."""
    wide, rows = x.double(), len(x)
    loss = wide.logsumexp(1) - wide.gather(1, target[:, None])[:, 0]
    p = wide.softmax(1)
    p[range(rows), target] -= 1.0
    return [(loss.mean(), 1.0), (p.div_(rows), 0.0)]


def _layer_norm(case: ProgramCase, x: Any, w: Any, _: Any, dy: Any) -> list[Reference]:
    wide = x.double()
    y, r = _centred(wide, case.axes)
    return _of_norm(case, y, r, case.axes, w, dy, centred=True)


def _rms_norm(case: ProgramCase, x: Any, w: Any, dy: Any) -> list[Reference]:
    wide = x.double()
    r = wide.square().mean(case.axes, keepdim=True).add_(RMS_EPS).rsqrt_()
    return _of_norm(case, wide * r, r, case.axes, w, dy, centred=False)


def _add_rms_norm(case: ProgramCase, x: Any, residual: Any, w: Any, dy: Any, dh: Any) -> list[Reference]:
    """Those of terms that the forward has rounded to the type of the sum."""
    (dx, scale), (dw, size) = _rms_norm(case, x.double() + residual.double(), w, dy)
    rounded = max(1.0, 4 * unit(case.dtype) / (SLACK * 2.0**-24))
    dx += dh.double()
    return [(dx, scale * rounded), (dx, scale * rounded), (dw, size * rounded)]


def _group_norm(case: ProgramCase, x: Any, w: Any, _: Any, dy: Any) -> list[Reference]:
    y, r = (v.expand(case.grouped).reshape(case.shape) for v in _centred(x.double().reshape(case.grouped), (2,)))
    return _of_norm(case, y, r, None, w, dy, centred=True)


def _batch_norm(case: ProgramCase, x: Any, w: Any, b: Any, dy: Any) -> list[Reference]:
    y, r = _centred(x.double(), case.axes)
    if "relu" in case.what:
        dy = dy * (y * _spread(case, w) + _spread(case, b) > 0)
    return _of_norm(case, y, r, case.axes, w, dy, centred=True)


def _of_norm(
    case: ProgramCase, y: Any, r: Any, axes: Sequence[int] | None, w: Any, dy: Any, *, centred: bool
) -> list[Reference]:
    """The gradients of elements y = (x - mean) r, or x r, times a weight, and of that and a bias.

    ``axes`` are those of the mean; None for groups of channels.
    """
    dy = dy.double()
    g = dy * _spread(case, w)

    def mean(v: Any) -> Any:
        if axes is not None:
            return v.mean(axes, keepdim=True)
        return v.reshape(case.grouped).mean(2, keepdim=True).expand(case.grouped).reshape(case.shape)

    dx = g - y * mean(g * y)
    dx = (dx - mean(g) if centred else dx).mul_(r)
    others = tuple(a for a in range(dy.ndim) if case.spread[a] == 1)
    size = math.sqrt(math.prod(dy.shape[a] for a in others))
    dw, db = ((v.sum(others), size) for v in (dy * y, dy))
    scale = _greatest(g, (0, *range(2, g.ndim)) if axes is None else axes) * r
    return [(dx, scale), dw, *([db] if centred else [])]


def _centred(wide: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    """Elements with mean 0 and variance 1, and the reciprocal of the deviation."""
    r = (wide.var(axes, correction=0, keepdim=True) + EPS).rsqrt_()
    return (wide - wide.mean(axes, keepdim=True)).mul_(r), r


def _spread(case: ProgramCase, w: Any) -> Any:
    return w.double().reshape(case.spread)


def _greatest(v: Any, axes: Sequence[int]) -> Any:
    return v.abs().amax(axes, keepdim=True)


REFERENCES: dict[str, Callable[..., list[Reference]]] = {
    "softmax_bwd": _softmax,
    "log_softmax_bwd": _log_softmax,
    "cross_entropy_fwdbwd": _cross_entropy,
    "layernorm_bwd": _layer_norm,
    "rmsnorm_bwd": _rms_norm,
    "add_rmsnorm_bwd": _add_rms_norm,
    "groupnorm_bwd": _group_norm,
    "batchnorm_bwd": _batch_norm,
    "batchnorm_nhwc_bwd": _batch_norm,
    "batchnorm_relu_bwd": _batch_norm,
    "batchnorm_relu_nhwc_bwd": _batch_norm,
}
"""The references of each operation that computes gradients, from its inputs."""
