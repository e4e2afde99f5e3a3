"""Arrays on the device for a case: made by PyTorch if it is installed, else by NumPy and copied."""

from __future__ import annotations

import zlib
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...compiler.dtypes import BF16, DType
from ...runtime.view import View, contiguous
from .cases import Case

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend

SETS = 2
"""Number of buffer sets that take turns, so that no call finds its input in a cache."""
NEAR_ONE = 1e-4
"""Distance from 1 of the factors of a product: a billion of them stay within a float's range."""
APART = 999_983
"""Distance between true bools, counted from the end; in a full reduction only the last is true, which prevents an early
exit."""


class Arrays(Protocol):
    """Makes arrays on the device."""

    def random(self, case: Case, index: int) -> Any:
        """The array of a case: the same for the same name and index."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Memory for a result."""
        ...


class TorchArrays:
    """Arrays of PyTorch."""

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def random(self, case: Case, index: int) -> Any:
        """The array of a case: the same for the same name and index on the same kind of device."""
        torch = self.torch
        generator = torch.Generator("cuda").manual_seed(seed(case, index))
        how = {"generator": generator, "device": "cuda"}
        if case.dtype.kind == "bool":
            x = torch.zeros(case.shape, dtype=torch.bool, device="cuda")
            x.view(-1)[_true(case)] = True
            return x
        if case.dtype.kind == "int":
            return torch.randint(-100, 100, case.shape, dtype=getattr(torch, case.dtype.numpy_name), **how)
        wide = torch.float64 if case.dtype.bits == 64 else torch.float32
        x = torch.randn(case.shape, dtype=wide, **how)
        x = x.mul_(NEAR_ONE).add_(1) if case.what == "prod" else x
        return x.to(getattr(torch, case.dtype.numpy_name))

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Memory for a result."""
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype.numpy_name), device="cuda")


class Owned:
    """Device memory with the CUDA array interface, which other libraries read."""

    def __init__(self, view: View, memory: Any) -> None:
        self.view, self.memory = view, memory
        self.__cuda_array_interface__ = {
            "shape": view.shape, "typestr": view.dtype.numpy.str, "data": (view.address, False), "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        self.memory.__exit__(None, None, None)


class OwnArrays:
    """Arrays in memory that warpfold allocates, without PyTorch."""

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend

    def random(self, case: Case, index: int) -> Owned:
        """The array of a case, made on the host."""
        made = self._made(case.shape, case.dtype)
        self.backend.put(made.view, drawn(case, index), 0)
        return made

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Owned:
        """Memory for a result."""
        return self._made(shape, dtype)

    def _made(self, shape: tuple[int, ...], dtype: DType) -> Owned:
        if dtype == BF16:
            raise TypeError("arrays of bf16 need PyTorch")
        memory = self.backend.memory(max(1, prod(shape) * dtype.itemsize))
        view = View(memory.__enter__(), shape, contiguous(shape), dtype, self.backend.device)
        return Owned(view, memory)


def arrays(backend: CudaBackend) -> Arrays:
    """PyTorch's arrays if it is installed with CUDA, else our own."""
    try:
        made = TorchArrays()
    except ImportError:
        return OwnArrays(backend)
    return made if made.torch.cuda.is_available() else OwnArrays(backend)


def drawn(case: Case, index: int) -> np.ndarray[Any, Any]:
    """The array of a case in host memory."""
    rng = np.random.default_rng(seed(case, index))
    if case.dtype.kind == "bool":
        truth = np.zeros(case.shape, np.bool_)
        truth.reshape(-1)[_true(case)] = True
        return truth
    if case.dtype.kind == "int":
        return rng.integers(-100, 100, case.shape, case.dtype.numpy)
    x = rng.standard_normal(case.shape, np.float64 if case.dtype.bits == 64 else np.float32)
    return (1 + NEAR_ONE * x if case.what == "prod" else x).astype(case.dtype.numpy)


def _true(case: Case) -> slice:
    """The indices of the true elements of a bool array."""
    n = prod(case.shape)
    return slice((n - 1) if case.group == "full" else (n - 1) % APART, None, APART)


def seed(case: Case, index: int) -> int:
    """The seed of a case's array."""
    return zlib.crc32(f"{case.name}/{index}".encode())
