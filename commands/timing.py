"""Where a request ran, and how long its kernels took there."""

from __future__ import annotations

import statistics
import time
from typing import Any

from ..compiler.errors import WarpfoldError
from ..runtime.tuning.measure import Timing, timed

REPEATS = 3
"""Runs of each launch, of which the fastest counts."""


class Timed:
    """A backend that records the device time of all launches.

    Args:
        backend: the backend.
        runs: the most runs of each launch, of which the median counts; each begins with a flushed L2 cache. Without
            them ``REPEATS`` runs follow each other, of which the least counts.
        seconds: the time after which no further run of a launch begins.
    """

    def __init__(self, backend: Any, runs: int = 0, seconds: float = 0.0) -> None:
        self._backend, self._runs, self._seconds = backend, runs, seconds
        self.microseconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def launch(self, compiled: Any, calls: Any, stream: int) -> None:
        """Launches a few times, and adds the time."""

        def work() -> None:
            self._backend.launch(compiled, calls, stream)

        if not self._runs:
            self.microseconds += min(self._backend.elapsed(work, stream) for _ in range(REPEATS))
            return
        work()  # loads the code
        self._backend.synchronize(stream)
        until, found = time.perf_counter() + self._seconds, list[float]()
        while not found or (len(found) < self._runs and time.perf_counter() < until):
            self._backend.flush(stream)
            found.append(self._backend.elapsed(work, stream))
        self.microseconds += statistics.median(found)


class StepTimer:
    """A backend that times the launches that it is asked for, each after a flush of the L2 cache.

    Args:
        backend: the backend.
        runs: the timed runs of a launch.
        only: the number of the launch to time; None for all. Others are made once.

    Attributes:
        timings: the device time of each timed launch, by its number.
    """

    def __init__(self, backend: Any, runs: int, only: int | None = None) -> None:
        self._backend, self._runs, self._only = backend, runs, only
        self._seen = 0
        self.timings: dict[int, Timing] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def launch(self, compiled: Any, calls: Any, stream: int) -> None:
        """Launches the kernels of the next step."""

        def work() -> None:
            self._backend.launch(compiled, calls, stream)

        number, self._seen = self._seen, self._seen + 1
        if self._only in (None, number):
            self.timings[number] = timed(self._backend, [work], stream=stream, runs=self._runs)
        else:
            work()


def why(backend: Any, device: str) -> str:
    """The backend that ran, and the reason for it."""
    if backend.name == "cuda":
        return f"CUDA: {backend.device_name}" + (", chosen because it is there" if device == "auto" else "")
    text = f"emulator of {backend.target.arch}"
    if device != "auto":
        return text
    from ..runtime.backends.cuda_backend import backend as cuda

    try:
        cuda(0)
    except WarpfoldError as e:
        return f"{text}, chosen because {e.message.partition(':')[0]}"
    return text
