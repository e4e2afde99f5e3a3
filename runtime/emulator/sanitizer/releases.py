"""What threads learn through memory: the releases of each location, and what a thread that acquires them knows.

A ``Log`` holds the releases that a read of a location may synchronise with: a write and the atomics that follow it,
which the PTX memory model calls a release sequence. A thread's ``Known`` says how many entries of which logs it has
acquired. Threads share these small values: a table keeps each once, and a number names it. Only a query expands such a
value to a ``Clock``: for CTAs, warps and threads, the time up to which everything they did is known.

What fences let later strong writes release, or copies see: for each thread what its warp knew at the fence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..ptx.types import Array
from .memory_model import CLUSTER, CTA, GPU


class Fenced:
    """What the fences of one scope made releasable, for each thread of the batch.

    Attributes:
        own: the time of the thread's last fence.
        acquired: the number of what the thread had acquired through memory at its last fence.
        at: the index in ``rows`` of what the thread knew at its last fence, or has learned from fences of others since.
        rows: known times, one for each warp of the CTA. Threads share rows. Within a warp a later row knows no less
            than an earlier one, unless lanes have met apart from the rest of their warp.
        used: the number of rows in use.
    """

    def __init__(self, total: int, warps: int) -> None:
        self.own = np.zeros(total, np.int32)
        self.at = np.zeros(total, np.int64)
        self.acquired = np.zeros(total, np.int64)
        self.rows = np.zeros((64, warps), np.int32)
        self.used = 1

    def passed(self, threads: Array, now: int, known: Array, acquired: Array) -> None:
        """Notes that threads pass a fence at the time ``now``: what their warps know, and what they have acquired."""
        self.own[threads] = now
        warps, which = np.unique(threads >> 5, return_inverse=True)
        self.at[threads] = self.put(known[warps])[which]
        self.acquired[threads] = acquired[threads]

    def known(self, threads: Array | int) -> Array:
        """The rows of ``threads``."""
        result: Array = self.rows[self.at[threads]]
        return result

    def put(self, rows: Array) -> Array:
        """Adds rows and returns their indices."""
        if self.used > 2 * self.at.size:
            self._drop()
        self.used += len(rows)
        if self.used > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros((2 * self.used, rows.shape[1]), np.int32)])
        self.rows[self.used - len(rows) : self.used] = rows
        return np.arange(self.used - len(rows), self.used)

    def _drop(self) -> None:
        """Drops rows that no thread uses any more. Row 0 stays: it knows nothing."""
        kept, at = np.unique(np.append(self.at, 0), return_inverse=True)
        self.rows, self.used, self.at = self.rows[kept], kept.size, at[:-1]


class Release(NamedTuple):
    """One release by a thread of CTA ``cta``, visible at scope ``level``.

    ``keys`` and ``times`` are what the thread knew, as in ``Clock``; ``known`` is the number of what it had acquired.
    """

    cta: int
    level: int
    keys: Array
    times: Array
    known: int


class Log(list[Release]):
    """The releases of one location. A log equals only itself; ``narrow`` are the indices of those below GPU scope."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # a list that is a key
    __eq__ = object.__eq__

    def __init__(self) -> None:
        super().__init__()
        self.narrow: list[int] = []

    def add(self, releases: Sequence[Release]) -> None:
        """Adds releases at the end."""
        self.narrow += [len(self) + k for k, release in enumerate(releases) if release.level < GPU]
        self.extend(releases)


class Part(NamedTuple):
    """A beginning of a log, as a thread of CTA ``cta`` acquires it at scope ``level``."""

    log: Log
    cta: int
    level: int


Known = dict[Part, int]
"""The number of acquired entries of each log."""


@dataclass(frozen=True)
class Clock:
    """Everything that ``keys[k]`` did up to ``times[k]`` is known; keys ascend."""

    keys: Array
    times: Array

    def of(self, keys: Array) -> Array:
        """The times of ``keys``; 0 for a key of which nothing is known."""
        if not self.keys.size:
            return np.zeros(keys.shape, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        result: Array = np.where(self.keys[at] == keys, self.times[at], 0)
        return result


class Table:
    """All values of ``Known`` by number; number 0 knows nothing. ``size`` is the number of CTAs of a cluster."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.values: list[Known] = [{}]
        self.numbers: dict[frozenset[tuple[Part, int]], int] = {frozenset(): 0}
        self.clocks: dict[int, Clock] = {}

    def join(self, *numbers: int) -> int:
        """The number of the union of several values."""
        some = {n for n in numbers if n}
        if len(some) < 2:
            return some.pop() if some else 0
        out: Known = {}
        for n in some:
            for part, count in self.values[n].items():
                out[part] = max(out.get(part, 0), count)
        return self._number(out)

    def one(self, part: Part) -> int:
        """The number of the value that has acquired the whole log of ``part``."""
        return self._number({part: len(part.log)})

    def at_level(self, number: int, level: int) -> int:
        """The number of the value ``number``, acquired at no wider a scope than ``level``."""
        out: Known = {}
        for part, count in self.values[number].items():
            narrow = part._replace(level=min(part.level, level))
            out[narrow] = max(out.get(narrow, 0), count)
        return self._number(out)

    def _number(self, known: Known) -> int:
        key = frozenset(known.items())
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.values)
            self.values.append(known)
        return found

    def clock(self, number: int) -> Clock:
        """The clock of the value ``number``."""
        found = self.clocks.get(number)
        if found is None:
            found = self.clocks[number] = self._spelled(number)
        return found

    def _spelled(self, number: int) -> Clock:
        wide: dict[Log, int] = {}
        done: dict[Part, int] = {}
        todo, seen = [number], {0, number}
        keys: list[Array] = []
        times: list[Array] = []
        while todo:
            for part, count in self.values[todo.pop()].items():
                for release in self._taken(part, count, wide, done):
                    keys.append(release.keys)
                    times.append(release.times)
                    if release.known not in seen:
                        seen.add(release.known)
                        todo.append(release.known)
        if not keys:
            return Clock(np.zeros(0, np.int64), np.zeros(0, np.int64))
        all_keys, all_times = np.concatenate(keys), np.concatenate(times)
        order = np.lexsort((all_times, all_keys))
        all_keys, all_times = all_keys[order], all_times[order]
        last = np.append(all_keys[1:] != all_keys[:-1], True)
        return Clock(all_keys[last], all_times[last])

    def _taken(self, part: Part, count: int, wide: dict[Log, int], done: dict[Part, int]) -> Iterator[Release]:
        """The releases that ``part`` acquires and has not taken before.

        What was released and acquired at the widest scope is the same for all threads, so it is taken only once.
        """
        log = part.log
        if part.level == GPU:
            for release in log[wide.get(log, 0) : count]:
                if release.level == GPU:
                    yield release
            wide[log] = max(wide.get(log, 0), count)
        for at in log.narrow if part.level == GPU else range(done.get(part, 0), count):
            if done.get(part, 0) <= at < count:
                release = log[at]
                if self.distance(release.cta, part.cta) <= min(release.level, part.level):
                    yield release
        done[part] = max(done.get(part, 0), count)

    def distance(self, a: int, b: int) -> int:
        """The least scope that holds threads of the CTAs ``a`` and ``b``."""
        return CTA if a == b else CLUSTER if a // self.size == b // self.size else GPU
