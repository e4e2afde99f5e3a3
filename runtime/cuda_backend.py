"""The CUDA backend: runs artifacts on a device through the driver API; the one module that imports cuda-python.

It works in the device's primary context, which other libraries use too, and on the caller's stream. It waits for the
device only when results go to host memory.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..compiler.artifact import Artifact
from ..compiler.errors import WarpfoldError, error
from ..compiler.target import for_capability
from . import recall
from .backend import Call, Device, View, Workspace
from .memory import as_array, is_contiguous
from .packed import Entries, Function, Packed

ALIGN = 256  # copies of host arrays keep their addresses modulo this, on which the choice of vectors rests
SMALLEST = 64 << 10
WORKSPACE, TICKETS = 1 << 20, 16 << 10
"""Bytes of a stream's workspace, and how many of them are for counters. What the planner chooses needs no more."""
LOG_BYTES = 16 << 10
FLUSH_BYTES = 1 << 30  # several times what the largest L2 cache holds, and a time in which a host queues some kernels
NO_STREAM_CAPTURES = (0, 1)  # the default stream, by its two names, cannot be captured into a graph
STICKY = (
    "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT", "ASSERT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED", "ECC_UNCORRECTABLE", "CONTEXT_IS_DESTROYED",
)  # fmt: skip
_SAME: AbstractContextManager[None] = contextlib.nullcontext()


# --- Devices -----------------------------------------------------------------------------------------------------
def find() -> list[Device]:
    """The CUDA devices that are there; none, without an error, where the driver or cuda-python is missing."""
    return [Device("cuda", number) for number in range(_found())]


@lru_cache(maxsize=64)
def backend(number: int = 0) -> CudaBackend:
    """The backend of a device, made once.

    Raises:
        BackendError: WF604 no driver, WF605 no such device, WF602 a device that is too old.
    """
    made = CudaBackend(number)
    atexit.register(made.close)
    return made


def wait(number: int) -> None:
    """Waits for all work on a device."""
    backend(number).wait()


def ordinal(address: int) -> int:
    """The number of the device that the memory at ``address`` belongs to."""
    driver = _driver()
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(checked(driver, "cuPointerGetAttribute", attribute, address))


@lru_cache(maxsize=1)
def _driver() -> Any:
    """The driver API, initialised."""
    try:
        from cuda.bindings import driver

        status = driver.cuInit(0)[0]
    except (ImportError, RuntimeError, OSError) as e:
        raise error("WF604", reason=str(e).splitlines()[0] if str(e) else type(e).__name__) from e
    if status == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        raise error("WF605", number=0, found="none")
    if status:
        raise error("WF604", reason=f"cuInit says {status.name}")
    return driver


@lru_cache(maxsize=1)
def _found() -> int:
    """How many devices there are; remembered, since looking for a driver that is missing takes milliseconds."""
    try:
        return _count(_driver())
    except WarpfoldError:
        return 0


def _count(driver: Any) -> int:
    return int(checked(driver, "cuDeviceGetCount"))


# --- Errors ------------------------------------------------------------------------------------------------------
def checked(driver: Any, call: str, *args: Any, nbytes: int = 0, device: object = "the device") -> Any:
    """Calls the driver; gives what it returns besides its status.

    Raises:
        BackendError: WF603 out of memory, WF601 any other failure.
    """
    status, *values = getattr(driver, call)(*args)
    if status:
        raise failure(driver, call, status, nbytes, device)
    return values[0] if len(values) == 1 else tuple(values)


def failure(driver: Any, call: str, status: Any, nbytes: int = 0, device: object = "the device") -> WarpfoldError:
    """The error for a driver call that failed with ``status``."""
    name = status.name
    if name == "CUDA_ERROR_OUT_OF_MEMORY":
        return error("WF603", device=device, call=call, bytes=nbytes or "more")
    found = driver.cuGetErrorString(status)[1]
    text = found.decode() if isinstance(found, bytes) else "unknown error"
    sticky, remedy = "", "look up the name in the CUDA driver API's list of error codes"
    if name.removeprefix("CUDA_ERROR_") in STICKY:
        sticky = "; an earlier kernel of this process may be the cause, and no CUDA call works in it any more"
        remedy = "restart the process; to find the kernel, run with CUDA_LAUNCH_BLOCKING=1 or on the emulator"
    elif name in ("CUDA_ERROR_NOT_INITIALIZED", "CUDA_ERROR_DEINITIALIZED"):
        remedy = "CUDA does not survive a fork: start workers with multiprocessing's spawn method"
    elif name == "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED":
        remedy = "while a graph is captured, pass arrays on the GPU: host arrays need copies and a wait"
    return error("WF601", call=call, name=name, text=text, sticky=sticky, remedy=remedy)


# --- Memory ------------------------------------------------------------------------------------------------------
class _Copies(threading.local):
    """Device copies of the host views that one thread has bound: (view, device address of the extent, written)."""

    def __init__(self) -> None:
        self.made: list[tuple[View, int, bool]] = []
        self.launched = False


@dataclass
class _Buffer:
    """A piece of device memory."""

    address: int = 0
    size: int = 0


class CudaBackend:
    """Runs artifacts on one CUDA device.

    Attributes:
        name, target, sms: see ``Backend``.
        device: the device.
        device_name: what the driver calls it.
    """

    name = "cuda"

    def __init__(self, number: int = 0, driver: Any = None) -> None:
        """Opens device ``number``; ``driver`` stands in for ``cuda.bindings.driver`` in tests."""
        self._d = d = driver or _driver()
        count = _count(d)
        if not 0 <= number < count:
            raise error("WF605", number=number, found=count or "none")
        self.device = Device("cuda", number)
        self._handle = self._call("cuDeviceGet", number)
        self.entries = Entries(self._entry)
        ask, name = d.CUdevice_attribute, "CU_DEVICE_ATTRIBUTE_"
        major, minor, self.sms = (
            int(self._call("cuDeviceGetAttribute", getattr(ask, name + what), self._handle))
            for what in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT")
        )
        self.target = for_capability(major, minor)
        self.device_name = self._call("cuDeviceGetName", 256, self._handle).split(b"\0")[0].decode()
        self._context = self._call("cuDevicePrimaryCtxRetain", self._handle)
        self.context = int(self._context)
        self._lock = threading.Lock()
        self._modules: dict[str, Any] = {}
        self._functions: dict[str, dict[str, Function]] = {}
        self._scratch: dict[tuple[int, int], tuple[_Buffer, _Buffer]] = {}
        self._held: list[int] = []  # what was allocated, grown out of or not: queued kernels and graphs hold addresses
        self._flushed = _Buffer()
        self._copies = _Copies()

    def close(self) -> None:
        """Frees what the backend holds; it cannot be used afterwards."""
        if not self.context:
            return
        with contextlib.suppress(WarpfoldError), self._current():
            for address in self._held:
                self._d.cuMemFree(address)
            for module in self._modules.values():
                self._d.cuModuleUnload(module)
        recall.forget()
        self._held.clear()
        self._scratch.clear()
        self._modules.clear()
        self._functions.clear()
        self.context = 0
        self._d.cuDevicePrimaryCtxRelease(self._handle)

    def _call(self, call: str, *args: Any, nbytes: int = 0) -> Any:
        return checked(self._d, call, *args, nbytes=nbytes, device=getattr(self, "device", ""))

    def _entry(self, name: bytes, since: int, flags: int) -> int:
        """The address of a function of the driver."""
        found, *_ = self._call("cuGetProcAddress", name, since, flags)
        if not int(found):
            raise error("WF604", reason=f"it is older than CUDA {since // 1000}: it has no {name.decode()}")
        return int(found)

    def enter(self) -> None:
        """Makes the device's context current."""
        self._call("cuCtxPushCurrent", self._context)

    def leave(self) -> None:
        """Brings back the context that was current before ``enter``."""
        self._d.cuCtxPopCurrent()

    def _current(self) -> AbstractContextManager[None]:
        """The device's context as the current one; nothing to do where it is already, as under PyTorch."""
        status, context = self._d.cuCtxGetCurrent()
        return _SAME if not status and int(context) == self.context else self._inside()

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self.enter()
        try:
            yield
        finally:
            self.leave()

    # --- memory --------------------------------------------------------------------------------------------------
    def reads(self, view: View) -> bool:
        """Memory of this device."""
        return view.device == self.device

    def bind(self, view: View, *, write: bool, stream: int) -> int:
        """The view's own address on this device; a copy's for host memory, made on ``stream``."""
        if view.device == self.device:
            return view.address
        if view.device.kind != "cpu":
            raise error("WF107", devices=f"an array on {view.device}, the kernels on {self.device}")
        low, high = view.extent
        if low == high:
            return 0
        lead = low % ALIGN
        nbytes = -(-(lead + high - low) // ALIGN) * ALIGN
        with self._current():
            base = int(self._call("cuMemAllocAsync", nbytes, stream, nbytes=nbytes)) + lead
            self._copies.made.append((view, base, write))
            if not write:
                self._call("cuMemcpyHtoDAsync", base, low, high - low, stream)
        return base + view.address - low

    def finish(self, views: Sequence[View], stream: int) -> None:  # noqa: ARG002
        """Copies back what kernels wrote, frees the copies, and waits for it; nothing to do for device arrays.

        When nothing was launched, because of an error, host memory stays as it is. Which views were written, ``bind``
        was told.
        """
        copies = self._copies
        if not copies.made:
            copies.launched = False
            return
        made, launched = copies.made, copies.launched
        copies.made, copies.launched = [], False
        written = [(view, base) for view, base, write in made if write and launched]
        with self._current():
            try:
                arrived = [self._download(view, base, stream) for view, base in written]
                self._call("cuStreamSynchronize", stream)
            finally:
                for _, base, _ in made:
                    self._d.cuMemFreeAsync(base // ALIGN * ALIGN, stream)
        for (view, _), elements in zip(written, arrived, strict=True):
            if elements is not None:
                as_array(view)[...] = elements

    def _download(self, view: View, base: int, stream: int) -> np.ndarray[Any, Any] | None:
        """Queues the copy of a host view's bytes from ``base``: in place where its elements fill them.

        Else gives the elements in memory of their own, since what lies between them in the caller's is not ours.
        """
        low, high = view.extent
        if prod(view.shape) * view.dtype.itemsize == high - low:
            self._call("cuMemcpyDtoHAsync", low, base, high - low, stream)
            return None
        return self._fetch(view, base, stream)

    def _fetch(self, view: View, base: int, stream: int) -> np.ndarray[Any, Any]:
        """Queues the copy of the view's bytes, which begin at ``base``; gives the elements in the host's memory."""
        low, high = view.extent
        held = np.empty(high - low, np.uint8)
        if low < high:
            self._call("cuMemcpyDtoHAsync", held.ctypes.data, base, high - low, stream)
        strides = tuple(s * view.dtype.itemsize for s in view.strides)
        return np.ndarray(view.shape, view.dtype.numpy, held, view.address - low, strides)

    def get(self, view: View, stream: int) -> np.ndarray[Any, Any]:
        """The elements of a view of this device, in C order, after everything queued on ``stream``."""
        with self._current():
            found = self._fetch(view, view.extent[0], stream)
            self._call("cuStreamSynchronize", stream)
        return found.copy()

    def put(self, view: View, a: np.ndarray[Any, Any], stream: int) -> None:
        """Fills a view of this device with ``a``, after everything queued on ``stream``; gaps in it stay."""
        low, high = view.extent
        if low == high:
            return
        with self._current():
            if is_contiguous(view):
                held = np.ascontiguousarray(a, view.dtype.numpy)
            else:
                held = self._fetch(view, low, stream)
                self._call("cuStreamSynchronize", stream)
                held[...] = a
            self._call("cuMemcpyHtoDAsync", low, held.ctypes.data + low - view.address, high - low, stream)
            self._call("cuStreamSynchronize", stream)

    def workspace(self, partial_bytes: int, counters: int, stream: int) -> Workspace:
        """Memory of this stream alone, so that two streams can run at once; a captured graph gets its own."""
        if not partial_bytes and not counters:
            return Workspace(0, 0)
        with self._current(), self._lock:
            key = stream, self._capture(stream)
            if key not in self._scratch:
                self._scratch[key] = (_Buffer(), _Buffer()) if key[1] else self._workspace()
            pair = self._scratch[key]
            self._grow(pair[0], partial_bytes)
            self._grow(pair[1], 4 * counters)
        return Workspace(pair[0].address, pair[1].address)

    def _workspace(self) -> tuple[_Buffer, _Buffer]:
        """The partials and the counters of a stream, allocated once."""
        whole = _Buffer()
        self._grow(whole, WORKSPACE)
        return _Buffer(whole.address + TICKETS, WORKSPACE - TICKETS), _Buffer(whole.address, TICKETS)

    def can_capture(self, stream: int) -> bool:
        """Whether work on ``stream`` can be captured into a graph."""
        return stream not in NO_STREAM_CAPTURES

    def captures(self, stream: int) -> bool:
        """Whether a graph is being captured on ``stream``."""
        with self._current():
            return bool(self._capture(stream))

    def _capture(self, stream: int) -> int:
        """The number of the graph that is being captured on ``stream``, 0 for none.

        A graph may be replayed on any stream beside other work of this one, so it must not share scratch memory.
        """
        if not self.can_capture(stream):
            return 0
        capturing, number, *_ = self._call("cuStreamGetCaptureInfo", stream)
        return int(number) if int(capturing) else 0

    def _grow(self, buffer: _Buffer, nbytes: int) -> None:
        """Makes the buffer large enough, and zero where it is new; works during a graph capture without joining it."""
        if nbytes <= buffer.size:
            return
        size = max(SMALLEST, buffer.size * 2, nbytes)
        mode = self._d.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        previous = self._call("cuThreadExchangeStreamCaptureMode", mode)
        try:
            address = int(self._call("cuMemAlloc", size, nbytes=size))
            self._held.append(address)
            side = self._call("cuStreamCreate", int(self._d.CUstream_flags.CU_STREAM_NON_BLOCKING))
            try:
                self._call("cuMemsetD32Async", address, 0, size // 4, side)
                self._call("cuStreamSynchronize", side)
            finally:
                self._d.cuStreamDestroy(side)
        finally:
            self._call("cuThreadExchangeStreamCaptureMode", previous)
        buffer.address, buffer.size = address, size

    @contextmanager
    def memory(self, nbytes: int) -> Iterator[int]:
        """The address of ``nbytes`` of memory of the device, until the ``with`` ends; it then waits for the device."""
        with self._current():
            address = int(self._call("cuMemAlloc", nbytes, nbytes=nbytes))
        try:
            yield address
        finally:
            with self._current():
                self._d.cuMemFree(address)

    def copy(self, target: int, source: int, nbytes: int, stream: int = 0) -> None:
        """Queues a copy within the device's memory."""
        with self._current():
            self._call("cuMemcpyDtoDAsync", target, source, nbytes, stream)

    def memory_free(self) -> tuple[int, int]:
        """Bytes of the device's memory that nobody uses, and all of them."""
        with self._current():
            free, total = self._call("cuMemGetInfo")
        return int(free), int(total)

    @property
    def cuda_version(self) -> str:
        """The newest CUDA that the driver serves, ``13.0``."""
        number = int(self._call("cuDriverGetVersion"))
        return f"{number // 1000}.{number % 1000 // 10}"

    # --- kernels -------------------------------------------------------------------------------------------------
    def launch(self, artifact: Artifact, calls: Sequence[Call], stream: int) -> Sequence[Packed]:
        """Queues the calls on ``stream``; loads the artifact's code the first time."""
        if not calls:
            return ()
        with self._current():
            functions = self._functions.get(artifact.key) or self._load(artifact)
            launches = [Packed(functions[call.name], call, stream) for call in calls]
            for packed in launches:
                status = self.entries.launch(*packed.arguments)
                if status:
                    raise self.refused(packed.call.name, status)
        self._copies.launched = True
        return launches

    def refused(self, kernel: str, status: int) -> WarpfoldError:
        """The error for a launch that the driver refused."""
        return failure(self._d, f"cuLaunchKernelEx of {kernel}", self._d.CUresult(status), device=self.device)

    def _load(self, artifact: Artifact) -> dict[str, Function]:
        key = artifact.key or hashlib.sha256(artifact.ptx.encode()).hexdigest()
        with self._lock:
            if key not in self._functions:
                self._modules[key] = module = self._module(artifact)
                self._functions[key] = {
                    k.name: Function(int(self._call("cuModuleGetFunction", module, k.name.encode())), k)
                    for k in artifact.kernels
                }
            return self._functions[key]

    def _module(self, artifact: Artifact) -> Any:
        """Loads the machine code for this architecture, or the PTX, which the driver then compiles."""
        image = artifact.cubins.get(self.target.arch) or artifact.ptx.encode() + b"\0"
        log = bytearray(LOG_BYTES)
        names = self._d.CUjit_option
        options = [names.CU_JIT_ERROR_LOG_BUFFER, names.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        status, module = self._d.cuModuleLoadDataEx(image, len(options), options, [log, len(log)])
        if not status:
            return module
        if status.name == "CUDA_ERROR_OUT_OF_MEMORY":
            raise failure(self._d, "cuModuleLoadDataEx", status, len(image), self.device)
        text = bytes(log).split(b"\0")[0].decode(errors="replace").strip() or "the driver gives no reason"
        remedy = f"compile for this device: arch={self.target.arch!r}"
        if status.name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
            remedy = f"update the driver, or save the artifact with machine code: cubins=[{self.target.arch!r}]"
        raise error("WF609", artifact=f"{artifact.name} for {artifact.arch}", name=status.name, log=text, remedy=remedy)

    # --- time ----------------------------------------------------------------------------------------------------
    def synchronize(self, stream: int) -> None:
        """Waits for everything queued on ``stream``."""
        with self._current():
            self._call("cuStreamSynchronize", stream)

    def wait(self) -> None:
        """Waits for everything queued on any stream."""
        with self._current():
            self._call("cuCtxSynchronize")

    def flush(self, stream: int = 0) -> int:
        """Queues writes on ``stream`` that leave nothing else in the L2 cache; gives the address of what they write.

        What is queued meanwhile begins without waiting for the host, so that ``elapsed`` times the device alone. The
        memory, of ``FLUSH_BYTES``, is kept: kernels are slower just after some was mapped or unmapped. The cache is
        left full of dirty lines; ``measure.flush`` leaves clean ones.
        """
        with self._current(), self._lock:
            self._grow(self._flushed, FLUSH_BYTES)
            self._call("cuMemsetD32Async", self._flushed.address, 0, self._flushed.size // 4, stream)
        return self._flushed.address

    def elapsed(self, fn: Callable[[], object], stream: int = 0) -> float:
        """Microseconds of device time that the work takes which ``fn`` queues on ``stream``."""
        with self._current():
            events = [self._call("cuEventCreate", 0) for _ in range(2)]
            try:
                self._call("cuEventRecord", events[0], stream)
                fn()
                self._call("cuEventRecord", events[1], stream)
                self._call("cuEventSynchronize", events[1])
                return float(self._call("cuEventElapsedTime", *events)) * 1000
            finally:
                for event in events:
                    self._d.cuEventDestroy(event)
