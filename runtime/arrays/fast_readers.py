"""Fast readers of GPU arrays, for calls whose launches are repeated.

Arrays of one *kind* are reduced by the same launches: they differ only in their addresses, by multiples of 16 bytes.
Arrays of PyTorch's and CuPy's own classes have a kind, PyTorch's parameters of modules too. So have numbers, which are
NumPy's arrays of rank 0: a launch has their value in place of an address. All others, such as other host arrays and
subclasses, have none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .pytorch import recorder


class Check(NamedTuple):
    """A test whether arrays have the kinds that it was made for, up to their addresses.

    Attributes:
        text: the test as a Python expression of the arrays ``x0``, ``x1``, ...
        names: the values of its other names.
    """

    text: str
    names: dict[str, Any]

    def __add__(self, other: Check) -> Check:  # type: ignore[override]
        """Both tests, this one first; the other may be empty."""
        return Check(f"{self.text} and {other.text}", self.names | other.names) if other.text else self


class Reader(NamedTuple):
    """How arrays of one class are read.

    Attributes:
        kind: the kind of an array, a hashable value; raises for one without memory of its own, such as a sparse array.
        address: the address of the first element, or the value of a number.
        stream: for an array, a function that returns the caller's stream; -1 if another device is current.
        empty: for an array, a function that makes an uninitialised array like it.
        check: for arrays of this class and their places in a call a fast test of their kinds; None if the library
            offers none. It may be one for calls that PyTorch records.
    """

    kind: Callable[[Any], Hashable]
    address: Callable[[Any], int]
    stream: Callable[[Any], Callable[[], int]]
    empty: Callable[[Any], Callable[[], Any]]
    check: Callable[[Mapping[int, Any], bool], Check | None]


class _Readers(dict[type, Reader | None]):
    """The reader for each class; None for a class without one. They are made when they are looked up."""

    def __missing__(self, kind: type) -> Reader | None:
        make = _MAKERS.get((kind.__module__.partition(".")[0], kind.__name__))
        found = self[kind] = make and make()
        return found


READERS = _Readers()


def kinds_of(xs: Sequence[object]) -> list[Hashable] | None:
    """The kind of each array, which leaves out the caller's stream; None if an array has no kind.

    That of an array which is passed again is its first place.
    """
    found: list[Hashable] = []
    places = first_places(xs)
    for i, x in enumerate(xs):
        if places[i] < i:
            found.append(places[i])
            continue
        reader = READERS[type(x)]
        if reader is None:
            return None
        try:
            found.append(reader.kind(x))
        except (RuntimeError, TypeError):  # a tensor without strides or memory
            return None
    return found


def first_places(xs: Sequence[object]) -> list[int]:
    """For each array the first place at which it is passed."""
    ids = [*map(id, xs)]
    return [*map(ids.index, ids)]


def check_of(xs: Sequence[Any], recorded: bool = False) -> Check | None:
    """The fast test for the kinds of arrays, whatever their classes; None if there is none.

    With ``recorded`` it is for a call that PyTorch records, and so fails while gradients are off.
    """
    texts, names = list[str](), dict[str, Any]()
    places, readers = first_places(xs), [READERS[type(x)] for x in xs]
    for reader in dict.fromkeys(readers):
        own = {i: x for i, x in enumerate(xs) if readers[i] is reader and places[i] == i}
        found = reader.check(own, recorded) if reader and own else None
        if found is None:
            return None
        texts.append(found.text)
        names |= found.names
    again = [f"x{i} is x{first}" for i, first in enumerate(places) if first < i]
    return Check(" and ".join(again + texts), names)


# --- numbers -----------------------------------------------------------------------------------------------------
def _number_kind(x: Any) -> Hashable:
    if x.shape:
        raise TypeError("it is no number")
    return "a number", x.dtype


def _value(x: Any) -> int:
    return int.from_bytes(x.tobytes(), "little")


def _number_check(xs: Mapping[int, Any], _recorded: bool) -> Check:
    names = {f"dtype{i}": x.dtype for i, x in xs.items()} | {"ndarray": np.ndarray}
    tests = [f"type(x{i}) is ndarray and x{i}.dtype is dtype{i} and x{i}.ndim == 0" for i in xs]
    return Check(" and ".join(tests), names)


NUMBERS = Reader(_number_kind, _value, lambda _: int, lambda _: int, _number_check)
"""How arrays of rank 0 in host memory are read. They have no stream, and no results are made like them."""


# --- PyTorch -----------------------------------------------------------------------------------------------------
@cache
def _torch() -> Reader:
    torch = sys.modules["torch"]
    return Reader(_torch_kind, torch.Tensor.data_ptr, _torch_stream, _torch_empty, _torch_check)


def _torch_kind(x: Any) -> Hashable:
    torch = sys.modules["torch"]
    if torch.autograd.forward_ad._current_level >= 0:
        raise RuntimeError("it may carry a tangent")
    if recorder(torch) or _modes(torch)():
        raise RuntimeError("a recipe would not be recorded")
    if x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("a recipe would give a result without a gradient")
    lies = x.shape, x.stride(), x.get_device(), x.data_ptr() & 15
    return type(x), x.dtype, *lies, x.is_neg(), x.is_conj(), x.requires_grad, _dispatch(torch, x)


def _dispatch(torch: Any, x: Any) -> Hashable:
    """What PyTorch dispatches on, which its guards compare: other keys in inference mode, and with autocast."""
    try:
        here = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
        return tuple(keys.raw_repr() for keys in (torch._C._dispatch_keys(x), *here))
    except AttributeError:
        return None


def _torch_stream(x: Any) -> Callable[[], int]:
    """The raw stream that PyTorch's compiler uses, 0 on the host; a stream object costs ten times as much."""
    if not x.is_cuda:
        return int
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return partial(raw, x.get_device())
    return lambda device=x.device: int(torch.cuda.current_stream(device).cuda_stream)  # type: ignore[misc]


def _modes(torch: Any) -> Callable[[], int]:
    """The function that counts the modes that see PyTorch's operations; always 0 where PyTorch does not tell."""
    return getattr(torch._C, "_len_torch_dispatch_stack", int)


def _torch_empty(like: Any) -> Callable[[], Any]:
    """Makes empty tensors like ``like``, in calls of known kinds, which are outside of modes.

    ``torch.empty_strided`` costs twice as much as the allocator of code that PyTorch's compiler generates, since each
    call reads its device. That allocator uses the current device.
    """
    torch = sys.modules["torch"]
    shape, strides, dtype, device = tuple(like.shape), tuple(like.stride()), like.dtype, like.device
    public = partial(torch.empty_strided, shape, strides, dtype=dtype, device=device)
    number = like.get_device()
    try:
        quick = partial(torch._C._dynamo.guards._empty_strided_cuda, shape, strides, dtype)
        current, alone = torch._C._cuda_getDevice, torch.cuda.device_count() == 1
        made = quick() if current() == number else public()
        alike = (made.shape, made.stride(), made.dtype, made.device) == (like.shape, strides, dtype, device)
    except (AttributeError, TypeError, RuntimeError):
        return public
    if not alike:
        return public
    return quick if alone else lambda: quick() if current() == number else public()


def _torch_check(given: Mapping[int, Any], recorded: bool = False) -> Check | None:
    """The guard of torch.compile: it compares class, dispatch keys, type, device, sizes, strides and gradient.

    It refuses a tensor that it gets twice: ``check_of`` compares the later one by identity.
    """
    guards = _torch_guards()
    if guards is None:
        return None
    torch, xs = sys.modules["torch"], [*given.values()]
    sizes, strides = [list(x.shape) for x in xs], [list(x.stride()) for x in xs]
    names = {
        **{f"class{i}": type(x) for i, x in given.items()},
        "alike": guards(*xs, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check,
        "dual": torch.autograd.forward_ad, "modes": _modes(torch),
    }  # fmt: skip
    # A nested tensor has no strides; comparing them aborts the process. Tangents and recording modes are not compared.
    dense = [f"type(x{i}) is class{i} and not x{i}.is_nested" for i in given]
    alike = f"alike({', '.join(f'x{i}' for i in given)})"
    tests = [*dense, alike, "dual._current_level < 0", "not modes()"]
    if any(x.requires_grad for x in xs):  # the guard does not compare whether gradients are recorded
        tests.append("graded()" if recorded else "not graded()")
        names["graded"] = torch.is_grad_enabled
    return Check(" and ".join(tests), names)


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
    return Reader(_cupy_kind, attrgetter("data.ptr"), _cupy_stream, _cupy_empty, lambda *_: None)


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


_MAKERS: dict[tuple[str, str], Callable[[], Reader]] = {
    ("torch", "Tensor"): _torch, ("torch", "Parameter"): _torch, ("cupy", "ndarray"): _cupy,
    ("numpy", "ndarray"): lambda: NUMBERS,
}  # fmt: skip
