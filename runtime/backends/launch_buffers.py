"""Repeatable kernel launches: arguments are packed once, and a launch calls the driver without conversions.

A call through cuda-python converts every argument, which costs as much as the driver itself. Here driver functions are
called by their address from ``cuGetProcAddress``, with arguments converted in advance.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Callable
from typing import Any

from ...compiler.driver.artifact import CompiledKernel
from ...compiler.plan.abi import POINTERS
from .kernel_calls import Call

SINCE = 12000
"""The CUDA version of the requested functions."""
LEGACY_STREAM = 1
"""``CU_GET_PROC_ADDRESS_LEGACY_STREAM``: stream 0 is the default stream of all threads, as for cuda-python."""
WORD = 8
"""Bytes of an address."""

Argument = Any
"""A value of ``from_param``, which ctypes passes on without conversion."""
argument: Callable[[int | None], Argument] = ctypes.c_void_p.from_param


class Entries:
    """Driver functions for launches, called by address; each returns a status.

    They release the interpreter lock: a launch waits while the GPU's queue is full, and only a callback in Python may
    empty the queue.

    Attributes:
        launch: ``cuLaunchKernelEx(config, function, arguments, extra)``.
        capturing: ``cuStreamIsCapturing(stream, status)``.
    """

    def __init__(self, address: Callable[[bytes, int, int], int]) -> None:
        kind = ctypes.CFUNCTYPE(ctypes.c_int)  # undeclared arguments are passed on as they are
        names = (b"cuLaunchKernelEx", b"cuStreamIsCapturing")
        self.launch, self.capturing = (kind(address(name, SINCE, LEGACY_STREAM)) for name in names)


class _Config(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint),
    )  # fmt: skip


class _Attribute(ctypes.Structure):
    """``CUlaunchAttribute``, with the integer that its value begins with."""

    _fields_ = (("kind", ctypes.c_uint), ("gap", ctypes.c_uint), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


COOPERATIVE = _Attribute(2, 0, 1)
"""``CU_LAUNCH_ATTRIBUTE_COOPERATIVE``: the device runs all CTAs at a time, or refuses the launch."""


FOLLOWING = _Attribute(6, 0, 1)
"""``CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION``: the launch does not wait for the end of the one before."""


class Function:
    """A loaded kernel and the layout of its arguments.

    Pointers have 8 bytes; sizes and strides have the width of the kernel's offsets. Each is aligned to its size.
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


class PackedLaunch:
    """One launch with its argument memory, which the driver copies during the call.

    Attributes:
        arguments: the arguments of ``Entries.launch``.
        words: the memory of the kernel's arguments as 8-byte words; an address is one word. An item of ``array`` is
            written in half the time of one of ``ctypes``.
    """

    def __init__(self, function: Function, call: Call, stream: int) -> None:
        self.function, self.call, self.stream = function, call, stream
        self.words = array("Q", bytes(WORD * max(1, -(-function.layout.size // WORD))))
        function.layout.pack_into(self.words, 0, *call.args)
        start = self.words.buffer_info()[0]
        self.pointers = (ctypes.c_void_p * max(1, len(function.offsets)))(*(start + o for o in function.offsets))
        attribute = COOPERATIVE if call.cooperative else FOLLOWING if call.follows else None
        attributes = (ctypes.addressof(attribute), 1) if attribute else (None, 0)
        self.config = _Config(call.grid, call.block, call.shared, stream or None, *attributes)
        held = (ctypes.addressof(self.config), function.handle, ctypes.addressof(self.pointers), None)
        self.arguments: tuple[Argument, ...] = tuple(map(argument, held))

    def copy(self) -> PackedLaunch:
        """This launch with argument memory of its own."""
        return PackedLaunch(self.function, self.call, self.stream)
