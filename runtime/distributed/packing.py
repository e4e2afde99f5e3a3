"""The values of a state as one tensor of bytes, which travels at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch

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
    def of(cls, values: Sequence[torch.Tensor]) -> Packing:
        """That of these values."""
        return cls(tuple(values[0].shape), tuple(v.dtype for v in values))

    def _sizes(self) -> list[int]:
        return [-(-prod(self.shape) * t.itemsize // ALIGN) * ALIGN for t in self.types]

    def packed(self, values: Sequence[torch.Tensor]) -> torch.Tensor:
        """One row of bytes."""
        row = values[0].new_empty(sum(self._sizes()), dtype=torch.uint8)
        for place, v in zip(self.unpacked(row), values, strict=True):
            place.copy_(v)
        return row

    def unpacked(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """The values in rows of bytes, along whatever leading axes there are; no copy is made."""
        found, begin = [], 0
        for t, size in zip(self.types, self._sizes(), strict=True):
            own = rows[..., begin : begin + prod(self.shape) * t.itemsize].view(t)
            found.append(own.reshape((*rows.shape[:-1], *self.shape)))
            begin += size
        return found
