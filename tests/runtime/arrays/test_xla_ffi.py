"""The handler that XLA calls, with frames as XLA makes them, on a device and on the host."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from warpfold.compiler.dtypes import BF16, F32
from warpfold.runtime.arrays import xla_ffi
from warpfold.runtime.arrays.conversion import stream_of
from warpfold.runtime.arrays.xla_ffi import Buffer, Kind

STREAM = 77


class Frame:
    """A call of the function ``number`` with arrays of these addresses."""

    def __init__(self, number: int, arguments: list[int], results: list[int]) -> None:
        self.errors: list[str] = []
        self.kept: list[Any] = []
        api = xla_ffi._Api()
        api.create_error = xla_ffi._CREATE_ERROR(self._error)
        api.get_stream = xla_ffi._GET_STREAM(self._stream)
        value = ctypes.c_int64(number)
        scalar = xla_ffi._Scalar(5, ctypes.pointer(value))
        scalars = (ctypes.POINTER(xla_ffi._Scalar) * 1)(ctypes.pointer(scalar))
        attributes = xla_ffi._Attributes(0, None, 1, None, None, scalars)
        own = xla_ffi._Frame(
            0, None, ctypes.pointer(api), 5, 3, self._arrays(arguments), self._arrays(results), attributes
        )
        self.frame = own
        self.kept += [api, value, scalar, scalars]

    def _arrays(self, addresses: list[int]) -> Any:
        made = [xla_ffi._Array(0, None, 0, a, 0, None) for a in addresses]
        each = (ctypes.POINTER(xla_ffi._Array) * len(made))(*map(ctypes.pointer, made))
        self.kept += [made, each]
        return xla_ffi._Arrays(0, None, len(made), None, each)

    def _error(self, args: Any) -> int:
        self.errors.append(args.contents.message.decode())
        return 1234

    def _stream(self, args: Any) -> None:
        assert args.contents.context == 5
        args.contents.stream = STREAM

    def called(self, platform: str) -> int | None:
        found: int | None = xla_ffi._handler(platform)(ctypes.byref(self.frame))
        return found


def test_a_call_in_host_memory() -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)

    def executed(given: Any, into: Any) -> None:
        into[0][...] = given[0] * 2

    number = xla_ffi.added(executed, [Kind((2, 3), F32)], [Kind((2, 3), F32)])
    assert Frame(number, [x.ctypes.data], [y.ctypes.data]).called("cpu") is None
    np.testing.assert_array_equal(y, x * 2)


def test_a_call_on_a_device_has_addresses_and_the_stream() -> None:
    seen: list[Any] = []
    number = xla_ffi.added(lambda given, into: seen.extend((*given, *into)), [Kind((4, 8), BF16)], [Kind((4,), F32)])
    assert Frame(number, [4096], [8192]).called("CUDA") is None
    assert seen == [Buffer(4096, (4, 8), BF16, STREAM), Buffer(8192, (4,), F32, STREAM)]
    assert stream_of(seen[0]) == STREAM
    assert seen[0].__cuda_array_interface__["data"] == (4096, False)


def test_what_a_call_raises_is_an_error_of_xla() -> None:
    def executed(*_: Any) -> None:
        raise ValueError("no such thing")

    own = Frame(xla_ffi.added(executed, [], []), [], [])
    assert own.called("cpu") == 1234
    assert own.errors == ["ValueError: no such thing"]


def test_the_version_is_told() -> None:
    metadata = xla_ffi._Metadata()
    extension = xla_ffi._MetadataExtension(xla_ffi._Extension(0, 1, None), ctypes.pointer(metadata))
    frame = xla_ffi._Frame(extension=ctypes.cast(ctypes.pointer(extension), ctypes.POINTER(xla_ffi._Extension)))
    assert xla_ffi._handler("cpu")(ctypes.byref(frame)) is None
    assert (metadata.version.major, metadata.version.minor) == (xla_ffi.MAJOR, xla_ffi.MINOR)


def test_structures_are_as_long_as_in_the_header() -> None:
    """Sizes of a 64-bit machine, from ``c_api.h``."""
    sizes = {
        "_Version": 24,
        "_Array": 48,
        "_Arrays": 40,
        "_Attributes": 48,
        "_ErrorArgs": 32,
        "_StreamArgs": 32,
        "_Frame": 168,
    }
    assert {name: ctypes.sizeof(getattr(xla_ffi, name)) for name in sizes} == sizes
