"""PyTorch's functions for masks: dropout, sums under a mask, bits, and gradients of batch norms with a ReLU.

PyTorch has no arrays of bits: it reads bools, or the output of the forward, and counts the bits of words by arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....compiler.program.bit_arrays import WORD
from ..programs.case import DROPPED, EPS, ProgramCase
from . import UnservedError

Function = Callable[..., Any]


def _count(_: Any, case: ProgramCase) -> Function:
    """Counts bits in pairs, then in groups of 4 and 8, and adds the bytes."""
    if case.shape[-1] % WORD:
        raise UnservedError("counts whole words")

    def count(words: Any) -> Any:
        pairs = words - (words >> 1 & 0x55555555)
        fours = (pairs & 0x33333333) + (pairs >> 2 & 0x33333333)
        eights = fours + (fours >> 4) & 0x0F0F0F0F
        return (eights * 0x01010101 >> 24 & 0xFF).sum()

    return count


def _running(torch: Any, _: ProgramCase) -> Function:
    def call(x: Any, w: Any, b: Any, mean: Any, var: Any) -> Any:
        y = torch.nn.functional.batch_norm(x, mean, var, w, b, training=True, momentum=1.0, eps=EPS)
        return torch.relu(y), mean, var

    return call


def _added(torch: Any, _: ProgramCase) -> Function:
    norm = torch.nn.functional.batch_norm
    return lambda x, w, b, z: torch.relu(norm(x, None, None, w, b, training=True, eps=EPS) + z)


def _gradients(torch: Any, g: Any, x: Any, mean: Any, var: Any, w: Any) -> tuple[Any, Any, Any]:
    """Those in ``x``, the weight and the bias, from the one in the norm."""
    rstd = (var + EPS).rsqrt()
    found: tuple[Any, Any, Any] = torch.ops.aten.native_batch_norm_backward(
        g, x, w, None, None, mean, rstd, True, EPS, [True, True, True]
    )
    return found


def _added_backward(torch: Any, _: ProgramCase) -> Function:
    def call(dy: Any, x: Any, mean: Any, var: Any, w: Any, _: Any, __: Any, y: Any) -> Any:
        g = torch.ops.aten.threshold_backward(dy, y, 0)
        return *_gradients(torch, g, x, mean, var, w), g

    return call


FUNCTIONS: dict[str, Callable[[Any, ProgramCase], Function]] = {
    "dropout": lambda torch, _: lambda x: torch.nn.functional.dropout(x, DROPPED),
    "dropout_backward": lambda torch, _: (
        lambda dy, _, mask: torch.ops.aten.native_dropout_backward(dy, mask, 1 / (1 - DROPPED))
    ),
    "sum": lambda torch, _: torch.sum,
    "sum_where": lambda torch, _: lambda x, _, mask: torch.where(mask, x, 0).sum(),
    "count_nonzero": _count,
    "array_equal": lambda _, __: lambda x, y: (x == y).all(),
    **{
        f"{name}{order}": made
        for order in ("", "_nhwc")
        for name, made in (
            ("batchnorm_running_relu", _running),
            ("batchnorm_add_relu", _added),
            ("batchnorm_add_relu_backward", _added_backward),
        )
    },
}
"""PyTorch's function for each operation, which takes its inputs."""
