"""The driver: found or not, and the errors of its calls."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from fake_cuda import backend, driver
from fake_driver import FakeDriver, Status

from warpfold.compiler.errors import BackendError
from warpfold.runtime.backends import cuda_backend, cuda_driver
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.view import Device

__all__ = ["backend", "driver"]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Forgets the driver and the known backends, before and after the test."""
    monkeypatch.setattr(cuda_driver, "load", cuda_driver.load.__wrapped__)
    monkeypatch.setattr(cuda_backend, "_found", cuda_backend._found.__wrapped__)
    monkeypatch.setattr(cuda_backend, "backend", cuda_backend.backend.__wrapped__)
    return monkeypatch


def pretend(monkeypatch: pytest.MonkeyPatch, driver: Any) -> None:
    """Makes ``from cuda.bindings import driver`` give ``driver``."""
    import types

    bindings = types.ModuleType("cuda.bindings")
    if driver is not None:
        bindings.driver = driver  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    monkeypatch.delitem(sys.modules, "cuda.bindings.driver", raising=False)


def test_nothing_is_found_without_an_error(fresh: pytest.MonkeyPatch) -> None:
    pretend(fresh, None)
    assert cuda_backend.find() == []
    with pytest.raises(BackendError, match=r"^WF604: no CUDA driver was found: .*driver"):
        cuda_backend.backend(0)
    for status, code in ((Status.CUDA_ERROR_NO_DEVICE, "WF605"), (Status.CUDA_ERROR_INVALID_VALUE, "WF604")):
        broken = FakeDriver()
        broken.fail["cuInit"] = status
        pretend(fresh, broken)
        assert cuda_backend.find() == []
        with pytest.raises(BackendError, match=rf"^{code}: "):
            cuda_backend.backend(0)


def test_devices_are_found(fresh: pytest.MonkeyPatch) -> None:
    pretend(fresh, FakeDriver(devices=2))
    assert cuda_backend.find() == [Device("cuda", 0), Device("cuda", 1)]
    assert cuda_backend.ordinal(7 * 1000 + 3) == 3


def test_waiting(fresh: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()
    pretend(fresh, driver)
    cuda_backend.wait(0)
    assert "cuCtxSynchronize" in driver.names()


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (Status.CUDA_ERROR_INVALID_VALUE, "cuStreamSynchronize failed with CUDA_ERROR_INVALID_VALUE: text of 1"),
        (Status.CUDA_ERROR_ILLEGAL_ADDRESS, r"an earlier kernel .*(?s:.*)restart the process"),
        (Status.CUDA_ERROR_NOT_INITIALIZED, r"(?s:.*)spawn"),
        (Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, r"(?s:.*)once on this stream before.*histogram"),
    ],
)
def test_driver_errors(driver: FakeDriver, backend: CudaBackend, status: Status, text: str) -> None:
    driver.fail["cuStreamSynchronize"] = status
    with pytest.raises(BackendError, match=rf"^WF601: .*{text}"):
        backend.synchronize(0)
