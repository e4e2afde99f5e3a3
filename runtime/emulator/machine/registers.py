"""The register file of a batch: one array for each live register, and compact copies for the threads that run now.

A register with the same value in all threads stays an array of one element. When only some threads run, the registers
that they touch are gathered once, and stay compact as long as the same threads keep running. When other threads run,
changed registers are written back.

The special registers of a batch: thread, CTA and cluster coordinates, lane numbers and masks, sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Array
from .threads import WARP, Threads

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


_AXES = {"x": 0, "y": 1, "z": 2}


def special_register(machine: Machine, name: str) -> Array:
    """The value of ``%name`` for every thread of the batch, or one element when all agree (uint32; gridid uint64)."""
    base, _, axis = name.partition(".")
    if axis:
        return _coordinate(machine, base, _AXES[axis])
    launch = machine.launch
    lane = np.arange(machine.total, dtype=np.uint32) & np.uint32(31)
    one, all_ = np.uint32(1), np.uint32(0xFFFFFFFF)
    if name == "gridid":
        return np.zeros(1, np.uint64)
    values: dict[str, Callable[[], Array]] = {
        "laneid": lambda: lane,
        "warpid": lambda: (np.arange(machine.total) % machine.per_cta // WARP).astype(np.uint32),
        "nwarpid": lambda: _one(machine.per_cta // WARP),
        "smid": lambda: _one(0),
        "nsmid": lambda: _one(1),
        "lanemask_eq": lambda: one << lane,
        "lanemask_lt": lambda: (one << lane) - one,
        "lanemask_le": lambda: ((one << lane) - one) | (one << lane),
        "lanemask_gt": lambda: all_ ^ (((one << lane) - one) | (one << lane)),
        "lanemask_ge": lambda: all_ ^ ((one << lane) - one),
        "cluster_ctarank": lambda: _per_thread(machine, machine.order % launch.cluster_size),
        "cluster_nctarank": lambda: _one(launch.cluster_size),
        "is_explicit_cluster": lambda: np.array([launch.cluster_size > 1]),
        "dynamic_smem_size": lambda: _one(launch.dynamic_shared),
        "total_smem_size": lambda: _one(launch.shared_size),
        "envreg1": lambda: _one(launch.workspace >> 32),
        "envreg2": lambda: _one(launch.workspace & 0xFFFFFFFF),
    }
    return values[name]()


def _one(value: int) -> Array:
    return np.array([value], np.uint32)


def _per_thread(machine: Machine, per_cta: Array) -> Array:
    values = per_cta.astype(np.uint32)
    return values[:1] if (values == values[0]).all() else np.repeat(values, machine.per_cta)


def _split(linear: Array, shape: tuple[int, int, int], axis: int) -> Array:
    """Coordinate ``axis`` of linear numbers in a box of ``shape``, x fastest."""
    before = int(np.prod(shape[:axis], dtype=np.int64))
    return linear // before % shape[axis]


def _coordinate(machine: Machine, base: str, axis: int) -> Array:
    launch = machine.launch
    clusters = tuple(-(-g // c) for g, c in zip(launch.grid, launch.cluster, strict=True))
    sizes = {
        "ntid": launch.block,
        "nctaid": launch.grid,
        "nclusterid": clusters,
        "cluster_nctaid": launch.cluster,
    }
    if base in sizes:
        return _one(sizes[base][axis])
    if base == "tid":
        within = _split(np.arange(machine.per_cta), launch.block, axis).astype(np.uint32)
        return _one(0) if launch.block[axis] == 1 else np.tile(within, machine.count)
    rank = _split(machine.order % launch.cluster_size, launch.cluster, axis)
    cluster = _split(machine.order // launch.cluster_size, (clusters[0], clusters[1], clusters[2]), axis)
    if base == "clusterid":
        return _per_thread(machine, cluster)
    if base == "cluster_ctaid":
        return _per_thread(machine, rank)
    return _per_thread(machine, cluster * launch.cluster[axis] + rank)
