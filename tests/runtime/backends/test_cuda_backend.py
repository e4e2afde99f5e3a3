"""The CUDA backend: launches on the stand-in for the driver, and calls on a real device."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_cuda import NARROW, WIDE, artifact, backend, call, driver
from fake_driver import FakeDriver, Status

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, BackendError
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.plan.shared_memory import waiting_bytes
from warpfold.runtime.arrays import conversion as arrays
from warpfold.runtime.backends import cuda_backend, cuda_driver
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.load import load
from warpfold.runtime.view import Device

__all__ = ["backend", "driver"]


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


@pytest.mark.parametrize(("version", "attribute"), [(13000, 6), (12020, 0)])
def test_a_launch_that_follows_begins_early(driver: FakeDriver, version: int, attribute: int) -> None:
    """The attribute is ``CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION``, which graphs take since CUDA 12.3."""
    driver.layout = NARROW
    driver.cuDriverGetVersion = lambda: (0, version)  # type: ignore[method-assign]
    first = call(1, 2, 3, 4, 5, 6)
    CudaBackend(driver=driver).launch(artifact(), [first, first._replace(follows=True)], 0)
    assert [launch.attribute for launch in driver.launches] == [0, attribute]


def test_artifacts_without_a_key_are_told_apart_by_their_code(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout = NARROW
    for ptx, loads in (("one", 1), ("two", 1), ("one", 0)):
        backend.launch(artifact(key="", ptx=ptx), [call(1, 2, 3, 4, 5, 6)], 0)
        assert driver.names().count("cuModuleLoadDataEx") == loads


def test_machine_code_is_preferred_where_it_fits(driver: FakeDriver, backend: CudaBackend) -> None:
    driver.layout = NARROW
    for number, (cubins, image) in enumerate((({"sm_90a": b"cubin"}, b"cubin"), ({"sm_80": b"old"}, b"ptx\0"))):
        backend.launch(artifact(key=str(number), cubins=cubins), [call(1, 2, 3, 4, 5, 6)], 0)
        assert next(args for name, args in driver.calls if name == "cuModuleLoadDataEx")[0] == image
        driver.names()


@pytest.mark.parametrize("held", [1, 32])
def test_rows_that_wait_get_dynamic_shared_memory(driver: FakeDriver, backend: CudaBackend, held: int) -> None:
    """Also more than a launch may have without asking."""
    driver.layout, nbytes = NARROW, 4 * 4 * 128 * held
    plain = artifact()
    plan = Plan(vector=4, warps=4, resident="shared", held=held)
    facts = replace(plain.main.facts, waiting=(0,))
    waits = replace(plain, kernels=(replace(plain.main, plan=plan, facts=facts),))
    assert waiting_bytes(plan, facts, waits.inputs) == nbytes
    backend.launch(waits, [call(1, 2, 3, 4, 5, 6)._replace(shared=nbytes)], 0)
    assert driver.launches[-1].shared == nbytes


@pytest.mark.parametrize(("cluster", "asks"), [(8, False), (16, True)])
def test_large_clusters_are_asked_for(driver: FakeDriver, backend: CudaBackend, cluster: int, asks: bool) -> None:
    driver.layout, plain = NARROW, artifact()
    backend.launch(
        replace(plain, kernels=(replace(plain.main, plan=Plan(cluster=cluster)),)), [call(1, 2, 3, 4, 5, 6)], 0
    )
    assert ("clusters" in driver.names()) == asks


def test_no_launch_for_no_elements(driver: FakeDriver, backend: CudaBackend) -> None:
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


# --- on a real device --------------------------------------------------------------------------------------------
BIG = 1 << 22


class Recorder:
    """The real driver, which records the names of the calls."""

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
    x = (np.arange(60_000) % 2).astype(dtype).reshape(300, 200)
    for view in (x, x[::-1, ::2], x.T, x[3:, 5:], np.broadcast_to(x[:1], (7, 200))):
        for axis in (None, 0, 1):
            got = wf.sum(view, axis, device="cuda")
            assert isinstance(got, np.ndarray if axis is not None else np.generic)
            assert np.array_equal(got, view.astype(np.float64).sum(axis).astype(got.dtype))
    out = np.full(200, 9, wf.sum(x, 0, device="cuda").dtype)
    assert wf.sum(x, 0, out=out, device="cuda") is out
    assert np.array_equal(out, x.astype(np.float64).sum(0).astype(out.dtype))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "complex128"])
def test_gpu_host_results_leave_their_neighbours_alone(dtype: str) -> None:
    x = (np.arange(6000) % 5).reshape(60, 100).astype(dtype) * (1 - 2j if dtype[0] == "c" else 1)
    x = x.astype(dtype)
    memory = np.full((100, 3), 9, wf.sum(x, 0, device="cuda").dtype)
    wf.sum(x, 0, out=memory[:, 1], device="cuda")
    wf.sum(x, 0, out=memory[::-1, 0], device="cuda")
    wanted = x.sum(0, dtype=memory.dtype)
    assert np.array_equal(memory, np.stack([wanted[::-1], wanted, np.full(100, 9, memory.dtype)], 1))


@pytest.mark.gpu
def test_gpu_torch_stays_on_the_device(torch: Any, recorder: Recorder) -> None:
    """A warm call copies nothing, waits for nothing, and allocates only the result, through PyTorch."""
    for shape, axis in (((BIG,), None), ((64, 4096), 1), ((4096, 64), 0)):
        x = torch.ones(shape, device="cuda")
        wf.sum(x, axis)
        recorder.names.clear()
        got = wf.sum(x, axis)
        assert isinstance(got, torch.Tensor)
        assert got.device == x.device
        assert torch.equal(got, x.sum(axis) if axis is not None else x.sum())
        assert recorder.names == []  # the launch itself is called by address


@pytest.mark.gpu
def test_gpu_torch_views_and_dtypes(torch: Any) -> None:
    x = torch.arange(600, device="cuda", dtype=torch.float32).reshape(20, 30)
    for view in (x.t(), x[:, ::3], x[1:, 2:], x[:1].expand(5, 30)):
        assert torch.equal(wf.sum(view, 0), view.sum(0))
    half = torch.ones(1000, device="cuda", dtype=torch.bfloat16)
    assert wf.sum(half).dtype == torch.bfloat16
    out = torch.empty(30, device="cuda")
    assert wf.sum(x.detach(), 0, out=out) is out
    assert torch.equal(out, x.detach().sum(0))
    with pytest.raises(ArgumentError, match=r"^WF112: out is on cpu: the inputs are on cuda:0"):
        wf.sum(x, 0, out=torch.empty(30))
    with pytest.raises(ArgumentError, match=r"^WF186"):
        wf.sum(x.detach(), 0, out=x.detach()[0])


@pytest.mark.gpu
def test_gpu_torch_out_of_any_strides(torch: Any) -> None:
    x = torch.arange(600, device="cuda", dtype=torch.float32).reshape(20, 30)
    memory = torch.full((30, 4), 7.0, device="cuda")
    wf.sum(x, 0, out=memory[:, 2])
    assert torch.equal(memory[:, 2], x.sum(0))
    assert bool((memory[:, [0, 1, 3]] == 7).all())
    table = torch.zeros(20, 31, device="cuda")
    table[:, 1:] = x
    wf.sum(table[:, 1:], 1, out=table[:, 0])  # beside the elements, none of them
    assert torch.equal(table, torch.cat([x.sum(1, keepdim=True), x], 1))
    with pytest.raises(ArgumentError, match=r"^WF110"):
        wf.sum(x, 0, out=torch.zeros(1, device="cuda").expand(30))
    with pytest.raises(ArgumentError, match=r"^WF186"):
        wf.sum(x, 0, out=x.view(-1)[::20])


@pytest.mark.gpu
def test_gpu_torch_complex_and_8_bit_floats(torch: Any) -> None:
    z = torch.complex(torch.arange(600.0) % 7, torch.arange(600.0) % 5).reshape(20, 30).cuda()
    for view in (z, z.t(), z.conj(), z[:, ::2], z.to(torch.complex128)):
        assert torch.equal(wf.sum(view, 0), view.sum(0))
    out = torch.zeros(30, 2, device="cuda", dtype=z.dtype)
    wf.sum(z, 0, out=out[:, 1])
    assert torch.equal(out, torch.stack([torch.zeros_like(out[:, 0]), z.sum(0)], 1))
    for kind in (torch.float8_e4m3fn, torch.float8_e5m2):
        small = (torch.arange(6000, device="cuda") % 5).reshape(60, 100).to(kind)
        assert torch.equal(wf.sum(small, 0, dtype="f32"), small.float().sum(0))


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
    """On another stream the sum would run while the caller's stream still sleeps, and read zeros."""
    x = torch.zeros(BIG, device="cuda")
    wf.sum(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        wf.sum(x)  # so that the stream has its scratch memory
        torch.cuda._sleep(200_000_000)
        x.fill_(1)
        got = wf.sum(x)
    assert not stream.query()  # the call came back before the work was done
    stream.synchronize()
    assert got.item() == BIG


@pytest.mark.gpu
def test_gpu_two_streams_at_once(torch: Any) -> None:
    """Full reductions share scratch memory only within a stream; each of two threads has its own stream."""
    arrays_of = [torch.full((BIG,), float(n), device="cuda") for n in (1, 2)]
    torch.cuda.synchronize()
    wrong: list[object] = []

    def work(x: Any, expected: float) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            found = [wf.sum(x) for _ in range(300)]
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
    """A graph replays beside other work of the stream that captured it, with new data."""
    x, y = torch.ones(BIG, device="cuda"), torch.full((BIG,), 3.0, device="cuda")
    out = torch.zeros((), device="cuda")
    wf.sum(x, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        wf.sum(x, out=out)
    for value in (2.0, 5.0):
        x.fill_(value)
        out.zero_()
        graph.replay()
        beside = wf.sum(y)
        torch.cuda.synchronize()
        assert (out.item(), beside.item()) == (value * BIG, 3.0 * BIG)


@pytest.mark.gpu
def test_gpu_cupy() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    x = cupy.arange(6000, dtype=cupy.float32).reshape(60, 100) % 7
    got = wf.sum(x, 0)
    assert isinstance(got, cupy.ndarray)
    assert cupy.array_equal(got, x.sum(0))
    assert wf.sum(x).shape == ()
    assert cupy.array_equal(wf.max(x[::-1, ::3], 1), x[::-1, ::3].max(1))
    memory = cupy.full((100, 3), 7, cupy.float32)
    wf.sum(x, 0, out=memory[::-1, 1])
    assert cupy.array_equal(memory[:, 1], x.sum(0)[::-1])
    assert bool((memory[:, ::2] == 7).all())
    z = (x * (1 - 2j)).astype(cupy.complex64)
    assert cupy.array_equal(wf.sum(z[:, ::-1], 0), z[:, ::-1].sum(0))
    assert arrays.to_numpy(z).tolist() == z.get().tolist()
    assert cupy.array_equal(arrays.from_numpy(x, x.get()), x)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        assert arrays.stream_of(x) == stream.ptr
        assert int(wf.sum(cupy.ones(BIG, cupy.float32))) == BIG


@pytest.mark.gpu
def test_gpu_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    x = jax.numpy.arange(6000, dtype=jax.numpy.float32).reshape(60, 100) % 7
    for axis in (None, 0, 1):
        got = wf.sum(x, axis)
        assert isinstance(got, jax.Array)
        assert got.devices() == x.devices()
        assert got.shape == x.sum(axis).shape
        assert np.array_equal(np.asarray(got), np.asarray(x).sum(axis))
        assert np.array_equal(np.asarray(got + 1), np.asarray(x).sum(axis) + 1)  # JAX's next step sees the result
    counts = jax.numpy.ones(1000, jax.numpy.int32)
    assert wf.sum(counts).dtype == np.int64  # not cut to 32 bits
    half = jax.numpy.ones(1000, jax.numpy.bfloat16)
    assert wf.sum(half).dtype == half.dtype
    assert bool(wf.any(half > 0))
    z = x * (1 - 2j)
    assert wf.sum(z, 0).dtype == z.dtype
    assert np.array_equal(np.asarray(wf.sum(z, 0)), np.asarray(z).sum(0))
    small = x.astype(jax.numpy.float8_e5m2)
    assert float(wf.sum(small, dtype="f32")) == float(small.astype("float32").sum())
    assert arrays.to_numpy(z).tolist() == np.asarray(z).tolist()
    made = arrays.from_numpy(x, np.arange(5))
    assert (made.devices(), made.dtype, made.tolist()) == (x.devices(), np.int64, [0, 1, 2, 3, 4])


@pytest.mark.gpu
def test_gpu_cuda_array_interface(torch: Any) -> None:
    """The producer names neither library nor device: the driver knows where the memory is."""
    x = torch.arange(1000.0, device="cuda")

    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__

    assert arrays.view(Foreign()).device == Device("cuda", 0)
    got = wf.sum(Foreign())
    assert isinstance(got, np.generic)
    assert got == x.sum().item()


@pytest.mark.gpu
def test_gpu_context_of_a_bare_thread_comes_back() -> None:
    """A thread that never used CUDA has no current context before the call, and none after it."""
    seen: list[object] = []

    def work() -> None:
        seen.append(wf.sum(np.ones(1000, np.float32), device="cuda"))
        seen.append(int(cuda_driver.load().cuCtxGetCurrent()[1]))

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
    return wf.sum(np.ones(3, np.float32), device="cuda")


@pytest.mark.gpu
def test_gpu_machine_code_runs(tmp_path: Path) -> None:
    from warpfold.runtime import ptxas

    if ptxas.find_ptxas() is None:
        pytest.skip("ptxas is not installed")
    made = cuda_backend.backend(0)
    path = tmp_path / "sum.wf"
    wf.compile("sum", (1000,), arch=made.target.arch).save(path, cubins=[made.target.arch])
    assert load(path)(np.ones(1000, np.float32), device="cuda") == 1000


@pytest.mark.gpu
def test_gpu_elapsed(torch: Any) -> None:
    made = cuda_backend.backend(0)
    short = made.elapsed(lambda: None)
    long = made.elapsed(lambda: torch.cuda._sleep(20_000_000))
    assert 0 <= short < 1000 < long
