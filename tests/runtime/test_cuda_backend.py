"""The CUDA backend against a stand-in for the driver: packing, copies, scratch memory, contexts, errors."""

from __future__ import annotations

import ctypes
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_driver import FakeDriver, Status

from warpfold.compiler.abi import Facts, Param
from warpfold.compiler.artifact import Artifact, CompiledKernel
from warpfold.compiler.dtypes import F32
from warpfold.compiler.errors import ArgumentError, BackendError
from warpfold.compiler.plan import Plan
from warpfold.runtime import arrays, cuda_backend
from warpfold.runtime.backend import Call, Device, View, Workspace
from warpfold.runtime.cuda_backend import CudaBackend

PARAMS = tuple(Param(role) for role in ("input", "output", "n_kept", "n_reduced", "partial", "reduced_stride"))
NARROW, WIDE = (8, 8, 4, 4, 8, 4), (8, 8, 8, 8, 8, 8)


def artifact(bits: int = 32, key: str = "key", cubins: dict[str, bytes] | None = None, ptx: str = "ptx") -> Artifact:
    kernel = CompiledKernel("k", "main", Plan(), Facts(1, 1, bits, ("strided",), False), PARAMS)
    facts: dict[str, Any] = {
        "name": "sum", "inputs": (F32,), "outputs": (F32,), "state": (F32,), "kernels": (kernel,), "arch": "sm_90a",
        "ptx": ptx, "source": "", "key": key, "provenance": {}, "cubins": cubins or {},
    }  # fmt: skip
    return Artifact(**facts)


def call(*args: int) -> Call:
    return Call("k", (3, 2, 1), (256, 1, 1), args)


@pytest.fixture
def driver() -> FakeDriver:
    return FakeDriver()


@pytest.fixture
def backend(driver: FakeDriver) -> CudaBackend:
    made = CudaBackend(driver=driver)
    driver.names()
    return made


# --- devices -----------------------------------------------------------------------------------------------------
def test_what_the_device_is() -> None:
    made = CudaBackend(1, FakeDriver(devices=2))
    assert (made.name, made.target.arch, made.sms, made.device) == ("cuda", "sm_90a", 132, Device("cuda", 1))
    assert made.device_name == "Fake GPU"
    assert CudaBackend(driver=FakeDriver(capability=(8, 7))).target.arch == "sm_86"
    assert CudaBackend(driver=FakeDriver(capability=(12, 1))).target.arch == "sm_120"


def test_a_device_that_is_too_old_or_not_there() -> None:
    with pytest.raises(BackendError, match=r"^WF602: .*7\.0: expected 7\.5 or newer"):
        CudaBackend(driver=FakeDriver(capability=(7, 0)))
    with pytest.raises(BackendError, match=r"^WF605: there is no CUDA device 2: 2 found"):
        CudaBackend(2, FakeDriver(devices=2))
    with pytest.raises(BackendError, match=r"^WF605: .*none found"):
        CudaBackend(0, FakeDriver(devices=0))


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Forgets the driver and the backends found so far, before and after."""
    monkeypatch.setattr(cuda_backend, "_driver", cuda_backend._driver.__wrapped__)
    monkeypatch.setattr(cuda_backend, "_found", cuda_backend._found.__wrapped__)
    monkeypatch.setattr(cuda_backend, "backend", cuda_backend.backend.__wrapped__)
    return monkeypatch


def pretend(monkeypatch: pytest.MonkeyPatch, driver: Any) -> None:
    """Makes ``driver`` what ``from cuda.bindings import driver`` gives."""
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


# --- launches ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("bits", "layout"), [(32, NARROW), (64, WIDE)])
def test_arguments_are_packed_as_the_kernel_reads_them(bits: int, layout: tuple[int, ...]) -> None:
    driver = FakeDriver()
    driver.layout = layout
    seen: list[tuple[int, ...]] = []
    driver.kernels["k"] = seen.append
    words = (0x7F00_1234_5678_9ABC, 4096, 5, 70_000, 8192, -3)
    CudaBackend(driver=driver).launch(artifact(bits), [call(*words), call(*words)], 77)
    assert seen == [words, words]
    assert driver.launches[0][:4] == ("k", (3, 2, 1), (256, 1, 1), 77)


def test_a_second_launch_makes_one_driver_call(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout, driver.current = NARROW, 1000
    backend.launch(artifact(), [call(1, 2, 3, 4, 5, 6)], 0)
    assert "cuModuleLoadDataEx" in driver.names()
    backend.launch(artifact(), [call(1, 2, 3, 4, 5, 6)], 0)
    assert driver.names() == ["cuCtxGetCurrent", "cuLaunchKernelEx"]
    backend.launch(artifact(key="other"), [call(1, 2, 3, 4, 5, 6)], 0)
    assert "cuModuleLoadDataEx" in driver.names()


def test_artifacts_without_a_key_are_told_apart_by_their_code(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout = NARROW
    for ptx, loads in (("one", 1), ("two", 1), ("one", 0)):
        backend.launch(artifact(key="", ptx=ptx), [call(1, 2, 3, 4, 5, 6)], 0)
        assert driver.names().count("cuModuleLoadDataEx") == loads


def test_the_callers_context_comes_back(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout, driver.current = NARROW, 42
    inside = []
    driver.kernels["k"] = lambda _: inside.append(driver.current)
    backend.launch(artifact(), [call(1, 2, 3, 4, 5, 6)], 0)
    driver.fail["cuLaunchKernelEx"] = Status.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(BackendError):
        backend.launch(artifact(), [call(1, 2, 3, 4, 5, 6)], 0)
    assert (inside, driver.current, driver.stack) == ([1000], 42, [])


def test_machine_code_is_preferred_where_it_fits(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout = NARROW
    for number, (cubins, image) in enumerate((({"sm_90a": b"cubin"}, b"cubin"), ({"sm_80": b"old"}, b"ptx\0"))):
        backend.launch(artifact(key=str(number), cubins=cubins), [call(1, 2, 3, 4, 5, 6)], 0)
        assert next(args for name, args in driver.calls if name == "cuModuleLoadDataEx")[0] == image
        driver.names()


def test_nothing_to_launch(driver: FakeDriver, backend: CudaBackend) -> None:
    backend.launch(artifact(), [], 0)
    assert driver.names() == []


def test_threads_do_not_mix_their_arguments(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout = NARROW
    seen: list[tuple[int, ...]] = []
    driver.kernels["k"] = seen.append
    driver.current = 1000
    backend.launch(artifact(), [call(0, 0, 0, 0, 0, 0)], 0)

    def work(n: int) -> None:
        for _ in range(200):
            backend.launch(artifact(), [call(n, n, n, n, n, n)], n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(seen) == 801
    assert all(len(set(words)) == 1 for words in seen)


# --- host arrays -------------------------------------------------------------------------------------------------
def double(words: tuple[int, ...]) -> None:
    """A kernel: output[i] = 2 * input[i * stride]."""
    start, to, count, _, _, stride = words
    for i in range(count):
        x = ctypes.c_float.from_address(start + 4 * i * stride).value
        ctypes.c_float.from_address(to + 4 * i).value = 2 * x


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_host_arrays_go_over_and_come_back(driver: FakeDriver, backend: CudaBackend, step: int) -> None:
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
def test_what_lies_between_the_elements_of_a_host_result_stays(
    driver: FakeDriver, backend: CudaBackend, step: int
) -> None:
    """The kernel's copy of it holds no values of the caller's; another thread may write it meanwhile."""

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


def test_the_parts_of_a_complex_host_result_meet(driver: FakeDriver, backend: CudaBackend) -> None:
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
    whole = cuda_backend.WORKSPACE
    assert whole == 1 << 20
    first = backend.workspace(1, 1, 5)
    assert driver.names().count("cuMemAlloc") == 1
    assert backend.workspace(whole - cuda_backend.TICKETS, cuda_backend.TICKETS // 4, 5) == first
    assert driver.names() == ["cuCtxGetCurrent", "cuCtxPushCurrent", "cuStreamGetCaptureInfo", "cuCtxPopCurrent"]
    (block,) = driver.memory.values()
    ends = first.partials + whole - cuda_backend.TICKETS, first.counters + cuda_backend.TICKETS
    assert ends == (max(driver.memory) + whole, first.partials)
    assert whole <= ctypes.sizeof(block) <= whole + 256  # and what the stand-in aligns with


def test_a_plan_of_the_users_may_ask_for_more_and_what_kernels_may_still_use_is_kept(
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


# --- errors ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("status", "text"),
    [
        (Status.CUDA_ERROR_INVALID_VALUE, "cuStreamSynchronize failed with CUDA_ERROR_INVALID_VALUE: text of 1"),
        (Status.CUDA_ERROR_ILLEGAL_ADDRESS, r"an earlier kernel .*(?s:.*)restart the process"),
        (Status.CUDA_ERROR_NOT_INITIALIZED, r"(?s:.*)spawn"),
        (Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, r"(?s:.*)host arrays need copies"),
    ],
)
def test_driver_errors(driver: FakeDriver, backend: CudaBackend, status: Status, text: str) -> None:
    driver.fail["cuStreamSynchronize"] = status
    with pytest.raises(BackendError, match=rf"^WF601: .*{text}"):
        backend.synchronize(0)


def test_out_of_memory_names_the_size_and_leaves_nothing(driver: FakeDriver, backend: CudaBackend) -> None:
    bound = arrays.view(np.zeros(10, np.float32))
    backend.bind(bound, write=False, stream=0)
    driver.fail["cuMemAllocAsync"] = Status.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(BackendError, match=r"^WF603: out of memory on cuda:0: cuMemAllocAsync asked for \d+ bytes"):
        backend.bind(arrays.view(np.zeros(1000, np.float32)), write=True, stream=0)
    backend.finish([], 0)
    assert driver.memory == {}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (Status.CUDA_ERROR_INVALID_PTX, r"line 7: not PTX(?s:.*)arch='sm_90a'"),
        (Status.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, r"(?s:.*)update the driver"),
    ],
)
def test_code_that_does_not_load(driver: FakeDriver, backend: CudaBackend, status: Status, text: str) -> None:
    def refuse(_: bytes, __: int, options: list[str], values: list[Any]) -> Any:
        values[options.index("log")][:17] = b"line 7: not PTX\n\0"
        return status, 0

    driver.cuModuleLoadDataEx = refuse  # type: ignore[method-assign]
    with pytest.raises(BackendError, match=rf"^WF609: the driver cannot load sum for sm_90a: {status.name}: .*{text}"):
        backend.launch(artifact(), [call(1, 2, 3, 4, 5, 6)], 0)


def test_flush_writes_more_than_a_cache_holds(driver: FakeDriver, backend: CudaBackend) -> None:
    for _ in range(2):
        backend.flush(4)
    made = [args for name, args in driver.calls if name == "cuMemAlloc"]
    written = [args for name, args in driver.calls if name == "cuMemsetD32Async" and args[-1] == 4]
    assert len(made) == 1  # kept for the next time
    assert [4 * words for _, _, words, _ in written] == [made[0][0]] * 2
    assert made[0][0] > 256 << 20
    driver.names()
    backend.close()
    assert "cuMemFree" in driver.names()


def test_elapsed(driver: FakeDriver, backend: CudaBackend) -> None:
    ran = []
    assert backend.elapsed(lambda: ran.append(1), 4) == 250.0
    assert ran == [1]
    names = driver.names()
    assert names.count("cuEventCreate") == names.count("cuEventDestroy") == 2


def test_waiting(fresh: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()
    pretend(fresh, driver)
    cuda_backend.wait(0)
    assert "cuCtxSynchronize" in driver.names()


# --- on a real device ----------------------------------------------------------------------------------------------
BIG = 1 << 22


class Recorder:
    """The real driver, with the names of the calls that pass through it."""

    def __init__(self, driver: Any) -> None:
        self.driver, self.names = driver, list[str]()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cu"):
            self.names.append(name)
        return getattr(self.driver, name)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = cuda_backend.backend(0)
    recorder = Recorder(made._d)
    monkeypatch.setattr(made, "_d", recorder)
    return recorder


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.gpu
def test_gpu_is_described() -> None:
    found = cuda_backend.find()
    made = cuda_backend.backend(0)
    assert Device("cuda", 0) in found
    assert made is cuda_backend.backend(0)
    assert made.sms > 0
    assert made.target.arch.startswith("sm_")
    assert made.device_name


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32", "float16", "float32", "float64", "bool"])
def test_gpu_numpy_round_trip(dtype: str) -> None:
    from warpfold.runtime import api

    x = (np.arange(60_000) % 2).astype(dtype).reshape(300, 200)
    for view in (x, x[::-1, ::2], x.T, x[3:, 5:], np.broadcast_to(x[:1], (7, 200))):
        for axis in (None, 0, 1):
            got = api.sum(view, axis, device="cuda")
            assert isinstance(got, np.ndarray if axis is not None else np.generic)
            assert np.array_equal(got, view.astype(np.float64).sum(axis).astype(got.dtype))
    out = np.full(200, 9, api.sum(x, 0, device="cuda").dtype)
    assert api.sum(x, 0, out=out, device="cuda") is out
    assert np.array_equal(out, x.astype(np.float64).sum(0).astype(out.dtype))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "complex128"])
def test_gpu_host_results_leave_their_neighbours_alone(dtype: str) -> None:
    from warpfold.runtime import api

    x = (np.arange(6000) % 5).reshape(60, 100).astype(dtype) * (1 - 2j if dtype[0] == "c" else 1)
    x = x.astype(dtype)
    memory = np.full((100, 3), 9, api.sum(x, 0, device="cuda").dtype)
    api.sum(x, 0, out=memory[:, 1], device="cuda")
    api.sum(x, 0, out=memory[::-1, 0], device="cuda")
    wanted = x.sum(0, dtype=memory.dtype)
    assert np.array_equal(memory, np.stack([wanted[::-1], wanted, np.full(100, 9, memory.dtype)], 1))


@pytest.mark.gpu
def test_gpu_torch_stays_on_the_device(torch: Any, recorder: Recorder) -> None:
    """A warm call copies nothing, waits for nothing, and allocates nothing but the result, which PyTorch does."""
    from warpfold.runtime import api

    for shape, axis in (((BIG,), None), ((64, 4096), 1), ((4096, 64), 0)):
        x = torch.ones(shape, device="cuda")
        api.sum(x, axis)
        recorder.names.clear()
        got = api.sum(x, axis)
        assert isinstance(got, torch.Tensor)
        assert got.device == x.device
        assert torch.equal(got, x.sum(axis) if axis is not None else x.sum())
        assert recorder.names == []  # the launch itself is called by address


@pytest.mark.gpu
def test_gpu_torch_views_and_dtypes(torch: Any) -> None:
    from warpfold.runtime import api

    x = torch.arange(600, device="cuda", dtype=torch.float32).reshape(20, 30)
    for view in (x.t(), x[:, ::3], x[1:, 2:], x[:1].expand(5, 30), x.requires_grad_()):
        assert torch.equal(api.sum(view, 0), view.detach().sum(0))
    half = torch.ones(1000, device="cuda", dtype=torch.bfloat16)
    assert api.sum(half).dtype == torch.bfloat16
    out = torch.empty(30, device="cuda")
    assert api.sum(x.detach(), 0, out=out) is out
    assert torch.equal(out, x.detach().sum(0))
    with pytest.raises(ArgumentError, match=r"^WF112: out lies on cpu: the inputs lie on cuda:0"):
        api.sum(x, 0, out=torch.empty(30))
    with pytest.raises(ArgumentError, match=r"^WF111"):
        api.sum(x.detach(), 0, out=x.detach()[0])


@pytest.mark.gpu
def test_gpu_torch_out_of_any_strides(torch: Any) -> None:
    from warpfold.runtime import api

    x = torch.arange(600, device="cuda", dtype=torch.float32).reshape(20, 30)
    memory = torch.full((30, 4), 7.0, device="cuda")
    api.sum(x, 0, out=memory[:, 2])
    assert torch.equal(memory[:, 2], x.sum(0))
    assert bool((memory[:, [0, 1, 3]] == 7).all())
    table = torch.zeros(20, 31, device="cuda")
    table[:, 1:] = x
    api.sum(table[:, 1:], 1, out=table[:, 0])  # beside the elements, none of them
    assert torch.equal(table, torch.cat([x.sum(1, keepdim=True), x], 1))
    with pytest.raises(ArgumentError, match=r"^WF110"):
        api.sum(x, 0, out=torch.zeros(1, device="cuda").expand(30))
    with pytest.raises(ArgumentError, match=r"^WF111"):
        api.sum(x, 0, out=x.view(-1)[::20])


@pytest.mark.gpu
def test_gpu_torch_complex_and_8_bit_floats(torch: Any) -> None:
    from warpfold.runtime import api

    z = torch.complex(torch.arange(600.0) % 7, torch.arange(600.0) % 5).reshape(20, 30).cuda()
    for view in (z, z.t(), z.conj(), z[:, ::2], z.to(torch.complex128)):
        assert torch.equal(api.sum(view, 0), view.sum(0))
    out = torch.zeros(30, 2, device="cuda", dtype=z.dtype)
    api.sum(z, 0, out=out[:, 1])
    assert torch.equal(out, torch.stack([torch.zeros_like(out[:, 0]), z.sum(0)], 1))
    for kind in (torch.float8_e4m3fn, torch.float8_e5m2):
        small = (torch.arange(6000, device="cuda") % 5).reshape(60, 100).to(kind)
        assert torch.equal(api.sum(small, 0, dtype="f32"), small.float().sum(0))


@pytest.mark.gpu
def test_gpu_copies_from_and_to_numpy(torch: Any) -> None:
    x = np.arange(24, dtype=np.int64).reshape(4, 6)
    made = arrays.from_numpy(torch.zeros(1, device="cuda"), x[:, ::-2])
    assert (made.device.type, made.dtype, made.tolist()) == ("cuda", torch.int64, x[:, ::-2].tolist())
    torch.cuda._sleep(50_000_000)
    made += 1  # queued: the copy waits for it
    assert arrays.to_numpy(made.t()[1:]).tolist() == (x[:, ::-2].T[1:] + 1).tolist()


@pytest.mark.gpu
def test_gpu_torch_stream_is_honoured(torch: Any) -> None:
    """On another stream than the caller's the sum would run while the caller's stream still sleeps, and see zeros."""
    from warpfold.runtime import api

    x = torch.zeros(BIG, device="cuda")
    api.sum(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        api.sum(x)  # so that the stream has its scratch memory
        torch.cuda._sleep(200_000_000)
        x.fill_(1)
        got = api.sum(x)
    assert not stream.query()  # the call came back before the work was done
    stream.synchronize()
    assert got.item() == BIG


@pytest.mark.gpu
def test_gpu_two_streams_at_once(torch: Any) -> None:
    """Full reductions share scratch memory only within a stream; each of two threads has its own stream."""
    from warpfold.runtime import api

    arrays_of = [torch.full((BIG,), float(n), device="cuda") for n in (1, 2)]
    torch.cuda.synchronize()
    wrong: list[object] = []

    def work(x: Any, expected: float) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            found = [api.sum(x) for _ in range(300)]
            stream.synchronize()
            wrong.extend(f.item() for f in found if f.item() != expected)

    threads = [threading.Thread(target=work, args=(x, float(BIG * n))) for n, x in enumerate(arrays_of, start=1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.gpu
def test_gpu_graph_capture_and_replay(torch: Any) -> None:
    """A graph replays beside other work of the stream that captured it, with other data than it was captured on."""
    from warpfold.runtime import api

    x, y = torch.ones(BIG, device="cuda"), torch.full((BIG,), 3.0, device="cuda")
    out = torch.zeros((), device="cuda")
    api.sum(x, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        api.sum(x, out=out)
    for value in (2.0, 5.0):
        x.fill_(value)
        out.zero_()
        graph.replay()
        beside = api.sum(y)
        torch.cuda.synchronize()
        assert (out.item(), beside.item()) == (value * BIG, 3.0 * BIG)


@pytest.mark.gpu
def test_gpu_cupy() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    from warpfold.runtime import api

    x = cupy.arange(6000, dtype=cupy.float32).reshape(60, 100) % 7
    got = api.sum(x, 0)
    assert isinstance(got, cupy.ndarray)
    assert cupy.array_equal(got, x.sum(0))
    assert api.sum(x).shape == ()
    assert cupy.array_equal(api.max(x[::-1, ::3], 1), x[::-1, ::3].max(1))
    memory = cupy.full((100, 3), 7, cupy.float32)
    api.sum(x, 0, out=memory[::-1, 1])
    assert cupy.array_equal(memory[:, 1], x.sum(0)[::-1])
    assert bool((memory[:, ::2] == 7).all())
    z = (x * (1 - 2j)).astype(cupy.complex64)
    assert cupy.array_equal(api.sum(z[:, ::-1], 0), z[:, ::-1].sum(0))
    assert arrays.to_numpy(z).tolist() == z.get().tolist()
    assert cupy.array_equal(arrays.from_numpy(x, x.get()), x)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        assert arrays.stream_of(x) == stream.ptr
        assert int(api.sum(cupy.ones(BIG, cupy.float32))) == BIG


@pytest.mark.gpu
def test_gpu_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from warpfold.runtime import api

    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    x = jax.numpy.arange(6000, dtype=jax.numpy.float32).reshape(60, 100) % 7
    for axis in (None, 0, 1):
        got = api.sum(x, axis)
        assert isinstance(got, jax.Array)
        assert got.devices() == x.devices()
        assert got.shape == x.sum(axis).shape
        assert np.array_equal(np.asarray(got), np.asarray(x).sum(axis))
        assert np.array_equal(np.asarray(got + 1), np.asarray(x).sum(axis) + 1)  # JAX's next step sees the result
    counts = jax.numpy.ones(1000, jax.numpy.int32)
    assert api.sum(counts).dtype == np.int64  # not cut to 32 bits
    half = jax.numpy.ones(1000, jax.numpy.bfloat16)
    assert api.sum(half).dtype == half.dtype
    assert bool(api.any(half > 0))
    z = x * (1 - 2j)
    assert api.sum(z, 0).dtype == z.dtype
    assert np.array_equal(np.asarray(api.sum(z, 0)), np.asarray(z).sum(0))
    small = x.astype(jax.numpy.float8_e5m2)
    assert float(api.sum(small, dtype="f32")) == float(small.astype("float32").sum())
    assert arrays.to_numpy(z).tolist() == np.asarray(z).tolist()
    made = arrays.from_numpy(x, np.arange(5))
    assert (made.devices(), made.dtype, made.tolist()) == (x.devices(), np.int64, [0, 1, 2, 3, 4])


@pytest.mark.gpu
def test_gpu_cuda_array_interface(torch: Any) -> None:
    """A producer that names neither library nor device: the driver knows where the memory lies."""
    from warpfold.runtime import api

    x = torch.arange(1000.0, device="cuda")

    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__

    assert arrays.view(Foreign()).device == Device("cuda", 0)
    got = api.sum(Foreign())
    assert isinstance(got, np.generic)
    assert got == x.sum().item()


@pytest.mark.gpu
def test_gpu_context_of_a_bare_thread_comes_back() -> None:
    """A thread that never used CUDA has no current context before the call, and none after it."""
    from warpfold.runtime import api

    seen: list[object] = []

    def work() -> None:
        seen.append(api.sum(np.ones(1000, np.float32), device="cuda"))
        seen.append(int(cuda_backend._driver().cuCtxGetCurrent()[1]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [1000, 0]


@pytest.mark.gpu
def test_gpu_code_that_does_not_load() -> None:
    bad = artifact(key="bad", ptx=".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { nonsense; }\n")
    with pytest.raises(BackendError, match=r"^WF609: the driver cannot load sum.*(?s:.*)nonsense"):
        cuda_backend.backend(0).launch(bad, [call(1, 2, 3, 4, 5, 6)], 0)
    assert np.float32(3) == sum_of_three()  # the context survives


def sum_of_three() -> Any:
    from warpfold.runtime import api

    return api.sum(np.ones(3, np.float32), device="cuda")


@pytest.mark.gpu
def test_gpu_machine_code_runs(tmp_path: Path) -> None:
    from warpfold.runtime import api, ptxas

    if ptxas.find_ptxas() is None:
        pytest.skip("ptxas is not installed")
    made = cuda_backend.backend(0)
    path = tmp_path / "sum.wf"
    api.compile("sum", (1000,), arch=made.target.arch).save(path, cubins=[made.target.arch])
    assert api.load(path)(np.ones(1000, np.float32), device="cuda") == 1000


@pytest.mark.gpu
def test_gpu_elapsed(torch: Any) -> None:
    made = cuda_backend.backend(0)
    short = made.elapsed(lambda: None)
    long = made.elapsed(lambda: torch.cuda._sleep(20_000_000))
    assert 0 <= short < 1000 < long
