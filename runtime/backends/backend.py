"""What a backend is: the seam between the launch recipe and the machine that runs it (CUDA device or emulator)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from ...compiler.driver.artifact import Artifact
from ...compiler.dtypes import DType
from ...compiler.program.storage import parts
from ...compiler.target import Target

if TYPE_CHECKING:
    from .launch_buffers import Packed

Kind = Literal["cpu", "cuda"]


class Device(NamedTuple):
    """Where memory lies: ``cpu``, or ``cuda`` with a device number."""

    kind: Kind
    number: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"cuda:{self.number}"


CPU = Device("cpu")
DEVICES = tuple(Device("cuda", number) for number in range(64))
"""The CUDA devices by their numbers."""


@dataclass(frozen=True)
class View:
    """An array of any library, reduced to what a kernel needs.

    Attributes:
        address: byte address of the first element (index 0 on every axis).
        shape: elements along each axis.
        strides: distance between neighbours along each axis, in elements.
        dtype: element type.
        device: where the memory lies.
        read_only: the library says that it must not be written.
        owner: what keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: Device
    read_only: bool = False
    owner: object = None

    @property
    def extent(self) -> tuple[int, int]:
        """The bytes the elements occupy, as (first address, one past the last); empty arrays occupy none."""
        if 0 in self.shape:
            return self.address, self.address
        reach = [s * (n - 1) for n, s in zip(self.shape, self.strides, strict=True)]
        low, high = sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
        item = self.dtype.itemsize
        return self.address + low * item, self.address + (high + 1) * item

    def parts(self) -> tuple[View, ...]:
        """The views of what kernels see in its place: a complex array is two of floats, 8-bit floats are bytes."""
        types = parts(self.dtype)
        if types == (self.dtype,):
            return (self,)
        strides = tuple(s * len(types) for s in self.strides)
        places = [(self.address + i * t.itemsize, t) for i, t in enumerate(types)]
        return tuple(replace(self, address=a, strides=strides, dtype=t) for a, t in places)


class Call(NamedTuple):
    """One kernel launch: entry name, grid and block in x, y, z, and the arguments (pointers and integers) in order."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[int, ...]


class Workspace(NamedTuple):
    """Scratch memory on a device: ``partials`` of the bytes asked for, and ``counters``, zero between launches."""

    partials: int
    counters: int


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
