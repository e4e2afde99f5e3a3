"""torch.compile: Inductor's kernel for each case, compiled for its exact shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .torch import Torch, called, function

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend
    from . import AnyCase


class Compile(Torch):
    """Calls of a compiled function."""

    def __init__(self) -> None:
        super().__init__()
        import triton

        self.version = f"{self.version}, Triton {triton.__version__}"
        self._made: tuple[str, Any] = ("", None)

    def call(self, case: AnyCase, x: Any) -> Callable[[], Any]:
        """The compiled function; a case's arrays share one."""
        name, compiled = self._made
        if name != case.name:
            self.torch._dynamo.reset()
            compiled = self.torch.compile(function(self.torch, case), dynamic=False, fullgraph=True)
            self._made = (case.name, compiled)
        with self.torch._functorch.config.patch(donated_buffer=False):  # a backward is called again
            return called(self.torch, compiled, case, x)


def open_peer(_: CudaBackend) -> Compile:
    """torch.compile, if PyTorch and Triton are installed."""
    return Compile()
