"""The values of a state as one tensor of bytes, which travels at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch

from ...compiler.program.states import Cut

ALIGN = 16
"""Each value begins at a multiple of so many bytes, so that kernels read it by wide accesses."""


@dataclass(frozen=True)
class Packing:
    """Where each value of a state lies among the bytes.

    Attributes:
        shape: the shape that all values have.
        types: the element type of each.
    """

    shape: tuple[int, ...]
    types: tuple[torch.dtype, ...]

    @classmethod
    def of(cls, cut: Cut, shape: tuple[int, ...]) -> Packing:
        """That of the state of a reduction whose results have this shape."""
        return cls(shape, tuple(getattr(torch, t.numpy_name) for t in cut.monoid.state))

    def _sizes(self) -> list[int]:
        return [-(-prod(self.shape) * t.itemsize // ALIGN) * ALIGN for t in self.types]

    def row(self, like: torch.Tensor, *count: int) -> torch.Tensor:
        """Memory for the bytes of one state, or of ``count``, on the device of ``like``."""
        return like.new_empty((*count, sum(self._sizes())), dtype=torch.uint8)

    def unpacked(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """The values in rows of bytes, along whatever leading axes there are; no copy is made."""
        found, begin = [], 0
        for t, size in zip(self.types, self._sizes(), strict=True):
            own = rows[..., begin : begin + prod(self.shape) * t.itemsize].view(t)
            found.append(own.reshape((*rows.shape[:-1], *self.shape)))
            begin += size
        return found
