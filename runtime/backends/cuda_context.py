"""A CUDA device: its primary context, and the streams there.

Other libraries share that context. It is made current for the duration of a call.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

from ...compiler.errors import error
from ...compiler.target import for_capability
from ..view import Device
from . import cuda_driver
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
