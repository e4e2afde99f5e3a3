"""Liger: its Triton functions, without the modules around them. A program takes one row."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..programs.cases import ProgramCase
from ..programs.ours import EPS, RMS_EPS
from . import MissingError, UnservedError
from .torch import module

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend

LONGEST = 65_536
"""Elements of the longest row of all functions but those that loop."""
LOOPING = ("cross_entropy", "groupnorm")
"""Functions that loop over a row."""


class Liger:
    """Calls of Liger's functions."""

    def __init__(self) -> None:
        module()
        try:
            import liger_kernel.ops  # noqa: F401  # its submodules are imported by name
        except ImportError as e:
            raise MissingError("not installed") from e
        self.version = version("liger-kernel")

    def call(self, case: ProgramCase, x: Any) -> Callable[[], Any]:
        """The function on the inputs."""
        found = _FUNCTIONS.get(case.what)
        if found is None:
            raise UnservedError("no such function")
        if not case.contiguous:
            raise UnservedError("takes the last axis only")
        if case.length > LONGEST and case.what not in LOOPING:
            raise UnservedError(f"takes rows of at most {LONGEST:,} elements")
        return found(case, *x)


def _ops(name: str) -> Any:
    return import_module(f"liger_kernel.ops.{name}")


def _softmax(_: ProgramCase, x: Any) -> Callable[[], Any]:
    forward = _ops("softmax")._softmax_forward
    return lambda: forward(x)[0]


def _layer_norm(_: ProgramCase, x: Any, w: Any, b: Any) -> Callable[[], Any]:
    forward = _ops("layer_norm").layer_norm_forward
    return lambda: forward(x, w, b, EPS)[0]


def _rms_norm(_: ProgramCase, x: Any, w: Any) -> Callable[[], Any]:
    forward = _ops("rms_norm").rms_norm_forward
    return lambda: forward(x, w, RMS_EPS, 0.0, "llama", None)[0]


def _add_rms_norm(_: ProgramCase, x: Any, residual: Any, w: Any) -> Callable[[], Any]:
    forward = _ops("fused_add_rms_norm").fused_add_rms_norm_forward
    return lambda: forward(x, residual, w, RMS_EPS, 0.0, "llama")[:2]


def _group_norm(case: ProgramCase, x: Any, w: Any, b: Any) -> Callable[[], Any]:
    forward = _ops("group_norm").group_norm_forward
    return lambda: forward(x, case.shape[1], case.groups, w, b, EPS)[0]


def _cross_entropy(_: ProgramCase, x: Any, target: Any) -> Callable[[], Any]:
    """It waits for the device in every call, to count the targets, and its time includes that."""
    forward = _ops("cross_entropy").cross_entropy_forward
    return lambda: forward(x, target, None, -100, 0.0, 0.0, "none", None, False)[0]


_FUNCTIONS: dict[str, Callable[..., Callable[[], Any]]] = {
    "softmax": _softmax,
    "layernorm": _layer_norm,
    "rmsnorm": _rms_norm,
    "add_rmsnorm": _add_rms_norm,
    "groupnorm": _group_norm,
    "cross_entropy": _cross_entropy,
}


def open_peer(_: CudaBackend) -> Liger:
    """Liger, if it, PyTorch and Triton are installed."""
    return Liger()
