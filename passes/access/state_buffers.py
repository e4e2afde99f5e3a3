"""States of threads or warps in memory, where others combine them: one buffer for each value of a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...compiler.ir.build import i32, integer, load, store
from ...compiler.ir.combine import with_shape
from ...compiler.ir.mlir import arith


@dataclass(frozen=True)
class StateBuffers:
    """Buffers of states, each an array [rows][slots] of one value of the state.

    Attributes:
        buffers, types: a pointer and a type for each value.
        slots: states in a row: neighbouring results, so that they lie in neighbouring banks.
        slot: this thread's state in every row; None if a row is one state.
    """

    buffers: Sequence[Any]
    types: Sequence[Any]
    slots: int = 1
    slot: Any = None

    def start(self, row: Any) -> Any:
        """The index of this thread's state in ``row``."""
        return row if self.slot is None else arith.addi(arith.muli(row, integer(row.type, self.slots)), self.slot)

    def load(self, row: Any) -> list[Any]:
        """The state in ``row``."""
        start = self.start(row)
        return [load(b, start, t) for b, t in zip(self.buffers, self.types, strict=True)]

    def load_all(self, rows: int) -> list[Any]:
        """The states of all ``rows``, each value a fragment; a row is one state."""
        return [load(b, i32(0), with_shape(t, rows)) for b, t in zip(self.buffers, self.types, strict=True)]

    def store(self, row: Any, state: Sequence[Any]) -> None:
        """Puts ``state`` in ``row``."""
        start = self.start(row)
        for buffer, v in zip(self.buffers, state, strict=True):
            store(v, buffer, start)
