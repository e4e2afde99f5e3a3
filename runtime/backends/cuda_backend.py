"""The CUDA backend: runs artifacts on a device through the driver API.

It uses the device's primary context, which other libraries share, and the caller's stream. It waits for the device only
when results go to host memory.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ...compiler.driver.artifact import Artifact, CompiledKernel
from ...compiler.errors import WarpfoldError, error
from ...compiler.plan.shared_memory import waiting_bytes
from ...compiler.target import PORTABLE_CLUSTER
from ..view import Device
from . import cuda_driver
from .backend import closing
from .cuda_memory import Buffer, DeviceMemory
from .kernel_calls import Call
from .launch_buffers import Function, PackedLaunch

LOG_BYTES = 16 << 10
FLUSH_BYTES = 1 << 30  # several times the largest L2 cache; meanwhile the host queues some kernels


def find() -> list[Device]:
    """The CUDA devices of this machine; none, without an error, if the driver or cuda-python is missing."""
    return [Device("cuda", number) for number in range(_found())]


@lru_cache(maxsize=64)
def backend(number: int = 0) -> CudaBackend:
    """The backend of a device, created once.

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
    """The number of the device that owns the memory at ``address``."""
    driver = cuda_driver.load()
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(cuda_driver.checked(driver, "cuPointerGetAttribute", attribute, address))


@lru_cache(maxsize=1)
def _found() -> int:
    """The number of devices; cached, since the search for a missing driver takes milliseconds."""
    try:
        return cuda_driver.count(cuda_driver.load())
    except WarpfoldError:
        return 0


class CudaBackend(DeviceMemory):
    """Runs artifacts on one CUDA device.

    Attributes:
        name: see ``Backend``.
    """

    name = "cuda"

    def __init__(self, number: int = 0, driver: Any = None) -> None:
        """Opens device ``number``; see ``Context``."""
        super().__init__(number, driver)
        self._modules: dict[str, Any] = {}
        self._functions: dict[str, dict[str, Function]] = {}
        self._flushed = Buffer()

    def close(self) -> None:
        """Frees all resources; the backend cannot be used afterwards."""
        if not self.context:
            return
        with contextlib.suppress(WarpfoldError), self._current():
            self._free()
            for module in self._modules.values():
                self._d.cuModuleUnload(module)
        for forget in closing:
            forget()
        self._modules.clear()
        self._functions.clear()
        self._release()

    # --- kernels -------------------------------------------------------------------------------------------------
    def launch(self, artifact: Artifact, calls: Sequence[Call], stream: int) -> Sequence[PackedLaunch]:
        """Queues the calls on ``stream``; the first launch loads the artifact's code."""
        if not calls:
            return ()
        with self._current():
            functions = self._functions.get(artifact.key) or self._load(artifact)
            if any(call.follows for call in calls) and not self.launches_early:
                calls = [call._replace(follows=False) for call in calls]
            launches = [PackedLaunch(functions[call.name], call, stream) for call in calls]
            for packed in launches:
                status = self.entries.launch(*packed.arguments)
                if status:
                    raise self.refused(packed.call.name, status)
        self._copies.launched = True
        return launches

    def refused(self, kernel: str, status: int) -> WarpfoldError:
        """The error for a launch that the driver rejected."""
        call = f"cuLaunchKernelEx of {kernel}"
        return cuda_driver.failure(self._d, call, self._d.CUresult(status), device=self.device)

    def _load(self, artifact: Artifact) -> dict[str, Function]:
        key = artifact.key or hashlib.sha256(artifact.ptx.encode()).hexdigest()
        with self._lock:
            if key not in self._functions:
                self._modules[key] = module = self._module(artifact)
                self._functions[key] = {k.name: self._function(module, k, artifact) for k in artifact.kernels}
            return self._functions[key]

    def _function(self, module: Any, kernel: CompiledKernel, artifact: Artifact) -> Function:
        """A kernel of a loaded module, which may use the dynamic shared memory that it needs."""
        handle = self._call("cuModuleGetFunction", module, kernel.name.encode())
        if shared := waiting_bytes(kernel.plan, kernel.facts, artifact.inputs):
            attribute = self._d.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", handle, attribute, shared)
        if kernel.plan.cluster > PORTABLE_CLUSTER:
            attribute = self._d.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            self._call("cuFuncSetAttribute", handle, attribute, 1)
        return Function(int(handle), kernel)

    def _module(self, artifact: Artifact) -> Any:
        """Loads the machine code for this architecture, or else the PTX, which the driver compiles."""
        image = artifact.cubins.get(self.target.arch) or artifact.ptx.encode() + b"\0"
        log = bytearray(LOG_BYTES)
        names = self._d.CUjit_option
        options = {
            names.CU_JIT_ERROR_LOG_BUFFER: log,
            names.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: len(log),
            names.CU_JIT_GENERATE_LINE_INFO: 1,  # line tables for profilers and debuggers
        }
        status, module = self._d.cuModuleLoadDataEx(image, len(options), list(options), list(options.values()))
        if not status:
            return module
        if status.name == "CUDA_ERROR_OUT_OF_MEMORY":
            raise cuda_driver.failure(self._d, "cuModuleLoadDataEx", status, len(image), self.device)
        text = bytes(log).split(b"\0")[0].decode(errors="replace").strip() or "the driver gives no reason"
        remedy = f"compile for this device: arch={self.target.arch!r}"
        if status.name == "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
            remedy = f"update the driver, or save the artifact with machine code: cubins=[{self.target.arch!r}]"
        raise error("WF609", artifact=f"{artifact.name} for {artifact.arch}", name=status.name, log=text, remedy=remedy)

    # --- time ----------------------------------------------------------------------------------------------------
    def flush(self, stream: int = 0) -> int:
        """Queues writes on ``stream`` that replace the contents of the L2 cache; returns their address.

        Work queued meanwhile starts without waiting for the host, so that ``elapsed`` measures device time only. The
        buffer of ``FLUSH_BYTES`` is kept, since kernels are slower just after memory was mapped or unmapped. All lines
        in the cache are dirty afterwards; ``measure.flush`` leaves clean lines.
        """
        with self._current(), self._lock:
            self._grow(self._flushed, FLUSH_BYTES)
            self._call("cuMemsetD32Async", self._flushed.address, 0, self._flushed.size // 4, stream)
        return self._flushed.address

    def elapsed(self, fn: Callable[[], object], stream: int = 0) -> float:
        """Device time in microseconds of the work that ``fn`` queues on ``stream``."""
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
