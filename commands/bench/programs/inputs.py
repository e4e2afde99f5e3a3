"""The arrays of a program case, made by PyTorch."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from ....compiler.dtypes import BIT, F64
from ....compiler.program.bit_arrays import WORD
from .case import EPS, ProgramCase

AROUND = 0.1
"""Standard deviation of weights, which lie around 1, and of biases, which lie around 0."""


def inputs(torch: Any, case: ProgramCase, index: int, device: Any) -> tuple[Any, ...]:
    """``x`` and the further inputs of a case, in the order of its operation: the same for the same name and index."""
    generator = _generator(torch, case, index, device)
    return tuple(_arrays(torch, case, ("elements", *case.operation.inputs), generator))


def further(torch: Any, case: ProgramCase, device: Any) -> tuple[Any, ...]:
    """The inputs of a case beside ``x``: the same for the same name."""
    return tuple(_arrays(torch, case, case.operation.inputs, _generator(torch, case, 0, device)))


def truths(torch: Any, bits: Any, shape: Sequence[int]) -> Any:
    """The truth values of the words of a mask, in row-major order of ``shape``."""
    places = torch.arange(WORD, dtype=torch.int32, device=bits.device)
    return (bits[:, None] >> places & 1).bool().flatten()[: prod(shape)].reshape(shape)


def _arrays(torch: Any, case: ProgramCase, roles: Sequence[str], generator: Any) -> Iterator[Any]:
    """The arrays of these roles; an output is above 0 where the bits say so, and statistics are those of ``like``."""
    made: dict[str, Any] = {}
    for role in roles:
        follows = FOLLOWING.get(role)
        made[role] = follows(torch, case, made) if follows else _array(torch, case, role, generator)
        if role == "residual" and case.base in ADDED:
            _part_from_zero(case, made)
        yield made[role]


def _mask(torch: Any, case: ProgramCase, made: Mapping[str, Any]) -> Any:
    """The truth values of the bits; those of images with channels innermost are numbered as these lie."""
    if not case.is_nhwc:
        return truths(torch, made["bits"], case.shape)
    n, c, *inner = case.shape
    return truths(torch, made["bits"], (n, *inner, c)).movedim(-1, 1)


def _part_from_zero(case: ProgramCase, made: Mapping[str, Any]) -> None:
    """Changes what is added to a norm where their sum is near 0: there its sign would depend on roundings."""
    x = made["elements"].double()
    mean, var = x.mean(case.axes, keepdim=True), x.var(case.axes, correction=0, keepdim=True)
    weight, bias = (made[role].double().reshape(case.spread) for role in ("weight", "bias"))
    total = (x - mean).mul_((var + EPS).rsqrt_()).mul_(weight).add_(bias).add_(made["residual"])
    made["residual"].add_(total.abs_() < NEAR)


def _statistic(how: str) -> Callable[[Any, ProgramCase, Mapping[str, Any]], Any]:
    def made(torch: Any, case: ProgramCase, made: Mapping[str, Any]) -> Any:
        found = torch.var_mean(made["like"].double(), case.axes, correction=0)
        return found[how == "mean"].float()

    return made


ADDED = ("batchnorm_add_relu", "batchnorm_add_relu_nhwc")
"""Norms to which a residual is added before the sign is kept as a bit."""
NEAR = 1e-2
FOLLOWING: Mapping[str, Callable[[Any, ProgramCase, Mapping[str, Any]], Any]] = {
    "output": lambda torch, case, made: _mask(torch, case, made).to(getattr(torch, case.dtype.numpy_name)),
    "mask": _mask,
    "twin": lambda _, __, made: made["elements"].clone(),
    "mean": _statistic("mean"),
    "var": _statistic("var"),
}
"""The arrays that follow from others."""


def _generator(torch: Any, case: ProgramCase, index: int, device: Any) -> Any:
    return torch.Generator(device).manual_seed(zlib.crc32(f"{case.name}/{index}".encode()))


def _array(torch: Any, case: ProgramCase, role: str, generator: Any) -> Any:
    shape, how = case.shape_of(role), {"generator": generator, "device": generator.device}
    if role == "target":
        return torch.randint(case.length, shape, **how)
    if role == "bits" or case.dtype == BIT:
        return torch.randint(-(2**31), 2**31, shape, dtype=torch.int32, **how)
    if role == "running":
        return torch.rand(shape, dtype=torch.float32, **how)
    made = torch.randn(shape, dtype=torch.float64 if case.dtype == F64 else torch.float32, **how)
    if role in ("weight", "bias"):
        made = made.mul_(AROUND).add_(role == "weight")
    made = made.to(getattr(torch, case.dtype_of(role).numpy_name))
    return made.to(memory_format=torch.channels_last) if case.is_nhwc and made.ndim == 4 else made
