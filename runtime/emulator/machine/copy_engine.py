"""Copies under way: what cp.async and cp.async.bulk have asked for, and what mbarriers will count.

Bytes arrive only when somebody waits for them: when the thread waits for the copy's group, or when anybody looks at the
mbarrier that the copy completes on. Until then shared memory holds what it held before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..instructions.op import broadcast
from ..ptx.types import Array
from ..tool import Touch
from .address_resolution import Access, pieces_of
from .gather_scatter import scatter
from .threads import Threads

if TYPE_CHECKING:
    from .machine import Machine


@dataclass(frozen=True, eq=False)
class Copy:
    """Bytes under way: ``threads`` (ascending), ``group`` and ``addresses`` have one entry an element of ``raw``.

    ``number`` counts the copies of a batch, in the order in which they were made.
    """

    number: int
    access: Access
    threads: Array
    group: Array
    addresses: Array
    raw: Array

    def part(self, pick: Array) -> Copy:
        """Some of its elements."""
        return replace(
            self,
            threads=self.threads[pick],
            group=self.group[pick],
            addresses=self.addresses[pick],
            raw=self.raw[pick],
        )


class Copies:
    """The copies under way in a batch, in the order in which they were made.

    ``groups`` counts the groups that each thread has closed.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.list: list[Copy] = []
        self.made = 0
        self.groups = np.zeros(machine.total, np.int64)

    def issue(self, access: Access, threads: Array, addresses: Array, raw: Array) -> Copy:
        """Adds a copy to the open group of its threads."""
        made = Copy(self.made, access, threads, self.groups[threads], addresses, raw)
        self.made += 1
        self.list.append(made)
        if self.machine.launch.tool is not None and threads.size:
            self.machine.launch.tool.issue(self._touch(made))
        return made

    def take(self, copy: Copy) -> Copy:
        """Takes a copy out of its group: something else will say when it arrives."""
        self.list.remove(copy)
        return copy

    def wait(self, threads: Array, keep: int) -> None:
        """Lets the bytes of all closed groups of ``threads`` arrive but those of the last ``keep``."""
        due = np.full(self.machine.total, -1)
        due[threads] = self.groups[threads] - keep
        self.arrive(lambda copy: copy.group < due[copy.threads])

    def arrive(self, ready: Callable[[Copy], Array]) -> None:
        """Lets those elements arrive for which ``ready`` gives true."""
        rest: list[Copy] = []
        for copy in self.list:
            here = ready(copy)
            if here.any():
                self.write(copy.part(here))
            if not here.all():
                rest.append(copy.part(~here))
        self.list = rest

    def _touch(self, copy: Copy) -> Touch:
        """Where a copy's bytes will go."""
        lanes, chosen = self._lanes(copy)
        pieces = pieces_of(copy.access, self.machine, lanes, chosen, copy.addresses)
        return Touch(self.machine, copy.access, lanes, chosen, copy.addresses, pieces)

    def _lanes(self, copy: Copy) -> tuple[Threads, Array]:
        """The threads of a copy, and the position among them of each element's."""
        index = np.unique(copy.threads)
        return Threads(index, self.machine.total, self.machine.per_cta), np.searchsorted(index, copy.threads)

    def write(self, copy: Copy) -> None:
        """Writes a copy's bytes, as the threads that asked for it."""
        lanes, chosen = self._lanes(copy)
        scatter(copy.access, self.machine, lanes, chosen, copy.addresses, copy.raw)


class CopyEngine:
    """What is under way in a batch: copies of single elements, bulk copies, and what mbarriers wait for.

    ``arrivals`` maps an mbarrier (its place in shared memory, in units of 8 bytes) to what will happen on it.
    """

    def __init__(self, machine: Machine) -> None:
        self.single, self.bulk = Copies(machine), Copies(machine)
        self.arrivals: dict[int, list[Callable[[], None]]] = {}

    def settle(self, barrier: int) -> None:
        """Somebody looks at an mbarrier: all that it counts has arrived by now."""
        for action in self.arrivals.pop(barrier, []):
            action()


_ENGINES: WeakKeyDictionary[Machine, CopyEngine] = WeakKeyDictionary()


def engine(machine: Machine) -> CopyEngine:
    """The engine of a batch, made when its first copy is."""
    found = _ENGINES.get(machine)
    if found is None:
        found = _ENGINES[machine] = CopyEngine(machine)
    return found


def positions(lanes: Threads, mask: Array | None) -> Array:
    """The positions in ``lanes`` of the threads that take part."""
    return np.arange(lanes.n) if mask is None else np.flatnonzero(broadcast(mask, lanes.n))
