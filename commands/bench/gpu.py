"""The GPU to measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compiler.errors import WarpfoldError, error

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend


def gpu(command: str, instead: str) -> CudaBackend:
    """The first GPU.

    Args:
        command: the command that needs it, for the error.
        instead: what works without a GPU, for the error.

    Raises:
        BackendError: WF742 without a GPU.
    """
    from ...runtime.backends.cuda_backend import backend

    try:
        return backend(0)
    except WarpfoldError as e:
        raise error("WF742", command=command, reason=e.message, instead=instead) from e
