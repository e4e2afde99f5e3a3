"""The GPU that is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compiler.errors import WarpfoldError, error

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend


def gpu(command: str, instead: str) -> CudaBackend:
    """The first GPU.

    Args:
        command: who asks for it.
        instead: what can be done without one.

    Raises:
        BackendError: WF742 where there is none.
    """
    from ...runtime.backends.cuda_backend import backend

    try:
        return backend(0)
    except WarpfoldError as e:
        raise error("WF742", command=command, reason=e.message, instead=instead) from e
