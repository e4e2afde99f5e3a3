"""What a call costs the host: microseconds until it returns, and what it allocates."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

from ...runtime import api

if TYPE_CHECKING:
    from ...runtime.cuda_backend import CudaBackend

ELEMENTS = 4096
CALLS, BATCH = 10_000, 200
"""Calls in all, and how many are made before the device is waited for: a full queue would make the host wait."""


def host(backend: CudaBackend) -> dict[str, Any]:
    """Microseconds a call by what is called, of a sum of 4,096 f32; nothing without PyTorch."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    x, out = torch.ones(ELEMENTS, device="cuda"), torch.empty((), device="cuda")
    k = api.compile("sum", (ELEMENTS,), "f32", arch=backend.target.arch)
    calls: dict[str, Callable[[], Any]] = {
        "wf.sum(t)": lambda: api.sum(x),
        "torch.sum(t)": lambda: torch.sum(x),
        "torch.sum(t, 0, out=o)": lambda: torch.sum(x, 0, out=out),
        "k = wf.compile(...); k(t, out=o)": lambda: k(x, out=out),
    }
    found: dict[str, Any] = {name: microseconds(backend, call) for name, call in calls.items()}
    found["allocations of a wf.sum(t)"] = allocations(torch, calls["wf.sum(t)"])
    found["allocations of a k(t, out=o)"] = allocations(torch, calls["k = wf.compile(...); k(t, out=o)"])
    return found


def microseconds(backend: CudaBackend, call: Callable[[], Any]) -> float:
    """The median over batches of the time of a call."""
    found = []
    for _ in range(BATCH):
        call()
    for _ in range(CALLS // BATCH):
        backend.wait()
        start = time.perf_counter()
        for _ in range(BATCH):
            call()
        found.append((time.perf_counter() - start) / BATCH * 1e6)
    backend.wait()
    return median(found)


def allocations(torch: Any, call: Callable[[], Any], calls: int = 100) -> float:
    """Blocks that a call asks PyTorch's allocator for."""
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    for _ in range(calls):
        call()
    return float(torch.cuda.memory_stats()["allocation.all.allocated"] - before) / calls
