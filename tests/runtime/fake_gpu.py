"""A simulated GPU: a driver that runs PTX on the emulator, and tensors like PyTorch's in its memory."""

# ruff: noqa: N802 - the driver's own names

from __future__ import annotations

import ctypes
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

sys.path.insert(0, str(Path(__file__).parent))
from fake_driver import OK, FakeDriver

from warpfold.runtime import emulator
from warpfold.runtime.arrays import fast_readers
from warpfold.runtime.backends import cuda_backend
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.calls import recall

HEAP = 96 << 20


class Heap:
    """The memory of all devices: host memory, of which the emulator sees the whole."""

    def __init__(self) -> None:
        raw = np.zeros(HEAP + 256, np.uint8)
        self.bytes = raw[-raw.ctypes.data % 256 :][:HEAP]
        self.start = self.bytes.ctypes.data
        self.used = 0
        self.lock = threading.Lock()
        self.memory = emulator.Memory()
        self.base = self.memory.bind(self.bytes)

    def take(self, nbytes: int) -> int:
        """The address of new memory."""
        with self.lock:
            found, self.used = self.used, self.used + -(-max(1, nbytes) // 512) * 512
        assert self.used <= HEAP
        return self.start + found

    def seen(self, word: int) -> int:
        """A word of arguments for the emulator: it has addresses of its own."""
        inside = self.start <= word <= self.start + HEAP
        return self.base + word - self.start if inside else word


class EmulatedDriver(FakeDriver):
    """The stand-in for the driver, with kernels that run on the emulator."""

    def __init__(self, devices: int = 1) -> None:
        super().__init__(devices)
        self.heap = Heap()
        self.lock = threading.Lock()
        self.parsed: dict[int, Any] = {}

    def cuMemAlloc(self, nbytes: int) -> Any:
        address = self.heap.take(nbytes)
        ctypes.memset(address, 0xAA, nbytes)
        self.memory[address] = nbytes
        return OK, address

    def cuMemAllocAsync(self, nbytes: int, _: int) -> Any:
        return self.cuMemAlloc(nbytes)

    def cuModuleGetFunction(self, module: Any, name: bytes) -> Any:
        parsed = emulator.parse(module[0].rstrip(b"\0").decode())
        sizes = tuple(p.size for p in parsed.functions[name.decode()].params)
        found = super().cuModuleGetFunction(module, name)
        self.parsed[found[1]] = parsed, sizes
        return found

    def at_cuLaunchKernelEx(self, config: int, function: int, params: int, extra: int | None) -> int:
        with self.lock:
            parsed, self.layouts[self.functions[function - 1][1]] = self.parsed[function]
            status = super().at_cuLaunchKernelEx(config, function, params, extra)
            if status == OK:
                done = self.launches[-1]
                words = [self.heap.seen(w) for w in done.words]
                emulator.launch(parsed, done.name, done.grid, done.block, words, self.heap.memory)
            return status


class Stream:
    """The current stream of each thread."""

    def __init__(self) -> None:
        self.own = threading.local()

    def __call__(self, _: Any = None) -> int:
        return getattr(self.own, "number", 0)

    def use(self, number: int) -> None:
        self.own.number = number


class Tensor:
    """A minimal ``torch.Tensor``: a NumPy array in the memory of a device."""

    __module__ = "torch"
    __torch_dispatch__ = None
    on_device: Any = None

    def __init__(self, a: np.ndarray[Any, Any], device: int = 0, *, neg: bool = False) -> None:
        self.a, self.number, self.neg, self.requires_grad = a, device, neg, False
        self.freed: int | None = None  # the address that is left of one without memory
        self.is_cuda, self.layout, self.is_nested = True, "strided", False
        self.device = types.SimpleNamespace(type="cuda", index=device)
        self.dtype = DTYPES[a.dtype.name]
        self.shape = a.shape

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.a.itemsize for s in self.a.strides)

    def data_ptr(self) -> int:
        return int(self.a.ctypes.data) if self.freed is None else self.freed

    def untyped_storage(self) -> Any:
        """All memory, which contains any view; or none."""
        held = self.freed is None
        return types.SimpleNamespace(data_ptr=lambda: int(held), nbytes=lambda: held << 60)

    def get_device(self) -> int:
        return self.number

    def is_neg(self) -> bool:
        return self.neg

    def is_conj(self) -> bool:
        return False

    def is_complex(self) -> bool:
        return bool(np.iscomplexobj(self.a))

    def detach(self) -> Tensor:
        return self

    def resolve_conj(self) -> Tensor:
        return self

    def resolve_neg(self) -> Tensor:
        return Tensor.on_device(-self.a, self.number) if self.neg else self

    def __getitem__(self, index: Any) -> Tensor:
        return type(self)(self.a[index], self.number)


class DType:
    """A minimal ``torch.dtype``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


NAMES = ("float32", "float64", "int32", "int64", "uint8", "bool", "complex64", "float16")
DTYPES = {name: DType(name) for name in NAMES}


class Guards:
    """A minimal ``TensorGuards``."""

    def __init__(self, *xs: Any, dynamic_dims_sizes: Any, dynamic_dims_strides: Any) -> None:
        assert dynamic_dims_sizes == [list(x.shape) for x in xs]
        assert dynamic_dims_strides == [list(x.stride()) for x in xs]
        self.known = [self.facts(x) for x in xs]
        self.asked = 0

    @staticmethod
    def facts(x: Any) -> Any:
        if type(x) is not Tensor:
            return type(x)
        return x.dtype, x.shape, x.stride(), x.number, x.neg, x.requires_grad

    def check(self, *xs: Any) -> bool:
        """Like the real one, treats one tensor given twice as a change."""
        return len(set(map(id, xs))) == len(xs) and [self.facts(x) for x in xs] == self.known


class Gpu:
    """Devices, their driver and a library of arrays on them."""

    def __init__(self, devices: int) -> None:
        self.driver = EmulatedDriver(devices)
        self.driver.current = 1000
        self.stream = Stream()
        self.backends = [CudaBackend(n, self.driver) for n in range(devices)]
        self.made = 0
        Tensor.on_device = staticmethod(self.tensor)

    def tensor(self, a: Any, device: int = 0, offset: int = 0) -> Tensor:
        """``a`` on a device, ``offset`` bytes behind an aligned address; in C order."""
        a = np.asarray(a)
        memory = np.frombuffer(self._bytes(a.nbytes + offset), np.uint8)[offset:][: a.nbytes]
        held = memory.view(a.dtype).reshape(a.shape)
        held[...] = a
        return Tensor(held, device)

    def _bytes(self, nbytes: int) -> Any:
        return (ctypes.c_uint8 * max(1, nbytes)).from_address(self.driver.heap.take(nbytes))

    def empty(self, shape: Any, *, dtype: DType, device: Any) -> Tensor:
        self.made += 1
        return self.tensor(np.full(shape, 99).astype(dtype.name), device.index)

    def empty_strided(self, shape: Any, strides: Any, **how: Any) -> Tensor:
        """An array without gaps whose elements lie ``strides`` apart."""
        made = self.empty(shape, **how).a
        return Tensor(as_strided(made, shape, [s * made.itemsize for s in strides]), how["device"].index)

    def launched(self, fn: Any) -> tuple[Any, list[str]]:
        """The result of ``fn``, and the calls of the driver that it makes."""
        self.driver.names()
        return fn(), self.driver.names()

    def module(self, guards: bool) -> types.ModuleType:
        """``torch``."""
        torch: Any = types.ModuleType("torch")
        torch.Tensor, torch.strided, torch.empty = Tensor, "strided", self.empty
        torch.empty_strided = self.empty_strided
        for name, dtype in DTYPES.items():
            setattr(torch, name, dtype)
        torch.cuda = types.SimpleNamespace(current_stream=lambda _: types.SimpleNamespace(cuda_stream=self.stream()))
        torch.modes, torch.jit = 0, types.SimpleNamespace(is_tracing=lambda: False)
        torch._C = types.SimpleNamespace(_len_torch_dispatch_stack=lambda: torch.modes)
        torch.is_grad_enabled = lambda: True
        torch.autograd = types.SimpleNamespace(forward_ad=types.SimpleNamespace(_current_level=-1))
        if guards:
            torch._C._cuda_getCurrentRawStream = self.stream
        return torch


@pytest.fixture(params=[False, True], ids=["plain", "guards"])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """Two devices; with and without what PyTorch has for its own compiler."""
    made = Gpu(2)
    monkeypatch.setitem(sys.modules, "torch", made.module(request.param))
    monkeypatch.setattr(cuda_backend, "backend", made.backends.__getitem__)
    monkeypatch.setattr(fast_readers, "_torch_guards", lambda: Guards if request.param else None)
    _forget()
    yield made  # type: ignore[misc]
    _forget()


def _forget() -> None:
    """Forgets all calls, and the PyTorch that earlier ones met, which is another one here."""
    recall.forget()
    fast_readers._torch.cache_clear()
    fast_readers.READERS.clear()
