"""Times and ceilings, against a driver whose events stand still or follow a clock of the test."""

from __future__ import annotations

from typing import Any

import pytest
from fake_driver import FakeDriver

from warpfold.runtime.backends import cuda_backend
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.tuning import measure
from warpfold.runtime.tuning.measure import CLEAN_BYTES, Ceilings, Timing, ceilings, timed

READ = (8, 8, 4)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """Little memory, so that a test needs little."""
    monkeypatch.setattr(cuda_backend, "FLUSH_BYTES", 1 << 20)
    return FakeDriver()


@pytest.fixture
def backend(driver: FakeDriver) -> CudaBackend:
    return CudaBackend(driver=driver)


def clock(monkeypatch: pytest.MonkeyPatch, backend: CudaBackend, times: Any) -> None:
    """``elapsed`` does the work, and says the next of ``times`` in microseconds."""

    def elapsed(fn: Any, stream: int = 0) -> float:  # noqa: ARG001
        fn()
        return float(next(times))

    monkeypatch.setattr(backend, "elapsed", elapsed)


def test_median_and_quartiles(monkeypatch: pytest.MonkeyPatch, backend: CudaBackend) -> None:
    clock(monkeypatch, backend, iter([9, 1, 5, 3, 7]))
    found = timed(backend, [lambda: None], runs=5)
    assert found == Timing(5, 3, 7, 5)
    assert found.spread == 0.8
    clock(monkeypatch, backend, iter([4]))
    assert timed(backend, [lambda: None], runs=1) == Timing(4, 4, 4, 1)


def test_calls_take_turns_and_warm_up(backend: CudaBackend) -> None:
    ran: list[int] = []
    timed(backend, [lambda: ran.append(0), lambda: ran.append(1)], runs=4, warmup=2)
    assert ran == [0, 1, 0, 1, 0, 1]


def test_slow_calls_are_made_less_often(monkeypatch: pytest.MonkeyPatch, backend: CudaBackend) -> None:
    now = iter(range(100))
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(now))
    assert timed(backend, [lambda: None], runs=50, seconds=10).runs == 3 + 9  # the clock is asked from the fourth on
    assert timed(backend, [lambda: None], runs=50, seconds=0).runs == 3


def test_before_each_call_the_cache_is_written_then_read(driver: FakeDriver, backend: CudaBackend) -> None:
    """The write leaves dirty lines; the read of what was written first leaves clean ones."""
    seen: list[tuple[int, ...]] = []
    driver.kernels["read4"], driver.layout = seen.append, READ
    driver.names()
    timed(backend, [lambda: driver.calls.append(("call", ()))], runs=2, warmup=0, stream=3)
    order = [
        name for name, _ in driver.calls if name in ("cuMemsetD32Async", "cuLaunchKernelEx", "cuEventRecord", "call")
    ]
    order = order[order.index("cuLaunchKernelEx") - 1 :]
    assert order == ["cuMemsetD32Async", "cuLaunchKernelEx", "cuEventRecord", "call", "cuEventRecord"] * 2
    grid, block = driver.launches[0].grid[0], driver.launches[0].block[0]
    assert grid * block * measure.STEADY.unroll * measure.STEADY.steps * 16 == CLEAN_BYTES > 200 << 20
    written = [args for name, args in driver.calls if name == "cuMemsetD32Async" and args[-1] == 3]
    assert {args[0] for args in written} == {seen[0][0]}


def test_more_is_flushed_than_is_read_clean() -> None:
    """The last lines read must have been evicted by then."""
    assert cuda_backend.FLUSH_BYTES >= 2 * CLEAN_BYTES


def test_reads_are_interpolated_by_logarithms() -> None:
    found = Ceilings(4000, 4000, 2.0, ((4096, 2.0), (8192, 4.0), (1 << 20, 64.0)))
    assert [found.read_at(n) for n in (1, 4096, 8192, 1 << 20)] == [2, 2, 4, 64]
    assert found.read_at(4096 * 2**0.5) == pytest.approx(2 * 2**0.5)
    assert found.read_at(2 << 20) == pytest.approx(128)


def test_ceilings(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, backend: CudaBackend) -> None:
    """Each size is read in the fastest way; here the time of a read is that of its launch."""
    monkeypatch.setattr(measure, "SIZES", (1 << 12, 1 << 20))

    def elapsed(fn: Any, stream: int = 0) -> float:  # noqa: ARG001
        driver.calls.clear()
        fn()
        ((name, _),) = [c for c in driver.calls if c[0] in ("cuLaunchKernelEx", "cuMemcpyDtoDAsync")]
        if name == "cuMemcpyDtoDAsync":
            return 1000.0
        kernel, (grid, *_), (block, *_), *_ = driver.launches[-1]
        return {"empty": 2.0, "read2": 10.0}.get(kernel, 30.0) + grid * block / 1e6

    monkeypatch.setattr(backend, "elapsed", elapsed)
    found = ceilings(backend)
    assert found.empty == pytest.approx(2, abs=0.1)
    assert found.copy == pytest.approx(2 * (1 << 20) / 1000 / 1e3)
    assert [n for n, _ in found.reads] == [1 << 12, 1 << 20]
    assert all(10 < us < 10.1 for _, us in found.reads)
    assert found.read == pytest.approx((1 << 20) / found.reads[-1][1] / 1e3)
    assert len(driver.freed) == 2
