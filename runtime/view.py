"""An array as kernels need it (``View``), and as the planner needs it (``ArraySpec``)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..compiler.dtypes import DType
from ..compiler.program.storage import parts

Kind = Literal["cpu", "cuda"]


class Device(NamedTuple):
    """The owner of memory: ``cpu``, or ``cuda`` with a device number."""

    kind: Kind
    number: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"cuda:{self.number}"


CPU = Device("cpu")
DEVICES = tuple(Device("cuda", number) for number in range(64))
"""CUDA devices by number."""


@dataclass(frozen=True)
class View:
    """An array of any library, as kernels need it.

    Attributes:
        address: byte address of the first element (index 0 on every axis).
        shape: elements along each axis.
        strides: distance between neighbours along each axis, in elements.
        dtype: element type.
        device: the device that owns the memory.
        read_only: whether the library forbids writes.
        owner: an object that keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: Device
    read_only: bool = False
    owner: object = None

    @property
    def extent(self) -> tuple[int, int]:
        """The byte range of the elements, as (first address, one past the last); empty for empty arrays."""
        if 0 in self.shape:
            return self.address, self.address
        reach = [s * (n - 1) for n, s in zip(self.shape, self.strides, strict=True)]
        low, high = sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
        item = self.dtype.itemsize
        return self.address + low * item, self.address + (high + 1) * item

    @property
    def word(self) -> int:
        """The bytes of the first element as a number, the first byte lowest; the array is in host memory."""
        return int.from_bytes(ctypes.string_at(self.address, self.dtype.itemsize), "little")

    def parts(self) -> tuple[View, ...]:
        """The views that kernels get: two of floats for a complex array, bytes for 8-bit floats."""
        types = parts(self.dtype)
        if types == (self.dtype,):
            return (self,)
        strides = tuple(s * len(types) for s in self.strides)
        starts = [(self.address + i * t.itemsize, t) for i, t in enumerate(types)]
        return tuple(replace(self, address=a, strides=strides, dtype=t) for a, t in starts)


def real_parts(v: View) -> tuple[View, ...]:
    """The views of an array as programs read it: two of floats for a complex one."""
    return v.parts() if v.dtype.kind == "complex" else (v,)


class ArraySpec(NamedTuple):
    """An array as the planner needs it: shape, strides in elements, and its byte address modulo 16."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    dtype: DType

    def parts(self) -> tuple[ArraySpec, ...]:
        """The arrays that kernels get; see ``View.parts``."""
        types = parts(self.dtype)
        strides = tuple(s * len(types) for s in self.strides)
        starts = [(self.address + i * t.itemsize) % 16 for i, t in enumerate(types)]
        return tuple(ArraySpec(self.shape, strides, a, t) for a, t in zip(starts, types, strict=True))


def real_specs(specs: Iterable[ArraySpec]) -> tuple[ArraySpec, ...]:
    """The arrays as programs read and write them: two of floats for a complex one."""
    return tuple(p for s in specs for p in (s.parts() if s.dtype.kind == "complex" else (s,)))


def all_parts(shapes: Iterable[ArraySpec]) -> tuple[ArraySpec, ...]:
    """The parts of all arrays, in order."""
    return tuple(p for s in shapes for p in s.parts())


def spec_of(v: View) -> ArraySpec:
    """An array as the planner needs it."""
    return ArraySpec(v.shape, v.strides, v.address % 16, v.dtype)


def broadcast(v: View, shape: tuple[int, ...]) -> View:
    """``v`` broadcast to ``shape``: repeated dims have stride 0."""
    missing = len(shape) - len(v.shape)
    own = zip(v.shape, v.strides, shape[missing:], strict=True)
    strides = (0,) * missing + tuple(0 if size == 1 and n != 1 else stride for size, stride, n in own)
    return replace(v, shape=shape, strides=strides)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array in C order."""
    return dense(shape, range(len(shape)))


def dense(shape: tuple[int, ...], order: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of an array without gaps; ``order`` lists its axes, outermost first."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(1, shape[axis])
    return tuple(strides)


def as_array(v: View, dtype: Any = None) -> np.ndarray[Any, Any]:
    """The memory of ``v`` as a NumPy array of its type, or of ``dtype``, which does not keep the memory alive."""
    if 0 in v.shape:
        return np.empty(v.shape, dtype or v.dtype.numpy)  # an empty array may have no address
    low, high = v.extent
    memory = memoryview((ctypes.c_uint8 * (high - low)).from_address(low))
    strides = tuple(s * v.dtype.itemsize for s in v.strides)
    return np.ndarray(v.shape, dtype or v.dtype.numpy, memory, v.address - low, strides)


def is_contiguous(v: View) -> bool:
    """Whether the elements are contiguous in C order; strides of axes of size 1 do not matter."""
    if 0 in v.shape:
        return True
    pairs = zip(v.strides, contiguous(v.shape), v.shape, strict=True)
    return all(size == 1 or stride == expected for stride, expected, size in pairs)
