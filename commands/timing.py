"""Where a request ran, and how long its kernels took there."""

from __future__ import annotations

from typing import Any

from ..compiler.errors import WarpfoldError

REPEATS = 3
"""Runs of each launch, of which the fastest counts."""


class Timed:
    """A backend that records the device time of all launches."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.microseconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def launch(self, compiled: Any, calls: Any, stream: int) -> None:
        """Launches a few times, and adds the least time."""
        spent = (
            self._backend.elapsed(lambda: self._backend.launch(compiled, calls, stream), stream) for _ in range(REPEATS)
        )
        self.microseconds += min(spent)


def why(backend: Any, device: str) -> str:
    """The backend that ran, and the reason for it."""
    if backend.name == "cuda":
        return f"CUDA: {backend.device_name}" + (", chosen because it is there" if device == "auto" else "")
    text = f"emulator of {backend.target.arch}"
    if device != "auto":
        return text
    from ..runtime.backends.cuda_backend import backend as cuda

    try:
        cuda(0)
    except WarpfoldError as e:
        return f"{text}, chosen because {e.message.partition(':')[0]}"
    return text
