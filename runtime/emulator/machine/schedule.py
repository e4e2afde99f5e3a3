"""Schedules: which threads run next, which CTAs share a batch, and in which order the atomics of one step take effect.

``Lockstep`` runs all threads at the lowest block number together. ``Seeded`` draws everything that independent thread
scheduling leaves open, so that a kernel with a race can give different results.

Whether CTAs of a kernel may wait for each other: only then do all that are resident have to run side by side.

A wait is a loop that goes round until memory, or a clock, says otherwise. So a kernel in whose loops no branch depends
on what the loops read has none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.errors import error
from ..ptx.types import Array
from .program import EXIT, Block, Item, Program, registers_of, successors
from .threads import WARP, Threads, union

if TYPE_CHECKING:
    from .launch import Launch
    from .loops import Loop
    from .machine import Machine


_OWN = ("param", "const")
"""Memory that no thread writes."""


@lru_cache(maxsize=512)
def may_wait(program: Program) -> bool:
    """Whether some loop may wait for what other CTAs write."""
    round_ = in_loops(program.blocks)
    items = [(*_masks(item), _reads_memory(item)) for block in round_ for item in block.items]
    read, before = 0, -1
    while read != before:
        before = read
        for uses, defs, reads in items:
            if reads or uses & read:
                read |= defs
    return any(_masks(b.last)[0] & read for b in round_ if len(set(successors(b))) > 1)


def in_loops(blocks: Sequence[Block]) -> list[Block]:
    """The blocks from which control may come back to them."""
    reached = [0] * len(blocks)
    grown = True
    while grown:
        grown = False
        for block in reversed(blocks):
            found = 0
            for s in successors(block):
                found |= 1 << s | reached[s] if s != EXIT else 0
            grown = grown or found != reached[block.number]
            reached[block.number] = found
    return [b for b in blocks if reached[b.number] >> b.number & 1]


def _masks(item: Item) -> tuple[int, int]:
    """The registers that an item looks at, and those that it sets, as bit masks."""
    op = item.op
    uses, defs = 0 if item.guard is None else 1 << item.guard.index, 0
    for reg in registers_of(op.reads):
        uses |= 1 << reg.index
    for reg in registers_of(op.writes):
        defs |= 1 << reg.index
    return uses, defs


def _reads_memory(item: Item) -> bool:
    """Whether the item sets registers by what others may have written, or by the time."""
    if not item.op.effect or item.op.member is not None or "nc" in item.ins.mods:
        return False
    access = getattr(item.op.run, "access", None)
    return access is None or access.space not in _OWN


_FAIR = 64
_TIRED = 1 / 16
"""The chance that the threads that ran fall asleep."""


class Schedule(ABC):
    """The interface of schedules. ``stepwise``: each access to shared or global memory begins a block."""

    stepwise = False

    def order(self, _launch: Launch, first: int, count: int) -> Array:
        """The CTAs of the batch that begins after ``first`` others, as positions in cluster order."""
        return np.arange(first, first + count)

    @abstractmethod
    def next(self, machine: Machine) -> tuple[int, Threads]:
        """Takes out of ``machine.pending`` the block that runs next, and the threads that run it."""

    def until(self, _machine: Machine, _loop: Loop) -> int:
        """The step up to which only the threads in ``loop`` run; 0 if others may run."""
        return 0

    def shuffled(self, _count: int) -> Array | slice:
        """The order in which ``count`` updates of one step take effect: that of the threads, unless it is drawn."""
        return slice(None)


class Lockstep(Schedule):
    """Runs the lowest block number first, so that diverged threads meet again where structured code joins.

    Threads that look whether they still have to wait run when no others can, in turn.
    """

    def next(self, machine: Machine) -> tuple[int, Threads]:
        """The lowest block; now and then the one that has waited longest, so that spinning threads let others run."""
        pending = machine.pending
        fair = machine.launch.stats.steps % _FAIR == _FAIR - 1
        blocks = machine.program.blocks
        number = next(iter(pending))
        if not fair:
            number = min((n for n in pending if not blocks[n].waits), default=number)
        return number, union(pending.pop(number), machine.start)

    def until(self, machine: Machine, loop: Loop) -> int:
        """The step of the next fair turn, if no thread stands at a lower block."""
        if machine.spin.watching:
            return 0
        steps, end = machine.launch.stats.steps, min(machine.launch.max_steps, machine.spin.due)
        if not machine.pending:
            return end
        return min(steps - steps % _FAIR + _FAIR - 1, end) if loop.last < min(machine.pending) else 0


class Seeded(Schedule):
    """Independent thread scheduling, drawn from ``seed``: the same seed is the same run, on every machine.

    For a drawn number of steps a share of the threads sleeps: single lanes in one batch, whole warps or whole CTAs in
    another. Of the others, those at the lowest block run, or those at a random one; threads that ran may fall asleep.
    Long delays between two accesses bring out a race (compare S. Burckhardt et al., A Randomized Scheduler with
    Probabilistic Guarantees of Finding Bugs, ASPLOS 2010). Every draw may wake any thread, so none waits for ever.

    Raises:
        EmulatorError: WF733 if the seed is not an integer >= 0.
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
        """The CTAs in a random order of clusters; each cluster stays together."""
        size = launch.cluster_size
        if self.clusters is None:
            self.clusters = self.random.permutation(launch.stats.ctas // size)
        taken = self.clusters[first // size : (first + count) // size]
        result: Array = (taken[:, None] * size + np.arange(size)).reshape(-1)
        return result

    def next(self, machine: Machine) -> tuple[int, Threads]:
        """The threads that are awake at one block."""
        self.left -= 1
        if machine is not self.machine or self.left < 0:
            self._draw(machine)
        while True:
            blocks = sorted(machine.pending)
            for number in blocks if self.least else self.random.permutation(blocks).tolist():
                found = self._taken(machine, number)
                if found is not None:
                    self.awake[found.numbers] = self.random.random() > _TIRED
                    return number, found
            self._draw(machine)

    def shuffled(self, count: int) -> Array:
        """A random order."""
        return self.random.permutation(count)

    def _taken(self, machine: Machine, number: int) -> Threads | None:
        """The threads that are awake at a block, removed from it; None if there are none."""
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
        """Draws which threads are awake, for how many steps, and whether the lowest block runs first.

        At least one thread that can run is awake.
        """
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
