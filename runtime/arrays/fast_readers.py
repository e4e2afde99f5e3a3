"""Fast readers of GPU arrays, for calls whose launches are repeated.

Arrays of one *kind* are reduced by the same launches: they differ only in their addresses, by multiples of 16 bytes.
Arrays of PyTorch's and CuPy's own classes have a kind. All others, such as host arrays and subclasses, have none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from .pytorch import recorder

Check = Callable[..., bool]
"""A test whether arrays have the kinds that it was made for, up to their addresses."""


class Reader(NamedTuple):
    """How arrays of one class are read.

    Attributes:
        kind: the kind of an array, a hashable value; raises for one without memory of its own, such as a sparse array.
        address: the address of the first element.
        stream: for an array, a function that returns the caller's stream; -1 if another device is current.
        empty: for an array, a function that makes an uninitialised array like it.
        check: for arrays of this class, a fast test of their kinds; None if the library offers none.
    """

    kind: Callable[[Any], Hashable]
    address: Callable[[Any], int]
    stream: Callable[[Any], Callable[[], int]]
    empty: Callable[[Any], Callable[[], Any]]
    check: Callable[[Sequence[Any]], Check | None]


def reader_of(x: object) -> Reader | None:
    """The reader for ``x``; None for a class without one."""
    kind = type(x)
    if kind not in _READERS:
        make = _MAKERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if make is None:
            return None
        _READERS[kind] = make()
    return _READERS[kind]


def kinds_of(xs: Sequence[object]) -> list[Hashable] | None:
    """The kind of each array, which leaves out the caller's stream; None if an array has no kind."""
    found = []
    for x in xs:
        reader = _READERS.get(type(x)) or reader_of(x)
        if reader is None:
            return None
        try:
            found.append(reader.kind(x))
        except (RuntimeError, TypeError):  # a tensor without strides or memory
            return None
    return found


# --- PyTorch -----------------------------------------------------------------------------------------------------
def _torch() -> Reader:
    torch = sys.modules["torch"]
    return Reader(_torch_kind, torch.Tensor.data_ptr, _torch_stream, _torch_empty, _torch_check)


def _torch_kind(x: Any) -> Hashable:
    torch = sys.modules["torch"]
    if torch.autograd.forward_ad._current_level >= 0:
        raise RuntimeError("it may carry a tangent")
    if recorder(torch):
        raise RuntimeError("a recipe would not be recorded")
    tracked = x.requires_grad and torch.is_grad_enabled()
    return x.dtype, x.shape, x.stride(), x.get_device(), x.data_ptr() & 15, x.is_neg(), x.is_conj(), tracked


def _torch_stream(x: Any) -> Callable[[], int]:
    """The raw stream that PyTorch's compiler uses; a stream object costs ten times as much."""
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return partial(raw, x.get_device())
    return lambda device=x.device: int(torch.cuda.current_stream(device).cuda_stream)  # type: ignore[misc]


def _torch_empty(like: Any) -> Callable[[], Any]:
    """Makes empty tensors like ``like``; ``torch.empty`` costs twice as much, since each call reads its device."""
    torch = sys.modules["torch"]
    shape, strides, dtype, device = tuple(like.shape), tuple(like.stride()), like.dtype, like.device
    public = partial(torch.empty_strided, shape, strides, dtype=dtype, device=device)
    number = like.get_device()
    try:  # as in code that PyTorch's compiler generates: on the current device, without modes
        allocate = torch._C._dynamo.guards._empty_strided_cuda
        current, modes = torch._C._cuda_getDevice, torch._C._len_torch_dispatch_stack
        overrides = torch._C._len_torch_function_stack

        def empty() -> Any:
            if modes() or overrides() or current() != number:
                return public()
            return allocate(shape, strides, dtype)

        made = empty()
        alike = (made.shape, made.stride(), made.dtype, made.device) == (like.shape, strides, dtype, device)
    except (AttributeError, TypeError, RuntimeError):
        return public
    return empty if alike else public


def _torch_check(xs: Sequence[Any]) -> Check | None:
    """The guard of torch.compile: it compares class, dispatch keys, type, device, sizes, strides and gradient."""
    guards = _torch_guards()
    if guards is None:
        return None
    sizes, strides = [list(x.shape) for x in xs], [list(x.stride()) for x in xs]
    alike, tensor = guards(*xs, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check, type(xs[0])
    torch = sys.modules["torch"]
    dual, modes = torch.autograd.forward_ad, torch._C._len_torch_dispatch_stack  # tangents; recording modes

    # A nested tensor has no strides; comparing them aborts the process.
    def one(x: Any) -> bool:
        return type(x) is tensor and not x.is_nested and alike(x) and dual._current_level < 0 and not modes()

    def two(x: Any, y: Any) -> bool:
        same = type(x) is type(y) is tensor and not x.is_nested and not y.is_nested and alike(x, y)
        return same and dual._current_level < 0 and not modes()

    def several(*ys: Any) -> bool:
        same = all(type(y) is tensor and not y.is_nested for y in ys) and alike(*ys)
        return same and dual._current_level < 0 and not modes()

    if len(xs) == 1:
        return one
    return two if len(xs) == 2 else several


@cache
def _torch_guards() -> Any:
    """The class of the guards; None if this PyTorch lacks it or it behaves differently."""
    torch = sys.modules["torch"]
    try:
        guards = torch._C._dynamo.guards.TensorGuards
        torch._C._len_torch_dispatch_stack()
        x = torch.empty((2, 3))
        check = guards(x, x, dynamic_dims_sizes=[[2, 3]] * 2, dynamic_dims_strides=[[3, 1]] * 2).check
        others = (
            torch.empty((3, 2)), torch.empty((3, 2)).t(), torch.empty((2, 3), dtype=torch.int32), torch._neg_view(x),
            torch.empty((2, 3), requires_grad=True), torch.empty((2, 3), device="meta"),
        )  # fmt: skip
        sound = check(x, torch.ones((2, 3))) and not any(check(x, y) or check(y, x) for y in others)
    except (AttributeError, TypeError, RuntimeError):
        return None
    return guards if sound else None


# --- CuPy --------------------------------------------------------------------------------------------------------
def _cupy() -> Reader:
    return Reader(_cupy_kind, attrgetter("data.ptr"), _cupy_stream, _cupy_empty, lambda _: None)


def _cupy_kind(x: Any) -> Hashable:
    return x.dtype, x.shape, x.strides, x.data.device_id, x.data.ptr & 15


def _cupy_stream(x: Any) -> Callable[[], int]:
    cuda, number = sys.modules["cupy"].cuda, x.data.device_id
    return lambda: int(cuda.get_current_stream().ptr) if cuda.runtime.getDevice() == number else -1


def _cupy_empty(like: Any) -> Callable[[], Any]:
    """Makes empty arrays like ``like``; ``cupy.empty`` takes no strides, so others are laid over fresh bytes."""
    cupy = sys.modules["cupy"]
    shape, strides, dtype, nbytes = like.shape, like.strides, like.dtype, like.nbytes
    if like.flags.c_contiguous:
        return partial(cupy.empty, shape, dtype)
    return lambda: cupy.ndarray(shape, dtype, cupy.cuda.alloc(nbytes), strides)


_MAKERS: dict[tuple[str, str], Callable[[], Reader]] = {("torch", "Tensor"): _torch, ("cupy", "ndarray"): _cupy}
_READERS: dict[type, Reader] = {}
