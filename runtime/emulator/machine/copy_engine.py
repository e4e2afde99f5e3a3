"""Asynchronous copies under way: what cp.async and cp.async.bulk have asked for, and what mbarriers will count.

Bytes arrive only when somebody waits for them: when the thread waits for the copy's group, or when any thread looks at
the mbarrier on which the copy completes. Until then shared memory keeps its old contents.
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
    """Elements under way: ``threads`` (ascending), ``group`` and ``addresses`` have an entry for each one in ``raw``.

    ``number`` counts the copies of a batch in their order.
    """

    number: int
    access: Access
    threads: Array
    group: Array
    addresses: Array
    raw: Array

    def part(self, pick: Array) -> Copy:
        """The copy of the elements that ``pick`` selects."""
        return replace(
            self,
            threads=self.threads[pick],
            group=self.group[pick],
            addresses=self.addresses[pick],
            raw=self.raw[pick],
        )


class Copies:
    """The copies under way in a batch, in their order; ``groups`` counts the groups that each thread has closed."""

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
        """Removes a copy from its group: something else decides when it arrives."""
        self.list.remove(copy)
        return copy

    def wait(self, threads: Array, keep: int) -> None:
        """Completes all closed groups of ``threads`` but the last ``keep``."""
        due = np.full(self.machine.total, -1)
        due[threads] = self.groups[threads] - keep
        self.arrive(lambda copy: copy.group < due[copy.threads])

    def arrive(self, ready: Callable[[Copy], Array]) -> None:
        """Writes the elements for which ``ready`` is true."""
        rest: list[Copy] = []
        for copy in self.list:
            here = ready(copy)
            if here.any():
                self.write(copy.part(here))
            if not here.all():
                rest.append(copy.part(~here))
        self.list = rest

    def _touch(self, copy: Copy) -> Touch:
        """The memory access by which the copy will write."""
        lanes, chosen = self._lanes(copy)
        pieces = pieces_of(copy.access, self.machine, lanes, chosen, copy.addresses)
        return Touch(self.machine, copy.access, lanes, chosen, copy.addresses, pieces)

    def _lanes(self, copy: Copy) -> tuple[Threads, Array]:
        """The threads of a copy, and for each element the position of its thread among them."""
        index = np.unique(copy.threads)
        return Threads(index, self.machine.total, self.machine.per_cta), np.searchsorted(index, copy.threads)

    def write(self, copy: Copy) -> None:
        """Writes the elements of a copy, as the threads that asked for it."""
        lanes, chosen = self._lanes(copy)
        scatter(copy.access, self.machine, lanes, chosen, copy.addresses, copy.raw)


class CopyEngine:
    """The copies of a batch: by elements (``single``) and in bulk, and the arrivals that mbarriers wait for.

    ``arrivals`` maps an mbarrier, by its index in shared memory in units of 8 bytes, to the arrivals on it.
    """

    def __init__(self, machine: Machine) -> None:
        self.single, self.bulk = Copies(machine), Copies(machine)
        self.arrivals: dict[int, list[Callable[[], None]]] = {}

    def settle(self, barrier: int, is_over: Callable[[], bool]) -> None:
        """Performs arrivals on an mbarrier that a thread looks at, until its phase is over: others may be late."""
        while self.arrivals.get(barrier) and not is_over():
            self.arrivals[barrier].pop(0)()


_ENGINES: WeakKeyDictionary[Machine, CopyEngine] = WeakKeyDictionary()


def engine(machine: Machine) -> CopyEngine:
    """The copy engine of a batch, made with its first copy."""
    found = _ENGINES.get(machine)
    if found is None:
        found = _ENGINES[machine] = CopyEngine(machine)
    return found


def positions(lanes: Threads, mask: Array | None) -> Array:
    """The positions in ``lanes`` of the threads whose ``mask`` is true (None: all)."""
    return np.arange(lanes.n) if mask is None else np.flatnonzero(broadcast(mask, lanes.n))
