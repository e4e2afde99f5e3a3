"""Programs of arrays as users write them, and what NumPy says that they are."""

from __future__ import annotations

from typing import Any

import numpy as np

import warpfold as wf


@wf.program
def softmax(x: Any, *, axis: Any = -1) -> Any:
    e = wf.exp(x - wf.max(x, axis=axis, keepdims=True))
    return e / wf.sum(e, axis=axis, keepdims=True)


@wf.program
def layer_norm(x: Any, w: Any, b: Any = None, *, axis: Any = -1, eps: float = 1e-5) -> Any:
    m, v = wf.mean(x, axis=axis, keepdims=True), wf.var(x, axis=axis, keepdims=True)
    y = (x - m) * wf.rsqrt(v + eps) * w
    return y if b is None else y + b


@wf.program
def batch_norm(x: Any, w: Any, *, eps: float = 1e-5) -> Any:
    axes = (0, 2, 3)
    m, v = wf.mean(x, axis=axes), wf.var(x, axis=axes)
    y = (x - m[:, None, None]) * wf.rsqrt(v + eps)[:, None, None] * w[:, None, None]
    return {"y": y, "mean": m, "var": v}


@wf.program
def scaled(x: Any, t: Any) -> Any:
    return x * t


@wf.program
def several(x: Any) -> Any:
    """Folds over other dims, numbers of elements, results of every shape."""
    return wf.sum(x, axis=1), wf.max(x), wf.argmax(x, axis=0), x - wf.mean(x, axis=0)


@wf.program
def causal(x: Any) -> Any:
    xp = x.__array_namespace__()
    rows, columns = (xp.arange(n) for n in x.shape)
    return wf.where(rows[:, None] >= columns, x, 0.0)


def softmax_numpy(x: Any, axis: Any = -1) -> Any:
    wide = np.asarray(x, np.float64)
    e = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm_numpy(x: Any, w: Any, b: Any = 0.0) -> Any:
    wide = np.asarray(x, np.float64)
    m, v = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
    return (wide - m) / np.sqrt(v + 1e-5) * w + b


def batch_norm_numpy(x: Any, w: Any) -> Any:
    wide = np.asarray(x, np.float64)
    m, v = wide.mean((0, 2, 3)), wide.var((0, 2, 3))
    m4, v4, w4 = (a[:, None, None] for a in (m, v, w))
    return (wide - m4) / np.sqrt(v4 + 1e-5) * w4, m, v
