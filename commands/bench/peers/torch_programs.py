"""PyTorch's function for each program case: its own where it has one, else what its users write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..programs.answers import GREATEST_FP8
from ..programs.case import EPS, FALLING, RISING, RMS_EPS, TOP, ProgramCase
from . import torch_masks

Function = Callable[..., Any]


def function(torch: Any, case: ProgramCase) -> Function:
    """PyTorch's function for a case, which takes its inputs; for a backward that of the forward."""
    if case.what == "cross_entropy_fwdbwd":
        return torch.nn.functional.cross_entropy  # type: ignore[no-any-return]
    case = case.forward
    return _FUNCTIONS[case.what](torch, case)


def gradients(torch: Any, function: Function, case: ProgramCase, arrays: Sequence[Any]) -> Callable[[], Any]:
    """A call of PyTorch's backward of ``function``, which computes the forward of a case; for a loss, both."""
    own = arrays[: len(arrays) - case.operation.inputs.count("gradient")]
    leaves = [a.detach().requires_grad_(a.is_floating_point()) for a in own]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if case.base == "cross_entropy":

        def both() -> Any:
            loss = function(*leaves)
            return loss.detach(), *torch.autograd.grad(loss, wanted)

        return both
    found = function(*leaves)
    results = found if isinstance(found, tuple) else (found,)
    return lambda: torch.autograd.grad(results, wanted, arrays[len(own) :], retain_graph=True)


def _softmax(name: str) -> Callable[[Any, ProgramCase], Function]:
    """A function of one axis; axes that are neighbours become one, and for others it is written with ``logsumexp``."""

    def made(torch: Any, case: ProgramCase) -> Function:
        first, last, of_one = case.axes[0], case.axes[-1], getattr(torch.nn.functional, name)
        if first == last:
            return lambda x: of_one(x, first)
        if case.axes == tuple(range(first, last + 1)):
            return lambda x: of_one(x.flatten(first, last), first).unflatten(first, x.shape[first : last + 1])
        return _over_axes(torch, name, case.axes)

    return made


def _over_axes(torch: Any, name: str, axes: tuple[int, ...]) -> Function:
    def log_softmax(x: Any) -> Any:
        return x - torch.logsumexp(x, axes, keepdim=True)

    found: Function = {
        "softmax": lambda x: log_softmax(x).exp(),
        "softmin": lambda x: log_softmax(-x).exp(),
        "log_softmax": log_softmax,
    }[name]
    return found


def _layer_norm(torch: Any, case: ProgramCase) -> Function:
    if _trailing(case):
        sizes = case.shape[case.axes[0] :]
        return lambda x, w, b: torch.nn.functional.layer_norm(x, sizes, w, b, EPS)
    centred = _centred(torch, case.axes)
    return lambda x, w, b: centred(x) * w.view(case.spread) + b.view(case.spread)


def _rms_norm(torch: Any, case: ProgramCase) -> Function:
    if _trailing(case):
        sizes = case.shape[case.axes[0] :]
        return lambda x, w: torch.nn.functional.rms_norm(x, sizes, w, RMS_EPS)
    axes, spread = case.axes, case.spread
    return lambda x, w: x * torch.rsqrt(x.square().mean(axes, keepdim=True) + RMS_EPS) * w.view(spread)


def _add_rms_norm(torch: Any, case: ProgramCase) -> Function:
    norm = _rms_norm(torch, case)

    def call(x: Any, residual: Any, w: Any) -> Any:
        h = x + residual
        return norm(h, w), h

    return call


def _trailing(case: ProgramCase) -> bool:
    """Whether the axes are the last ones, the only ones that PyTorch's norms of rows take."""
    rank = len(case.shape)
    return case.axes == tuple(range(rank - len(case.axes), rank))


def _centred(torch: Any, axes: tuple[int, ...]) -> Function:
    def call(x: Any) -> Any:
        var, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(var + EPS)

    return call


def _recurrence(torch: Any, case: ProgramCase) -> Function:
    """By doubling, since PyTorch has no scan with a function."""

    def call(x: Any, z: Any) -> Any:
        a = torch.where(z > 0, RISING, FALLING).to(x.dtype).movedim(case.axis, -1)
        b, distance = x.movedim(case.axis, -1), 1
        while distance < b.shape[-1]:
            b = torch.cat((b[..., :distance], torch.addcmul(b, a, _later(torch, b, distance))[..., distance:]), -1)
            a = torch.cat((a[..., :distance], a[..., distance:] * a[..., :-distance]), -1)
            distance *= 2
        return b.movedim(-1, case.axis)

    return call


def _later(torch: Any, x: Any, distance: int) -> Any:
    """The elements of rows, as far behind."""
    return torch.cat((x[..., :distance], x[..., :-distance]), -1)


def _quantize(torch: Any, case: ProgramCase) -> Function:
    def call(x: Any) -> Any:
        scale = x.abs().amax(case.axes, keepdim=True).float() / GREATEST_FP8
        return (x / scale).to(torch.float8_e4m3fn), scale

    return call


def _cross_entropy(torch: Any, _: ProgramCase) -> Function:
    return lambda x, target: torch.nn.functional.cross_entropy(x, target, reduction="none")


def _group_norm(torch: Any, case: ProgramCase) -> Function:
    return lambda x, w, b: torch.nn.functional.group_norm(x, case.groups, w, b, EPS)


def _batch_norm(torch: Any, _: ProgramCase) -> Function:
    return lambda x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, training=True, eps=EPS)


def _batch_norm_relu(torch: Any, case: ProgramCase) -> Function:
    norm = _batch_norm(torch, case)
    return lambda x, w, b: torch.relu(norm(x, w, b))


def _add_relu(torch: Any, _: ProgramCase) -> Function:
    return lambda x, z: torch.relu(x + z)


_FUNCTIONS: dict[str, Callable[[Any, ProgramCase], Function]] = {
    "softmax": _softmax("softmax"),
    "softmin": _softmax("softmin"),
    "log_softmax": _softmax("log_softmax"),
    "logsumexp": lambda torch, case: lambda x: torch.logsumexp(x, case.axes),
    "standardize": lambda torch, case: _centred(torch, case.axes),
    "layernorm": _layer_norm,
    "rmsnorm": _rms_norm,
    "add_rmsnorm": _add_rms_norm,
    "quant_fp8": _quantize,
    "cross_entropy": _cross_entropy,
    "groupnorm": _group_norm,
    "batchnorm": _batch_norm,
    "batchnorm_nhwc": _batch_norm,
    "batchnorm_relu": _batch_norm_relu,
    "batchnorm_relu_nhwc": _batch_norm_relu,
    "var_norm_cols": lambda torch, case: _centred(torch, case.axes),
    "recurrence": _recurrence,
    "cumsum": lambda torch, case: lambda x: torch.cumsum(x, case.axis, dtype=x.dtype),
    "cummax": lambda torch, case: lambda x: torch.cummax(x, case.axis)[0],
    "topk": lambda torch, case: lambda x: torch.topk(x, TOP, case.axis)[0],
    "logcumsumexp": lambda torch, case: lambda x: torch.logcumsumexp(x, case.axis),
    "relu": lambda torch, _: torch.relu,
    "relu_bits": lambda torch, _: torch.relu,
    "relu_backward": lambda torch, _: lambda dy, _, y: torch.ops.aten.threshold_backward(dy, y, 0),
    "add": lambda torch, _: torch.add,
    "add_relu": _add_relu,
    "add_relu_bits": _add_relu,
    "where": lambda torch, _: lambda x, z: torch.where(x > 0, x, z),
    **torch_masks.FUNCTIONS,
}
