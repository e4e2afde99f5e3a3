"""The contents of the grid's buffer, and reference results of its views: by PyTorch on the GPU, in float64.

Floats are between 0 and 1, so that sums have no cancellation; few bools are true, so that not every row has a true one.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

from ....compiler.dtypes import DType
from ....compiler.errors import error
from ..programs import answers, ours
from ..programs.inputs import further
from .cells import Cell, ProgramCell

PERIOD = (1 << 24) - 3
"""Period of the buffer in elements: no power of two, so that different rows have different elements."""
TRUE = 1e-3
"""Probability that a bool is true."""
SEED = 5
AT_ONCE = 1 << 28
"""Elements that are reduced in float64 at a time: 2 GiB."""
ALLOWED = {"f64": 1e-11, "f32": 2e-5, "bf16": 2.0**-7}
"""Allowed relative error of a float result, for the order of additions and one rounding."""


def library() -> Any:
    """PyTorch.

    Raises:
        BackendError: WF745 when it is missing, or finds no GPU.
    """
    try:
        import torch
    except ImportError as e:
        raise error("WF745", problem=f"was not found: {e}") from e
    if not torch.cuda.is_available():
        raise error("WF745", problem="sees no GPU")
    return torch


class Truth:
    """The elements of a buffer, and their reductions.

    Args:
        torch: PyTorch.
        buffer: a tensor of bytes.
    """

    def __init__(self, torch: Any, buffer: Any) -> None:
        self.torch, self.buffer = torch, buffer

    def fill(self, dtype: DType) -> None:
        """Fills the buffer with elements of one type."""
        elements = self._typed(dtype)
        pattern = self._pattern(dtype)
        for start in range(0, elements.numel(), PERIOD):
            part = elements[start : start + PERIOD]
            part.copy_(pattern[: part.numel()])

    def _typed(self, dtype: DType) -> Any:
        """The buffer as elements of a type."""
        return self.buffer.view(getattr(self.torch, dtype.numpy_name))

    def _pattern(self, dtype: DType) -> Any:
        """Random elements."""
        torch, device = self.torch, self.buffer.device
        source = torch.Generator(device=device).manual_seed(SEED)
        if dtype.is_integer:
            kind = getattr(torch, dtype.numpy_name)
            return torch.randint(-128, 128, (PERIOD,), dtype=kind, device=device, generator=source)
        made = torch.rand(PERIOD, dtype=torch.float64, device=device, generator=source)
        return made < TRUE if dtype.kind == "bool" else made.to(getattr(torch, dtype.numpy_name))

    def error(self, cell: Cell, result: Any) -> float:
        """The greatest error of a result as a multiple of the allowed error; up to 1 it is right."""
        if isinstance(cell, ProgramCell):
            arrays = (self._view(cell), *further(self.torch, cell.case, self.buffer.device))
            found = ours.results(result)
            return (
                0.0 if answers.error_of(cell.case, answers.answer(cell.case, arrays), found, arrays, True)[1] else inf
            )
        wanted = self.answer(cell).reshape(result.shape)
        if not result.is_floating_point():
            return 0.0 if bool((result == wanted).all()) else float("inf")
        found = result.double()
        allowed = ALLOWED[_name(result)] * wanted.abs()
        return float(((found - wanted).abs() / allowed.clamp_min(1e-300)).nan_to_num(nan=float("inf")).max())

    def answer(self, cell: Cell) -> Any:
        """The results, floats in float64."""
        return self._reduced(self._view(cell), cell.op, cell.axes)

    def _view(self, cell: Cell) -> Any:
        """The cell's view, as a tensor."""
        torch = self.torch
        # PyTorch has no negative strides: view from the other end, then flip.
        turned = [a for a, s in enumerate(cell.strides) if s < 0]
        x = torch.as_strided(
            self._typed(cell.dtype), cell.shape, tuple(map(abs, cell.strides)),
            cell.offset + sum(cell.strides[a] * (cell.shape[a] - 1) for a in turned),
        )  # fmt: skip
        return x.flip(turned) if turned else x

    def _reduced(self, x: Any, op: str, axes: tuple[int, ...]) -> Any:
        """Reduces a tensor, in chunks if it is very large."""
        if prod(x.shape) <= AT_ONCE or op not in ("sum", "any", "count_nonzero"):
            return self._at_once(x, op, axes)
        axis = max(range(x.ndim), key=lambda a: x.shape[a])
        halves = [self._reduced(part, op, axes) for part in x.tensor_split(2, dim=axis)]
        if axis in axes:
            return halves[0] | halves[1] if op == "any" else halves[0] + halves[1]
        return self.torch.cat(halves, dim=axis - sum(a < axis for a in axes))

    def _at_once(self, x: Any, op: str, axes: tuple[int, ...]) -> Any:
        torch = self.torch
        if op == "any":
            return torch.any(x != 0, dim=axes)
        if op == "count_nonzero":
            return torch.count_nonzero(x, dim=axes)
        if op == "max":
            return torch.amax(x, dim=axes)
        if op == "argmax":
            return self._first_greatest(x, axes[0])
        if op == "sum" and not x.is_floating_point():
            return x.sum(dim=axes, dtype=torch.int64)
        wide = x.double()
        if op == "var":
            return wide.var(dim=axes, correction=0)
        return {"sum": torch.sum, "mean": torch.mean, "logsumexp": torch.logsumexp}[op](wide, dim=axes)

    def _first_greatest(self, x: Any, axis: int) -> Any:
        """The first position of the greatest element; PyTorch's argmax returns any of several."""
        torch = self.torch
        shape = [-1 if a == axis else 1 for a in range(x.ndim)]
        numbers = torch.arange(x.shape[axis], device=x.device).reshape(shape)
        greatest = x == x.amax(dim=axis, keepdim=True)
        return torch.where(greatest, numbers, x.shape[axis]).amin(dim=axis)


def _name(result: Any) -> str:
    """Warpfold's name of a tensor's type."""
    return {"torch.float64": "f64", "torch.float32": "f32", "torch.bfloat16": "bf16"}[str(result.dtype)]
