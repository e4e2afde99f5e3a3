"""Measures device times, and the ceilings of a device: a plain read, a copy and an empty launch.

A call is timed between two events, after the L2 cache was filled with unrelated clean lines: dirty lines would be
written back during the call and cost up to 10 us. Filling the cache takes some hundred microseconds, in which the host
queues the call, so the events measure device time only.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING

from .bandwidth_kernels import EMPTY, READINGS, STEADY, Reading, artifact

if TYPE_CHECKING:
    from ..backends.cuda_backend import CudaBackend

CLEAN_BYTES = 1 << 28
"""Bytes read after the flush has written: several times the largest L2 cache."""
SIZES = tuple(1 << k for k in range(12, 31))
"""Sizes in bytes of the measured reads: 4 KiB to 1 GiB."""
ROUGH_RUNS, FINALISTS = 5, 3
"""Trial runs of each reading kernel, and the number of fastest ones that are then measured fully."""


@dataclass(frozen=True)
class Timing:
    """Device time of one call.

    Attributes:
        median, low, high: the median and the quartiles, in microseconds.
        runs: the number of timed calls.
    """

    median: float
    low: float
    high: float
    runs: int

    @property
    def spread(self) -> float:
        """The interquartile range as a fraction of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Ceilings:
    """The ceilings of a device.

    Attributes:
        read: bandwidth of reading 1 GiB, in GB/s.
        copy: bandwidth of copying 1 GiB, in GB/s read plus written.
        empty: time of an empty kernel in microseconds.
        reads: (bytes, microseconds) of plain reads, by size.
    """

    read: float
    copy: float
    empty: float
    reads: tuple[tuple[int, float], ...]

    def read_at(self, nbytes: float) -> float:
        """Time in microseconds of a plain read of ``nbytes``, interpolated between measured sizes.

        The interpolation is linear in the logarithms. Below the smallest size it is the smallest time; above the
        largest size it follows the bandwidth of the largest read.
        """
        sizes, times = zip(*self.reads, strict=True)
        if nbytes <= sizes[0]:
            return float(times[0])
        if nbytes >= sizes[-1]:
            return float(times[-1] * nbytes / sizes[-1])
        i = bisect_left(sizes, nbytes)
        part = math.log(nbytes / sizes[i - 1]) / math.log(sizes[i] / sizes[i - 1])
        return float(times[i - 1] ** (1 - part) * times[i] ** part)


def timed(
    backend: CudaBackend,
    calls: Sequence[Callable[[], object]],
    *,
    stream: int = 0,
    runs: int = 20,
    warmup: int = 3,
    seconds: float = 1.0,
) -> Timing:
    """Device time of a call; the L2 cache is flushed before each run.

    Args:
        backend: the device.
        calls: functions that take turns, one for each set of buffers. Each queues the same work on ``stream``.
        stream: the stream that the calls use.
        runs: number of timed runs.
        warmup: untimed runs before, which load code and allocate.
        seconds: time after which no further run begins; at least three runs are made.
    """
    for i in range(warmup):
        calls[i % len(calls)]()
    backend.synchronize(stream)
    until, found = time.perf_counter() + seconds, list[float]()
    while len(found) < runs and (len(found) < 3 or time.perf_counter() < until):
        flush(backend, stream)
        found.append(backend.elapsed(calls[len(found) % len(calls)], stream))
    low, median, high = quantiles(found, n=4, method="inclusive") if len(found) > 1 else found * 3
    return Timing(median, low, high, len(found))


def flush(backend: CudaBackend, stream: int = 0) -> None:
    """Queues work that fills the L2 cache with unrelated clean lines."""
    written = backend.flush(stream)
    backend.launch(artifact(), [STEADY.call(written, CLEAN_BYTES, written)], stream)


def ceilings(backend: CudaBackend, stream: int = 0) -> Ceilings:
    """Measures the ceilings of the device, in some seconds; each read is the fastest of ``READINGS``."""
    largest = SIZES[-1]
    with backend.memory(largest) as source, backend.memory(largest) as target:
        reads = tuple((n, _read(backend, source, target, n, stream)) for n in SIZES)
        copy = timed(backend, [lambda: backend.copy(target, source, largest, stream)], stream=stream).median
    empty = timed(backend, [lambda: backend.launch(artifact(), [EMPTY], stream)], stream=stream).median
    return Ceilings(largest / reads[-1][1] / 1e3, 2 * largest / copy / 1e3, empty, reads)


def _read(backend: CudaBackend, source: int, sink: int, nbytes: int, stream: int) -> float:
    """Time in microseconds of the fastest reading kernel."""

    def took(reading: Reading, runs: int) -> float:
        queued = [reading.call(source, nbytes, sink)]
        work = [lambda: backend.launch(artifact(), queued, stream)]
        return timed(backend, work, stream=stream, runs=runs, warmup=1).median

    fitting = sorted((r for r in READINGS if r.tile <= nbytes), key=lambda r: took(r, ROUGH_RUNS))
    return min(took(r, 20) for r in fitting[:FINALISTS])
