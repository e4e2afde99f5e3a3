"""Happens-before: for each thread, the time up to which it knows what other threads did.

Times number the events in the order in which the emulator runs them; that order itself orders nothing. A thread knows
an event of another thread if one of these leads from that event to it:

- a barrier of the CTA: every warp that waited knows what the warps that arrived did before. ``known`` holds a time for
  each pair of warps of a CTA; on its diagonal is the last time at which the lanes of the warp met as a whole;
- a warp barrier whose mask is a part of the warp: ``lanes`` holds a time for each pair of lanes, once needed;
- a barrier of the cluster, from arrive to wait, unless it is relaxed;
- a release and an acquire through memory: see ``releases.py``.

A thread that has exited takes part in no later barrier: what it did after its last one stays unknown to the threads
that meet without it (``exited_threads.py``).

A fence makes everything that its thread knows releasable, by later strong writes of the thread itself and of the
threads that it then meets at a barrier. What a thread read before a fence becomes known at its next fence, or at the
next fence of a thread that it meets: fences are cumulative. The scopes of the release and of the acquire must both
include the other thread.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .exited_threads import ExitedThreads
from .fences import Fenced
from .memory_model import CLUSTER, CTA, GPU, Strength
from .releases import Log, Part, Release, Table

if TYPE_CHECKING:
    from ..machine.launch import Launch
    from ..machine.machine import Machine
    from ..machine.program import Block
    from ..machine.threads import Threads
    from ..ptx.types import Array

_LATER = np.iinfo(np.int32).max


class HappensBefore:
    """What the threads of a batch know, and what has been released through memory in the launch.

    Attributes:
        now: the time of the last event.
        floor: the last time at which every CTA of the batch met at its own barrier; all threads know what was before.
        size: the number of CTAs of a cluster.
        acquired, read: by thread, the number in ``table`` of what it has acquired, and of what it has read since its
            last fence.
        phase: by thread, the number of cluster barriers that it has passed.
    """

    def __init__(self, launch: Launch) -> None:
        self.now = 0
        self.size = launch.cluster_size
        self.table = Table(self.size)
        self.logs: dict[tuple[str, int, int], Log] = {}
        self.homes: set[tuple[str, int]] = set()
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
        self.acquired = np.zeros(self.total, np.int64)
        self.read = np.zeros(self.total, np.int64)
        self.fences: dict[int, Fenced] = {}
        self.exited.batch(machine)
        self.arrived: dict[int, list[tuple[Array, bool, int, Array]]] = {}
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
        return self._by_memory(threads, order, others, times, found)

    def _by_cluster(self, threads: Array, cta: Array, local: Array, within: Array, times: Array) -> Array:
        same = (local >= 0) & (local // self.size == cta // self.size)
        other = np.where(same, local * self.per_cta + within, 0)
        behind = self.cluster_phase[other] > self.phase[threads]
        at = np.where(behind, self.cluster_at[2, other], self.cluster_at[1, other])
        result: Array = same & (times <= at) & (self.phase[threads] > 0)
        return result

    def _by_memory(self, threads: Array, order: Array, others: Array, times: Array, found: Array) -> Array:
        rest = np.flatnonzero(~found & (self.acquired[threads] > 0))
        numbers = self.acquired[threads[rest]]
        for number in np.unique(numbers):
            at = rest[numbers == number]
            clock = self.table.clock(int(number))
            who = others[at]
            met = np.maximum(clock.of(self._cta_key(order[at])), clock.of(self._warp_key(who)))
            found[at] |= times[at] <= np.maximum(self.exited.within(who, met), clock.of(who))
        return found

    def _warp_key(self, number: Array) -> Array:
        result: Array = self.ctas * self.per_cta + (number >> 5)
        return result

    def _cta_key(self, order: Array) -> Array:
        result: Array = self.ctas * (self.per_cta + self.warps) + order
        return result

    # barriers

    def warps_meet(self, warps: Array) -> None:
        """Orders warps whose living lanes have all come to a warp barrier."""
        self.known[warps, warps % self.warps] = self.tick()
        if self._through_memory():
            rows = warps[:, None] * 32 + np.arange(32)
            for row in rows[self._to_share(rows)]:
                self._share(row[self.machine.alive[row]])

    def _to_share(self, rows: Array) -> Array:
        """Which rows of threads have learned different things through memory, and so can learn from each other."""
        out = np.zeros(rows.shape[0], bool)
        for held in (self.acquired, self.read, *(f.acquired for f in self.fences.values())):
            some = held[rows]
            out |= some.max(axis=1) != some.min(axis=1)
        for fenced in self.fences.values():
            out |= fenced.own[rows].any(axis=1)
        return out

    def lanes_meet(self, warps: Array, named: Array) -> None:
        """Orders lanes that met at a warp barrier; ``named`` (warps, 32, 32) flags the lanes that each lane met."""
        if self.lanes is None:
            self.lanes = np.zeros((self.total, 32), np.int32)
        now = self.tick()
        for warp, met in zip(warps, named, strict=True):
            base, done = int(warp) * 32, np.zeros(32, bool)
            for lane in range(32):
                if not met[lane].any() or done[lane]:
                    continue
                group = np.flatnonzero(met[lane] & met.any(axis=1))
                done[group] = True
                row = self.lanes[base + group].max(axis=0)
                row[group] = now
                self.lanes[base + group] = row
                if self._through_memory():
                    self._share(base + group)

    def arrive(self, block: Block, lanes: Threads, number: int) -> None:
        """Notes threads that come to a barrier of their CTA, and what they know if they do not wait."""
        waits, now = block.last.op.end != "arrive", self.tick()
        rows = np.zeros(0) if waits else self.known[lanes.numbers >> 5]
        if not waits:
            self.exited.arrived(lanes.numbers, now)
        self.arrived.setdefault(number, []).append((lanes.numbers, waits, now, rows))

    def exit(self, lanes: Threads) -> None:
        """Notes threads that exit while others of their CTAs may go on."""
        if lanes.n < self.machine.living:
            threads = lanes.numbers
            met = self.known.reshape(-1, self.warps, self.warps).max(axis=1).reshape(-1)[threads >> 5]
            if self.lanes is not None:
                met = np.maximum(met, self.lanes.reshape(-1, 32, 32).max(axis=1).reshape(-1)[threads])
            self.exited.exit(threads, met)

    def release(self, number: int, ctas: Array, sets: list[tuple[Threads, Block]]) -> None:
        """Orders the threads that met at a barrier, which is complete in ``ctas``."""
        arrived = self.arrived.pop(number, [])
        if len(arrived) == 1 and len(sets) == 1 and arrived[0][0].size == sets[0][0].n == self.machine.living:
            self._all_meet(ctas)
            return
        done = np.zeros(self.machine.count, bool)
        done[ctas] = True
        counts = np.zeros(self.machine.count, np.int64)
        kept, here = [], []
        for threads, waits, at, rows in arrived:
            free = done[threads // self.per_cta]
            if free.any():
                here.append((threads[free], waits, at, rows[free] if rows.size else rows))
                if waits:
                    counts += np.bincount(threads[free] // self.per_cta, minlength=self.machine.count)
            if not free.all():
                kept.append((threads[~free], waits, at, rows[~free] if rows.size else rows))
        if kept:
            self.arrived[number] = kept
        living = self.machine.alive.reshape(self.machine.count, -1).sum(axis=1)
        whole = counts[ctas] == living[ctas]
        if whole.any():
            self._all_meet(ctas[whole])
        for cta in ctas[~whole]:
            self._some_meet(int(cta), here)

    def _all_meet(self, ctas: Array) -> None:
        known = self.known.reshape(self.machine.count, self.warps, self.warps)
        now = self.tick()
        if ctas.size == self.machine.count:
            known[:] = now
            self.floor = self.floor if self.exited.left else now
        else:
            known[ctas] = now
        if self._through_memory():
            self._share_in(ctas)

    def _share_in(self, ctas: Array) -> None:
        """Joins, for each of these CTAs, what all its threads have learned through memory; ``_share`` for many CTAs."""
        shape = self.machine.count, self.per_cta
        alive = self.machine.alive.reshape(shape)[ctas]
        for held in (self.acquired, self.read, *(f.acquired for f in self.fences.values())):
            if not held.any():
                continue
            some = np.where(alive, held.reshape(shape)[ctas], 0)
            most = some.max(axis=1)
            least = np.where(some > 0, some, _LATER).min(axis=1)
            for k in np.flatnonzero((most > 0) & (least < most)):
                most[k] = self.table.join(*(int(n) for n in np.unique(some[k])))
            into = most > 0
            held.reshape(shape)[ctas[into]] = most[into, None]
        warps = self.machine.count, self.warps, 32
        for fenced in self.fences.values():
            own = fenced.own.reshape(shape)[ctas].any(axis=1)
            some = ctas[own]
            if not some.size:
                continue
            least = np.where(alive[own].reshape(-1, *warps[1:]), fenced.own.reshape(warps)[some], _LATER).min(axis=2)
            at = fenced.at.reshape(warps)[some]
            each = fenced.rows[at.max(axis=2)] if self.lanes is None else fenced.rows[at].max(axis=2)
            rows = np.maximum(each.max(axis=1), np.where(least < _LATER, least, 0))
            fenced.at.reshape(shape)[some] = fenced.put(rows)[:, None]

    def _some_meet(self, cta: int, here: list[tuple[Array, bool, int, Array]]) -> None:
        """Orders a barrier of some warps of a CTA: those that wait learn what all that arrived knew."""
        row = np.zeros(self.warps, np.int32)
        waiting: list[Array] = []
        all_: list[Array] = []
        for threads, waits, at, rows in here:
            mine = threads // self.per_cta == cta
            if not mine.any():
                continue
            own = threads[mine]
            row = np.maximum(row, (self.known[own >> 5] if waits else rows[mine]).max(axis=0))
            warps = (own >> 5) % self.warps
            row[warps] = np.maximum(row[warps], at)
            all_.append(own)
            waiting += [own] if waits else []
        if waiting:
            into = np.concatenate(waiting)
            self.known[into >> 5] = np.maximum(self.known[into >> 5], row)
            if self._through_memory():
                self._share(np.concatenate(all_), into)

    def cluster_arrive(self, block: Block, lanes: Threads) -> None:
        """Notes threads that arrive at the barrier of their cluster; a relaxed arrival orders nothing."""
        if "relaxed" in block.last.ins.mods:
            self.cluster_at[0, lanes.numbers] = self.cluster_at[1, lanes.numbers]
        else:
            self.cluster_at[0, lanes.numbers] = self.tick()

    def cluster_release(self, lanes: Threads) -> None:
        """Orders threads that leave the barrier of their cluster, whose phase is complete."""
        threads = lanes.numbers
        wide = self.per_cta * self.size
        for cluster in np.unique(threads // wide):
            own = np.arange(cluster * wide, min((cluster + 1) * wide, self.total))
            mine = threads[threads // wide == cluster]
            phase = int(self.phase[mine].max()) + 1
            if int(self.cluster_phase[own].max()) < phase:
                self.cluster_at[2, own] = self.cluster_at[1, own]
                self.cluster_at[1, own] = self.cluster_at[0, own]
                self.cluster_phase[own] = phase
            self.phase[mine] = phase
            if self._through_memory():
                self._share(own[self.machine.alive[own]], mine)

    # fences, releases, acquires

    def _through_memory(self) -> bool:
        return bool(self.logs or self.fences)

    def _share(self, threads: Array, into: Array | None = None) -> None:
        """Lets ``into`` (by default ``threads``) learn what any of ``threads`` acquired, read or fenced."""
        into = threads if into is None else into
        for held in (self.acquired, self.read, *(f.acquired for f in self.fences.values())):
            some = np.unique(held[threads])
            if some[-1]:
                union = self.table.join(*(int(n) for n in some))
                held[into] = union if into is threads else [self.table.join(union, int(n)) for n in held[into]]
        for fenced in self.fences.values():
            if not fenced.own[threads].any():
                continue
            warps = (threads >> 5) % self.warps
            row = fenced.known(threads).max(axis=0)
            least = np.full(self.warps, _LATER, np.int32)
            np.minimum.at(least, warps, fenced.own[threads])
            row = np.maximum(row, np.where(least < _LATER, least, 0))
            fenced.at[into] = fenced.put(np.maximum(fenced.known(into), row))

    def fence(self, threads: Array, level: int) -> None:
        """Threads pass a fence of scope ``level``: they acquire what they read, and make what they know releasable."""
        now = self.tick()
        if self.read[threads].any():
            for thread in threads[self.read[threads] > 0]:
                narrow = self.table.at_level(int(self.read[thread]), level)
                self.acquired[thread] = self.table.join(int(self.acquired[thread]), narrow)
        fenced = self.fences.get(level)
        if fenced is None:
            fenced = self.fences[level] = Fenced(self.total, self.warps)
        fenced.own[threads] = now
        warps, which = np.unique(threads >> 5, return_inverse=True)
        fenced.at[threads] = fenced.put(self.known[warps])[which]
        fenced.acquired[threads] = self.acquired[threads]

    def synchronise(
        self, space: str, home: int, threads: Array, addresses: Array, strength: Strength, verb: str
    ) -> None:
        """Threads access one location each: updates what they release and acquire, and which release sequences end."""
        if not self.logs and not strength.releases and not (strength.level and self.fences and verb != "read"):
            return
        releases = verb != "read" and strength.level > 0
        if not strength.releases and not self._any_fenced(threads):
            releases = False
        if not releases:
            keys = {k[2] for k in self.logs if k[:2] == (space, home)}
            if not keys:
                return
            pick = np.isin(addresses, np.fromiter(keys, np.int64))
            threads, addresses = threads[pick], addresses[pick]
        for thread, address in zip(threads.tolist(), addresses.tolist(), strict=True):
            self._one((space, home, address), thread, strength, verb, releases)

    def _any_fenced(self, threads: Array) -> bool:
        return any(bool(f.own[threads].any() or f.at[threads].any()) for f in self.fences.values())

    def _one(self, key: tuple[str, int, int], thread: int, strength: Strength, verb: str, releases: bool) -> None:
        log = self.logs.get(key)
        if log is not None and verb != "written" and strength.level:
            part = Part(log, int(self.positions[thread // self.per_cta]), strength.level)
            number = self.table.one(part)
            if strength.acquires:
                self.acquired[thread] = self.table.join(int(self.acquired[thread]), number)
            else:
                self.read[thread] = self.table.join(int(self.read[thread]), number)
        if verb == "read":
            return
        if verb == "written":
            self.logs.pop(key, None)
            log = None
        if releases:
            made = self._releases(thread, strength)
            if made:
                log = self.logs.setdefault(key, Log())
                self.homes.add(key[:2])
                log.add(made)

    def _releases(self, thread: int, strength: Strength) -> list[Release]:
        """The releases by a strong write of a thread: of all that it knows, or of what fences made releasable."""
        order = int(self.positions[thread // self.per_cta])
        if strength.releases:  # this includes what fences made releasable
            row = self.known[thread >> 5]
            return [self._release(thread, order, strength.level, row, self.now, int(self.acquired[thread]))]
        out = []
        for level, fenced in self.fences.items():
            if fenced.own[thread] or fenced.at[thread]:
                row, own, known = fenced.known(thread), int(fenced.own[thread]), int(fenced.acquired[thread])
                out.append(self._release(thread, order, min(level, strength.level), row, own, known))
        return out

    def _release(self, thread: int, order: int, level: int, row: Array, own: int, known: int) -> Release:
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
        return Release(order, level, np.array(keys), np.array(times), known)

    def _cluster_keys(self, thread: int, own: int, keys: list[int], times: list[int]) -> None:
        cta = thread // self.per_cta
        base = cta - cta % self.size
        for other in range(base, min(base + self.size, self.machine.count)):
            at = self.cluster_at[1, other * self.per_cta : (other + 1) * self.per_cta]
            alive = at[at > 0]
            if alive.size:
                keys.append(int(self._cta_key(self.positions[other : other + 1])[0]))
                times.append(min(int(alive.min()), own))

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
