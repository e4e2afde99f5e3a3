"""What every program of the library is, in NumPy, and how far a result may lie from it before it is rounded.

Everything is computed in longdouble. Let ``u`` be the unit roundoff of the type of computation (2^-24, for f64 2^-53).
A sum of n terms may be off by (16 + 4 sqrt(n)) u of the sum of their magnitudes, which holds for the trees that
plans combine in, and not for a sum one by one. Errors of first order are added up: an exponent that is off by d is a
factor of 1 + d; a mean that is off moves what is centred, and the second fold takes most of that back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpfold.compiler.dtypes import DType, dtype, floating

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
LOSSES = ("cross_entropy", "nll_loss")
TINY = {2.0**-24: 2.0**-125, 2.0**-53: 2.0**-1020}
"""What underflow may lose, by the roundoff."""


@dataclass(frozen=True)
class Result:
    """One result: its values, how far off they may be before the last rounding, and its type."""

    value: Array
    off: Array
    dtype: DType


@dataclass(frozen=True)
class Call:
    """The arrays of a call in longdouble.

    Attributes:
        arrays: by name; those that are not given are missing.
        types: their element types.
        params: the other arguments.
    """

    arrays: Arrays
    types: dict[str, DType]
    params: dict[str, Any]

    @property
    def x(self) -> Array:
        return self.arrays["x"]

    @property
    def result(self) -> DType:
        """The type of results that have the type of ``x``."""
        return floating(self.types["x"])

    @property
    def u(self) -> float:
        return 2.0**-53 if self.result.name == "f64" else 2.0**-24

    @property
    def wide(self) -> DType:
        """The type of computation."""
        return dtype("f64" if self.result.name == "f64" else "f32")

    @property
    def axes(self) -> tuple[int, ...]:
        axis, rank = self.params.get("axis", -1), self.x.ndim
        given = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        return tuple(sorted(a % rank for a in given))

    def of_sum(self, axes: tuple[int, ...], x: Array | None = None) -> float:
        """The relative error of a sum along axes."""
        n = int(np.prod([(self.x if x is None else x).shape[a] for a in axes], initial=1))
        return float((16 + 4 * np.sqrt(n)) * self.u)

    def along(self, name: str, axes: tuple[int, ...]) -> Array | None:
        """A weight that lies along axes of ``x``, or broadcasts to it."""
        found = self.arrays.get(name)
        if found is None or found.ndim != len(axes):
            return found
        rest = iter(found.shape)
        return found.reshape([next(rest) if a in axes else 1 for a in range(self.x.ndim)])


def _sum(x: Array, axes: tuple[int, ...]) -> Array:
    return x.sum(axis=axes, keepdims=True)


def _max(x: Array, axes: tuple[int, ...]) -> Array:
    return x.max(axis=axes, keepdims=True, initial=-np.inf)


# --- softmax -------------------------------------------------------------------------------------------------------
def _exponents(c: Call, sign: int) -> tuple[Array, Array, Array, float]:
    """Logits relative to the greatest, how far off they may be, and the greatest."""
    logits = sign * c.x + c.arrays.get("bias", 0.0)
    logits = np.where(c.arrays["where"] != 0, logits, -np.inf) if "where" in c.arrays else logits
    greatest = _max(logits, c.axes)
    shifted = logits - greatest
    with np.errstate(all="ignore"):
        off = c.u * (np.abs(logits) + np.abs(greatest) + 2 * np.abs(shifted) + 8)
    return shifted, np.nan_to_num(off, nan=0, posinf=0), greatest, c.of_sum(c.axes)


def _softmax(c: Call, sign: int = 1) -> list[Result]:
    shifted, off, _, of_sum = _exponents(c, sign)
    e = np.exp(shifted)
    total = _sum(e, c.axes)
    y = e / total
    return [Result(y, np.abs(y) * (off + _sum(e * off, c.axes) / total + of_sum) + TINY[c.u], c.result)]


def _log_softmax(c: Call) -> list[Result]:
    shifted, off, _, of_sum = _exponents(c, 1)
    e = np.exp(shifted)
    total = _sum(e, c.axes)
    y = shifted - np.log(total)
    sums = _sum(e * off, c.axes) / total + of_sum + 4 * c.u * np.abs(np.log(total))
    return [Result(y, off + sums + c.u * np.abs(y), c.result)]


# --- norms ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Moments:
    """Of rows: elements less the mean, mean and variance, and how far off each may be."""

    centred: Array
    mean: Array
    var: Array
    off_centred: Array
    off_mean: Array
    off_var: Array


def _moments(c: Call, x: Array, axes: tuple[int, ...], mask: Array | None = None, correction: float = 0) -> Moments:
    mask = np.broadcast_to(True if mask is None else mask, x.shape)
    n = mask.sum(axis=axes, keepdims=True)
    inside = np.where(mask, x, 0)
    mean = _sum(inside, axes) / n
    centred = x - mean
    squares = _sum(np.where(mask, centred * centred, 0), axes)
    var = np.where(n > correction, squares / np.where(n > correction, n - correction, 1), np.nan)
    of_sum = c.of_sum(axes, x)
    first = of_sum * _max(np.abs(inside), axes)
    spread = _max(np.where(mask, np.abs(centred), 0), axes) + first
    off_centred = of_sum * (spread + np.abs(centred))
    off_var = 2 * of_sum * (var + first * first)
    return Moments(centred, mean, var, off_centred, c.u * np.abs(mean) + of_sum * spread, off_var)


def _scaled(c: Call, m: Moments, eps: float, axes: tuple[int, ...], t: DType) -> Result:
    """Elements less their mean over their deviation, times a weight, and a bias."""
    root = 1 / np.sqrt(m.var + eps)
    weight, bias = c.along("weight", axes), c.along("bias", axes)
    w, b = (1.0 if weight is None else weight), (0.0 if bias is None else bias)
    y = m.centred * root
    off = m.off_centred * root + np.abs(y) * (m.off_var / (2 * (m.var + eps)) + 8 * c.u)
    return Result(y * w + b, off * np.abs(w) + 4 * c.u * (np.abs(y * w) + np.abs(b)) + TINY[c.u], t)


def _layer_norm(c: Call, x: Array | None = None) -> list[Result]:
    x = c.x if x is None else x
    return [_scaled(c, _moments(c, x, c.axes), c.params.get("eps", 1e-5), c.axes, c.result)]


def _rms_norm(c: Call, x: Array | None = None) -> list[Result]:
    x = c.x if x is None else x
    eps = c.params.get("eps", 2.0**-52 if c.result.name == "f64" else 2.0**-23)
    n = np.prod([x.shape[a] for a in c.axes], initial=1)
    root = 1 / np.sqrt(_sum(x * x, c.axes) / n + eps)
    weight = c.along("weight", c.axes)
    y = x * root * (1.0 if weight is None else weight)
    return [Result(y, np.abs(y) * (c.of_sum(c.axes) + 8 * c.u) + TINY[c.u], c.result)]


def _added(norm: Callable[[Call, Array], list[Result]]) -> Callable[[Call], list[Result]]:
    def both(c: Call) -> list[Result]:
        exact = c.x + c.arrays["residual"]
        total = exact.astype(c.wide.numpy).astype(np.longdouble)  # the sum is rounded before it is normed
        return [*norm(c, total), Result(exact, c.u * np.abs(exact), c.result)]

    return both


def _channels(c: Call) -> tuple[int, tuple[int, ...]]:
    """The axis of the channels, and the others."""
    channel = c.params.get("channel_axis", 1) % c.x.ndim
    return channel, tuple(a for a in range(c.x.ndim) if a != channel)


def _batch_norm(c: Call) -> list[Result]:
    channel, others = _channels(c)
    eps = c.params.get("eps", 1e-5)
    if c.params.get("training"):
        m = _moments(c, c.x, others)
        statistics = [Result(v.squeeze(others), o.squeeze(others), c.wide) for v, o in
                      ((m.mean, m.off_mean), (m.var, m.off_var))]  # fmt: skip
        return [_scaled(c, m, eps, (channel,), c.result), *statistics]
    mean, var = (c.along(name, (channel,)) for name in ("running_mean", "running_var"))
    assert mean is not None
    assert var is not None
    centred = c.x - mean
    zero = np.zeros(())
    off = c.u * (np.abs(centred) + np.abs(mean))
    return [_scaled(c, Moments(centred, mean, var, off, zero, 2 * c.u * (var + eps)), eps, (channel,), c.result)]


def _instance_norm(c: Call) -> list[Result]:
    channel, others = _channels(c)
    m = _moments(c, c.x, tuple(a for a in others if a))
    return [_scaled(c, m, c.params.get("eps", 1e-5), (channel,), c.result)]


def _group_norm(c: Call) -> list[Result]:
    channel, _ = _channels(c)
    shape = c.x.shape
    groups = c.params["num_groups"]
    grouped = c.x.reshape(*shape[:channel], groups, shape[channel] // groups, *shape[channel + 1 :])
    m = _moments(c, grouped, tuple(a for a in range(grouped.ndim) if a not in (0, channel)))
    values = (np.broadcast_to(v, grouped.shape).reshape(shape) for v in
              (m.centred, m.mean, m.var, m.off_centred, m.off_mean, m.off_var))  # fmt: skip
    return [_scaled(c, Moments(*values), c.params.get("eps", 1e-5), (channel,), c.result)]


def _normalize(c: Call) -> list[Result]:
    p = c.params.get("p", 2.0)
    magnitudes = np.abs(c.x)
    if np.isinf(p):
        norm = _max(magnitudes, c.axes)
    else:
        norm = _sum(magnitudes**p, c.axes) ** (1 / np.longdouble(p)) if p else _sum(magnitudes != 0, c.axes)
    y = c.x / np.maximum(norm, c.params.get("eps", 1e-12))
    return [Result(y, np.abs(y) * (c.of_sum(c.axes) + 64 * c.u) + TINY[c.u], c.result)]


def _standardize(c: Call) -> list[Result]:
    mask = c.arrays["where"] != 0 if "where" in c.arrays else None
    m = _moments(c, c.x, c.axes, mask, c.params.get("correction", 0))
    return [_scaled(c, m, c.params["eps"], c.axes, c.result)]


# --- losses and quantisation ---------------------------------------------------------------------------------------
def _losses(c: Call, *, entropy: bool) -> list[Result]:
    axis = c.params.get("axis")
    axis = (min(1, c.x.ndim - 1) if axis is None else axis) % c.x.ndim
    x, target = c.x, np.expand_dims(c.arrays["target"].astype(np.int64), axis)
    cap, smoothing = c.params.get("softcap"), c.params.get("label_smoothing", 0.0)
    x = x if cap is None else cap * np.tanh(x / cap)
    classes = x.shape[axis]
    w = c.along("weight", (axis,))
    w = np.broadcast_to(np.ones(()) if w is None else w, x.shape)
    inside, counted = (target >= 0) & (target < classes), target != c.params.get("ignore_index", -100)
    place = np.where(inside, target, 0)
    at, weight = (np.take_along_axis(v, place, axis) for v in (x, w))
    greatest = _max(np.abs(x), (axis,))
    lse = _max(x, (axis,)) + np.log(_sum(np.exp(x - _max(x, (axis,))), (axis,)))
    loss = weight * (lse - at if entropy else -at)
    if entropy:
        loss = (1 - smoothing) * loss + smoothing * (w * (lse - x)).mean(axis, keepdims=True)
        loss = loss + c.params.get("z_loss", 0.0) * lse * lse
    loss = np.where(counted, np.where(inside, loss, np.nan), 0.0).squeeze(axis)
    scale = (greatest + np.abs(lse) + c.params.get("z_loss", 0.0) * lse * lse) * np.abs(w).max(axis, keepdims=True)
    off = ((4 * c.of_sum((axis,)) + 16 * c.u) * scale * counted).squeeze(axis)
    t, reduction = c.wide, c.params.get("reduction", "mean")
    if reduction == "none":
        return [Result(loss, off, t)]
    rows = c.of_sum(tuple(range(loss.ndim)), loss)
    total, off_total = loss.sum(), off.sum() + rows * np.abs(loss).sum()
    if reduction == "sum":
        return [Result(total, off_total, t)]
    n = (weight * counted).sum()
    off_n = rows * n if "weight" in c.arrays else 0.0
    return [Result(total / n, off_total / n + np.abs(total / n) * (off_n / n + 4 * c.u), t)]


GREATEST = {"f8e4m3fn": 448.0, "f8e5m2": 57344.0, "i8": 127.0}


def _quantize(c: Call) -> list[Result]:
    to, axes = dtype(c.params["dtype"]), c.axes
    block = c.params.get("block")
    shape, x = c.x.shape, c.x
    if block is not None:
        (axis,) = axes
        x, axes = x.reshape(*shape[:axis], shape[axis] // block, block, *shape[axis + 1 :]), (axis + 1,)
    greatest = _max(np.abs(x), axes)
    scale = np.where(greatest == 0, 1, np.maximum(greatest / np.longdouble(GREATEST[to.name]), 2.0**-126))
    q = np.broadcast_to(x / scale, x.shape).reshape(shape)
    scales = Result(scale if block is None else scale.squeeze(axes), np.abs(scale).squeeze(axes if block else ()) * c.u,
                    c.wide)  # fmt: skip
    return [Result(q, 4 * c.u * np.abs(q), to), scales]


REFERENCE: dict[str, Callable[[Call], list[Result]]] = {
    "softmax": _softmax, "softmin": lambda c: _softmax(c, -1), "log_softmax": _log_softmax, "layer_norm": _layer_norm,
    "rms_norm": _rms_norm, "add_layer_norm": _added(_layer_norm), "add_rms_norm": _added(_rms_norm),
    "batch_norm": _batch_norm, "instance_norm": _instance_norm, "group_norm": _group_norm, "normalize": _normalize,
    "standardize": _standardize, "cross_entropy": lambda c: _losses(c, entropy=True),
    "nll_loss": lambda c: _losses(c, entropy=False), "quantize": _quantize,
}  # fmt: skip


def compare(got: Array, wanted: Result) -> str:
    """What is wrong with a result; empty when nothing is. Both ends of the interval are rounded to its type."""
    t = wanted.dtype
    if dtype(got.dtype) != t:
        return f"the type is {dtype(got.dtype)}, not {t}"
    value = np.asarray(wanted.value)
    if got.shape != value.shape:
        return f"the shape is {got.shape}, not {value.shape}"
    with np.errstate(all="ignore"):
        off = np.where(np.isfinite(value), np.nan_to_num(wanted.off, nan=0, posinf=0), 0)
        low, high = (_rounded(value + s * off, t) for s in (-1, 1))
        found = got.astype(np.longdouble)
        fine = ((low <= found) & (found <= high)) | (np.isnan(value) & (np.isnan(found) | t.is_integer))
    if fine.all():
        return ""
    i = np.unravel_index(int(np.argmin(fine)), fine.shape)
    return f"[{i}] is {got[i]!r}, not {value[i]!r} to within {off[i]!r} ({int((~fine).sum())} of {fine.size} wrong)"


def _rounded(value: Array, t: DType) -> Array:
    """Values in a type; 8-bit types saturate."""
    if t.is_integer:
        return np.clip(np.rint(value), t.lowest, t.highest).astype(np.longdouble)
    if t.name in GREATEST:
        value = np.clip(value, -GREATEST[t.name], GREATEST[t.name])
    narrow = value.astype(np.float64) if t.name != "f64" else value
    return np.asarray(narrow.astype(t.numpy)).astype(np.longdouble)
