"""Kernel launches that can be repeated: arguments packed once, and one call of the driver that converts nothing.

A call through cuda-python costs as much as the driver itself, since every argument is looked at. Here the driver's
functions are called by address, as ``cuGetProcAddress`` gives it, with arguments that were converted before.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from ...compiler.driver.artifact import CompiledKernel
from ...compiler.plan.abi import POINTERS
from .kernel_calls import Call

SINCE = 12000
"""The CUDA version whose functions are asked for."""
LEGACY_STREAM = 1
"""``CU_GET_PROC_ADDRESS_LEGACY_STREAM``: stream 0 is the default stream of all threads, as for cuda-python."""
WORD = 8
"""Bytes of an address."""

Argument = Any
"""What ctypes hands on as it is: what ``from_param`` gives."""
argument: Callable[[int | None], Argument] = ctypes.c_void_p.from_param


class Entries:
    """The driver's functions that a launch calls, by address; each returns a status.

    They let other Python threads run meanwhile: a launch waits while the GPU's queue is full, and what empties the
    queue may be a callback in Python.

    Attributes:
        launch: ``cuLaunchKernelEx(config, function, arguments, extra)``.
        capturing: ``cuStreamIsCapturing(stream, status)``.
    """

    def __init__(self, address: Callable[[bytes, int, int], int]) -> None:
        kind = ctypes.CFUNCTYPE(ctypes.c_int)  # more arguments than declared are taken as they are
        names = (b"cuLaunchKernelEx", b"cuStreamIsCapturing")
        self.launch, self.capturing = (kind(address(name, SINCE, LEGACY_STREAM)) for name in names)


class _Config(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint),
    )  # fmt: skip


class Function:
    """A loaded kernel, and how its arguments are packed.

    Pointers take 8 bytes, sizes and strides as many as the kernel's offsets, each aligned to its size.
    """

    def __init__(self, handle: int, kernel: CompiledKernel) -> None:
        self.handle = handle
        letter = "i" if kernel.facts.index_bits == 32 else "q"
        layout, self.offsets = "<", list[int]()
        for p in kernel.params:
            code = "Q" if p.role in POINTERS else letter
            gap = -struct.calcsize(layout) % struct.calcsize(f"<{code}")
            self.offsets.append(struct.calcsize(layout) + gap)
            layout += f"{gap}x{code}" if gap else code
        self.layout = struct.Struct(layout)


class Packed:
    """One launch: the driver reads what it holds during the call, and has copied it when the call returns.

    Attributes:
        arguments: of ``Entries.launch``.
        words: the arguments' memory, 8 bytes each: one address is one of them.
    """

    def __init__(self, function: Function, call: Call, stream: int) -> None:
        self.function, self.call, self.stream = function, call, stream
        self.words = (ctypes.c_uint64 * max(1, -(-function.layout.size // WORD)))()
        function.layout.pack_into(self.words, 0, *call.args)
        start = ctypes.addressof(self.words)
        self.pointers = (ctypes.c_void_p * max(1, len(function.offsets)))(*(start + o for o in function.offsets))
        self.config = _Config(call.grid, call.block, 0, stream or None, None, 0)
        held = (ctypes.addressof(self.config), function.handle, ctypes.addressof(self.pointers), None)
        self.arguments: tuple[Argument, ...] = tuple(map(argument, held))

    def copy(self) -> Packed:
        """The same launch in memory of its own."""
        return Packed(self.function, self.call, self.stream)
