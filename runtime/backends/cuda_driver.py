"""The CUDA driver API: loading, checked calls, and errors. Only this file imports cuda-python."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...compiler import exclusive
from ...compiler.errors import WarpfoldError, error

STICKY = (
    "ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT", "ASSERT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED", "ECC_UNCORRECTABLE", "CONTEXT_IS_DESTROYED",
)  # fmt: skip


@lru_cache(maxsize=1)
def load() -> Any:
    """The driver API, initialised."""
    try:
        with exclusive.lock:
            from cuda.bindings import driver

            status = driver.cuInit(0)[0]
    except (ImportError, RuntimeError, OSError) as e:
        raise error("WF604", reason=str(e).splitlines()[0] if str(e) else type(e).__name__) from e
    if status == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        raise error("WF605", number=0, found="none")
    if status:
        raise error("WF604", reason=f"cuInit says {status.name}")
    return driver


def count(driver: Any) -> int:
    """The number of devices."""
    return int(checked(driver, "cuDeviceGetCount"))


def checked(driver: Any, call: str, *args: Any, nbytes: int = 0, device: object = "the device") -> Any:
    """Calls the driver; returns its values without the status.

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
    elif name.startswith("CUDA_ERROR_STREAM_CAPTURE"):
        remedy = (
            "while a graph is captured, nothing is copied from or to the host: pass arrays on the GPU, and make the "
            "call once on this stream before, for what is kept there, such as the edges of a histogram with range="
        )
    return error("WF601", call=call, name=name, text=text, sticky=sticky, remedy=remedy)
