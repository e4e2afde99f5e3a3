"""Threads that have exited: later barriers do not order what they did after the last barrier that they took part in."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..ptx.regions import align_up

if TYPE_CHECKING:
    from ..machine.machine import Machine
    from ..ptx.types import Array

_ALWAYS = np.iinfo(np.int32).max


class ExitedThreads:
    """The last times at which exited threads met others at a barrier, while other threads of their CTAs went on.

    Attributes:
        met: this time for each thread of the launch; None until a thread exits early.
        touched: the time at which each thread of the batch last touched shared memory.
        alone: the time at which each thread of the batch last arrived at a barrier without waiting.
        left: whether a thread of the batch has exited after touching shared memory, with no barrier in between.
    """

    def __init__(self) -> None:
        self.met: Array | None = None

    def batch(self, machine: Machine) -> None:
        """Begins a batch."""
        self.machine, self.left = machine, False
        self.touched = np.zeros(machine.total, np.int32)
        self.alone = np.zeros(machine.total, np.int32)

    def touches(self, threads: Array, time: int) -> None:
        """Notes that threads touch shared memory."""
        self.touched[threads] = time

    def arrived(self, threads: Array, time: int) -> None:
        """Notes that threads arrive at a barrier without waiting."""
        self.alone[threads] = time

    def exit(self, threads: Array, met: Array) -> None:
        """Notes that threads of the batch exit, which met others at the times ``met``."""
        machine, launch = self.machine, self.machine.launch
        ctas = threads // machine.per_cta
        goes_on = machine.alive.reshape(machine.count, -1).sum(axis=1) - np.bincount(ctas, minlength=machine.count)
        some = goes_on[ctas] > 0
        if not some.any():
            return
        threads, ctas = threads[some], ctas[some]
        self.left = self.left or bool((self.touched[threads] > met[some]).any())
        met = np.maximum(met[some], self.alone[threads])
        if self.met is None:
            self.met = np.full(prod(launch.grid) * align_up(launch.threads, 32), _ALWAYS, np.int32)
        self.met[np.asarray(machine.order)[ctas] * machine.per_cta + threads % machine.per_cta] = met

    def early(self, number: int) -> bool:
        """Whether a thread of the launch has exited while others of its CTA went on."""
        return self.met is not None and int(self.met[number]) < _ALWAYS

    def within(self, numbers: Array, times: Array) -> Array:
        """``times``, limited for exited threads (by number in the launch) to the last time at which they met others."""
        return times if self.met is None else np.minimum(times, self.met[numbers])
