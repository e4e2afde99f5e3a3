"""Liger: its Triton functions, without the modules around them. A program takes one row."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..programs.case import EPS, RMS_EPS, ProgramCase
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
        if case.length > LONGEST and case.base not in LOOPING:
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


def _softmax_backward(_: ProgramCase, x: Any, dy: Any) -> Callable[[], Any]:
    ops = _ops("softmax")
    y, *how = ops._softmax_forward(x)
    return lambda: ops._softmax_backward(dy, y, *how)


def _layer_norm_backward(_: ProgramCase, x: Any, w: Any, b: Any, dy: Any) -> Callable[[], Any]:
    ops = _ops("layer_norm")
    _, _, mean, rstd, *_ = ops.layer_norm_forward(x, w, b, EPS)
    return lambda: ops.layer_norm_backward(dy, x, w, b, mean, rstd)


def _rms_norm_backward(_: ProgramCase, x: Any, w: Any, dy: Any) -> Callable[[], Any]:
    ops = _ops("rms_norm")
    _, _, rstd, block, warps, casting = ops.rms_norm_forward(x, w, RMS_EPS, 0.0, "llama", None)
    return lambda: ops.rms_norm_backward(dy, x, w, rstd, 0.0, casting, block, warps, False, None)


def _add_rms_norm_backward(_: ProgramCase, x: Any, residual: Any, w: Any, dy: Any, dh: Any) -> Callable[[], Any]:
    ops = _ops("fused_add_rms_norm")
    _, h, rstd, block, warps, stages, casting = ops.fused_add_rms_norm_forward(x, residual, w, RMS_EPS, 0.0, "llama")
    return lambda: ops.fused_add_rms_norm_backward(dy, dh, h, w, rstd, 0.0, casting, block, warps, stages, False)


def _group_norm_backward(case: ProgramCase, x: Any, w: Any, b: Any, dy: Any) -> Callable[[], Any]:
    ops, channels = _ops("group_norm"), case.shape[1]
    _, _, mean, rstd, _ = ops.group_norm_forward(x, channels, case.groups, w, b, EPS)
    return lambda: ops.group_norm_backward(dy, x, w, b, mean, rstd, channels, case.groups)


def _cross_entropy_both(_: ProgramCase, x: Any, target: Any) -> Callable[[], Any]:
    """The forward writes the gradient over a copy of the logits, and waits for the device."""
    forward = _ops("cross_entropy").cross_entropy_forward
    own = x.clone().requires_grad_()

    def call() -> Any:
        loss, _, _, _, dx = forward(own, target, None, -100, 0.0, 0.0, "mean", None, False)
        return loss, dx

    return call


_FUNCTIONS: dict[str, Callable[..., Callable[[], Any]]] = {
    "softmax": _softmax,
    "layernorm": _layer_norm,
    "rmsnorm": _rms_norm,
    "add_rmsnorm": _add_rms_norm,
    "groupnorm": _group_norm,
    "cross_entropy": _cross_entropy,
    "softmax_bwd": _softmax_backward,
    "layernorm_bwd": _layer_norm_backward,
    "rmsnorm_bwd": _rms_norm_backward,
    "add_rmsnorm_bwd": _add_rms_norm_backward,
    "groupnorm_bwd": _group_norm_backward,
    "cross_entropy_fwdbwd": _cross_entropy_both,
}


def open_peer(_: CudaBackend) -> Liger:
    """Liger, if it, PyTorch and Triton are installed."""
    return Liger()
