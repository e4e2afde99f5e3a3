"""Arrays and calls that the tests of docs/semantics.md share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from warpfold.commands.checking.reference import depth
from warpfold.runtime.api import plan_for

INF, NAN = math.inf, math.nan
F32, F64, F16, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
Array = np.ndarray[Any, Any]


def on_emulator(name: str) -> Callable[..., Any]:
    return partial(getattr(wf, name), device="emulator")


def f32(*values: float) -> Array:
    return np.array(values, F32)


def f64(*values: float) -> Array:
    return np.array(values, F64)


def mask(*values: int) -> Array:
    return np.array(values, bool)


def refused(code: str, name: str, *arrays: Any, **how: Any) -> None:
    with pytest.raises(wf.WarpfoldError, match=code):
        on_emulator(name)(*arrays, **how)


def normal(*shape: int, dtype: Any = F32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


total, product, least, greatest, reduce = (on_emulator(n) for n in ("sum", "prod", "min", "max", "reduce"))


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """Composes x -> s x + t; the left map is applied first."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


def composed_in_numpy(rows: Array) -> Array:
    t = np.zeros(rows.shape[:-1])
    for i in range(rows.shape[-1]):
        t = t * rows[..., i] + (rows[..., i] - 1)
    return t


def segments(x: Any, offsets: Any, what: Any, **how: Any) -> Any:
    return wf.segment_reduce(x, offsets, what, device="emulator", **how)


U32, U64 = 2.0**-24, 2.0**-53


def g(k: int, u: float) -> float:
    """Higham's gamma: a product of k factors 1 + e, with |e| <= u, is within it of 1."""
    return k * u / (1 - k * u)


def additions(n: int, **how: Any) -> int:
    """The most additions an element goes through in the plan for the sum of n elements."""
    ready = plan_for("sum", (n,), "f32", **how)
    return depth(ready.choice.plan, ready.choice.run)


def plain(n: int, magnitudes: float, size: float) -> float:
    return g(additions(n), U32) * magnitudes + U32 * size


def wide(n: int, magnitudes: float, size: float) -> float:
    return (1 + U32) * g(additions(n, accumulate="f64"), U64) * magnitudes + U32 * size


softmax, log_softmax, layer_norm, rms_norm, batch_norm, cross_entropy, quantize = (
    on_emulator(n)
    for n in ("softmax", "log_softmax", "layer_norm", "rms_norm", "batch_norm", "cross_entropy", "quantize")
)
