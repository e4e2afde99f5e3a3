"""Calls that XLA makes of a Python function, without a compiler: a handler of its foreign function interface in ctypes.

The structures are those of ``xla/ffi/api/c_api.h``, which jaxlib has in ``jax.ffi.include_dir()``, as of version 0.x of
the interface: fields are only added to them at the end. XLA asks a handler for its version first, and calls it with the
addresses of arguments and results, which are in C order. What it raises becomes an error of XLA.
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...compiler.dtypes import DType

TARGET = "warpfold"
"""The name of the handler in XLA."""
PLATFORMS = ("cpu", "CUDA")
MAJOR, MINOR = 0, 1
"""The version of the interface that is spoken here."""
_METADATA, _EXECUTE, _INTERNAL = 1, 3, 13
"""The kind of extension, the stage of execution, and the code of errors."""


class Buffer(NamedTuple):
    """An array of XLA in device memory: what other libraries read of one.

    Attributes:
        address, shape, dtype: its memory, in C order.
        stream: the stream on which XLA calls.
    """

    address: int
    shape: tuple[int, ...]
    dtype: DType
    stream: int

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self.address, False)
        return {"shape": self.shape, "typestr": self.dtype.numpy, "data": data, "version": 3, "stream": self.stream}


class Kind(NamedTuple):
    """Shape and element type of an argument or a result."""

    shape: tuple[int, ...]
    dtype: DType


Executed = Callable[[Sequence[Any], Sequence[Any]], None]
"""A function that reads arrays and writes others."""
_CALLS: list[tuple[Executed, Sequence[Kind], Sequence[Kind]]] = []


def added(executed: Executed, arguments: Sequence[Kind], results: Sequence[Kind]) -> int:
    """The number by which XLA calls ``executed``, which it keeps in its programs."""
    _CALLS.append((executed, arguments, results))
    return len(_CALLS) - 1


class _Extension(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p))


class _Version(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("major", ctypes.c_int), ("minor", ctypes.c_int),
    )  # fmt: skip


class _Metadata(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("version", _Version), ("traits", ctypes.c_uint32))


class _MetadataExtension(ctypes.Structure):
    _fields_ = (("base", _Extension), ("metadata", ctypes.POINTER(_Metadata)))


class _Array(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("dtype", ctypes.c_int), ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64), ("dims", ctypes.POINTER(ctypes.c_int64)),
    )  # fmt: skip


class _Arrays(ctypes.Structure):
    """Arguments, or results."""

    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("count", ctypes.c_int64),
        ("types", ctypes.c_void_p), ("each", ctypes.POINTER(ctypes.POINTER(_Array))),
    )  # fmt: skip


class _Scalar(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_int), ("value", ctypes.POINTER(ctypes.c_int64)))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("count", ctypes.c_int64),
        ("types", ctypes.c_void_p), ("names", ctypes.c_void_p), ("each", ctypes.POINTER(ctypes.POINTER(_Scalar))),
    )  # fmt: skip


class _ErrorArgs(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("message", ctypes.c_char_p), ("code", ctypes.c_int),
    )  # fmt: skip


class _StreamArgs(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("context", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )  # fmt: skip


_CREATE_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_ErrorArgs))
_GET_STREAM = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_StreamArgs))


class _Api(ctypes.Structure):
    """What a handler may call, as far as it is used here."""

    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("version", _Version),
        ("internal", ctypes.c_void_p), ("create_error", _CREATE_ERROR), ("message_of_error", ctypes.c_void_p),
        ("destroy_error", ctypes.c_void_p), ("register", ctypes.c_void_p), ("get_stream", _GET_STREAM),
    )  # fmt: skip


class _Frame(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t), ("extension", ctypes.POINTER(_Extension)), ("api", ctypes.POINTER(_Api)),
        ("context", ctypes.c_void_p), ("stage", ctypes.c_int), ("arguments", _Arrays), ("results", _Arrays),
        ("attributes", _Attributes),
    )  # fmt: skip


_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Frame))


@cache
def registered(jax: Any) -> str:
    """The name by which XLA finds the handlers of all platforms."""
    atexit.register(_wait, jax)
    for platform in PLATFORMS:
        jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(_handler(platform)), platform=platform, api_version=1)
    return TARGET


def _wait(jax: Any) -> None:
    """Waits for all arrays at the end of the process: XLA would wait for calls that Python no longer makes."""
    for x in jax.live_arrays():
        with suppress(RuntimeError):  # it was deleted, or its computation failed
            x.block_until_ready()


@cache
def _handler(platform: str) -> Any:
    """The handler of a platform; it lives as long as the process, since XLA keeps its address."""

    def handle(frame: Any) -> int | None:
        own = frame.contents
        if _answered(own):
            return None
        try:
            if own.stage == _EXECUTE:
                _execute(own, on_device=platform != "cpu")
        except BaseException as e:  # XLA has no other way to hear of it
            text = f"{type(e).__name__}: {e}".encode()
            args = _ErrorArgs(ctypes.sizeof(_ErrorArgs), None, text, _INTERNAL)
            return own.api.contents.create_error(ctypes.byref(args))  # type: ignore[no-any-return]
        return None

    return _HANDLER(handle)


def _answered(frame: Any) -> bool:
    """Whether a call asked for the version alone, which it then has."""
    if not frame.extension or frame.extension.contents.type != _METADATA:
        return False
    extension = ctypes.cast(frame.extension, ctypes.POINTER(_MetadataExtension)).contents
    version = extension.metadata.contents.version
    version.major, version.minor = MAJOR, MINOR
    return True


def _execute(frame: Any, *, on_device: bool) -> None:
    """Makes the call that the attribute of the frame names."""
    executed, arguments, results = _CALLS[frame.attributes.each[0].contents.value.contents.value]
    stream = _stream(frame) if on_device else 0

    def arrays(found: Any, kinds: Sequence[Kind]) -> list[Any]:
        made = [(found.each[i].contents.data or 0, *kind) for i, kind in enumerate(kinds)]
        return [Buffer(*m, stream) if on_device else _in_host_memory(*m) for m in made]

    executed(arrays(frame.arguments, arguments), arrays(frame.results, results))


def _stream(frame: Any) -> int:
    """The stream on which XLA calls."""
    args = _StreamArgs(ctypes.sizeof(_StreamArgs), None, frame.context, None)
    if frame.api.contents.get_stream(ctypes.byref(args)):
        raise RuntimeError("XLA has no stream for the call")
    return int(args.stream or 0)


def _in_host_memory(address: int, shape: tuple[int, ...], t: DType) -> np.ndarray[Any, Any]:
    """The array at an address."""
    size = prod(shape) * t.itemsize
    if not size:
        return np.empty(shape, t.numpy)
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(memory, t.numpy, prod(shape)).reshape(shape)
