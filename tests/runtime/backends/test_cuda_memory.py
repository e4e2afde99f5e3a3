"""Device memory: copies of host arrays, and workspaces."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from fake_cuda import NARROW, artifact, backend, call, driver
from fake_driver import FakeDriver, Status

from warpfold.compiler.dtypes import F32
from warpfold.compiler.errors import ArgumentError, BackendError
from warpfold.runtime.arrays import conversion as arrays
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.backends.cuda_memory import TICKETS, WORKSPACE
from warpfold.runtime.backends.kernel_calls import Workspace
from warpfold.runtime.view import Device, View

__all__ = ["backend", "driver"]


# --- host arrays -------------------------------------------------------------------------------------------------
def double(words: tuple[int, ...]) -> None:
    """A kernel: output[i] = 2 * input[i * stride]."""
    start, to, count, _, _, stride = words
    for i in range(count):
        x = ctypes.c_float.from_address(start + 4 * i * stride).value
        ctypes.c_float.from_address(to + 4 * i).value = 2 * x


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_host_arrays_are_copied_to_the_device_and_back(driver: FakeDriver, backend: CudaBackend, step: int) -> None:
    driver.layout, driver.kernels["k"] = NARROW, double
    x, out = np.arange(30, dtype=np.float32)[3:27][::step], np.zeros(30, np.float32)
    source, target = arrays.view(x), arrays.view(out[2 : 2 + len(x)])
    addresses = backend.bind(source, write=False, stream=9), backend.bind(target, write=True, stream=9)
    assert [a % 256 for a in addresses] == [source.address % 256, target.address % 256]
    backend.launch(artifact(), [call(*addresses, len(x), 0, 0, step)], 9)
    backend.finish([target], 9)
    assert out.tolist() == [0, 0, *(2 * x), *[0] * (28 - len(x))]
    assert driver.memory == {}
    made = driver.names()
    assert made.count("cuMemcpyHtoDAsync") == 1  # what is only written is not copied over
    assert made.count("cuMemcpyDtoHAsync") == made.count("cuStreamSynchronize") == 1


@pytest.mark.parametrize("step", [2, 3, -1, -2])
def test_gaps_between_the_elements_of_a_host_result_are_unchanged(
    driver: FakeDriver, backend: CudaBackend, step: int
) -> None:
    """The kernel's copy has none of the caller's values there, and another thread may write them meanwhile."""

    def kernel(words: tuple[int, ...]) -> None:
        _, to, count, _, _, stride = words
        out[1] = 5
        for i in range(count):
            ctypes.c_float.from_address(to + 4 * i * stride).value = i + 1

    driver.layout, driver.kernels["k"] = NARROW, kernel
    out = np.full(16, 7, np.float32)
    target = out[2:14][::step]
    expected = out.copy()
    expected[1] = 5
    expected[2:14][::step] = np.arange(len(target)) + 1
    address = backend.bind(arrays.view(target), write=True, stream=0)
    backend.launch(artifact(), [call(0, address, len(target), 0, 0, step)], 0)
    backend.finish([arrays.view(target)], 0)
    assert out.tolist() == expected.tolist()
    assert driver.memory == {}


def test_the_parts_of_a_complex_host_result_are_joined(driver: FakeDriver, backend: CudaBackend) -> None:
    def kernel(words: tuple[int, ...]) -> None:
        real, imag, count, _, _, stride = words
        for i in range(count):
            ctypes.c_float.from_address(real + 4 * i * stride).value = i
            ctypes.c_float.from_address(imag + 4 * i * stride).value = -i

    driver.layout, driver.kernels["k"] = NARROW, kernel
    out = np.zeros(5, np.complex64)
    real, imag = arrays.view(out).parts()
    words = [backend.bind(part, write=True, stream=0) for part in (real, imag)]
    backend.launch(artifact(), [call(*words, 5, 0, 0, real.strides[0])], 0)
    backend.finish([], 0)
    assert out.tolist() == [complex(i, -i) for i in range(5)]


def test_copies_to_and_from_a_device(driver: FakeDriver, backend: CudaBackend) -> None:
    base = int(driver.cuMemAlloc(96)[1])
    gpu = Device("cuda", 0)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    backend.put(View(base, (4, 6), (6, 1), F32, gpu), x[::-1], 9)
    assert backend.get(View(base, (4, 6), (6, 1), F32, gpu), 9).tolist() == x[::-1].tolist()
    assert (
        backend.get(View(base + 20, (3, 2), (-2, 6), F32, gpu), 9).tolist()
        == x[::-1].ravel()[[[5, 11], [3, 9], [1, 7]]].tolist()
    )
    turned, spaced = View(base, (6, 4), (1, 6), F32, gpu), View(base + 80, (3, 2), (-8, 2), F32, gpu)
    backend.put(turned, x.reshape(6, 4), 9)
    assert backend.get(turned, 9).tolist() == x.reshape(6, 4).tolist()
    flat = backend.get(View(base, (24,), (1,), F32, gpu), 9)
    backend.put(spaced, -x[:3, :2], 9)
    flat[[20, 22, 12, 14, 4, 6]] = -x[:3, :2].ravel()  # what lies between them stays
    assert backend.get(View(base, (24,), (1,), F32, gpu), 9).tolist() == flat.tolist()
    driver.names()
    backend.put(View(0, (0, 3), (3, 1), F32, gpu), x[:0, :3], 9)
    assert backend.get(View(0, (0, 3), (3, 1), F32, gpu), 9).shape == (0, 3)
    assert not [name for name in driver.names() if name.startswith("cuMemcpy")]


def test_device_arrays_stay_where_they_are(driver: FakeDriver, backend: CudaBackend) -> None:
    v = View(4096, (5,), (1,), F32, Device("cuda", 0))
    assert backend.reads(v)
    assert backend.bind(v, write=True, stream=3) == 4096
    backend.finish([v], 3)
    assert driver.names() == []
    far = View(4096, (5,), (1,), F32, Device("cuda", 1))
    assert not backend.reads(far)
    with pytest.raises(ArgumentError, match=r"^WF107: .*cuda:1, the kernels on cuda:0"):
        backend.bind(far, write=False, stream=3)


def test_empty_host_arrays_need_no_memory(driver: FakeDriver, backend: CudaBackend) -> None:
    assert backend.bind(arrays.view(np.zeros((0, 3))), write=False, stream=0) == 0
    assert driver.names() == []


def test_a_failed_call_leaves_host_memory_alone(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout, driver.kernels["k"] = NARROW, double
    out = np.full(4, 7, np.float32)
    driver.fail["cuLaunchKernelEx"] = Status.CUDA_ERROR_INVALID_VALUE
    address = backend.bind(arrays.view(out), write=True, stream=0)
    with pytest.raises(BackendError):
        backend.launch(artifact(), [call(address, address, 1, 0, 0, 1)], 0)
    backend.finish([arrays.view(out)], 0)
    assert out.tolist() == [7] * 4
    assert driver.memory == {}


def test_out_of_memory_names_the_size_and_leaks_nothing(driver: FakeDriver, backend: CudaBackend) -> None:
    bound = arrays.view(np.zeros(10, np.float32))
    backend.bind(bound, write=False, stream=0)
    driver.fail["cuMemAllocAsync"] = Status.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(BackendError, match=r"^WF603: out of memory on cuda:0: cuMemAllocAsync asked for \d+ bytes"):
        backend.bind(arrays.view(np.zeros(1000, np.float32)), write=True, stream=0)
    backend.finish([], 0)
    assert driver.memory == {}


# --- scratch memory ----------------------------------------------------------------------------------------------
def words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint32 * count).from_address(address))


def test_scratch_memory_is_kept_and_zero(driver: FakeDriver, backend: CudaBackend) -> None:
    first = backend.workspace(1000, 100, 5)
    assert words(first.counters, 100) == [0] * 100
    driver.names()
    assert backend.workspace(64 << 10, 4 << 10, 5) == first
    assert not {"cuMemAlloc", "cuMemsetD32Async", "cuStreamSynchronize"} & set(driver.names())
    assert backend.workspace(0, 0, 5) == Workspace(0, 0)
    assert driver.names() == []


def test_the_workspace_of_a_stream_is_allocated_once(driver: FakeDriver, backend: CudaBackend) -> None:
    whole = WORKSPACE
    assert whole == 1 << 20
    first = backend.workspace(1, 1, 5)
    assert driver.names().count("cuMemAlloc") == 1
    assert backend.workspace(whole - TICKETS, TICKETS // 4, 5) == first
    assert driver.names() == ["cuCtxGetCurrent", "cuCtxPushCurrent", "cuStreamGetCaptureInfo", "cuCtxPopCurrent"]
    (block,) = driver.memory.values()
    ends = first.partials + whole - TICKETS, first.counters + TICKETS
    assert ends == (max(driver.memory) + whole, first.partials)
    assert whole <= ctypes.sizeof(block) <= whole + 256  # and what the stand-in aligns with


def test_a_users_plan_may_need_a_larger_workspace_and_the_old_one_is_kept(
    driver: FakeDriver, backend: CudaBackend
) -> None:
    first = backend.workspace(64 << 10, 1, 5)
    second = backend.workspace(1 << 20, 1, 5)
    assert second.counters == first.counters
    assert second.partials != first.partials
    assert first.counters in driver.memory
    assert ctypes.sizeof(driver.memory[second.partials]) >= 1 << 20
    assert backend.workspace(1 << 20, 1, 5) == second
    backend.close()
    assert driver.memory == {}
    backend.close()
    assert driver.names().count("cuDevicePrimaryCtxRelease") == 1


def test_streams_and_graphs_share_no_scratch_memory(driver: FakeDriver, backend: CudaBackend) -> None:
    one, two = backend.workspace(10, 10, 5), backend.workspace(10, 10, 6)
    driver.capturing[5] = 31
    captured = backend.workspace(10, 10, 5)
    driver.names()
    assert backend.workspace(10, 10, 5) == captured
    driver.capturing.clear()
    assert backend.workspace(10, 10, 5) == one
    default = backend.workspace(10, 10, 0)
    assert len({a for w in (one, two, captured, default) for a in (w.partials, w.counters)}) == 8


def test_the_capture_mode_comes_back_after_an_error(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.fail["cuMemAlloc"] = Status.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(BackendError, match=r"^WF603: out of memory on cuda:0: cuMemAlloc asked for 1048576 bytes"):
        backend.workspace(10, 0, 5)
    modes = [args for name, args in driver.calls if name == "cuThreadExchangeStreamCaptureMode"]
    assert modes == [("relaxed",), ("global",)]
    del driver.fail["cuMemAlloc"]
    assert backend.workspace(10, 0, 5).partials
