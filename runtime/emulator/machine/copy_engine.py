"""Asynchronous copies under way: what cp.async and cp.async.bulk have asked for, and what mbarriers will count.

Bytes arrive only when somebody waits for them: when the thread waits for the copy's group, or when any thread looks at
the mbarrier on which the copy completes. Until then memory keeps its old contents. What a thread waited for with
``.read`` has been read, and arrives when it waits again, or at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..instructions.op import broadcast
from ..ptx.types import Array
from ..tool import Touch
from .address_resolution import Access, pieces_of, scatter
from .threads import Threads

if TYPE_CHECKING:
    from .machine import Machine


@dataclass(frozen=True, eq=False)
class Copy:
    """Elements under way: ``threads`` (ascending), ``group`` and ``addresses`` have an entry for each one in ``raw``.

    ``number`` counts the copies of a batch in their order. ``source`` says where a bulk copy reads until it arrives, or
    until a thread waits for that; ``read`` is whether one has.
    """

    number: int
    access: Access
    threads: Array
    group: Array
    addresses: Array
    raw: Array
    source: tuple[Access, Array] | None = None
    read: bool = False

    def part(self, pick: Array | slice) -> Copy:
        """The copy of the elements that ``pick`` selects."""
        return replace(
            self,
            threads=self.threads[pick],
            group=self.group[pick],
            addresses=self.addresses[pick],
            raw=self.raw[pick],
            source=None if self.source is None else (self.source[0], self.source[1][pick]),
        )

    def follows(self, other: Copy) -> bool:
        """Whether it can be written together with ``other``, behind it."""
        same = (
            self.access is other.access and self.read == other.read and (self.source is None) == (other.source is None)
        )
        return same and (not self.threads.size or not other.threads.size or self.threads[0] >= other.threads[-1])


def joined(copies: Sequence[Copy]) -> Copy:
    """Copies of which each follows the one before as a single one."""
    if len(copies) == 1:
        return copies[0]
    sources = [copy.source[1] for copy in copies if copy.source is not None]
    return replace(
        copies[0],
        threads=np.concatenate([copy.threads for copy in copies]),
        group=np.concatenate([copy.group for copy in copies]),
        addresses=np.concatenate([copy.addresses for copy in copies]),
        raw=np.concatenate([copy.raw for copy in copies]),
        source=None if copies[0].source is None else (copies[0].source[0], np.concatenate(sources)),
    )


class Copies:
    """The copies under way in a batch, in their order; ``groups`` counts the groups that each thread has closed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.list: list[Copy] = []
        self.made = 0
        self.groups = np.zeros(machine.total, np.int64)

    def issue(
        self, access: Access, threads: Array, addresses: Array, raw: Array, source: tuple[Access, Array] | None = None
    ) -> Copy:
        """Adds a copy to the open group of its threads."""
        made = Copy(self.made, access, threads, self.groups[threads], addresses, raw, source)
        self.made += 1
        self.list.append(made)
        tool = self.machine.launch.tool
        if tool is not None and threads.size:
            tool.issue(self._touch(made, access, addresses), source and self._touch(made, *source))
        return made

    def take(self, copy: Copy) -> Copy:
        """Removes a copy from its group: something else decides when it arrives."""
        self.list.remove(copy)
        return copy

    def wait(self, threads: Array, keep: int) -> None:
        """Completes all closed groups of ``threads`` but the last ``keep``."""
        self.arrive(self._due(threads, keep))

    def wait_read(self, threads: Array, keep: int) -> None:
        """Notes that all closed groups of ``threads`` but the last ``keep`` have been read."""
        here, self.list = self._split(self._due(threads, keep))
        for copy in here:
            self._free(copy)
        self.list = sorted([*self.list, *(replace(copy, read=True) for copy in here)], key=lambda copy: copy.number)

    def _due(self, threads: Array, keep: int) -> Callable[[Copy], Array]:
        due = np.full(self.machine.total, -1)
        due[threads] = self.groups[threads] - keep
        return lambda copy: copy.group < due[copy.threads]

    def arrive(self, ready: Callable[[Copy], Array]) -> None:
        """Writes the elements for which ``ready`` is true."""
        here, self.list = self._split(ready)
        run: list[Copy] = []
        for copy in here:
            if run and not copy.follows(run[-1]):
                self.write(joined(run))
                run = []
            run.append(copy)
        if run:
            self.write(joined(run))

    def _split(self, ready: Callable[[Copy], Array]) -> tuple[list[Copy], list[Copy]]:
        """The elements for which ``ready`` is true, and the others."""
        found: list[Copy] = []
        rest: list[Copy] = []
        for copy in self.list:
            here = ready(copy)
            if here.all():
                found.append(copy)
            elif here.any():
                found.append(copy.part(here))
                rest.append(copy.part(~here))
            else:
                rest.append(copy)
        return found, rest

    def finish(self) -> None:
        """Writes, at the end of the batch, what threads have waited for with ``.read`` alone."""
        self.arrive(lambda copy: np.full(copy.threads.shape, copy.read))

    def _free(self, copy: Copy) -> None:
        """Tells the tool that a copy reads no more."""
        tool = self.machine.launch.tool
        if tool is not None and copy.source is not None and not copy.read and copy.threads.size:
            tool.freed(self._touch(copy, *copy.source))

    def _touch(self, copy: Copy, access: Access, addresses: Array) -> Touch:
        """The memory access by which the copy will write, or reads."""
        lanes, chosen = self._lanes(copy)
        pieces = pieces_of(access, self.machine, lanes, chosen, addresses)
        return Touch(self.machine, access, lanes, chosen, addresses, pieces)

    def _lanes(self, copy: Copy) -> tuple[Threads, Array]:
        """The threads of a copy, and for each element the position of its thread among them."""
        index = np.unique(copy.threads)
        return Threads(index, self.machine.total, self.machine.per_cta), np.searchsorted(index, copy.threads)

    def write(self, copy: Copy) -> None:
        """Writes the elements of a copy, as the threads that asked for it."""
        self._free(copy)
        lanes, chosen = self._lanes(copy)
        if not chosen.size:
            return
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


def finish(machine: Machine) -> None:
    """Ends the copies of a batch, all of whose threads have exited."""
    found = _ENGINES.get(machine)
    if found is not None:
        found.bulk.finish()


def positions(lanes: Threads, mask: Array | None) -> Array:
    """The positions in ``lanes`` of the threads whose ``mask`` is true (None: all)."""
    return np.arange(lanes.n) if mask is None else np.flatnonzero(broadcast(mask, lanes.n))
