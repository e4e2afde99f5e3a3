"""Triton: handwritten kernels in ``triton_kernels.py`` for rows, and for full reductions in two stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import MissingError, UnservedError
from .torch import module

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend
    from ..cases import Case

BLOCK = 4096
"""Greatest number of elements in a block; a shorter row is one block."""
PARTS = 1024
"""Greatest number of partial results of a full reduction."""


class Triton:
    """Calls of our own Triton kernels."""

    def __init__(self) -> None:
        self.torch = module()
        try:
            import triton
        except ImportError as e:
            raise MissingError("not installed") from e
        from . import triton_kernels

        self.triton, self.kernels = triton, triton_kernels
        self.version = str(triton.__version__)

    def call(self, case: Case, x: Any) -> Callable[[], Any]:
        """Rows: one program per row. Full reductions: one program per part, then one for the partial results."""
        if case.what not in ("sum", "max") or case.dtype.kind != "float" or case.dtype.bits == 64:
            raise UnservedError("no kernel")
        if case.group not in ("full", "row"):
            raise UnservedError("no kernel")
        return self._full(case, x) if case.group == "full" else self._rows(case, x)

    def _rows(self, case: Case, x: Any) -> Callable[[], Any]:
        columns, rows = case.shape[-1], x.numel() // case.shape[-1]
        block = min(self.triton.next_power_of_2(columns), BLOCK)
        out = self.torch.empty(case.kept, dtype=x.dtype, device=x.device)

        def run() -> Any:
            self.kernels.rows[(rows,)](x, out, columns, BLOCK=block, MAX=case.what == "max")
            return out

        return run

    def _full(self, case: Case, x: Any) -> Callable[[], Any]:
        n = x.numel()
        parts = min(PARTS, self.triton.cdiv(n, BLOCK))
        partials = self.torch.empty(parts, dtype=self.torch.float32, device=x.device)
        out = self.torch.empty((), dtype=x.dtype, device=x.device)
        maximum = case.what == "max"

        def run() -> Any:
            self.kernels.parts[(parts,)](x, partials, n, BLOCK=BLOCK, MAX=maximum, num_warps=8)
            self.kernels.rows[(1,)](partials, out, parts, BLOCK=self.triton.next_power_of_2(parts), MAX=maximum)
            return out

        return run


def open_peer(_: CudaBackend) -> Triton:
    """Triton, if it and PyTorch are installed."""
    return Triton()
