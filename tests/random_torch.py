"""The gradients of random programs in f64, by PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from random_programs import RandomProgram, made

Tensor = Any
EXTREMES = {"amax": torch.maximum, "amin": torch.minimum}


def _dims(x: Tensor, axis: Any) -> tuple[int, ...]:
    """The axes of a fold; none of a number, which no function of PyTorch folds over nothing."""
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def _fold(name: str) -> Callable[..., Tensor]:
    """A fold over any axes, with a mask and a value to begin with."""

    def fold(x: Tensor, axis: Any = None, keepdims: bool = False, where: Any = None, initial: Any = None) -> Tensor:
        if where is not None:
            x = torch.where(where, x, 0.0 if name == "sum" else float(initial))
        if _dims(x, axis):
            x = getattr(torch, name)(x, dim=_dims(x, axis), keepdim=keepdims)
        return x if initial is None else EXTREMES[name](x, torch.tensor(initial, dtype=x.dtype))

    return fold


def _prod(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    for d in sorted((d % x.ndim for d in _dims(x, axis)), reverse=True):
        x = x.prod(dim=d, keepdim=keepdims)
    return x


def _mean(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    return x.mean(dim=_dims(x, axis), keepdim=keepdims) if _dims(x, axis) else x


def _var(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    return _mean((x - _mean(x, axis, keepdims=True)) ** 2, axis, keepdims)


def _logsumexp(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    return torch.logsumexp(x, _dims(x, axis), keepdims) if _dims(x, axis) else x


def _softmax(x: Tensor, axis: Any) -> Tensor:
    return torch.exp(x - _logsumexp(x, axis, keepdims=True))


def _of_numpy(name: str) -> Callable[..., Tensor]:
    """A function whose result has no gradient."""
    return lambda x, **how: torch.as_tensor(np.asarray(getattr(np, name)(x.detach().numpy(), **how)))


STANDARD = SimpleNamespace(
    float32=torch.float32, float64=torch.float64, sum=_fold("sum"), max=_fold("amax"), min=_fold("amin"), prod=_prod,
    any=_of_numpy("any"), count_nonzero=_of_numpy("count_nonzero"), argmax=_of_numpy("argmax"),
    argmin=_of_numpy("argmin"), take=lambda x, at, axis: torch.index_select(x, axis, at),
    take_along_axis=lambda x, at, axis: torch.take_along_dim(x, at, dim=axis), mean=_mean, var=_var, clip=torch.clamp,
    add=torch.add, subtract=torch.sub, multiply=torch.mul, maximum=torch.maximum, minimum=torch.minimum,
    where=torch.where, abs=torch.abs, sqrt=torch.sqrt, reshape=torch.reshape, permute_dims=torch.permute,
    expand_dims=lambda x, axis: x.unsqueeze(axis), squeeze=lambda x, axis: x.squeeze(axis),
    broadcast_to=torch.broadcast_to, arange=torch.arange, cumulative_sum=lambda x, axis: x.cumsum(axis),
    astype=lambda x, t: x.to(t),
)  # fmt: skip
"""Functions of the Array API standard on tensors."""
LIBRARY = SimpleNamespace(
    sum=STANDARD.sum, max=STANDARD.max, min=STANDARD.min, exp=torch.exp, tanh=torch.tanh, mean=_mean, var=_var,
    softmax=_softmax, cummax=lambda x, axis: torch.cummax(x, axis).values, logsumexp=_logsumexp,
    cast=lambda x, name: x.to(getattr(torch, name)).to(x.dtype),
)  # fmt: skip
"""What warpfold has and the standard has not, on tensors."""


def _made(code: str, operands: Sequence[Tensor]) -> Tensor:
    """The value of a step; tensors have neither steps back nor the size of arrays."""
    if not code.startswith("{0}["):
        return made(code.replace(".size", ".numel()"), STANDARD, LIBRARY, operands)
    (x,) = operands
    chosen = eval(code.format("numbers"), {"numbers": np.arange(x.numel()).reshape(x.shape)})
    return x.reshape(-1)[torch.tensor(chosen.copy())]


def gradients(program: RandomProgram, seeds: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The gradients of the arrays in f64, from those of the results."""
    arrays = [torch.tensor(a.astype(np.float64), requires_grad=True) for a in program.arrays]
    values = list(arrays)
    for code, operands in program.steps:
        values.append(_made(code, [values[i] for i in operands]))
    pairs = zip(program.returned, seeds, strict=True)
    total = sum(((values[i].to(torch.float64) * torch.tensor(s)).sum() for i, s in pairs), torch.zeros(()))
    if not total.requires_grad:
        return [np.zeros(a.shape) for a in arrays]
    found = torch.autograd.grad(total, arrays, allow_unused=True)
    return [np.zeros(a.shape) if g is None else g.numpy() for a, g in zip(arrays, found, strict=True)]
