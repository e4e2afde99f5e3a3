"""Names for what findings are about: threads of the launch, and the array and element at an address."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..ptx.demangle import demangle
from ..ptx.regions import align_up
from .findings import Site

if TYPE_CHECKING:
    from ..machine.address_resolution import Access
    from ..machine.launch import Launch
    from ..machine.machine import Machine
    from ..machine.memory import Allocation
    from ..ptx.types import Array


class Symbolizer:
    """Numbers the threads of a launch, and names threads and memory.

    A thread's number in the launch is the position of its CTA in cluster order times ``per_cta``, plus its number in
    the CTA. ``local`` maps a CTA of the launch to its number in the batch; -1 for CTAs of other batches.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.per_cta = align_up(launch.threads, 32)
        self.local = np.full(prod(launch.grid), -1)
        self.first: Array = np.zeros(0, np.int64)

    def batch(self, machine: Machine) -> None:
        """Sets the CTAs of the batch that begins."""
        self.local[:] = -1
        self.local[machine.order] = np.arange(machine.count)
        self.first = np.asarray(machine.order, np.int64) * self.per_cta
        self.in_order = bool((np.diff(self.first) == self.per_cta).all())

    def numbers(self, threads: Array) -> Array:
        """The numbers in the launch of threads given by their numbers in the batch."""
        if self.in_order:
            return threads + int(self.first[0])
        cta = threads // self.per_cta
        result: Array = self.first[cta] + (threads - cta * self.per_cta)
        return result

    def site(self, number: int, line: int) -> Site:
        """The thread with this number in the launch, at a PTX line."""
        source = self.launch.program.module.source.origins.at(line)
        return Site(*self.launch.coordinates(*divmod(number, self.per_cta)), line, source)

    def where(self, access: Access, offset: int, home: Allocation | None) -> str:
        """The array and element at byte ``offset`` of an allocation, or of shared or local memory if there is none."""
        type_ = access.ins.mods[-1] if access.ins.mods else ""
        size = next((s for s in (8, 4, 2, 1) if access.size % s == 0 and type_.endswith(str(8 * s))), access.size)
        if home is not None:
            return f"{name_of(home)}{element(offset, size)} ({type_})"
        stride = self.launch.shared_stride if access.space == "shared" else self.launch.local_stride
        flat = self.launch.program.flat
        near = (flat.shared if access.space == "shared" else flat.local).nearest(offset % stride)
        name, start = (demangle(near[0].name), near[1]) if near else (f"{access.space} memory", 0)
        return f"{name}{element(offset % stride - start, size)} ({access.space})"


def name_of(home: Allocation) -> str:
    """The name of an array; an array without a name is named by its address."""
    return home.name or f"allocation at {home.address:#x}"


def element(offset: int, size: int) -> str:
    """``offset`` as the index of an element of ``size`` bytes, and the byte within it unless it is the first."""
    index, byte = divmod(offset, size)
    return f"[{index}] + {byte} byte" + "s" * (byte != 1) if byte else f"[{index}]"
