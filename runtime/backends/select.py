"""Selects the backend of a call by ``device=`` and the arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.errors import error
from ..view import View
from .backend import Backend


def backend_for(views: Sequence[View], device: str) -> Backend:
    """The backend that ``device`` names.

    Raises:
        ArgumentError: WF121 for an unknown device, WF122 for memory that the backend cannot access.
        BackendError: WF604 or WF605 when CUDA is requested but missing.
    """
    if device not in ("auto", "cuda", "emulator"):
        raise error("WF121", device=device)
    cuda = next((v.device for v in views if v.device.kind == "cuda"), None)
    if device == "cuda" or (cuda is not None and device == "auto"):
        from .cuda_backend import backend

        found: Backend = backend(cuda.number if cuda else 0)
    else:
        found = _default() if device == "auto" else _emulator()
    if cuda is not None and found.name == "emulator":
        raise error("WF122", found=cuda, backend=found.name)
    return found


def _default() -> Backend:
    """CUDA if a driver and a device are found, else the emulator."""
    from .cuda_backend import backend, find

    return backend(0) if find() else _emulator()


def _emulator() -> Backend:
    from .emulator_backend import emulator

    return emulator()
