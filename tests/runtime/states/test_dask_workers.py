"""Tasks of Dask's graphs on workers with a GPU, a simulated one that gets copies of the chunks, and without."""

from __future__ import annotations

import sys
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from fake_driver import FakeDriver
from fake_gpu import Gpu, gpu

import warpfold as wf
from warpfold.runtime.backends import cuda_backend, select
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.backends.emulator_backend import emulator

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

__all__ = ["gpu"]
X = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)


@pytest.mark.parametrize("what", ["var", "argmax"])
def test_workers_with_a_gpu_use_it_and_give_the_same_bits(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    found = wf.reduce(da.from_array(X, chunks=(10, 15)), what)
    with dask.config.set(scheduler="synchronous"):
        wanted = found.compute()
        turns = cycle([gpu.backends[0], emulator()])
        monkeypatch.setattr(select, "_default", lambda: next(turns))
        got, calls = gpu.launched(found.compute)
    assert "cuLaunchKernelEx" in calls
    assert isinstance(got, np.generic)
    assert got == wanted


def test_what_is_asked_of_a_worker_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_backend, "backend", lambda number: CudaBackend(number, FakeDriver(0)))
    found = wf.sum(da.from_array(X, chunks=(10, 30)), device="cuda")
    with pytest.raises(wf.WarpfoldError, match="WF605: there is no CUDA device 0: none found"):
        found.compute(scheduler="synchronous")
