"""For the threads of a batch the times up to which they know what others did, by barriers.

``known`` holds a time for each pair of warps of a CTA; on its diagonal is the last time at which the lanes of the warp
met as a whole. ``lanes`` holds a time for each pair of lanes of a warp, once lanes have met apart from the others.

Threads that have exited: later barriers do not order what they did after the last barrier that they took part in.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..ptx.regions import align_up
from .memory_model import CLUSTER, CTA, GPU

if TYPE_CHECKING:
    from ..machine.launch import Launch
    from ..machine.machine import Machine
    from ..ptx.types import Array


_ALWAYS = np.iinfo(np.int32).max


class ExitedThreads:
    """The last times at which exited threads met others at a barrier, while other threads of their CTAs went on.

    Attributes:
        met: this time for each thread of the launch; None until a thread exits early.
        touched: the time at which each thread of the batch last touched shared memory.
        alone: the time at which each thread of the batch last arrived at a barrier without waiting.
        left: whether a thread of the batch has exited after touching shared memory, with no barrier in between.
    """

    def __init__(self) -> None:
        self.met: Array | None = None

    def batch(self, machine: Machine) -> None:
        """Begins a batch."""
        self.machine, self.left = machine, False
        self.touched = np.zeros(machine.total, np.int32)
        self.alone = np.zeros(machine.total, np.int32)

    def touches(self, threads: Array, time: int) -> None:
        """Notes that threads touch shared memory."""
        self.touched[threads] = time

    def arrived(self, threads: Array, time: int) -> None:
        """Notes that threads arrive at a barrier without waiting."""
        self.alone[threads] = time

    def exit(self, threads: Array, met: Array) -> None:
        """Notes that threads of the batch exit, which met others at the times ``met``."""
        machine, launch = self.machine, self.machine.launch
        ctas = threads // machine.per_cta
        goes_on = machine.alive.reshape(machine.count, -1).sum(axis=1) - np.bincount(ctas, minlength=machine.count)
        some = goes_on[ctas] > 0
        if not some.any():
            return
        threads, ctas = threads[some], ctas[some]
        self.left = self.left or bool((self.touched[threads] > met[some]).any())
        met = np.maximum(met[some], self.alone[threads])
        if self.met is None:
            self.met = np.full(prod(launch.grid) * align_up(launch.threads, 32), _ALWAYS, np.int32)
        self.met[np.asarray(machine.order)[ctas] * machine.per_cta + threads % machine.per_cta] = met

    def early(self, number: int) -> bool:
        """Whether a thread of the launch has exited while others of its CTA went on."""
        return self.met is not None and int(self.met[number]) < _ALWAYS

    def within(self, numbers: Array, times: Array) -> Array:
        """``times``, limited for exited threads (by number in the launch) to the last time at which they met others."""
        return times if self.met is None else np.minimum(times, self.met[numbers])


class KnownTimes:
    """What the threads of a batch know by barriers.

    Attributes:
        now: the time of the last event.
        floor: the last time at which every CTA of the batch met at its own barrier; all threads know what was before.
        size: the number of CTAs of a cluster.
        exited: the threads that have exited.
        phase: by thread, the number of cluster barriers that it has passed.
    """

    def __init__(self, launch: Launch) -> None:
        self.now = 0
        self.size = launch.cluster_size
        self.ctas = prod(launch.grid)
        self.exited = ExitedThreads()

    def batch(self, machine: Machine) -> None:
        """Begins a batch, whose threads know nothing yet."""
        self.machine, self.per_cta, self.total = machine, machine.per_cta, machine.total
        self.floor = 0
        self.warps = machine.per_cta // 32
        self.positions = np.asarray(machine.order, np.int64)
        self.local = np.full(self.ctas, -1)
        self.local[self.positions] = np.arange(machine.count)
        self.known = np.zeros((machine.count * self.warps, self.warps), np.int32)
        self.lanes: Array | None = None
        self.exited.batch(machine)
        self.phase = np.zeros(self.total, np.int64)
        self.cluster_at = np.zeros((3, self.total), np.int32)  # under way, last phase, the one before
        self.cluster_phase = np.zeros(self.total, np.int64)

    def tick(self) -> int:
        """The time of the event that happens now, one later than the last."""
        self.now += 1
        return self.now

    def knows(self, threads: Array, others: Array, times: Array) -> Array:
        """Whether ``threads`` (numbers in the batch) know what ``others`` (numbers in the launch) did at ``times``."""
        cta, order = threads // self.per_cta, others // self.per_cta
        within = others - order * self.per_cta
        local = self.local[order]
        near = local == cta
        found: Array = near & (
            (times <= self.exited.within(others, self.known[threads >> 5, within >> 5]))
            | (within == threads - cta * self.per_cta)
        )
        if self.lanes is not None:
            warp = near & (threads >> 5 == (cta * self.per_cta + within) >> 5)
            found |= warp & (times <= self.lanes[threads, within & 31])
        if self.size > 1:
            found |= self._by_cluster(threads, cta, local, within, times)
        return found

    def _by_cluster(self, threads: Array, cta: Array, local: Array, within: Array, times: Array) -> Array:
        same = (local >= 0) & (local // self.size == cta // self.size)
        other = np.where(same, local * self.per_cta + within, 0)
        behind = self.cluster_phase[other] > self.phase[threads]
        at = np.where(behind, self.cluster_at[2, other], self.cluster_at[1, other])
        result: Array = same & (times <= at) & (self.phase[threads] > 0)
        return result

    def told(self, thread: int, row: Array, own: int) -> tuple[Array, Array]:
        """The keys and times, as in ``Clock``, of what a thread tells by a release.

        That is the ``row`` of times of warps, its ``own`` time, and what lanes and clusters have told it by then.
        """
        order = int(self.positions[thread // self.per_cta])
        number = order * self.per_cta + thread % self.per_cta
        keys, times = [number], [own]
        base = int(row.min())
        if base:
            keys.append(self.ctas * (self.per_cta + self.warps) + order)
            times.append(base)
        if int(row.max()) > base:
            first = self.ctas * self.per_cta + order * self.warps
            for warp in np.flatnonzero(row > base):
                keys.append(first + int(warp))
                times.append(int(row[warp]))
        if self.lanes is not None:
            mine = number & ~31
            for lane in np.flatnonzero(self.lanes[thread]):
                keys.append(mine + int(lane))
                times.append(min(int(self.lanes[thread, lane]), own))
        if self.size > 1 and self.phase[thread]:
            self._cluster_keys(thread, own, keys, times)
        return np.array(keys), np.array(times)

    def _cluster_keys(self, thread: int, own: int, keys: list[int], times: list[int]) -> None:
        cta = thread // self.per_cta
        base = cta - cta % self.size
        for other in range(base, min(base + self.size, self.machine.count)):
            at = self.cluster_at[1, other * self.per_cta : (other + 1) * self.per_cta]
            alive = at[at > 0]
            if alive.size:
                keys.append(int(self.cta_key(self.positions[other : other + 1])[0]))
                times.append(min(int(alive.min()), own))

    def warp_key(self, number: Array) -> Array:
        """The keys of the warps of threads."""
        result: Array = self.ctas * self.per_cta + (number >> 5)
        return result

    def cta_key(self, order: Array) -> Array:
        """The keys of CTAs."""
        result: Array = self.ctas * (self.per_cta + self.warps) + order
        return result

    def distance(self, threads: Array, others: Array) -> Array:
        """The least scope that includes each of ``threads`` (of the batch) and each of ``others`` (of the launch)."""
        return self._scope(self.positions[threads // self.per_cta], others // self.per_cta)

    def apart(self, threads: Array, others: Array) -> Array:
        """The least scope that includes each of ``threads`` and each of ``others``, both by number in the launch."""
        return self._scope(threads // self.per_cta, others // self.per_cta)

    def _scope(self, mine: Array, theirs: Array) -> Array:
        near = np.where(mine // self.size == theirs // self.size, CLUSTER, GPU)
        result: Array = np.where(mine == theirs, CTA, near)
        return result
