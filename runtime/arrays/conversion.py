"""Views of the caller's arrays, results in the caller's library, checks of ``out=``, and ``.npy`` files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...compiler import files
from ...compiler.dtypes import F8E5M2, DType
from ...compiler.errors import WarpfoldError, error
from ..view import Device, View, as_array
from .dlpack import no_memory
from .libraries import library_of
from .overlap import overlaps_itself, share

MAP_FROM_BYTES = 64 << 20  # larger files are mapped, so that pages are read on first use
_MAGIC = b"\x93NUMPY"
_PICKLE = b"\x80"
_HEADER = 128
"""Bytes of a header without fields that contain the element type."""
_E5M2, _BYTES = b"'descr': '<f1'", b"'descr': '|V1'"


def view(x: object) -> View:
    """The view of ``x``: an array of any library, a list of numbers or a number.

    NumPy, PyTorch, CuPy and JAX arrays, and objects with ``__cuda_array_interface__``, ``__array_interface__`` or
    ``__dlpack__``, are read in place. Any other object is converted by NumPy, and its view is read-only.

    Raises:
        DTypeError: WF105 for an unsupported element type, WF114 for an array that is sparse, masked or traced.
        ArgumentError: WF106 for unaligned elements, WF165 for gradients that would be lost, WF166 for an array without
            memory.
    """
    v = library_of(x).read(x)
    if v.address <= 0 and 0 not in v.shape:
        raise no_memory(x, f"its address is {v.address}")
    t = v.dtype
    offset = v.address % (t.itemsize // 2 if t.kind == "complex" else t.itemsize)
    if offset and 0 not in v.shape:
        raise error("WF106", what="an address at an offset", bytes=offset, itemsize=t.itemsize, dtype=t)
    return v


def allocate(
    like: object, shape: tuple[int, ...], dtype: DType, order: tuple[int, ...] | None = None
) -> tuple[View, Callable[[], Any]]:
    """Memory for a result in the library and on the device of ``like``.

    ``order`` lists the axes from the outermost in memory to the innermost; None is C order. Libraries without strides
    always use C order.

    Returns:
        The view that kernels write, and a function that returns the caller's object. Call it once the kernels are
        queued or, for host memory, finished.

    Raises:
        DTypeError: WF115 when the library has no such element type.
        ArgumentError: WF167 when there is no host memory for the result. If a GPU has none, the library's own exception
            passes, since programs catch it.
    """
    order = tuple(range(len(shape))) if order is None else order
    try:
        return library_of(like).allocate(like, shape, dtype, order)
    except (MemoryError, OverflowError, RuntimeError, ValueError) as e:
        if isinstance(e, WarpfoldError) or type(e).__name__ == "OutOfMemoryError":
            raise
        raise error("WF167", shape=shape, dtype=dtype, bytes=prod(shape) * dtype.itemsize) from e


def has_type(like: object, dtype: DType) -> bool:
    """Whether the library of ``like`` has arrays of this type: a PyTorch may lack some."""
    torch = sys.modules.get("torch")
    return torch is None or not isinstance(like, torch.Tensor) or hasattr(torch, dtype.numpy_name)


def from_numpy(like: object, a: np.ndarray[Any, Any]) -> Any:
    """``a`` in the library and on the device of ``like``.

    Raises:
        DTypeError: WF105 or WF115 when warpfold or the library has no such element type.
    """
    made, finish = allocate(like, a.shape, view(a).dtype)
    if made.device.kind == "cpu":
        as_array(made)[...] = a
    else:
        from ..backends.cuda_backend import backend

        backend(made.device.number).put(made, a, stream_of(like))
    return finish()


def to_numpy(x: object) -> np.ndarray[Any, Any]:
    """A copy of ``x`` as a NumPy array; waits for the device of ``x``."""
    v = view(x)
    if v.device.kind == "cpu":
        return as_array(v).copy()
    from ..backends.cuda_backend import backend

    return backend(v.device.number).get(v, stream_of(x))


def stream_of(x: object) -> int:
    """The CUDA stream that the caller's library uses for ``x``; 0, the default stream, if it names none."""
    return library_of(x).stream(x)


def common_device(inputs: Sequence[View]) -> Device:
    """The device of all ``inputs``.

    Raises:
        ArgumentError: WF107 when they are on several devices.
    """
    device = inputs[0].device
    if any(v.device != device for v in inputs):
        raise error("WF107", devices=", ".join(f"input {i} on {v.device}" for i, v in enumerate(inputs)))
    return device


_MEMORY = ("__dlpack__", "__array_interface__", "__cuda_array_interface__", "shape")
"""Attributes of which an array has one. PyTorch's tensors have the first; some fail when they are asked for others."""


def check_out(out: object, shape: tuple[int, ...], dtype: DType, inputs: Sequence[View]) -> View:
    """The view of ``out``, the caller's array for a result.

    Raises:
        ArgumentError: WF108 for its shape, WF110 when its elements share memory, WF111 when it shares memory with an
            input, WF112 for its device, WF113 when it cannot be written (read-only, immutable, or not an array).
        DTypeError: WF109 for its element type.
    """
    if not any(hasattr(out, name) for name in _MEMORY):  # a number is read as an array that nobody would see
        raise error("WF113", reason=_why_read_only(out))
    v = view(out)
    if v.shape != shape:
        raise error("WF108", found=v.shape, expected=shape)
    if v.dtype != dtype:
        raise error("WF109", found=v.dtype, expected=dtype)
    if inputs and v.device != inputs[0].device:
        raise error("WF112", found=v.device, expected=inputs[0].device)
    if v.read_only:
        raise error("WF113", reason=_why_read_only(out))
    if overlaps_itself(v):
        raise error("WF110", strides=v.strides, shape=shape)
    for position, other in enumerate(inputs):
        if share(v, other):
            raise error("WF111", position=position)
    return v


def check_apart(outputs: Sequence[View]) -> None:
    """Checks that results do not overlap.

    Raises:
        ArgumentError: WF132.
    """
    for position, v in enumerate(outputs):
        for other, w in enumerate(outputs[:position]):
            if share(v, w):
                raise error("WF132", result=f"out {position}", other=f"out {other}")


def _why_read_only(out: object) -> str:
    if isinstance(out, np.ndarray):
        return "read-only" if out.dtype.isnative else f"in foreign byte order ({out.dtype.str})"
    library = type(out).__module__.partition(".")[0]
    if library in ("jax", "jaxlib"):
        return "a JAX array, which never changes"
    if library == "torch":
        return "a lazy view (negated or conjugated)"
    return f"a {type(out).__qualname__}, not a writable array"


def load_npy(path: str | os.PathLike[str]) -> np.ndarray[Any, Any]:
    """Reads a ``.npy`` file of numbers; a large file is mapped into memory.

    Raises:
        FileError: WF506 when the file cannot be read, WF507 when it is truncated or damaged, WF508 when it contains
            pickled objects, WF509 when it is no ``.npy`` file.
    """
    try:
        with files.opened(path) as f:
            head = f.read(len(_MAGIC))
            named = f.read(_HEADER)
            size = f.seek(0, os.SEEK_END)
    except OSError as e:
        raise error("WF506", path=path, reason=e.strerror or e) from e
    if head != _MAGIC:
        raise _foreign(path, head)
    try:
        if _E5M2 in named:
            return _five_and_two(path)
        # Mapping checks the length of the file against its header before it allocates memory.
        return np.load(path, mmap_mode="r" if size > MAP_FROM_BYTES else None, allow_pickle=False)  # type: ignore[no-any-return]
    except OSError as e:
        raise error("WF506", path=path, reason=e.strerror or e) from e
    except Exception as e:  # a damaged header raises anything: MemoryError for a size, TokenError for its text
        if "Object arrays" in str(e) or "Python objects" in str(e):
            raise error("WF508", path=path) from e
        raise error("WF507", path=path, reason=e) from e


def _five_and_two(path: str | os.PathLike[str]) -> np.ndarray[Any, Any]:
    """An array of 8-bit floats, which ml_dtypes writes with a type that NumPy cannot read."""
    import io

    with files.opened(path) as f:
        held = io.BytesIO(f.read().replace(_E5M2, _BYTES, 1))
    found: np.ndarray[Any, Any] = np.load(held, allow_pickle=False).view(F8E5M2.numpy)
    return found


def _foreign(path: str | os.PathLike[str], head: bytes) -> Exception:
    if not head or _MAGIC.startswith(head):
        return error("WF507", path=path, reason=f"it has {len(head)} bytes")
    if head.startswith(_PICKLE):
        return error("WF508", path=path)
    if head.startswith(b"PK"):
        return error("WF509", path=path, reason="it is an archive (.npz)")
    return error("WF509", path=path, reason="it does not begin with NumPy's mark")
