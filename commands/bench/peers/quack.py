"""QuACK: kernels for contiguous rows, compiled for each length. It takes weights in f32."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..programs.case import ACCESS, EPS, RMS_EPS, ProgramCase
from . import MissingError, UnservedError
from .torch import module

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend

MOST_BYTES = 16 * 224 << 10
"""Bytes of the longest row: the shared memory of a cluster of 16 CTAs."""


class Quack:
    """Calls of QuACK's functions."""

    def __init__(self) -> None:
        module()
        try:
            import quack  # noqa: F401  # the submodules below are imported by name, since functions hide them
        except ImportError as e:
            raise MissingError("not installed") from e
        self.version = version("quack-kernels")

    def call(self, case: ProgramCase, x: Any) -> Callable[[], Any]:
        """The function on the inputs as matrices; weights are converted here."""
        found = _FUNCTIONS.get(case.what)
        if found is None:
            raise UnservedError("no such function")
        _check(case)
        roles = ("elements", *case.operation.inputs)
        return found(*(_as_taken(case, role, array) for role, array in zip(roles, x, strict=True)))


def _as_taken(case: ProgramCase, role: str, array: Any) -> Any:
    """An input as QuACK takes it."""
    if role in ("weight", "bias"):
        return array.float()
    return array if role == "target" else array.reshape(-1, case.length)


def _check(case: ProgramCase) -> None:
    """Refuses what QuACK refuses, some of it only after it has broken the device."""
    row = case.length * case.dtype.itemsize
    if case.dtype.bits == 64:
        raise UnservedError("no f64")
    if not case.contiguous:
        raise UnservedError("takes the last axis only")
    if row % ACCESS:
        raise UnservedError(f"takes rows of a multiple of {ACCESS} bytes only")
    if row > MOST_BYTES:
        raise UnservedError(f"takes rows of at most {MOST_BYTES >> 10} KiB")


def _softmax(x: Any) -> Callable[[], Any]:
    forward = import_module("quack.softmax").softmax_fwd
    return lambda: forward(x)


def _layer_norm(x: Any, w: Any, b: Any) -> Callable[[], Any]:
    forward = import_module("quack.rmsnorm").layernorm_fwd
    return lambda: forward(x, w, b, EPS)


def _rms_norm(x: Any, w: Any) -> Callable[[], Any]:
    forward = import_module("quack.rmsnorm").rmsnorm_fwd
    return lambda: forward(x, w, eps=RMS_EPS)[0]


def _add_rms_norm(x: Any, residual: Any, w: Any) -> Callable[[], Any]:
    forward = import_module("quack.rmsnorm").rmsnorm_fwd
    return lambda: forward(x, w, residual=residual, eps=RMS_EPS)[:2]


def _cross_entropy(x: Any, target: Any) -> Callable[[], Any]:
    forward = import_module("quack.cross_entropy").cross_entropy_fwd
    return lambda: forward(x, target)


def _softmax_backward(x: Any, dy: Any) -> Callable[[], Any]:
    ops = import_module("quack.softmax")
    y = ops.softmax_fwd(x)
    return lambda: ops.softmax_bwd(dy, y)


def _layer_norm_backward(x: Any, w: Any, b: Any, dy: Any) -> Callable[[], Any]:
    ops = import_module("quack.rmsnorm")
    _, rstd, mean = ops.layernorm_fwd(x, w, b, EPS, return_rstd=True, return_mean=True)
    return lambda: ops.layernorm_bwd(x, w, dy, rstd, mean)


def _rms_norm_backward(x: Any, w: Any, dy: Any) -> Callable[[], Any]:
    ops = import_module("quack.rmsnorm")
    _, _, rstd = ops.rmsnorm_fwd(x, w, eps=RMS_EPS, store_rstd=True)
    return lambda: ops.rmsnorm_bwd(x, w, dy, rstd)[:2]


def _add_rms_norm_backward(x: Any, residual: Any, w: Any, dy: Any, dh: Any) -> Callable[[], Any]:
    ops = import_module("quack.rmsnorm")
    _, h, rstd = ops.rmsnorm_fwd(x, w, residual=residual, eps=RMS_EPS, store_rstd=True)

    def call() -> Any:
        dx, dw, _, dresidual = ops.rmsnorm_bwd(h, w, dy, rstd, dresidual_out=dh, has_residual=True)
        return dx, dresidual, dw

    return call


def _cross_entropy_both(x: Any, target: Any) -> Callable[[], Any]:
    """Its forward, and its backward by the kept logarithms, which writes the gradient over a copy of the logits."""
    ops = import_module("quack.cross_entropy")
    own, rows = x.clone(), len(x)
    each = target.new_ones(rows).float() / rows

    def call() -> Any:
        loss, lse = ops.cross_entropy_fwd(own, target, return_lse=True)
        return loss.mean(), ops.cross_entropy_bwd(own, target, each, lse, inplace_backward=True)

    return call


_FUNCTIONS: dict[str, Callable[..., Callable[[], Any]]] = {
    "softmax": _softmax,
    "layernorm": _layer_norm,
    "rmsnorm": _rms_norm,
    "add_rmsnorm": _add_rms_norm,
    "cross_entropy": _cross_entropy,
    "softmax_bwd": _softmax_backward,
    "layernorm_bwd": _layer_norm_backward,
    "rmsnorm_bwd": _rms_norm_backward,
    "add_rmsnorm_bwd": _add_rms_norm_backward,
    "cross_entropy_fwdbwd": _cross_entropy_both,
}


def open_peer(_: CudaBackend) -> Quack:
    """QuACK, if it and PyTorch are installed."""
    return Quack()
