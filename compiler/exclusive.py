"""The lock for what one thread at a time does, mainly using MLIR, and what a fork waits for. Imports no MLIR.

The process has one MLIR context, which is single-threaded (``dialect.load``) and so takes no locks of its own: two
threads in it end the process. A call whose kernel is compiled already never asks for the lock.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from importlib import _bootstrap, import_module

lock = threading.RLock()
"""Held by the thread that uses MLIR, or loads the CUDA driver; others wait until it is done."""
_PACKAGES = {
    __name__.partition(".")[0], "numba_cuda_mlir", "mlir", "cuda", "numpy", "ml_dtypes", "platformdirs", "importlib",
}  # fmt: skip
"""The package, and the packages that it imports at first use."""


def _settle() -> None:
    """Waits until no other thread is inside, nor imports a module that we use.

    The child of a fork has none of the other threads: a lock that one of them holds is never released there, and a
    module that one of them imports is never complete.
    """
    lock.acquire()
    waited_for: set[str] = set()
    while names := _coming() - waited_for:
        waited_for |= names
        for name in names:
            with suppress(ImportError, RuntimeError):  # it is missing, or waits for what this thread imports
                import_module(name)


def _coming() -> set[str]:
    """The modules that threads are importing: those of which CPython has a lock."""
    locked: dict[str, object] = getattr(_bootstrap, "_module_locks", {})
    return {name for name in list(locked) if name.partition(".")[0] in _PACKAGES}


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_settle, after_in_parent=lock.release, after_in_child=lock.release)
