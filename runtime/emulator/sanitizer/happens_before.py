"""Happens-before: for each thread, the time up to which it knows what other threads did.

Times number the events in the order in which the emulator runs them; that order itself orders nothing. A thread knows
an event of another thread if one of these leads from that event to it:

- a barrier of the CTA, of some lanes of a warp, or of the cluster (``met_threads.py``);
- a release and an acquire through memory (``through_memory.py``).

A thread that has exited takes part in no later barrier: what it did after its last one stays unknown to the threads
that meet without it (``exited_threads.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .known_times import KnownTimes
from .met_threads import MetThreads
from .proxies import Proxies
from .through_memory import ThroughMemory

if TYPE_CHECKING:
    from ..machine.launch import Launch
    from ..machine.machine import Machine
    from ..ptx.types import Array


class HappensBefore:
    """What the threads of a batch know of each other.

    Attributes:
        times: what they know by barriers.
        memory: what they have learned through memory.
        barriers: the threads that wait at barriers.
        proxies: the fences that bring writes to the async proxy.
    """

    def __init__(self, launch: Launch) -> None:
        self.times = KnownTimes(launch)
        self.memory = ThroughMemory(self.times)
        self.barriers = MetThreads(self.times, self.memory)
        self.proxies = Proxies(self)

    def batch(self, machine: Machine) -> None:
        """Begins a batch, whose threads know nothing yet."""
        self.times.batch(machine)
        self.memory.batch()
        self.barriers.batch()
        self.proxies.batch()

    def knows(self, threads: Array, others: Array, times: Array) -> Array:
        """Whether ``threads`` (numbers in the batch) know what ``others`` (numbers in the launch) did at ``times``."""
        return self.memory.knows(threads, others, times, self.times.knows(threads, others, times))
