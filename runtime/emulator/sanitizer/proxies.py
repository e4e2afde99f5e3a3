"""Proxy fences: bulk copies reach memory through the async proxy, all other instructions through the generic one.

A write through the generic proxy comes before a bulk copy that reads or overwrites it only if a ``fence.proxy.async``
stands on the way from the one to the other: in the thread that wrote, or in one that knows of the write and that the
thread of the copy knows of.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from .access_history import thread_of, time_of
from .fences import Fenced

if TYPE_CHECKING:
    from ..ptx.types import Array, Instruction
    from .happens_before import HappensBefore


class Proxies:
    """The proxy fences of a batch.

    Attributes:
        times, threads: the fences for each space in their order, and who passed them.
    """

    def __init__(self, order: HappensBefore) -> None:
        self.order = order

    def batch(self) -> None:
        """Begins a batch, without a fence."""
        self.times: dict[str, list[int]] = {"shared": [], "global": []}
        self.threads: dict[str, list[Array]] = {"shared": [], "global": []}

    def fence(self, ins: Instruction, threads: Array) -> None:
        """Notes that threads pass a proxy fence."""
        if "async" not in ins.mods:
            return
        own, memory = self.order.times, self.order.memory
        now = own.tick()
        for space in _spaces(ins):
            self.times[space].append(now)
            self.threads[space].append(threads)
            found = memory.proxies.setdefault(space, Fenced(own.total, own.warps))
            found.passed(threads, now, own.known, memory.acquired)

    def missing(self, space: str, threads: Array, before: Array) -> Array:
        """Which of the writes with the stamps ``before`` no fence brings to the async proxy for ``threads``."""
        lacking = np.ones(before.size, bool)
        known = self.order.memory.proxies.get(space)
        if known is None:
            return lacking
        writers, times = thread_of(before), time_of(before)
        lacking = ~self.order.memory.knew(known, threads, writers, times)
        for time in np.unique(times[lacking]):
            lacking &= ~((times == time) & self._passed(space, threads, writers, int(time)))
        return lacking

    def _passed(self, space: str, threads: Array, writers: Array, time: int) -> Array:
        """Whether ``threads`` know the first fence after ``time`` of each of ``writers``."""
        done = np.zeros(writers.size, bool)
        found = np.zeros(writers.size, bool)
        per_cta, local = self.order.times.per_cta, self.order.times.local
        own = local[writers // per_cta] * per_cta + writers % per_cta
        for k in range(bisect_right(self.times[space], time), len(self.times[space])):
            here = ~done & np.isin(own, self.threads[space][k])
            if here.any():
                at = np.full(int(here.sum()), self.times[space][k])
                found[here] = (own[here] == threads[here]) | self.order.knows(threads[here], writers[here], at)
                done |= here
            if done.all():
                break
        return found


def _spaces(ins: Instruction) -> tuple[str, ...]:
    named = [m for m in ins.mods if m == "global" or m.startswith("shared")]
    return tuple("global" if m == "global" else "shared" for m in named) or ("shared", "global")
