"""PyTorch's autocast: which functions it computes in f32, for these have results in f32 here, too.

The installed PyTorch itself says which of its ops are cast on a device. Its kernels read halves and compute in f32 as
always, so nothing is copied: only the results are not rounded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import Any

from ...compiler.dtypes import BF16, F16, F32
from ...compiler.program.arrays.sym_array import SymArray

_ELEMENTWISE = (
    "acos", "asin", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sinh", "tan",
)  # fmt: skip
_OPS = {
    "softmax": ("softmax.int",), "softmin": ("softmax.int",), "log_softmax": ("log_softmax.int",),
    "layer_norm": ("layer_norm",), "rms_norm": ("rms_norm",), "group_norm": ("group_norm",),
    "cross_entropy": ("cross_entropy_loss", "log_softmax.int"), "nll_loss": ("nll_loss",),
    "normalize": ("linalg_vector_norm",), "sum": ("sum",), "prod": ("prod",),
    **{name: (name,) for name in _ELEMENTWISE},
}  # fmt: skip
"""The functions, by name, that are computed in f32 where PyTorch casts one of these ops to f32."""
NAMES = frozenset(_OPS)
"""The functions that may be computed in f32."""
_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}


def widens(name: str, xs: Iterable[Any]) -> bool:
    """Whether autocast is on for the device of some arrays, has halves among them, and computes a function in f32."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "is_autocast_enabled"):
        return False
    halves = [x for x in xs if isinstance(x, torch.Tensor) and x.dtype in (torch.float16, torch.bfloat16)]
    if not halves:
        return False
    kind = halves[0].device.type
    return kind in _KEYS and torch.is_autocast_enabled(kind) and is_cast(name, kind)


@cache
def is_cast(name: str, kind: str) -> bool:
    """Whether PyTorch computes the ops of a function in f32 on a kind of device, while autocast is on."""
    known = sys.modules["torch"]._C._dispatch_has_kernel_for_dispatch_key
    return kind in _KEYS and any(known(f"aten::{op}", _KEYS[kind]) for op in _OPS[name])


def in_f32(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of symbolic arrays that takes halves as f32."""

    @wraps(function)
    def widened(*xs: Any, **how: Any) -> Any:
        return function(*map(_wide, xs), **{name: _wide(x) for name, x in how.items()})

    return widened


def _wide(x: Any) -> Any:
    return x.astype(F32) if isinstance(x, SymArray) and x.dtype in (F16, BF16) else x


def with_f32(name: str, xs: Iterable[Any], how: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a reduction, with results in f32 where autocast has them."""
    return how if name not in NAMES or how.get("dtype") is not None or not widens(name, xs) else {**how, "dtype": "f32"}
