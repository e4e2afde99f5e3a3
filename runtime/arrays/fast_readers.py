"""What of an array decides how it is reduced, read as cheaply as its library allows.

Two arrays of one *kind* go the same way, from their views to the kernels: only their addresses differ, by multiples of
16 bytes. Arrays of a CUDA library's own class have a kind; all others (host arrays, subclasses) go the long way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from .pytorch import recorder

Check = Callable[..., bool]
"""Whether arrays are of the kinds that it was made for, but for their addresses."""


class Reader(NamedTuple):
    """How arrays of one class are read.

    Attributes:
        kind: what decides. Raises for an array without memory of its own, as a sparse one.
        address: of the first element.
        stream: for an array, what gives the caller's stream on its device; -1 where another device is the current one.
        empty: for an array, what makes one like it.
        check: for arrays of this class, a quick comparison of kinds; None where the library has none.
    """

    kind: Callable[[Any], Hashable]
    address: Callable[[Any], int]
    stream: Callable[[Any], Callable[[], int]]
    empty: Callable[[Any], Callable[[], Any]]
    check: Callable[[Sequence[Any]], Check | None]


def reader_of(x: object) -> Reader | None:
    """The reader for ``x``; None for an array of another class."""
    kind = type(x)
    if kind not in _READERS:
        make = _MAKERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if make is None:
            return None
        _READERS[kind] = make()
    return _READERS[kind]


def kinds_of(xs: Sequence[object]) -> list[Hashable] | None:
    """What decides how each array is reduced, the caller's stream left out; None where one has no kind."""
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
    """PyTorch's own compiler uses the first; an object for the stream costs ten times as much."""
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return partial(raw, x.get_device())
    return lambda device=x.device: int(torch.cuda.current_stream(device).cuda_stream)  # type: ignore[misc]


def _torch_empty(like: Any) -> Callable[[], Any]:
    """``torch.empty`` costs twice as much as either of these: it reads its device again in each call."""
    torch = sys.modules["torch"]
    shape, strides, dtype, device = tuple(like.shape), tuple(like.stride()), like.dtype, like.device
    public = partial(torch.empty_strided, shape, strides, dtype=dtype, device=device)
    number = like.get_device()
    try:  # as the code that PyTorch's own compiler writes: on the current device, past all modes
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
    """The guard by which torch.compile knows tensors: class, dispatch keys, type, device, sizes, strides, gradient."""
    guards = _torch_guards()
    if guards is None:
        return None
    sizes, strides = [list(x.shape) for x in xs], [list(x.stride()) for x in xs]
    alike, tensor = guards(*xs, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check, type(xs[0])
    torch = sys.modules["torch"]
    dual, modes = torch.autograd.forward_ad, torch._C._len_torch_dispatch_stack  # tangents; what may record operations

    # A nested tensor has no strides to compare, and the guard ends the process over that.
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
    """The class of the guards; None where this PyTorch has none that does what is expected of it."""
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
    """``cupy.empty``, but for strides that it does not take: then those of ``like`` over as many bytes."""
    cupy = sys.modules["cupy"]
    shape, strides, dtype, nbytes = like.shape, like.strides, like.dtype, like.nbytes
    if like.flags.c_contiguous:
        return partial(cupy.empty, shape, dtype)
    return lambda: cupy.ndarray(shape, dtype, cupy.cuda.alloc(nbytes), strides)


_MAKERS: dict[tuple[str, str], Callable[[], Reader]] = {("torch", "Tensor"): _torch, ("cupy", "ndarray"): _cupy}
_READERS: dict[type, Reader] = {}
