"""The interface of a backend, a machine that runs kernel calls: a CUDA device or the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from ...compiler.driver.artifact import Artifact
from ...compiler.target import Target
from ..view import View

if TYPE_CHECKING:
    from .kernel_calls import Call, Workspace
    from .launch_buffers import PackedLaunch

closing: list[Callable[[], object]] = []
"""Functions that a backend calls when it closes, to drop what others keep of its kernels."""


class Backend(Protocol):
    """A machine that runs artifacts.

    Attributes:
        name: ``cuda`` or ``emulator``.
        target: the architecture to compile for.
        sms: multiprocessors to plan for.
        device_name: the driver's name for the device; empty for the emulator.
    """

    name: str
    target: Target
    sms: int
    device_name: str

    def reads(self, view: View) -> bool:
        """Whether kernels can access the memory of the view."""
        ...

    def bind(self, view: View, *, write: bool, stream: int) -> int:
        """The address of the view's first element for kernels; a CUDA device gets a copy of host memory."""
        ...

    def finish(self, views: Sequence[View], stream: int) -> None:
        """Copies results back into host memory, and releases the copies that ``bind`` made."""
        ...

    def workspace(self, partial_bytes: int, counters: int, stream: int) -> Workspace:
        """Scratch memory for one launch on ``stream``; later launches on the stream reuse it."""
        ...

    def launch(self, artifact: Artifact, calls: Sequence[Call], stream: int) -> Sequence[PackedLaunch] | None:
        """Queues the calls in order on ``stream``; returns packed launches if they can be repeated."""
        ...

    def synchronize(self, stream: int) -> None:
        """Waits for everything queued on ``stream``."""
        ...
