"""Schedules: which threads run next, which CTAs share a batch, and in which order the atomics of one step take place.

``Lockstep`` runs all threads that stand at one place together, the least place first. ``Seeded`` draws everything that
the machine may decide under independent thread scheduling, so that a kernel with a race gives different results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.errors import error
from ..ptx.types import Array
from .threads import WARP, Threads, union

if TYPE_CHECKING:
    from .launch import Launch
    from .loop_compiler import Loop
    from .machine import Machine

_FAIR = 64
_TIRED = 1 / 16
"""The chance that those who ran fall asleep."""


class Schedule(ABC):
    """What a launch asks; ``stepwise`` says that accesses to shared and global memory begin a block each."""

    stepwise = False

    def order(self, _launch: Launch, first: int, count: int) -> Array:
        """The CTAs of the batch that begins after ``first`` others, as positions in cluster order."""
        return np.arange(first, first + count)

    @abstractmethod
    def next(self, machine: Machine) -> tuple[int, Threads]:
        """Takes out of ``machine.pending`` the block that runs next, and the threads that run it."""

    def until(self, _machine: Machine, _loop: Loop) -> int:
        """The number of steps up to which nobody but those in ``loop`` runs; 0 where others may."""
        return 0

    def shuffled(self, _count: int) -> Array | slice:
        """The order in which ``count`` updates of one step take place: that of the threads, unless it is drawn."""
        return slice(None)


class Lockstep(Schedule):
    """Threads that diverged meet again where structured code joins."""

    def next(self, machine: Machine) -> tuple[int, Threads]:
        """The least place; now and then the one that has waited longest, so that who spins lets the others go on."""
        pending = machine.pending
        fair = machine.launch.stats.steps % _FAIR == _FAIR - 1
        number = next(iter(pending)) if fair else min(pending)
        return number, union(pending.pop(number), machine.start)

    def until(self, machine: Machine, loop: Loop) -> int:
        """Up to the next fair turn, where no other place is less."""
        if machine.spin.watching:
            return 0
        steps, end = machine.launch.stats.steps, min(machine.launch.max_steps, machine.spin.due)
        if not machine.pending:
            return end
        return min(steps - steps % _FAIR + _FAIR - 1, end) if loop.last < min(machine.pending) else 0


class Seeded(Schedule):
    """Independent thread scheduling, drawn from ``seed``: the same seed is the same run, on every machine.

    For a drawn number of steps some threads sleep, few or many: single lanes in one batch, whole warps or whole CTAs in
    another. Of the others those at the least place run, or those at any; who ran may fall asleep. Long delays between
    two accesses are what brings a race out (compare S. Burckhardt et al., A Randomized Scheduler with Probabilistic
    Guarantees of Finding Bugs, ASPLOS 2010); since every draw may wake anybody, nobody waits for ever.

    Raises:
        EmulatorError: WF733 when the seed is no whole number from 0 on.
    """

    stepwise = True

    def __init__(self, seed: int) -> None:
        self.random = np.random.Generator(np.random.PCG64(_checked(seed)))
        self.clusters: Array | None = None
        self.machine: Machine | None = None
        self.size = 1
        self.awake: Array = np.zeros(0, bool)
        self.left = 0
        self.least = True

    def order(self, launch: Launch, first: int, count: int) -> Array:
        """Clusters in any order, each kept whole."""
        size = launch.cluster_size
        if self.clusters is None:
            self.clusters = self.random.permutation(launch.stats.ctas // size)
        taken = self.clusters[first // size : (first + count) // size]
        result: Array = (taken[:, None] * size + np.arange(size)).reshape(-1)
        return result

    def next(self, machine: Machine) -> tuple[int, Threads]:
        """Those who are awake at one place."""
        self.left -= 1
        if machine is not self.machine or self.left < 0:
            self._draw(machine)
        while True:
            places = sorted(machine.pending)
            for number in places if self.least else self.random.permutation(places).tolist():
                found = self._taken(machine, number)
                if found is not None:
                    self.awake[found.numbers] = self.random.random() > _TIRED
                    return number, found
            self._draw(machine)

    def shuffled(self, count: int) -> Array:
        """Any order."""
        return self.random.permutation(count)

    def _taken(self, machine: Machine, number: int) -> Threads | None:
        """Those who are awake among the threads at a place, taken out of it."""
        lanes = union(machine.pending[number], machine.start)
        awake = self.awake[lanes.numbers]
        if not awake.any():
            return None
        del machine.pending[number]
        if awake.all():
            return lanes
        machine.pending[number] = [Threads(lanes.numbers[~awake], lanes.total, lanes.per_cta)]
        return Threads(lanes.numbers[awake], lanes.total, lanes.per_cta)

    def _draw(self, machine: Machine) -> None:
        """Who is awake, for how many steps, and whether the least place comes first; one who can run is awake."""
        random = self.random
        if machine is not self.machine:
            self.machine, self.size = machine, int(random.choice([1, WARP, machine.per_cta]))
        self.left = int(random.geometric(1 / random.choice([2, 16, 64, 256])))
        self.least = bool(random.random() < 0.5)
        share = random.choice([0.0, 0.25, 0.5, 0.75, 0.9])
        sets = [s for at in sorted(machine.pending) for s in machine.pending[at]]
        numbers = sets[random.integers(len(sets))].numbers
        units = random.random(machine.total // self.size) < share
        units[numbers[random.integers(numbers.size)] // self.size] = True
        self.awake = np.repeat(units, self.size)


def _checked(seed: object) -> int:
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise error("WF733", seed=seed)
    return int(seed)
