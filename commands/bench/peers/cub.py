"""CUB: ``cub.cu``, built by nvcc once into the cache folder, and called with the memory's addresses."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....runtime import cache
from ....runtime.arrays.conversion import view
from ....runtime.view import View, contiguous
from . import MissingError, UnservedError, reason

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend
    from ..cases import Case

KINDS = (
    ("sum", "f32"), ("sum", "bf16"), ("sum", "i32"), ("sum", "i8"), ("max", "f32"), ("max", "f16"), ("max", "bf16"),
    ("prod", "f64"), ("count_nonzero", "f32"), ("any", "bool"), ("argmax", "f32"),
)  # fmt: skip
"""The operation and element type of each number that ``bench_reduce`` in ``cub.cu`` takes."""
FULL_ONLY = ("count_nonzero", "argmax")
SOURCE = Path(__file__).with_suffix(".cu")
SECONDS = 300
"""Time limit for nvcc in seconds."""


class Cub:
    """Calls of the library built by nvcc."""

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        self.library = library = ctypes.CDLL(str(built(backend.target.arch)))
        library.bench_error.restype = ctypes.c_char_p
        number = library.bench_version()
        self.version = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"
        self._held: list[Any] = []

    def call(self, case: Case, x: Any) -> Callable[[], View]:
        """DeviceReduce for full reductions, DeviceSegmentedReduce for rows; temporary memory is allocated before."""
        kind = (case.what, case.dtype.name)
        if kind not in KINDS or case.group not in ("full", "row") or (case.group == "row" and case.what in FULL_ONLY):
            raise UnservedError("no such function")
        segments = prod(case.kept)
        out = self._memory(segments * case.result.itemsize + 16)  # the greatest element follows its index
        result = View(out, case.kept, contiguous(case.kept), case.result, self.backend.device)
        nbytes = ctypes.c_size_t()
        work: list[Any] = [ctypes.c_int(KINDS.index(kind)), None, ctypes.byref(nbytes)]
        work += [ctypes.c_void_p(view(x).address), ctypes.c_void_p(out)]
        work += [ctypes.c_int64(prod(case.shape)), ctypes.c_int64(segments)]
        self._checked(work)
        work[1] = ctypes.c_void_p(self._memory(max(1, nbytes.value)))

        def run() -> View:
            self._checked(work)
            return result

        return run

    def _checked(self, work: list[Any]) -> None:
        status = self.library.bench_reduce(*work)
        if status:
            raise RuntimeError(self.library.bench_error(status).decode())

    def _memory(self, nbytes: int) -> int:
        """Memory that stays allocated for some further cases, since queued work may use it."""
        held = self.backend.memory(nbytes)
        address = held.__enter__()
        self._held.append(held)
        while len(self._held) > 8:
            self._held.pop(0).__exit__(None, None, None)
        return address


def built(arch: str) -> Path:
    """The library for ``arch``, from the cache folder or built now.

    Raises:
        MissingError: nvcc is missing or fails.
    """
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path=f"{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin")
    if nvcc is None:
        raise MissingError("no nvcc")
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    digest = hashlib.sha256(f"{arch}\n{version}\n{SOURCE.read_text(encoding='utf-8')}".encode()).hexdigest()[:16]
    folder = cache.folder()
    library = folder / f"cub-{digest}.so"
    if not cache.make(folder):
        raise MissingError("the cache folder is not used")
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch, library.name)
        how = ["-O3", "-std=c++17", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC", "-o", str(made), str(SOURCE)]
        done = subprocess.run([nvcc, *how], capture_output=True, text=True, check=False, timeout=SECONDS)
        if done.returncode:
            raise MissingError(f"nvcc fails: {reason(RuntimeError(done.stderr))}")
        made.replace(library)
    return library


def open_peer(backend: CudaBackend) -> Cub:
    """CUB, if nvcc is installed."""
    return Cub(backend)
