"""The methods of symbolic arrays: functions of this package under the names that arrays of other libraries have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import functions
from . import elementwise, namespace
from .folding import named

METHODS: dict[str, Callable[..., Any]] = {
    name: named(name)
    for name in ("sum", "mean", "var", "std", "max", "min", "prod", "any", "all", "argmax", "argmin", "ptp")
} | {
    "squeeze": namespace.squeeze, "transpose": namespace.permute_dims, "conj": elementwise.conj, "clip": namespace.clip,
    "round": functions.round,
}  # fmt: skip
