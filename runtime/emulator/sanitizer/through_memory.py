"""What the threads of a batch learn through memory: fences, releases, acquires, and barriers behind them.

A fence makes everything that its thread knows releasable, by later strong writes of the thread itself and of the
threads that it then meets at a barrier. What a thread read before a fence becomes known at its next fence, or at the
next fence of a thread that it meets: fences are cumulative. The scopes of the release and of the acquire must both
include the other thread. See ``releases.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .known_times import KnownTimes
from .memory_model import Strength
from .releases import Fenced, Log, Part, Release, Table

if TYPE_CHECKING:
    from ..ptx.types import Array

_LATER = np.iinfo(np.int32).max


class ThroughMemory:
    """What has been released in the launch, and acquired by the threads of a batch.

    Attributes:
        homes: where in memory something was released.
        acquired, read: by thread, the number in ``table`` of what it has acquired, and of what it has read since its
            last fence.
        touched: by thread, the time at which it last accessed memory; noted only where the kernel has fences.
        looked, acquires: by thread, the widest scope at which it has read strongly, and at which it has acquired.
        fences, proxies: what threads knew at their fences, by scope, and at their proxy fences, by space.
    """

    def __init__(self, times: KnownTimes) -> None:
        self.times = times
        self.table = Table(times.size)
        self.logs: dict[tuple[str, int, int], Log] = {}
        self.homes: set[tuple[str, int]] = set()

    def batch(self) -> None:
        """Begins a batch, whose threads know nothing yet."""
        self.acquired = np.zeros(self.times.total, np.int64)
        self.read = np.zeros(self.times.total, np.int64)
        self.fences: dict[int, Fenced] = {}
        self.proxies: dict[str, Fenced] = {}
        self.touched = np.zeros(self.times.total, np.int32)
        self.looked = np.zeros(self.times.total, np.int8)
        self.acquires = np.zeros(self.times.total, np.int8)

    @property
    def is_used(self) -> bool:
        """Whether a thread can have learned something through memory."""
        return bool(self.logs or self.fences or self.proxies)

    @property
    def fenced(self) -> list[Fenced]:
        """What threads knew at fences of any kind."""
        return [*self.fences.values(), *self.proxies.values()]

    def knows(self, threads: Array, others: Array, times: Array, found: Array) -> Array:
        """``found``, and whether the other ``threads`` have acquired what ``others`` did at ``times``."""
        return self._by_clock(self.acquired[threads], others, times, found)

    def knew(self, fenced: Fenced, threads: Array, others: Array, times: Array) -> Array:
        """Whether ``threads`` knew at their last fence what ``others`` did at ``times``; numbers as in ``knows``."""
        own = self.times
        number = own.positions[threads // own.per_cta] * own.per_cta + threads % own.per_cta
        near = number // own.per_cta == others // own.per_cta
        row = fenced.known(threads)[np.arange(threads.size), others % own.per_cta >> 5]
        found = near & (times <= own.exited.within(others, row)) | (number == others) & (times <= fenced.own[threads])
        return self._by_clock(fenced.acquired[threads], others, times, found)

    def _by_clock(self, acquired: Array, others: Array, times: Array, found: Array) -> Array:
        """``found``, and whether what is ``acquired`` tells of what ``others`` did at ``times``."""
        own = self.times
        rest = np.flatnonzero(~found & (acquired > 0))
        numbers = acquired[rest]
        for number in np.unique(numbers):
            at = rest[numbers == number]
            clock, who = self.table.clock(int(number)), others[at]
            met = np.maximum(clock.of(own.cta_key(who // own.per_cta)), clock.of(own.warp_key(who)))
            found[at] |= times[at] <= np.maximum(own.exited.within(who, met), clock.of(who))
        return found

    def released(self, other: int, time: int) -> int:
        """The widest scope of a release of what thread ``other`` of the launch did at ``time``; 0 if there is none."""
        own, who = self.times, np.array([other])
        keys = {other, int(own.warp_key(who)[0]), int(own.cta_key(who // own.per_cta)[0])}
        return max(
            (
                release.level
                for log in self.logs.values()
                for release in log
                if any(
                    k in keys and t >= time for k, t in zip(release.keys.tolist(), release.times.tolist(), strict=True)
                )
            ),
            default=0,
        )

    def acquires_of(self, cta: int) -> int:
        """The widest scope at which a thread of a CTA of the batch has acquired anything; 0 if none has."""
        return int(self.acquires[cta * self.times.per_cta : (cta + 1) * self.times.per_cta].max())

    def to_share(self, rows: Array) -> Array:
        """Which rows of threads have learned different things through memory, and so can learn from each other."""
        out = np.zeros(rows.shape[0], bool)
        for held in (self.acquired, self.read, *(f.acquired for f in self.fenced)):
            some = held[rows]
            out |= some.max(axis=1) != some.min(axis=1)
        for fenced in self.fenced:
            out |= fenced.own[rows].any(axis=1)
        return out

    def share(self, threads: Array, into: Array | None = None) -> None:
        """Lets ``into`` (by default ``threads``) learn what any of ``threads`` acquired, read or fenced."""
        into = threads if into is None else into
        for held in (self.acquired, self.read, *(f.acquired for f in self.fenced)):
            some = np.unique(held[threads])
            if some[-1]:
                union = self.table.join(*(int(n) for n in some))
                held[into] = union if into is threads else [self.table.join(union, int(n)) for n in held[into]]
        for fenced in self.fenced:
            if not fenced.own[threads].any():
                continue
            warps = (threads >> 5) % self.times.warps
            row = fenced.known(threads).max(axis=0)
            least, most = np.full(self.times.warps, _LATER, np.int32), np.zeros(self.times.warps, np.int32)
            np.minimum.at(least, warps, self._bound(fenced, threads))
            np.maximum.at(most, warps, fenced.own[threads])
            row = np.maximum(row, np.minimum(least, most))
            fenced.at[into] = fenced.put(np.maximum(fenced.known(into), row))

    def share_in(self, ctas: Array) -> None:
        """Joins, for each of these CTAs, what all its threads have learned through memory; ``share`` for many CTAs."""
        shape = self.times.machine.count, self.times.per_cta
        alive = self.times.machine.alive.reshape(shape)[ctas]
        for held in (self.acquired, self.read, *(f.acquired for f in self.fenced)):
            if not held.any():
                continue
            some = np.where(alive, held.reshape(shape)[ctas], 0)
            most = some.max(axis=1)
            least = np.where(some > 0, some, _LATER).min(axis=1)
            for k in np.flatnonzero((most > 0) & (least < most)):
                most[k] = self.table.join(*(int(n) for n in np.unique(some[k])))
            into = most > 0
            held.reshape(shape)[ctas[into]] = most[into, None]
        warps = self.times.machine.count, self.times.warps, 32
        for fenced in self.fenced:
            own = fenced.own.reshape(shape)[ctas].any(axis=1)
            some = ctas[own]
            if not some.size:
                continue
            living = alive[own].reshape(-1, *warps[1:])
            bound = self._bound(fenced, slice(None)).reshape(warps)[some]
            least = np.where(living, bound, _LATER).min(axis=2)
            most = np.where(living, fenced.own.reshape(warps)[some], 0).max(axis=2)
            at = fenced.at.reshape(warps)[some]
            each = fenced.rows[at.max(axis=2)] if self.times.lanes is None else fenced.rows[at].max(axis=2)
            rows = np.maximum(each.max(axis=1), np.minimum(least, most))
            fenced.at.reshape(shape)[some] = fenced.put(rows)[:, None]

    def touches(self, threads: Array) -> None:
        """Notes that threads access memory now."""
        self.touched[threads] = self.times.now

    def _bound(self, fenced: Fenced, threads: Array | slice) -> Array:
        """The times up to which threads have fenced all that they did; without a bound if they did nothing since."""
        own = fenced.own[threads]
        return np.where(self.touched[threads] > own, own, _LATER)

    def fence(self, threads: Array, level: int) -> None:
        """Threads pass a fence of scope ``level``: they acquire what they read, and make what they know releasable."""
        now = self.times.tick()
        self.acquires[threads] = np.maximum(self.acquires[threads], np.minimum(self.looked[threads], level))
        if self.read[threads].any():
            for thread in threads[self.read[threads] > 0]:
                narrow = self.table.at_level(int(self.read[thread]), level)
                self.acquired[thread] = self.table.join(int(self.acquired[thread]), narrow)
        fenced = self.fences.get(level)
        if fenced is None:
            fenced = self.fences[level] = Fenced(self.times.total, self.times.warps)
        fenced.passed(threads, now, self.times.known, self.acquired)

    def synchronise(
        self, space: str, home: int, threads: Array, addresses: Array, strength: Strength, verb: str
    ) -> None:
        """Threads access one location each: updates what they release and acquire, and which release sequences end."""
        if strength.level and verb != "written":
            self.looked[threads] = np.maximum(self.looked[threads], strength.level)
            if strength.acquires:
                self.acquires[threads] = np.maximum(self.acquires[threads], strength.level)
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
            part = Part(log, int(self.times.positions[thread // self.times.per_cta]), strength.level)
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
        """The releases by a strong write of a thread: of its own deeds, of all it knows, or of what fences released."""
        order = int(self.times.positions[thread // self.times.per_cta])
        if strength.alone:
            number = np.array([order * self.times.per_cta + thread % self.times.per_cta])
            return [Release(order, strength.level, number, np.array([self.times.now]), 0)]
        if strength.releases:  # this includes what fences made releasable
            row = self.times.known[thread >> 5]
            return [self._release(thread, order, strength.level, row, self.times.now, int(self.acquired[thread]))]
        out = []
        for level, fenced in self.fences.items():
            if fenced.own[thread] or fenced.at[thread]:
                row, own, known = fenced.known(thread), int(fenced.own[thread]), int(fenced.acquired[thread])
                out.append(self._release(thread, order, min(level, strength.level), row, own, known))
        return out

    def _release(self, thread: int, order: int, level: int, row: Array, own: int, known: int) -> Release:
        return Release(order, level, *self.times.told(thread, row, own), known)
