"""The special registers of a batch: thread, CTA and cluster coordinates, lane numbers and masks, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Array
from .threads import WARP

if TYPE_CHECKING:
    from .machine import Machine

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
