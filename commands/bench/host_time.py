"""The cost of a call on the host: its time, its allocations, and the work that it queues."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import TYPE_CHECKING, Any

from ...runtime import api, named_reductions
from .programs import ours

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend

ELEMENTS = 4096
CALLS, BATCH = 10_000, 200
"""Number of calls, and of calls between waits for the device: a full queue would block the host."""
FEW = 20
"""Number of calls that are counted, or made while the device is busy."""
TIMES, BUSY = "us of the host", "us of the host while the device is busy"
ALLOCATIONS, KERNELS, COPIES = "allocations", "kernels", "copies and fills"

Call = Callable[[], Any]
Costs = dict[str, dict[str, float]]


def host(backend: CudaBackend, programs: bool = False) -> Costs:
    """Each cost by call: sums of 4,096 f32 elements, or softmaxes of 64 x 1,024. Empty without PyTorch.

    A call that takes no longer while the device is busy does not wait for it.
    """
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    timed = program_calls(torch) if programs else calls(torch, backend)
    found: Costs = {TIMES: microseconds(backend, timed), BUSY: while_busy(backend, timed)}
    found[ALLOCATIONS] = {name: allocations(torch, call) for name, call in timed.items()}
    return found | apart(backend.device.number, programs)


def calls(torch: Any, backend: CudaBackend) -> dict[str, Call]:
    """The calls by name."""
    x, out = torch.ones(ELEMENTS, device="cuda"), torch.empty((), device="cuda")
    k = api.compile("sum", (ELEMENTS,), "f32", arch=backend.target.arch)
    return {
        "wf.sum(t)": lambda: named_reductions.sum(x),
        "torch.sum(t)": lambda: torch.sum(x),
        "k(t, out=o)": lambda: k(x, out=out),
        "torch.sum(t, 0, out=o)": lambda: torch.sum(x, 0, out=out),
    }


def program_calls(torch: Any) -> dict[str, Call]:
    """The calls of programs by name."""
    x = torch.ones((64, 1024), device="cuda")
    softmax = ours.Library().softmax
    return {"wf.softmax(t, axis=-1)": lambda: softmax(x, axis=-1), "torch.softmax(t, -1)": lambda: torch.softmax(x, -1)}


def apart(number: int, programs: bool) -> Costs:
    """``counted`` in a process of its own, since a profiler can crash at exit; empty if it does."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            return pool.submit(counted, number, programs).result()
        except BrokenExecutor:
            return {}


def counted(number: int, programs: bool) -> Costs:
    """The numbers of kernels, and of copies and fills, that each call queues."""
    import torch

    from ...runtime.backends.cuda_backend import backend

    device = backend(number)
    found: Costs = {KERNELS: {}, COPIES: {}}
    for name, call in (program_calls(torch) if programs else calls(torch, device)).items():
        found[KERNELS][name], found[COPIES][name] = activities(torch, device, call)
    return found


def microseconds(backend: CudaBackend, calls: Mapping[str, Call]) -> dict[str, float]:
    """The median over batches of the time of each call, in microseconds.

    Batches of the calls take turns: what else the host does then slows all of them.
    """
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(BATCH):
            call()
    for _ in range(CALLS // BATCH):
        for name, call in calls.items():
            backend.wait()
            start = time.perf_counter()
            for _ in range(BATCH):
                call()
            found[name].append((time.perf_counter() - start) / BATCH * 1e6)
    backend.wait()
    return {name: median(own) for name, own in found.items()}


def while_busy(backend: CudaBackend, calls: Mapping[str, Call]) -> dict[str, float]:
    """The median time of each call in microseconds, behind work that takes the device hundreds of microseconds.

    The calls take turns, as above.
    """
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(FEW):
        for name, call in calls.items():
            backend.wait()
            backend.flush()
            start = time.perf_counter()
            call()
            found[name].append((time.perf_counter() - start) * 1e6)
    backend.wait()
    return {name: median(own) for name, own in found.items()}


def allocations(torch: Any, call: Call) -> float:
    """The number of blocks that a call requests from PyTorch's allocator."""
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    for _ in range(FEW):
        call()
    return float(torch.cuda.memory_stats()["allocation.all.allocated"] - before) / FEW


def activities(torch: Any, backend: CudaBackend, call: Call) -> tuple[float, float]:
    """The numbers of kernels, and of copies and fills, of a call, by PyTorch's profiler."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(FEW):
            call()
        backend.wait()
    names = [e.name for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    moves = sum(name.startswith(("Memcpy", "Memset")) for name in names)
    return (len(names) - moves) / FEW, moves / FEW
