"""Array libraries: how arrays of each become views, how results are made, and which stream is used.

Only NumPy is imported here: an object of another library shows that the library is imported already.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from functools import partial
from operator import index
from typing import Any, NamedTuple

import numpy as np

from ...compiler.dtypes import BOOL, DType, dtype
from ...compiler.errors import WarpfoldError, error
from ...compiler.program.fold import an_element
from ...compiler.program.frames import caller
from ...compiler.program.values import Value
from ..view import CPU, DEVICES, Device, View, contiguous
from . import dlpack, pytorch
from .dask_arrays import in_dask, is_unread
from .dlpack import refusal

Shape = tuple[int, ...]
Order = tuple[int, ...]
Allocation = tuple[View, Callable[[], Any]]


class Library(NamedTuple):
    """What warpfold knows of one array library.

    Attributes:
        read: returns the view of an array.
        allocate: makes an uninitialised array without gaps on the device of a given one. Returns its view, and a
            function that returns the caller's object once the kernels are queued. If the library has strides, the axes
            have the requested order in memory, outermost first.
        stream: returns the CUDA stream on which the caller uses an array; 0 is the default stream.
    """

    read: Callable[[Any], View]
    allocate: Callable[[Any, Shape, DType, Order], Allocation]
    stream: Callable[[Any], int]


def library_of(x: object) -> Library:
    """The library of ``x``, cached by class."""
    kind = type(x)
    found = _SEEN.get(kind)
    if found is None:
        keys = ((base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__)
        found = next((_KNOWN[key] for key in keys if key in _KNOWN), None)
        if found is None:
            return OTHER  # not cached: protocols may belong to the object, not to its class
        _SEEN[kind] = found
    return found


def in_elements(strides: Shape, shape: Shape, t: DType) -> Shape:
    """Byte strides as strides in elements; strides of axes with fewer than two elements do not matter.

    Raises:
        ArgumentError: WF106 for a stride that is no multiple of the element size.
    """
    if 0 in shape:
        return contiguous(shape)
    item = t.itemsize
    for stride, size in zip(strides, shape, strict=True):
        if stride % item and size > 1:
            raise error("WF106", what="a stride", bytes=stride, itemsize=item, dtype=t)
    return tuple([stride // item for stride in strides])


def _laid(empty: Callable[[Shape], Any], shape: Shape, order: Order) -> Any:
    """An array of ``shape`` with its axes in ``order``, made by ``empty``, which makes arrays in C order."""
    places = tuple(range(len(order)))
    if order == places:
        return empty(shape)
    return empty(tuple(shape[a] for a in order)).transpose(tuple(order.index(a) for a in places))


def no_stream(_: object) -> int:
    """The default stream, which host arrays use."""
    return 0


# --- NumPy -------------------------------------------------------------------------------------------------------
_NUMPY_TYPES: dict[Any, DType] = {}


def read_numpy(x: np.ndarray[Any, Any]) -> View:
    """The view of a NumPy array; an array in foreign byte order is copied, and its view is read-only."""
    t = _NUMPY_TYPES.get(x.dtype)
    if t is None:
        if not x.dtype.isnative:
            return _copied(x.astype(x.dtype.newbyteorder("=")))
        t = dtype(x.dtype)
        _NUMPY_TYPES[x.dtype] = t
    if type(x) is not np.ndarray and isinstance(x, np.ma.MaskedArray):
        raise refusal(x, "its mask would be ignored", "fill it first with the identity: x.filled(0) for a sum")
    interface = x.__array_interface__
    address, read_only = interface["data"]
    return View(address, x.shape, in_elements(x.strides, x.shape, t), t, CPU, read_only, x)


def allocate_numpy(_: object, shape: Shape, t: DType, order: Order) -> Allocation:
    """A NumPy array; one of rank 0 is returned as a scalar, as by NumPy's own reductions."""
    made: np.ndarray[Any, Any] = _laid(partial(np.empty, dtype=t.numpy), shape, order)
    return read_numpy(made), (lambda: made) if shape else (lambda: made[()])


def _copied(x: np.ndarray[Any, Any]) -> View:
    x.flags.writeable = False  # writes to a copy would be lost
    return read_numpy(x)


# --- CuPy --------------------------------------------------------------------------------------------------------
def _read_cupy(x: Any) -> View:
    t = dtype(x.dtype)
    return View(x.data.ptr, x.shape, in_elements(x.strides, x.shape, t), t, DEVICES[x.device.id], False, x)


def _allocate_cupy(like: Any, shape: Shape, t: DType, order: Order) -> Allocation:
    try:
        with like.device:
            made = _laid(partial(sys.modules["cupy"].empty, dtype=t.numpy), shape, order)
    except (TypeError, ValueError) as e:
        raise error("WF115", library="cupy", dtype=t) from e
    return _read_cupy(made), lambda: made


def _cupy_stream(x: Any) -> int:
    with x.device:
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)


# --- JAX ---------------------------------------------------------------------------------------------------------
def _read_jax(x: Any) -> View:
    if isinstance(x, sys.modules["jax"].core.Tracer):
        raise refusal(x, "it stands for values that are not there yet", "call warpfold outside jax.jit, grad and vmap")
    if x.is_deleted():
        raise refusal(x, "it was deleted, or donated to a function", "pass an array that still has its memory")
    if len(x.devices()) > 1:
        how = "replicated" if x.is_fully_replicated else "sharded"
        remedy = "gather it first: jax.device_get(x), or reduce a part: x.addressable_shards[0].data"
        raise refusal(x, f"it is {how} over {len(x.devices())} devices", remedy)
    t = dtype(x.dtype)  # first: JAX's own message for unsupported types does not name them
    if x.__dlpack_device__()[0] == dlpack.CPU:
        x.block_until_ready()  # on a GPU the export makes our stream wait
    v = dlpack.view(x, read_only=True)
    return View(v.address, v.shape, v.strides, t, v.device, True, v.owner)


def _allocate_jax(like: Any, shape: Shape, t: DType, _: Order) -> Allocation:
    """On the CPU a NumPy array that JAX adopts; on a GPU a new JAX array, written before anyone else can see it.

    JAX has no strides: arrays are in C order.
    """
    jax = sys.modules["jax"]
    place = next(iter(like.devices()))
    if place.platform == "cpu":
        host: np.ndarray[Any, Any] = np.empty(shape, t.numpy)
        return read_numpy(host), lambda: _to_jax(jax, host, place, t)
    with _x64(jax, t), jax.default_device(place):
        made = jax.numpy.zeros(shape or (1,), t.numpy)  # an array of rank 0 could share a constant
    v = _read_jax(made)
    strides = contiguous(shape)
    fresh = View(v.address, shape, strides, t, v.device, False, (made, v.owner))
    return fresh, lambda: _settled(fresh.device, made).reshape(shape)


def _to_jax(jax: Any, host: np.ndarray[Any, Any], place: Any, t: DType) -> Any:
    with _x64(jax, t):
        return jax.device_put(host, place)


def _x64(jax: Any, t: DType) -> Any:
    """Enables 64-bit elements in JAX, which it would otherwise truncate to 32 bits."""
    if t.bits < 64 or jax.config.jax_enable_x64:
        return contextlib.nullcontext()
    if callable(getattr(jax, "enable_x64", None)):
        return jax.enable_x64(True)
    from importlib import import_module

    return import_module("jax.experimental").enable_x64()


def _settled(device: Device, made: Any) -> Any:
    """Waits for the kernels that write ``made``: JAX has streams of its own, which do not wait for ours."""
    from ..backends.cuda_backend import wait

    wait(device.number)
    return made


# --- Every other object ------------------------------------------------------------------------------------------
def _read_other(x: Any) -> View:
    from . import lossless  # not imported for arrays of known libraries

    if isinstance(x, np.generic):
        return _copied(np.array(x))
    if isinstance(x, Value):
        raise an_element()
    if is_unread(x) or (isinstance(x, list | tuple) and in_dask(x)):
        problem = "this call needs all of their elements, which are not there yet"
        raise error("WF190", problem=problem, remedy="compute them first: x.compute()", where=caller())
    lossless.check(x)
    if getattr(x, "__cuda_array_interface__", None) is not None:  # None means that there is none
        return _sound(_read_cuda_interface, x)
    if getattr(x, "__array_interface__", None) is not None:
        return _sound(_read_interface, x)
    if getattr(x, "__dlpack__", None) is not None and getattr(x, "__dlpack_device__", None) is not None:
        return dlpack.view(x)
    try:
        converted = np.asanyarray(x)  # asarray would drop the mask of a masked array
    except (RuntimeError, TypeError, ValueError) as e:  # RuntimeError for a list of tensors with gradients
        if isinstance(x, list | tuple) and "inhomogeneous" in str(e):
            rows = "give all rows of a list one length, or reduce rows of several by wf.segment_reduce"
            raise refusal(x, "its rows have several lengths or depths", rows) from e
        raise refusal(x, e) from e
    if converted.dtype.kind in "OSU" and not hasattr(x, "dtype"):
        raise error("WF105", dtype=lossless.odd(x, converted.dtype), known="numbers and bools")
    lossless.check_digits(x, converted)
    return _copied(converted.view())


def _sound(read: Callable[[Any], View], x: Any) -> View:
    """The view that an array interface describes; WF114 for an invalid interface."""
    try:
        return read(x)
    except WarpfoldError:
        raise
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as e:
        raise refusal(x, f"its array interface is not sound: {e}") from e


def _read_interface(x: Any) -> View:
    data, shape = x.__array_interface__.get("data"), x.__array_interface__["shape"]
    if isinstance(data, tuple) and data[0] <= 0 and 0 not in shape:
        raise dlpack.no_memory(x, f"its address is {data[0]}")
    return read_numpy(np.asarray(x))


def _read_cuda_interface(x: Any) -> View:
    facts = x.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise refusal(x, "its mask would be ignored", "fill it first")
    kind = np.dtype(facts["typestr"])
    if not kind.isnative:
        raise refusal(x, f"its elements of type {kind} are in foreign byte order", "convert it to native byte order")
    t = BOOL if kind == np.bool_ else dtype(kind)
    address, read_only = facts["data"]
    shape = tuple(map(index, facts["shape"]))
    if any(n < 0 for n in shape):
        raise ValueError(f"its shape is {shape}")
    strides = facts.get("strides")
    strides = contiguous(shape) if strides is None else in_elements(tuple(strides), shape, t)
    return View(address or 0, shape, strides, t, _interface_device(x, address), bool(read_only), x)


def _interface_device(x: Any, address: int | None) -> Device:
    """The device, which the interface does not name: from DLPack, else from the driver, by the address."""
    if hasattr(x, "__dlpack_device__"):
        return DEVICES[int(x.__dlpack_device__()[1])]
    if not address:
        return DEVICES[0]
    from ..backends.cuda_backend import ordinal

    return DEVICES[ordinal(address)]


def _interface_stream(x: Any) -> int:
    stream = (getattr(x, "__cuda_array_interface__", None) or {}).get("stream")
    return 0 if stream in (None, dlpack.LEGACY_STREAM) else int(stream)


NUMPY = Library(read_numpy, allocate_numpy, no_stream)
TORCH = Library(pytorch.read, pytorch.allocate, pytorch.stream)
CUPY = Library(_read_cupy, _allocate_cupy, _cupy_stream)
JAX = Library(_read_jax, _allocate_jax, no_stream)
OTHER = Library(_read_other, allocate_numpy, _interface_stream)

_KNOWN = {
    ("numpy", "ndarray"): NUMPY,
    ("torch", "Tensor"): TORCH,
    ("cupy", "ndarray"): CUPY,
    ("jax", "Array"): JAX,
    ("jax", "Tracer"): JAX,
    ("jax", "ArrayImpl"): JAX,
    ("jaxlib", "ArrayImpl"): JAX,
    ("jaxlib", "Array"): JAX,
}
_SEEN: dict[type, Library] = {np.ndarray: NUMPY}
