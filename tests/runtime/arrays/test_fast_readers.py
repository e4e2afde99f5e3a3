"""Kinds of arrays: what is read of each library's arrays, and which take the slow path."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_gpu import Gpu, Guards, Tensor, gpu

import warpfold as wf
from warpfold.runtime.arrays import fast_readers
from warpfold.runtime.arrays.fast_readers import READERS, kinds_of

__all__ = ["gpu"]
ROWS = np.arange(60, dtype=np.float32).reshape(5, 12)


class Parameter(Tensor):
    """A minimal ``torch.nn.Parameter``."""

    __module__ = "torch.nn.parameter"


def test_arrays_of_one_kind(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor that requires gradients has a kind where none are recorded; else its results are no repetition."""
    x = gpu.tensor(ROWS)
    alike = gpu.tensor(ROWS * 2)
    assert kinds_of([x]) == kinds_of([alike])
    gradient = gpu.tensor(ROWS)
    gradient.requires_grad = True
    others = [
        Parameter(x.a),
        x[:4], x[:, ::2], Tensor(x.a.T), gpu.tensor(ROWS.astype(np.int32)), gpu.tensor(ROWS, offset=4), gradient,
        gpu.tensor(ROWS, device=1), Tensor(x.a, neg=True),
    ]  # fmt: skip
    assert kinds_of([gradient]) is None
    monkeypatch.setattr(sys.modules["torch"], "is_grad_enabled", lambda: False)
    assert len(set(kinds_of([x, *others]))) == 1 + len(others)  # type: ignore[arg-type]


def test_arrays_without_a_kind(gpu: Gpu) -> None:
    class Sub(Tensor):
        pass

    class Sparse(Tensor):
        def stride(self) -> tuple[int, ...]:
            raise RuntimeError("sparse tensors do not have strides")

    x = gpu.tensor(ROWS)
    for other in (ROWS, np.ma.array(1.0), [1.0], 3, np.float32(3), None, Sub(x.a), "text"):
        assert kinds_of([x, other]) is None
    Sparse.__name__ = "Tensor"
    assert kinds_of([Sparse(x.a)]) is None


def test_numbers_are_read_as_words_and_arrays_given_twice_have_kinds_of_their_own(gpu: Gpu) -> None:
    x, y = gpu.tensor(ROWS), gpu.tensor(ROWS)
    assert kinds_of([x, x]) != kinds_of([x, y]) == kinds_of([y, x])
    assert kinds_of([x, np.array(1.5)]) != kinds_of([x, np.array(1)])
    read = READERS[np.ndarray]
    assert read is not None
    for value in (np.array(-2, np.int16), np.array(1.5, np.float32), np.array(2**64 - 1, np.uint64), np.array(True)):
        assert read.address(value).to_bytes(8, "little")[: value.itemsize] == value.tobytes()
        assert read.address(value) < 2 ** (8 * value.itemsize)


def test_the_stream_is_the_threads_own(gpu: Gpu) -> None:
    x = gpu.tensor(ROWS)
    stream = READERS[type(x)].stream(x)  # type: ignore[union-attr]
    for number in (0, 7):
        gpu.stream.use(number)
        assert stream() == number


# --- what PyTorch has for its own compiler ------------------------------------------------------------------------
class Lying(Guards):
    """Guards of a PyTorch in which they mean something else."""

    def check(self, *_: Any) -> bool:
        return True


class Changed:
    """Guards that take other arguments."""


@pytest.mark.parametrize(("guards", "used"), [(Guards, True), (Lying, False), (Changed, False), (None, False)])
def test_guards_are_used_where_they_do_what_is_expected(
    monkeypatch: pytest.MonkeyPatch, guards: Any, used: bool
) -> None:
    made = Gpu(1)
    torch = made.module(True)
    torch.int32 = made.tensor(np.zeros(1, np.int32)).dtype  # type: ignore[attr-defined]

    def empty(shape: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        found = made.tensor(np.zeros(shape, dtype.name if dtype else np.float32), 1 if device else 0)
        found.requires_grad = requires_grad
        found.t = lambda: Tensor(found.a.T)  # type: ignore[attr-defined]
        return found

    torch.empty = empty  # type: ignore[attr-defined]
    torch.ones = empty  # type: ignore[attr-defined]
    torch._neg_view = lambda x: Tensor(x.a, neg=True)  # type: ignore[attr-defined]
    if guards:
        torch._C._dynamo = types.SimpleNamespace(guards=types.SimpleNamespace(TensorGuards=guards))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(fast_readers, "_torch_guards", fast_readers._torch_guards.__wrapped__)
    assert fast_readers._torch_guards() is (guards if used else None)
    assert (fast_readers._torch_check({0: empty((2, 3))}) is not None) == used


def checked(xs: Any) -> Any:
    """The test for the kinds of ``xs`` as a function."""
    check = fast_readers.check_of(xs)
    assert check is not None
    return eval(f"lambda {', '.join(f'x{i}' for i in range(len(xs)))}: {check.text}", check.names)


def test_a_nested_tensor_never_meets_a_guard(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's guard asks it for strides, which ends the process."""

    class Deadly(Guards):
        def check(self, *xs: Any) -> bool:
            assert not any(getattr(x, "is_nested", True) for x in xs)
            return super().check(*xs)

    monkeypatch.setattr(fast_readers, "_torch_guards", lambda: Deadly)
    nested = Tensor(gpu.tensor(ROWS).a)
    nested.is_nested = True
    for n in (1, 2, 3):
        first, *more = [gpu.tensor(ROWS) for _ in range(n)]
        check = checked([first, *more])
        assert check(first, *more)
        for other in (nested, ROWS, None):
            assert not check(*more, other)
            assert not check(other, *more)


def test_a_tensor_given_twice(gpu: Gpu) -> None:
    """A call in place gives one, which PyTorch's guard refuses."""
    x, y = (gpu.tensor(ROWS) for _ in range(2))
    if fast_readers._torch_check({0: x}) is None:
        return
    check = checked([x, y, x])
    assert check(x, y, x)
    assert check(y, x, y)
    assert not check(x, y, y)
    assert not check(x, x, x)
    assert not check(x, gpu.tensor(ROWS[:3]), x)


def test_recorded_tensors_take_the_slow_path(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = sys.modules["torch"]
    for n in (1, 2, 3):
        xs = [gpu.tensor(ROWS) for _ in range(n)]
        for modes in (0, 1):
            monkeypatch.setattr(torch, "modes", modes)
            assert (kinds_of(xs) is None) == modes
            if fast_readers._torch_check(dict(enumerate(xs))) is not None:
                assert checked(xs)(*xs) == (modes == 0)
    monkeypatch.setattr(torch, "modes", 0)
    assert kinds_of(xs) is not None
    monkeypatch.setattr(torch.jit, "is_tracing", lambda: True)
    assert kinds_of(xs) is None


@pytest.mark.parametrize("devices", [1, 2])
def test_results_are_made_quickly_on_the_current_device(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, devices: int
) -> None:
    torch: Any = sys.modules["torch"]
    state, used = {"device": 0}, list[str]()

    def quick(shape: Any, strides: Any, dtype: Any) -> Tensor:
        used.append("quick")
        assert strides == (12, 1)
        return gpu.tensor(np.zeros(shape, dtype.name), state["device"])

    like = gpu.tensor(ROWS)
    monkeypatch.setattr(torch, "_C", types.SimpleNamespace(
        _dynamo=types.SimpleNamespace(guards=types.SimpleNamespace(_empty_strided_cuda=quick)),
        _cuda_getDevice=lambda: state["device"],
    ))  # fmt: skip
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices, raising=False)
    monkeypatch.setattr(Tensor, "__eq__", lambda a, b: a is b)
    like.device = gpu.tensor(ROWS).device
    empty = fast_readers._torch_empty(like)
    for device in range(devices):
        used.clear()
        state["device"] = device
        made = empty()
        assert (made.number, made.shape, made.dtype) == (0, (5, 12), like.dtype)
        assert used == ([] if device else ["quick"])
    state["device"] = 0
    torch._C._dynamo.guards._empty_strided_cuda = lambda *_: gpu.tensor(np.zeros(3))
    assert fast_readers._torch_empty(like)().shape == (5, 12)


# --- another library ------------------------------------------------------------------------------------------------
class ndarray:  # noqa: N801 - CuPy's name
    """Enough of ``cupy.ndarray``."""

    __module__ = "cupy"

    def __init__(self, a: np.ndarray[Any, Any]) -> None:
        self.a, self.dtype, self.shape, self.strides = a, a.dtype, a.shape, a.strides
        self.data = types.SimpleNamespace(ptr=a.ctypes.data, device_id=0)
        self.device, self.flags, self.nbytes = Device(), a.flags, a.nbytes

    def transpose(self, axes: tuple[int, ...]) -> ndarray:
        return ndarray(self.a.transpose(axes))


class Device:
    """A device that ``with`` makes the current one."""

    id, current = 0, 0

    def __enter__(self) -> None:
        self.before, Device.current = Device.current, self.id

    def __exit__(self, *_: object) -> None:
        Device.current = self.before


@pytest.fixture
def cupy(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module: Any = types.ModuleType("cupy")
    module.ndarray = ndarray
    module.empty = lambda shape, dtype: ndarray(gpu.tensor(np.full(shape, 99, dtype)).a)
    stream = types.SimpleNamespace(ptr=0)
    module.cuda = types.SimpleNamespace(
        get_current_stream=lambda: stream, runtime=types.SimpleNamespace(getDevice=lambda: Device.current)
    )
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(Device, "current", 0)
    return module


def test_calls_with_cupy_arrays_are_remembered(gpu: Gpu, cupy: Any) -> None:
    for factor in (1, 2, 3):
        x = ndarray(gpu.tensor(ROWS * factor).a)
        got, calls = gpu.launched(lambda: wf.sum(x, 1))  # noqa: B023
        assert type(got) is ndarray
        assert got.a.tolist() == (ROWS * factor).sum(1).tolist()
        assert (calls == ["cuLaunchKernelEx"]) == (factor > 1)
    cupy.cuda.get_current_stream().ptr = 9
    for _ in range(2):
        wf.sum(x, 1)
        assert gpu.driver.launches[-1].stream == 9
    Device.current = 1  # results are made on the current device: the long way makes the array's own the current one
    got, calls = gpu.launched(lambda: wf.sum(x, 1))
    assert "cuCtxGetCurrent" in calls
    assert got.a.tolist() == x.a.sum(1).tolist()


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_results_of_remembered_calls_have_the_first_ones_strides(
    gpu: Gpu, cupy: Any, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    """CuPy's own constructor accepts strides only together with memory."""

    def over(shape: Any, dtype: Any, memory: Any, strides: Any) -> ndarray:
        return ndarray(np.ndarray(shape, dtype, memory, strides=strides))

    turned = np.arange(60, dtype=np.float32).reshape(3, 4, 5).transpose(2, 0, 1)
    gpu.tensor(np.zeros(1))
    for factor in (1, 2, 3):
        x = gpu.tensor(turned.transpose(1, 2, 0) * factor)
        x = Tensor(x.a.transpose(2, 0, 1)) if library == "torch" else ndarray(x.a.transpose(2, 0, 1))
        if factor > 1:  # a recipe's
            monkeypatch.setattr(cupy, "ndarray", over)
            cupy.cuda.alloc = lambda nbytes: gpu.tensor(np.full(nbytes, 99, np.uint8)).a.data
        got, calls = gpu.launched(lambda: wf.sum(x, 1))  # noqa: B023
        np.testing.assert_array_equal(got.a, (turned * factor).sum(1))
        assert got.a.strides == turned.sum(1).strides == (4, 20)
        assert (calls == ["cuLaunchKernelEx"]) == (factor > 1)


@pytest.mark.usefixtures("cupy")
def test_two_libraries_in_one_call(gpu: Gpu) -> None:
    for factor in (1, 2, 3):
        x, y = gpu.tensor(ROWS * factor), ndarray(gpu.tensor(ROWS + factor).a)
        got, calls = gpu.launched(lambda: wf.vecdot(x, y))  # noqa: B023
        assert type(got) is Tensor
        assert got.a.tolist() == (x.a * y.a).sum(1).tolist()
    assert calls == ["cuLaunchKernelEx"]
