"""The values of a state as one tensor of bytes, which travels at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import torch

from ...compiler.dtypes import DType
from ...compiler.program.states import Cut

ALIGN = 16
"""Each value begins at a multiple of so many bytes, so that kernels read it by wide accesses."""


@dataclass(frozen=True)
class Packing:
    """Where each value of a state lies among the bytes.

    Attributes:
        shapes: the shape of each value.
        types: the element type of each.
    """

    shapes: tuple[tuple[int, ...], ...]
    types: tuple[torch.dtype, ...]

    @classmethod
    def of(cls, cut: Cut, shape: tuple[int, ...]) -> Packing:
        """That of the state of a reduction whose results have this shape."""
        return cls.each((shape, t) for t in cut.monoid.state)

    @classmethod
    def each(cls, values: Iterable[tuple[tuple[int, ...], DType]]) -> Packing:
        """That of values of these shapes and types."""
        shapes, types = zip(*values, strict=True)
        return cls(shapes, tuple(getattr(torch, t.numpy_name) for t in types))

    def _sizes(self) -> list[int]:
        pairs = zip(self.shapes, self.types, strict=True)
        return [-(-prod(shape) * t.itemsize // ALIGN) * ALIGN for shape, t in pairs]

    def row(self, like: torch.Tensor, *count: int) -> torch.Tensor:
        """Memory for the bytes of one state, or of ``count``, on the device of ``like``."""
        return like.new_empty((*count, sum(self._sizes())), dtype=torch.uint8)

    def unpacked(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """The values in rows of bytes, along whatever leading axes there are; no copy is made."""
        found, begin = [], 0
        for shape, t, size in zip(self.shapes, self.types, self._sizes(), strict=True):
            own = rows[..., begin : begin + prod(shape) * t.itemsize].view(t)
            found.append(own.reshape((*rows.shape[:-1], *shape)))
            begin += size
        return found
