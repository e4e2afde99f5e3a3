"""Happens-before: for each thread, the time up to which it knows what other threads did.

Times number the events in the order in which the emulator runs them; that order itself orders nothing. A thread knows
an event of another thread if one of these leads from that event to it:

- a barrier of the CTA, of some lanes of a warp, or of the cluster;
- a release and an acquire through memory (``through_memory.py``).

A thread that has exited takes part in no later barrier: what it did after its last one stays unknown to the threads
that meet without it (``known_times.py``).

Barriers that order the threads of a batch: of warps, of CTAs and of clusters.

At a barrier of a CTA every warp that waited learns what the warps that arrived did before. A warp barrier whose mask is
a part of the warp orders these lanes, and a barrier of the cluster its threads from arrive to wait, unless it is
relaxed.

Proxy fences: bulk copies reach memory through the async proxy, all other instructions through the generic one.

A write through the generic proxy comes before a bulk copy that reads or overwrites it only if a ``fence.proxy.async``
stands on the way from the one to the other: in the thread that wrote, or in one that knows of the write and that the
thread of the copy knows of.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from .access_history import thread_of, time_of
from .known_times import KnownTimes
from .memory_model import CLUSTER
from .releases import Fenced
from .through_memory import ThroughMemory

if TYPE_CHECKING:
    from ..machine.launch import Launch
    from ..machine.machine import Machine
    from ..machine.program import Block
    from ..machine.threads import Threads
    from ..ptx.types import Array, Instruction


class MetThreads:
    """The threads that arrive at barriers, and what they learn from each other there."""

    def __init__(self, times: KnownTimes, memory: ThroughMemory) -> None:
        self.times, self.memory = times, memory

    def batch(self) -> None:
        """Begins a batch, of which no thread has come to a barrier."""
        self.arrived: dict[int, list[tuple[Array, bool, int, Array]]] = {}

    def warps_meet(self, warps: Array) -> None:
        """Orders warps whose living lanes have all come to a warp barrier."""
        self.times.known[warps, warps % self.times.warps] = self.times.tick()
        if self.memory.is_used:
            rows = warps[:, None] * 32 + np.arange(32)
            for row in rows[self.memory.to_share(rows)]:
                self.memory.share(row[self.times.machine.alive[row]])

    def lanes_meet(self, warps: Array, named: Array) -> None:
        """Orders lanes that met at a warp barrier; ``named`` (warps, 32, 32) flags the lanes that each lane met."""
        if self.times.lanes is None:
            self.times.lanes = np.zeros((self.times.total, 32), np.int32)
        now = self.times.tick()
        for warp, met in zip(warps, named, strict=True):
            base, done = int(warp) * 32, np.zeros(32, bool)
            for lane in range(32):
                if not met[lane].any() or done[lane]:
                    continue
                group = np.flatnonzero(met[lane] & met.any(axis=1))
                done[group] = True
                row = self.times.lanes[base + group].max(axis=0)
                row[group] = now
                self.times.lanes[base + group] = row
                if self.memory.is_used:
                    self.memory.share(base + group)

    def arrive(self, block: Block, lanes: Threads, number: int) -> None:
        """Notes threads that come to a barrier of their CTA, and what they know if they do not wait."""
        waits, now = block.last.op.end != "arrive", self.times.tick()
        rows = np.zeros(0) if waits else self.times.known[lanes.numbers >> 5]
        if not waits:
            self.times.exited.arrived(lanes.numbers, now)
        self.arrived.setdefault(number, []).append((lanes.numbers, waits, now, rows))

    def exit(self, lanes: Threads) -> None:
        """Notes threads that exit while others of their CTAs may go on."""
        if lanes.n < self.times.machine.living:
            threads = lanes.numbers
            met = self.times.known.reshape(-1, self.times.warps, self.times.warps).max(axis=1).reshape(-1)[threads >> 5]
            if self.times.lanes is not None:
                met = np.maximum(met, self.times.lanes.reshape(-1, 32, 32).max(axis=1).reshape(-1)[threads])
            self.times.exited.exit(threads, met)

    def release(self, number: int, ctas: Array, sets: list[tuple[Threads, Block]]) -> None:
        """Orders the threads that met at a barrier, which is complete in ``ctas``."""
        arrived = self.arrived.pop(number, [])
        if len(arrived) == 1 and len(sets) == 1 and arrived[0][0].size == sets[0][0].n == self.times.machine.living:
            self._all_meet(ctas)
            return
        done = np.zeros(self.times.machine.count, bool)
        done[ctas] = True
        counts = np.zeros(self.times.machine.count, np.int64)  # of threads that wait, unless some do not
        kept, here = [], []
        for threads, waits, at, rows in arrived:
            free = done[threads // self.times.per_cta]
            if free.any():
                here.append((threads[free], waits, at, rows[free] if rows.size else rows))
                come = np.bincount(threads[free] // self.times.per_cta, minlength=self.times.machine.count)
                counts += come if waits else -self.times.per_cta * (come > 0)
            if not free.all():
                kept.append((threads[~free], waits, at, rows[~free] if rows.size else rows))
        if kept:
            self.arrived[number] = kept
        crowd = self.times.machine.barriers.crowd
        if crowd.size:
            self._alone(crowd, here)
            ctas = np.setdiff1d(ctas, crowd)
        living = self.times.machine.alive.reshape(self.times.machine.count, -1).sum(axis=1)
        whole = counts[ctas] == living[ctas]
        if whole.any():
            self._all_meet(ctas[whole])
        for cta in ctas[~whole]:
            self._some_meet(int(cta), here)

    def _all_meet(self, ctas: Array) -> None:
        known = self.times.known.reshape(self.times.machine.count, self.times.warps, self.times.warps)
        now = self.times.tick()
        if self.times.exited.met is not None:  # of warps that have ended nobody learns more here
            lives = np.asarray(self.times.machine.alive.reshape(*known.shape[:2], 32).any(axis=2))
            known[ctas] = np.where(lives[ctas][:, None, :], now, known[ctas])
        else:
            known[ctas] = now
        if ctas.size == self.times.machine.count and not self.times.exited.left:
            self.times.floor = now
        if self.memory.is_used:
            self.memory.share_in(ctas)

    def _alone(self, ctas: Array, here: list[tuple[Array, bool, int, Array]]) -> None:
        """Orders the lanes of each warp at a barrier that takes more warps than it counts: which ones meet is open."""
        for threads, waits, _, _ in here:
            if waits:
                own = threads[np.isin(threads // self.times.per_cta, ctas)]
                warps, lanes = np.unique(own >> 5, return_counts=True)
                self.warps_meet(warps[lanes == self.times.machine.alive.reshape(-1, 32)[warps].sum(axis=1)])

    def _some_meet(self, cta: int, here: list[tuple[Array, bool, int, Array]]) -> None:
        """Orders a barrier of some warps of a CTA: those that wait learn what all that arrived knew."""
        row = np.zeros(self.times.warps, np.int32)
        waiting: list[Array] = []
        all_: list[Array] = []
        for threads, waits, at, rows in here:
            mine = threads // self.times.per_cta == cta
            if not mine.any():
                continue
            own = threads[mine]
            row = np.maximum(row, (self.times.known[own >> 5] if waits else rows[mine]).max(axis=0))
            warps = (own >> 5) % self.times.warps
            row[warps] = np.maximum(row[warps], at)
            all_.append(own)
            waiting += [own] if waits else []
        if waiting:
            into = np.concatenate(waiting)
            self.times.known[into >> 5] = np.maximum(self.times.known[into >> 5], row)
            if self.memory.is_used:
                self.memory.share(np.concatenate(all_), into)

    def cluster_arrive(self, block: Block, lanes: Threads) -> None:
        """Notes threads that arrive at the barrier of their cluster; if relaxed, it orders what is before a fence."""
        if "relaxed" in block.last.ins.mods:
            known = self.times.cluster_at[1, lanes.numbers]
            for level, fenced in self.memory.fences.items():
                known = np.maximum(known, fenced.own[lanes.numbers]) if level >= CLUSTER else known
            self.times.cluster_at[0, lanes.numbers] = known
        else:
            self.times.cluster_at[0, lanes.numbers] = self.times.tick()

    def cluster_release(self, lanes: Threads) -> None:
        """Orders threads that leave the barrier of their cluster, whose phase is complete."""
        threads = lanes.numbers
        wide = self.times.per_cta * self.times.size
        for cluster in np.unique(threads // wide):
            own = np.arange(cluster * wide, min((cluster + 1) * wide, self.times.total))
            mine = threads[threads // wide == cluster]
            phase = int(self.times.phase[mine].max()) + 1
            if int(self.times.cluster_phase[own].max()) < phase:
                self.times.cluster_at[2, own] = self.times.cluster_at[1, own]
                self.times.cluster_at[1, own] = self.times.cluster_at[0, own]
                self.times.cluster_phase[own] = phase
            self.times.phase[mine] = phase
            if self.memory.is_used:
                self.memory.share(own[self.times.machine.alive[own]], mine)


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


class HappensBefore:
    """What the threads of a batch know of each other.

    Attributes:
        times: what they know by barriers.
        memory: what they have learned through memory.
        barriers: the threads that wait at barriers.
        proxies: the fences that bring writes to the async proxy.
    """

    def __init__(self, launch: Launch) -> None:
        self.times = KnownTimes(launch)
        self.memory = ThroughMemory(self.times)
        self.barriers = MetThreads(self.times, self.memory)
        self.proxies = Proxies(self)

    def batch(self, machine: Machine) -> None:
        """Begins a batch, whose threads know nothing yet."""
        self.times.batch(machine)
        self.memory.batch()
        self.barriers.batch()
        self.proxies.batch()

    def knows(self, threads: Array, others: Array, times: Array) -> Array:
        """Whether ``threads`` (numbers in the batch) know what ``others`` (numbers in the launch) did at ``times``."""
        return self.memory.knows(threads, others, times, self.times.knows(threads, others, times))
