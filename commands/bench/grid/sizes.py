"""Makes the cells of one element type, with sizes that move the same number of bytes for every type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....compiler.dtypes import DType
from .cells import Cell, dense, result_size
from .reported_shapes import FLOATS_ONLY

BIG = 128 << 20
"""Bytes that a large cell moves."""
Axes = tuple[int, ...]


@dataclass(frozen=True)
class Maker:
    """Makes the cells of one element type.

    Attributes:
        dtype: the type.
        big: bytes that a large cell moves.
    """

    dtype: DType
    big: int = BIG

    def cell(
        self, name: str, shape: Sequence[int], axes: Axes, strides: Sequence[int] | None = None, offset: int = 0,
        op: str = "", issue: str = "",
    ) -> Cell:  # fmt: skip
        """A cell; contiguous without ``strides``, and with the default operation of the type without ``op``."""
        strides = dense(shape) if strides is None else strides
        return Cell(
            name.partition(".")[0], name, self.op(op), self.dtype, tuple(shape), tuple(strides), offset, axes, issue
        )

    def op(self, wanted: str) -> str:
        """``wanted`` if this type has it; else any for bools and sum for numbers."""
        if wanted and (self.dtype.is_float or wanted not in FLOATS_ONLY):
            return wanted
        return "any" if self.dtype.kind == "bool" else "sum"

    @property
    def whole(self) -> int:
        """Elements of a large array."""
        return self.big // self.dtype.itemsize

    def count(self, length: int) -> int:
        """The number of rows of ``length`` elements, each with a result, in a large cell."""
        return max(1, self.big // (length * self.dtype.itemsize + result_size(self.op(""), self.dtype)))


def around_powers(first: int, last: int) -> list[int]:
    """The powers of two from ``2**first`` to ``2**last``, each with its neighbours."""
    return [(1 << k) + d for k in range(first, last + 1) for d in (-1, 0, 1)]


def next_prime(n: int) -> int:
    """The least prime from ``n`` on."""
    while any(n % d == 0 for d in range(2, int(n**0.5) + 1)):
        n += 1
    return n
