"""The context of a device: its properties, the current context, and stream capture."""

from __future__ import annotations

import pytest
from fake_cuda import NARROW, artifact, backend, call, driver
from fake_driver import FakeDriver, Status

from warpfold.compiler.errors import BackendError
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.view import Device

__all__ = ["backend", "driver"]


def test_the_properties_of_the_device() -> None:
    made = CudaBackend(1, FakeDriver(devices=2))
    assert (made.name, made.target.arch, made.sms, made.device) == ("cuda", "sm_90a", 132, Device("cuda", 1))
    assert made.device_name == "Fake GPU"
    assert CudaBackend(driver=FakeDriver(capability=(8, 7))).target.arch == "sm_86"
    assert CudaBackend(driver=FakeDriver(capability=(12, 1))).target.arch == "sm_120"


def test_a_device_that_is_too_old_or_missing() -> None:
    with pytest.raises(BackendError, match=r"^WF602: .*7\.0: expected 7\.5 or newer"):
        CudaBackend(driver=FakeDriver(capability=(7, 0)))
    with pytest.raises(BackendError, match=r"^WF605: there is no CUDA device 2: 2 found"):
        CudaBackend(2, FakeDriver(devices=2))
    with pytest.raises(BackendError, match=r"^WF605: .*none found"):
        CudaBackend(0, FakeDriver(devices=0))


def test_the_callers_context_comes_back(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout, driver.current = NARROW, 42
    inside = []
    driver.kernels["k"] = lambda _: inside.append(driver.current)
    backend.launch(artifact(), [call(1, 2, 3, 4, 5, 6)], 0)
    driver.fail["cuLaunchKernelEx"] = Status.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(BackendError):
        backend.launch(artifact(), [call(1, 2, 3, 4, 5, 6)], 0)
    assert (inside, driver.current, driver.stack) == ([1000], 42, [])
