"""Threads that have ended: what they did after the last barrier that they met is ordered with nobody by a later one."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..machine.address_map import align_up

if TYPE_CHECKING:
    from ..machine.machine import Machine
    from ..ptx.types import Array

_ALWAYS = np.iinfo(np.int32).max


class ExitedThreads:
    """The last time at which each thread of the launch met others, once it has ended and others of its CTA go on.

    ``met`` is made with the first such thread; ``touched`` holds when each thread of the batch last touched shared
    memory, and ``left`` says that one has ended since, and was not met afterwards.
    """

    def __init__(self) -> None:
        self.met: Array | None = None

    def batch(self, machine: Machine) -> None:
        """New CTAs."""
        self.machine, self.left = machine, False
        self.touched = np.zeros(machine.total, np.int32)
        self.alone = np.zeros(machine.total, np.int32)

    def touches(self, threads: Array, time: int) -> None:
        """Threads touch shared memory."""
        self.touched[threads] = time

    def arrived(self, threads: Array, time: int) -> None:
        """Threads come to a barrier and do not wait for it."""
        self.alone[threads] = time

    def exit(self, threads: Array, met: Array) -> None:
        """Threads of the batch end, which met others at the times ``met``."""
        machine, launch = self.machine, self.machine.launch
        ctas = threads // machine.per_cta
        goes_on = machine.alive.reshape(machine.count, -1).sum(axis=1) - np.bincount(ctas, minlength=machine.count)
        some = goes_on[ctas] > 0
        if not some.any():
            return
        threads, ctas = threads[some], ctas[some]
        met = np.maximum(met[some], self.alone[threads])
        self.left = self.left or bool((self.touched[threads] > met).any())
        if self.met is None:
            self.met = np.full(prod(launch.grid) * align_up(launch.threads, 32), _ALWAYS, np.int32)
        self.met[np.asarray(machine.order)[ctas] * machine.per_cta + threads % machine.per_cta] = met

    def early(self, number: int) -> bool:
        """Whether a thread of the launch has ended while others of its CTA went on."""
        return self.met is not None and int(self.met[number]) < _ALWAYS

    def within(self, numbers: Array, times: Array) -> Array:
        """``times`` up to which threads (numbers in the launch) are known by a barrier, no later than they met one."""
        return times if self.met is None else np.minimum(times, self.met[numbers])
