"""Measures device times, and the ceilings of a device: a plain read, a copy and an empty launch.

A call is timed between two events, after the L2 cache was filled with unrelated clean lines: dirty lines would be
written back during the call and cost up to 10 us. Filling the cache takes some hundred microseconds, in which the host
queues the call, so the events measure device time only.

Handwritten PTX kernels that measure a machine: plain reads of memory, and an empty kernel.

They do not depend on the planner or the passes, so measured ceilings stay when those change.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import quantiles
from typing import TYPE_CHECKING

from ...compiler.driver.artifact import Artifact, CompiledKernel
from ...compiler.plan.abi import Param
from ...compiler.plan.facts import Facts
from ...compiler.plan.plan import Plan
from ..backends.kernel_calls import Call

if TYPE_CHECKING:
    from ..backends.cuda_backend import CudaBackend


ACCESS = 16
"""Bytes per access."""
UNROLLS = (1, 2, 4, 8)
_HEAD = ".version 6.3\n.target sm_75\n.address_size 64\n"
_EMPTY = ".visible .entry empty()\n{\n  ret;\n}\n"
_READ = """
.visible .entry read{unroll}(.param .u64 source, .param .u64 sink, .param .u32 steps)
{{
  .reg .pred %p;
  .reg .b32 %acc, %left, %first, %threads, %block, %thread, %x<{words}>;
  .reg .b64 %at, %stride, %sink, %wide;
  ld.param.u64 %at, [source];
  ld.param.u64 %sink, [sink];
  ld.param.u32 %left, [steps];
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mul.lo.u32 %first, %block, %threads;
  mul.lo.u32 %first, %first, %left;
  mad.lo.u32 %first, %first, {unroll}, %thread;
  mul.wide.u32 %wide, %first, 16;
  add.u64 %at, %at, %wide;
  mul.wide.u32 %stride, %threads, 16;
  mov.u32 %acc, 0;
again:
{body}  sub.u32 %left, %left, 1;
  setp.ne.u32 %p, %left, 0;
  @%p bra again;
  setp.eq.u32 %p, %acc, 0x9e3779b9;
  @%p st.global.u32 [%sink], %acc;
  ret;
}}
"""


@dataclass(frozen=True)
class Reading:
    """One way to read memory: every thread of all CTAs makes ``unroll * steps`` interleaved accesses of 16 bytes."""

    unroll: int
    steps: int
    warps: int

    @property
    def tile(self) -> int:
        """Bytes that a CTA reads."""
        return ACCESS * self.unroll * self.steps * 32 * self.warps

    def call(self, source: int, nbytes: int, sink: int) -> Call:
        """The launch that reads ``nbytes``, a multiple of ``tile``, from ``source``.

        A thread writes the exclusive or of its elements to ``sink`` if it equals one particular 32-bit number: no load
        can be optimised away, and almost nothing is written.
        """
        grid, block = (nbytes // self.tile, 1, 1), (32 * self.warps, 1, 1)
        return Call(f"read{self.unroll}", grid, block, (source, sink, self.steps))


READINGS = tuple(
    Reading(unroll, loads // unroll, warps)
    for unroll in UNROLLS
    for loads in (unroll, 4 * unroll, 16 * unroll)
    if loads <= 64
    for warps in (4, 8, 16)
)
"""The reading kernels; a ceiling is the fastest of them."""
STEADY = Reading(4, 4, 8)
"""A kernel that reads large memory fast on any machine."""
EMPTY = Call("empty", (1, 1, 1), (32, 1, 1), ())


@lru_cache(maxsize=1)
def artifact() -> Artifact:
    """All kernels as one artifact."""
    facts = Facts(1, 1, 32, (), store_vector=False)
    params = (Param("input"), Param("output"), Param("chunk"))
    kernels = [CompiledKernel(f"read{u}", "main", Plan(), facts, params) for u in UNROLLS]
    kernels.append(CompiledKernel("empty", "main", Plan(), facts, ()))
    ptx = _HEAD + _EMPTY + "".join(_read_kernel(u) for u in UNROLLS)
    return Artifact("plain_kernels", (), (), (), tuple(kernels), "sm_75", ptx, "", "plain_kernels", {})


def _read_kernel(unroll: int) -> str:
    """A kernel that makes ``unroll`` accesses in each step, all in flight before the first value is used."""
    loads, uses = [], []
    for k in range(unroll):
        words = [f"%x{4 * k + i}" for i in range(4)]
        loads.append(f"ld.global.nc.v4.u32 {{{', '.join(words)}}}, [%at];\n  add.u64 %at, %at, %stride;")
        uses += [f"xor.b32 %acc, %acc, {word};" for word in words]
    body = "".join(f"  {line}\n" for line in loads + uses)
    return _READ.format(unroll=unroll, words=4 * unroll, body=body)


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
