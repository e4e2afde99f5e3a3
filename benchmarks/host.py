"""What a call costs the host on a CUDA device, with PyTorch's tensors: microseconds, allocations, the first call.

    python benchmarks/host.py

More kinds of calls than ``warpfold bench`` tells of, timed as there. The first call is made in a process of its own,
with PyTorch imported, a CUDA context there, and the kernel in the cache on disk; warpfold and cuda-python are imported
within its time, from bytecode, as installed packages have it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from warpfold.commands.bench.host_time import allocations, microseconds
from warpfold.runtime.backends.cuda_backend import backend

FIRST = """
import time, torch
x = torch.ones(4096, device="cuda")
x + 1
torch.cuda.synchronize()
start = time.perf_counter()
import warpfold as wf
wf.sum(x)
queued = time.perf_counter()
torch.cuda.synchronize()
print((queued - start) * 1e3, (time.perf_counter() - start) * 1e3)
"""
"""A first call: milliseconds until it returns, and until its result is there."""


def calls(torch: Any) -> dict[str, Callable[[], Any]]:
    """What is timed, by the words of the table."""
    import warpfold as wf

    @wf.monoid(identity=0)
    def total(a: Any, b: Any) -> Any:
        return a + b

    x, y = torch.ones(4096, device="cuda"), torch.ones((64, 1024), device="cuda")
    out, rows = torch.empty((), device="cuda"), torch.empty(64, device="cuda")
    k, of_rows = wf.compile("sum", (4096,)), wf.compile("sum", (64, 1024), axis=1)
    return {
        "wf.sum(t)": lambda: wf.sum(x),
        "wf.sum(t, 1)": lambda: wf.sum(y, 1),
        "wf.sum(t, axis=1)": lambda: wf.sum(y, axis=1),
        "wf.sum(t, 1, keepdims=True)": lambda: wf.sum(y, 1, keepdims=True),
        "wf.sum(t, dtype='f64')": lambda: wf.sum(x, dtype="f64"),
        "wf.sum(t, 1, out=o)": lambda: wf.sum(y, 1, out=rows),
        "wf.reduce(t, wf.MAX)": lambda: wf.reduce(x, wf.MAX),
        "wf.reduce(t, a monoid)": lambda: wf.reduce(x, total),
        "wf.minmax(t)": lambda: wf.minmax(x),
        "k(t)": lambda: k(x),
        "k(t, out=o)": lambda: k(x, out=out),
        "k(t, out=o), rows": lambda: of_rows(y, out=rows),
        "torch.sum(t)": lambda: torch.sum(x),
        "torch.sum(t, 1)": lambda: torch.sum(y, 1),
        "torch.sum(t, 0, out=o)": lambda: torch.sum(x, 0, out=out),
        "torch.add(t, t, out=o)": lambda: torch.add(x, x, out=x),
    }


def first() -> list[float]:
    """Milliseconds of a first call, until it returns and until its result is there; the fastest of three processes."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    texts = [subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True, env=kept).stdout
             for _ in range(4)]  # fmt: skip
    return min([float(n) for n in text.split()] for text in texts[1:])


def main() -> None:
    """Prints the table."""
    import torch

    device = backend(torch.cuda.current_device())
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Python {sys.version.split()[0]}")
    print(f"{'':30}      us  allocations")
    timed = calls(torch)
    for name, us in microseconds(device, timed).items():
        print(f"{name:30}  {us:6.2f}  {allocations(torch, timed[name]):g}")
    queued, done = first()
    print(f"first call of a process: returns after {queued:.0f} ms, its result is there after {done:.0f} ms")


if __name__ == "__main__":
    main()
