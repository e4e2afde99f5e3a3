"""The methods of symbolic arrays: functions of this package under the names that arrays of other libraries have.

They use symbolic arrays, so the class cannot name them: importing this module attaches them to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from .. import functions
from ..spelling import called
from . import elementwise, namespace
from .folding import named
from .indexing import indexed
from .sym_array import SymArray


def _namespace(_: SymArray, *, api_version: str | None = None) -> ModuleType:  # noqa: ARG001 - the standard's
    """The functions of the Array API standard on symbolic arrays."""
    return namespace


def _reshaped(x: Any, *shape: Any, copy: object = None) -> Any:
    """``x.reshape(2, -1)`` or ``x.reshape((2, -1))``."""
    return namespace.reshape(x, shape[0] if len(shape) == 1 else shape, copy=copy)


def _transposed(x: Any, *order: Any, axes: Any = None) -> Any:
    """``x.transpose(1, 0)``, as NumPy has it, or ``x.transpose((1, 0))``; without axes ``x.T``."""
    if order:
        axes = order[0] if len(order) == 1 and not isinstance(order[0], int) else order
    return namespace.permute_dims(x, axes)


METHODS: dict[str, Callable[..., Any]] = {
    name: named(name)
    for name in ("sum", "mean", "var", "std", "max", "min", "prod", "any", "all", "argmax", "argmin", "ptp")
} | {
    "squeeze": namespace.squeeze, "transpose": _transposed, "conj": elementwise.conj, "clip": namespace.clip,
    "round": functions.round, "reshape": _reshaped,
    "__array_namespace__": _namespace, "__getitem__": indexed,
}  # fmt: skip


def _checked(method: Callable[..., Any]) -> Callable[..., Any]:
    """``method``, where arguments that it does not take end in a code."""

    @wraps(method)
    def call(*xs: Any, **how: Any) -> Any:
        return called(method, xs, how)

    return call


for name, method in METHODS.items():
    setattr(SymArray, name, _checked(method))
SymArray.public += tuple(name for name in METHODS if not name.startswith("_"))
