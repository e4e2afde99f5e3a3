"""The emulator as a backend: kernels read and write NumPy's memory in place."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.target import DEFAULT

if TYPE_CHECKING:
    from ...compiler.driver.artifact import Artifact
    from ..emulator import Tool
    from ..view import View
    from .kernel_calls import Call, Workspace


STEPS_AN_ELEMENT = 64
"""More blocks of our kernels than an element costs the thread that reduces it."""


_LARGE = (32 << 20) - (64 << 10)
"""The largest size, in bytes, whose release the C library of Linux takes as a sign that such blocks come again."""


class EmulatorBackend:
    """Runs artifacts on this machine's processor, as the default target with its SM count would.

    ``tool`` watches every launch; ``max_steps`` and ``seed`` are the launch's. Without ``max_steps`` a launch may take
    more of them the more elements the arrays have: one thread may walk them all. Arrays are named by what they are:
    ``input 0``, ``result 0``, ``partials``, ``counters``.
    """

    name = "emulator"
    device_name = ""

    def __init__(self) -> None:
        from ..emulator import Memory

        self.target = DEFAULT
        self.sms = DEFAULT.sms
        self.memory: Any = Memory()
        self.tool: Tool | None = None
        self.max_steps: int | None = None
        self.seed: int | None = None
        self._bound: dict[int, str] = {}
        self._elements = 0
        self._scratch: tuple[int, int, int, int] = (0, 0, 0, 0)

    def reads(self, view: View) -> bool:
        """All host memory."""
        return view.device.kind == "cpu"

    def bind(self, view: View, *, write: bool, stream: int) -> int:  # noqa: ARG002
        """Maps the bytes that the view spans; addresses keep their alignment."""
        low, high = view.extent
        if low == high:
            return 0
        self._elements = max(self._elements, prod(view.shape))
        data = (ctypes.c_uint8 * (high - low)).from_address(low)
        role = "result" if write else "input"
        name = f"{role} {sum(n.startswith(role) for n in self._bound.values())}"
        base = self.memory.bind(np.ctypeslib.as_array(data), read_only=not write, name=name, initialised=not write)
        self._bound[base] = name
        return int(base) + view.address - low

    def finish(self, views: Sequence[View], stream: int) -> None:  # noqa: ARG002
        """Unmaps everything ``bind`` mapped."""
        for base in self._bound:
            self.memory.free(base)
        self._bound.clear()
        self._elements = 0

    def workspace(self, partial_bytes: int, counters: int, stream: int) -> Workspace:  # noqa: ARG002
        """Memory for partial states and tickets: two allocations, each replaced by a larger one when too small."""
        from .kernel_calls import Workspace

        partials, size, cells, count = self._scratch
        if partial_bytes > size:
            if size:
                self.memory.free(partials)
            size = partial_bytes
            partials = self.memory.allocate(size, name="partials")
        if counters > count:
            if count:
                self.memory.free(cells)
            count = counters
            cells = self.memory.allocate(4 * count, name="counters", initialised=True)
            self.memory.view(cells, 4 * count)[:] = 0
        self._scratch = partials, size, cells, count
        return Workspace(partials, cells)

    def launch(self, artifact: Artifact, calls: Sequence[Call], stream: int) -> None:  # noqa: ARG002
        """Runs the calls at once, one after another."""
        from ..emulator import launch, parse
        from ..emulator.machine.launch import DEFAULT_STEPS

        budget = self.max_steps or DEFAULT_STEPS + STEPS_AN_ELEMENT * self._elements
        module = parse(artifact.ptx)
        for call in calls:
            launch(
                module, call.name, call.grid, call.block, call.args, self.memory,
                shared_bytes=call.shared, max_steps=budget, tool=self.tool, seed=self.seed,
            )  # fmt: skip

    def synchronize(self, stream: int) -> None:
        """Nothing is ever under way."""


class _Made(threading.local):
    """The emulator of one thread: what is mapped, and the workspace, belong to the call that runs."""

    def __init__(self) -> None:
        np.empty(_LARGE, np.uint8)  # once it is freed, the C library keeps freed blocks of less: fresh pages are slow
        self.backend = EmulatorBackend()


_made = _Made()


def emulator() -> EmulatorBackend:
    """The emulator, made once a thread."""
    return _made.backend
