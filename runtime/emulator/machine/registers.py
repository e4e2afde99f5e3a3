"""The register file of a batch: one array for each live register, and compact copies for the threads that run now.

A register with the same value in all threads stays an array of one element. When only some threads run, the registers
that they touch are gathered once, and stay compact as long as the same threads keep running. When other threads run,
changed registers are written back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Array
from .threads import Threads

if TYPE_CHECKING:
    from .machine import Machine


class Registers:
    """``whole`` maps registers to arrays over all threads; ``owned`` are those with arrays of their own."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.whole: dict[int, Array] = {}
        self.owned: set[int] = set()
        self.lanes: Threads | None = None
        self.compact: dict[int, Array] = {}
        self.dirty: set[int] = set()

    def enter(self, lanes: Threads) -> None:
        """Makes ``lanes`` the threads whose registers ``read`` and ``put`` access."""
        if lanes is self.lanes:
            return
        if self.dirty:
            self._write_back()
        self.compact = {}
        self.lanes = lanes

    def read(self, lanes: Threads, index: int) -> Array:
        """A register of the threads entered: one element for all of them, or one for each."""
        if lanes.index is None:
            return self._whole(index)
        found = self.compact.get(index)
        if found is None:
            value = self._whole(index)
            found = self.compact[index] = value if value.size == 1 else value[lanes.index]
        return found

    def put(self, lanes: Threads, values: dict[int, Array], dead: tuple[int, ...]) -> None:
        """Sets registers of the threads entered. They will not read those in ``dead`` again."""
        if lanes.index is None:
            self.whole.update(values)
            self.owned.difference_update(values)
            for index in dead:
                self.whole.pop(index, None)
            return
        self.compact.update(values)
        self.dirty.update(values)
        for index in dead:
            self.compact.pop(index, None)
            self.dirty.discard(index)

    def of(self, numbers: Array, index: int) -> Array | None:
        """A register of some threads, by their numbers, between two blocks; None where no thread holds a value."""
        whole, lanes = self.whole.get(index), self.lanes
        if lanes is None or lanes.index is None or index not in self.dirty:
            return None if whole is None else whole[numbers] if whole.size > 1 else np.repeat(whole, numbers.size)
        own = self.compact[index]
        found = np.zeros(self.machine.total, own.dtype)
        if whole is not None:
            found[:] = whole
        found[lanes.index] = own
        chosen: Array = found[numbers]
        return chosen

    def _whole(self, index: int) -> Array:
        found = self.whole.get(index)
        if found is None:
            found = self.machine.special_by_number(index)
            if found is None:
                return self._never_written(index)
            self.whole[index] = found
        return found

    def _never_written(self, index: int) -> Array:
        """The value of a register that no instruction has written: zero."""
        return self.machine.launch.zero(index)

    def _write_back(self) -> None:
        assert self.lanes is not None
        assert self.lanes.index is not None
        total = self.machine.total
        for index in self.dirty:
            value = self.compact[index]
            old = self.whole.get(index)
            if old is None:
                old = np.zeros(total, value.dtype)
            elif old.size != total:
                old = np.repeat(old, total)
            elif index not in self.owned:
                old = old.copy()  # a move may have made two registers share an array
            old[self.lanes.index] = value
            self.whole[index] = old
            self.owned.add(index)
        self.dirty = set()
