"""DLPack: the struct that array libraries exchange, read through ctypes into a ``View``.

Reads ``__dlpack__`` capsules, versioned or not, on CPU and CUDA. The capsule stays unconsumed and is the owner of the
view, so its own destructor releases the memory.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ...compiler.dtypes import DType, dtype
from ...compiler.errors import WarpfoldError, error
from ..view import Device, View, contiguous

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
LEGACY_STREAM = 1  # the name of CUDA's default stream in the protocol, where 0 is forbidden
_READ_ONLY = 1
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_BYTES = {6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p


def view(x: Any, *, read_only: bool = False) -> View:
    """The view of an object with ``__dlpack__``; on CUDA the object makes the default stream wait for its data.

    Raises:
        DTypeError: WF114 when the export fails or the device is of another kind, WF105 for the element type.
    """
    capsule = _export(x)
    if not any(_is_valid(capsule, name) for name in (b"dltensor_versioned", b"dltensor")):
        raise refusal(x, f"its DLPack export is no fresh capsule: {capsule!r}")
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned") or 0)
        tensor, flags = managed.tensor, managed.flags
    else:
        tensor, flags = _Tensor.from_address(_pointer(capsule, b"dltensor") or 0), 0
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else contiguous(shape)
    device = _device(x, tensor.device_type, tensor.device_id)
    address = tensor.data + tensor.byte_offset if tensor.data else 0
    return View(address, shape, strides, _dtype(tensor), device, read_only or bool(flags & _READ_ONLY), (x, capsule))


def _export(x: Any) -> Any:
    try:
        kind, _ = x.__dlpack_device__()
        stream = {"stream": LEGACY_STREAM} if int(kind) in (CUDA, CUDA_MANAGED) else {}
        try:
            return x.__dlpack__(max_version=(1, 0), **stream)
        except TypeError:  # an object from before versioned capsules
            return x.__dlpack__(**stream)
    except (BufferError, RuntimeError, TypeError, ValueError) as e:
        raise refusal(x, f"its DLPack export fails: {e}") from e


def refusal(
    x: object, reason: object, remedy: str = "convert it to a dense array on the CPU or a GPU"
) -> WarpfoldError:
    """The error for an object that looks like an array but cannot be read as one."""
    return error("WF114", kind=_kind(x), reason=reason, remedy=remedy)


def no_memory(x: object, reason: str, remedy: str = "pass an array whose elements are in memory") -> WarpfoldError:
    """The error for a non-empty array without memory."""
    return error("WF166", kind=_kind(x), reason=reason, remedy=remedy)


def _kind(x: object) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _device(x: object, kind: int, number: int) -> Device:
    if kind in (CPU, CUDA_HOST):
        return Device("cpu")
    if kind in (CUDA, CUDA_MANAGED):
        return Device("cuda", number)
    raise refusal(x, f"it lies on a device of DLPack type {kind}")


def _dtype(tensor: _Tensor) -> DType:
    name = f"{_CODES.get(tensor.code, f'dlpack code {tensor.code} of ')}{tensor.bits}"
    if tensor.bits == 8:
        name = _BYTES.get(tensor.code, name)
    return dtype(name if tensor.lanes == 1 else f"{name}x{tensor.lanes}")
