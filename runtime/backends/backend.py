"""What a backend is: the seam between the launch recipe and the machine that runs it (CUDA device or emulator)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ...compiler.driver.artifact import Artifact
from ...compiler.target import Target
from ..view import View

if TYPE_CHECKING:
    from .kernel_calls import Call, Workspace
    from .launch_buffers import Packed

closing: list[Callable[[], object]] = []
"""Functions that a backend calls when it closes, so that nothing kept elsewhere names its kernels any longer."""


class Backend(Protocol):
    """A machine that runs artifacts.

    Attributes:
        name: ``cuda`` or ``emulator``.
        target: the architecture to compile for.
        sms: multiprocessors to plan for.
        device_name: what its driver calls it; nothing for the emulator.
    """

    name: str
    target: Target
    sms: int
    device_name: str

    def reads(self, view: View) -> bool:
        """Whether kernels can use the view's memory in place."""
        ...

    def bind(self, view: View, *, write: bool, stream: int) -> int:
        """The address kernels use for the view's first element; host memory that they read is copied over first."""
        ...

    def finish(self, views: Sequence[View], stream: int) -> None:
        """Brings what kernels wrote back into host memory, and lets go of what ``bind`` made; device views stay."""
        ...

    def workspace(self, partial_bytes: int, counters: int, stream: int) -> Workspace:
        """Scratch memory for one launch on ``stream``; kept and reused by later launches on the same stream."""
        ...

    def launch(self, artifact: Artifact, calls: Sequence[Call], stream: int) -> Sequence[Packed] | None:
        """Queues the calls in order on ``stream``; gives what can repeat them, if anything can."""
        ...

    def synchronize(self, stream: int) -> None:
        """Waits for everything queued on ``stream``."""
        ...
