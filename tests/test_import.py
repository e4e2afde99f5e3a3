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


WITHOUT_TORCH = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)

sys.meta_path.insert(0, Missing())
import warpfold as wf
assert float(wf.softmax([0.0, 0.0])[0]) == 0.5
try:
    import warpfold.torch
except ImportError as e:
    print(e)
"""


def test_modules_of_pytorch_without_pytorch_say_what_is_missing() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True)
    first, second = run.stdout.splitlines()
    assert first == ("WF198: warpfold.torch works with PyTorch, which is not installed")
    assert second.startswith("  help: install it (https://pytorch.org/get-started), or use the functions of warpfold")
