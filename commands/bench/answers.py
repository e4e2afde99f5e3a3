"""The float64 reference of a benchmark case, and the error allowed to a result.

Results without rounding (integers, bools, the greatest element) must be equal. A sum of ``n`` random elements of unit
variance has the magnitude ``sqrt(n)``. It may have the error of ``SLACK`` roundings of that magnitude in the
accumulation type, of ``CHAIN`` sequential additions, and of one rounding to the type of the result: this exposes a lost
element, and allows any order of additions. Variances, norms and logarithms may have the error of ``SLACK`` roundings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.dtypes import DType
from .cases import Case

Array = np.ndarray[Any, Any]
SLACK = 128
CHAIN = 1 << 20
EXACT = ("max", "min", "any", "count_nonzero")
_BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


@dataclass(frozen=True)
class Answer:
    """The reference result of a case.

    Attributes:
        values: the results in float64; for an argmax the greatest elements.
        allowed: the allowed error of every element.
    """

    values: Array
    allowed: Array


def answer(case: Case, x: Any) -> Answer:
    """The reference result of a case for ``x``, a PyTorch or a NumPy array."""
    values = (_numpy if isinstance(x, np.ndarray) else _torch)(case, x)
    return Answer(values, _allowed(case, values))


def error_of(case: Case, expected: Answer, found: Array, x: Any) -> tuple[float, bool]:
    """The greatest error of ``found``, and whether all errors are allowed.

    For an argmax ``found`` holds positions, and the elements of ``x`` there are compared.
    """
    if found.size != expected.values.size:
        return math.inf, False
    got = _at(case, x, found) if case.what == "argmax" else found.astype(np.float64).reshape(expected.values.shape)
    off = np.abs(got - expected.values)
    return float(off.max(initial=0)), bool((off <= expected.allowed).all())


def _allowed(case: Case, values: Array) -> Array:
    if case.what in (*EXACT, "argmax") or case.dtype.kind in ("int", "bool"):
        return np.zeros_like(values)
    made_in = unit(case.dtype) if case.dtype.bits == 64 else 2.0**-24
    size = np.abs(values)
    if case.what in ("sum", "mean"):
        n = case.n_reduced
        off = (math.sqrt(n) + min(n, CHAIN) / SLACK) / (n if case.what == "mean" else 1)
        size = np.full_like(values, off)
    if case.what == "prod":
        size = size * math.sqrt(case.n_reduced)
    return SLACK * made_in * size + 2 * unit(case.result) * np.abs(values)


def unit(t: DType) -> float:
    """The unit roundoff of a float type."""
    return 2.0 ** -_BITS[t.name]


def _torch(case: Case, x: Any) -> Array:
    """The reference result on the device, accumulated in float64; copies the array only if PyTorch must."""
    import torch

    wide, axis = torch.float64, case.axis
    found = {
        "sum": lambda: x.sum(axis, dtype=wide) if case.dtype.kind == "float" else x.sum(axis),
        "mean": lambda: x.mean(axis, dtype=wide),
        "prod": lambda: x.prod(dtype=wide) if case.group == "full" else _prod(x.to(wide), axis),
        "max": lambda: x.amax(axis),
        "argmax": lambda: x.amax(axis),
        "min": lambda: x.amin(axis),
        "var": lambda: x.to(wide).var(axis, correction=0),
        "norm": lambda: torch.linalg.vector_norm(x, dim=axis, dtype=wide),
        "logsumexp": lambda: torch.logsumexp(x.to(wide), axis),
        "any": lambda: torch.any(x, axis),
        "count_nonzero": lambda: torch.count_nonzero(x, axis),
    }[case.what]()
    values: Array = found.to(wide).cpu().numpy()
    return values


def _prod(x: Any, axis: tuple[int, ...]) -> Any:
    """PyTorch multiplies along one axis at a time."""
    for a in sorted(axis, reverse=True):
        x = x.prod(a)
    return x


def _numpy(case: Case, x: Array) -> Array:
    axis, wide = case.axis, x.astype(np.float64)
    if case.what == "logsumexp":
        top = wide.max(axis, keepdims=True)
        found = np.log(np.exp(wide - top).sum(axis)) + top.reshape(case.kept)
    elif case.what == "norm":
        found = np.sqrt((wide * wide).sum(axis))
    elif case.what == "sum" and case.dtype.kind == "int":
        found = x.sum(axis, dtype=np.int64)
    else:
        name = "max" if case.what == "argmax" else case.what
        found = getattr(np, name)(wide, axis)
    return np.asarray(found, np.float64)


def _at(case: Case, x: Any, found: Array) -> Array:
    """The elements of ``x`` at the positions of an argmax; NaN for an invalid position."""
    at = found.astype(np.int64).reshape(case.kept)
    inside = (at >= 0) & (at < case.n_reduced)
    at = np.where(inside, at, 0)
    if case.group == "full":
        got = np.asarray(_host(x.reshape(-1)[int(at)]))
    elif isinstance(x, np.ndarray):
        got = np.take_along_axis(x, np.expand_dims(at, case.axis[0]), case.axis[0]).squeeze(case.axis[0])
    else:
        import torch

        index = torch.from_numpy(at).to(x.device).unsqueeze(case.axis[0])
        got = _host(torch.gather(x, case.axis[0], index).squeeze(case.axis[0]))
    return np.where(inside, got.astype(np.float64), np.nan)


def _host(x: Any) -> Array:
    """An array or a scalar as float64 in host memory."""
    return np.asarray(x.double().cpu().numpy() if hasattr(x, "cpu") else x, np.float64)
