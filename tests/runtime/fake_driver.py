"""A stand-in for ``cuda.bindings.driver``: device memory is host memory, streams run at once, calls are recorded."""

# ruff: noqa: N802, N815 - the driver's own names

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple


class Status(IntEnum):
    """The statuses that tests use."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


OK = Status.CUDA_SUCCESS
SHARED = 48 << 10
"""Bytes of dynamic shared memory that a launch may have without asking."""
Kernel = Callable[[tuple[int, ...]], None]


Pointer, Int = ctypes.c_void_p, ctypes.c_int
ENTRIES: dict[str, Any] = {
    "cuLaunchKernelEx": ctypes.CFUNCTYPE(Int, Pointer, Pointer, Pointer, Pointer),
    "cuStreamIsCapturing": ctypes.CFUNCTYPE(Int, Pointer, Pointer),
}
"""What is called by address."""


class Launch(NamedTuple):
    """A launch as the driver found it; the words are those of the arguments, and the attribute is 0 without one."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    stream: int
    words: tuple[int, ...]
    context: int
    shared: int = 0
    attribute: int = 0


class FakeDriver:
    """One or more devices that run Python functions as kernels.

    Attributes:
        calls: every call, as (name, arguments).
        fail: the status to return instead, by call name.
        kernels: the effect of a kernel, by name, on its argument words; ``layout`` gives the width of each word, and
    ``layouts`` for kernels of a name.
        launches: the launches.
        dynamic: the bytes of dynamic shared memory that a function may have, by its handle.
        current: the current context, as the caller left it.
        capturing: the graph that is being captured, by stream.
    """

    CUresult = Status
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL="ordinal")
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major",
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT="sms",
    )
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED="relaxed")
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUfunction_attribute = SimpleNamespace(
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic",
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED="clusters",
    )
    CUjit_option = SimpleNamespace(
        CU_JIT_ERROR_LOG_BUFFER="log", CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES="size", CU_JIT_GENERATE_LINE_INFO="lines"
    )

    def __init__(self, devices: int = 1, capability: tuple[int, int] = (9, 0)) -> None:
        self.devices = devices
        self.facts = {"major": capability[0], "minor": capability[1], "sms": 132}
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.fail: dict[str, Status] = {}
        self.log = b""
        self.kernels: dict[str, Kernel] = {}
        self.layout: tuple[int, ...] = ()
        self.layouts: dict[str, tuple[int, ...]] = {}
        self.functions: list[tuple[Any, str]] = []
        self.dynamic: dict[int, int] = {}
        self.entries: list[Any] = []  # a function that is called by address must live
        self.launches: list[Launch] = []
        self.owners: dict[int, int] = {}
        self.modules: list[Any] = []
        self.current = 0
        self.stack: list[int] = []
        self.capturing: dict[int, int] = {}
        self.memory: dict[int, Any] = {}
        self.freed: list[int] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("cu") or name == "current":
            return found

        def call(*args: Any) -> Any:
            self.calls.append((name, args))
            status = self.fail.get(name, OK)
            return (status, 0) if status else found(*args)

        return call

    def names(self) -> list[str]:
        """The names of the calls so far; starts a new list."""
        made, self.calls = [name for name, _ in self.calls], []
        return made

    # --- devices and contexts
    def cuInit(self, _: int) -> Any:
        return (OK,)

    def cuDeviceGetCount(self) -> Any:
        return OK, self.devices

    def cuDeviceGet(self, number: int) -> Any:
        return OK, number

    def cuDeviceGetAttribute(self, attribute: str, _: int) -> Any:
        return OK, self.facts[attribute]

    def cuDeviceGetName(self, size: int, _: int) -> Any:
        return OK, b"Fake GPU".ljust(size, b"\0")

    def cuDevicePrimaryCtxRetain(self, number: int) -> Any:
        return OK, 1000 + number

    def cuDevicePrimaryCtxRelease(self, _: int) -> Any:
        return (OK,)

    def cuCtxGetCurrent(self) -> Any:
        return OK, self.current

    def cuCtxPushCurrent(self, context: int) -> Any:
        self.stack.append(self.current)
        self.current = context
        return (OK,)

    def cuCtxPopCurrent(self) -> Any:
        popped, self.current = self.current, self.stack.pop()
        return OK, popped

    def cuCtxSynchronize(self) -> Any:
        return (OK,)

    def cuGetErrorString(self, status: Status) -> Any:
        return OK, f"text of {int(status)}".encode()

    # --- memory
    def cuMemAlloc(self, nbytes: int) -> Any:
        block = ctypes.create_string_buffer(nbytes + 256)
        ctypes.memset(block, 0xAA, nbytes + 256)
        address = -(-ctypes.addressof(block) // 256) * 256
        self.memory[address] = block
        return OK, address

    def cuMemAllocAsync(self, nbytes: int, _: int) -> Any:
        return FakeDriver.cuMemAlloc(self, nbytes)

    def cuMemFree(self, address: int) -> Any:
        del self.memory[address]
        self.freed.append(address)
        return (OK,)

    def cuMemFreeAsync(self, address: int, _: int) -> Any:
        return FakeDriver.cuMemFree(self, address)

    def cuMemsetD32Async(self, address: int, value: int, count: int, _: int) -> Any:
        if value:
            ctypes.memmove(address, value.to_bytes(4, "little") * count, 4 * count)
        else:
            ctypes.memset(address, 0, 4 * count)
        return (OK,)

    def cuMemcpyHtoDAsync(self, to: int, start: int, nbytes: int, _: int) -> Any:
        ctypes.memmove(to, start, nbytes)
        return (OK,)

    cuMemcpyDtoHAsync = cuMemcpyDtoDAsync = cuMemcpyHtoDAsync

    def cuDriverGetVersion(self) -> Any:
        return OK, 13000

    def cuMemGetInfo(self) -> Any:
        return OK, 60 << 30, 80 << 30

    def cuPointerGetAttribute(self, _: str, address: int) -> Any:
        return OK, address % 7

    # --- streams and events
    def cuStreamCreate(self, _: int) -> Any:
        return OK, 555

    def cuStreamDestroy(self, _: int) -> Any:
        return (OK,)

    def cuStreamSynchronize(self, _: int) -> Any:
        return (OK,)

    def cuStreamGetCaptureInfo(self, stream: int) -> Any:
        number = self.capturing.get(stream, 0)
        return OK, 1 if number else 0, number, None, None, 0

    def cuThreadExchangeStreamCaptureMode(self, mode: str) -> Any:
        return OK, "global" if mode == "relaxed" else "relaxed"

    def cuEventCreate(self, _: int) -> Any:
        return OK, object()

    def cuEventDestroy(self, _: object) -> Any:
        return (OK,)

    cuEventSynchronize = cuEventDestroy

    def cuEventRecord(self, _: object, __: int) -> Any:
        return (OK,)

    def cuEventElapsedTime(self, _: object, __: object) -> Any:
        return OK, 0.25

    # --- kernels
    def cuModuleLoadDataEx(self, image: bytes, count: int, options: list[str], values: list[Any]) -> Any:
        assert count == len(options) == len(values)
        assert values[options.index("lines")] == 1
        values[options.index("log")][: len(self.log)] = self.log
        module = (image,)
        self.owners[id(module)] = self.current
        self.modules.append(module)
        return OK, module

    def cuModuleUnload(self, _: object) -> Any:
        return (OK,)

    def cuModuleGetFunction(self, module: object, name: bytes) -> Any:
        self.functions.append((module, name.decode()))
        return OK, len(self.functions)

    def cuFuncSetAttribute(self, function: int, attribute: str, value: int) -> Any:
        assert attribute in ("dynamic", "clusters")
        if attribute == "dynamic":
            self.dynamic[function] = value
        else:
            self.calls.append((attribute, (value,)))
        return (OK,)

    def cuGetProcAddress(self, name: bytes, since: int, flags: int) -> Any:
        assert (since, flags) == (12000, 1)
        self.entries.append(ENTRIES[name.decode()](partial(self.entered, name.decode())))
        return OK, ctypes.cast(self.entries[-1], ctypes.c_void_p).value, 0

    def entered(self, name: str, *args: Any) -> int:
        """A call by address: pointers are dereferenced."""
        self.calls.append((name, args))
        return self.fail.get(name, OK) or getattr(self, f"at_{name}")(*args)

    def at_cuStreamIsCapturing(self, stream: int | None, status: int) -> int:
        ctypes.c_int.from_address(status).value = 1 if self.capturing.get(stream or 0) else 0
        return OK

    def at_cuLaunchKernelEx(self, config: int, function: int, params: int, extra: int | None) -> int:
        assert extra is None
        module, name = self.functions[function - 1]
        if self.current != self.owners[id(module)]:
            return Status.CUDA_ERROR_INVALID_HANDLE if self.current else Status.CUDA_ERROR_INVALID_CONTEXT
        shape = struct.unpack_from("<7I4xQQI", ctypes.string_at(config, 56))
        attribute = ctypes.c_uint.from_address(shape[8]).value if shape[9] else 0
        if shape[6] > self.dynamic.get(function, SHARED):
            return Status.CUDA_ERROR_INVALID_VALUE
        layout = self.layouts.get(name, self.layout)
        slots = (ctypes.c_void_p * len(layout)).from_address(params)
        kinds = {8: ctypes.c_int64, 4: ctypes.c_int32}
        words = []
        for address, width in zip(slots, layout, strict=True):
            assert address % width == 0
            words.append(kinds[width].from_address(address).value)
        found = (name, shape[:3], shape[3:6], shape[7], tuple(words), self.current, shape[6], attribute)
        self.launches.append(Launch(*found))
        self.kernels.get(name, lambda _: None)(tuple(words))
        return OK
