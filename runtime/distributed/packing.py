"""The values of a state as one tensor of bytes, which travels at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod

import torch
from torch.cuda import is_current_stream_capturing as is_capturing

from ...compiler.dtypes import DType
from ...compiler.errors import error
from ...compiler.program.frames import caller
from ...compiler.program.states import Cut
from ..view import contiguous
from .group import Ranks

ALIGN = 16
"""Each value begins at a multiple of so many bytes, so that kernels read it by wide accesses; as many end a state, of
which the last says whether the rank failed."""
SHARED = 1 << 24
"""Up to so many bytes the memory for states is kept for later calls."""


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

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        pairs = zip(self.shapes, self.types, strict=True)
        return tuple(-(-prod(shape) * t.itemsize // ALIGN) * ALIGN for shape, t in pairs)

    @cached_property
    def _places(self) -> list[tuple[torch.dtype, tuple[int, ...], tuple[int, ...], int, int]]:
        """For each value its type, its shape and strides, where it begins, and the distance of rows, in elements."""
        begins = [0, *accumulate(self._sizes)]
        values = zip(self.types, self.shapes, begins, strict=False)
        row = begins[-1] + ALIGN
        return [(t, s, contiguous(s), b // t.itemsize, row // t.itemsize) for t, s, b in values]

    def row(self, like: torch.Tensor, *count: int) -> torch.Tensor:
        """Memory for the bytes of one state, or of ``count``, on the device of ``like``."""
        made = torch.empty((*count, sum(self._sizes) + ALIGN), dtype=torch.uint8, device=like.device)
        made[..., -1] = 0
        return made

    def unpacked(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """The values in one row of bytes, or in rows along a first axis; no copy is made."""
        own = {t: rows.view(t) for t in dict.fromkeys(self.types)}
        lead = rows.shape[:-1]
        return [
            own[t].as_strided(
                (*lead, *shape), (distance, *strides) if lead else strides, own[t].storage_offset() + begin
            )
            for t, shape, strides, begin, distance in self._places
        ]


@dataclass(frozen=True)
class Buffers:
    """Memory for the states that one gather brings.

    Attributes:
        row: the bytes of this rank's state.
        states: the values in them.
        gathered: the bytes of all ranks, one after another.
        rows: the values in them, with the ranks along their first axis.
        failed: for each rank whether it failed before it had its state.
    """

    row: torch.Tensor
    states: tuple[torch.Tensor, ...]
    gathered: torch.Tensor
    rows: list[torch.Tensor]
    failed: torch.Tensor

    @classmethod
    def of(cls, packing: Packing, like: torch.Tensor, count: int) -> Buffers:
        """Those of states of so many ranks, on the device of ``like``."""
        row, rows = packing.row(like), packing.row(like, count)
        return cls(row, tuple(packing.unpacked(row)), rows.reshape(-1), packing.unpacked(rows), rows[:, -1])

    def bring(self, ranks: Ranks, failed: Exception | None, *, told: bool) -> None:
        """Gathers the states of all ranks, and whether they have one.

        Args:
            ranks: the ranks.
            failed: what this rank raised instead of leaving its state.
            told: read whether the others failed, which waits for the device.

        Raises:
            Exception: ``failed``, where the others are told.
            ArgumentError: WF169 for another rank that failed.
        """
        if failed is not None:
            self.row.zero_()
            self.row[-1] = 1
        ranks.gather(self.gathered, self.row)
        if failed is not None:
            self.row[-1] = 0
        if told:
            check_told(self.failed, failed)


def check_told(ranks: torch.Tensor, own: Exception | None) -> None:
    """Raises what this rank raised already, or WF169 for another rank that says that it failed."""
    if own is not None:
        raise own
    for rank, failed in enumerate(ranks.tolist()):
        if failed:
            raise error("WF169", rank=rank, where=caller())


def _stream(like: torch.Tensor) -> int:
    """The current stream of the device of ``like``; a stream object costs ten times as much."""
    if _raw_stream is not None:
        return int(_raw_stream(like.get_device()))
    return int(torch.cuda.current_stream(like.device).cuda_stream)


_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


class Memory:
    """Memory for the states of the gathers of a call.

    Calls on one stream follow each other there, gathers included, so they share small ones.
    """

    def __init__(self, packings: Sequence[Packing], count: int) -> None:
        self._packings, self._count = packings, count
        self._kept: dict[object, list[Buffers]] = {}

    def of(self, like: torch.Tensor) -> list[Buffers]:
        """That of each gather, on the device of ``like``, for a call on its current stream."""
        if not self._packings:
            return []
        place = like.get_device(), _stream(like) if like.is_cuda else None
        captured = like.is_cuda and is_capturing()  # a graph has memory of its own
        if not captured and (kept := self._kept.get(place)) is not None:
            return kept
        found = [Buffers.of(p, like, self._count) for p in self._packings]
        if not captured and sum(b.gathered.numel() for b in found) <= SHARED:
            self._kept[place] = found
        return found
