"""Memory of a CUDA device: copies of host arrays for the duration of a call, and reused scratch memory.

A CUDA device: its primary context, and the streams there.

Other libraries share that context. It is made current for the duration of a call.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from ctypes import string_at
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ...compiler.errors import error
from ...compiler.target import for_capability
from ..view import Device, View, as_array, is_contiguous
from . import cuda_driver
from .kernel_calls import Workspace
from .launch_buffers import Entries

NO_STREAM_CAPTURES = (0, 1)  # the two handles of the default stream, which no graph can capture
EARLY_LAUNCHES = 12030
"""The CUDA version since which graphs capture launches that may begin before those before them have ended."""
_SAME: AbstractContextManager[None] = contextlib.nullcontext()


class Context:
    """The primary context of one device.

    Attributes:
        device: the device.
        device_name: the driver's name for it.
        target, sms: see ``Backend``.
        context: the handle of the context; 0 after its release.
        entries: driver functions that launches call by address.
    """

    def __init__(self, number: int = 0, driver: Any = None) -> None:
        """Opens device ``number``; ``driver`` stands in for ``cuda.bindings.driver`` in tests."""
        self._d = d = driver or cuda_driver.load()
        found = cuda_driver.count(d)
        if not 0 <= number < found:
            raise error("WF605", number=number, found=found or "none")
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

    def _release(self) -> None:
        """Releases the context."""
        self.context = 0
        self._d.cuDevicePrimaryCtxRelease(self._handle)

    def _call(self, call: str, *args: Any, nbytes: int = 0) -> Any:
        return cuda_driver.checked(self._d, call, *args, nbytes=nbytes, device=getattr(self, "device", ""))

    def _entry(self, name: bytes, since: int, flags: int) -> int:
        """The address of a driver function."""
        found, *_ = self._call("cuGetProcAddress", name, since, flags)
        if not int(found):
            raise error("WF604", reason=f"it is older than CUDA {since // 1000}: it has no {name.decode()}")
        return int(found)

    def enter(self) -> None:
        """Makes the device's context current."""
        self._call("cuCtxPushCurrent", self._context)

    def leave(self) -> None:
        """Restores the context that was current before ``enter``."""
        self._d.cuCtxPopCurrent()

    def _current(self) -> AbstractContextManager[None]:
        """Makes the device's context current inside a ``with``, unless it is already, as with PyTorch."""
        status, context = self._d.cuCtxGetCurrent()
        return _SAME if not status and int(context) == self.context else self._inside()

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self.enter()
        try:
            yield
        finally:
            self.leave()

    @property
    def cuda_version(self) -> str:
        """The newest CUDA version that the driver supports, such as ``13.0``."""
        number = int(self._call("cuDriverGetVersion"))
        return f"{number // 1000}.{number % 1000 // 10}"

    @cached_property
    def launches_early(self) -> bool:
        """Whether a launch may begin before the one before it has ended, in graphs too: since CUDA 12.3."""
        return int(self._call("cuDriverGetVersion")) >= EARLY_LAUNCHES

    # --- streams -------------------------------------------------------------------------------------------------
    def synchronize(self, stream: int) -> None:
        """Waits for everything queued on ``stream``."""
        with self._current():
            self._call("cuStreamSynchronize", stream)

    def wait(self) -> None:
        """Waits for everything queued on any stream."""
        with self._current():
            self._call("cuCtxSynchronize")

    def can_capture(self, stream: int) -> bool:
        """Whether a graph can capture work on ``stream``."""
        return stream not in NO_STREAM_CAPTURES

    def captures(self, stream: int) -> bool:
        """Whether a graph is capturing ``stream``."""
        with self._current():
            return bool(self._capture(stream))

    def _capture(self, stream: int) -> int:
        """The id of the graph that is capturing ``stream``; 0 for none.

        A graph may be replayed on any stream beside other work on this one, so it must not share scratch memory.
        """
        if not self.can_capture(stream):
            return 0
        capturing, number, *_ = self._call("cuStreamGetCaptureInfo", stream)
        return int(number) if int(capturing) else 0


ALIGN = 256  # copies of host arrays keep their addresses modulo this: vector widths depend on it
SMALLEST = 64 << 10
WORKSPACE, TICKETS = 1 << 20, 16 << 10
"""Bytes of a stream's initial workspace, and of its counters: enough for every plan that the planner chooses."""


def _is_number(view: View) -> bool:
    """Whether a host view is one number of whole words, which a device is told without a copy."""
    return not view.shape and view.dtype.itemsize in (4, 8)


class _Copies(threading.local):
    """Device copies of the host views that one thread has bound: (view, device address of the extent, written)."""

    def __init__(self) -> None:
        self.made: list[tuple[View, int, bool]] = []
        self.launched = False


@dataclass
class Buffer:
    """A piece of device memory."""

    address: int = 0
    size: int = 0


class DeviceMemory(Context):
    """The memory of one device."""

    def __init__(self, number: int = 0, driver: Any = None) -> None:
        """Opens device ``number``; see ``Context``."""
        super().__init__(number, driver)
        self._scratch: dict[tuple[int, int], tuple[Buffer, Buffer]] = {}
        self._held: list[int] = []  # all allocations, also outgrown ones: queued kernels hold addresses
        self._copies = _Copies()

    def _free(self) -> None:
        """Frees scratch memory."""
        for address in self._held:
            self._d.cuMemFree(address)
        self._held.clear()
        self._scratch.clear()

    def reads(self, view: View) -> bool:
        """Whether the view is in memory of this device."""
        return view.device == self.device

    def bind(self, view: View, *, write: bool, stream: int) -> int:
        """The view's own address on this device; for host memory the address of a copy, made on ``stream``."""
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
            if not write and _is_number(view):
                for i, word in enumerate(np.frombuffer(string_at(low, high - low), "<u4")):
                    self._call("cuMemsetD32Async", base + 4 * i, int(word), 1, stream)
            elif not write:
                self._call("cuMemcpyHtoDAsync", base, low, high - low, stream)
        return base + view.address - low

    def finish(self, views: Sequence[View], stream: int) -> None:  # noqa: ARG002
        """Copies results back to host memory, frees the copies, and waits; does nothing for device arrays.

        It does not wait where all host views were numbers, which ``bind`` has read. ``bind`` recorded which views
        kernels write. If an error prevented all launches, host memory stays unchanged.
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
                if not all(_is_number(view) and not write for view, _, write in made):
                    self._call("cuStreamSynchronize", stream)
            finally:
                for _, base, _ in made:
                    self._d.cuMemFreeAsync(base // ALIGN * ALIGN, stream)
        for (view, _), elements in zip(written, arrived, strict=True):
            if elements is not None:
                as_array(view)[...] = elements

    def _download(self, view: View, base: int, stream: int) -> np.ndarray[Any, Any] | None:
        """Queues the copy from ``base`` to a host view without gaps.

        For a view with gaps, which are not ours to write, returns the elements in an array of their own.
        """
        low, high = view.extent
        if prod(view.shape) * view.dtype.itemsize == high - low:
            self._call("cuMemcpyDtoHAsync", low, base, high - low, stream)
            return None
        return self._fetch(view, base, stream)

    def _fetch(self, view: View, base: int, stream: int) -> np.ndarray[Any, Any]:
        """Queues the copy of the view's bytes, which begin at ``base``; returns the elements in host memory."""
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
        """Copies ``a`` to a view of this device, after everything queued on ``stream``; gaps stay unchanged."""
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
        """Scratch memory of this stream only, so that streams can run concurrently; a captured graph has its own."""
        if not partial_bytes and not counters:
            return Workspace(0, 0)
        with self._current(), self._lock:
            key = stream, self._capture(stream)
            if key not in self._scratch:
                self._scratch[key] = (Buffer(), Buffer()) if key[1] else self._workspace()
            pair = self._scratch[key]
            self._grow(pair[0], partial_bytes)
            self._grow(pair[1], 4 * counters)
        return Workspace(pair[0].address, pair[1].address)

    def _workspace(self) -> tuple[Buffer, Buffer]:
        """The buffers of a stream for partials and counters, allocated at once."""
        whole = Buffer()
        self._grow(whole, WORKSPACE)
        return Buffer(whole.address + TICKETS, WORKSPACE - TICKETS), Buffer(whole.address, TICKETS)

    def _grow(self, buffer: Buffer, nbytes: int) -> None:
        """Grows the buffer and zeroes new memory; during a graph capture without being captured."""
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
        """Allocates ``nbytes`` of device memory inside a ``with``, whose end waits for the device."""
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
        """Free and total bytes of the device's memory."""
        with self._current():
            free, total = self._call("cuMemGetInfo")
        return int(free), int(total)
