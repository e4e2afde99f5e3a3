"""The cost of ``import warpfold``, and what it loads."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import time, numpy, sys
start = time.perf_counter()
import warpfold as wf
spent = time.perf_counter() - start
wf.sum, wf.monoid, wf.where, wf.load
print(spent * 1e3, *(m for m in sys.modules if m.split(".")[0] in ("mlir", "numba_cuda_mlir", "cuda", "torch", "rich")))
"""


def test_import_is_cheap_and_loads_neither_mlir_nor_cuda() -> None:
    runs = [subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True) for _ in range(3)]
    words = [r.stdout.split() for r in runs]
    assert all(len(w) == 1 for w in words), words
    assert min(float(w[0]) for w in words) < 40
