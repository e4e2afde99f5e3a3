"""Barriers that order the threads of a batch: of warps, of CTAs and of clusters.

At a barrier of a CTA every warp that waited learns what the warps that arrived did before. A warp barrier whose mask is
a part of the warp orders these lanes, and a barrier of the cluster its threads from arrive to wait, unless it is
relaxed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .known_times import KnownTimes
from .memory_model import CLUSTER
from .through_memory import ThroughMemory

if TYPE_CHECKING:
    from ..machine.program import Block
    from ..machine.threads import Threads
    from ..ptx.types import Array


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
