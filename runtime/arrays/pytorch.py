"""PyTorch: how tensors become views, and which tensors have no elements that a kernel can read.

A tensor may represent elements that are elsewhere or nowhere; its address is then 0 or belongs to other memory. So all
checks precede the use of the address.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...compiler.dtypes import DType, dtype
from ...compiler.errors import error
from ..view import CPU, DEVICES, Device, View, dense
from .dlpack import no_memory, refusal

_TYPES: dict[Any, DType] = {}
_OUTSIDE = "call warpfold outside of torch.func, torch.compile and FakeTensorMode"
_REMEDIES = {
    "MaskedTensor": "reduce x.get_data() with where=x.get_mask()",
    "DTensor": "reduce the part that lies here, x.to_local(), or all of it, x.full_tensor()",
    "FakeTensor": _OUTSIDE,
    "FunctionalTensor": _OUTSIDE,
}
"""Remedies for instances of some wrapper subclasses."""


def read(x: Any) -> View:
    """The view of a tensor; a lazily negated or conjugated tensor is copied, and its view is read-only.

    Raises:
        DTypeError: WF105 for the element type; WF114 for a tensor that is not dense or not in memory, or while PyTorch
            records operations.
        ArgumentError: WF165 for a tensor that tracks gradients, WF166 for one without memory.
    """
    torch = sys.modules["torch"]
    if type(x).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        kind = type(x).__name__
        reason = "it is a wrapper subclass (with a __torch_dispatch__ of its own) of elements that lie elsewhere"
        raise refusal(x, reason, _REMEDIES.get(kind, "reduce the tensors that it wraps"))
    t = _TYPES.get(x.dtype)
    if t is None:
        t = _TYPES[x.dtype] = dtype(str(x.dtype).removeprefix("torch."))
    device = _device(x)
    if getattr(x, "is_nested", False):  # its layout is strided, but it has no sizes
        raise refusal(x, "it is nested", "reduce its values by segments: wf.segment_reduce")
    if x.layout is not torch.strided:
        raise refusal(x, f"its layout is {x.layout}", "make it dense first: x.to_dense()")
    try:
        address = x.data_ptr()
    except RuntimeError as e:  # a tensor inside a torch.func transform
        raise refusal(x, str(e).partition("\n")[0], _OUTSIDE) from e
    except ValueError as e:
        raise refusal(x, "it is not initialised", "give it a shape and elements first") from e
    _check_gradients(torch, x)
    _check_recording(torch, x)
    if x.is_neg() or (t.kind == "complex" and x.is_conj()):  # lazy: the memory does not contain its value
        return replace(read(x.detach().resolve_conj().resolve_neg()), read_only=True)
    v = View(address, tuple(x.shape), x.stride(), t, device, False, x)
    _check_memory(x, v)
    return v


def _device(x: Any) -> Device:
    if x.is_cuda:
        number: int = x.get_device()
        return DEVICES[number]
    if x.device.type == "cpu":
        return CPU
    raise refusal(x, f"it lies on device {x.device}")


def are_tracked(xs: Iterable[object]) -> bool:
    """Whether PyTorch would record an operation on one of these."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled():
        return False
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in xs)


def _check_gradients(torch: Any, x: Any) -> None:
    """Refuses a tensor with gradients where a result would have none."""
    if x.requires_grad and torch.is_grad_enabled():
        raise error("WF165", reason="requires gradients", remedy="pass x.detach(), or call inside torch.no_grad()")
    forward = torch.autograd.forward_ad
    if forward._current_level >= 0 and forward.unpack_dual(x).tangent is not None:
        remedy = "pass its primal: torch.autograd.forward_ad.unpack_dual(x).primal"
        raise error("WF165", reason="carries a tangent", remedy=remedy)


def _check_recording(torch: Any, x: Any) -> None:
    """Refuses a tensor while PyTorch records operations: the record would lack our kernels."""
    name = recorder(torch)
    if name:
        reason = f"{name} records operations, and would not have warpfold's"
        raise refusal(x, reason, f"call warpfold outside of what {name} records")


def recorder(torch: Any) -> str:
    """The tool that records PyTorch's operations now; empty if none does."""
    if torch.jit.is_tracing():
        return "torch.jit.trace"
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return "make_fx" if proxies is not None and proxies.get_proxy_mode() is not None else ""


def _check_memory(x: Any, v: View) -> None:
    """Refuses a tensor whose elements are outside its storage, as after the storage was freed."""
    low, high = v.extent
    if low == high:
        return
    try:
        storage = x.untyped_storage()
        first, nbytes = storage.data_ptr(), storage.nbytes()
    except RuntimeError:  # a zero or functional tensor has no storage
        raise no_memory(
            x, "it stands for elements that are nowhere", "make a copy with memory first: x.clone()"
        ) from None
    if not first or low < first or high > first + nbytes:
        reason = f"its storage has {nbytes} bytes: it was freed, or made smaller"
        raise no_memory(x, reason, "reduce it while its storage is there")


def allocate(like: Any, shape: tuple[int, ...], t: DType, order: tuple[int, ...]) -> tuple[View, Any]:
    """An uninitialised tensor on the device of ``like``; see ``libraries.Library``."""
    torch = sys.modules["torch"]
    kind = getattr(torch, t.numpy_name, None)
    if kind is None:
        raise error("WF115", library="torch", dtype=t)
    made = torch.empty_strided(shape, dense(shape, order), dtype=kind, device=like.device)
    return read(made), lambda: made


def stream(x: Any) -> int:
    """The CUDA stream on which PyTorch uses ``x``."""
    if not x.is_cuda:
        return 0
    return int(sys.modules["torch"].cuda.current_stream(x.device).cuda_stream)
