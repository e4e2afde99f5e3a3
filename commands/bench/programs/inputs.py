"""The arrays of a program case, made by PyTorch."""

from __future__ import annotations

import zlib
from typing import Any

from ....compiler.dtypes import F64
from .cases import ProgramCase

AROUND = 0.1
"""Standard deviation of weights, which lie around 1, and of biases, which lie around 0."""


def inputs(torch: Any, case: ProgramCase, index: int, device: Any) -> tuple[Any, ...]:
    """``x`` and the further inputs of a case, in the order of its operation: the same for the same name and index."""
    generator = _generator(torch, case, index, device)
    return tuple(_array(torch, case, role, generator) for role in ("elements", *case.operation.inputs))


def further(torch: Any, case: ProgramCase, device: Any) -> tuple[Any, ...]:
    """The inputs of a case beside ``x``: the same for the same name."""
    generator = _generator(torch, case, 0, device)
    return tuple(_array(torch, case, role, generator) for role in case.operation.inputs)


def _generator(torch: Any, case: ProgramCase, index: int, device: Any) -> Any:
    return torch.Generator(device).manual_seed(zlib.crc32(f"{case.name}/{index}".encode()))


def _array(torch: Any, case: ProgramCase, role: str, generator: Any) -> Any:
    shape, how = case.shape_of(role), {"generator": generator, "device": generator.device}
    if role == "target":
        return torch.randint(case.length, shape, **how)
    made = torch.randn(shape, dtype=torch.float64 if case.dtype == F64 else torch.float32, **how)
    if role in ("weight", "bias"):
        made = made.mul_(AROUND).add_(role == "weight")
    made = made.to(getattr(torch, case.dtype.numpy_name))
    return made.to(memory_format=torch.channels_last) if case.what == "batchnorm_nhwc" and made.ndim == 4 else made
